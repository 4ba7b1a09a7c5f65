"""One import in a fresh process: what the child writes down, and what is read from a loader's log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.trial.host import HostPython
from wheelfix.trial import child
from wheelfix.trial.model import LoadedFile
from wheelfix.trial.observe import loaded_by, observe

if TYPE_CHECKING:
    from pathlib import Path

LOG = """\
0024:trace:loaddll:build_module Loaded L"C:\\\\windows\\\\system32\\\\ntdll.dll" at 00006FFFFFF40000: builtin
0024:trace:loaddll:build_module Loaded L"T:\\\\env\\\\Lib\\\\site-packages\\\\pkg\\\\a.dll" at 0000000180000000: native
0024:trace:loaddll:build_module Loaded L"T:\\\\env\\\\Lib\\\\site-packages\\\\pkg\\\\gone.dll" at 0000000190000: native
0024:trace:loaddll:free_modref Unloaded module L"T:\\\\env\\\\Lib\\\\site-packages\\\\pkg\\\\gone.dll" : native
0024:err:module:import_dll Library b.dll (which is needed by L"T:\\\\env\\\\Lib\\\\site-packages\\\\a.dll") not found
"""


@pytest.fixture
def python(tmp_path: Path) -> HostPython:
    return HostPython(tmp_path)


def test_a_module_that_is_imported(python: HostPython) -> None:
    python.install(fine="print('noise on stdout')\n")
    seen = observe("fine", python, 60)
    assert (seen.outcome, seen.works, seen.errors, seen.cause) == ("imported", True, (), None)


def test_an_error_with_its_causes(python: HostPython) -> None:
    code = "try:\n    import no_such_module\nexcept ImportError as e:\n    raise RuntimeError('it needs more') from e\n"
    python.install(wraps=code)
    seen = observe("wraps", python, 60)
    assert [error.error for error in seen.errors] == ["RuntimeError", "ModuleNotFoundError"]
    assert "ImportError" in seen.errors[1].bases
    assert seen.errors[1].name == "no_such_module"
    assert seen.errors[0].frames == ("wraps.py:4",)
    assert seen.traceback.splitlines()[-1] == "RuntimeError: it needs more"


def test_an_error_that_was_suppressed_is_left_out(python: HostPython) -> None:
    python.install(quiet="try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise OSError('gone') from None\n")
    assert [error.error for error in observe("quiet", python, 60).errors] == ["OSError"]


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import sys; sys.exit('no display')"])
def test_a_package_that_ends_the_program(code: str, python: HostPython) -> None:
    python.install(ends=code)
    assert [error.error for error in observe("ends", python, 60).errors] == ["SystemExit"]


def test_a_process_that_gives_no_answer(python: HostPython) -> None:
    python.install(dies="import os\nos.write(2, b'last words')\nos._exit(17)\n")
    seen = observe("dies", python, 60)
    assert (seen.outcome, seen.exit_code, seen.output) == ("crashed", 17, "last words")


def test_a_process_that_does_not_end(python: HostPython) -> None:
    python.install(waits="import time\ntime.sleep(60)\n")
    assert observe("waits", python, 0.5).outcome == "timeout"


def test_the_answer_of_the_module_itself_is_not_believed_blindly(python: HostPython) -> None:
    """The code of a wheel runs in the process and knows where the answer goes."""
    python.install(lies="import os, sys\nopen(sys.argv[4], 'w').write('__import__(\"os\").abort()')\nos._exit(0)\n")
    assert observe("lies", python, 60).outcome == "crashed"


@pytest.mark.parametrize(
    "answer", ["[]", "{'outcome': 'raised', 'errors': [3]}", "{'outcome': 'raised', 'errors': [{}]}"]
)
def test_nor_one_that_makes_no_sense(answer: str, python: HostPython) -> None:
    python.install(lies=f"import os, sys\nopen(sys.argv[4], 'w').write({answer!r})\nos._exit(0)\n")
    assert observe("lies", python, 60).outcome == "crashed"


def test_the_child_imports_nothing_before_the_module(python: HostPython) -> None:
    python.install(lists="import sys\nraise KeyError(sorted({'json', 'ctypes', 'traceback', 're'} & set(sys.modules)))")
    assert observe("lists", python, 60).errors[0].message == "[]"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError("Could not find module 'x.dll' (or one of its dependencies). Try using …"), 126),
        (OSError("cannot load library 'x.dll': error 0x7e"), 126),
        (OSError("cannot load library 'x.dll': error 0xc1"), 193),
        (OSError("cannot load library 'x.dll': x.dll: cannot open shared object file"), 0),
        (ImportError("DLL load failed while importing _m: Module not found."), 126),
        (ImportError("cannot import name 'x'"), 0),
    ],
)
def test_the_code_behind_an_error(error: Exception, code: int) -> None:
    assert child.code_of(error, str(error)) == code


def test_the_files_that_a_log_shows() -> None:
    assert loaded_by(LOG.splitlines()) == [
        r"C:\windows\system32\ntdll.dll",
        r"T:\env\Lib\site-packages\pkg\a.dll",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="speaks for Wine")
def test_a_log_is_read_for_missing_files_and_deviations(tmp_path: Path) -> None:
    class Wine(HostPython):
        def path(self, path: Path) -> str:
            return (
                "T:\\env\\Lib\\site-packages" if path == self.site else "T:\\env" if path == self.prefix else str(path)
            )

    symbol = '0024:err:module:import_dll No implementation for %s imported from L"T:\\\\env\\\\x.pyd", setting to 0x1\n'
    err = LOG + symbol % "T:\\\\env\\\\Lib\\\\site-packages\\\\pkg\\\\a.dll.call" + symbol % "ntdll.dll.NewFunction"
    python = Wine(tmp_path, wine=True, err=err)
    python.install(fine="")
    python.exchange.joinpath("x").touch()
    (tmp_path / "run").mkdir()
    seen = observe("fine", python, 60)
    assert seen.missing == (("b.dll", "a.dll"),)
    assert seen.deviations == ("missing-symbol",)
    assert seen.loaded == (
        LoadedFile("C:\\windows\\system32\\ntdll.dll", "windows"),
        LoadedFile("pkg/a.dll", "package"),
    )
    only = Wine(tmp_path / "run", wine=True, err=LOG + symbol % "ntdll.dll.NewFunction")
    only.install(fine="")
    assert observe("fine", only, 60).deviations == (), "Windows has what Wine's own DLLs do not have"
