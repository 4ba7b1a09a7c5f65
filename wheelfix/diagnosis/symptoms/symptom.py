"""What one error text said: codes, paths and DLL names, free of the language it was said in."""

from __future__ import annotations

import enum
import re
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.model import fold

if TYPE_CHECKING:
    from collections.abc import Mapping


class Confidence(str, enum.Enum):
    """How far a statement can be trusted; the order is the order of trust."""

    SURE = "sure"
    LIKELY = "likely"
    GUESS = "guess"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class TextLimits:
    """How much of a log is read before the reader stops; the defaults serve any log a person would keep."""

    max_bytes: int = 1 << 30
    """Bytes read at most; the rest is not read, and ``Log.stopped`` says so."""
    max_line: int = 4096
    """Characters of a line that are looked at in one piece; longer ones come in overlapping pieces."""
    max_symptoms: int = 200
    """Different symptoms kept at most."""
    max_work: int = 50_000
    """Forms tried on different lines at most, so that a hostile log cannot take for ever."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One error that a text reports."""

    kind: str
    """``torch-load``, ``dll-load-failed``, ``could-not-locate``, …: the form it was printed in."""
    code: int | None = None
    """The Windows error code, NTSTATUS or exception code; None when neither printed nor known from the sentence."""
    path: str | None = None
    """The file that the text says failed to load, as a Windows path or a bare name."""
    dlls: tuple[str, ...] = ()
    """DLLs that the text itself names as absent or at fault, besides ``path``."""
    module: str = ""
    """The Python module whose import failed, as printed."""
    package: str = ""
    """The top-level package in whose files it happened, from the path or the traceback."""
    language: str = ""
    """The display language, such as ``de``; empty when the text does not say."""
    line: int = 0
    """Where in the text it begins, counted from 1."""
    excerpt: str = ""
    """The line as it stood there, without colours and prefixes."""
    confidence: Confidence = Confidence.SURE
    """How sure it is that the text says this."""
    details: Mapping[str, str] = field(default_factory=dict)
    """What only some kinds have: ``symbol``, ``capability``, ``supported``, ``built``, ``running``, …"""
    count: int = 1
    """How often the text says it."""

    @property
    def file(self) -> str:
        """The base name of ``path``, or nothing."""
        return PureWindowsPath(self.path).name if self.path else ""

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two symptoms the same one."""
        names = tuple(sorted(fold(name) for name in self.dlls))
        symbol = self.details.get("symbol", "")
        return (self.kind, self.code, fold(self.path or ""), names, self.module, symbol)


@dataclass(frozen=True, slots=True)
class Log:
    """A text after reading: what it says and how much of it was read."""

    symptoms: tuple[Symptom, ...] = ()
    encoding: str = "utf-8"
    """What the bytes were read as; ``str`` when the text came decoded."""
    size: int = 0
    """Bytes (or characters) read."""
    lines: int = 0
    stopped: str = ""
    """Why reading stopped before the end; empty when it did not."""


_SITE = re.compile(r"(?P<prefix>.+?)[\\/](?:Lib[\\/])?site-packages(?:[\\/]|$)", re.IGNORECASE)


def environment_prefix(path: str) -> str:
    """Return the environment that a path lies in, as far as ``Lib\\site-packages`` in it says; or nothing."""
    found = _SITE.match(path)
    return str(PureWindowsPath(found.group("prefix"))) if found else ""
