"""One import in a fresh process, and what is read from what the process left behind."""

from __future__ import annotations

import ast
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.errors import EnvironmentFailure
from wheelfix.knowledge.winerrors import NOT_FOUND, shown_by
from wheelfix.trial.model import LoadedFile, Observed, RaisedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.programs import Finished
    from wheelfix.trial.model import Interpreter

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
