"""What attributes, items and methods give when code is followed: what Python gives, or anything."""

from __future__ import annotations

import ast
import posixpath
from typing import Any

import pytest

from wheelfix.loader.codereader.coderun import CodeRun
from wheelfix.loader.codereader.codevalue import ANYTHING, DictValue, Items, Value
from wheelfix.pycode.budget import CodeBudget

PATH = "Lib/site-packages/pkg/__init__.py"


def followed(code: str) -> Value:
    """What ``x`` may be after some code was followed."""
    run = CodeRun(PATH, CodeBudget())
    run.run(ast.parse(code).body)
    return run.look_up("x")


def shown(value: Value) -> Any:
    """A value with one alternative as Python would have it; lists and tuples look the same."""
    (atom,) = value
    if isinstance(atom, Items):
        assert atom.complete
        return [shown(item) for item in atom.items]
    if isinstance(atom, DictValue):
        return {key: shown(item) for key, item in atom.entries.items()}
    return atom


EXPRESSIONS = """
'a,b'.split(',')
'core.dll'.removesuffix('.dll').upper()
'{}-{}.dll'.format('core', 3)
'{1}{0}'.format('a', 'b')
'%s-%d.dll' % ('core', 3)
'-'.join(['a', 'b'])
'lib/core.dll'.rpartition('/')
'core.dll'[:-4] + '!'
['a', 'b'][-1]
['a', 'b'][1:]
{'a': 1}.get('b', 2)
{'a': 1}['a']
list({'a': 1, 'b': 2}.values())
[k for k in {'a': 1}]
'abc'[1]
'core' in 'mycore', 'a' not in ['a']
len('abc'), len([1, 2])
any([0, 1]), all([0, 1])
[pair for pair in zip(['a', 'b'], [1, 2])]
[name + '.dll' for name in sorted(['a', 'b'])]
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_python_computes_it(expression: str) -> None:
    def plain(value: object) -> object:
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    assert shown(followed(f"x = {expression}")) == plain(eval(expression))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = []\nx.append('a')\nx.append('b')", ["a", "b"]),
        ("x = ['b']\nx.insert(0, 'a')", ["a", "b"]),
        ("x = ['a']\nx.extend(('b', 'c'))\ny = x.pop()", ["a", "b"]),
        ("x = {}\nx['a'] = 1", {"a": 1}),
        ("x = ['a'] + ['b']", ["a", "b"]),
    ],
)
def test_lists_and_dictionaries_change(code: str, expected: object) -> None:
    assert shown(followed(code)) == expected


@pytest.mark.parametrize(
    "code", ["x = unknown[0]", "x = ['a'][5]", "x = 'a'.join(unknown)", "x = '{:>9}'.format('a')", "x = 'a'.swapcase()"]
)
def test_what_is_not_known_may_be_anything(code: str) -> None:
    assert followed(code) == ANYTHING


def test_a_branch_that_cannot_be_decided_leaves_alternatives() -> None:
    assert set(followed("x = 'a'\nif unknown:\n    x = 'b'")) == {"a", "b"}


def test_a_list_of_which_something_was_removed_is_no_longer_known() -> None:
    (found,) = followed("x = ['a', 'b']\nx.remove('a')")
    assert isinstance(found, Items)
    assert not found.complete


def test_paths_are_taken_apart() -> None:
    code = (
        "from pathlib import Path\np = Path(__file__)\nx = [p.name, p.stem, p.suffix, p.parent.name, p.parents[1].name]"
    )
    assert shown(followed(code)) == ["__init__.py", "__init__", ".py", "pkg", "site-packages"]
    (found,) = followed("import os\nx = os.path.join(os.path.dirname(__file__), 'lib', 'core.dll')")
    assert isinstance(found, str)
    assert posixpath.relpath(found, posixpath.dirname(f"@/{PATH}")) == "lib/core.dll"
