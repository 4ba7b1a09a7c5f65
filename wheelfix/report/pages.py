"""Our Markdown pages as blocks, and the list of findings.

The one module that imports markdown-it-py.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt, tree

from wheelfix.report.blocks import Block, Bullets, Code, Heading, Link, Para, Part, Record, Records, Span, Spans, para
from wheelfix.report.canvas import TextStyle, render_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.tree import SyntaxTreeNode

    from wheelfix.rules.registry import Group, Rule


def parse_markdown(text: str) -> list[Block]:
    """Return the blocks of a page; ours have no tables, quotes, numbered lists and lists in lists."""
    reader = MarkdownIt("commonmark", {"html": False})  # HTML in a page is text
    return [_block(node) for node in tree.SyntaxTreeNode(reader.parse(text)).children]


def _block(node: SyntaxTreeNode) -> Block:
    if node.type == "heading":
        return Heading("".join(_text(span) for span in _line_of(node)), "h123456".index(node.tag[1]))
    if node.type == "paragraph":
        return Para(_line_of(node))
    if node.type in ("fence", "code_block"):
        return Code(node.content.rstrip("\n"), "word")
    if node.type == "bullet_list":
        return Bullets(tuple((_line_of(item.children[0]), "") for item in node.children), 1000, "  • ")
    raise ValueError(f"a page has a {node.type}, which no renderer draws")


def _text(span: Span) -> str:
    return span if isinstance(span, str) else span[0]


def _line_of(node: SyntaxTreeNode) -> Spans:
    """Return the words of a heading or a paragraph."""
    spans = [span for inline in node.children for child in inline.children for span in _spans(child)]
    return tuple(span for span in spans if _text(span))


def _spans(node: SyntaxTreeNode, style: str = "") -> Iterator[Span]:
    if node.type in ("softbreak", "hardbreak"):
        yield " ", style
    elif node.type == "code_inline":
        yield node.content, "word"
    elif node.type == "link":
        words = "".join(_text(span) for child in node.children for span in _spans(child))
        yield Link(words, str(node.attrs.get("href", "")))
    elif node.children:
        for child in node.children:
            yield from _spans(child, "name" if node.type in ("strong", "em") else style)
    elif node.content:
        yield node.content, style


def render_page(markdown: str, look: TextStyle) -> str:
    """Return a Markdown page as a terminal shows it."""
    blocks: list[Block] = []
    for block in parse_markdown(markdown):
        blocks += [para()] if blocks else []
        indented = Code("    " + block.text.replace("\n", "\n    "), "word") if isinstance(block, Code) else block
        blocks.append(indented)
    return render_text(blocks, look)


def render_rules(rules: Iterable[Rule], look: TextStyle) -> str:
    """Return the list of findings, by group, each with its summary."""
    groups: dict[Group, list[Record]] = {}
    for rule in sorted(rules, key=attrgetter("code")):
        title = ((rule.code, "code"), "  ", (rule.severity.value, rule.severity.value), "  ", (rule.name, "name"))
        groups.setdefault(rule.group, []).append(Record(title, (("", rule.summary),)))
    blocks: list[Block] = []
    for group, records in groups.items():
        blocks += [para()] if blocks else []
        blocks.append(Part(((group.value, "head"),), (Records(records),), 3))
    return render_text([*blocks, para(), para("'wheelfix explain CODE' shows the page of one.")], look)
