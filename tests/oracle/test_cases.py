"""The loader model against a real loader: cases written by hand, generated ones, and what a Windows recorded."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracle.cases import Case, cases, read_dll
from tests.oracle.compare import check
from tests.oracle.generate import generate
from tests.oracle.graph import APPLICATION, Graph, Load, write
from tests.oracle.observe import deviations, observe
from tests.oracle.predict import expect
from tests.oracle.wine import Wine, host_machine, loader_program, windows_path
from tests.support.tiers import impossible
from wheelfix.diagnosis.symptoms.recordings import read_recordings
from wheelfix.model import Machine

MACHINES = (Machine.AMD64, Machine.ARM64)
WRITTEN = {machine: {case.id: case for case in cases(machine)} for machine in MACHINES}
HERE = host_machine(Machine.AMD64)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_model_follows_the_rule(machine):
    wrong = []
    for name, case in WRITTEN[machine].items():
        expected = expect(case.graph, machine)
        if (expected.codes, expected.modules) != (case.codes, case.modules):
            wrong.append(f"{name}: {expected.codes} {expected.modules}\n{case.graph}\n{expected.details}")
    assert not wrong, "\n".join(wrong)


def faults(case: Case, wine: Wine, folder: Path) -> str:
    """How the loader's answer differs from the rule, with the graph and the log; empty when it does not."""
    observed = observe(wine, case.graph, folder)
    answers = observed.answers
    if case.silent:
        assert case.silent in {row.id for row in deviations() if row.log is None}
        given = [answer.wine for answer in answers]
        return "" if given == case.wine else f"{case.id}: Wine gave {given}"
    right = observed.modules == case.modules
    for code, answer in zip(case.codes, answers, strict=True):
        # Only a forwarder's target is mapped while others are bound, so that faults of two sorts may come first.
        sure = len(answer.codes) == 1 or any("forwarder" in row for row in answer.seen)
        right = right and sure and code in answer.codes
    log = "\n".join(line for answer in answers for line in answer.log if ":trace:" not in line)
    return "" if right else f"{case.id}: {[set(a.codes) for a in answers]}, {observed.modules}\n{case.graph}\n{log}"


@pytest.mark.wine
@pytest.mark.parametrize("name", WRITTEN[HERE])
def test_the_loader_follows_the_rule(name, native, tmp_path):
    assert faults(WRITTEN[HERE][name], native, tmp_path) == ""


@pytest.mark.wine_x64
@pytest.mark.slow
def test_the_x86_64_loader_follows_every_rule(x64, tmp_path):
    if HERE is Machine.AMD64:
        impossible("the host's own Wine is the x86_64 one: done already, case by case")
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda case: faults(case, x64, tmp_path / case.id), WRITTEN[Machine.AMD64].values())
        assert "\n".join(filter(None, answers)) == ""


@pytest.mark.wine
def test_a_relative_name_with_search_flags_is_87(native, tmp_path):
    """So a model that only takes whole paths is enough: nobody loads ``lib\\a.dll`` with 0x1100."""
    load = Load("lib\\a.dll", 0x1100, by_name=True)
    assert [answer.wine for answer in observe(native, Graph((), (load,)), tmp_path).answers] == [87]


# ------------------------------------------------------------------------------------------------------ generated cases
# Random cases by the thousand: what the model predicts is what the real loader does.

COUNT = int(os.environ.get("WHEELFIX_GRAPHS", "500"))
FIRST = int(os.environ.get("WHEELFIX_GRAPHS_FROM", "0"))
AT_ONCE = 4


@pytest.mark.wine
@pytest.mark.slow
def test_prediction_and_loader_agree(native, case_root, record_testsuite_property):
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
        seed = disagreeing[0]
        first = [str(generate(seed, native.machine)), *results[seed - FIRST][0]]
        pytest.fail("\n".join([f"seeds {disagreeing} disagree: {summary}", f"seed {seed}:", *first]), pytrace=False)


def test_every_deviation_is_told_in_full():
    rows = deviations()
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert row.what, row.id
        assert row.wine, row.id
        # A call of a function that Wine does not have happens after the load: it has a line, and no phase of a load.
        in_a_load = row.log is not None and row.id != "unimplemented-function"
        assert in_a_load == bool(row.phase), row.id


# ----------------------------------------------------------------------------------------------------------- recordings
# What a real loader prints is read back: the missing DLL, who needs it, and what was loaded.

DEBUG = "-all,err+module,warn+module,trace+loaddll"
A_WANTS_B = read_dll("x/a.dll: imports b.dll")
B_WANTS_C = read_dll("x/b.dll: imports c.dll; exports f")


def record(wine: Wine, graph: Graph, root: Path) -> str:
    """Perform the loads of a graph and return everything that Wine printed."""
    write(graph.files(wine.machine), graph.folders, root)
    program = root / APPLICATION / "loader.exe"
    program.write_bytes(loader_program(wine.machine).read_bytes())
    arguments = [program]
    for load in graph.loads:
        arguments += ["-f", f"{load.flags:x}", windows_path(root / load.target)]
    return wine.run(arguments, debug=DEBUG).output


@pytest.mark.wine
def test_a_missing_dll_is_named_with_its_chain(native, tmp_path):
    text = record(native, Graph((A_WANTS_B, B_WANTS_C), (Load("x/a.dll"),)), tmp_path)
    (recording,) = read_recordings(text)
    (failed,) = recording.failed
    assert (failed.name, failed.code) == ("c.dll", 126)
    assert failed.needed_by.lower().endswith("\\x\\b.dll")
    assert failed.top.lower().endswith("\\x\\a.dll")


@pytest.mark.wine
def test_loaded_dlls_are_listed_with_their_paths(native, tmp_path):
    text = record(native, Graph((A_WANTS_B, read_dll("x/b.dll: exports f")), (Load("x/a.dll"),)), tmp_path)
    (recording,) = read_recordings(text)
    assert recording.failed == ()
    paths = [load.path.lower() for load in recording.loaded]
    assert any(path.endswith("\\x\\a.dll") for path in paths)
    assert any(path.endswith("\\x\\b.dll") for path in paths)
