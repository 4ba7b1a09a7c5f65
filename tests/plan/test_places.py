"""A DLL that code loads goes where the load finds it: RECORD's row, the path in the code, the folder that it adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import lay
from tests.support.repairs import added, contents, repaired
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, extension, folder_of
from wheelfix.errors import CannotRepair, UsageError
from wheelfix.exam.scan import scan
from wheelfix.model import Verdict
from wheelfix.repairs import mangled
from wheelfix.repairs.repair import Repaired

HERE = "import ctypes, os\nhere = os.path.dirname(__file__)\n"
BY_PATH = HERE + "ctypes.CDLL(os.path.join(here, 'lib', 'snd.dll'))\n"
SEARCHING = HERE + (
    "found = None\n"
    "for name in ('a.dll', 'b.dll', 'snd.dll'):\n"
    "    path = os.path.join(here, 'lib', name)\n"
    "    if os.path.exists(path):\n"
    "        found = ctypes.CDLL(path)\n"
    "        break\n"
    "if found is None:\n"
    "    raise RuntimeError('no library')\n"
)
FALLING_BACK = HERE + (
    "try:\n    ctypes.CDLL(os.path.join(here, 'lib', 'snd.dll'))\nexcept OSError:\n    ctypes.CDLL('libsnd.dll')\n"
)
ON_PATH = (
    "import os\nfrom pathlib import Path\nimport cffi\n"
    "os.environ['PATH'] = f\"{Path(__file__).parent / 'x64'}{os.pathsep}{os.environ['PATH']}\"\n"
    "cffi.FFI().dlopen('snd.dll')\nfrom pkg import _m\n"
)
ADDED = HERE + "os.add_dll_directory(os.path.join(here, 'dlls'))\nfrom pkg import _m\n"
SND = "imports low.dll; exports play"
MODULE = extension("snd.dll:play", name="_m")
EXTENSION = {"pkg/_m.cp311-win_amd64.pyd": MODULE}


def with_sound(tmp_path: Path, files: dict[str, bytes | str], **options: Any) -> Repaired:
    """The repair of a package with a root that has snd.dll, and low.dll that it imports."""
    root = lay(tmp_path / "root", {"snd.dll": SND, "low.dll": ""})
    return repaired(build_wheel(tmp_path / "dist", files=files, requires=("cffi",)), root, **options)


@named_cases(
    "files, place",
    {
        "a path": ({"pkg/__init__.py": BY_PATH}, "pkg/lib"),
        "one of several names": ({"pkg/__init__.py": SEARCHING}, "pkg/lib"),
        "a path before a bare name": ({"pkg/__init__.py": FALLING_BACK}, "pkg/lib"),
        "a folder on PATH": ({"pkg/__init__.py": ON_PATH, **EXTENSION}, "pkg/x64"),
        "a folder that has to exist": ({"pkg/__init__.py": ADDED, **EXTENSION}, "pkg/dlls"),
    },
)
def test_the_place_is_the_one_of_the_load(tmp_path, files, place):
    """tcod, pylsl and PyOpenAL: repair stopped at the finding about their code, or put the DLL beside the module."""
    result = with_sound(tmp_path, files)
    assert added(result) == [f"{place}/low.dll", f"{place}/snd.dll"]
    assert result.output is not None
    assert scan(result.output).verdict is Verdict.OK


def test_a_namesake_elsewhere_in_the_wheel_does_not_answer_the_load(tmp_path):
    wrong = {
        "pkg/__init__.py": ON_PATH,
        "pkg/snd.dll": SND,
        "pkg/low.dll": "",
    }
    wheel = build_wheel(tmp_path, files={**wrong, **EXTENSION}, requires=("cffi",))
    report = scan(wheel)
    assert [finding.code for finding in report.findings if finding.severity.name == "ERROR"] == ["WF314"]
    result = with_sound(tmp_path, {**wrong, **EXTENSION})
    assert "pkg/x64/snd.dll" in added(result)
    assert result.output is not None
    assert scan(result.output).verdict is Verdict.OK
    cleaned = with_sound(tmp_path, {**wrong, **EXTENSION}, clean=True)
    assert added(cleaned) == added(result)


def test_a_runtime_that_code_loads_by_its_path_is_the_package_s_own(tmp_path):
    """glfw brings msvcr120.dll and loads it first; without it, its own DLL does not load."""
    code = HERE + "ctypes.CDLL(os.path.join(here, 'msvcr120.dll'))\nctypes.CDLL(os.path.join(here, 'glfw3.dll'))\n"
    folder_of(tmp_path / "root", "msvcr120.dll:malloc")
    result = with_sound(tmp_path, {"pkg/__init__.py": code, "pkg/glfw3.dll": "imports msvcr120.dll:malloc"})
    assert added(result) == ["pkg/msvcr120.dll"]
    assert result.output is not None
    assert scan(result.output).verdict is Verdict.OK


def test_an_included_dll_goes_where_code_looks_for_it(tmp_path):
    result = with_sound(tmp_path, {"pkg/__init__.py": SEARCHING}, include=("snd.dll",))
    assert added(result) == ["pkg/lib/low.dll", "pkg/lib/snd.dll"]


def test_an_included_dll_never_goes_into_the_root_of_the_wheel(tmp_path):
    files = {"pkg/__init__.py": "", "_m.cp311-win_amd64.pyd": ""}
    with pytest.raises(UsageError, match=r"--include snd\.dll") as caught:
        with_sound(tmp_path, files, include=("snd.dll",))
    assert "--dest" in caught.value.hint
    result = with_sound(tmp_path, files, include=("snd.dll",), dest="pkg/lib")
    assert added(result) == ["pkg/lib/low.dll", "pkg/lib/snd.dll"]


def test_a_dll_that_cannot_be_renamed_keeps_its_name(tmp_path, monkeypatch):
    def fail(*args: object) -> None:
        raise CannotRepair("delvewheel could not rename the DLLs of pkg", because="no room for longer names")

    monkeypatch.setattr(mangled, "run_delvewheel", fail)
    files = {"pkg/__init__.py": "", **EXTENSION}
    result = with_sound(tmp_path, files)
    assert added(result) == ["pkg/low.dll", "pkg/snd.dll"]
    assert result.plan.layout == "beside"
    (note,) = [note for note in result.plan.notes if "keep their names" in note]
    assert "no room for longer names" in note
    assert "pkg/snd.dll" in contents(result)
    with pytest.raises(CannotRepair, match="could not rename"):
        with_sound(tmp_path, files, layout="libs")
