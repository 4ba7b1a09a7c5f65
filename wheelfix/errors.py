"""The errors that end a command, with their exit codes; imports nothing of ours.

A fault *of a wheel* is a finding and is returned. An error here means that we could not do our own work.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


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


class WheelfixError(Exception):
    """The work could not be done: what happened, why, and what to try."""

    exit_code: Exit = Exit.ENVIRONMENT

    def __init__(self, what: str, *, because: str | Sequence[str] = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.reasons: tuple[str, ...] = tuple(filter(None, (because,))) if isinstance(because, str) else tuple(because)
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
