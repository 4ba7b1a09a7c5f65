"""Markdown as values, for every renderer to draw in its way: the one module that imports markdown-it-py.

It is imported when the first page is read, so that a scan does not wait for it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

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
