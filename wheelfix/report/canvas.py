"""Blocks as text, in the width and the colours of a stream.

The one module that imports rich, for the width of characters.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, TextIO, TypeAlias, TypeVar

from wheelfix.base.parsing import whole_number
from wheelfix.base.values import dataclass
from wheelfix.report.blocks import Bullets, Code, Heading, Link, Para, Part, Records, Table
from wheelfix.report.safe import legible, without_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wheelfix.report.blocks import Block, Span, Spans

GLYPHS = "→└├│─✓✗•…×▸"
"""Every character beyond ASCII that a report draws with."""

USUAL_WIDTH = 80
MAX_WIDTH = 120


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The parameters of the text renderer; the default is what a pipe gets."""

    width: int = 0
    """Characters in a line; 0 where lines are not broken, so that ``grep`` finds what it looks for."""
    colour: bool = False
    unicode: bool = False


COLOURS = ("auto", "always", "never")


def look_of(stream: TextIO, environ: Mapping[str, str] | None = None, colour: str = "auto") -> TextStyle:
    """Return how to write on a stream: a terminal gets colour and its own width, a pipe plain ASCII in whole lines.

    ``COLUMNS`` is the width wherever it is set.

    ``NO_COLOR`` and ``FORCE_COLOR`` (any non-empty value) override, ``NO_COLOR`` first, as no-color.org asks; a
    ``colour`` that was asked for with an option overrides both.
    """
    environ = os.environ if environ is None else environ
    terminal = is_terminal(stream)
    forced = colour == "always" or bool(environ.get("FORCE_COLOR"))
    coloured = (terminal and environ.get("TERM") != "dumb" and _takes_escapes(stream)) or forced
    if colour == "never" or (colour == "auto" and environ.get("NO_COLOR")):
        coloured = False
    asked = whole_number(environ.get("COLUMNS", ""))
    width = max(40, asked) if asked else max(40, min(MAX_WIDTH, terminal_width())) if terminal else 0
    return TextStyle(width=width, colour=coloured, unicode=(terminal or forced) and can_draw(stream))


def terminal_width() -> int:
    """Return how many characters fit on a line of the terminal."""
    import shutil  # which loads every compressor that Python has

    return shutil.get_terminal_size((USUAL_WIDTH, 24)).columns


def _takes_escapes(stream: TextIO) -> bool:
    """Whether a terminal obeys escape sequences; an old Windows console does only when asked to, if at all."""
    if sys.platform != "win32":
        return True
    import ctypes
    import msvcrt

    enable_virtual_terminal = 0x0004
    try:
        handle = msvcrt.get_osfhandle(stream.fileno())
        mode = ctypes.c_ulong()
        kernel = ctypes.windll.kernel32
        if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
            return bool(os.environ.get("TERM"))  # a terminal that is not a console: mintty and the like
        return bool(kernel.SetConsoleMode(handle, mode.value | enable_virtual_terminal))
    except (OSError, ValueError, AttributeError):
        return False


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream; a closed or odd stream is none."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError, OSError):
        return False


def can_draw(stream: TextIO) -> bool:
    """Whether the stream's encoding has our arrows and lines (cp1252 has not)."""
    try:
        GLYPHS.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


Styled: TypeAlias = "list[tuple[str, str]]"
"""Pieces of text as they can be shown, each with what a terminal is sent for its style, or nothing."""

STYLES = {
    "bad": "1;31", "warn": "1;33", "good": "1;32", "note": "36", "dim": "2", "more": "2", "name": "1", "head": "1;4",
    "code": "35", "word": "36", "file": "1", "path": "",
    "ok": "1;32", "risky": "1;33", "unsure": "1;33", "broken": "1;31", "failed": "1;31", "skipped": "2",
    "error": "1;31", "warning": "1;33", "info": "36",
}  # fmt: skip
"""What a terminal is sent for a style: bold is 1, dim 2, underlined 4; colours begin at 30. Verdicts and
severities have styles of their names."""
_UNBROKEN = ("path", "bad", "warn", "good", "file")
"""Styles of names, which are never broken at a blank."""
_HARD_BLANK = "\u00a0"
LABELS = {"warning": "warn", "danger:": "bad", "still needed by": "bad"}
"""Labels that stand out."""
NAMES = 4
"""Of a list of names so many are shown."""

