"""The forms in which programs print a failed load: patterns of ``forms.toml``, and sentences of ``phrases.toml``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.diagnosis.symptoms.model import Confidence, table_text
from wheelfix.knowledge.tables import Checker, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS = "forms.toml"
PHRASES = "phrases.toml"


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
    language: str = ""
    """The language of a sentence; empty for what is not translated."""

    def allows(self, lowered: str) -> bool:
        """Whether the pattern can match a line with a trigger, given in lower case."""
        return not self.among or any(word in lowered for word in self.among)


# ------------------------------------------------------------------------------------------- the numbers of Windows

LOADER_CODES = (126, 127, 182, 193, 216, 225, 487, 577, 998, 1114, 1157, 1260, 1455, 1920, 4551, 14001)
"""Windows error codes that a failed load can end with; others, such as 2 or 5, are about other problems."""
AMBIGUOUS_CODES = (5, 8, 14, 87, 206, 1392)
"""Codes that a failed load can end with, and many other operations too."""
# 0xC0000135 and its kind, as printed in hexadecimal, as a signed and as an unsigned decimal.
_EXIT_STATUSES = (
    *(0xC0000005, 0xC000001D, 0xC0000022, 0xC000007B, 0xC00000FD, 0xC000012F, 0xC0000130, 0xC0000135, 0xC0000138),
    *(0xC0000139, 0xC0000142, 0xC0000374, 0xC0000409, 0xC0000417, 0xC000041D, 0xC0000428, 0xC0150002, 0xE06D7363),
)
_DELAY_STATUSES = (0xC06D007E, 0xC06D007F)
STATUS_NAMES = {
    "DLL_NOT_FOUND": 0xC0000135,
    "ENTRYPOINT_NOT_FOUND": 0xC0000139,
    "ORDINAL_NOT_FOUND": 0xC0000138,
    "INVALID_IMAGE_FORMAT": 0xC000007B,
    "DLL_INIT_FAILED": 0xC0000142,
    "ILLEGAL_INSTRUCTION": 0xC000001D,
}


def _statuses(statuses: tuple[int, ...]) -> str:
    """A pattern for NTSTATUS values in the three ways in which they are printed."""
    numbers = [text for status in statuses for text in (f"0x{status:08x}", str(status), str(status - (1 << 32)))]
    return rf"(?<![\w.])(?P<status>{'|'.join(map(re.escape, numbers))})(?![\w])"


# ------------------------------------------------------------------------------------------ what stands before a match


_QUOTE = "[\"'“”„«»‘’「」『』]?"
# Patterns for a text that is read from right to left.
_SENTENCE_BACKWARDS = re.compile(r"([^\r\n(]+)")
_CARD_BACKWARDS = re.compile(r"\s([\w -]{1,60})")
_DLL_BACKWARDS = re.compile(rf"\s*{_QUOTE}((?:lld|dyp)\.[A-Za-z0-9_.+-]{{1,119}})", re.IGNORECASE)
_FILE_BACKWARDS = re.compile(
    rf"\s*{_QUOTE}((?:lld|dyp|exe)\.[^\"“”„«»*?<>|:\r\n]{{1,260}}(?:(?<=[\\/]):[A-Za-z])?)", re.IGNORECASE
)


def _backwards(
    group: str, match: Callable[[str], re.Match[str] | None], dropped: str | None, shortest: int
) -> Callable[[str], dict[str, str] | None]:
    """Return what reads a group at the end of a text, without some characters before it."""

    def read(text: str) -> dict[str, str] | None:
        found = match(text[::-1])
        value = found[1][::-1].lstrip(dropped) if found else ""
        return {group: value} if len(value) > shortest else None

    return read


_BEFORE = {
    "sentence": _backwards("text", _SENTENCE_BACKWARDS.match, "", 0),
    "card": _backwards("d_card", _CARD_BACKWARDS.match, " -", 1),
    "dll": _backwards("dlls", _DLL_BACKWARDS.match, ".+-", 4),
    "file": _backwards("path", _FILE_BACKWARDS.match, None, 0),
}


def _if_any(read: Callable[[str], dict[str, str] | None]) -> Callable[[str], dict[str, str] | None]:
    """Return the same for what need not be there."""
    return lambda text: read(text) or {}


# --------------------------------------------------------------------------------------------------- the table of forms

_MARKS = "\"'“”„«»‘’`"
_PARTS = {
    "{Q}": rf"\\?[{_MARKS}]",
    "{REST}": r"(?:(?!\[WinError|Traceback \(|Error: |Error loading)[^\r\n])",
    "{DLL}": r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}?\.(?:dll|pyd)(?![A-Za-z0-9_])",
    "{TRIPLE}": r"\d{1,9}[.,] ?\d{1,9}(?:[.,] ?\d{1,9})?",
    "{MARKS}": _MARKS,
    # What stands between quotes; an apostrophe may be one of its own, so each is a place where it could end.
    "{QUOTED}": r"[^\"'“”„«»‘’]{1,700}(?:['‘’][^\"'“”„«»‘’]{1,260}){0,4}?",
    "{CODES}": "|".join(map(str, LOADER_CODES)),
    "{AMBIGUOUS}": "|".join(map(str, AMBIGUOUS_CODES)),
    "{EXIT_STATUS}": _statuses(_EXIT_STATUSES),
    "{DELAY_STATUS}": _statuses(_DELAY_STATUSES),
}


def parse_forms(table: str, text: str) -> tuple[Form, ...]:
    """Turn the text of the table of patterns into forms."""
    forms = []
    for row in parse_toml(table, text)["form"]:
        pattern = "".join(row["pattern"])
        for name, part in _PARTS.items():
            pattern = pattern.replace(name, part)
        row["pattern"] = re.compile(pattern, re.IGNORECASE)
        row["confidence"] = Confidence(row.get("confidence", "sure"))
        row["before"] = _if_any(_BEFORE[row["before"]]) if "before" in row else None
        row |= {name: tuple(row.get(name, ())) for name in ("triggers", "among")}
        forms.append(Form(**row))
    return tuple(forms)


# ---------------------------------------------------------------------------------------- the sentences of dialog boxes

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_+-]{0,119}(?:\.[A-Za-z0-9_+-]{1,40}){0,5}?"
# Each hole takes as much as it can and gives nothing back: a group inside a lookahead is matched once.
_HOLES = {
    "dll": rf"(?<![A-Za-z0-9_]){_QUOTE}(?=(?P<dlls>{_NAME}\.(?:dll|pyd)))(?P=dlls){_QUOTE}",
    "file": rf"(?<![\w\\/.]){_QUOTE}(?!\s)"
    rf"(?=(?P<path>(?:[A-Za-z]:[\\/])?[^\"“”„«»*?<>|:\r\n]{{1,260}}?\.(?:dll|pyd|exe)))(?P=path){_QUOTE}",
    "symbol": rf"{_QUOTE}(?=(?P<d_symbol>[!#-&(-~]{{1,300}}))(?P=d_symbol){_QUOTE}",
}
_HOLE = re.compile(r"\{(\w+)\}")


def _compile_phrase(kind: str, code: int, text: str, language: str) -> Form:
    """Return the form of a sentence, with its longest fixed part as the trigger.

    A hole at its beginning is read backwards from the rest, because it could begin anywhere.
    """
    parts = _HOLE.split(text)
    trigger = max((part.strip().lower() for part in parts[0::2]), key=len)
    before = None if parts[0].strip() else _BEFORE[parts[1]]
    pattern = ""
    for number, part in enumerate(parts[2:] if before else parts):
        # Any amount of white space, none included, matches where the sentence has a blank.
        words = (re.escape(word).replace("'", "['’]") for word in re.split(r"\s+", part))
        pattern += _HOLES[part] if number % 2 else r"\s*".join(words)
    if before:
        pattern = pattern.removeprefix(r"\s*")
    return Form(kind, (trigger,), re.compile(pattern, re.IGNORECASE), code, before=before, language=language)


def parse_phrases(table: str, text: str) -> tuple[Form, ...]:
    """Return the forms of sentences; an unknown placeholder or a sentence without any refuses the table."""
    checker = Checker(table)
    forms = []
    for row in checker.rows(parse_toml(table, text), "phrase", ("kind", "code", "texts")):
        for language, sentence in ((name, text) for name, texts in row["texts"].items() for text in texts):
            holes = set(_HOLE.findall(sentence))
            if not holes or holes - set(_HOLES):
                checker.faults.append(f"{row['kind']} {language}: placeholders {sorted(holes)} in {sentence!r}")
            else:
                forms.append(_compile_phrase(row["kind"], int(row["code"]), sentence, language))
    checker.finish()
    return tuple(forms)


@lru_cache(maxsize=1)
def all_forms() -> tuple[Form, ...]:
    """Return every form, those that say most first."""
    return parse_forms(FORMS, table_text(FORMS)) + parse_phrases(PHRASES, table_text(PHRASES))
