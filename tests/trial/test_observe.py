"""One import in a fresh process: what the child writes down, and what is read from a loader's log."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.trial.host import HostPython
from wheelfix.knowledge.winerrors import deviations
from wheelfix.model import Machine
from wheelfix.trial import child
from wheelfix.trial.model import Agreement, Expected, ImportAnswer, LoadedFile, Observed, RaisedError
from wheelfix.trial.run import compare, loaded_by, observe, windows_codes

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


def test_a_module_that_is_imported(python):
    python.install(fine="print('noise on stdout')\n")
    seen = observe("fine", python, 60)
    assert (seen.outcome, seen.works, seen.errors, seen.cause) == ("imported", True, (), None)


def test_an_error_with_its_causes(python):
    code = "try:\n    import no_such_module\nexcept ImportError as e:\n    raise RuntimeError('it needs more') from e\n"
    python.install(wraps=code)
    seen = observe("wraps", python, 60)
    assert [error.error for error in seen.errors] == ["RuntimeError", "ModuleNotFoundError"]
    assert "ImportError" in seen.errors[1].bases
    assert seen.errors[1].name == "no_such_module"
    assert seen.errors[0].frames == ("wraps.py:4",)
    assert seen.traceback.splitlines()[-1] == "RuntimeError: it needs more"


def test_an_error_that_was_suppressed_is_left_out(python):
    python.install(quiet="try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise OSError('gone') from None\n")
    assert [error.error for error in observe("quiet", python, 60).errors] == ["OSError"]


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import sys; sys.exit('no display')"])
def test_a_package_that_ends_the_program(code, python):
    python.install(ends=code)
    assert [error.error for error in observe("ends", python, 60).errors] == ["SystemExit"]


def test_a_process_that_gives_no_answer(python):
    python.install(dies="import os\nos.write(2, b'last words')\nos._exit(17)\n")
    seen = observe("dies", python, 60)
    assert (seen.outcome, seen.exit_code, seen.output) == ("crashed", 17, "last words")


def test_a_process_that_does_not_end(python):
    python.install(waits="import time\ntime.sleep(60)\n")
    assert observe("waits", python, 0.5).outcome == "timeout"


def test_the_answer_of_the_module_itself_is_not_believed_blindly(python):
    """The code of a wheel runs in the process and knows where the answer goes."""
    python.install(lies="import os, sys\nopen(sys.argv[4], 'w').write('__import__(\"os\").abort()')\nos._exit(0)\n")
    assert observe("lies", python, 60).outcome == "crashed"


@pytest.mark.parametrize(
    "answer", ["[]", "{'outcome': 'raised', 'errors': [3]}", "{'outcome': 'raised', 'errors': [{}]}"]
)
def test_nor_one_that_makes_no_sense(answer, python):
    python.install(lies=f"import os, sys\nopen(sys.argv[4], 'w').write({answer!r})\nos._exit(0)\n")
    assert observe("lies", python, 60).outcome == "crashed"


def test_the_child_imports_nothing_before_the_module(python):
    python.install(lists="import sys\nraise KeyError(sorted({'json', 'ctypes', 'traceback', 're'} & set(sys.modules)))")
    assert observe("lists", python, 60).errors[0].message == "[]"


@pytest.mark.parametrize(
    "error, code",
    [
        (FileNotFoundError("Could not find module 'x.dll' (or one of its dependencies). Try using …"), 126),
        (OSError("cannot load library 'x.dll': error 0x7e"), 126),
        (OSError("cannot load library 'x.dll': error 0xc1"), 193),
        (OSError("cannot load library 'x.dll': x.dll: cannot open shared object file"), 0),
        (ImportError("DLL load failed while importing _m: Module not found."), 126),
        (ImportError("cannot import name 'x'"), 0),
    ],
)
def test_the_code_behind_an_error(error, code):
    assert child.code_of(error, str(error)) == code


def test_the_files_that_a_log_shows():
    assert loaded_by(LOG.splitlines()) == [
        r"C:\windows\system32\ntdll.dll",
        r"T:\env\Lib\site-packages\pkg\a.dll",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="speaks for Wine")
def test_a_log_is_read_for_missing_files_and_deviations(tmp_path):
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


WORKS = Expected(ImportAnswer.WORKS)
UNSURE = Expected(ImportAnswer.UNSURE, because="nobody knows")
MISSING = Expected(
    ImportAnswer.FAILS, "ImportError", 126, "ImportError: DLL load failed while importing _m: …", "helper.dll",
    "_m.cp311-win_amd64.pyd",
)  # fmt: skip
SYMBOL = Expected(ImportAnswer.FAILS, "ImportError", 127, "ImportError: …", "helper.dll", "_m.pyd")
IMPORTED = Observed("imported")


def raised(error: str, message: str, code: int = 0, *more: RaisedError, **fields: object) -> Observed:
    bases = ("ImportError", "Exception") if error == "ModuleNotFoundError" else ("Exception",)
    return Observed("raised", (RaisedError(error, message, code, bases), *more), **fields)  # type: ignore[arg-type]


def failed(name: str = "_m", code: int = 126, **fields: object) -> Observed:
    return raised("ImportError", f"DLL load failed while importing {name}: Module not found.", code, **fields)


AGREES, DIFFERS = Agreement.AGREES, Agreement.DIFFERS
CANNOT_TELL, NOT_PREDICTED = Agreement.CANNOT_TELL, Agreement.NOT_PREDICTED
CASES = {
    "works": (WORKS, IMPORTED, AGREES),
    "fails as predicted": (MISSING, failed(), AGREES),
    "works, was to fail": (MISSING, IMPORTED, DIFFERS),
    "fails, was to work": (WORKS, failed(), DIFFERS),
    "another code": (MISSING, failed(code=193), DIFFERS),
    "another module": (MISSING, failed("_other"), DIFFERS),
    "another class": (MISSING, raised("OSError", "[WinError 126] …", 126), DIFFERS),
    "the missing DLL too": (MISSING, failed(missing=(("helper.dll", "_m.pyd"),)), AGREES),
    "spelled otherwise": (MISSING, failed(missing=(("HELPER.DLL", "_m.pyd"),)), AGREES),
    "one of several missing": (MISSING, failed(missing=(("a.dll", "b.dll"), ("helper.dll", "_m.pyd"))), AGREES),
    "another DLL is missing": (MISSING, failed(missing=(("a.dll", "_m.pyd"),)), DIFFERS),
    "wrapped by the package": (
        MISSING,
        raised(
            "RuntimeError", "again", 0, RaisedError("ImportError", "DLL load failed while importing _m: …", 126)
        ),
        AGREES,
    ),
    "nothing about DLLs": (WORKS, raised("ModuleNotFoundError", "No module named 'yaml'"), NOT_PREDICTED),
    "the network is off": (WORKS, raised("OSError", "[WinError 10051] …", 10051), NOT_PREDICTED),
    "was unsure, works": (UNSURE, IMPORTED, NOT_PREDICTED),
    "was unsure, fails": (UNSURE, failed(), NOT_PREDICTED),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("wine", [False, True])
def test_agreement(name, wine):
    expected, observed, agreement = CASES[name]
    found, why = compare(expected, observed, wine=wine, machine=Machine.AMD64)
    assert found is agreement
    assert bool(why) == (found is not AGREES)


UNDER_WINE = {
    "Wine has no bcryptprimitives, before the predicted fault": (
        MISSING, failed("_rust", missing=(("bcryptprimitives.dll", "_rust.pyd"),)), CANNOT_TELL,
    ),
    "Wine has not every DLL of the C++ runtime": (
        WORKS, failed(missing=(("MSVCP140_CODECVT_IDS.dll", "_m.pyd"),)), CANNOT_TELL,
    ),
    "Wine logs a missing symbol": (SYMBOL, Observed("imported", deviations=("missing-symbol",)), AGREES),
    "and crashes over it": (SYMBOL, Observed("crashed", deviations=("missing-symbol",), exit_code=5), AGREES),
    "which was not predicted": (WORKS, Observed("imported", deviations=("missing-symbol",)), DIFFERS),
    "126 for 193": (
        Expected(ImportAnswer.FAILS, "ImportError", 193, "…", "helper.dll", "_m.pyd"),
        failed(deviations=("dependency-is-no-image",)),
        AGREES,
    ),
    "and not 126": (MISSING, failed(deviations=("foreign-dependency",)), DIFFERS),
    "the package catches it": (WORKS, Observed("imported", deviations=("dependency-is-no-image",)), AGREES),
    "a crash": (WORKS, Observed("crashed", exit_code=5), CANNOT_TELL),
    "no end": (WORKS, Observed("timeout"), CANNOT_TELL),
    "Wine has the DLL itself": (
        MISSING,
        Observed("imported", loaded=(LoadedFile("C:\\windows\\system32\\helper.dll", "windows"),)),
        CANNOT_TELL,
    ),
    "Wine has a DLL of Windows not": (WORKS, failed(missing=(("mfplat.dll", "_m.pyd"),)), CANNOT_TELL),
    "PyOgg goes on without a codec whose DLL Wine binds to a stub": (
        Expected(ImportAnswer.WORKS, caught=frozenset({127})), Observed("imported", deviations=("missing-symbol",)),
        AGREES,
    ),
    "opencc raises an error of its own, which cannot be seen": (
        Expected(ImportAnswer.FAILS, "ImportError", message="ImportError: no module in the runfiles"),
        Observed("imported", deviations=("missing-symbol",)),
        CANNOT_TELL,
    ),
    "snowflake's DLL of the C++ runtime, before the predicted fault": (
        MISSING, failed(missing=(("MSVCP140_CODECVT_IDS.dll", "_m.pyd"),)), CANNOT_TELL,
    ),
    "an API set": (WORKS, failed(missing=(("api-ms-win-core-path-l1-1-0.dll", "_m.pyd"),)), CANNOT_TELL),
    "a function that Wine does not have": (
        WORKS, raised("OSError", "[WinError -1] …", 0, deviations=("unimplemented-function",)), CANNOT_TELL,
    ),
}  # fmt: skip


def test_on_windows_a_crash_is_not_predicted():
    seen = Observed("crashed", exit_code=0xC0000005)
    assert compare(WORKS, seen, wine=False, machine=Machine.AMD64)[0] is NOT_PREDICTED


@pytest.mark.parametrize("name", UNDER_WINE)
def test_what_wine_does_otherwise(name):
    expected, observed, agreement = UNDER_WINE[name]
    assert compare(expected, observed, wine=True, machine=Machine.AMD64)[0] is agreement


def test_mapping_comes_before_binding():
    assert windows_codes(Observed("imported", deviations=("missing-symbol", "foreign-dependency-32"))) == {193}


def test_every_reason_names_its_row():
    _, why = compare(WORKS, Observed("crashed"), wine=True, machine=Machine.AMD64)
    assert why.startswith("Wine cannot tell (crash)")
    assert {row.id for row in deviations()} >= {"builtin-dll", "absent-system-dll", "unimplemented-function", "crash"}
