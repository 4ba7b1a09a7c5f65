"""Where a condition is not known, one way after the other is followed: what each of them loads may be loaded."""

from __future__ import annotations

import ast

import pytest

from tests.pycode.running import read
from wheelfix.pycode.library import OF_UNKNOWN
from wheelfix.pycode.reading import MAX_WAYS
from wheelfix.pycode.sourcecode import LOADING, is_standard, never_holds

HEAD = "import ctypes, os, random\nhere = os.path.dirname(__file__)\nunknown = random.random() > 2\n"


def loads(code: str) -> list[tuple[str, bool]]:
    """The DLLs that some code may load, and whether importing the file may do that."""
    found = read(HEAD + code, "pkg/a.dll", "pkg/b.dll")
    return [(load.target.rpartition("/")[2], load.at_import) for load in found.loads]


def test_a_name_has_the_value_of_each_way():
    code = "name = 'a.dll'\nif unknown:\n    name = 'b.dll'\nctypes.CDLL(os.path.join(here, name))"
    assert loads(code) == [("b.dll", True), ("a.dll", True)]


@pytest.mark.parametrize(
    "expression", ["'a.dll' if unknown else 'b.dll'", "next(n for n in ('a.dll', 'b.dll') if unknown)"]
)
def test_an_expression_has_the_value_of_each_way(expression):
    assert loads(f"ctypes.CDLL(os.path.join(here, {expression}))") == [("a.dll", True), ("b.dll", True)]


def test_an_argument_is_its_default_or_unknown():
    code = "def load(name='a.dll', other=None):\n    ctypes.CDLL(os.path.join(here, other or name))"
    found = read(HEAD + code)
    assert {load.target.rpartition("/")[2] for load in found.loads} == {"a.dll"}
    assert [call.argument for call in found.unread_calls] == ["os.path.join(here, other or name)"]


def test_a_load_that_may_fail_leads_to_its_handler():
    code = "try:\n    ctypes.CDLL('cudart64_12.dll')\nexcept OSError:\n    ctypes.CDLL(os.path.join(here, 'a.dll'))"
    assert loads(code) == [("cudart64_12.dll", True), ("a.dll", True)]


def test_only_so_many_ways_are_taken():
    code = "name = ''\n" + "".join(f"if random.random() > {n}:\n    name += '{n}'\n" for n in range(30))
    found = loads(code + "ctypes.CDLL(os.path.join(here, name + '.dll'))")
    assert 1 < len(found) <= MAX_WAYS


@pytest.mark.parametrize(
    "code, at_import",
    [
        ("if unknown:\n    {}", True),
        ("while unknown:\n    {}", True),
        ("for x in unknown:\n    {}", True),
        ("def f():\n    {}", False),
        ("class C:\n    def f(self, name='x'):\n        {}", False),
        ("def f():\n    {}\nf()", True),
        ("if unknown:\n    raise ValueError\n{}", True),
        ("match unknown:\n    case True:\n        {}", True),
        ("try:\n    import other\nexcept ImportError:\n    {}", True),
        ("with open('x') as f:\n    {}", True),
    ],
)
def test_whether_a_load_is_for_an_import(code, at_import):
    assert loads(code.format("ctypes.CDLL(os.path.join(here, 'a.dll'))")) == [("a.dll", at_import)]


def test_what_one_way_changes_does_not_reach_the_other():
    code = (
        "class C:\n    name = 'a.dll'\nnames = {'x': 'a.dll'}\n"
        "if unknown:\n    C.name = 'b.dll'\n    names['x'] = 'b.dll'\n"
        "else:\n    ctypes.CDLL(os.path.join(here, C.name))\n    ctypes.CDLL(os.path.join(here, names['x']))\n"
    )
    assert loads(code) == [("a.dll", True)] * 2


def test_a_file_that_imports_a_name_of_itself():
    """bsk does ``from Basilisk import __path__`` in its own ``__init__.py``."""
    assert read("from pkg import __path__\nimport os\nos.add_dll_directory(__path__[0])").added == (
        "Lib/site-packages/pkg",
    )


def test_the_names_of_what_loads_are_told_once():
    assert OF_UNKNOWN.keys() == LOADING


@pytest.mark.parametrize(
    "module, expected",
    [("os.path", True), ("distutils.util", True), ("tomllib", True), ("numpy", False), ("pkg.os", False)],
)
def test_modules_of_the_standard_library_also_those_that_are_gone(module, expected):
    assert is_standard(module) is expected


def test_conditions_that_never_hold():
    expressions = ("typing.TYPE_CHECKING", "__NUMPY_SETUP__", "DEBUG")
    assert [never_holds(ast.parse(text, mode="eval").body) for text in expressions] == [True, True, False]
