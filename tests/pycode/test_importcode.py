"""Which modules a Python file imports, and whether it goes on without them, from its statements alone."""

from __future__ import annotations

import ast

import pytest

from wheelfix.pycode.budget import CodeBudget
from wheelfix.pycode.sourcecode import computed_imports, goes_on, named_in_strings, read_imports

PATH = "Lib/site-packages/pkg/sub/mod.py"


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import a.b, c as d", {"a.b": False, "c": False}),
        ("from . import x", {"pkg.sub": False, "pkg.sub.x": False}),
        ("from .. import x", {"pkg": False, "pkg.x": False}),
        ("from ..other import y", {"pkg.other": False, "pkg.other.y": False}),
        ("try:\n    import a\nexcept ImportError:\n    pass", {"a": True}),
        ("try:\n    import a\nexcept KeyError:\n    pass", {"a": False}),
        ("try:\n    import a\nexcept ImportError:\n    raise", {"a": False}),
        ("try:\n    import a\nexcept:\n    a = None", {"a": True}),
        ("try:\n    import a\nexcept (KeyError, ImportError):\n    import b", {"a": True, "b": False}),
        ("try:\n    import a\nexcept ImportError:\n    pass\nimport a", {"a": False}),
        ("from contextlib import suppress\nwith suppress(ImportError):\n    import a", {"a": True}),
        ("m = importlib.import_module('a.b')", {"a.b": False}),
        ("def f():\n    import a", {"a": False}),
        ("import sys\nif sys.version_info[:2] == (3, 9):\n    import a39", {"a39": True}),
        ("x = 'import a'", {}),
    ],
)
def test_imports_and_whether_they_are_caught(source, expected):
    found = dict(read_imports(source, PATH))
    assert {name: found[name] for name in expected} == expected
    assert set(found) - set(expected) <= {"sys", "contextlib", "contextlib.suppress"}


def test_a_file_that_is_not_python_imports_nothing_and_is_noted():
    budget = CodeBudget()
    assert read_imports("import (", PATH, budget) == {}
    assert PATH in budget.unread


def test_computed_imports_are_those_without_a_literal():
    source = (
        "import_module('a')\nimport_module(name)\n"
        "try:\n    importlib.import_module(f'.{name}', __name__)\nexcept ImportError:\n    pass\n"
    )
    assert sorted(computed_imports(source, PATH, CodeBudget())) == [False, True]


def test_a_handler_that_raises_does_not_go_on():
    def goes(handler: str) -> bool:
        (node,) = ast.parse(f"try:\n    pass\nexcept OSError:\n    {handler}").body
        assert isinstance(node, ast.Try)
        return goes_on(node, "OSError")

    assert (goes("pass"), goes("raise"), goes("if x:\n        raise ValueError")) == (True, False, False)


@pytest.mark.parametrize(
    "source, expected",
    [
        ("lazy_import('pkg.sub._a', ['name'])", True),
        ('LATER = {"name": "pkg.sub._a"}', True),
        ('def __getattr__(name):\n    return load("pkg.sub._a")', True),
        ("# lazy_import('pkg.sub._a')", False),
        ('def f():\n    """Use lazy_import(\'pkg.sub._a\')."""', False),
        ("x = 'pkg.sub._ab'", False),
        ("x = ('pkg.sub._a'", False),
    ],
)
def test_names_of_modules_in_strings(source, expected):
    assert named_in_strings(source, PATH, "pkg.sub._a", CodeBudget()) is expected


def test_names_in_strings_cost_steps_of_the_budget():
    budget = CodeBudget()
    budget.steps = 3
    assert not named_in_strings("x = 'alone'", PATH, "alone", budget)
    assert not named_in_strings("x = [[[['pkg.sub._a']]]]", PATH, "pkg.sub._a", budget)
    assert PATH in budget.unread
