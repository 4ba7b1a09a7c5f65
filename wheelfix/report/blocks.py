"""What a report consists of before it is text, Markdown or HTML: a tree of a few kinds of blocks.

``canvas``, ``ci`` and ``html`` each draw such a tree; whoever makes one decides what is said, never how it looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wheelfix.base.values import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence


class Link(NamedTuple):
    """Words that lead somewhere; one to a place on the page itself (``#WF301``) exists in HTML alone."""

    text: str
    target: str


Span: TypeAlias = "str | tuple[str, str] | Link"
"""A piece of text, with one of the styles of ``canvas.STYLES`` or without; ``more`` is for readers of text alone."""
Spans: TypeAlias = "tuple[Span, ...]"
NAMING = frozenset({"file", "path", "bad", "warn", "good", "code", "word"})
"""Styles of names and commands, which Markdown and HTML set as code."""


@frozen
class Para:
    """Text that may be wrapped, with a label before it."""

    spans: Spans
    lead: Span = ""
    whole: bool = False
    """Whether it is never broken into lines, because people search for it."""


@frozen
class Code:
    """Lines as they stand: an error (style ``bad``), or a command to paste with what it does."""

    text: str
    style: str = "name"
    what: str = ""


@frozen
class Bullets:
    """A list; each entry may have a hint. Of more than ``most`` the rest is folded or only counted."""

    items: tuple[tuple[Spans, str], ...]
    most: int = 5
    mark: str = ""
    """What stands before each entry in a text."""


Value: TypeAlias = "Span | list[str] | Code"
"""A text, several names, or a command."""
Fields: TypeAlias = "list[tuple[str, Value]]"
"""What is known about something, by labels."""
Rows: TypeAlias = "list[list[Span]]"


@frozen
class Record:
    """A title and what is known about it, by labels; what has no label is said below the title."""

    title: Spans
    fields: Sequence[tuple[str, Value]] = ()

    def get(self, label: str) -> list[Value]:
        """Return what is known under a label."""
        return [value for name, value in self.fields if name == label]


@frozen
class Records:
    """Records of one kind: in a text one after the other, elsewhere the rows of a table."""

    records: Sequence[Record]
    head: str = ""
    """What the titles are, as the head of their column."""
    most: int = 1000

    @property
    def heads(self) -> list[str]:
        """The columns of the table: the titles, and every label."""
        return [self.head, *dict.fromkeys(label for one in self.records for label, _ in one.fields if label)]


@frozen
class Table:
    """Rows of columns; a text shows their heads only where ``headed``."""

    heads: tuple[str, ...]
    rows: Sequence[Sequence[Span]]
    headed: bool = False
    numbers: tuple[str, ...] = ()
    """The heads of columns that are set to the right."""


@frozen
class Heading:
    """A heading in a page of ours."""

    text: str
    level: int


@frozen
class Part:
    """A section: of level 1 a whole report, of 2 a chapter of it, of 3 what belongs together in a chapter."""

    title: Spans
    blocks: Sequence[Block]
    level: int = 2
    badge: Span = ""
    """What came of it, at the end of the title."""
    closed: bool = False
    """For those who ask: a text has it with ``-v``, a page has it folded, Markdown does not have it."""


Block: TypeAlias = "Para | Code | Bullets | Records | Table | Heading | Part"


def para(*spans: Span, lead: Span = "") -> Para:
    """Return a paragraph."""
    return Para(spans, lead)


def line(*spans: Span) -> Para:
    """Return a line that is never broken."""
    return Para(spans, whole=True)


def labelled(label: str, texts: Sequence[str], style: str = "dim") -> list[Para]:
    """Return a paragraph for each text that is not empty, with a label before it, as in ``note: …``."""
    return [Para((text,), (label, style)) for text in texts if text]


def bullets(texts: Sequence[str], most: int = 1000) -> Bullets:
    """Return a list of plain texts."""
    return Bullets(tuple(((text,), "") for text in texts), most)


def chapter(title: str, *blocks: Block, closed: bool = False) -> Part:
    """Return a chapter."""
    return Part((title,), blocks, closed=closed)


def counted(title: str, texts: Sequence[str], most: int = 1000) -> list[Part]:
    """Return a chapter that lists texts, with their number; nothing where there are none."""
    return [chapter(f"{title} ({len(texts)})", bullets(texts, most))] if texts else []


def recorded(title: str, records: Sequence[Record], head: str = "", most: int = 1000) -> list[Part]:
    """Return a chapter of records, with their number; nothing where there are none."""
    return [chapter(f"{title} ({len(records)})", Records(records, head, most))] if records else []
