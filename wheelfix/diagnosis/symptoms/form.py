"""One form in which programs print a failed load: a pattern, and what has to be in a line before it is tried.

Named groups of a pattern say what is what: ``code``, ``path``, ``dlls`` (a stretch that holds DLL names), ``module``,
``text`` (the system's sentence); ``d_…`` groups become details.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.diagnosis.symptoms.symptom import Confidence

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Form:
    """One way of printing an error."""

    kind: str
    triggers: tuple[str, ...]
    """Lower-case words, one of which has to be in the line before the pattern is tried."""
    pattern: re.Pattern[str]
    code: int | None = None
    """The code when the form itself says it."""
    confidence: Confidence = Confidence.SURE
    weak: bool = False
    """Dropped where a stronger form already covers the same place."""
    before: Callable[[str], dict[str, str] | None] | None = None
    """Reads more groups from the text before the match, backwards from its end, so that no pattern has to try every
    start; None means that the text before it does not fit, so that the form does not match."""
    among: tuple[str, ...] = ()
    """Lower-case words, one of which has to be in the line as well, where the trigger alone says too little."""

    def allows(self, lowered: str) -> bool:
        """Whether the pattern can match a line with a trigger, given in lower case."""
        return not self.among or any(word in lowered for word in self.among)


_MARKS = "\"'“”„«»‘’`"
_Q = rf"\\?[{_MARKS}]"
_REST = r"(?:(?!\[WinError|Traceback \(|Error: |Error loading)[^\r\n])"
# What stands between quotes; an apostrophe may be one of its own, so each is a place where it could end.
_QUOTED = r"[^\"'“”„«»‘’]{1,700}(?:['‘’][^\"'“”„«»‘’]{1,260}){0,4}?"
_DLL = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}?\.(?:dll|pyd)(?![A-Za-z0-9_])"
_TRIPLE = r"\d{1,9}[.,] ?\d{1,9}(?:[.,] ?\d{1,9})?"
_PARTS = {"{Q}": _Q, "{REST}": _REST, "{DLL}": _DLL, "{TRIPLE}": _TRIPLE, "{MARKS}": _MARKS, "{QUOTED}": _QUOTED}


def form(kind: str, triggers: str, pattern: str, code: int | None = None, **more: object) -> Form:
    """Make a form: its triggers joined by ``|``, its pattern with the parts above in braces."""
    words = tuple(word.strip() for word in triggers.split("|"))
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    compiled = re.compile(pattern, re.IGNORECASE)
    return Form(kind, words, compiled, code, **more)  # type: ignore[arg-type]  # fields of Form, given by keyword


_SENTENCE_BACKWARDS = re.compile(r"[^\r\n(]+")


def sentence_before(text: str) -> dict[str, str]:
    """Return the sentence that a text ends with."""
    found = _SENTENCE_BACKWARDS.match(text[::-1])
    return {"text": found[0][::-1]} if found else {}
