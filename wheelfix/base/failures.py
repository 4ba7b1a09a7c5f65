"""What an exception of any kind means for one input: it failed, and the others continue.

An error of ours says what happened itself. Anything else is a mistake of ours, found by an odd input:
the failure then carries the text that a bug report needs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.errors import EnvironmentFailure, WheelfixError

if TYPE_CHECKING:
    from pathlib import Path

_FRAMES = 4
_LONGEST = 300


class Unexpected(WheelfixError):
    """Something unforeseen happened; the exit code is that of a machine that failed us."""


def failure_of(error: Exception, path: str | Path) -> WheelfixError:
    """Return the failure of one input; with ``WHEELFIX_DEBUG`` set what was not expected is raised as it is."""
    if isinstance(error, WheelfixError):
        return error
    if isinstance(error, OSError):
        return EnvironmentFailure(str(path), because=error.strerror or str(error))
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
    import platform
    import traceback

    message = " ".join(str(error)[:_LONGEST].split())
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    system = f"wheelfix {wheelfix.__version__}, Python {platform.python_version()}, {platform.system()}"
    lines = [f"{type(error).__name__}: {message}" if message else type(error).__name__]
    if places:
        lines.append("at " + ", called by ".join(reversed(places)))
    return [*lines, system]


def _short(file: str) -> str:
    """Return where a file lies in wheelfix, or its bare name: a bug report shows no folders of the machine."""
    plain = file.replace("\\", "/")
    return plain.rpartition("/wheelfix/")[2] if "/wheelfix/" in plain else plain.rpartition("/")[2]
