"""Prediction against observation, and the smallest case in which they still differ."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle.graph import Dll, Graph
from tests.oracle.observe import Observation, observe
from tests.oracle.predict import Expectation, expect
from tests.oracle.wine import Wine


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which prediction and loader differ."""

    kind: str
    """What sort of difference it is, without names, so that shrinking does not wander from one fault to another."""
    text: str

    def __str__(self) -> str:
        return self.text


def differences(expected: Expectation, observed: Observation) -> list[Difference]:
    """Return where the two differ; nothing when they agree."""
    found = []
    for index, (code, answer) in enumerate(zip(expected.codes, observed.answers, strict=True), start=1):
        if code not in answer.codes:
            said = "/".join(map(str, sorted(answer.codes)))
            via = f" (by {', '.join(answer.seen)}; Wine itself gave {answer.wine})" if answer.seen else ""
            why = f": {expected.details[index - 1]}" if code else ""
            text = f"load {index}: predicted {code}{why}; the loader gave {said}{via}"
            found.append(Difference(f"{code}, not {said}", text))
    for path in sorted(expected.modules - observed.modules):
        found.append(Difference("not loaded", f"predicted to be loaded, but is not: {path}"))
    for path in sorted(observed.modules - expected.modules):
        found.append(Difference("loaded", f"loaded, but not predicted: {path}"))
    return found


def check(wine: Wine, graph: Graph, base: Path) -> tuple[list[Difference], Observation]:
    """Play one case through model and loader; return how they differ and what the loader did."""
    root = Path(tempfile.mkdtemp(dir=base))
    try:
        observed = observe(wine, graph, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return differences(expect(graph, wine.machine), observed), observed


def shrink(graph: Graph, differs: Callable[[Graph], Iterable[Difference]]) -> Graph:
    """Return the graph with everything deleted that its first difference does not need."""
    kind = next((difference.kind for difference in differs(graph)), "")
    again = bool(kind)
    while again:
        again = False
        for smaller in _smaller(graph):
            if kind in (difference.kind for difference in differs(smaller)):
                graph, again = smaller, True
                break
    return graph


def _smaller(graph: Graph) -> Iterator[Graph]:
    """Every graph with one thing less, the largest things first."""
    if len(graph.loads) > 1:
        yield from (replace(graph, loads=rest) for rest in _without_one(graph.loads))
    loaded = {load.target for load in graph.loads}
    for index, dll in enumerate(graph.dlls):
        if dll.path not in loaded:
            yield replace(graph, dlls=graph.dlls[:index] + graph.dlls[index + 1 :])
    yield from (replace(graph, added=rest) for rest in _without_one(graph.added))
    yield from (replace(graph, on_path=rest) for rest in _without_one(graph.on_path))
    for index, dll in enumerate(graph.dlls):
        for plainer in _plainer(dll):
            yield replace(graph, dlls=(*graph.dlls[:index], plainer, *graph.dlls[index + 1 :]))


def _plainer(dll: Dll) -> Iterator[Dll]:
    yield from (replace(dll, imports=rest) for rest in _without_one(dll.imports))
    yield from (replace(dll, delay_imports=rest) for rest in _without_one(dll.delay_imports))
    yield from (replace(dll, forwarders=rest) for rest in _without_one(dll.forwarders))
    yield from (replace(dll, exports=rest) for rest in _without_one(dll.exports))
    for index, (name, symbols) in enumerate(dll.imports):
        for rest in _without_one(symbols) if len(symbols) > 1 else ():
            yield replace(dll, imports=(*dll.imports[:index], (name, rest), *dll.imports[index + 1 :]))
    if dll.dependent_load_flags is not None:
        yield replace(dll, dependent_load_flags=None)
    if dll.machine is not None:
        yield replace(dll, machine=None)


def _without_one(items: tuple) -> Iterator[tuple]:  # type: ignore[type-arg]  # any tuple, the same kind back
    return (items[:index] + items[index + 1 :] for index in range(len(items)))
