"""The sentences of dialog boxes, compiled from their table into forms."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from wheelfix.diagnosis.symptoms.form import Form
from wheelfix.knowledge.tables import Checker, parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "phrases.toml"
_QUOTE = "[\"'“”„«»‘’「」『』]?"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_+-]{0,119}(?:\.[A-Za-z0-9_+-]{1,40}){0,5}?"
# Each hole takes as much as it can and gives nothing back: a group inside a lookahead is matched once.
_HOLES = {
    "dll": rf"(?<![A-Za-z0-9_]){_QUOTE}(?=(?P<dlls>{_NAME}\.(?:dll|pyd)))(?P=dlls){_QUOTE}",
    "file": rf"(?<![\w\\/.]){_QUOTE}(?!\s)"
    rf"(?=(?P<path>(?:[A-Za-z]:[\\/])?[^\"“”„«»*?<>|:\r\n]{{1,260}}?\.(?:dll|pyd|exe)))(?P=path){_QUOTE}",
    "symbol": rf"{_QUOTE}(?=(?P<d_symbol>[!#-&(-~]{{1,300}}))(?P=d_symbol){_QUOTE}",
}
_HOLE = re.compile(r"\{(\w+)\}")
# The same, read from right to left, where a sentence begins with a hole.
_DLL_BACKWARDS = re.compile(rf"\s*{_QUOTE}(?P<dlls>(?:lld|dyp)\.[A-Za-z0-9_.+-]{{1,119}})", re.IGNORECASE)
_FILE_BACKWARDS = re.compile(
    rf"\s*{_QUOTE}(?P<path>(?:lld|dyp|exe)\.[^\"“”„«»*?<>|:\r\n]{{1,260}}(?:(?<=[\\/]):[A-Za-z])?)", re.IGNORECASE
)


def _dll_before(text: str) -> dict[str, str] | None:
    """Return the DLL that a text ends with."""
    found = _DLL_BACKWARDS.match(text[::-1])
    name = found["dlls"][::-1].lstrip(".+-") if found else ""
    return {"dlls": name} if len(name) > 4 else None


def _file_before(text: str) -> dict[str, str] | None:
    """Return the file that a text ends with."""
    found = _FILE_BACKWARDS.match(text[::-1])
    return {"path": found["path"][::-1].lstrip()} if found else None


_BEFORE = {"dll": _dll_before, "file": _file_before}


def compile_phrase(kind: str, code: int, text: str) -> Form:
    """Return the form of a sentence, with its longest fixed part as the trigger.

    A hole at its beginning is read backwards from the rest, because it could begin anywhere.
    """
    parts = _HOLE.split(text)
    trigger = max((part.strip().lower() for part in parts[0::2]), key=len)
    before = None if parts[0].strip() else _BEFORE[parts[1]]
    pattern = ""
    for number, part in enumerate(parts[2:] if before else parts):
        pattern += _HOLES[part] if number % 2 else _loose(part)
    if before:
        pattern = pattern.removeprefix(r"\s*")
    return Form(kind, (trigger,), re.compile(pattern, re.IGNORECASE), code, before=before)


def _loose(text: str) -> str:
    """Escape a text so that any amount of white space, none included, matches where it has a blank."""
    return r"\s*".join(re.escape(word).replace("'", "['’]") for word in re.split(r"\s+", text))


def parse_phrases(table: str, text: str) -> tuple[tuple[str, Form], ...]:
    """Return (language, form) pairs; an unknown placeholder or a sentence without any refuses the table."""
    checker = Checker(table)
    forms: list[tuple[str, Form]] = []
    for row in checker.rows(parse_toml(table, text), "phrase", ("kind", "code", "texts")):
        texts: Mapping[str, Any] = row["texts"]
        for language, sentences in texts.items():
            for sentence in sentences:
                holes = set(_HOLE.findall(sentence))
                if not holes or holes - set(_HOLES):
                    checker.faults.append(f"{row['kind']} {language}: placeholders {sorted(holes)} in {sentence!r}")
                    continue
                forms.append((language, compile_phrase(row["kind"], int(row["code"]), sentence)))
    checker.finish()
    return tuple(forms)


@lru_cache(maxsize=1)
def dialog_forms() -> tuple[tuple[str, Form], ...]:
    """Return every dialog sentence with its language."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return parse_phrases(TABLE, text)
