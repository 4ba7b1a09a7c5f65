"""HTML by construction: text is escaped unless it was built here, so nothing in a wheel can become markup."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from wheelfix.report import safe
from wheelfix.report.pages import Block, Line, Piece, bare, parse_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wheelfix.errors import WheelfixError

VOID = frozenset({"br", "col", "input", "meta"})


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
    return Html(f"{start}{join(children)}</{tag}>")


def join(children: Iterable[str | None]) -> Html:
    """Return children one after the other; plain text is escaped."""
    return Html(
        "".join(
            child if isinstance(child, Html) else html.escape(safe.html(child), quote=False)
            for child in children
            if child is not None
        )
    )


def table(heads: Iterable[str], rows: Iterable[Html], class_: str = "cards", *, numbers: Sequence[str] = ()) -> Html:
    """Return a table with one row of headings; ``numbers`` are those of columns that are set to the right."""
    cells = (el("th", head, scope="col", class_="number" if head in numbers else None) for head in heads)
    return el("table", el("thead", el("tr", *cells)), el("tbody", *rows), class_=class_)


def fold(summary: str, *children: str | None, **attributes: str | bool | None) -> Html:
    """Return what can be unfolded below a line that says what it is."""
    return el("details", el("summary", summary), *children, **attributes)


def folded(items: Sequence[Html], most: int, draw: Callable[[Sequence[Html]], Html]) -> Html:
    """Return the first entries as ``draw`` shows them, and the others folded."""
    rest = items[most:]
    return join([draw(items[:most]), fold(f"{len(rest)} more", draw(rest)) if rest else None])


def bullets(items: Iterable[str]) -> Html:
    """Return a list."""
    return el("ul", *(item if isinstance(item, Html) else el("li", item) for item in items))


def badge(words: str, kind: str) -> Html:
    """Return a word on a coloured ground; the word says it all, the colour says it sooner."""
    return el("span", words, class_=f"badge {kind}")


def hint(error: WheelfixError) -> Html | None:
    """Return what to try about an error."""
    return el("p", error.hint, class_="hint") if error.hint else None


def from_markdown(text: str, top: int = 3) -> Html:
    """Return one of our pages as HTML, its first heading on level ``top``."""
    return join(_block(block, top) for block in parse_markdown(text))


def _block(block: Block, top: int) -> Html:
    if block.kind == "heading":
        return el(f"h{min(6, block.level + top - 1)}", _line(block.lines[0]))
    if block.kind == "list":
        return el("ul", *(el("li", _line(line)) for line in block.lines))
    if block.kind == "code":
        return el("pre", el("code", "\n".join(map(bare, block.lines))), tabindex=0)
    return el("p", _line(block.lines[0]))


def _line(line: Line) -> Html:
    return join(_piece(piece) for piece in line)


def _piece(piece: Piece) -> Html:
    if piece.look == "link" and piece.target.startswith(("https://", "http://")):
        return el("a", piece.text, href=piece.target, rel="noreferrer")
    names = {"code": "code", "bold": "strong", "emphasis": "em"}
    return el(names[piece.look], piece.text) if piece.look in names else join([piece.text])
