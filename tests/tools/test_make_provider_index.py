"""Making the provider index from a package index."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from tests.tools.served import ServedIndex
from tools import make_provider_index, package_index
from tools.make_provider_index import Survey, best_wheels, sample, series, survey_all
from tools.package_index import IndexFault, IndexFile, PackageIndex
from tools.remote_wheel import Contents, comparable, dlls_of, modules_of, read_contents, requires_of
from wheelfix.knowledge.provider_index import ProviderIndex, RequiredEntry

LARGE = random.Random(7).randbytes(400_000)
MKL = {"mkl-2.0.data/data/Library/bin/MKL_core.2.dll": LARGE, "mkl-2.0.data/data/Library/lib/mkl.lib": b"x"}


@pytest.fixture
def served() -> Iterator[ServedIndex]:
    with ServedIndex().serve() as index:
        yield index


def _file(served: ServedIndex, project: str) -> tuple[PackageIndex, IndexFile]:
    index = PackageIndex(served.url)
    return index, index.files(project)[0]


@pytest.mark.parametrize("pages", ["html", "json"])
def test_only_parts_of_a_wheel_are_read(served, pages):
    served.json = pages == "json"
    served.add("mkl-2.0-py3-none-win_amd64.whl", MKL, ("tbb==2022.*", 'six; sys_platform == "linux"'))
    index, file = _file(served, "mkl")
    contents = read_contents(index, file)
    assert contents.dlls == ("Library/bin/mkl_core.2.dll",)
    assert contents.requires == ("tbb==2022.*",)
    assert index.bytes < 100_000
    assert index.requests <= 4
    assert any(asked.path.endswith(".metadata") for asked in served.server.asked) == served.json


def test_a_large_file_is_not_read_whole(served, monkeypatch):
    monkeypatch.setattr(package_index, "MOST_WHOLE", 100_000)
    served.ranges = False
    served.add("mkl-2.0-py3-none-win_amd64.whl", MKL)
    index, file = _file(served, "mkl")
    with pytest.raises(IndexFault, match="is not downloaded"):
        read_contents(index, file)


def test_a_second_run_asks_for_nothing_that_is_known(served, tmp_path):
    served.add("mkl-2.0-py3-none-win_amd64.whl", MKL, ("tbb",))
    served.add("tbb-1.0-py3-none-win_amd64.whl", {"tbb-1.0.data/data/Library/bin/tbb12.dll": b""}, ("gone",))
    survey = Survey(PackageIndex(served.url), tmp_path)
    first = survey_all(survey, ["MKL"], [], workers=2)
    assert {looked.project for looked in first} == {"mkl", "tbb"}
    served.server.asked.clear()
    assert survey_all(Survey(PackageIndex(served.url), tmp_path), ["mkl"], [], workers=2) == first
    assert served.server.asked == []


def test_every_version_of_a_distribution_that_ships_dlls_for_others(served, tmp_path):
    for minor in range(5):
        served.add(f"mkl-1.0.{minor}-py3-none-win_amd64.whl", {})
        served.add(f"other-1.0.{minor}-py3-none-win_amd64.whl", {})
    survey = Survey(PackageIndex(served.url), tmp_path)
    assert len(survey.distribution("mkl", pure=False)) == 5
    assert len(survey.distribution("other", pure=False)) == 2


def test_optional_names_without_wheels_for_windows_are_left_out_unless_required(served, tmp_path):
    served.add("pure-1.0-py3-none-any.whl", {"pure.py": b""})
    served.add("other-1.0-py3-none-any.whl", {"other.py": b""})
    served.add("native-1.0-cp312-cp312-win_amd64.whl", {"native.cp312-win_amd64.pyd": b""}, ("pure",))
    survey = Survey(PackageIndex(served.url), tmp_path)
    found = survey_all(survey, [], ["pure", "other", "native"], workers=2)
    assert sorted(looked.project for looked in found) == ["native", "pure"]


def test_the_whole_run(served, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/")
    served.add("mkl-1.0-py3-none-win_amd64.whl", {"mkl-1.0.data/data/Library/bin/mkl_core.1.dll": b""})
    served.add("mkl-2.0-py3-none-win_amd64.whl", MKL, ("six>=1",))
    served.add("six-1.0-py3-none-any.whl", {"six.py": b""})
    command = ["mkl", "--only", "--cache", str(tmp_path / "cache"), "--output", str(tmp_path)]
    assert make_provider_index.main(command) == 0
    index = _read(tmp_path)
    assert [(dll.distribution, dll.versions[0], dll.until) for dll in index.shipped("mkl_core.2.dll")] == [
        ("mkl", "2.0", "2.0")
    ]
    assert index.requirements("mkl") == (RequiredEntry("six", ">=1"),)
    assert index.names == ("mkl", "six")
    assert "six six\n" in (tmp_path / "modules.txt").read_text("utf-8")


@pytest.mark.slow
def test_tables_are_not_replaced_by_what_a_broken_index_gives(served, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", served.url)
    served.add("mkl-1.0-py3-none-win_amd64.whl", {})
    served.projects["mkl"]["mkl-1.0-py3-none-win_amd64.whl"] = b"not a zip"
    command = ["mkl", "--only", "--cache", str(tmp_path / "cache"), "--output", str(tmp_path)]
    assert make_provider_index.main(command) == 1
    assert not (tmp_path / "provider_dlls.txt").exists()
    assert "too many faults" in capsys.readouterr().err


def test_lists_of_releases_are_read_again_after_a_day(served, tmp_path):
    served.add("mkl-1.0-py3-none-win_amd64.whl", {})
    survey = Survey(PackageIndex(served.url), tmp_path)
    assert len(survey.wheels("mkl")) == 1
    served.add("mkl-2.0-py3-none-win_amd64.whl", {})
    assert len(survey.wheels("mkl")) == 1
    os.utime(tmp_path / "projects" / "mkl.json", (0, 0))
    assert len(survey.wheels("mkl")) == 2


def _read(folder: Path) -> ProviderIndex:
    tables = ("provider_distributions.txt", "provider_dlls.txt")
    return ProviderIndex(*((folder / table).read_text("utf-8") for table in tables))


@pytest.mark.parametrize(
    "member, wheel, expected",
    [
        ("torch/lib/C10.dll", "torch-2.0-cp311-cp311-win_amd64.whl", ("Lib/site-packages/torch/lib/c10.dll",)),
        ("m-1.data/scripts/a.dll", "m-1-py3-none-win_amd64.whl", ("Scripts/a.dll",)),
        ("M-1.0.data/platlib/a.dll", "m-1-py3-none-win_amd64.whl", ("Lib/site-packages/a.dll",)),
        ("p/_base.pyd", "p-1-cp311-cp311-win_amd64.whl", ("Lib/site-packages/p/_base.pyd",)),
        ("p/_base.cp311-win_amd64.pyd", "p-1-cp311-cp311-win_amd64.whl", ()),
    ],
)
def test_where_dlls_lie(member, wheel, expected):
    assert dlls_of([member], wheel) == expected


@pytest.mark.parametrize(
    "name, wheel, expected",
    [
        ("pywintypes311.dll", "p-1-cp311-cp311-win_amd64.whl", "pywintypes{py}.dll"),
        ("s.cp38-win_amd64.dll", "p-1-cp38-cp38-win_amd64.whl", "s.cp{py}-win_amd64.dll"),
        ("vtkpythoncore3.11-9.3.11.dll", "p-1-cp311-cp311-win_amd64.whl", "vtkpythoncore{py.}-9.3.11.dll"),
        ("pyx311.dll", "p-1-cp311-abi3-win_amd64.whl", "pyx311.dll"),
        ("pywintypes311.dll", "p-1-py3-none-win_amd64.whl", "pywintypes311.dll"),
    ],
)
def test_the_version_of_python_in_a_name(name, wheel, expected):
    assert comparable(Contents((f"Lib/{name}",), (), ()), wheel).dlls == (f"Lib/{expected}",)


def test_modules_of_a_wheel():
    members = [
        "a/__init__.py",
        "a/x.pyd",
        "_b.cp311-win_amd64.pyd",
        "tests/x.py",
        "c/data.txt",
        "d-1.data/purelib/e.py",
    ]
    assert modules_of(members) == ("_b", "a", "e")


def test_requirements_that_hold_on_windows():
    lines = [
        "Tbb.Devel (==2022.*)",
        "a; extra == 'x'",
        "b>=1; sys_platform == 'win32' and python_version >= '3.12'",
        "c; platform_system != 'Windows'",
        "d[fast]<2,>=1",
        "e; python_version < '3'",
        "not a requirement",
    ]
    text = "".join(f"Requires-Dist: {line}\n" for line in lines)
    assert requires_of(text) == ("b>=1", "d<2,>=1", "tbb-devel==2022.*")
    assert requires_of("") == ()


@pytest.mark.parametrize(
    "worse, better",
    [
        ("a-1-cp311-cp311-win_arm64.whl", "a-1-cp311-cp311-win32.whl"),
        ("a-1-py3-none-any.whl", "a-1-cp39-cp39-win_amd64.whl"),
        ("a-1-cp314-cp314-win_amd64.whl", "a-1-cp313-cp313-win_amd64.whl"),
        ("a-1-cp313-cp313-win_amd64.whl", "a-1-cp39-abi3-win_amd64.whl"),
    ],
)
def test_which_wheel_stands_for_a_version(worse, better):
    files = [IndexFile(name, "") for name in (worse, better)]
    assert best_wheels(files) == best_wheels(reversed(files)) == {Version("1"): files[1]}


def test_pre_releases_only_where_there_is_nothing_else():
    names = ["a-2.0rc1-py3-none-any.whl", "a-1.0-py3-none-any.whl"]
    assert list(best_wheels(IndexFile(name, "") for name in names)) == [Version("1.0")]
    assert list(best_wheels([IndexFile(names[0], "")])) == [Version("2.0rc1")]


def test_the_first_version_with_a_dll_is_found():
    """Between two versions with different DLLs others are looked at, until no unseen one is left between them."""
    versions = [Version(f"1.{minor}") for minor in range(40)]
    looks = []

    def look(version: Version) -> Contents:
        looks.append(version)
        return Contents(("new.dll",) if version >= Version("1.23") else (), (), ())

    seen = sample(versions, look, series(versions, 1), 12)
    having = [version for version, contents in seen.items() if contents.dlls]
    without = [version for version, contents in seen.items() if not contents.dlls]
    assert (max(without), min(having)) == (Version("1.22"), Version("1.23"))
    assert len(looks) <= 12
    same = sample(versions, lambda _: Contents((), (), ()), series(versions, 1), 12)
    assert list(same) == [versions[0], versions[-1]]
