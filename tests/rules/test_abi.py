"""Extension modules for another Python than the wheel promises."""

from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, codes, dll, loads, run, subject, wheel
from wheelfix.model import Import
from wheelfix.rules import abi

PYD = SITE + "pkg/_core.pyd"


@pytest.mark.parametrize(
    ("tags", "pythons", "abi3", "spelled"),
    [
        (("cp311-cp311-win_amd64",), {(3, 11, False)}, None, "cp311"),
        (("cp313-cp313t-win_amd64",), {(3, 13, True)}, None, "cp313t"),
        (("cp37-abi3-win_amd64",), set(), (3, 7), "cp37-abi3"),
        (("cp315-abi3t-win_amd64",), set(), (3, 15), "cp315-abi3t"),
        (("cp315-abi3-win_amd64", "cp315-abi3t-win_amd64"), set(), (3, 15), "cp315-abi3.abi3t"),
        (("cp39-abi3-win_amd64", "cp310-abi3-win_amd64"), set(), (3, 9), "cp39-abi3"),
        (("py3-none-win_amd64",), set(), None, ""),
        (("cp37-cp37m-win_amd64",), {(3, 7, False)}, None, "cp37"),
    ],
)
def test_claims_of_tags(
    tags: tuple[str, ...], pythons: set[tuple[int, int, bool]], abi3: tuple[int, int] | None, spelled: str
) -> None:
    claim = abi.read_claim(tags)
    assert claim.pythons == pythons
    assert claim.abi3 == abi3
    assert claim.spelled == spelled


@pytest.mark.parametrize(
    ("tag", "name", "imported", "expected"),
    [
        ("cp311-cp311-win_amd64", PYD, "python311.dll", []),
        ("cp311-cp311-win_amd64", PYD, "python3.dll", []),
        ("cp311-cp311-win_amd64", PYD, "python39.dll", ["WF401:error"]),
        ("cp311-cp311-win_amd64", PYD, "PYTHON311.DLL", []),
        ("cp313-cp313t-win_amd64", PYD, "python313t.dll", []),
        ("cp313-cp313t-win_amd64", PYD, "python313.dll", ["WF401:error"]),
        ("cp313-cp313-win_amd64", PYD, "python313t.dll", ["WF401:error"]),
        ("cp37-abi3-win_amd64", PYD, "python3.dll", []),
        ("cp315-abi3t-win_amd64", PYD, "python3t.dll", []),
        ("cp315-abi3t-win_amd64", PYD, "python315t.dll", ["WF401:error"]),
        ("cp37-abi3-win_amd64", PYD, "python311.dll", ["WF401:error"]),
        ("cp37-abi3-win_amd64", SITE + "pkg/embed.dll", "python311.dll", []),
        ("py3-none-win_amd64", PYD, "python39.dll", []),
        ("cp311-cp311-win_amd64", SITE + "pkg/_core.cp39-win_amd64.pyd", "python39.dll", []),
        ("cp311-cp311-win_amd64", SITE + "pkg/_core.cp311-win_amd64.pyd", "python39.dll", ["WF401:error"]),
    ],
)
def test_the_python_that_modules_import(tag: str, name: str, imported: str, expected: list[str]) -> None:
    thing = subject({name: dll(imported)}, events=[loads(name)], wheel=wheel(tags=(tag,)))
    assert codes(thing) == expected


def test_a_module_that_nothing_imports_is_a_warning() -> None:
    assert codes(subject({PYD: dll("python39.dll")}, wheel=wheel())) == ["WF401:warning"]


def test_an_environment_has_no_tags_to_break() -> None:
    assert codes(subject({PYD: dll("python39.dll")}, events=[loads(PYD)])) == []


@pytest.mark.parametrize(
    ("tag", "symbols", "requires", "expected"),
    [
        ("cp37-abi3-win_amd64", ["PyObject_Call", "PyModule_Create2"], "", []),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], "", ["WF411:warning"]),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], ">=3.12", []),
        ("cp312-abi3-win_amd64", ["PyObject_Vectorcall"], "", []),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], ">=3.9", ["WF411:warning"]),
        ("cp37-abi3-win_amd64", ["_PyLong_Format"], "", ["WF411:error"]),
        ("cp311-cp311-win_amd64", ["_PyLong_Format"], "", []),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], "nonsense", ["WF411:warning"]),
    ],
)
def test_abi3_claims_against_symbols(tag: str, symbols: list[str], requires: str, expected: list[str]) -> None:
    image = dll(Import("python3.dll", tuple(symbols)))
    thing = subject({PYD: image}, events=[loads(PYD)], wheel=wheel(tags=(tag,), requires_python=requires))
    assert codes(thing) == expected


def test_the_floor_and_the_macro_are_named() -> None:
    image = dll(Import("python3.dll", ("PyObject_Vectorcall",)))
    thing = subject({PYD: image}, events=[loads(PYD)], wheel=wheel(tags=("cp37-abi3-win_amd64",)))
    found = run(thing)
    assert "before Python 3.12" in found[0].message
    assert "Py_LIMITED_API=0x03070000" in found[0].hint
