"""Random cases by the thousand: what the model predicts is what the real loader does."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.oracle.compare import check, shrink
from tests.oracle.generate import generate
from tests.oracle.observe import deviations
from wheelfix.model import Machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.oracle.wine import Wine

COUNT = int(os.environ.get("WHEELFIX_GRAPHS", "1000"))
FIRST = int(os.environ.get("WHEELFIX_GRAPHS_FROM", "0"))
AT_ONCE = 4
SHOWN = 5


@pytest.mark.wine
@pytest.mark.slow
def test_prediction_and_loader_agree(
    native: Wine, case_root: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    seeds = range(FIRST, FIRST + COUNT)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda seed: check(native, generate(seed, native.machine), case_root), seeds))
    seen = Counter(name for _, observed in results for answer in observed.answers for name in answer.seen)
    codes = Counter("/".join(map(str, sorted(a.codes))) for _, observed in results for a in observed.answers)
    disagreeing = [seed for seed, (found, _) in zip(seeds, results, strict=True) if found]
    summary = f"{COUNT} graphs, {COUNT - len(disagreeing)} agreements; codes {dict(codes)}; deviations {dict(seen)}"
    record_testsuite_property("oracle", summary)
    print(summary)
    if disagreeing:
        stories = [_story(native, seed, case_root) for seed in disagreeing[:SHOWN]]
        pytest.fail("\n\n".join([f"seeds {disagreeing} disagree: {summary}", *stories]), pytrace=False)


def _story(wine: Wine, seed: int, root: Path) -> str:
    """The smallest graph that shows a seed's first difference."""
    smallest = shrink(generate(seed, wine.machine), lambda graph: check(wine, graph, root)[0])
    found, _ = check(wine, smallest, root)
    ends = [f"  => {difference}" for difference in found] or ["  => it did not happen again"]
    return "\n".join([f"seed {seed}:", str(smallest), *ends])


def test_a_seed_always_gives_the_same_case() -> None:
    assert generate(7, Machine.ARM64) == generate(7, Machine.ARM64)
    assert generate(7, Machine.ARM64) != generate(8, Machine.ARM64)


def test_generated_cases_are_of_every_sort() -> None:
    """What the generator is there for does come up among the first thousand."""
    graphs = [generate(seed, Machine.ARM64) for seed in range(1000)]
    dlls = [dll for graph in graphs for dll in graph.dlls]
    sorts = {
        "several folders": any(len({dll.folder for dll in graph.dlls}) > 3 for graph in graphs),
        "one name in several folders": any(
            len({dll.name.lower() for dll in graph.dlls}) < len(graph.dlls) for graph in graphs
        ),
        "delay loads": any(dll.delay for dll in dlls),
        "forwarders": any(dll.forwarders for dll in dlls),
        "wrong machines": len({dll.machine for dll in dlls}) == 4,
        "no image": any(dll.content is not None for dll in dlls),
        "no extension": any("." not in name for dll in dlls for name, _ in dll.imports),
        "ordinals": any(isinstance(symbol, int) for dll in dlls for _, symbols in dll.imports for symbol in symbols),
        "nothing exported": any(not dll.exports and not dll.forwarders and dll.content is None for dll in dlls),
        "by name": any(load.by_name for graph in graphs for load in graph.loads),
        "several added folders": any(len(graph.added) > 1 for graph in graphs),
        "PATH": any(graph.on_path for graph in graphs),
    }
    assert [sort for sort, there in sorts.items() if not there] == []


def test_every_deviation_is_told_in_full() -> None:
    rows = deviations()
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert row.what, row.id
        assert row.wine, row.id
        # A call of a function that Wine does not have happens after the load: it has a line, and no phase of a load.
        in_a_load = row.log is not None and row.id != "unimplemented-function"
        assert in_a_load == bool(row.phase), row.id
