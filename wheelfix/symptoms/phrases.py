"""The sentences of dialog boxes, compiled from their table into forms."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from wheelfix.knowledge.tables import Checker, parse_toml
from wheelfix.symptoms.forms import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "phrases.toml"
_QUOTE = "[\"'“”„«»‘’「」『』]?"
_HOLES = {
    "dll": rf"(?<![A-Za-z0-9_]){_QUOTE}(?P<dlls>[A-Za-z0-9_][A-Za-z0-9_.+-]{{0,119}}?\.(?:dll|pyd)){_QUOTE}",
    "file": rf"(?<![\w\\/.]){_QUOTE}"
    rf"(?P<path>(?:[A-Za-z]:[\\/])?[^\"“”„«»*?<>|:\r\n]{{1,260}}?\.(?:dll|pyd|exe)){_QUOTE}",
    "symbol": rf"{_QUOTE}(?P<d_symbol>[^\s\"“”„«»]{{1,300}}?){_QUOTE}",
}
_HOLE = re.compile(r"\{(\w+)\}")


def compile_phrase(text: str) -> tuple[str, re.Pattern[str]]:
    """Return the longest fixed part of a sentence, in lower case, and a pattern for the whole."""
    parts = _HOLE.split(text)
    fixed = parts[0::2]
    pattern = ""
    for number, part in enumerate(parts):
        pattern += _HOLES[part] if number % 2 else _loose(part)
    return max((part.strip().lower() for part in fixed), key=len), re.compile(pattern, re.IGNORECASE)


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
                trigger, pattern = compile_phrase(sentence)
                forms.append((language, Form(row["kind"], (trigger,), pattern, int(row["code"]))))
    checker.finish()
    return tuple(forms)


@lru_cache(maxsize=1)
def dialog_forms() -> tuple[tuple[str, Form], ...]:
    """Return every dialog sentence with its language."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return parse_phrases(TABLE, text)
