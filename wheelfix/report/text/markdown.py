"""Markdown as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.blocks import (
    Block,
    CodeBlock,
    Heading,
    Line,
    Listing,
    Paragraph,
    Piece,
    TableBlock,
    bare,
    parse_markdown,
)

if TYPE_CHECKING:
    from wheelfix.report.text.canvas import Canvas, Span


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


STYLES = {"code": "note", "bold": "name", "emphasis": "name"}


def _spans(line: Line) -> list[Span]:
    return [(_words(piece), STYLES.get(piece.look, "")) for piece in line]


def _words(piece: Piece) -> str:
    return f"{piece.text} ({piece.target})" if piece.look == "link" and piece.target != piece.text else piece.text
