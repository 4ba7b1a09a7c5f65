"""Files of one family that are of different releases, by name and by version resource."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, codes, dll, edge, loads, run, subject
from wheelfix.model import EdgeKind

MAIN, OPS = LIB + "cudnn64_8.dll", LIB + "cudnn_ops_infer64_8.dll"
BIG = 100 << 20


def test_cudnn_parts_of_two_releases() -> None:
    found = run(subject({MAIN: dll(), OPS: dll()}, versions={MAIN: (8, 5, 0, 96), OPS: (8, 9, 4, 25)}))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF404:warning"]
    assert "cudnn64_8.dll 8.5.0.96 and cudnn_ops_infer64_8.dll 8.9.4.25" in found[0].message


@pytest.mark.parametrize(
    "versions",
    [{MAIN: (8, 9, 4, 25), OPS: (8, 9, 4, 25)}, {MAIN: (8, 9, 4, 25)}, {MAIN: (8, 9, 4, 25), OPS: (0, 0, 0, 0)}, {}],
    ids=["same", "one-unknown", "one-empty", "unknown"],
)
def test_cudnn_of_one_release_or_unknown(versions: dict[str, tuple[int, int, int, int]]) -> None:
    assert codes(subject({MAIN: dll(), OPS: dll()}, versions=versions)) == []


def test_versions_of_large_files_are_read_in_every_scan() -> None:
    images = {MAIN: dll(), OPS: dll(size=BIG)}
    versions = {MAIN: (8, 5, 0, 96), OPS: (8, 9, 4, 25)}
    assert codes(subject(images, versions=versions)) == ["WF404:warning"]


def test_cudnn_parts_that_the_main_library_does_not_use() -> None:
    stray = LIB + "cudnn_ops64_9.dll"
    found = run(subject({MAIN: dll(), OPS: dll(), stray: dll()}))
    assert [item.subject for item in found] == ["torch/lib/cudnn_ops64_9.dll"]
    assert "which will not use them" in found[0].message


def test_two_whole_cudnn_families_are_no_finding() -> None:
    images = {MAIN: dll(), OPS: dll(), LIB + "cudnn64_9.dll": dll(), LIB + "cudnn_ops64_9.dll": dll()}
    assert codes(subject(images)) == []


CORE, AVX = LIB + "mkl_core.2.dll", LIB + "mkl_avx2.2.dll"


@pytest.mark.parametrize(
    ("second", "expected"),
    [((2025, 3, 1, 0), []), ((2025, 3, 0, 0), []), ((2023, 2, 0, 0), ["WF408:warning"])],
)
def test_mkl_parts_of_one_release(second: tuple[int, int, int, int], expected: list[str]) -> None:
    thing = subject({CORE: dll(), AVX: dll()}, versions={CORE: (2025, 3, 1, 0), AVX: second})
    assert codes(thing) == expected


def test_mkl_parts_with_another_number() -> None:
    found = run(subject({CORE: dll(), LIB + "mkl_def.1.dll": dll()}))
    assert [(item.code, item.subject) for item in found] == [("WF408", "torch/lib/mkl_def.1.dll")]


def test_blacs_keeps_a_number_of_its_own() -> None:
    assert codes(subject({LIB + "mkl_core.3.dll": dll(), LIB + "mkl_blacs_lp64.2.dll": dll()})) == []


THREAD, OMP = LIB + "mkl_intel_thread.2.dll", LIB + "libiomp5md.dll"


@pytest.mark.parametrize(
    ("runtime", "mkl", "old"),
    [
        ((5, 0, 2023, 428), (2023, 2, 0, 0), False),
        ((5, 0, 2024, 1015), (2025, 0, 0, 0), False),
        ((5, 0, 2025, 108), (2025, 3, 1, 0), False),
        ((5, 0, 2021, 1019), (2025, 3, 1, 0), True),
        ((5, 0, 2023, 428), (2025, 3, 1, 0), True),
        ((20, 1, 0, 0), (2025, 3, 1, 0), False),
    ],
)
def test_the_date_of_openmp_against_the_year_of_mkl(
    runtime: tuple[int, int, int, int], mkl: tuple[int, int, int, int], old: bool
) -> None:
    thing = subject(
        {THREAD: dll(delay=["libiomp5md.dll"]), OMP: dll()},
        [edge(THREAD, "libiomp5md.dll", OMP, EdgeKind.DELAY)],
        events=[loads(THREAD)],
        versions={THREAD: mkl, OMP: runtime},
    )
    assert codes(thing) == (["WF412:warning"] if old else [])
