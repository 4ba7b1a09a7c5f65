"""The Visual C++ runtime in a wheel, against the toolsets of its users and against the copies that are there before."""

from __future__ import annotations

import pytest

from tests.pe.test_version import rich, with_rich
from tests.rules.subjects import SITE, codes, dll, edge, loads, run, subject
from tests.support.tables import named_cases
from wheelfix.model import Import, VcRedist
from wheelfix.rules.context import Subject

PYD = SITE + "pkg/_core.pyd"
OWN_NAME = "msvcp140-0f2ea95580b32bcfc81c235d5751ce78.dll"
LOCKING = ("_Mtx_lock", "_Mtx_unlock")
OLD_LOCKING = ("_Mtx_init_in_situ", *LOCKING)


def using(
    name: str,
    runtime: tuple[int, int, int, int],
    linker: tuple[int, int] = (14, 44),
    symbols: tuple[str, ...] = LOCKING,
    compiler: int = 0,
) -> Subject:
    """A module that uses a runtime in the wheel."""
    path = SITE + f"demo.libs/{name}"
    return subject(
        {PYD: dll(Import(name, symbols), linker=linker), path: dll(linker=(14, 29))},
        [edge(PYD, name, path)],
        events=[loads(PYD)],
        versions={path: runtime},
        contents={PYD: with_rich(rich((0x105, compiler, 10), (0x102, 27508, 1)))} if compiler else {},
    )


@named_cases(
    "linker, runtime, symbols, expected",
    {
        "same": ((14, 44), (14, 44, 35211, 0), LOCKING, []),
        "mutex": ((14, 44), (14, 29, 30133, 0), LOCKING, ["WF409:warning"]),
        "old-mutex": ((14, 44), (14, 29, 30133, 0), OLD_LOCKING, ["WF409:info"]),
        "a-little": ((14, 44), (14, 42, 0, 0), LOCKING, ["WF409:info"]),
        "lld": ((14, 0), (14, 29, 0, 0), LOCKING, []),
        "other": ((14, 44), (12, 0, 0, 0), LOCKING, []),
    },
)
def test_the_runtime_in_the_wheel_against_the_linker(linker, runtime, symbols, expected):
    assert codes(using(OWN_NAME, runtime, linker, symbols)) == expected


@pytest.mark.parametrize(
    "compiler, expected",
    [
        (30151, []),
        (35227, ["WF409:warning"]),
    ],
)
def test_the_newest_compiler_counts_where_the_linker_is_older(compiler, expected):
    """As in cuDNN 8.9: linked by 14.20 from objects that a newer compiler made."""
    assert codes(using(OWN_NAME, (14, 29, 30133, 0), (14, 20), compiler=compiler)) == expected


def test_who_did_what_with_which_toolset():
    (linked,) = run(using(OWN_NAME, (14, 29, 30133, 0)))
    assert linked.message == (
        f"{OWN_NAME} is 14.29, _core.pyd was linked by toolset 14.44; the first lock of a std::mutex crashes"
    )
    assert linked.hint == "take msvcp140.dll from the redistributable 14.44 or later, or leave it out"
    (compiled,) = run(using(OWN_NAME, (14, 29, 30133, 0), (14, 0), compiler=35227))
    assert "_core.pyd has objects compiled by toolset 14.44" in compiled.message


@named_cases(
    "name, symbols, linker, expected",
    {
        "shared-name": ("msvcp140.dll", LOCKING, (14, 44), ["WF409:info"]),
        "keeps-the-old-way": ("msvcp140.dll", OLD_LOCKING, (14, 44), []),
        "older-toolset": ("msvcp140.dll", LOCKING, (14, 38), []),
        "name-of-its-own": (OWN_NAME, LOCKING, (14, 44), []),
    },
)
def test_a_new_copy_under_its_usual_name_may_not_be_the_one_in_use(name, symbols, linker, expected):
    thing = using(name, (14, 51, 36247, 0), linker, symbols)
    assert codes(thing) == expected
    for found in run(thing):
        assert "is used only if no other msvcp140.dll is loaded before it" in found.message


@named_cases(
    "linker, symbols, loaded, expected",
    {
        "new": ((14, 44), LOCKING, True, ["WF306:info", "WF409:info"]),
        "keeps-the-old-way": ((14, 44), OLD_LOCKING, True, ["WF306:info"]),
        "older-toolset": ((14, 38), LOCKING, True, ["WF306:info"]),
        "not-loaded": ((14, 44), LOCKING, False, ["WF306:info"]),
    },
)
def test_a_wheel_that_counts_on_the_runtime_of_the_machine(linker, symbols, loaded, expected):
    """Alone such a wheel says which msvcp140.dll it needs, and with which macro it does without."""
    images = {PYD: dll(Import("MSVCP140.dll", symbols), linker=linker)}
    edges = [edge(PYD, "MSVCP140.dll", VcRedist("MSVCP140.dll"))]
    thing = subject(images, edges, events=[loads(PYD)] if loaded else [])
    assert codes(thing) == expected
    for found in run(thing):
        if found.code == "WF409":
            assert "_core.pyd needs an msvcp140.dll of 14.40 or later" in found.message
            assert "_DISABLE_CONSTEXPR_MUTEX_CONSTRUCTOR" in found.hint


@pytest.mark.parametrize(
    "version, expected",
    [
        ((14, 44, 35211, 0), ["WF409:info"]),
        ((14, 38, 0, 0), []),
    ],
)
def test_pythons_own_runtime_is_there_before(version, expected):
    """blosc 1.11.4 has vcruntime140.dll 14.44 beside blosc.dll."""
    path = SITE + "pkg/vcruntime140.dll"
    thing = subject({PYD: dll("VCRUNTIME140.dll"), path: dll()}, versions={path: version})
    assert codes(thing) == expected
    assert codes(subject({path: dll()}, versions={path: version})) == []
    for found in run(thing):
        assert "Python has already loaded its own, 14.38 with 3.11.9" in found.message


def test_a_runtime_does_not_count_as_user_of_another():
    runtime, other = SITE + f"demo.libs/{OWN_NAME}", SITE + "demo.libs/vcruntime140_1.dll"
    thing = subject(
        {runtime: dll("vcruntime140_1.dll", linker=(14, 44)), other: dll()},
        [edge(runtime, "vcruntime140_1.dll", other)],
        reached=[runtime],
        versions={other: (14, 29, 0, 0)},
    )
    assert codes(thing) == []
