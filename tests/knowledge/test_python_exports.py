"""What the interpreter's DLLs export."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.python_exports import missing_from_python, parse_python_exports, python_exports
from wheelfix.knowledge.tables import TableFault


def test_the_table_has_the_supported_pythons() -> None:
    table = python_exports()
    assert {10, 11, 12, 13} <= table.keys()
    assert all({"PyArg_ParseTuple", "Py_BuildValue", "PyExc_OSError"} <= names for names in table.values())


@pytest.mark.parametrize(
    ("dll", "symbols", "missing"),
    [
        ("python311.dll", ["PyObject_Call", "PyType_GetModuleByDef"], ()),
        ("python310.dll", ["PyType_GetModuleByDef"], ("PyType_GetModuleByDef",)),
        ("PYTHON312.DLL", ["PyUnicode_WCHAR_KIND_MADE_UP", 7], ("PyUnicode_WCHAR_KIND_MADE_UP",)),
        ("python311.dll", ["_PyMadeUp", "PyUnstable_MadeUp"], ()),
        ("python313t.dll", ["PyMadeUp"], ()),
        ("python399.dll", ["PyMadeUp"], ()),
        ("python3.dll", ["PyObject_Call", "PyMadeUp"], ("PyMadeUp",)),
        ("helper.dll", ["PyMadeUp"], ()),
    ],
    ids=["there", "newer", "made up", "private", "free-threaded", "not in the table", "stable ABI", "not Python's"],
)
def test_missing_symbols(dll: str, symbols: list[str | int], missing: tuple[str, ...]) -> None:
    assert missing_from_python(dll, symbols) == missing


@pytest.mark.parametrize("text", ["PyObject_Call 11\n", "# source: x\nPyObject_Call\n", "# source: x\n"])
def test_a_table_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(TableFault):
        parse_python_exports("python_exports.txt", text)
