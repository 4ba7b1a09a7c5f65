"""Extension modules for another NumPy than the wheel allows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import SITE, codes, dll, loads, run, subject, wheel
from wheelfix.loader.profile import Profile

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject

PYD = SITE + "pkg/_core.pyd"
OLD, NEITHER = b"..numpy.core._multiarray_umath..", b""
BOTH = b"numpy._core._multiarray_umath numpy.core._multiarray_umath"
FOR_125 = BOTH + b" module was compiled against NumPy C-API version 0x%x (NumPy 1.25) but"


def module(content: bytes, *requires: str, loaded: bool = True) -> Subject:
    """A wheel for Python 3.11 with one module."""
    events = [loads(PYD)] if loaded else []
    return subject({PYD: dll()}, events=events, wheel=wheel(requires=requires), contents={PYD: content})


@pytest.mark.parametrize(
    ("content", "requires", "expected"),
    [
        (OLD, ("numpy>=1.20",), ["WF410:warning"]),
        (OLD, ("NumPy",), ["WF410:warning"]),
        (OLD, ("numpy (>=1.20.3) ; python_version < '3.10'", "numpy>=1.23.2"), ["WF410:warning"]),
        (OLD, ("numpy<2",), []),
        (OLD, ("numpy<2; python_version<'3.13'", "numpy>=2; python_version>='3.13'"), []),
        (OLD, ("numpy>=1.20", "numpy<2; python_version>='3.11'"), []),
        (OLD, ("numpy; extra == 'fast'",), []),
        (OLD, ("numpy; sys_platform == 'linux'",), []),
        (OLD, (), []),
        (BOTH, ("numpy>=1.20",), []),
        (NEITHER, ("numpy>=1.20",), []),
        (OLD, ("no requirement at all !", "numpy"), ["WF410:warning"]),
    ],
)
def test_numpy_headers_against_requirements(content: bytes, requires: tuple[str, ...], expected: list[str]) -> None:
    assert codes(module(content, *requires)) == expected


@pytest.mark.parametrize(("python", "expected"), [((3, 8), []), ((3, 9), ["WF410:warning"]), (None, ["WF410:warning"])])
def test_numpy_2_counts_where_the_python_can_have_it(python: tuple[int, int] | None, expected: list[str]) -> None:
    thing = module(OLD, "numpy>=1.20")
    assert codes(replace(thing, profile=Profile(python=python))) == expected


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ("numpy>=1.24", ["WF410:info"]),
        ("numpy>=1.20", ["WF410:info"]),
        ("numpy>=1.25", []),
        ("numpy>=1.25.2", []),
        ("numpy>=2", []),
    ],
)
def test_the_oldest_numpy_that_a_module_runs_with(requires: str, expected: list[str]) -> None:
    thing = module(FOR_125, requires)
    assert codes(thing) == expected
    for found in run(thing):
        assert "_core.pyd needs NumPy 1.25 or later" in found.message
        assert found.hint.startswith("require numpy>=1.25")


def test_no_numpy_older_than_the_first_with_wheels_for_the_python() -> None:
    (found,) = run(module(FOR_125, "numpy>=1.17"))
    assert "but the wheel allows 1.23 (numpy>=1.17)" in found.message


def test_only_the_requirement_that_holds_is_quoted() -> None:
    (found,) = run(module(OLD, "numpy>=1.20.3; python_version<'3.10'", "numpy>=1.23.2; python_version>='3.11'"))
    assert "(numpy>=1.23.2)" in found.message


def test_a_module_that_nothing_imports_is_not_judged() -> None:
    assert codes(module(OLD, "numpy", loaded=False)) == []
