"""Who ships a DLL or a module, and how that is said."""

from __future__ import annotations

import os
import random
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from tests.support.tiers import impossible
from tools.package_index import PackageIndex
from tools.refresh import compiled_modules, compiled_table
from tools.remote_wheel import Contents, comparable, dlls_of, read_contents
from wheelfix.knowledge import providers
from wheelfix.knowledge.cuda import cuda_table
from wheelfix.knowledge.families import families
from wheelfix.knowledge.provider_index import DISTRIBUTIONS as DISTRIBUTIONS_TABLE
from wheelfix.knowledge.provider_index import DLLS as DLLS_TABLE
from wheelfix.knowledge.provider_index import (
    LookedAt,
    ProviderIndex,
    RequiredEntry,
    ShippedDll,
    Ships,
    find_line,
    provider_index,
)
from wheelfix.knowledge.providers import (
    distributions,
    module_owners,
    owners_of,
    pip_packages,
    shippers,
    versions_with,
    who_ships,
)
from wheelfix.knowledge.tables import entries, read_text
from wheelfix.model import Machine


def test_torch_has_its_dlls_loaded_and_mkl_has_not():
    assert owners_of("c10.dll")[0].preloads
    assert owners_of("c10.dll")[0].folder == "Lib/site-packages/torch/lib"
    assert not owners_of("mkl_core.2.dll")[0].preloads
    assert owners_of("mkl_core.2.dll")[0].folder == "Library/bin"


@pytest.mark.parametrize("name", ["cublas64_12.dll", "c10_cuda.dll", "torch_cuda.dll"])
def test_cuda_dlls_come_with_some_builds_of_torch_only(name):
    torch = next(owner for owner in owners_of(name) if owner.distribution == "torch")
    assert "CUDA" in torch.only


def test_the_folder_is_that_of_the_newest_version_that_has_the_dll():
    (msvc,) = owners_of("msvcp140.dll")
    newest = provider_index().looked_at("msvc-runtime")[-1].version
    assert msvc.folder in {dll.folder for dll in provider_index().shipped_by("msvc-runtime", newest) or ()}
    assert owners_of("qt6core.dll")[0].folder == "Lib/site-packages/PyQt6/Qt6/bin"


def test_what_is_credited_to_a_distribution_is_in_its_wheels():
    """Wide patterns once credited any name such as qt6xyz.dll to five distributions."""
    for owner in distributions():
        if not owner.folders:
            assert provider_index().looked_at(owner.distribution), owner.distribution


LOOKED_AT = ("1.0", "1.5", "2.0", "2.5", "3.0")


def test_a_dll_that_moved_to_another_folder():
    old = ShippedDll("a.dll", "a", "old", LOOKED_AT[:3], LOOKED_AT)
    new = ShippedDll("a.dll", "a", "new", LOOKED_AT[3:], LOOKED_AT)
    assert versions_with([old, new]) == ""


def test_a_module_that_newer_releases_no_longer_have():
    # ctranslate2 3.24.0 imports pkg_resources first; a distribution of that name was taken for unknown.
    assert module_owners()["pkg_resources"] == ("setuptools",)


def test_the_tool_lists_what_a_wheel_has():
    members = [
        "pkg/sub/_fast.cp311-win_amd64.pyd",
        "pkg/_abi.pyd",
        "pkg-1.data/platlib/other/_x.abi3.pyd",
        "_top.cp311-win_amd64.pyd",
        "pkg/plain.py",
    ]
    found = compiled_modules(members)
    assert found == {"pkg.sub._fast", "pkg._abi", "other._x"}
    assert providers.compiled_modules.parse(compiled_table(found, "2026-01-01")) == {
        "other": frozenset({"_x"}),
        "pkg": frozenset({"_abi", "sub._fast"}),
    }


def test_the_c_runtime_is_the_redistributable_of_the_machine():
    assert who_ships("msvcp140.dll")[0].endswith("vc_redist.x64.exe")
    assert who_ships("msvcp140.dll", machine=Machine.ARM64)[0].endswith("vc_redist.arm64.exe")


