"""Whether an import ended as predicted: class, code, missing DLL and module; and what Wine cannot tell."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.winerrors import deviations
from wheelfix.model import Machine
from wheelfix.trial.model import Agreement, Expected, ImportAnswer, LoadedFile, Observed, RaisedError
from wheelfix.trial.observe import compare, windows_codes

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
def test_agreement(name: str, wine: bool) -> None:
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
    "an API set": (WORKS, failed(missing=(("api-ms-win-core-path-l1-1-0.dll", "_m.pyd"),)), CANNOT_TELL),
    "a function that Wine does not have": (
        WORKS, raised("OSError", "[WinError -1] …", 0, deviations=("unimplemented-function",)), CANNOT_TELL,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDER_WINE)
def test_what_wine_does_otherwise(name: str) -> None:
    expected, observed, agreement = UNDER_WINE[name]
    assert compare(expected, observed, wine=True, machine=Machine.AMD64)[0] is agreement


def test_on_windows_a_crash_is_not_predicted() -> None:
    seen = Observed("crashed", exit_code=0xC0000005)
    assert compare(WORKS, seen, wine=False, machine=Machine.AMD64)[0] is NOT_PREDICTED


def test_mapping_comes_before_binding() -> None:
    assert windows_codes(Observed("imported", deviations=("missing-symbol", "foreign-dependency-32"))) == {193}


def test_every_reason_names_its_row() -> None:
    _, why = compare(WORKS, Observed("crashed"), wine=True, machine=Machine.AMD64)
    assert why.startswith("Wine cannot tell (crash)")
    assert {row.id for row in deviations()} >= {"builtin-dll", "absent-system-dll", "unimplemented-function", "crash"}


def test_a_load_that_windows_refuses_and_the_package_catches_is_no_difference() -> None:
    """PyOgg goes on without a codec whose DLL has other exports; Wine binds the missing function to a stub."""
    seen = Observed("imported", deviations=("missing-symbol",))
    assert windows_codes(seen) == {127}
    caught = Expected(ImportAnswer.WORKS, caught=frozenset({127}))
    assert compare(caught, seen, wine=True, machine=Machine.AMD64)[0] is Agreement.AGREES
    assert compare(Expected(ImportAnswer.WORKS), seen, wine=True, machine=Machine.AMD64)[0] is Agreement.DIFFERS


def test_the_error_of_a_package_that_catches_what_wine_passes_over_cannot_be_seen() -> None:
    """opencc raises an error of its own when its module does not load."""
    seen = Observed("imported", deviations=("missing-symbol",))
    own = Expected(ImportAnswer.FAILS, "ImportError", message="ImportError: no module in the runfiles")
    assert compare(own, seen, wine=True, machine=Machine.AMD64)[0] is Agreement.CANNOT_TELL


def test_a_dll_of_windows_that_wine_has_not_hides_every_prediction() -> None:
    """snowflake: bcryptprimitives.dll is not in Debian's Wine, and another module fails there first."""
    for name in ("bcryptprimitives.dll", "MSVCP140_CODECVT_IDS.dll"):
        seen = failed(missing=((name, "_m.pyd"),))
        assert compare(MISSING, seen, wine=True, machine=Machine.AMD64)[0] is Agreement.CANNOT_TELL
