"""Small pieces of Markdown that the generated pages are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTE = "<!-- Made by `python dev.py generate`; do not edit by hand. -->\n"


def cell(text: object) -> str:
    """Return text that stays inside one cell of a table and is not taken for markup; its line breaks are kept."""
    return "<br>".join(_line(" ".join(line.split())) for line in str(text).split("\n"))


def _line(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(_code(part[1:-1]) if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("|", "\\|")


def _code(text: str) -> str:
    """Code as backticks; where it has a bar, which tables read in different ways, as HTML."""
    if "|" not in text:
        return f"`{text}`"
    return "<code>" + "".join(f"&#{ord(char)};" if char in "|\\*_<&`[]" else char for char in text) + "</code>"


def code(text: object) -> str:
    """Return text set as code."""
    return f"`{text}`" if str(text) else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a blank line behind it."""
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    lines += [f"| {' | '.join(cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines) + "\n\n"


def fence(text: str, language: str = "text") -> str:
    """Return a block of code with a blank line behind it."""
    return f"```{language}\n{text.rstrip()}\n```\n\n"


def sentence(text: str) -> str:
    """Return text that begins with a capital and ends with a full stop."""
    text = text.strip()
    return text if not text else text[0].upper() + text[1:] + ("" if text[-1] in ".!?`:" else ".")
