"""Files that should not be in a wheel, whether or not it loads with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from tests.support.tables import named_cases
from wheelfix.model import Severity, Signature
from wheelfix.rules.context import Subject

AOTI, CPU = LIB + "aoti_custom_ops.dll", LIB + "torch_cpu.dll"


@pytest.mark.parametrize(
    "name, expected",
    [
        ("nvcuda.dll", ["WF601:warning"]),
        ("OpenCL.dll", ["WF601:info"]),
        ("kernel32.dll", ["WF602:warning"]),
        ("dbghelp.dll", ["WF602:info"]),
        ("libomp140.x86_64.dll", ["WF604:info"]),
        ("ucrtbased.dll", ["WF604:info"]),
        ("opengl32sw.dll", []),
        ("msvcp140.dll", []),
        ("python311.dll", []),
        ("nvml.pyd", []),
        ("aoti_custom_ops.dll", []),  # a test artefact of torch, and of torch alone
    ],
)
def test_names_that_belong_to_others(name, expected):
    assert codes(subject({SITE + "pkg/" + name: dll()})) == expected


MANGLED = "msvcp140-0f2ea95580b32bcfc81c235d5751ce78.dll"


@named_cases(
    "name, imported, signed, expected",
    {
        "renamed too": ("concrt140-11223344556677889900aabbccddeeff.dll", MANGLED, False, ["WF613:info"]),
        "under its name": ("concrt140.dll", MANGLED, False, ["WF613:info"]),
        "signed": ("concrt140.dll", MANGLED, True, []),
        "as Microsoft built it": ("concrt140.dll", "msvcp140.dll", False, []),
        "not Microsoft's": ("flux.dll", MANGLED, False, []),
    },
)
def test_a_runtime_that_a_tool_has_changed(name, imported, signed, expected):
    """delvewheel#74: concrt140.dll with renamed imports and without its signature."""
    images = {SITE + f"pkg.libs/{name}": replace(dll(imported), signed=signed), SITE + f"pkg.libs/{MANGLED}": dll()}
    found = [one for one in codes(subject(images)) if one.startswith("WF6")]
    assert found == expected


def test_copies_of_the_universal_c_runtime_are_told_once():
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


@named_cases(
    "needers, said, only, shared",
    {
        "not to blame": (
            (CPU, AOTI),
            "does not help with mkl_intel_thread.2.dll, which torch_cpu.dll needs as well",
            [],
            {"mkl_intel_thread.2.dll": ["torch_cpu.dll"]},
        ),
        "to blame": (
            (AOTI,),
            "dropping them removes the need for mkl_intel_thread.2.dll",
            ["mkl_intel_thread.2.dll"],
            {},
        ),
    },
)
def test_test_artefacts(needers, said, only, shared):
    (found,) = run(kepler(*needers), "WF603")
    assert str(found.severity) == "warning"
    assert said in found.message
    assert (found.evidence["only_they_need"], found.evidence["others_need_too"]) == (only, shared)


def test_test_programs_count_and_others_do_not():
    images = {
        SITE + "torch/bin/c10_test.exe": dll(is_dll=False),
        SITE + "torch/bin/protoc.exe": dll(is_dll=False),
        CPU: dll(),
    }
    found = run(subject(images, events=[loads(CPU)], torch=torch()))
    assert [item.evidence["paths"] for item in found] == [["torch/bin/c10_test.exe"]]


ONE, TWO = SITE + "pkg/a.dll", SITE + "pkg/b.dll"
IMAGES = {ONE: dll(), TWO: dll()}


@pytest.mark.parametrize(
    "signature, code, severity, said",
    [
        (Signature("unsigned"), "WF605", Severity.INFO, "1 file without a signature: a.dll"),
        (Signature("invalid", reason="the file was changed"), "WF606", Severity.WARNING, "the signature is invalid"),
        (Signature("untrusted-root", "X", "no root"), "WF607", Severity.INFO, "'X', which no trusted root confirms"),
        (Signature("not-checked", reason="2 signers"), "WF608", Severity.INFO, "was not checked (1 file: a.dll): 2 s"),
    ],
)
def test_each_answer_has_its_finding(signature, code, severity, said):
    (found,) = run(subject(IMAGES, signatures={ONE: signature, TWO: Signature("trusted", "X")}))
    assert (found.code, found.severity, found.evidence["paths"]) == (code, severity, ["pkg/a.dll"])
    assert said in found.message
    assert signature.reason in found.message


def test_files_of_one_answer_are_one_finding():
    same = Signature("untrusted-root", "X", "no root")
    (found,) = run(subject(IMAGES, signatures={ONE: same, TWO: same}))
    assert found.evidence["paths"] == ["pkg/a.dll", "pkg/b.dll"]
