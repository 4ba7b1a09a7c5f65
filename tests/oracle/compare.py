"""Prediction against observation."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.oracle.graph import Graph
from tests.oracle.observe import Observation, observe
from tests.oracle.predict import Expectation, expect
from tests.oracle.wine import Wine


def differences(expected: Expectation, observed: Observation) -> list[str]:
    """Return where the two differ; nothing when they agree."""
    found = []
    for index, (code, answer) in enumerate(zip(expected.codes, observed.answers, strict=True), start=1):
        if code not in answer.codes:
            said = "/".join(map(str, sorted(answer.codes)))
            via = f" (by {', '.join(answer.seen)}; Wine itself gave {answer.wine})" if answer.seen else ""
            why = f": {expected.details[index - 1]}" if code else ""
            found.append(f"load {index}: predicted {code}{why}; the loader gave {said}{via}")
    found += [f"predicted to be loaded, but is not: {path}" for path in sorted(expected.modules - observed.modules)]
    found += [f"loaded, but not predicted: {path}" for path in sorted(observed.modules - expected.modules)]
    return found


def check(wine: Wine, graph: Graph, base: Path) -> tuple[list[str], Observation]:
    """Play one case through model and loader; return how they differ and what the loader did."""
    root = Path(tempfile.mkdtemp(dir=base))
    try:
        observed = observe(wine, graph, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return differences(expect(graph, wine.machine), observed), observed