_ASCII = str.maketrans(
    {
        "→": "->", "←": "<-", "…": "...", "–": "-", "—": "-", "•": "*", "·": "|", "×": "x", "✓": "ok", "✗": "x",
        "‘": "'", "’": "'", "“": '"', "”": '"', "≥": ">=", "≤": "<=", "≠": "!=", "−": "-",
        "├": "|", "└": "`", "│": "|", "─": "-", "▸": ">", "\u00a0": " ",
    }
)  # fmt: skip


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # its tables, for texts that need them

    return cell_len(text)


def wrapped(text: str, room: int) -> list[tuple[int, int]]:
    """Return where each line of a text begins and ends, broken at blanks; a longer word has a line of its own.

    A word that is longer than a line is not cut: it may be a path, which has to stay searchable.
    """
    starts, used = [0], 0
    for word in re.finditer(r"(?:^ *)?[^ ]+ *", text):
        length = cells(word[0].rstrip(" "))
        if used + length > room and word.start():
            starts.append(word.start())
            used = 0
        used += cells(word[0])
    ends = [*starts[1:], len(text)]
    return [(start, start + len(text[start:end].rstrip(" "))) for start, end in zip(starts, ends, strict=True)]


_Item = TypeVar("_Item")


def render_text(blocks: Iterable[Block], look: TextStyle, *, verbose: bool = False) -> str:
    """Return blocks as text."""
    canvas = Canvas(look, verbose=verbose)
    canvas.draw(blocks)
    return canvas.text()


