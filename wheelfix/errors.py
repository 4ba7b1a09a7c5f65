"""The errors that end a command, with their exit codes, and what any exception means for one input among others.

A fault *of a wheel* is a finding and is returned. An error here means that we could not do our own work.
"""

from __future__ import annotations

import enum
import importlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import wheelfix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]{1,30}:[/\\]+"
"""How an address begins; a path that was made from one may have lost a slash. One letter would be a drive."""
HIDDEN = "***"


def shown_url(url: str) -> str:
    """Return a URL as it may be shown: without user name, password, query and fragment, each of which may grant access.

    A password may hold ``/``, ``?`` and ``#``, so that everything up to the last ``@`` counts as one. What is not a URL
    is returned as it is; nothing is ever refused.
    """
    found = re.search(_SCHEME, url)
    if found is None:
        return url
    account, at, place = url[found.end() :].rpartition("@")
    # whether that is a password or an @ in a path cannot be told, and a host that is not one would be a lie
    hidden = f"{HIDDEN}@" if at and (account == HIDDEN or re.search(r"[/\\?#]", account)) else ""
    return url[: found.end()] + hidden + re.split("[?#]", place, maxsplit=1)[0]


def redacted(text: str) -> str:
    """Return a text in which every URL is as :func:`shown_url` shows it."""

    def shown(found: re.Match[str]) -> str:
        url = found[0].rstrip("'\")]>,.;:")  # what closes a quotation or a sentence
        return shown_url(url) + found[0][len(url) :]

    return re.sub(rf"{_SCHEME}\S+", shown, text) if ":" in text else text


class Exit(enum.IntEnum):
    """The exit codes of the command line; they are a contract."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    BAD_INPUT = 3
    ENVIRONMENT = 4
    UNKNOWN = 5
    DIFFERS = 6
    INTERRUPTED = 130


def reason_of(error: Exception) -> str:
    """Return what an exception says: of one of the system its sentence, without number and file name."""
    return getattr(error, "strerror", None) or str(error)


class WheelfixError(Exception):
    """The work could not be done: what happened, why, and what to try. No URL in it shows a secret."""

    exit_code: Exit = Exit.ENVIRONMENT

    def __init__(self, what: str, *, because: str | Sequence[str] | Exception = "", hint: str = "") -> None:
        """An exception may be the reason: what it says is taken."""
        self.what = redacted(what)
        super().__init__(self.what)
        because = reason_of(because) if isinstance(because, Exception) else because
        reasons = filter(None, (because,)) if isinstance(because, str) else because
        self.reasons: tuple[str, ...] = tuple(map(redacted, reasons))
        self.because = "; ".join(self.reasons)
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}: {self.because}" if self.because else self.what


class UsageError(WheelfixError):
    """The command line, a configuration file or an argument is not valid."""

    exit_code = Exit.USAGE


class InputError(WheelfixError):
    """An input cannot be read as what it claims to be (not a zip file, not a wheel's name, truncated, …)."""

    exit_code = Exit.BAD_INPUT


class EnvironmentFailure(WheelfixError):
    """The machine failed: disk, permission, a program that is missing, a file that changed while it was read."""

    exit_code = Exit.ENVIRONMENT


def install_extra(name: str) -> str:
    """Return the command that installs what an extra needs; it works also where wheelfix came from a folder."""
    return f'python -m pip install "wheelfix[{name}]"'


class MissingExtra(EnvironmentFailure):
    """A library that only some jobs need is not installed."""

    def __init__(self, what: str, *libraries: str, extra: str, hint: str = "") -> None:
        verb = "is" if len(libraries) == 1 else "are"
        super().__init__(
            what, because=f"{' and '.join(libraries)} {verb} not installed", hint=f"{install_extra(extra)}{hint}"
        )


def import_extra(module: str, what: str, extra: str) -> Any:
    """Import a library that only some jobs need; MissingExtra says what cannot be done without it."""
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        raise MissingExtra(what, module.partition(".")[0], extra=extra) from exc


class NetworkFailure(EnvironmentFailure):
    """A server cannot be reached, or what it answers cannot be used."""


class CannotRepair(WheelfixError):
    """A wheel cannot be repaired with the DLLs that were found; nothing was written for it."""

    exit_code = Exit.FINDINGS


class ImportFails(WheelfixError):
    """A wheel was imported for real, and that failed."""

    exit_code = Exit.FINDINGS


class PredictionDiffers(WheelfixError):
    """A wheel was imported for real, and that did not end as predicted: a bug of wheelfix."""

    exit_code = Exit.DIFFERS


class ImportUntold(WheelfixError):
    """A wheel was imported for real, and how that ended says nothing about Windows."""

    exit_code = Exit.UNKNOWN


class CannotSign(WheelfixError):
    """A wheel cannot be signed as it is, or what was signed does not pass the checks; nothing was written for it."""

    exit_code = Exit.FINDINGS


# ------------------------------------------------------------------------------------------------------------- failures
# What an exception of any kind means for one input: it failed, and the others continue.
# An error of ours says what happened itself. Anything else is a mistake of ours, found by an odd input:
# the failure then carries the text that a bug report needs.


_FRAMES = 4
_LONGEST = 300


class Unexpected(WheelfixError):
    """Something unforeseen happened; the exit code is that of a machine that failed us."""


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an exception is an interrupt, or came of one.

    One that falls into the making of a class is the cause of a RuntimeError; one that falls between the two lines of
    Python's library that give a lock away and mean to take it back comes before "release unlocked lock".
    """
    return error is not None and any(
        isinstance(one, KeyboardInterrupt) for one in (error, error.__cause__, error.__context__)
    )


def failure_of(error: Exception, path: str | Path) -> WheelfixError:
    """Return the failure of one input; with ``WHEELFIX_DEBUG`` set what was not expected is raised as it is."""
    if isinstance(error, WheelfixError):
        return error
    if was_interrupted(error):
        raise KeyboardInterrupt from error
    if isinstance(error, OSError):
        return EnvironmentFailure(str(path), because=error)
    if isinstance(error, MemoryError):
        return EnvironmentFailure(str(path), because="it took more memory than there is", hint="try fewer jobs: -j 1")
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return EnvironmentFailure(str(path), because=f"{error}: too little memory, or too many", hint="try fewer: -j 1")
    if os.environ.get("WHEELFIX_DEBUG"):
        raise error
    return Unexpected(
        f"{path}: this should not have happened",
        because=unexpected_text(error),
        hint="please report it, with these lines and the input if you can share it; the other inputs are not affected",
    )


def unexpected_text(error: BaseException) -> list[str]:
    """Return the lines of a bug report: the exception, where it arose, and what it ran on."""
    import traceback

    message = " ".join(str(error)[:_LONGEST].split())
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    system = f"wheelfix {wheelfix.__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    lines = [f"{type(error).__name__}: {message}" if message else type(error).__name__]
    if places:
        lines.append("at " + ", called by ".join(reversed(places)))
    return [*lines, system]


def _short(file: str) -> str:
    """Return where a file lies in wheelfix, or its bare name: a bug report shows no folders of the machine."""
    plain = file.replace("\\", "/")
    return plain.rpartition("/wheelfix/")[2] if "/wheelfix/" in plain else plain.rpartition("/")[2]
