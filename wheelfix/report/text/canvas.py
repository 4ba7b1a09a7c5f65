"""A sheet to write lines, paragraphs and tables on: the one module that imports rich."""

from __future__ import annotations

import functools
import importlib
import io
import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.report.words import legible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.text import Text

    from wheelfix.report.look import Look

Span: TypeAlias = "str | tuple[str, str]"
"""A piece of text, with the name of a style or without."""

STYLES = {
    "bad": "bold red",
    "warn": "bold yellow",
    "good": "bold green",
    "note": "cyan",
    "dim": "dim",
    "name": "bold",
    "head": "bold underline",
    "code": "magenta",
}

_ASCII = str.maketrans(
    {
        "→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "•": "*", "·": "|", "×": "x", "✓": "ok", "✗": "x",
        "‘": "'", "’": "'", "“": '"', "”": '"', "≥": ">=", "≤": "<=", "≠": "!=", "−": "-",
        "├": "|", "└": "`", "│": "|", "─": "-", "▸": ">", "\u00a0": " ",
    }
)  # fmt: skip


class _Sheet(io.StringIO):
    """Tells rich which characters it may draw with."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # StringIO has none
        return self._encoding


def wrapped(text: str, room: int) -> list[str]:
    """Return the lines of a plain text, broken at blanks; a word that is longer than a line begins one and is cut."""
    lines, line = list[str](), ""
    for word in re.findall(r"\s*\S+\s*", text):
        length = len(word.rstrip())
        if len(line) + length <= room:
            line += word
            continue
        lines += [line] if line else []
        *full, line = [word[at : at + room] for at in range(0, len(word), room)] if length > room else [word]
        lines += full
    return [one.rstrip() for one in (*lines, line)]


def prepare() -> None:
    """Import rich now, because there is time; else it is imported when a text first needs it."""
    importlib.import_module("rich.console")
    importlib.import_module("rich.text")


class Canvas:
    """Lines in the order they are written; :meth:`text` gives them all."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._sheet = _Sheet("utf-8" if look.unicode else "ascii")

    @functools.cached_property
    def _console(self) -> Console:
        from rich.console import Console  # 50 ms that a short plain answer need not pay

        return Console(
            file=self._sheet,
            width=self.look.width,
            force_terminal=self.look.colour,
            color_system="standard" if self.look.colour else None,
            no_color=not self.look.colour,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ={},  # the look decides, not the process
        )

    def text(self) -> str:
        """Return what was written, without blanks at line ends."""
        lines = self._sheet.getvalue().split("\n")
        return "\n".join(line.rstrip() for line in lines)

    def blank(self) -> None:
        """Write an empty line."""
        self._sheet.write("\n")

    def line(self, *spans: Span, indent: int = 0) -> None:
        """Write one line that is never broken: names, paths and error lines must stay searchable."""
        plain = self._unstyled(spans)
        if plain is not None:
            self._sheet.write(f"{' ' * indent}{plain}\n")
            return
        self._console.print(self._styled((" " * indent, *spans)), soft_wrap=True)

    def paragraph(self, *spans: Span, indent: int = 0, lead: Span = "") -> None:
        """Write text wrapped to the width, indented; ``lead`` stands before the first line, as in ``hint: …``."""
        plain, bare = self._unstyled(spans), self._unstyled((lead,))
        if plain is not None and bare is not None:
            begin = " " * indent + bare
            for number, text in enumerate(wrapped(plain, max(20, self.look.width - len(begin)))):
                self._sheet.write(f"{begin if number == 0 else ' ' * len(begin)}{text}\n")
            return
        from rich.text import Text

        first = self._styled((" " * indent, lead))
        hang = first.cell_len
        room = max(20, self.look.width - hang)
        for number, row in enumerate(self._styled(spans).wrap(self._console, room, overflow="fold")):
            row.rstrip()
            start = first if number == 0 else Text(" " * hang)
            self._console.print(start + row, soft_wrap=True)

    def ends(self, left: Span, right: Span) -> None:
        """Write two texts at both ends of one line; on two lines where they do not fit."""
        first, last = self._unstyled((left,)), self._unstyled((right,))
        if first is not None and last is not None:
            if len(first) + len(last) >= self.look.width:
                self._sheet.write(first + "\n")
                first = ""
            self._sheet.write(f"{first}{last:>{self.look.width - len(first)}}\n")
            return
        from rich.text import Text

        start, end = self._styled((left,)), self._styled((right,))
        gap = self.look.width - start.cell_len - end.cell_len
        if gap < 1:
            self.line(left)
            start, gap = Text(), self.look.width - end.cell_len
        self._console.print(start + Text(" " * gap) + end, soft_wrap=True)

    def table(self, rows: Sequence[Sequence[Span]], *, indent: int = 0, gap: int = 2) -> None:
        """Write rows in columns; the last column is wrapped in the room that is left."""
        if not rows:
            return
        plain = [[self._unstyled((cell,)) for cell in row] for row in rows]
        if all(cell is not None for row in plain for cell in row):
            self._plain_table([[cell or "" for cell in row] for row in plain], indent, gap)
            return
        from rich.text import Text

        cells = [[self._styled((cell,)) for cell in row] for row in rows]
        widths = [max(row[column].cell_len for row in cells) for column in range(len(cells[0]) - 1)]
        before = indent + sum(width + gap for width in widths)
        room = max(20, self.look.width - before)
        for row in cells:
            head = Text(" " * indent)
            for cell, width in zip(row, widths, strict=False):
                head = head + cell + Text(" " * (width - cell.cell_len + gap))
            wrapped = list(row[-1].wrap(self._console, room, overflow="fold")) or [Text()]
            for number, part in enumerate(wrapped):
                part.rstrip()
                self._console.print((head if number == 0 else Text(" " * before)) + part, soft_wrap=True)

    def _plain_table(self, rows: Sequence[Sequence[str]], indent: int, gap: int) -> None:
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
        before = indent + sum(width + gap for width in widths)
        for row in rows:
            head = " " * indent + "".join(f"{cell:<{width + gap}}" for cell, width in zip(row, widths, strict=False))
            for number, part in enumerate(wrapped(row[-1], max(20, self.look.width - before))):
                self._sheet.write(f"{head if number == 0 else ' ' * before}{part}\n")

    def plain(self, text: str) -> str:
        """Return the text as this canvas can show it, on one line, with control characters made visible."""
        visible = legible(text)
        return visible if self.look.unicode else visible.translate(_ASCII)

    def _unstyled(self, spans: Iterable[Span]) -> str | None:
        """Return the text where it needs nothing of rich: no colour, and every character one cell wide."""
        if self.look.colour:
            return None
        text = "".join(self.plain(span if isinstance(span, str) else span[0]) for span in spans)
        return text if text.isascii() and "\n" not in text else None

    def _styled(self, spans: Iterable[Span]) -> Text:
        from rich.text import Text

        text = Text()
        for span in spans:
            content, style = span if isinstance(span, tuple) else (span, "")
            text.append(self.plain(content), STYLES.get(style, style) or None)
        return text