class Canvas:
    """Lines in the order they are written; :meth:`text` gives them all."""

    def __init__(self, look: TextStyle, *, verbose: bool = False) -> None:
        self.look, self._verbose = look, verbose
        self._lines: list[str] = []

    def text(self) -> str:
        """Return what was written, without blanks at line ends."""
        return without_commands("".join(f"{line.rstrip()}\n" for line in self._lines))

    def draw(self, blocks: Iterable[Block], indent: int = 0) -> None:
        """Write blocks one after the other."""
        for block in blocks:
            match block:
                case Para(spans, lead, whole):
                    self._draw_para(spans, lead, indent, whole=whole)
                case Code(text, style, what):
                    for line in [f"# {what}"] if what else []:
                        self.line((line, "dim"), indent=indent)
                    for line in text.split("\n"):
                        self.line((line, style), indent=indent)
                case Bullets(items, most, mark):
                    for spans, hint in self._first(items, most, indent):
                        self.paragraph(*spans, indent=indent, lead=mark)
                        if hint:
                            self.paragraph(hint, indent=indent + 2, lead=("hint: ", "dim"))
                case Records():
                    self._draw_records(block, indent)
                case Table(heads, rows, headed):
                    top = [[(head, "dim") for head in heads]] if headed and rows else []
                    self.table([*top, *rows], indent=indent)
                case Heading(text, level):
                    self.line((text, "head" if level < 3 else "name"))
                case Part():
                    self._draw_part(block, indent)

    def _draw_part(self, part: Part, indent: int) -> None:
        if part.closed and not self._verbose:
            return
        if part.level == 2:
            self._lines.append("")
        title = [(span, "head") if isinstance(span, str) and part.level == 2 and len(part.title) == 1 else span
                 for span in part.title]  # fmt: skip
        if part.badge:
            self.ends(part.title[0], part.badge)
        else:
            self.line(*title, indent=indent)
        self.draw(part.blocks, indent if part.level == 1 else indent + 2)

    def _draw_para(self, spans: Spans, lead: Span, indent: int, *, whole: bool) -> None:
        shown = [span for span in spans if not (isinstance(span, Link) and span.target.startswith("#"))]
        if spans and not shown:
            return
        if whole or not spans:
            self.line(*shown, indent=indent)
        else:
            self.paragraph(*shown, indent=indent, lead=lead)

    def _draw_records(self, block: Records, indent: int) -> None:
        labels = [label for record in block.records for label, _ in record.fields]
        width = max(map(len, labels), default=0) + 1
        for record in self._first(block.records, block.most, indent):
            self.paragraph(*record.title, indent=indent)
            before = ""
            for label, value in record.fields:
                shown = "" if label == before else label
                lead = (shown.ljust(width), LABELS.get(label, "dim")) if label else ""
                before = label
                if isinstance(value, Code):
                    self.line((value.text, value.style), indent=indent + 4)
                elif isinstance(value, list):
                    more = len(value) - NAMES
                    names = _joined([(name, "path") for name in value[:NAMES]])
                    self.paragraph(*names, f" and {more} more" if more > 0 else "", indent=indent + 2, lead=lead)
                else:
                    self.paragraph(value, indent=indent + 2, lead=lead)

    def _first(self, items: Sequence[_Item], most: int, indent: int) -> Iterator[_Item]:
        """Give the first entries of a list, all of them to those who ask; then say how many there are more."""
        shown = items if self._verbose else items[:most]
        yield from shown
        if len(shown) < len(items):
            self.line((f"… and {len(items) - len(shown)} more (-v shows all)", "dim"), indent=indent)

    def line(self, *spans: Span, indent: int = 0) -> None:
        """Write one line that is never broken: names, paths and error lines must stay searchable."""
        self._write(" " * indent, self._shown(spans))

    def paragraph(self, *spans: Span, indent: int = 0, lead: Span = "") -> None:
        """Write text wrapped to the width, indented; ``lead`` stands before the first line, as in ``hint: …``."""
        first = self._shown((" " * indent, lead))
        self._write_wrapped(first, _width(first), self._shown(spans))

    def ends(self, left: Span, right: Span) -> None:
        """Write two texts at both ends of one line, which is as long as they need."""
        start, end = self._shown((left,)), self._shown((right,))
        gap = max(2, (self.look.width or USUAL_WIDTH) - _width(start) - _width(end))
        self._write("", [*start, (" " * gap, ""), *end])

    def table(self, rows: Sequence[Sequence[Span]], *, indent: int = 0, gap: int = 2) -> None:
        """Write rows in columns; the last column is wrapped in the room that is left."""
        if not rows:
            return
        shown = [[self._shown((cell,)) for cell in row] for row in rows]
        widths = [max(_width(row[column]) for row in shown) for column in range(len(shown[0]) - 1)]
        before = indent + sum(width + gap for width in widths)
        for row in shown:
            head: Styled = [(" " * indent, "")]
            for cell, width in zip(row, widths, strict=False):
                head += [*cell, (" " * (width - _width(cell) + gap), "")]
            self._write_wrapped(head, before, row[-1])

    def plain(self, text: str) -> str:
        """Return the text as this canvas can show it, on one line, with control characters made visible."""
        visible = legible(text)
        return visible if self.look.unicode else visible.translate(_ASCII)

    def _shown(self, spans: Iterable[Span]) -> Styled:
        """Return spans as this canvas can show them."""
        pairs = (_pair(span) for span in spans)
        return [(self._piece(text, style), STYLES[style] if style else "") for text, style in pairs if text]

    def _piece(self, text: str, style: str) -> str:
        plain = self.plain(text)
        return plain.replace(" ", _HARD_BLANK) if style in _UNBROKEN else plain

    def _write_wrapped(self, head: Styled, before: int, body: Styled) -> None:
        """Write a head and behind it a text in as many lines as it takes, which all begin at the same column."""
        text = "".join(text for text, _ in body)
        room = max(20, self.look.width - before) if self.look.width else sys.maxsize
        for start, end in wrapped(text, room):
            self._write("", [*head, *_part(body, start, end)])
            head = [(" " * before, "")]

    def _write(self, before: str, spans: Styled) -> None:
        line = before + "".join(self._coloured(text, style) for text, style in spans)
        self._lines.append(line.replace(_HARD_BLANK, " "))

    def _coloured(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if style and self.look.colour else text


def _pair(span: Span) -> tuple[str, str]:
    """Return a span with its style; a link has its address behind it."""
    if isinstance(span, Link):
        return (span.text if span.text == span.target else f"{span.text} ({span.target})"), ""
    return span if isinstance(span, tuple) else (span, "")


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with commas between them."""
    return [part for number, span in enumerate(spans) for part in ((", ", span) if number else (span,))]


def _width(spans: Styled) -> int:
    return sum(cells(text) for text, _ in spans)


def _part(spans: Styled, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Give what lies between two places of a text."""
    at = 0
    for text, style in spans:
        part = text[max(start - at, 0) : max(end - at, 0)]
        if part:
            yield part, style
        at += len(text)
