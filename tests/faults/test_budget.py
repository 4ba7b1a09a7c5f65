"""No command takes more than 20 s of processor time or 1 GB for any input of a corpus of hostile ones.

Each change runs a sixth of them; ``python -m pytest tests/faults/test_budget.py`` runs them all, and with ``-s`` the
slowest and the largest are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

if sys.platform == "win32":
    pytest.skip("time and memory are measured with POSIX' means", allow_module_level=True)

from tests.faults.confined import Helper
from tests.faults.corpus import corpus
from tests.support.parts import every
from tests.support.patience import patience

pytestmark = pytest.mark.slow
SECONDS = 20
MEGABYTES = 1024
CORPUS = corpus()
SEEN = {}


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    with Helper() as started:
        yield started
    slow = sorted(SEEN.items(), key=lambda item: -item[1].seconds)[:8]
    large = sorted(SEEN.items(), key=lambda item: -item[1].megabytes)[:4]
    print(f"\n{len(SEEN)} inputs, {sum(run.seconds for run in SEEN.values()):.0f} s")
    for name, run in (*slow, *large):
        print(f"{run.seconds:6.1f} s {run.megabytes:6.0f} MB  exit {run.code}  {name}")


@pytest.mark.parametrize("name", every(6, CORPUS))
def test_an_input_within_the_budget(name, helper, tmp_path):
    words = CORPUS[name](tmp_path)
    run = SEEN[name] = helper.run(*words, cwd=tmp_path)
    assert run.seconds < SECONDS or run.seconds < patience(SECONDS)
    assert run.megabytes < MEGABYTES
    assert run.code in range(6)
    assert "should not have happened" not in run.err + run.out, run.err[-2000:]
