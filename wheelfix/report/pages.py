"""Markdown pages as values, for every renderer to draw in its way, and as a terminal shows them.

The one module that imports markdown-it-py, when the first page is read, so that a scan does not wait for it.
"""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.report.canvas import SEVERITY_STYLES, Canvas, Span
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    from wheelfix.report.canvas import TextStyle
    from wheelfix.rules.registry import Group, Rule

_LOOKS = {"strong": "bold", "em": "emphasis"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a line with one look: ``text``, ``code``, ``bold``, ``emphasis`` or ``link``."""

    text: str
    look: str = "text"
    target: str = ""


Line: TypeAlias = "tuple[Piece, ...]"


@dataclass(frozen=True, slots=True)
class Heading:
    """``## What to do``"""

    level: int
    line: Line


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words that may be wrapped anywhere."""

    line: Line
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list."""

    mark: str
    """``-`` or ``1.``"""
    depth: int
    """Columns of indentation."""
    line: Line


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries below each other."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines that stay as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows of equal length; the first is the head."""

    rows: tuple[tuple[Line, ...], ...]


Block: TypeAlias = "Heading | Paragraph | Listing | CodeBlock | TableBlock"


@functools.cache
def _reader() -> MarkdownIt:
    """Return the parser: CommonMark with tables; HTML in a page is text."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def parse_markdown(text: str) -> list[Block]:
    """Return the blocks of a page, in their order."""
    from markdown_it.tree import SyntaxTreeNode

    return [block for node in SyntaxTreeNode(_reader().parse(text)).children for block in _blocks(node)]


def bare(line: Line) -> str:
    """Return a line's words without their looks."""
    return "".join(piece.text for piece in line)


def _blocks(node: SyntaxTreeNode, quoted: bool = False) -> Iterator[Block]:
    """Yield what one node of the page is; a quote yields its parts, and a line across the page nothing."""
    if node.type == "heading":
        yield Heading("h123456".index(node.tag[1]), _line_of(node))
    elif node.type == "paragraph":
        yield Paragraph(_line_of(node), quoted)
    elif node.type in ("fence", "code_block"):
        yield CodeBlock(tuple(node.content.rstrip("\n").split("\n")))
    elif node.type in ("bullet_list", "ordered_list"):
        yield Listing(tuple(_items(node, 0)))
    elif node.type == "table":
        yield TableBlock(
            tuple(tuple(_line_of(cell) for cell in row.children) for part in node.children for row in part.children)
        )
    elif node.type == "blockquote":
        for child in node.children:
            yield from _blocks(child, quoted=True)


def _items(node: SyntaxTreeNode, depth: int) -> Iterator[Item]:
    """Yield the entries of a list, each with its paragraphs as one line, and behind it those of lists inside it."""
    start = node.attrs.get("start", 1)
    number = start if isinstance(start, int) else 1
    for offset, item in enumerate(node.children):
        mark = f"{number + offset}." if node.type == "ordered_list" else "-"
        pieces: list[Piece] = []
        for child in item.children:
            if child.type in ("paragraph", "heading"):
                pieces += [Piece(" ")] * bool(pieces) + list(_line_of(child))
            elif child.type in ("fence", "code_block"):
                pieces += [Piece(" ")] * bool(pieces) + [Piece(child.content.strip(), "code")]
        yield Item(mark, depth, tuple(pieces))
        for child in item.children:
            if child.type in ("bullet_list", "ordered_list"):
                yield from _items(child, depth + 2)


def _line_of(node: SyntaxTreeNode) -> Line:
    """Return the words of a heading, paragraph or cell."""
    pieces = [piece for inline in node.children for child in inline.children for piece in _pieces(child)]
    return tuple(piece for piece in pieces if piece.text)


def _pieces(node: SyntaxTreeNode, look: str = "text") -> Iterator[Piece]:
    if node.type in ("softbreak", "hardbreak"):
        yield Piece(" ", look)
    elif node.type == "code_inline":
        yield Piece(node.content, "code")
    elif node.type == "link":
        address = str(node.attrs.get("href", ""))
        yield Piece("".join(piece.text for child in node.children for piece in _pieces(child)), "link", address)
    elif node.children:
        for child in node.children:
            yield from _pieces(child, _LOOKS.get(node.type, look))
    elif node.content:
        yield Piece(node.content, look)


def draw_markdown(canvas: Canvas, text: str) -> None:
    """Write a page on the canvas."""
    for number, block in enumerate(parse_markdown(text)):
        if number:
            canvas.blank()
        _draw(canvas, block)


def _draw(canvas: Canvas, block: Block) -> None:
    match block:
        case Heading(level, line):
            canvas.line((bare(line), "head" if level < 3 else "name"))
        case Paragraph(line, quoted):
            canvas.paragraph(*_spans(line), indent=2 if quoted else 0)
        case Listing(items):
            for item in items:
                mark = f"{item.mark} " if item.mark[0].isdigit() else "• "
                canvas.paragraph(*_spans(item.line), indent=2 + item.depth, lead=mark)
        case CodeBlock(lines):
            for text in lines:
                canvas.line((text, "note"), indent=4)
        case TableBlock(rows):
            canvas.table(
                [[(bare(cell), "name" if number == 0 else "") for cell in row] for number, row in enumerate(rows)],
                indent=2,
            )


_STYLES = {"code": "note", "bold": "name", "emphasis": "name"}


def _spans(line: Line) -> list[Span]:
    return [(_words(piece), _STYLES.get(piece.look, "")) for piece in line]


def _words(piece: Piece) -> str:
    return f"{piece.text} ({piece.target})" if piece.look == "link" and piece.target != piece.text else piece.text


def render_page(markdown: str, look: TextStyle) -> str:
    """Return a Markdown page as a terminal shows it."""
    canvas = Canvas(look)
    draw_markdown(canvas, markdown)
    return canvas.text()


def render_rules(rules: Iterable[Rule], look: TextStyle) -> str:
    """Return the list of findings, by group, one line each."""
    canvas = Canvas(look)
    groups: dict[Group, list[Rule]] = {}
    for rule in sorted(rules, key=attrgetter("code")):
        groups.setdefault(rule.group, []).append(rule)
    for number, (group, members) in enumerate(groups.items()):
        if number:
            canvas.blank()
        canvas.line((group.value, "head"))
        rows: list[list[Span]] = [
            [(rule.code, "code"), (str(rule.severity), SEVERITY_STYLES[rule.severity.value]), (rule.name, "name")]
            for rule in members
        ]
        for row, rule in zip(rows, members, strict=True):
            canvas.table([row], indent=2)
            canvas.paragraph(rule.summary, indent=9)
    canvas.blank()
    canvas.paragraph("'wheelfix explain CODE' shows the page of one.")
    return canvas.text()
