"""Each rule of the loader model, told as a small case: the model follows it, and the real loader does too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.oracle.cases import Case, cases
from tests.oracle.graph import Graph, Load
from tests.oracle.observe import deviations, observe
from tests.oracle.predict import expect
from tests.oracle.wine import host_machine
from tests.support.tiers import impossible
from wheelfix.model import Machine

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine

MACHINES = (Machine.AMD64, Machine.ARM64)
WRITTEN = {machine: {case.id: case for case in cases(machine)} for machine in MACHINES}
HERE = host_machine(Machine.AMD64)


def loaded(case: Case) -> frozenset[str]:
    """The expected modules; blanks separate them, and stand in some of their names."""
    known = {dll.path.lower() for dll in case.graph.dlls}
    found = frozenset(path for path in known if f" {path} " in f" {case.modules} ")
    assert sum(map(len, found)) + max(0, len(found) - 1) == len(case.modules)
    return found


@pytest.mark.parametrize(
    ("machine", "name"),
    [pytest.param(machine, name, id=f"{name}-on-{machine}") for machine in MACHINES for name in WRITTEN[machine]],
)
def test_the_model_follows_the_rule(name: str, machine: Machine) -> None:
    case = WRITTEN[machine][name]
    expected = expect(case.graph, machine)
    assert (expected.codes, expected.modules) == (case.codes, loaded(case)), f"{case.graph}\n{expected.details}"


def faults(case: Case, wine: Wine, folder: Path) -> str:
    """How the loader's answer differs from the rule, with the graph and the log; empty when it does not."""
    observed = observe(wine, case.graph, folder)
    answers = observed.answers
    if case.silent:
        assert case.silent in {row.id for row in deviations() if row.log is None}
        given = tuple(answer.wine for answer in answers)
        return "" if given == case.wine else f"{case.id}: Wine gave {given}"
    right = observed.modules == loaded(case)
    for code, answer in zip(case.codes, answers, strict=True):
        # Only a forwarder's target is mapped while others are bound, so that faults of two sorts may come first.
        sure = len(answer.codes) == 1 or any("forwarder" in row for row in answer.seen)
        right = right and sure and code in answer.codes
    log = "\n".join(line for answer in answers for line in answer.log if ":trace:" not in line)
    return "" if right else f"{case.id}: {[set(a.codes) for a in answers]}, {observed.modules}\n{case.graph}\n{log}"


@pytest.mark.wine
@pytest.mark.parametrize("name", WRITTEN[HERE])
def test_the_loader_follows_the_rule(name: str, native: Wine, tmp_path: Path) -> None:
    assert faults(WRITTEN[HERE][name], native, tmp_path) == ""


@pytest.mark.wine_x64
@pytest.mark.slow
def test_the_x86_64_loader_follows_every_rule(x64: Wine, tmp_path: Path) -> None:
    if HERE is Machine.AMD64:
        impossible("the host's own Wine is the x86_64 one: done already, case by case")
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda case: faults(case, x64, tmp_path / case.id), WRITTEN[Machine.AMD64].values())
        assert "\n".join(filter(None, answers)) == ""


@pytest.mark.wine
def test_a_relative_name_with_search_flags_is_87(native: Wine, tmp_path: Path) -> None:
    """So a model that only takes whole paths is enough: nobody loads ``lib\\a.dll`` with 0x1100."""
    load = Load("lib\\a.dll", 0x1100, by_name=True)
    assert [answer.wine for answer in observe(native, Graph((), (load,)), tmp_path).answers] == [87]
