"""Every resolved edge as a tree, in load order: who loads what, and who provides it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.model import Edge, EdgeKind, InView, Missing, ScanReport
from wheelfix.report.words import provider_phrase, short_path

if TYPE_CHECKING:
    from wheelfix.report.text.canvas import Canvas, Span


def draw_tree(canvas: Canvas, report: ScanReport) -> None:
    """Draw the loads that the package performs, each file's needs once; then the files that nothing loads."""
    needs: dict[str, list[Edge]] = {}
    for edge in report.resolution.edges:
        needs.setdefault(edge.importer, []).append(edge)
    codes = {outcome.event.path: outcome.code for outcome in reversed(report.resolution.outcomes)}
    order = list(dict.fromkeys(outcome.event.path for outcome in report.resolution.outcomes))
    order += sorted(path for path in needs if path not in codes)
    drawn: set[str] = set()
    for path in order:
        if path in drawn and path not in codes:
            continue
        code = codes.get(path, 0)
        fate: Span = (f"  fails with {code}", "bad") if code else ""
        if path in drawn:
            canvas.line((short_path(path), "name"), ("  (above)", "dim"), fate, indent=2)
            continue
        canvas.line((short_path(path), "name"), fate, indent=2)
        _draw(canvas, path, needs, drawn)


def _draw(canvas: Canvas, root: str, needs: dict[str, list[Edge]], drawn: set[str]) -> None:
    """Draw below a file; an own stack, because a chain of DLLs can be longer than Python's."""
    drawn.add(root)
    pending = [(item, "  ", last) for item, last in _rows(needs.get(root, []))]
    pending.reverse()
    while pending:
        (spans, target), prefix, last = pending.pop()
        fresh = target is not None and target in needs and target not in drawn
        seen: Span = ("  (above)", "dim") if target is not None and target in drawn and target in needs else ""
        canvas.line((prefix + ("└─ " if last else "├─ "), "dim"), *spans, seen)
        if fresh and target is not None:
            drawn.add(target)
            below = prefix + ("   " if last else "│  ")
            children = [(item, below, final) for item, final in _rows(needs[target])]
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
            lacks: Span = (f"  lacks {', '.join(map(str, edge.lacks[:3]))}", "bad") if edge.lacks else ""
            rows.append(([edge.name, (_how(edge), "note"), (f" → {where or '.'}", "dim"), lacks], edge.provider.path))
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
