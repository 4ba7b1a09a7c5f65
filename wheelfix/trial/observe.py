"""One import in a fresh process, what it left behind, and whether that is what was expected."""

from __future__ import annotations

import ast
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.errors import EnvironmentFailure
from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.knowledge.winerrors import NOT_FOUND, deviation, shown_by
from wheelfix.model import Machine, dll_key
from wheelfix.trial.model import Agreement, ImportAnswer, LoadedFile, Observed, RaisedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.base.programs import Finished
    from wheelfix.trial.model import Expected, Interpreter

CHILD = Path(__file__).with_name("child.py")
MOST = 4 << 20
"""Bytes of an answer that are read."""
TAIL = 2000
"""Characters of a process's output that are kept if it gave no answer."""
_LOG = re.compile(r"^[0-9a-f]{4}:(?:err|warn|fixme|trace):")
_LOADED = re.compile(r':loaddll:\S{1,60} (?P<word>Loaded|Unloaded) (?:module )?L"(?P<path>[^"\n]{0,1000})"')
_NO_SYMBOL = re.compile(r'import_dll No implementation for (.{1,300})\.[^.\s]{1,300} imported from L?"')


def observe(module: str, target: Interpreter, timeout: float) -> Observed:
    """Import a module with a Python."""
    exchange = target.exchange
    script, result = exchange / "child.py", exchange / "result"
    shutil.copyfile(CHILD, script)
    result.unlink(missing_ok=True)
    how = "log" if target.facts.wine else "list"
    asked = [module, target.path(target.site), how, target.path(result)]
    arguments = ["-I", "-X", "utf8", target.path(script), *asked]
    started = time.monotonic()
    try:
        done = target.run(arguments, timeout=timeout)
    except EnvironmentFailure as error:
        if "took more than" not in error.because:
            raise
        return Observed("timeout", seconds=time.monotonic() - started)
    seconds = time.monotonic() - started
    try:
        return _with_answer(_parse(result), done, target, seconds)
    except (OSError, ValueError, SyntaxError, MemoryError, RecursionError, TypeError, LookupError, AttributeError):
        return _without_answer(done, target, seconds)


def _parse(result: Path) -> dict[str, Any]:
    """Read what the child wrote; the code of a wheel ran in it, so that it may be anything."""
    if result.stat().st_size > MOST:
        raise ValueError("too long")
    answer = ast.literal_eval(result.read_text(encoding="ascii"))
    if not isinstance(answer, dict) or answer.get("outcome") not in ("imported", "raised"):
        raise ValueError("not an answer")
    return answer


def _without_answer(done: Finished, target: Interpreter, seconds: float) -> Observed:
    lines = done.err.splitlines()
    loaded = tuple(_placed(path, target) for path in loaded_by(lines))
    said = "\n".join([done.out.strip(), *(line for line in lines if not _LOG.match(line))]).strip()
    return Observed(
        "crashed",
        loaded=loaded,
        missing=tuple(_missing(lines)),
        deviations=tuple(row.id for row in shown_by(_about_files(lines, _own(loaded)))),
        exit_code=done.code,
        output=said[-TAIL:],
        seconds=seconds,
    )


def _with_answer(answer: dict[str, Any], done: Finished, target: Interpreter, seconds: float) -> Observed:
    log = done.err.splitlines() if target.facts.wine else []
    loaded = tuple(_placed(path, target) for path in answer.get("loaded") or loaded_by(log))
    return Observed(
        outcome=str(answer["outcome"]),
        errors=tuple(_error(error, target) for error in answer.get("errors", ())),
        traceback=str(answer.get("traceback", "")),
        loaded=loaded,
        missing=tuple(_missing(log)),
        deviations=tuple(row.id for row in shown_by(_about_files(log, _own(loaded)))),
        exit_code=done.code,
        seconds=seconds,
    )


def _own(loaded: Iterable[LoadedFile]) -> set[str]:
    return {base(file.path).lower() for file in loaded if file.where != "windows"}


def loaded_by(log: Iterable[str]) -> list[str]:
    """Return the files that are in the process after what Wine's log shows, in the order of loading."""
    found: dict[str, None] = {}
    for line in log:
        match = _LOADED.search(line)
        if match is not None:
            path = match["path"].replace("\\\\", "\\")
            if match["word"] == "Loaded":
                found[path] = None
            else:
                found.pop(path, None)
    return list(found)


def _about_files(log: Iterable[str], own: set[str]) -> Iterable[str]:
    """The lines of a log without those about functions that Wine's own DLLs do not have: Windows has them."""
    for line in log:
        found = _NO_SYMBOL.search(line)
        if found is None or base(found[1].replace("\\\\", "\\")).lower() in own:
            yield line