@pytest.mark.parametrize(
    "name, part",
    [
        ("vcruntime140d.dll", "build for release"),
        ("nvcuda.dll", "never part of a wheel"),
        ("libffi-8.dll", "cannot count on"),
        ("libomp140.x86_64.dll", "may not be passed on"),
        ("api-ms-win-made-up-l1-1-0.dll", "newer Windows"),
    ],
)
def test_what_cannot_be_had_says_why(name, part):
    assert any(part in phrase for phrase in who_ships(name))
    assert pip_packages(name) == ()


def test_the_source_of_zlibwapi_says_that_no_wheel_has_it_as_long_as_that_is_so():
    assert provider_index().shipped("zlibwapi.dll") == ()
    assert who_ships("zlibwapi.dll")[0].endswith("(no wheel on PyPI)")


@pytest.mark.no_cover
def test_every_requirement_has_the_dll():
    """nvidia-cuda-cupti-cu12==12.0.* was named for cupti64_2022.4.0.dll, which its newest version does not have."""
    index = provider_index()
    owners = {owner.distribution for owner in distributions()}
    checked = 0
    for number, line in enumerate(read_text("provider_dlls.txt").splitlines()):
        name, *shipped = line.split("\t")
        if number % 10 and not owners & {entry.partition(":")[0] for entry in shipped}:
            continue  # of those that no entry of distributions.toml ships every tenth is enough
        name = name.replace("{py}", "311").replace("{py.}", "3.11")
        for cuda in (None, "12.1") if "nvidia-" in line else (None,):
            for text in pip_packages(name, cuda=cuda):
                wanted = Requirement(text)
                assert index.ships(wanted.name, str(wanted.specifier), name).ships is Ships.YES, (name, cuda, text)
                checked += 1
    assert checked > 500


def test_every_family_has_someone_who_ships_it():
    assert {family.id for family in families()} == {name for shipper in shippers() for name in shipper.families}


# ------------------------------------------------------------------------------------------------------- provider index
# Which distributions ship a DLL of a name, in which versions.

DISTRIBUTIONS = (
    "# source: made up\n"
    "mkl\t2021.4.0/py2.py3-none-win_amd64 2022.1.0/- 2025.3.0/-\tLibrary/bin\t"
    "intel-openmp==2021.*@0 intel-openmp==2025.*@2 tbb\n"
    "pywin32\t300/cp39-cp39-win_amd64 312/cp313-cp313-win_amd64\t|Lib/site-packages/pywin32_system32\t\n"
    "qt\t6.9.0/py3-none-win_amd64 6.9.3/- 7.0/-\tLib/site-packages/qt/bin|Lib/site-packages/qt/lib\t\n"
    "six\t1.17/py2.py3-none-any\t\t\n"
    "small\t1.0/cp311-cp311-win32\tLib/site-packages/small\t\n"
)
DLLS = (
    "# source: made up\n"
    "core{py.}-9.3.dll\tqt:0\n"
    "mkl_core.1.dll\tmkl:0@0\n"
    "mkl_core.2.dll\tmkl:0@1-2\n"
    "pywintypes{py}.dll\tpywin32:1\n"
    "qt-6.9.0.dll\tqt:0@0\n"
    "qt-6.9.3.dll\tqt:0@1\n"
    "qtcore.dll\tqt:0@0-1\tqt:1@2\n"
    "qtnew.dll\tqt:1@2\n"
    "shared.dll\tmkl:0\tqt:0@0,2\n"
    "small.dll\tsmall:0\n"
)


@pytest.fixture
def index() -> ProviderIndex:
    return ProviderIndex(DISTRIBUTIONS, DLLS)


def test_who_ships_a_name(index):
    (mkl,) = index.shipped("MKL_core.2.DLL")
    assert (mkl.distribution, mkl.folder, mkl.versions) == ("mkl", "Library/bin", ("2022.1.0", "2025.3.0"))
    assert mkl.looked_at == ("2021.4.0", "2022.1.0", "2025.3.0")
    assert mkl.until == mkl.looked_at[-1]
    older = index.shipped("mkl_core.1.dll")[0]
    assert older.until != older.looked_at[-1]
    assert [dll.distribution for dll in index.shipped("shared")] == ["mkl", "qt"]
    assert index.shipped("shared.dll")[1].versions == ("6.9.0", "7.0")
    assert index.shipped("mkl_core.dll") == ()


