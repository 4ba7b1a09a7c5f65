"""Files that are no DLLs, DLLs for another processor, and debug builds."""

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, linked, loads, run, subject
from tests.support.tables import named_cases
from wheelfix.model import Machine, Malformed

PYD = SITE + "pkg/_core.pyd"
HELPER = SITE + "pkg/helper.dll"


@pytest.mark.parametrize(
    "kind, code",
    [("empty", "WF202"), ("lfs-pointer", "WF203"), ("malformed", "WF201")],
)
def test_what_is_no_image_is_told_by_its_kind(kind, code):
    found = run(subject({PYD: Malformed(kind, "the reason")}, events=[loads(PYD, 193, ("_core.pyd",))]))
    assert [(item.code, str(item.severity), item.subject) for item in found] == [(code, "error", "pkg/_core.pyd")]
    assert "error 193" in found[0].message


EMPTY = {HELPER: Malformed("empty", "no bytes")}
USES = edge(PYD, "helper.dll", HELPER)


@named_cases(
    "thing, expected, said",
    {
        "needed by what is loaded": (
            linked(USES, loaded=[loads(PYD, 193)], images=EMPTY),
            ["WF202:error"],
            "_core.pyd needs it and fails with",
        ),
        "damaged, and nothing loads it": (
            subject({HELPER: Malformed("not-pe", "it begins with '<html>'")}),
            ["WF201:warning"],
            "nothing in the wheel is known to load it",
        ),
        "for another processor, and imported": (
            linked(USES, loaded=[loads(PYD, 193)], images={HELPER: dll(machine=Machine.X86)}),
            ["WF204:error"],
            "_core.pyd needs it and fails with error 193",
        ),
        # NVIDIA's runtime wheel for amd64 has cudart32_110.dll beside cudart64_110.dll.
        "for another processor, and nothing loads it": (
            subject({HELPER: dll(machine=Machine.X86)}),
            ["WF204:info"],
            "nothing in the wheel is known to load it",
        ),
        "a program and a .NET assembly": (
            subject(
                {
                    SITE + "pip/t32.exe": dll(machine=Machine.X86, is_dll=False),
                    SITE + "pkg/Any.dll": dll(machine=Machine.X86, managed=True),
                }
            ),
            [],
            "",
        ),
        "a debug build that is loaded": (
            subject({PYD: dll("ucrtbased.dll", "VCRUNTIME140D.dll", "KERNEL32.dll")}, events=[loads(PYD)]),
            ["WF205:error"],
            "imports ucrtbased.dll, VCRUNTIME140D.dll",
        ),
    },
)
def test_who_needs_it_decides(thing, expected, said):
    assert codes(thing, "WF2") == expected
    assert all(said in item.message for item in run(thing, "WF2"))


@pytest.mark.parametrize(
    "process, image, expected",
    [
        (Machine.AMD64, Machine.X86, ["WF204:error"]),
        (Machine.X86, Machine.AMD64, ["WF204:error"]),
        (Machine.AMD64, Machine.ARM64EC, []),
        (Machine.UNKNOWN, Machine.X86, []),
    ],
    ids=str,
)
def test_machines_are_compared(process, image, expected):
    assert codes(subject({PYD: dll(machine=image)}, events=[loads(PYD)], machine=process)) == expected


@pytest.mark.parametrize(
    "other, mixed",
    [
        ("vcruntime140.dll", True),
        ("api-ms-win-crt-heap-l1-1-0.dll", True),
        ("vcruntime140d.dll", False),
        ("x.dll", False),
    ],
)
def test_debug_and_release_builds_that_call_each_other(other, mixed):
    path, helper = LIB + "a.dll", LIB + "helper.dll"
    images = {path: dll("helper.dll", other), helper: dll("ucrtbased.dll")}
    thing = linked(edge(path, "helper.dll", helper), loaded=[path], images=images)
    reported = next(item for item in run(thing, "WF205") if item.subject.endswith("helper.dll"))
    assert ("a.dll is a release build: memory and C++ objects" in reported.message) is mixed


@named_cases(
    "name, other, expected",
    {
        "debug": ("tcm_debug.dll", "tcm.dll", ["WF205:info"]),
        "d": ("umfd.dll", "umf.dll", ["WF205:info"]),
        "no-twin": ("tcc.dll", "libblosc2.dll", ["WF205:warning"]),
    },
)
def test_a_debug_build_that_nothing_loads(name, other, expected):
    """Beside its release twin it is a note, as in Intel's wheels; alone, as in blosc2 4.14.1, it is what users get."""
    path = LIB + name
    thing = subject({path: dll("MSVCP140D.dll"), LIB + other: dll()}, [edge(path, "MSVCP140D.dll")])
    assert codes(thing) == expected


@pytest.mark.parametrize("name", ["ucrtbase.dll", "mfc140u.dll"])
def test_release_runtimes_are_no_debug_build(name):
    assert codes(subject({PYD: dll(name)}, events=[loads(PYD)])) == []


def test_irregular_tables_are_told():
    odd = tuple(f"oddity {number}" for number in range(5))
    thing = subject({PYD: dll(oddities=odd), HELPER: dll(oddities=("arm64x: serves ARM64 and x64 processes",))})
    (found,) = run(thing, "WF206")
    assert (found.subject, str(found.severity)) == ("pkg/_core.pyd", "warning")
    assert found.message == "_core.pyd has irregular tables: oddity 0; oddity 1; oddity 2 (and 2 more)"
    assert found.evidence == {"oddities": [*odd]}
