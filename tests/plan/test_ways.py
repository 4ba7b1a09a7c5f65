"""Where a wheel gets the DLLs of vendors: inside of it, from distributions that it requires, from a toolkit."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.wine import wine_options
from tests.support.environments import lay
from tests.support.nvidia import nvidia_dll, toolkit_files
from tests.support.repairs import check_record_independently, contents, hermetic, repaired
from tests.support.tables import named_cases
from tests.support.tiers import wheel
from tests.support.torchlike import torch_files
from tests.support.wheels import build_wheel, extension, library
from wheelfix.errors import CannotRepair, Exit, InputError, UsageError
from wheelfix.exam.scan import scan
from wheelfix.exam.sets import scan_set
from wheelfix.model import Verdict
from wheelfix.plan.lock import read_lock
from wheelfix.plan.model import Supplied
from wheelfix.plan.ways import version_range, with_loading_code, with_requirements
from wheelfix.repairs.repair import Repaired

CUDART, OPENMP = "cudart64_12.dll", "libiomp5md.dll"
MODULE = extension(CUDART, OPENMP, name="_m")
INIT = '"""A package."""\n\nfrom __future__ import annotations\n\nfrom pkg import _m\n'
CUDART_121 = nvidia_dll(CUDART, "12.1.105")
OPENMP_2023 = library(OPENMP)


def vendors(folder: Path) -> Path:
    """The wheels of NVIDIA and Intel, laid out as theirs are."""
    tag = "py3-none-win_amd64"
    build_wheel(folder, "nvidia-cuda-runtime-cu12", "12.1.105", tag, {f"nvidia/cuda_runtime/bin/{CUDART}": CUDART_121})
    inside = {f"intel_openmp-2023.2.0.data/data/Library/bin/{OPENMP}": OPENMP_2023}
    build_wheel(folder, "intel-openmp", "2023.2.0", "py2.py3-none-win_amd64", inside)
    return folder


def package(folder: Path, files: dict[str, bytes | str] | None = None, version: str = "1.0", **more: object) -> Path:
    own = {"pkg/__init__.py": INIT, "pkg/_m.cp311-win_amd64.pyd": MODULE, **(files or {})}
    return build_wheel(folder, "pkg", version, files=own, **more)  # type: ignore[arg-type]


def via(way: str, wheel: Path, *roots: Path, **more: Any) -> Repaired:
    return repaired(wheel, scan=hermetic(*roots, **more), via=way)


def member(made: Path | Repaired, name: str) -> str:
    return contents(made)[name].decode()


ALONE = hermetic(verify=True)


def check(made: Path, wheels: Path) -> None:
    """The result is whole by itself, by what its requirements are known to have, and with them installed."""
    check_record_independently(made)
    alone = scan(made, ALONE)
    assert alone.verdict is Verdict.OK
    assert {(one.how, one.name) for one in alone.provided} == {("requirement", CUDART), ("requirement", OPENMP)}
    (together,) = scan_set([made], replace(ALONE, beside=(wheels,)), None, None)
    assert together.verdict is Verdict.OK  # type: ignore[union-attr]
    assert {one.how for one in together.provided} == {"file"}  # type: ignore[union-attr]


REQUIRED = ("intel-openmp>=2023.2.0,<2024", "nvidia-cuda-runtime-cu12>=12.1.105,<13")


def test_missing_dlls_become_requirements_and_are_loaded_from_there(tmp_path):
    wheels, wheel = vendors(tmp_path / "wheels"), package(tmp_path / "dist")
    result = via("wheels", wheel, wheels)
    made = result.output
    assert made is not None
    assert not result.plan.additions
    assert tuple(one.requirement for one in result.plan.supplied) == REQUIRED
    metadata = member(made, "pkg-1.0.dist-info/METADATA")
    assert metadata.endswith("".join(f"Requires-Dist: {one}\n" for one in REQUIRED))
    code = member(made, "pkg/__init__.py")
    assert code.startswith('"""A package."""\n\nfrom __future__ import annotations\n')
    assert code.index("_wheelfix_load_dlls()\ndel") < code.index("from pkg import _m")
    compile(code, "pkg/__init__.py", "exec")
    check(made, wheels)
    again = via("wheels", made, wheels)
    assert not again.plan.changes


def test_copies_of_vendors_dlls_leave_the_wheel_and_its_bill_of_materials(tmp_path):
    wheels, wheel = vendors(tmp_path / "wheels"), package(tmp_path / "dist")
    holding = via("vendor", wheel, wheels).output
    assert holding is not None
    made = via("wheels", holding, wheels).output
    assert made is not None
    assert not [name for name in contents(made) if name.endswith(".dll")]
    assert json.loads(member(made, "pkg-1.0.dist-info/sboms/wheelfix.cdx.json"))["components"] == []
    check(made, wheels)


def test_what_differs_from_the_vendors_file_stays(tmp_path):
    own = nvidia_dll(CUDART, "12.1.105", ["f", "patched"])
    result = via("wheels", package(tmp_path / "dist", {f"pkg/{CUDART}": own}), vendors(tmp_path / "wheels"))
    assert [one.requirement for one in result.plan.supplied] == [REQUIRED[0]]
    assert not result.plan.drops


def test_torch_finds_them_too_and_only_those_of_its_release_of_cuda(tmp_path):
    tag, wheels = "py3-none-win_amd64", tmp_path / "wheels"
    old = {"nvidia/cuda_runtime/bin/cudart64_110.dll": nvidia_dll("cudart64_110.dll", "11.7.99")}
    build_wheel(wheels, "nvidia-cuda-runtime-cu11", "11.7.99", tag, old)
    new = {"nvidia/cuda_runtime/bin/cudart64_110.dll": nvidia_dll("cudart64_110.dll", "11.8.89")}
    build_wheel(wheels, "nvidia-cuda-runtime-cu11", "11.8.89", tag, new)
    wheel = build_wheel(tmp_path / "dist", "torch", "2.0.1+cu117", files=torch_files(("cudart64_110.dll",)))
    result = via("wheels", wheel, wheels)
    assert [one.requirement for one in result.plan.supplied] == ["nvidia-cuda-runtime-cu11>=11.7.99,<11.8.89"]
    assert result.plan.patched == ("torch/__init__.py",)
    (together,) = scan_set([result.output], replace(ALONE, beside=(wheels,)), None, None)  # type: ignore[list-item]
    assert together.verdict is Verdict.OK  # type: ignore[union-attr]


def test_code_that_looks_there_by_itself_is_left_alone(tmp_path):
    adds = (
        "import os, sys\n"
        "here = os.path.dirname(os.path.dirname(__file__))\n"
        'os.add_dll_directory(os.path.join(here, "nvidia", "cuda_runtime", "bin"))\n'
        'os.add_dll_directory(os.path.join(sys.prefix, "Library", "bin"))\n'
        "from pkg import _m\n"
    )
    wheels = vendors(tmp_path / "wheels")
    made = via("wheels", package(tmp_path / "dist", {"pkg/__init__.py": adds}), wheels).output
    assert made is not None
    assert member(made, "pkg/__init__.py") == adds
    check(made, wheels)


@pytest.mark.parametrize("known", ["nvidia-cuda-runtime-cu12", "intel-openmp"])
def test_a_requirement_alone_does_not_make_windows_look_there(tmp_path, known):
    wheels, wheel = vendors(tmp_path / "wheels"), package(tmp_path / "dist", requires=[known])
    result = via("wheels", wheel, wheels)
    assert result.output is not None
    assert {OPENMP, CUDART} == {name for one in result.plan.supplied for name in one.names}
    check(result.output, wheels)


def test_a_lock_makes_the_same_wheel(tmp_path, run):
    wheels, wheel, lock = vendors(tmp_path / "wheels"), package(tmp_path / "dist"), tmp_path / "plan.json"
    given = ["--no-discover", "--root", str(wheels)]
    planned = ["repair", str(wheel), "--via", "wheels", *given, "--lock", str(lock), "-w", str(tmp_path / "one")]
    run(*planned)
    assert read_lock(lock)[0].patched == ("pkg/__init__.py",)
    said = run("repair", "--locked", lock, *given, "-w", tmp_path / "two").out
    assert (tmp_path / "one" / wheel.name).read_bytes() == (tmp_path / "two" / wheel.name).read_bytes()
    assert "nvidia-cuda-runtime-cu12>=12.1.105,<13: cudart64_12.dll" in said


@named_cases(
    "change, why",
    {
        "stranger": ({"requirement": "evil>=12.1.105,<13"}, "not a range of versions of a vendor's distribution"),
        "two lines": ({"requirement": "nvidia-x>=12.1.105,<13\nRequires-Dist: evil"}, "is not a requirement"),
        "address": ({"requirement": "nvidia-x @ https://example.org/x.whl"}, "not a range of versions"),
        "folder": ({"folder": "../../x"}, "is not a name in"),
        "name": ({"names": ["a/../../b.dll"]}, "is not a name in"),
    },
)
def test_a_lock_cannot_make_a_wheel_require_anything_else(tmp_path, change, why, run):
    wheels, wheel, lock = vendors(tmp_path / "wheels"), package(tmp_path / "dist"), tmp_path / "plan.json"
    words = ["--no-discover", "--root", str(wheels), "-w", str(tmp_path / "out")]
    run("repair", wheel, "--via", "wheels", "--dry-run", "--lock", lock, *words)
    document = json.loads(lock.read_text(encoding="utf-8"))
    document["plans"][0]["supplied"][1].update(change)
    lock.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=why):
        read_lock(lock)


def test_a_toolkits_file_does_not_stand_for_a_wheel(tmp_path):
    cuda = lay(tmp_path / "CUDA" / "v12.1", toolkit_files("12.1"))
    with pytest.raises(CannotRepair, match="--via wheels takes it from a wheel of its vendor"):
        via("wheels", package(tmp_path / "dist"), cuda)


def test_wheels_that_cannot_be_installed_together(tmp_path):
    wheel = package(tmp_path / "dist", requires=["intel-openmp>=2024"])
    with pytest.raises(CannotRepair, match="requires intel-openmp>=2024"):
        via("wheels", wheel, vendors(tmp_path / "wheels"))


def test_a_vendors_wheel_is_not_a_copy_of_itself(tmp_path):
    wheels = vendors(tmp_path / "wheels")
    own = next(wheels.glob("nvidia*.whl"))
    assert not via("wheels", own, wheels).plan.changes


def test_what_is_vendored_all_the_same_finds_them_too(tmp_path):
    """A DLL of no vendor, which only a folder has, imports one that a required distribution has."""
    root = lay(tmp_path / "root", {"flux.dll": f"imports {CUDART}, {OPENMP}; exports solve"})
    wheels, wheel = (
        vendors(tmp_path / "wheels"),
        package(tmp_path / "dist", {"pkg/_m.cp311-win_amd64.pyd": "imports flux.dll:solve"}),
    )
    result = via("wheels", wheel, root, wheels)
    assert [one.name for one in result.plan.additions] == ["flux.dll"]
    assert result.output is not None
    check(result.output, wheels)


def test_a_module_before_which_no_code_runs(tmp_path):
    wheel = build_wheel(tmp_path / "dist", "bare", files={"bare.cp311-win_amd64.pyd": MODULE})
    with pytest.raises(CannotRepair, match="no Python code of the wheel runs before it is loaded"):
        via("wheels", wheel, vendors(tmp_path / "wheels"))


@named_cases(
    "distribution, version, names, cuda, expected",
    {
        "major": ("nvidia-cuda-runtime-cu12", "12.1.105", [CUDART], "", ">=12.1.105,<13"),
        "one release": ("nvidia-cuda-runtime-cu12", "12.1.105", [CUDART], "12.1", ">=12.1.105,<12.2.53"),
        "a name that changes": (
            "nvidia-cuda-nvrtc-cu12",
            "12.1.105",
            ["nvrtc-builtins64_121.dll"],
            "",
            ">=12.1.105,<12.2.91",
        ),
        "unknown": ("not-known", "3.1", ["a.dll"], "", ">=3.1,<4"),
    },
)
def test_the_range_ends_where_something_changes(distribution, version, names, cuda, expected):
    assert version_range(distribution, version, names, cuda) == expected


SUPPLIED = Supplied("a>=1,<2", "1.0", "Lib/site-packages/nvidia/a/bin", ("a.dll",), 1)


@named_cases(
    "before, after",
    {
        "LF": (b"Name: x\n\ntext\n", b"Name: x\nRequires-Dist: a>=1,<2\n\ntext\n"),
        "CRLF": (b"Name: x\r\n\r\ntext", b"Name: x\r\nRequires-Dist: a>=1,<2\r\n\r\ntext"),
        "known": (b"Requires-Dist: a>=1,<2\nName: x\n", b"Requires-Dist: a>=1,<2\nName: x\n"),
        "blanks": (
            b"License: one\n  \n  two\n\nno: x\n",
            b"License: one\n  \n  two\nRequires-Dist: a>=1,<2\n\nno: x\n",
        ),
    },
)
def test_metadata_gets_the_requirement_among_its_fields(before, after):
    assert with_requirements(before, [SUPPLIED]) == after


@named_cases(
    "before, first",
    {
        "empty": (b"", b"def _wheelfix"),
        "encoding": (b"# -*- coding: latin-1 -*-\nx = '\xe4'\n", b"# -*- coding: latin-1 -*-\n\ndef _wheelfix"),
        "mark": (b"\xef\xbb\xbf'''doc'''\nimport a\n", b"\xef\xbb\xbf'''doc'''\n\ndef _wheelfix"),
        "docstring alone": (b"'''doc'''", b"'''doc'''\n\ndef _wheelfix"),
        "CRLF": (b"'''doc\r\nmore'''\r\nimport a\r\n", b"'''doc\r\nmore'''\r\n\r\ndef _wheelfix"),
        "future": (
            b"from __future__ import (\n division,\n)\nimport a\n",
            b"from __future__ import (\n division,\n)\n\ndef _w",
        ),
    },
)
def test_the_code_comes_before_all_that_may_not_stay_first(before, first):
    after = with_loading_code(before, [SUPPLIED], "pkg/__init__.py")
    assert after.startswith(first)
    compile(after, "pkg/__init__.py", "exec")
    assert with_loading_code(after, [SUPPLIED], "pkg/__init__.py") == after


@pytest.mark.parametrize("code, why", [(b"def (:\n", "not valid Python"), (b"'doc'; import a\n", "several")])
def test_a_file_without_a_place_for_the_code(code, why):
    with pytest.raises(CannotRepair, match=why):
        with_loading_code(code, [SUPPLIED], "pkg/__init__.py")


def test_an_installed_toolkit_serves_what_looks_for_it(tmp_path):
    wheel = build_wheel(tmp_path / "dist", "torch", "2.0.1+cu117", files=torch_files(("cudart64_110.dll",)))
    result = via("toolkit", wheel)
    assert not result.plan.changes
    assert "its users need CUDA 11.7, installed by NVIDIA's installer" in result.plan.notes
    adds = 'import os\nos.add_dll_directory(os.path.join(os.environ["CUDA_PATH"], "bin"))\nfrom pkg import _m\n'
    code = package(tmp_path / "code", {"pkg/__init__.py": adds, "pkg/_m.cp311-win_amd64.pyd": f"imports {CUDART}"})
    with pytest.raises(UsageError, match="does not say for which CUDA"):
        via("toolkit", code)
    assert not via("toolkit", code, assume=("cuda=12.1",)).plan.changes
    with pytest.raises(CannotRepair, match="does not add the toolkit's folder"):
        via("toolkit", package(tmp_path / "plain"))


def test_wheels_are_no_way_to_a_cuda_that_the_index_does_not_have(tmp_path):
    wheel = build_wheel(tmp_path / "dist", "torch", "1.12.0+cu114", files=torch_files(("cudart64_110.dll",), "11.4"))
    planned = repaired(wheel, dry_run=True)
    assert [way.via for way in planned.plan.ways] == ["vendor", "toolkit"]


def test_a_dry_run_shows_the_ways_with_sizes(tmp_path, run):
    cuda = lay(tmp_path / "v11.7", toolkit_files("11.7"))
    names = ("cudart64_110.dll", "cupti64_2022.2.1.dll")
    wheel = build_wheel(tmp_path / "dist", "torch", "2.0.1+cu117", files=torch_files(names))
    reported = run("repair", wheel, "--no-discover", "--root", cuda, "--dry-run").out
    sizes = {
        name: len(data) for path, data in toolkit_files("11.7").items() if (name := path.rpartition("/")[2]) in names
    }
    assert (
        f"--via vendor: {round(sum(sizes.values()) / 1000)} kB of them in the wheel; its users need nothing but"
        in reported
    )
    assert "--via wheels: 0 B of them in the wheel; its users need nvidia-cuda-cupti-cu11," in reported
    assert (
        f"--via toolkit: {round(sizes[names[1]] / 1000)} kB of them in the wheel; its users need CUDA 11.7" in reported
    )


REAL = (
    "nvidia_cuda_runtime_cu12-12.9.79-py3-none-win_amd64.whl",
    "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl",
)


def made_with_real_wheels(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A package that loads a DLL for which the vendors' own are needed, its repair, and the vendors' wheels."""
    load = 'import ctypes\nimport os\nctypes.WinDLL(os.path.join(os.path.dirname(__file__), "_core.dll"))\n'
    files = {"pkg/__init__.py": load, "pkg/_core.dll": f"imports {CUDART}:cudaMalloc, {OPENMP}:omp_get_num_threads"}
    built, wheels = build_wheel(tmp_path / "dist", files=files), tmp_path / "wheels"
    wheels.mkdir()
    for name in REAL:
        shutil.copy(wheel(name), wheels)
    made = via("wheels", built, wheels).output
    assert made is not None
    return built, made, wheels


@pytest.mark.real
def test_the_vendors_own_wheels_serve_a_package_that_requires_them(tmp_path):
    _, made, wheels = made_with_real_wheels(tmp_path)
    lines = member(made, "pkg-1.0.dist-info/METADATA").splitlines()
    expected = ["intel-openmp>=2023.2.0,<2024", "nvidia-cuda-runtime-cu12>=12.9.79,<13"]
    assert lines[-2:] == [f"Requires-Dist: {one}" for one in expected]
    check(made, wheels)


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
def test_and_a_windows_python_imports_it(tmp_path, run):
    wine = wine_options()
    built, made, wheels = made_with_real_wheels(tmp_path)
    run("try", built, "--no-deps", "--module", "pkg", "-q", *wine, code=Exit.FINDINGS)
    run("try", made, "--with", wheels, "--module", "pkg", "-q", *wine)