def test_line_ends_of_windows(index):
    windows = ProviderIndex(DISTRIBUTIONS.replace("\n", "\r\n"), DLLS.replace("\n", "\r\n"))
    assert windows.shipped("shared.dll") == index.shipped("shared.dll")
    assert windows.requirements("mkl") == index.requirements("mkl")


def test_a_name_with_the_version_of_python(index):
    (own,) = index.shipped("pywintypes311.dll")
    assert (own.distribution, own.folder) == ("pywin32", "Lib/site-packages/pywin32_system32")
    assert [dll.name for dll in index.shipped("core3.12-9.3.dll")] == ["core{py.}-9.3.dll"]
    assert index.shipped("core312-9.3.dll") == index.shipped("core3.12-9.4.dll") == ()
    assert index.shipped("pywintypes27.dll") == ()
    assert index.shipped("pywintypes.dll") == ()


def test_an_answer_says_how_it_is_known(index):
    some = index.ships("mkl", ">=2021", "mkl_core.1.dll")
    assert (some.having, some.without, some.newest) == (("2021.4.0",), ("2022.1.0", "2025.3.0"), False)
    assert some.folders == ("Library/bin",)
    between = index.ships("qt", "==6.9.1", "qtcore.dll")
    assert (between.having, between.between) == ((), ("6.9.0", "6.9.3"))
    assert between.folders == ("Lib/site-packages/qt/bin",)
    assert index.ships("qt", "", "qtcore.dll").folders == ("Lib/site-packages/qt/lib",)


def test_another_machine_than_the_one_looked_at(index):
    assert index.ships("small", "", "small.dll").ships is Ships.UNKNOWN
    assert index.ships("small", "", "small.dll", Machine.X86).ships is Ships.YES
    assert index.ships("mkl", "", "shared.dll", Machine.ARM64).ships is Ships.UNKNOWN
    assert index.ships("six", "", "shared.dll", Machine.ARM64).ships is Ships.NO


def test_what_a_version_ships_and_requires(index):
    assert [dll.name for dll in index.shipped_by("mkl", "2022.1") or ()] == ["mkl_core.2.dll", "shared.dll"]
    assert index.shipped_by("six", "1.17") == ()
    assert index.shipped_by("mkl", "2022.2") is None
    assert index.shipped_by("mkl", "nonsense") is None
    assert index.shipped_by("numpy", "1.0") is None
    assert index.requirements("mkl") == (RequiredEntry("intel-openmp", "==2025.*"), RequiredEntry("tbb", ""))
    assert index.requirements("mkl", "2022.1.0") == (RequiredEntry("tbb", ""),)
    assert index.requirements("numpy") is None
    assert index.requirements("mkl", "1") is None


def test_the_wheels_that_were_looked_at(index):
    assert [(wheel.version, wheel.tags) for wheel in index.looked_at("pywin32")] == [
        ("300", "cp39-cp39-win_amd64"),
        ("312", "cp313-cp313-win_amd64"),
    ]
    assert {wheel.tags for wheel in index.looked_at("mkl")} == {"py2.py3-none-win_amd64"}
    assert index.looked_at("numpy") == ()


@pytest.mark.parametrize("count", [0, 1, 2, 101])
def test_every_line_is_found(count):
    names = sorted(f"n{number}" for number in range(count))
    text = "".join(f"{name}\t{name}!\n" for name in names)
    assert [find_line(text, name) for name in names] == [[f"{name}!"] for name in names]
    assert find_line(text, "a") == find_line(text, "n05") == find_line(text, "z") == []


