"""Every resolved edge as a tree, in load order: who loads what, and who provides it."""

from __future__ import annotations

import itertools
import posixpath
from collections import deque
from typing import TYPE_CHECKING

from wheelfix.model import Edge, EdgeKind, InView, Missing, ScanReport
from wheelfix.report.words import provider_phrase, short_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.report.text.canvas import Canvas, Span

MOST = 20_000
"""Lines that are drawn. A wheel of 500 DLLs has a few thousand; a longer tree is of no use."""
DEEPEST = 40
"""Levels that a tree grows to the right; what is deeper begins a tree of its own further down."""


def draw_tree(canvas: Canvas, report: ScanReport) -> None:
    """Draw the loads that the package performs, each file's needs once; then the files that nothing loads."""
    lines = _lines(report)
    for spans in itertools.islice(lines, MOST):
        canvas.line(*spans)
    if next(lines, None) is not None:
        note = f"The tree ends here, after {MOST} lines; --format json has all {len(report.resolution.edges)} edges."
        canvas.line((note, "warn"), indent=2)


def _lines(report: ScanReport) -> Iterator[list[Span]]:
    """Yield the lines of one tree after the other."""
    needs: dict[str, list[Edge]] = {}
    for edge in report.resolution.edges:
        needs.setdefault(edge.importer, []).append(edge)
    codes = {outcome.event.path: outcome.code for outcome in reversed(report.resolution.outcomes)}
    order = deque(dict.fromkeys(outcome.event.path for outcome in report.resolution.outcomes))
    order += sorted(path for path in needs if path not in codes)
    drawn: set[str] = set()
    while order:
        path = order.popleft()
        if path in drawn and path not in codes:
            continue
        code = codes.get(path, 0)
        fate: Span = (f"  fails with {code}", "bad") if code else ""
        if path in drawn:
            yield ["  ", (short_path(path), "name"), ("  (above)", "dim"), fate]
            continue
        yield ["  ", (short_path(path), "name"), fate]
        deeper: list[str] = []
        yield from _tree(path, needs, drawn, deeper)
        order.extendleft(path for path in reversed(deeper) if path not in codes)


def _tree(root: str, needs: dict[str, list[Edge]], drawn: set[str], deeper: list[str]) -> Iterator[list[Span]]:
    """Yield what is below a file; an own stack, because a chain of DLLs can be longer than Python's."""
    drawn.add(root)
    pending = [(item, "  ", last) for item, last in _rows(needs.get(root, []))]
    pending.reverse()
    while pending:
        (spans, target), prefix, last = pending.pop()
        seen: Span = ""
        children: list[tuple[tuple[list[Span], str | None], str, bool]] = []
        if target is not None and target in needs:
            if target in drawn:
                seen = ("  (above)", "dim")
            elif len(prefix) > 3 * DEEPEST:
                seen = ("  (below)", "dim")
                deeper.append(target)
            else:
                drawn.add(target)
                below = prefix + ("   " if last else "│  ")
                children = [(item, below, final) for item, final in _rows(needs[target])]
        yield [(prefix + ("└─ " if last else "├─ "), "dim"), *spans, seen]
        pending += reversed(children)


def _rows(edges: list[Edge]) -> list[tuple[tuple[list[Span], str | None], bool]]:
    """Return one row per edge that matters, and one for each provider outside the wheel."""
    rows: list[tuple[list[Span], str | None]] = []
    outside: dict[str, list[str]] = {}
    for edge in edges:
        phrase = provider_phrase(edge.provider)
        if isinstance(edge.provider, InView):
            same = posixpath.basename(edge.provider.path) == edge.name
            where = phrase if not same else posixpath.dirname(phrase)
            unexported: Span = (
                (f"  does not export {', '.join(map(str, edge.unexported[:3]))}", "bad") if edge.unexported else ""
            )
            rows.append(
                ([edge.name, (_how(edge), "note"), (f" → {where or '.'}", "dim"), unexported], edge.provider.path)
            )
        elif isinstance(edge.provider, Missing):
            style = "bad" if edge.required else "warn"
            rows.append(([(edge.name, style), (_how(edge), "note"), (f" → {phrase}", style)], None))
        else:
            outside.setdefault(phrase, []).append(edge.name + _how(edge))
    rows += [([(f"{phrase}: ", "dim"), (", ".join(names), "dim")], None) for phrase, names in outside.items()]
    return [(row, number == len(rows) - 1) for number, row in enumerate(rows)]


def _how(edge: Edge) -> str:
    if edge.kind is EdgeKind.IMPORT:
        return ""
    return f" ({edge.kind}{'' if edge.required else ', optional'})"
