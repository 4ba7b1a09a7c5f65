"""Markdown pages as values, for every renderer to draw in its way, and as a terminal shows them.

The one module that imports markdown-it-py, when the first page is read, so that a scan does not wait for it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass
from wheelfix.report.canvas import SEVERITY_STYLES, Canvas, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.tree import SyntaxTreeNode

    from wheelfix.report.canvas import TextStyle
    from wheelfix.rules.registry import Group, Rule

_LOOKS = {"strong": "bold", "em": "emphasis"}
_STYLES = {"code": "note", "bold": "name", "emphasis": "name"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a line with one look: ``text``, ``code``, ``bold``, ``emphasis`` or ``link``."""

    text: str
    look: str = "text"
    target: str = ""


Line: TypeAlias = "tuple[Piece, ...]"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a page; our pages have no tables, quotes, numbered lists and lists in lists."""

    kind: str
    """``heading``, ``paragraph``, ``list`` or ``code``."""
    lines: tuple[Line, ...]
    """The lines of code, the entries of a list; one for the others, which may be wrapped anywhere."""
    level: int = 0
    """Of a heading, from 1."""


def parse_markdown(text: str) -> list[Block]:
    """Return the blocks of a page, in their order."""
    from markdown_it import MarkdownIt, tree

    reader = MarkdownIt("commonmark", {"html": False})  # HTML in a page is text
    return [_block(node) for node in tree.SyntaxTreeNode(reader.parse(text)).children]


def bare(line: Line) -> str:
    """Return a line's words without their looks."""
    return "".join(piece.text for piece in line)


def _block(node: SyntaxTreeNode) -> Block:
    if node.type == "heading":
        return Block("heading", (_line_of(node),), "h123456".index(node.tag[1]))
    if node.type == "paragraph":
        return Block("paragraph", (_line_of(node),))
    if node.type in ("fence", "code_block"):
        return Block("code", tuple((Piece(line, "code"),) for line in node.content.rstrip("\n").split("\n")))
    if node.type == "bullet_list":
        return Block("list", tuple(_line_of(item.children[0]) for item in node.children))
    raise ValueError(f"a page has a {node.type}, which no renderer draws")


def _line_of(node: SyntaxTreeNode) -> Line:
    """Return the words of a heading or a paragraph."""
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


def _spans(line: Line) -> Iterator[Span]:
    for piece in line:
        target = f" ({piece.target})" if piece.look == "link" and piece.target != piece.text else ""
        yield piece.text + target, _STYLES.get(piece.look, "")


def render_page(markdown: str, look: TextStyle) -> str:
    """Return a Markdown page as a terminal shows it."""
    canvas = Canvas(look)
    for number, block in enumerate(parse_markdown(markdown)):
        if number:
            canvas.blank()
        for line in block.lines:
            if block.kind == "heading":
                canvas.line((bare(line), "head" if block.level < 3 else "name"))
            elif block.kind == "code":
                canvas.line((bare(line), "note"), indent=4)
            else:
                indent, lead = (2, "• ") if block.kind == "list" else (0, "")
                canvas.paragraph(*_spans(line), indent=indent, lead=lead)
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
        for rule in members:
            severity = rule.severity.value
            canvas.table([[(rule.code, "code"), (severity, SEVERITY_STYLES[severity]), (rule.name, "name")]], indent=2)
            canvas.paragraph(rule.summary, indent=9)
    canvas.blank()
    canvas.paragraph("'wheelfix explain CODE' shows the page of one.")
    return canvas.text()