class TestShippedIndex:
    """The tables that come with wheelfix."""

    @pytest.mark.parametrize("table", [DISTRIBUTIONS_TABLE, DLLS_TABLE])
    def test_lines_are_sorted_and_of_one_key_each(self, table):
        keys = [line.partition("\t")[0] for line in entries(read_text(table))]
        assert keys == sorted(set(keys))

    def test_every_line_can_be_read(self):
        index = provider_index()
        for name, *fields in (line.split("\t") for line in entries(read_text(DLLS_TABLE))):
            places = index.shipped(name)
            assert len(places) >= len(fields), name  # those of "{py}" count besides
            assert all(place.versions for place in places), name
        assert all(index.looked_at(name) and index.requirements(name) is not None for name in index.names)

    def test_what_is_covered(self):
        index = provider_index()
        native = [name for name in index.names if any(wheel.machine for wheel in index.looked_at(name))]
        assert len(native) >= 1500
        newest = {required.name for name in index.names for required in index.requirements(name) or ()}
        missing = newest - set(index.names)  # those that have no wheels at all, or left the index
        assert len(missing) < len(newest) / 10


WHEELS = Path(os.environ.get("WHEELFIX_WHEELS", Path.home() / ".cache/wheelfix/wheels"))


def _looked_at(wheel: str) -> LookedAt | None:
    name, version, _, _ = parse_wheel_filename(wheel)
    own = [
        one
        for one in provider_index().looked_at(name)
        if one.version == str(version) and wheel.endswith(f"-{one.tags}.whl")
    ]
    return own[0] if own else None


def _shipped_by(looked: LookedAt) -> list[str]:
    dlls = provider_index().shipped_by(looked.distribution, looked.version) or ()
    return sorted(f"{dll.folder}/{dll.name}".lstrip("/") for dll in dlls)


@pytest.mark.real
def test_the_index_has_what_wheels_have():
    """Every wheel of the cache that was looked at has exactly the DLLs that the index says, where it says."""
    compared = 0
    for wheel in sorted(WHEELS.glob("*.whl")):
        looked = _looked_at(wheel.name)
        if looked is not None:
            with zipfile.ZipFile(wheel) as archive:
                dlls = dlls_of(archive.namelist(), wheel.name)
            assert sorted(comparable(Contents(dlls, (), ()), wheel.name).dlls) == _shipped_by(looked), wheel.name
            compared += 1
    if not compared:
        pytest.skip("no wheel of the index in the cache")


@pytest.mark.real
@pytest.mark.parametrize("seed", range(10))
def test_the_index_agrees_with_the_package_index(seed):
    """A DLL of the table, chosen at random, is in the wheel on the package index, with everything else of it."""
    index = provider_index()
    names = [line.partition("\t")[0] for line in read_text(DLLS_TABLE).splitlines() if not line.startswith("#")]
    chosen = random.Random(seed)
    dll = chosen.choice(index.shipped(chosen.choice(names)))
    version = chosen.choice(dll.versions)
    looked = next(wheel for wheel in index.looked_at(dll.distribution) if wheel.version == version)
    packages = PackageIndex()
    files = [file for file in packages.files(dll.distribution) if _looked_at_or_none(file.name) == looked]
    if not files:
        impossible(f"{dll.distribution} {version} has left the package index")
    contents = comparable(read_contents(packages, files[0]), files[0].name)
    assert sorted(contents.dlls) == _shipped_by(looked)


def _looked_at_or_none(file: str) -> LookedAt | None:
    try:
        return _looked_at(file)
    except ValueError:  # not a wheel
        return None


def test_every_release_that_a_hint_about_cuda_names_was_seen_on_the_index():
    """``nvidia-cuda-runtime-cu11==11.4.*`` was named, and PyPI has none before 11.7."""
    asked = 0
    for name, toolkits in cuda_table().by_name.items():
        for toolkit in toolkits:
            for text in pip_packages(name, cuda="{}.{}".format(*toolkit)):
                requirement = Requirement(text)
                seen = [wheel.version for wheel in provider_index().looked_at(requirement.name)]
                assert any(requirement.specifier.contains(version, prereleases=True) for version in seen), text
                asked += 1
    assert asked > 300
