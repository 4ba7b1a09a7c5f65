"""HTML by construction: text is escaped unless it was built here, so nothing in a wheel can become markup."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, TypeVar

from wheelfix.report import safe
from wheelfix.report.blocks import (
    NAMING,
    Block,
    Bullets,
    Code,
    Heading,
    Link,
    Para,
    Part,
    Record,
    Records,
    Span,
    Table,
    Value,
)
from wheelfix.report.document import and_more

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


VOID = frozenset({"br", "col", "input", "meta", "wbr"})
WHOLE = frozenset({"title", "text", "option", "pre"})
"""Elements that hold text alone, or what is copied: names are not broken there."""


class Html(str):
    """Markup that may stand as it is."""

    __slots__ = ()


def el(tag: str, /, *children: str | None, **attributes: str | int | bool | None) -> Html:
    """Return an element; ``aria_label`` gives ``aria-label``, ``class_`` ``class``; None and False are left out."""
    parts = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name = key.rstrip("_").replace("_", "-")
        parts.append(f" {name}" if value is True else f' {name}="{html.escape(safe.html(str(value)))}"')
    start = f"<{tag}{''.join(parts)}>"
    if tag in VOID and not children:
        return Html(start)
    return Html(f"{start}{join(children, '_' if tag in WHOLE else '_<wbr>')}</{tag}>")


def join(children: Iterable[str | None], underscore: str = "_<wbr>") -> Html:
    """Return children one after the other; plain text is escaped, and may be broken behind an underscore."""
    return Html(
        "".join(
            child if isinstance(child, Html) else html.escape(safe.html(child), quote=False).replace("_", underscore)
            for child in children
            if child is not None
        )
    )


def table(
    heads: Sequence[str], rows: Iterable[Sequence[Html]], class_: str = "cards", *, numbers: Sequence[str] = ()
) -> Html:
    """Return a table with one row of headings; ``numbers`` are those of columns that are set to the right.

    Its cells say what they are where a narrow screen has no room for columns.
    """
    right = {head: "number" if head in numbers else None for head in heads}
    drawn = [
        el("tr", el("th", row[0], scope="row"),
           *(el("td", cell, data_label=head, class_=right[head])
             for head, cell in zip(heads[1:], row[1:], strict=True)))
        for row in rows
    ]  # fmt: skip
    first = el("tr", *(el("th", head, scope="col", class_=right[head]) for head in heads))
    return el("table", el("thead", first), el("tbody", *drawn), class_=class_)


def fold(summary: str, *children: str | None, **attributes: str | bool | None) -> Html:
    """Return what can be unfolded below a line that says what it is."""
    return el("details", el("summary", summary), *children, **attributes)


def listed(items: Iterable[str]) -> Html:
    """Return a list."""
    return el("ul", *(item if isinstance(item, Html) else el("li", item) for item in items))


def badge(words: str, kind: str) -> Html:
    """Return a word on a coloured ground; the word says it all, the colour says it sooner."""
    return el("span", words, class_=f"badge {kind}")


def names(words: Sequence[str]) -> Html:
    """Return a list, folded where it is long."""
    if len(words) < 2:
        return join(words)
    return listed(words) if len(words) <= 3 else fold(and_more(words, 1), listed(words))


# -------------------------------------------------------------------------------------------------------------- blocks

BADGES = frozenset({"ok", "risky", "unsure", "broken", "failed", "skipped", "error", "warning", "info"})
_Item = TypeVar("_Item")
SHOWN = 10
"""So many entries of a list are shown at once; the others are folded."""


def draw(blocks: Iterable[Block]) -> Html:
    """Return blocks; a heading of a page on level 1 is one of level 4."""
    return join(map(_block, blocks))


def _block(block: Block) -> Html | None:
    match block:
        case Para(spans, lead):
            dim = all(isinstance(span, tuple) and span[1] in ("dim", "more") for span in spans)
            text = spans_of((lead, *spans))
            return el("p", text, class_="dim" if dim else None) if text else None
        case Code(text, style, what):
            said = el("p", what, class_="dim") if what else None
            kind = "error" if style == "bad" else "paste" if what else None
            return join([said, el("pre", el("code", text) if style == "word" else text, class_=kind, tabindex=0)])
        case Bullets(items):
            drawn = [
                el("li", spans_of(spans), el("p", el("b", "Hint: "), hint, class_="hint") if hint else None)
                for spans, hint in items
            ]
            return _folded(drawn, listed)
        case Table(heads, rows, _, numbers):
            cells = [[spans_of((cell,)) for cell in row] for row in rows]
            return _folded(cells, lambda part: table(heads, part, numbers=numbers))
        case Records(records):
            columns = block.heads
            cells = [[_title(one), *(_known(one, label) for label in columns[1:])] for one in records]
            return _folded(cells, lambda part: table(columns, part, "cards missing-dlls"))
        case Heading(text, level):
            return el(f"h{min(6, level + 3)}", text)
        case Part():
            return _part(block)


def _part(part: Part) -> Html:
    title, inner = spans_of(part.title), draw(part.blocks)
    if part.level == 3:
        return fold(title, inner, class_="finding", open=not part.closed)
    if part.level == 2:
        return fold(title, inner, class_="fold") if part.closed else join([el("h4", title), inner])
    kind = part.badge[1] if isinstance(part.badge, tuple) else ""
    mark = badge(part.badge[0].lower(), kind) if kind else None
    return el("section", el("h2", title, " ", mark), inner)


def _folded(items: Sequence[_Item], draw: Callable[[Sequence[_Item]], Html]) -> Html:
    """Return the first entries as ``draw`` shows them, and the others folded."""
    rest = items[SHOWN:]
    return join([draw(items[:SHOWN]), fold(f"{len(rest)} more", draw(rest)) if rest else None])


def _title(record: Record) -> Html:
    below = (el("span", _value(value), class_="facts") for value in record.get(""))
    return join([spans_of(record.title), *below])


def _known(record: Record, label: str) -> Html:
    found = [*map(_value, record.get(label))]
    return found[0] if len(found) == 1 else join(el("span", one, class_="facts") for one in found)


def _value(value: Value) -> Html:
    if isinstance(value, Code):
        return el("code", value.text)
    return names(value) if isinstance(value, list) else spans_of((value,))


def spans_of(spans: Iterable[Span]) -> Html:
    """Return spans one after the other."""
    return join(map(_span, spans))


def _span(span: Span) -> str:
    if isinstance(span, Link):
        rel = None if span.target.startswith("#") else "noreferrer"
        return el("a", span.text, href=span.target, rel=rel) if span.target.startswith(("#", "http")) else span.text
    text, style = (span, "") if isinstance(span, str) else span
    if not text or style == "more":
        return ""
    if style in BADGES:
        return badge(text, style)
    if style in NAMING:
        return el("code", text, class_={"bad": "cause", "warn": "doubt"}.get(style))
    if style in ("name", "head"):
        return el("b", text)
    return el("span", text, class_="dim") if style == "dim" else text
