"""Markdown as a terminal shows it: the part of Markdown that our own pages use.

Headings, paragraphs, lists, fenced code, tables, and ``code``, **bold**, *emphasis* and links inside a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelfix.report.text.canvas import Canvas, Span

_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|<(https?://[^>\s]+)>")
_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+(.*)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")


def draw_markdown(canvas: Canvas, text: str) -> None:
    """Write a page on the canvas."""
    lines = text.splitlines()
    position = 0
    first = True
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            position += 1
            continue
        if not first:
            canvas.blank()
        first = False
        position = _block(canvas, lines, position)


def _block(canvas: Canvas, lines: list[str], position: int) -> int:
    """Write the block that begins at a line and return where the next one may begin."""
    line = lines[position]
    if line.lstrip().startswith("```"):
        return _fence(canvas, lines, position)
    heading = _HEADING.match(line)
    if heading:
        canvas.line((_bare(heading[2]), "head" if len(heading[1]) < 3 else "name"))
        return position + 1
    if line.lstrip().startswith("|"):
        return _table(canvas, lines, position)
    if _ITEM.match(line):
        return _list(canvas, lines, position)
    quoted = line.lstrip().startswith(">")
    words = []
    while position < len(lines) and lines[position].strip() and not _begins_block(lines[position]):
        words.append(lines[position].strip().removeprefix("> ").removeprefix(">"))
        position += 1
    canvas.paragraph(*_inline(" ".join(words)), indent=2 if quoted else 0)
    return position


def _begins_block(line: str) -> bool:
    return bool(line.lstrip().startswith(("```", "|")) or _HEADING.match(line) or _ITEM.match(line))


def _fence(canvas: Canvas, lines: list[str], position: int) -> int:
    position += 1
    while position < len(lines) and not lines[position].lstrip().startswith("```"):
        canvas.line((lines[position], "note"), indent=4)
        position += 1
    return position + 1


def _list(canvas: Canvas, lines: list[str], position: int) -> int:
    while position < len(lines):
        item = _ITEM.match(lines[position])
        if item is None:
            return position
        words = [item[3]]
        position += 1
        while position < len(lines) and lines[position].strip() and not _begins_block(lines[position]):
            words.append(lines[position].strip())
            position += 1
        bullet = f"{item[2]} " if item[2][0].isdigit() else "• "
        canvas.paragraph(*_inline(" ".join(words)), indent=2 + len(item[1]), lead=bullet)
    return position


def _table(canvas: Canvas, lines: list[str], position: int) -> int:
    rows: list[list[str]] = []
    while position < len(lines) and lines[position].lstrip().startswith("|"):
        cells = [cell.strip() for cell in lines[position].strip().strip("|").split("|")]
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            rows.append([_bare(cell) for cell in cells])
        position += 1
    width = max((len(row) for row in rows), default=0)
    styled: list[list[Span]] = [
        [(cell, "name") if number == 0 else cell for cell in [*row, *[""] * (width - len(row))]]
        for number, row in enumerate(rows)
    ]
    canvas.table(styled, indent=2)
    return position


def _inline(text: str) -> list[Span]:
    spans: list[Span] = []
    end = 0
    for match in _INLINE.finditer(text):
        spans.append(text[end : match.start()])
        code, bold, emphasis, name, target, address = match.groups()
        if name is not None:
            spans.append(name if name == target else f"{name} ({target})")
        else:
            spans.append((code, "note") if code else (bold or emphasis, "name") if bold or emphasis else address)
        end = match.end()
    spans.append(text[end:])
    return spans


def _bare(text: str) -> str:
    """Return a line without its marks."""
    return "".join(span if isinstance(span, str) else span[0] for span in _inline(text))
