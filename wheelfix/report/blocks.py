"""Markdown as values: the part of Markdown that our own pages use, for every renderer to draw in its way.

Headings, paragraphs, quotes, lists, fenced code, tables, and ``code``, **bold**, *emphasis* and links inside a line.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from wheelfix.values import dataclass

_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\[\]]+)\]\(([^()\s]+)\)|<(https?://[^<>\s]+)>")
_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+(.*)")


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
class Code:
    """Lines that stay as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal length; the first is the head."""

    rows: tuple[tuple[Line, ...], ...]


Block: TypeAlias = "Heading | Paragraph | Listing | Code | Table"


def parse_markdown(text: str) -> list[Block]:
    """Return the blocks of a page."""
    lines = text.splitlines()
    blocks: list[Block] = []
    position = 0
    while position < len(lines):
        if not lines[position].strip():
            position += 1
            continue
        block, position = _block(lines, position)
        blocks.append(block)
    return blocks


def bare(line: Line) -> str:
    """Return a line's words without their looks."""
    return "".join(piece.text for piece in line)


def _block(lines: list[str], position: int) -> tuple[Block, int]:
    """Return the block that begins at a line, and where the next one may begin."""
    line = lines[position]
    if line.lstrip().startswith("```"):
        return _code(lines, position)
    if level := _heading_level(line):
        return Heading(level, parse_line(line[level:].rstrip("#").strip())), position + 1
    if line.lstrip().startswith("|"):
        return _table(lines, position)
    if _ITEM.match(line):
        return _listing(lines, position)
    quoted = line.lstrip().startswith(">")
    words, position = _words(lines, position)
    text = " ".join(word.removeprefix("> ").removeprefix(">") if quoted else word for word in words)
    return Paragraph(parse_line(text), quoted), position


def _words(lines: list[str], position: int) -> tuple[list[str], int]:
    words = []
    while position < len(lines) and lines[position].strip() and not _begins_block(lines[position]):
        words.append(lines[position].strip())
        position += 1
    return words, position


def _begins_block(line: str) -> bool:
    return bool(line.lstrip().startswith(("```", "|")) or _heading_level(line) or _ITEM.match(line))


def _heading_level(line: str) -> int:
    """How many marks a heading begins with; 0 for any other line."""
    level = len(line) - len(line.lstrip("#"))
    return level if level <= 6 and line[level : level + 1].isspace() else 0


def _code(lines: list[str], position: int) -> tuple[Code, int]:
    end = position + 1
    while end < len(lines) and not lines[end].lstrip().startswith("```"):
        end += 1
    return Code(tuple(lines[position + 1 : end])), end + 1


def _listing(lines: list[str], position: int) -> tuple[Listing, int]:
    items = []
    while position < len(lines):
        match = _ITEM.match(lines[position])
        if match is None:
            break
        more, position = _words(lines, position + 1)
        items.append(Item(match[2], len(match[1]), parse_line(" ".join([match[3], *more]))))
    return Listing(tuple(items)), position


def _table(lines: list[str], position: int) -> tuple[Table, int]:
    rows: list[list[Line]] = []
    while position < len(lines) and lines[position].lstrip().startswith("|"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", lines[position].strip().strip("|"))]
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            rows.append([parse_line(cell.replace("\\|", "|")) for cell in cells])
        position += 1
    width = max((len(row) for row in rows), default=0)
    return Table(tuple((*row, *[()] * (width - len(row))) for row in rows)), position


def parse_line(text: str) -> Line:
    """Return the pieces of a line."""
    pieces = []
    end = 0
    for match in _INLINE.finditer(text):
        pieces.append(Piece(text[end : match.start()]))
        code, bold, emphasis, name, target, address = match.groups()
        if code:
            pieces.append(Piece(code, "code"))
        elif bold or emphasis:
            pieces.append(Piece(bold or emphasis, "bold" if bold else "emphasis"))
        else:
            pieces.append(Piece(name or address, "link", target or address))
        end = match.end()
    pieces.append(Piece(text[end:]))
    return tuple(piece for piece in pieces if piece.text)
