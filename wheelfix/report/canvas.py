"""Blocks as text, in the width and the colours of a stream; and the line that shows progress on a terminal.

The one module that imports rich, for the width of characters.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias, TypeVar

from wheelfix.base.parsing import human_size, whole_number
from wheelfix.base.values import frozen, replace
from wheelfix.report.blocks import Block, Bullets, Code, Heading, Link, Para, Part, Records, Span, Spans, Table
from wheelfix.report.safe import legible, without_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wheelfix.remote.ranges import WheelPath

GLYPHS = "→└├│─✓✗•…×▸"
"""Every character beyond ASCII that a report draws with."""

USUAL_WIDTH = 80
MAX_WIDTH = 120


@frozen
class TextStyle:
    """The parameters of the text renderer; the default is what a pipe gets."""

    width: int = 0
    """Characters in a line; 0 where lines are not broken, so that ``grep`` finds what it looks for."""
    colour: bool = False
    unicode: bool = False
    verbose: bool = False
    """For those who ask for everything."""
    quiet: bool = False
    """For those who want the answer alone."""

    @property
    def in_file(self) -> TextStyle:
        """The same for a file: Unicode in whole lines, without colour."""
        return replace(self, width=0, colour=False, unicode=True)


COLOURS = ("auto", "always", "never")


def look_of(stream: TextIO, colour: str = "auto") -> TextStyle:
    """Return how to write on a stream: a terminal gets colour and its own width, a pipe plain ASCII in whole lines.

    ``COLUMNS`` is the width wherever it is set.

    ``NO_COLOR`` and ``FORCE_COLOR`` (any non-empty value) override, ``NO_COLOR`` first, as no-color.org asks; a
    ``colour`` that was asked for with an option overrides both.
    """
    terminal = is_terminal(stream)
    forced = colour == "always" or bool(os.environ.get("FORCE_COLOR"))
    coloured = (terminal and os.environ.get("TERM") != "dumb" and _takes_escapes(stream)) or forced
    if colour == "never" or (colour == "auto" and os.environ.get("NO_COLOR")):
        coloured = False
    asked = whole_number(os.environ.get("COLUMNS", ""))
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
GAP = 2
"""Blanks between the columns of a table."""


def render_text(blocks: Iterable[Block], look: TextStyle) -> str:
    """Return blocks as text."""
    canvas = Canvas(look)
    canvas.draw(blocks)
    return canvas.text()


class Canvas:
    """Lines in the order they are written; :meth:`text` gives them all."""

    def __init__(self, look: TextStyle) -> None:
        self.look = look
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
        if part.closed and not self.look.verbose:
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
                    names = [span for name in value[:NAMES] for span in (", ", (name, "path"))]
                    self.paragraph(*names[1:], f" and {more} more" if more > 0 else "", indent=indent + 2, lead=lead)
                else:
                    self.paragraph(value, indent=indent + 2, lead=lead)

    def _first(self, items: Sequence[_Item], most: int, indent: int) -> Iterator[_Item]:
        """Give the first entries of a list, all of them to those who ask; then say how many there are more."""
        shown = items if self.look.verbose else items[:most]
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

    def table(self, rows: Sequence[Sequence[Span]], *, indent: int = 0) -> None:
        """Write rows in columns; the last column is wrapped in the room that is left."""
        if not rows:
            return
        shown = [[self._shown((cell,)) for cell in row] for row in rows]
        widths = [max(_width(row[column]) for row in shown) for column in range(len(shown[0]) - 1)]
        before = indent + sum(width + GAP for width in widths)
        for row in shown:
            head: Styled = [(" " * indent, "")]
            for cell, width in zip(row, widths, strict=False):
                head += [*cell, (" " * (width - _width(cell) + GAP), "")]
            self._write_wrapped(head, before, row[-1])

    def plain(self, text: str) -> str:
        """Return the text as this canvas can show it, on one line, with control characters made visible."""
        visible = legible(text)
        return visible if self.look.unicode else visible.translate(_ASCII)

    def _shown(self, spans: Iterable[Span]) -> Styled:
        """Return spans as this canvas can show them."""
        wanted = (
            (text, style) for text, style in map(_pair, spans) if text and not (style == "more" and self.look.verbose)
        )
        pairs = ((self.plain(text), style) for text, style in wanted)
        return [
            (text.replace(" ", _HARD_BLANK) if style in _UNBROKEN else text, STYLES[style] if style else "")
            for text, style in pairs
        ]

    def _write_wrapped(self, head: Styled, before: int, body: Styled) -> None:
        """Write a head and behind it a text in as many lines as it takes, which all begin at the same column."""
        text = "".join(text for text, _ in body)
        room = max(20, self.look.width - before) if self.look.width else sys.maxsize
        for start, end in wrapped(text, room):
            self._write("", [*head, *_part(body, start, end)])
            head = [(" " * before, "")]

    def _write(self, before: str, spans: Styled) -> None:
        coloured = self.look.colour
        pieces = (f"\x1b[{style}m{text}\x1b[0m" if style and coloured else text for text, style in spans)
        self._lines.append(f"{before}{''.join(pieces)}".replace(_HARD_BLANK, " "))


def _pair(span: Span) -> tuple[str, str]:
    """Return a span with its style; a link has its address behind it."""
    if isinstance(span, Link):
        return (span.text if span.text == span.target else f"{span.text} ({span.target})"), ""
    return span if isinstance(span, tuple) else (span, "")


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


# --------------------------------------------------------------------------------------------------------- progress
# A line on stderr for long work: what is done, how far it is, how long it takes; only on a terminal.

BAR = 20
PATIENCE = 0.5
"""Seconds of work before the line appears: short work needs none."""
PAUSE = 0.25
"""Seconds between two drawings, so that the time is seen to move where nothing else does."""
WIDE = 80
"""From so many columns on there is room for the time that is left."""
TRUSTED = 0.05
"""The part of the work after which the rest of the time is estimated."""


class ProgressBar:
    """``[####......] 3/10 scanning torch-2.7.1-….whl, 120.0 MB of 252.0 MB, 0:12, about 0:20 left``.

    Works as a context manager. :meth:`step` says that one more input is done, :meth:`part` how far the present one is.
    :meth:`hide` removes the line before anything else is printed; it appears again with the next thing that is done.
    """

    def __init__(self, stream: TextIO, paths: Sequence[WheelPath], verb: str, *, enabled: bool | None = None) -> None:
        self._stream = stream
        self._verb = verb
        self._paths = [str(path) for path in paths]
        # In ASCII, so that every character takes one column and can be shown everywhere.
        self._names = [legible(path.name or str(path)).encode("ascii", "replace").decode() for path in paths]
        quiet = os.environ.get("TERM") == "dumb"
        self._enabled = (is_terminal(stream) and not quiet) if enabled is None else enabled
        self._sizes = [_size(path) for path in paths] if self._enabled else [1] * len(paths)
        self._done = 0
        self._part = (0, 0)
        self._shown = self._hidden = False
        self._started = time.monotonic()
        self._resumed = self._started
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> ProgressBar:
        if self._enabled:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._ticker is not None:
            self._ticker.join()
        self.hide()

    def step(self, path: str = "") -> None:
        """Say that one more input is done; ``path`` distinguishes the distributions of one environment from inputs."""
        at = next((at for at in range(self._done, len(self._paths)) if path.startswith(self._paths[at])), self._done)
        inside = path and at < len(self._paths) and path != self._paths[at] and not path.endswith(".whl")
        self._done = at if inside else at + 1
        self._part = (0, 0)
        self._hidden = False

    def part(self, done: int, total: int) -> None:
        """Say how many bytes of the present input are done; may be called from several threads."""
        self._part = (done, total)
        self._hidden = False

    def hide(self) -> None:
        """Remove the line until something more is done."""
        with self._lock:
            self._hidden = True
            self._resumed = time.monotonic()
            if self._shown:
                self._shown = False
                self._write("\r" + " " * (terminal_width() - 1) + "\r")

    def show(self) -> None:
        """Draw the line, unless there is nothing to do or a result was printed a moment ago."""
        with self._lock:
            idle = self._hidden or self._done >= len(self._names)
            if not self._enabled or idle or time.monotonic() - self._resumed < PATIENCE:
                return
            self._shown = True
            width = terminal_width() - 1
            self._write("\r" + self.line(width).ljust(width))

    def line(self, width: int = 120) -> str:
        """Return the line as it would be drawn now, in that many columns."""
        seconds = time.monotonic() - self._started
        done = min(self._done, len(self._names) - 1)
        share = self._share(done)
        filled = int(BAR * share)
        number = f"{done + 1}/{len(self._names)} " if len(self._names) > 1 else ""
        head = f"[{'#' * filled}{'.' * (BAR - filled)}] {number}{self._verb} {self._names[done]}"
        tail = f", {human_size(self._part[0])} of {human_size(self._part[1])}" if self._part[1] else ""
        tail += f", {_clock(seconds)}"
        tail += f", about {_clock(seconds * (1 - share) / share)} left" if share > TRUSTED and width > WIDE else ""
        return f"{head[: max(0, width - len(tail))]}{tail}"[:width]

    def _share(self, done: int) -> float:
        """How much of all bytes is done, from 0 to 1."""
        part, total = self._part
        size = sum(self._sizes[:done]) + (self._sizes[done] * min(part, total) / total if total else 0)
        return size / max(1, sum(self._sizes))

    def _tick(self) -> None:
        while not self._ended.wait(PAUSE):
            self.show()

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._enabled = False  # there is no terminal left


def _size(path: WheelPath) -> int:
    try:
        return max(1, path.stat().st_size if isinstance(path, Path) else path.size)
    except OSError:
        return 1


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
