"""The measurements of ``benchmarks.scaling`` as lines: gain by cores, and time per wheel by the number of wheels."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.scaling import Measured

COLOURS = ("#4878a8", "#c05830", "#408848", "#8858a0")
HEIGHT, LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT = 360, 50, 60, 300, 240
Points = list[tuple[float, float]]


def draw(found: Sequence[Measured]) -> str:
    """Return two panels as SVG, readable on light and dark pages."""
    commands = list(dict.fromkeys(one.command for one in found))
    most = max(one.wheels for one in found)
    alone = {one.command: one.rate for one in found if one.cores == 1 and one.wheels == most}
    gains: dict[str, Points] = {
        name: [(one.cores, one.rate / alone[name]) for one in found if one.command == name and one.wheels == most]
        for name in commands
        if name in alone
    }
    if gains:
        gains["ideal"] = [(one.cores, one.cores) for one in found if one.command == commands[0] and one.wheels == most]
    cores = max(one.cores for one in found)
    costs: dict[str, Points] = {
        name: [(one.wheels, one.busy_per_wheel * 1000) for one in found if one.command == name and one.cores == cores]
        for name in commands
    }
    panels = {
        f"Times as fast as one core, {most} wheels, by cores": gains,
        f"Processor ms per wheel, {cores} cores, by wheels": costs,
    }
    return plot("Several wheels on several cores", panels, [*commands, "ideal"])


def plot(label: str, panels: Mapping[str, dict[str, Points]], names: Sequence[str]) -> str:
    """Return panels beside each other: lines by title and name."""
    width = LEFT + len(panels) * (PANEL_WIDTH + 80)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-label="{escape(label)}" font-family="sans-serif" font-size="13">',
        "<style>text{fill:#333}.a{stroke:#888}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
    ]
    for number, (title, lines) in enumerate(panels.items()):
        parts += _panel(LEFT + number * (PANEL_WIDTH + 80), title, lines)
    return "\n".join([*parts, *_legend(names), "</svg>"]) + "\n"


def _panel(left: int, title: str, lines: dict[str, Points]) -> list[str]:
    """Return axes and lines; both axes begin where they must, the horizontal one is logarithmic."""
    parts = [f'<text x="{left}" y="24" font-weight="bold">{escape(title)}</text>']
    points = [point for line in lines.values() for point in line]
    if not points:
        return parts
    low, high = math.log2(min(x for x, _ in points)), math.log2(max(x for x, _ in points))
    top = max(y for _, y in points) * 1.05

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log2(x) - low) / (high - low) if high > low else 0.5
        return round(left + across * PANEL_WIDTH, 1), round(TOP + PANEL_HEIGHT * (1 - y / top), 1)

    bottom = TOP + PANEL_HEIGHT
    parts.append(f'<path class="a" fill="none" d="M{left} {TOP}V{bottom}H{left + PANEL_WIDTH}"/>')
    for x in sorted({x for x, _ in points}):
        parts.append(f'<text x="{place(x, 0)[0]}" y="{bottom + 18}" text-anchor="middle">{x:g}</text>')
    for y in (0, top / 2, top):
        parts.append(f'<text x="{left - 6}" y="{place(1 << round(low), y)[1] + 4}" text-anchor="end">{y:.3g}</text>')
    for number, (name, line) in enumerate(lines.items()):
        path = " ".join(f"{x},{y}" for x, y in (place(*point) for point in sorted(line)))
        colour = "#999" if name == "ideal" else COLOURS[number % len(COLOURS)]
        dashes = ' stroke-dasharray="4 4"' if name == "ideal" else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in (place(*point) for point in line)]
    return parts


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for number, name in enumerate(names):
        colour = "#999" if name == "ideal" else COLOURS[number % len(COLOURS)]
        left = LEFT + 120 * number
        parts.append(f'<rect x="{left}" y="{HEIGHT - 24}" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{left + 20}" y="{HEIGHT - 18}">{escape(name)}</text>')
    return parts
