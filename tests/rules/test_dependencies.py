"""What nobody provides is told once per DLL, as an error where the package itself runs into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from wheelfix.model import Driver, EdgeKind, Missing, OwnedBy, Provider, PythonRuntime, Repairable, System, VcRedist

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject


PYD = SITE + "pkg/_core.pyd"
PLUGIN = SITE + "pkg/plugins/qsql.dll"
FBGEMM, CPU = LIB + "fbgemm.dll", LIB + "torch_cpu.dll"


def torch_240() -> Subject:
    """torch 2.4.0 from PyPI: fbgemm and torch_cpu import a DLL that is not in the wheel."""
    gone = "libomp140.x86_64.dll"
    return subject(
        {CPU: dll(gone, "fbgemm.dll"), FBGEMM: dll(gone)},
        [edge(FBGEMM, gone), edge(CPU, gone), edge(CPU, "fbgemm.dll", FBGEMM)],
        events=[loads(FBGEMM, 126, ("fbgemm.dll", gone)), loads(CPU, 126, ("torch_cpu.dll", "fbgemm.dll", gone))],
        torch=torch(),
    )


def test_a_missing_dll_is_told_once_with_all_who_need_it() -> None:
    found = run(torch_240())
    assert [(item.code, str(item.severity), item.subject) for item in found] == [
        ("WF301", "error", "libomp140.x86_64.dll")
    ]
    assert found[0].message == (
        "libomp140.x86_64.dll, imported by fbgemm.dll and torch_cpu.dll, is missing; "
        "loading fbgemm.dll fails with error 126"
    )
    assert found[0].evidence["needed_by"] == ["torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]
    assert found[0].evidence["chain"] == ["fbgemm.dll", "libomp140.x86_64.dll"]
    assert found[0].evidence["searched"] == ["<System32>"]
    assert found[0].hint


def test_the_chain_leads_from_the_load_to_the_cause() -> None:
    middle = SITE + "pkg/middle.dll"
    thing = subject(
        {PYD: dll("middle.dll"), middle: dll("Gone.DLL")},
        [edge(PYD, "middle.dll", middle), edge(middle, "Gone.DLL")],
        events=[loads(PYD)],
    )
    found = run(thing, "WF301")
    assert found[0].evidence["chain"] == ["_core.pyd", "middle.dll", "Gone.DLL"]
    assert "(_core.pyd -> middle.dll -> Gone.DLL)" in found[0].message


def test_spellings_of_one_name_are_one_dll() -> None:
    other = SITE + "pkg/other.pyd"
    thing = subject(
        {PYD: dll("gone.dll"), other: dll("GONE")},
        [edge(PYD, "gone.dll"), edge(other, "GONE")],
        events=[loads(PYD), loads(other)],
    )
    assert [item.subject for item in run(thing)] == ["gone.dll"]


def test_a_plugin_that_nothing_loads_gives_a_warning() -> None:
    found = run(subject({PLUGIN: dll("libpq.dll")}, [edge(PLUGIN, "libpq.dll")]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF301:warning"]
    assert "nothing in the wheel is known to load" in found[0].message


@pytest.mark.parametrize(
    "provider",
    [System("x.dll"), PythonRuntime("x.dll"), Driver("x.dll"), OwnedBy("x.dll", "torch", True, "torch loads it first")],
    ids=lambda provider: type(provider).__name__,
)
def test_what_others_own_is_not_missing(provider: Provider) -> None:
    assert codes(subject({PYD: dll("x.dll")}, [edge(PYD, "x.dll", provider)], events=[loads(PYD)])) == []


def test_the_environments_own_faults_are_not_the_wheels() -> None:
    stranger = SITE + "numpy/other.dll"
    thing = subject({PYD: dll()}, [edge(stranger, "gone.dll")], events=[loads(PYD)])
    assert codes(thing) == []


def test_a_dll_where_nobody_looks_is_told_as_that() -> None:
    hidden = SITE + "pkg/bin/foo.dll"
    thing = subject(
        {PYD: dll("foo.dll"), hidden: dll()},
        [edge(PYD, "foo.dll", Missing(("Lib/site-packages/pkg",), (hidden,)))],
        events=[loads(PYD, 126, ("_core.pyd", "foo.dll"))],
    )
    found = run(thing)
    assert [(item.code, item.subject, item.repairable) for item in found] == [
        ("WF305", "pkg/bin/foo.dll", Repairable.ALWAYS)
    ]
    assert found[0].evidence["present_at"] == ["pkg/bin/foo.dll"]
    assert "add_dll_directory" in found[0].hint


# ------------------------------------------------------------------------------------------------- companions

CORE = LIB + "mkl_core.2.dll"


@pytest.mark.parametrize(
    ("required", "loaded", "expected"),
    [
        (True, True, ["WF302:error"]),
        (True, False, ["WF302:warning"]),
        (False, True, ["WF303:info"]),
        (False, False, ["WF303:info"]),
    ],
)
def test_companions_weigh_by_need_and_load(required: bool, loaded: bool, expected: list[str]) -> None:
    need = edge(CORE, "mkl_def.2.dll", kind=EdgeKind.COMPANION, required=required, because="the kernel for all")
    thing = subject({CORE: dll()}, [need], events=[loads(CORE)] if loaded else [])
    assert codes(thing) == expected
    assert "the kernel for all" in run(thing)[0].message


def test_one_who_cannot_do_without_outweighs_one_who_can() -> None:
    other = LIB + "other.dll"
    edges = [
        edge(CORE, "x.dll", kind=EdgeKind.COMPANION, required=False, because="nice to have"),
        edge(other, "x.dll", kind=EdgeKind.COMPANION, because="needed"),
    ]
    found = run(subject({CORE: dll(), other: dll()}, edges, events=[loads(CORE), loads(other)]))
    assert [item.code for item in found] == ["WF302"]
    assert "which other.dll loads at run time, is missing: needed" in found[0].message


def test_companions_of_a_missing_dll_are_told_with_it() -> None:
    # The Kepler build: mkl_intel_thread.2.dll is missing, and alone it would not help.
    thing = subject(
        {CPU: dll("mkl_intel_thread.2.dll")},
        [
            edge(CPU, "mkl_intel_thread.2.dll"),
            edge("mkl_intel_thread.2.dll", "mkl_core.2.dll", kind=EdgeKind.COMPANION, because="it computes there"),
        ],
        events=[loads(CPU, 126, ("torch_cpu.dll", "mkl_intel_thread.2.dll"))],
        torch=torch(),
    )
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF301:error", "WF302:error"]
    assert "mkl_intel_thread.2.dll (itself missing)" in found[1].message


# ------------------------------------------------------------------------------------------------- delay loads


@pytest.mark.parametrize(
    ("required", "loaded", "expected"),
    [(True, True, ["WF304:error"]), (False, True, ["WF304:warning"]), (False, False, ["WF304:info"])],
)
def test_delay_loads(required: bool, loaded: bool, expected: list[str]) -> None:
    need = edge(PYD, "late.dll", kind=EdgeKind.DELAY, required=required)
    thing = subject({PYD: dll(delay=["late.dll"])}, [need], events=[loads(PYD)] if loaded else [])
    assert codes(thing) == expected


def test_a_delay_load_that_is_imported_elsewhere_is_told_as_import_only() -> None:
    other = SITE + "pkg/other.pyd"
    edges = [edge(PYD, "gone.dll", kind=EdgeKind.DELAY, required=False), edge(other, "gone.dll")]
    assert codes(subject({PYD: dll(), other: dll()}, edges, events=[loads(PYD), loads(other)])) == ["WF301:error"]


# ------------------------------------------------------------------------------------------- runtimes and owners


def test_the_vc_runtime_is_told_once_per_wheel() -> None:
    names = ["MSVCP140.dll", "VCOMP140.DLL"]
    edges = [edge(path, name, VcRedist(name)) for path in (FBGEMM, CPU) for name in names]
    found = run(subject({FBGEMM: dll(), CPU: dll()}, edges, events=[loads(FBGEMM), loads(CPU)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF306:info"]
    assert found[0].evidence["names"] == ["msvcp140.dll", "vcomp140.dll"]
    assert found[0].evidence["needed_by"] == ["torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]


@pytest.mark.parametrize(("loaded", "severity"), [(True, "error"), (False, "warning")])
def test_an_owner_out_of_reach(loaded: bool, severity: str) -> None:
    owner = OwnedBy("cublas64_12.dll", "nvidia-cublas-cu12", False, "its folder is not added")
    thing = subject({PYD: dll()}, [edge(PYD, "cublas64_12.dll", owner)], events=[loads(PYD, 126)] if loaded else [])
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == [f"WF307:{severity}"]
    assert "nvidia-cublas-cu12, but out of reach: its folder is not added" in found[0].message
