"""Files that should not be in a wheel, whether or not it loads with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject


AOTI, CPU = LIB + "aoti_custom_ops.dll", LIB + "torch_cpu.dll"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvcuda.dll", ["WF601:warning"]),
        ("nvml.dll", ["WF601:warning"]),
        ("OpenCL.dll", ["WF601:info"]),
        ("vulkan-1.dll", ["WF601:info"]),
        ("kernel32.dll", ["WF602:warning"]),
        ("dbghelp.dll", ["WF602:info"]),
        ("d3dcompiler_47.dll", ["WF602:info"]),
        ("ucrtbase.dll", ["WF602:info"]),
        ("api-ms-win-crt-heap-l1-1-0.dll", ["WF602:info"]),
        ("libomp140.x86_64.dll", ["WF604:info"]),
        ("ucrtbased.dll", ["WF604:info"]),
        ("opengl32sw.dll", []),
        ("msvcp140.dll", []),
        ("vcruntime140.dll", []),
        ("libiomp5md.dll", []),
        ("cudart64_110.dll", []),
        ("python311.dll", []),
        ("sqlite3.dll", []),
    ],
)
def test_names_that_belong_to_others(name: str, expected: list[str]) -> None:
    assert codes(subject({SITE + "pkg/" + name: dll()})) == expected


def test_programs_and_modules_are_not_judged_by_name() -> None:
    assert codes(subject({SITE + "pkg/nvml.pyd": dll(), SITE + "bin/nvml.exe": dll(is_dll=False)})) == []


def test_copies_of_the_universal_c_runtime_are_told_once() -> None:
    names = ["ucrtbase.dll", *(f"api-ms-win-crt-{part}-l1-1-0.dll" for part in ("heap", "math", "stdio", "time"))]
    found = run(subject({SITE + "pkg/" + name: dll() for name in names}))
    assert [item.code for item in found] == ["WF602"]
    assert found[0].evidence["paths"] == sorted(f"pkg/{name}" for name in names)


def kepler(*needers: str) -> Subject:
    """A torch of BUILD_TEST=1 without mkl_intel_thread.2.dll, which these files import."""
    gone = "mkl_intel_thread.2.dll"
    return subject(
        {AOTI: dll(), CPU: dll()},
        [edge(AOTI, "torch_cpu.dll", CPU), *(edge(path, gone) for path in needers)],
        events=[loads(AOTI, 126, ("aoti_custom_ops.dll", gone)), loads(CPU)],
        torch=torch("11.7"),
    )


def test_test_artefacts_that_are_not_to_blame() -> None:
    found = run(kepler(CPU, AOTI), "WF603")
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF603:warning"]
    assert "does not help with mkl_intel_thread.2.dll, which torch_cpu.dll needs as well" in found[0].message
    assert found[0].evidence["others_need_too"] == {"mkl_intel_thread.2.dll": ["torch_cpu.dll"]}


def test_test_artefacts_that_are_to_blame() -> None:
    found = run(kepler(AOTI), "WF603")
    assert "dropping them removes the need for mkl_intel_thread.2.dll" in found[0].message
    assert found[0].evidence["only_they_need"] == ["mkl_intel_thread.2.dll"]


def test_test_programs_count_and_others_do_not() -> None:
    images = {
        SITE + "torch/bin/c10_test.exe": dll(is_dll=False),
        SITE + "torch/bin/protoc.exe": dll(is_dll=False),
        CPU: dll(),
    }
    found = run(subject(images, events=[loads(CPU)], torch=torch()))
    assert [item.evidence["paths"] for item in found] == [["torch/bin/c10_test.exe"]]


def test_other_packages_may_have_such_names() -> None:
    assert codes(subject({SITE + "pkg/aoti_custom_ops.dll": dll()})) == []
