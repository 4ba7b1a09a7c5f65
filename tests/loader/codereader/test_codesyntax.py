"""Questions about the syntax of code: conditions, comparisons and patterns, as far as they can be answered."""

from __future__ import annotations

import ast

import pytest

from wheelfix.loader.codereader.codesyntax import (
    compared,
    decorators,
    environment,
    fields_of,
    is_standard,
    matches,
    mentions_environment,
    never_holds,
    only_loads,
)
from wheelfix.loader.codereader.codevalue import ANYTHING, BASE, ROOT, UNKNOWN, Atom, Extern, Items
from wheelfix.pycode.budget import CodeBudget


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def listed(*items: Atom, complete: bool = True) -> Items:
    return Items(tuple((item,) for item in items), complete)


@pytest.mark.parametrize(
    ("module", "expected"),
    [("os.path", True), ("distutils.util", True), ("tomllib", True), ("numpy", False), ("pkg.os", False)],
)
def test_modules_of_the_standard_library_also_those_that_are_gone(module: str, expected: bool) -> None:
    assert is_standard(module) is expected


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        (ast.Eq(), "win32", "win32", True),
        (ast.NotEq(), "win32", "linux", True),
        (ast.Lt(), 1, 2, True),
        (ast.GtE(), listed(3, 11), listed(3, 8), True),
        (ast.Lt(), 1, "a", None),
        (ast.Eq(), UNKNOWN, 1, None),
        (ast.Is(), None, None, True),
        (ast.IsNot(), "a", None, True),
        (ast.Is(), Extern("os"), None, None),
        (ast.In(), "core", "mycore", True),
        (ast.NotIn(), "a", listed("a", "b"), False),
        (ast.In(), "z", listed("a", complete=False), None),
        (ast.In(), "TEMP", Extern("os.environ"), True),
        (ast.In(), "CUDA_PATH", Extern("os.environ"), False),
        (ast.Eq(), ROOT, BASE, None),
    ],
)
def test_comparisons(op: ast.cmpop, left: Atom, right: Atom, expected: bool | None) -> None:
    assert compared(op, left, right, CodeBudget()) is expected


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("'win32'", ("win32",), True),
        ("'linux'", ("win32",), False),
        ("'linux' | 'win32'", ("win32",), True),
        ("_", ANYTHING, True),
        ("'win32'", ANYTHING, None),
        ("'win32'", ("win32", "linux"), None),
        ("[a, b]", ("win32",), None),
    ],
)
def test_patterns_of_match(pattern: str, subject: tuple[Atom, ...], expected: bool | None) -> None:
    (node,) = ast.parse(f"match x:\n    case {pattern}:\n        pass").body
    assert isinstance(node, ast.Match)
    assert matches(node.cases[0].pattern, subject) is expected


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
    assert only_loads(ast.parse(code).body, CodeBudget()) is expected


def test_conditions_that_never_hold_and_those_about_variables() -> None:
    assert never_holds(expression("typing.TYPE_CHECKING"))
    assert never_holds(expression("__NUMPY_SETUP__"))
    assert not never_holds(expression("DEBUG"))
    assert mentions_environment(expression("'A' in os.environ"), CodeBudget())
    assert mentions_environment(expression("os.getenv('A')"), CodeBudget())
    assert not mentions_environment(expression("sys.platform == 'win32'"), CodeBudget())


def test_a_fresh_machine_has_few_variables() -> None:
    assert environment("Path") == ("c:/windows/system32;c:/windows",)
    assert environment("TEMP") == ANYTHING
    assert environment("CUDA_PATH") is None


def test_fields_and_decorators() -> None:
    source = "@dataclasses.dataclass(frozen=True)\nclass C:\n    a: str\n    b: ClassVar[int] = 1\n    c: int = 2\n"
    (kind, plain) = ast.parse(f"{source}class D:\n    a: str\n").body
    assert isinstance(kind, ast.ClassDef)
    assert isinstance(plain, ast.ClassDef)
    assert (fields_of(kind), fields_of(plain)) == (("a", "c"), ())
    (function,) = ast.parse("@functools.cache\n@app.route('/')\n@staticmethod\ndef f(): pass").body
    assert isinstance(function, ast.FunctionDef)
    assert decorators(function) == ["cache", "route", "staticmethod"]