def _missing(log: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Give each DLL that a log reports as not found, with the file that asked for it."""
    found: dict[tuple[str, str], None] = {}
    for line in log:
        match = NOT_FOUND.search(line)
        if match is not None:
            found[match["dll"], base(match["by"].replace("\\\\", "\\"))] = None
    return list(found)


def _error(error: dict[str, Any], target: Interpreter) -> RaisedError:
    site, code = target.path(target.site), error.get("code")
    frames = (str(frame).replace(site, "").lstrip("\\/").replace("\\", "/") for frame in error.get("frames", ()))
    return RaisedError(
        error=str(error["class"]),
        message=str(error["message"]),
        code=code if isinstance(code, int) else 0,
        bases=tuple(map(str, error.get("bases", ()))),
        name=str(error.get("name", "")),
        frames=tuple(frames),
    )


def _placed(path: str, target: Interpreter) -> LoadedFile:
    """Say where a loaded file is, by its name in Windows."""
    plain = path.removeprefix("\\\\?\\")
    for folder, where in ((target.path(target.site), "package"), (target.path(target.prefix), "python")):
        if plain.lower().startswith(folder.lower() + "\\"):
            return LoadedFile(plain[len(folder) + 1 :].replace("\\", "/"), where)
    windows = re.match(r"[a-z]:\\windows\\", plain, re.IGNORECASE)
    name = base(plain).lower()
    if not windows and re.fullmatch(r"python3?\d*t?\.dll|python\.exe|vcruntime140(_1)?\.dll", name):
        return LoadedFile(plain, "python")  # a virtual environment runs the Python that it was made from
    return LoadedFile(plain, "windows" if windows else "elsewhere")


def base(path: str) -> str:
    """Return the file name of a path of Windows or of a wheel."""
    return re.split(r"[\\/]", path)[-1]


MISSING = 126
WINSOCK = range(10000, 12000)
"""Codes of the network, which is switched off; the loader gives none of them."""
PASSED_OVER = ("foreign-dependency-32",)
"""Faults of mapping with which a load still succeeds under Wine."""


def compare(expected: Expected, observed: Observed, *, wine: bool, machine: Machine) -> tuple[Agreement, str]:
    """Return how an expectation and an observation compare, and why in one sentence."""
    if wine:
        reason = wine_cannot_tell(expected, observed, machine)
        if reason:
            return Agreement.CANNOT_TELL, reason
    refused = wine and windows_codes(observed) - {0}
    if observed.outcome in ("crashed", "timeout") and not refused:
        return Agreement.NOT_PREDICTED, "the process ended without an answer, which wheelfix does not predict"
    codes = windows_codes(observed) if wine else {_code(observed)}
    works = observed.works and codes <= {0}
    if expected.answer is ImportAnswer.UNSURE:
        return Agreement.NOT_PREDICTED, f"wheelfix could not tell beforehand: {expected.because}"
    if expected.answer is ImportAnswer.WORKS:
        if works or (observed.works and codes - {0} <= expected.caught):
            return Agreement.AGREES, ""
        if not any(codes):
            return Agreement.NOT_PREDICTED, "no DLL is involved in this error, and wheelfix predicts no others"
        return Agreement.DIFFERS, f"predicted to work, it fails with {_codes(codes)}"
    if works:
        return Agreement.DIFFERS, f"predicted to fail ({expected.message}), it works"
    return _compare_failures(expected, observed, codes)


def _compare_failures(expected: Expected, observed: Observed, codes: set[int]) -> tuple[Agreement, str]:
    if not observed.errors and not expected.code:  # the package would catch what Wine passes over
        return Agreement.CANNOT_TELL, f"Wine loads what Windows refuses with {_codes(codes)}"
    if not observed.errors:  # Wine only logs what makes Windows refuse the load
        same = expected.code in codes
        return (Agreement.AGREES if same else Agreement.DIFFERS), (
            "Wine loads it and logs the fault for which Windows refuses it"
            if same
            else f"predicted {expected.code}, Windows would give {_codes(codes)}"
        )
    if expected.code and expected.code not in codes:
        return Agreement.DIFFERS, f"predicted {expected.code}, it fails with {_codes(codes)}"
    matching = [error for error in observed.errors if _is_class(error, expected.error)]
    if expected.error and not matching:
        raised = observed.errors[0].error if observed.errors else "nothing"
        return Agreement.DIFFERS, f"predicted {expected.error}, it raises {raised}"
    if expected.code and not _names_same(expected, observed):
        cause = observed.cause
        return Agreement.DIFFERS, f"predicted for {expected.named}, it is about {cause.message if cause else '?'}"
    missing = {dll_key(name) for name, _ in observed.missing}
    if expected.code == MISSING and missing and dll_key(expected.missing) not in missing:
        names = ", ".join(dict.fromkeys(name for name, _ in observed.missing))
        return Agreement.DIFFERS, f"predicted that {expected.missing} is missing, it is {names}"
    return Agreement.AGREES, ""


def _is_class(error: RaisedError, name: str) -> bool:
    if name == "ModuleNotFoundError" and error.error == "ImportError":
        return "cannot import name" in error.message  # what "from . import module" says for "import pkg.module"
    return not name or name == error.error or name in error.bases


def _names_same(expected: Expected, observed: Observed) -> bool:
    """Whether the error is about the same module or file; only messages that name one are compared."""
    wanted = base(expected.named).lower()
    stem = wanted.split(".")[0]
    for error in observed.errors:
        if "DLL load failed while importing " in error.message:
            said = error.message.partition("while importing ")[2].partition(":")[0].strip().lower()
            return said == stem or stem == "__init__" if wanted.endswith(".pyd") else True
        if "Could not find module '" in error.message:
            path = error.message.partition("Could not find module '")[2].partition("'")[0]
            return base(path).lower() == wanted
    return True


def _code(observed: Observed) -> int:
    cause = observed.cause
    return cause.code if cause is not None and cause.code not in WINSOCK else 0


def _codes(codes: set[int]) -> str:
    words = [f"error {code}" if code > 0 else "an error of the loader" for code in sorted(codes) if code]
    return " or ".join(words) or "an error of Python"


def windows_codes(observed: Observed) -> set[int]:
    """The codes that Windows gives for what Wine's log shows: it maps everything before it binds anything."""
    rows = [deviation(name) for name in observed.deviations]
    mapping = {row.windows for row in rows if row.phase == "map" and row.windows}
    binding = {row.windows for row in rows if row.phase == "bind" and row.windows}
    code = _code(observed)
    if not observed.works and code:
        return {one for one in mapping if one} | ({code} if code != MISSING or not mapping else set())
    if observed.works:
        # A load that failed under Wine too was caught by the package; what Wine passes over or binds to a stub was not.
        mapping = {row.windows for row in rows if row.id in PASSED_OVER and row.windows}
    return {one for one in mapping or binding if one} or {code}


def wine_cannot_tell(expected: Expected, observed: Observed, machine: Machine) -> str:
    """Return why Wine's answer says nothing about Windows here; empty if it does."""
    if observed.outcome in ("crashed", "timeout"):
        if observed.outcome == "crashed" and windows_codes(observed) - {0}:
            return ""  # Windows would have refused the load before
        name = "unimplemented-function" if "unimplemented-function" in observed.deviations else "crash"
        return _sentence(name)
    if not observed.works and "unimplemented-function" in observed.deviations and _code(observed) <= 0:
        return _sentence("unimplemented-function")
    if expected.answer is ImportAnswer.FAILS and dll_key(expected.missing) in _answered_by_wine(observed):
        return _sentence("builtin-dll", expected.missing)
    if not observed.works and _code(observed) == MISSING and not _is_missing(expected, observed):
        absent = [name for name, _ in observed.missing if _of_windows(name, machine)]
        if absent:
            return _sentence("absent-system-dll", absent[0])
    return ""


def _answered_by_wine(observed: Observed) -> set[str]:
    """The DLLs that Wine has itself; it takes its own C++ runtime also where the package has a file of that name."""
    names = [base(file.path) for file in observed.loaded]
    own = {dll_key(base(file.path)) for file in observed.loaded if file.where == "windows"}
    return own | {dll_key(name) for name in names if runtime_file(name) is not None}


def _is_missing(expected: Expected, observed: Observed) -> bool:
    """Whether the DLL is missing that was expected to be."""
    wanted = dll_key(expected.missing)
    return expected.answer is ImportAnswer.FAILS and wanted in {dll_key(name) for name, _ in observed.missing}


def _of_windows(name: str, machine: Machine) -> bool:
    """Whether Windows has a DLL, or the Visual C++ runtime, which is assumed to be installed."""
    return classify(name, machine).kind in ("system", "ucrt", "api-set") or runtime_file(name) is not None


def _sentence(name: str, about: str = "") -> str:
    row = deviation(name)
    return f"Wine cannot tell ({row.id}{f', {about}' if about else ''}): {row.what}; Wine {row.wine}"
