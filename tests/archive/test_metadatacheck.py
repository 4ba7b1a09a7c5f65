"""Requirements in METADATA are judged as ``packaging`` judges them, also those that are recognised without it."""

from __future__ import annotations

import pytest
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from wheelfix.archive.metadata import requirement_faults

REQUIREMENTS = [
    "numpy",
    "zope.event",
    "numpy >=1.2",
    "numpy>=1.2,<2",
    "numpy (>=1.2, <2)",
    "numpy[extra]>=1.2",
    "validate-pyproject[all] ; extra == 'dev'",
    'coverage[toml, x_y]; extra == "test"',
    'wmi ; (os_name == "nt" and implementation_name != "pypy") and extra == \'dev\'',
    "x ; python_version < '3.11' or extra == 'a'",
    "x==1.*",
    "x!=1.0.*",
    "x~=1.2",
    # what packaging refuses, or reads only in part
    "x>=1.*",
    "x~=1",
    "x >=1 <2",
    "x >=1,",
    "x (>=1",
    "x >=1)",
    "x[",
    "x[a",
    "x[]",
    "x[a,]",
    "x[a b]",
    "x >= ١",
    f"x >={'9' * 5000}",
    "x ; (extra == 'a'",
    "x ; extra == 'a')",
    "x ; (extra == 'a') and",
    "x ; extra = 'a'",
    "x ;",
    "-x",
    "x-",
    "",
]


@pytest.mark.parametrize("line", REQUIREMENTS, ids=lambda line: line[:40] or "(empty)")
def test_a_requirement_is_refused_if_packaging_refuses_it(line: str) -> None:
    try:
        Requirement(line)
        readable = True
    except (InvalidRequirement, ValueError):
        readable = False
    assert bool([*requirement_faults({"requires-dist": (line,)}, "METADATA")]) is not readable


@pytest.mark.parametrize(
    "line", ["", ">=3.8", ">=3.8,<4", ">=3.8, !=3.9.*", ">=3.8,", ">=3.8 <4", ">=3.8.*", "~=3.8", "~=3", "3.8", "==3.*"]
)
def test_requires_python_is_refused_if_packaging_refuses_it(line: str) -> None:
    try:
        SpecifierSet(line)
        readable = True
    except (InvalidSpecifier, ValueError):
        readable = False
    assert bool([*requirement_faults({"requires-python": (line,)}, "METADATA")]) is not readable
