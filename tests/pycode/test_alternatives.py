"""Where a condition is not known, both ways are followed: names stand for several values, loads are possible."""

from __future__ import annotations

import ast

import pytest

from tests.pycode.running import read
from wheelfix.pycode.flow import _only_loads
from wheelfix.pycode.machinecalls import OF_UNKNOWN
from wheelfix.pycode.objects import UNKNOWN, Alternatives, alternatives, joined
from wheelfix.pycode.sourcecode import LOADING, is_standard, never_holds

HEAD = "import ctypes, os, random\nhere = os.path.dirname(__file__)\nunknown = random.random() > 2\n"


def loads(code: str) -> list[tuple[tuple[str, ...], bool]]:
    """The DLLs that some code may load, and whether importing the file may do that."""
    found = read(HEAD + code, "pkg/a.dll", "pkg/b.dll")
    return [(tuple(target.rpartition("/")[2] for target in load.targets), load.at_import) for load in found.loads]


def test_a_name_of_both_ways_stands_for_both_values() -> None:
    code = "name = 'a.dll'\nif unknown:\n    name = 'b.dll'\nctypes.CDLL(os.path.join(here, name))"
    assert loads(code) == [(("b.dll", "a.dll"), True)]


def test_an_expression_has_both_values() -> None:
    assert loads("ctypes.CDLL(os.path.join(here, 'a.dll' if unknown else 'b.dll'))") == [(("a.dll", "b.dll"), True)]


@pytest.mark.parametrize(
    ("code", "at_import"),
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
def test_whether_a_load_is_for_an_import(code: str, at_import: bool) -> None:
    assert loads(code.format("ctypes.CDLL(os.path.join(here, 'a.dll'))")) == [(("a.dll",), at_import)]


def test_what_one_way_changes_does_not_reach_the_other() -> None:
    code = (
        "class C:\n    name = 'a.dll'\nnames = {'x': 'a.dll'}\n"
        "if unknown:\n    C.name = 'b.dll'\n    names['x'] = 'b.dll'\n"
        "else:\n    ctypes.CDLL(os.path.join(here, C.name))\n    ctypes.CDLL(os.path.join(here, names['x']))\n"
    )
    assert loads(code) == [(("a.dll",), True)] * 2


def test_a_generator_that_waits_in_a_branch_keeps_what_its_caller_does() -> None:
    code = (
        "def each():\n    if unknown:\n        yield 'a.dll'\n    yield 'b.dll'\n"
        "for name in each():\n    last = name\nctypes.CDLL(os.path.join(here, last))\n"
    )
    assert ("b.dll" in name for name, _ in loads(code))


def test_a_file_that_imports_a_name_of_itself() -> None:
    """bsk does ``from Basilisk import __path__`` in its own ``__init__.py``."""
    assert read("from pkg import __path__\nimport os\nos.add_dll_directory(__path__[0])").added == (
        "Lib/site-packages/pkg",
    )


def test_joined_values() -> None:
    assert joined(["a", "a"]) == "a"
    assert alternatives(joined(["a", Alternatives(("b", UNKNOWN))])) == ("a", "b", UNKNOWN)
    assert len(alternatives(joined(range(100)))) == 17
    assert joined([]) is UNKNOWN


def test_the_names_of_what_loads_are_told_once() -> None:
    assert OF_UNKNOWN.keys() == LOADING


@pytest.mark.parametrize(
    ("module", "expected"),
    [("os.path", True), ("distutils.util", True), ("tomllib", True), ("numpy", False), ("pkg.os", False)],
)
def test_modules_of_the_standard_library_also_those_that_are_gone(module: str, expected: bool) -> None:
    assert is_standard(module) is expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = ctypes.CDLL(os.path.join(here, 'a.dll'))", True),
        ("return ctypes.WinDLL('a')", True),
        ("x = ctypes.CDLL(find())", False),
        ("x = ctypes.CDLL(names[0])", False),
        ("if a:\n    ctypes.CDLL('a')", False),
    ],
)
def test_statements_in_which_only_a_load_can_fail(code: str, expected: bool) -> None:
    assert _only_loads(ast.parse(code).body) is expected


def test_conditions_that_never_hold() -> None:
    expressions = ("typing.TYPE_CHECKING", "__NUMPY_SETUP__", "DEBUG")
    assert [never_holds(ast.parse(text, mode="eval").body) for text in expressions] == [True, True, False]
