"""Write the measured figures of benchmarks/results.json into the README, between two markers.

The file holds ``{"machine": …, "command": …, "tasks": [{"title": …, "runs": [{"tool", "seconds", "cpu", "memory_mb"},
…]}, …]}``; the first run of a task is wheelfix's. Without the file nothing stands between the markers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.markdown import table

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent.parent
RESULTS, README = HERE / "benchmarks" / "results.json", HERE / "README.md"
START, END = "<!-- benchmarks:start -->", "<!-- benchmarks:end -->"


def section(results: Mapping[str, Any]) -> str:
    """Return the section with one table for each task."""
    text = f"## Speed\n\nMeasured on {results['machine']} with `{results['command']}`; repeat it on yours.\n\n"
    for task in results["tasks"]:
        own = task["runs"][0]["seconds"]
        rows = [
            (
                f"`{run['tool']}`",
                f"{run['seconds']:.2f} s",
                f"{run['cpu']:.2f} s",
                f"{run['memory_mb']:.0f} MB",
                "" if run is task["runs"][0] else f"{run['seconds'] / own:.1f}",
            )
            for run in task["runs"]
        ]
        text += f"**{task['title']}**\n\n" + table(("command", "time", "processor", "memory", "times wheelfix"), rows)
    return text


def filled(readme: str, results: Mapping[str, Any] | None) -> str:
    """Return the README with the section between the markers, or with nothing there."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"the README lacks {START} or {END}")
    return f"{before}{START}\n{section(results) if results else ''}{END}{after}"


def current() -> str:
    """Return what the README should be."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else None
    return filled(README.read_text(encoding="utf-8"), results)


if __name__ == "__main__":
    text = current()
    if text != README.read_text(encoding="utf-8"):
        README.write_text(text, encoding="utf-8", newline="\n")
        print(README.name)
    sys.exit(0)
