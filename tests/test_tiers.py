"""Where the tests of a tier are: ``.ci/run`` names their folders, because collecting all tests takes a while."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
ELSEWHERE = {
    "browser": ("tests/docs/test_site.py",),  # run with the documentation, by its name
    "real": (
        "tests/oracle",  # most are run as tests of the x86_64 loader; the others by hand
        "tests/docs",  # these download other programs, and are run by hand
    ),
}
"""Tests of a tier that CI runs in another step, or does not run."""


@pytest.mark.parametrize(
    ("task", "mark"), [("wine", "wine"), ("wine-x64", "wine_x64"), ("browser", "browser"), ("real", "real")]
)
def test_ci_runs_every_test_of_a_tier(task: str, mark: str) -> None:
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    (named,) = re.findall(rf"dev\.py {task}((?: tests/[\w/.]+)+)$", script, re.MULTILINE)
    folders = [REPOSITORY / one for one in named.split()]
    assert all(folder.exists() for folder in folders)
    marked = [
        path
        for path in (REPOSITORY / "tests").rglob("test_*.py")
        if re.search(rf"mark\.{mark}\b", path.read_text("utf-8"))
    ]
    assert marked
    looked_into = [*folders, *(REPOSITORY / one for one in ELSEWHERE.get(mark, ()))]
    assert not [path for path in marked if not any(path.is_relative_to(folder) for folder in looked_into)]
