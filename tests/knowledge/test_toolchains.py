"""Linker versions and C++ runtimes."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.toolchains import (
    linker_of,
    python_runtime,
    runtime_needed,
    toolset_of_build,
)


@pytest.mark.parametrize(
    ("version", "product", "needed"),
    [
        ((14, 44), "Visual Studio 2022", (14, 44)),
        ((14, 29), "Visual Studio 2019", (14, 29)),
        ((14, 16), "Visual Studio 2017", (14, 16)),
        ((14, 50), "Visual Studio 2026", (14, 50)),
        ((14, 0), "Visual Studio 2015 or LLVM's lld", None),
        ((2, 39), "GNU binutils (MinGW)", None),
        ((10, 0), "Visual Studio 2010", None),
    ],
)
def test_linkers(version: tuple[int, int], product: str, needed: tuple[int, int] | None) -> None:
    linker = linker_of(version)
    assert linker is not None
    assert linker.product == product
    assert runtime_needed(version) == needed


def test_an_unheard_of_linker_tells_nothing() -> None:
    assert linker_of((48, 0)) is None
    assert runtime_needed((48, 0)) is None


def test_pythons_own_runtime_is_known_for_few_releases() -> None:
    assert python_runtime((3, 11)) == ("3.11.9", (14, 38))
    assert python_runtime((3, 12)) is None


@pytest.mark.parametrize(
    ("build", "toolset"),
    [(35207, (14, 44)), (35229, (14, 44)), (30151, (14, 29)), (27508, (14, 20)), (32532, (14, 35)), (21005, None)],
)
def test_builds_of_compilers(build: int, toolset: tuple[int, int] | None) -> None:
    assert toolset_of_build(build) == toolset
