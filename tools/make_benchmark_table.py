"""Write the measured figures of benchmarks/results.json into a page with a plot, and the most usual ones into README.

The file holds ``{"machine": …, "command": …, "tasks": [{"key": …, "title": …, "runs": [{"tool", "seconds", "cpu",
"memory_mb"}, …], "targets": [{"words", "value", "held"}, …]}, …]}``; the first run of a task is wheelfix's. Without the
file nothing stands between the README's markers, and the page says how to measure.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.markdown import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent.parent
RESULTS = HERE / "benchmarks" / "results.json"
README = HERE / "README.md"
PAGE, PLOT = HERE / "docs" / "reference" / "benchmarks.md", HERE / "docs" / "assets" / "growth.svg"


def overview(results: Mapping[str, Any]) -> str:
    """Return a line for each task, and every target that was missed."""
    rows = []
    for task in results["tasks"]:
        own, *others = task["runs"]
        if task.get("key") != "growth":
            told = _sentence({run["tool"]: run["seconds"] / own["seconds"] for run in others})
            rows.append((task["title"], f"{own['seconds']:.2f} s, {own['memory_mb']:.0f} MB", told))
    missed = [
        f"- {task['title']}: {target['words']} was the aim, {target['value']} was measured.\n"
        for task in results["tasks"]
        for target in task.get("targets", ())
        if not target["held"]
    ]
    return table(("job", "wheelfix", "that is"), rows) + (
        "Aims that were missed:\n\n" + "".join(missed) + "\n" if missed else ""
    )


_IN_README = {
    "scan-ordinary": "",
    "repair-small": "repair a small wheel",
    "scan-torch": "scan torch",
    "repair-full": "repair torch",
}
"""The jobs, and what they are called; those without a name are called after what is scanned."""
_BEGIN, _END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def readme(results: Mapping[str, Any] | None, text: str) -> str:
    """Return README with the figures of small wheels, which most have, and then of torch."""
    tasks = {task["key"]: task for task in (results["tasks"] if results else ())}
    head, ours, theirs = ["processor time"], ["wheelfix"], ["delvewheel"]
    for key, job in _IN_README.items():
        runs = tasks[key]["runs"] if key in tasks else []
        for own, run in ((own, run) for own in runs for run in runs if own["tool"].startswith("wheelfix")):
            name = own["tool"].rpartition(" ")[2]
            if run["tool"].startswith("delvewheel") and (job or run["tool"].endswith(f" {name}")):
                head.append(job or f"scan {name}")
                ours.append(f"{own['cpu']:.2f} s")
                theirs.append(f"{run['cpu']:.2f} s")
    before, _, rest = text.partition(_BEGIN)
    return f"{before}{_BEGIN}{table(head, [ours, theirs])}{_END}{rest.partition(_END)[2]}"


def _sentence(ratios: Mapping[str, float]) -> str:
    """Return how much faster or slower wheelfix is than others: ``14 × faster than cp``; the largest gain first."""
    parts = []
    for tool, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        if 0.95 <= ratio <= 1.05:
            parts.append(f"as fast as {tool}")
        elif ratio > 1:
            parts.append(f"{_times(ratio)} × faster than {tool}")
        else:
            parts.append(f"{_times(1 / ratio)} × slower than {tool}")
    return ", ".join(parts)


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def page(results: Mapping[str, Any] | None) -> str:
    """Return the page with every run of every task."""
    text = "# Benchmarks\n\n"
    if results is None:
        return text + "`python -m benchmarks` measures on your machine.\n"
    versions = ", ".join(f"{name} {version}" for name, version in results.get("versions", {}).items())
    text += (
        f"Measured on {results['machine']} with `{results['command']}`: {versions}. All commands of a job ran in\n"
        f"turn, {results.get('rounds', 1)} rounds, the best of each counts; peers that take long ran once. Memory is\n"
        "that of the largest process.\n\n"
    ) + overview(results)
    for task in results["tasks"]:
        own = task["runs"][0]["seconds"]
        rows = [
            (
                run["tool"],
                f"{run['seconds']:.2f} s",
                f"{run['cpu']:.2f} s",
                f"{run['memory_mb']:.0f} MB",
                "" if run is task["runs"][0] else f"{run['seconds'] / own:.2f}",
            )
            for run in task["runs"]
        ]
        text += f"## {task['title']}\n\n" + table(("command", "time", "processor", "memory", "times wheelfix"), rows)
        if task.get("key") == "growth":
            text += "![Seconds of a repair and of a copy over the size of the wheel](../assets/growth.svg)\n\n"
        for title, how in task.get("failed", {}).items():
            text += f"- {title} did not do the job: {how}\n"
        for one in task["targets"]:
            text += f"- {'held' if one['held'] else '**missed**'}: {one['words']}: {one['value']}\n"
        text += "\n" if task["targets"] or task.get("failed") else ""
    return text.rstrip("\n") + "\n"


def plot(results: Mapping[str, Any] | None) -> str:
    """Return the seconds of the growth job over megabytes, for wheelfix and for ``cp``, as SVG."""
    tasks = results["tasks"] if results else ()
    runs = next((task["runs"] for task in tasks if task.get("key") == "growth"), ())
    lines: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        title, times, unit = re.fullmatch(r"(.*), (\d+) x (\d+) MB", run["tool"]).groups()  # type: ignore[union-attr]
        lines.setdefault(title, []).append((int(times) * int(unit), run["seconds"]))
    return _draw(lines)


def _draw(lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    width, height, left, bottom = 640, 320, 60, 40
    points = [point for line in lines.values() for point in line]
    most_x, most_y = max((x for x, _ in points), default=1.0), max((y for _, y in points), default=1.0)

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + x / most_x * (width - left - 120)
        return round(across, 1), round(height - bottom - y / most_y * (height - bottom - 20), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        "<style>text{fill:#555;font:12px sans-serif}.axis{stroke:#999}</style>",
        f'<path class="axis" fill="none" d="M{left} 20V{height - bottom}H{width - 110}"/>',
        f'<text x="{left}" y="{height - 8}">size of the wheel in MB</text><text x="8" y="14">seconds</text>',
    ]
    for x in sorted({x for x, _ in points}):
        parts.append(f'<text x="{place(x, 0)[0]}" y="{height - bottom + 16}" text-anchor="middle">{x:.0f}</text>')
    for y in (0.0, most_y / 2, most_y):
        parts.append(f'<text x="{left - 6}" y="{place(0, y)[1] + 4}" text-anchor="end">{y:.2f}</text>')
    for colour, (title, line) in zip(("#0a7", "#c50"), lines.items(), strict=False):
        path = " ".join(f"{x},{y}" for x, y in (place(*point) for point in line))
        x, y = place(*line[-1])
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        parts.append(f'<text x="{x + 6}" y="{y + 4}">{title.split(" --")[0]}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def current() -> dict[Path, str]:
    """Return what the page, the plot and README should be."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else None
    return {PAGE: page(results), PLOT: plot(results), README: readme(results, README.read_text(encoding="utf-8"))}


def stale() -> list[Path]:
    """Return the files that are not what they should be."""
    return [path for path, text in current().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


if __name__ == "__main__":
    for changed in stale():
        changed.write_text(current()[changed], encoding="utf-8", newline="\n")
        print(changed.name)
    sys.exit(0)
