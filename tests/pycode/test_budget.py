"""Code that is made to exhaust its reader ends as unread, soon and in little memory."""

from __future__ import annotations

import ast
import functools
import time
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

import wheelfix
from tests.support.hostilecode import ATTACKS
from tests.support.patience import on_fresh_stack, patience
from tests.support.tables import named_cases
from wheelfix.loader.packagecode import package_loads
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import FileView, ViewFile
from wheelfix.pycode.budget import (
    ALL_TOKENS,
    FILE_TOKENS,
    MAX_DOTS,
    MAX_LINKS,
    CodeBudget,
    Kept,
    budget_of,
    count_tokens,
    is_too_deep,
)
from wheelfix.pycode.reading import PathCode, read_path_code
from wheelfix.pycode.sourcecode import SEARCH_LIMIT, SOURCE_LIMIT, read_imports
from wheelfix.pycode.windows import ViewFiles

INIT = "Lib/site-packages/pkg/__init__.py"
LOAD = "\nimport os\nos.add_dll_directory(a)\n"
LONG = {"nested loops", "star imports", "many long strings", "nested handlers", "comparison with a long list"}
"""Attacks that use up most of the budget, which takes seconds."""


def quick_first(names: Iterable[str]) -> list[ParameterSet]:
    """Mark the attacks that take seconds as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in names]


def read(source: str, budget: CodeBudget | None = None) -> PathCode:
    files = ViewFiles(FileView([_file(INIT, source.encode("utf-8", "surrogatepass"))]), Profile())
    return read_path_code(source, INIT, budget or CodeBudget(), files)


@functools.cache
def attacked(name: str) -> tuple[PathCode, CodeBudget, float]:
    """What is read of a source that attacks, the budget behind it, and the seconds that it took."""
    source, budget = ATTACKS[name] + LOAD, CodeBudget()
    started = time.process_time()
    code = on_fresh_stack(lambda: read(source, budget))
    on_fresh_stack(lambda: read_imports(source, INIT))
    return code, budget, time.process_time() - started


@pytest.mark.parametrize("name", quick_first(ATTACKS))
def test_an_attack_ends(name):
    code, budget, seconds = attacked(name)
    assert seconds < patience(5)
    assert all(len(text) < 40_000 for text in code.added)
    half = budget.unread and code != PathCode(unread_calls=code.unread_calls)
    assert not half, "half of a file is worse than nothing"


@pytest.mark.parametrize(
    "name",
    [
        *quick_first(["doubling list", "many long strings", "doubling f-string", "nested list", "long import"]),
        pytest.param("dense lines", marks=pytest.mark.slow),
    ],
)
def test_memory_stays_small(name):
    tracemalloc.start()
    read(ATTACKS[name] + LOAD)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 150 << 20


@pytest.mark.parametrize(
    "name, reason",
    [
        pytest.param("nested loops", "go on for too long", marks=pytest.mark.slow),
        pytest.param("many long strings", "go on for too long", marks=pytest.mark.slow),
        ("dense tuple", "too many tokens"),
        ("too deep parentheses", "not valid Python"),
        ("long sum", "nested too deeply"),
        ("long chain", "nested too deeply"),
        ("long chain between strings", "nested too deeply"),
        ("long chains in brackets", "nested too deeply"),
        ("long import from", "nested too deeply"),
        ("zero byte", "not valid Python"),
    ],
)
def test_the_reason_is_reported(name, reason):
    code, budget, _ = attacked(name)
    assert reason in budget.unread[INIT]
    assert ("add_dll_directory", "a") in [(call.function, call.argument) for call in code.unread_calls]
    assert INIT in budget.loading


def test_what_is_bounded_but_harmless_is_read():
    """A string that is too long for a path is not one; the rest of the file counts."""
    source = "import os\n" + ATTACKS["doubling"] + "\nos.add_dll_directory(a)\nos.add_dll_directory('Lib')"
    assert read(source).added == ("Lib",)


def test_a_function_that_has_nothing_to_do_with_dlls_is_not_followed_for_ever():
    """TensorFlow registers thousands of functions; its code was given up, and the verdict was "risky"."""
    helper = "def register(name):\n    i = 0\n    while i < 20:\n        i += 1\n    return name\n"
    loader = "def load(name):\n    os.add_dll_directory(name)\n"
    calls = "".join(f"x{number} = register('f{number}')\n" for number in range(5000))
    loads = "".join(f"load('Lib{number}')\n" for number in range(300))
    code = read("import os\n" + helper + loader + calls + loads)
    assert code.added == tuple(f"Lib{number}" for number in range(300))


@pytest.mark.slow
def test_the_whole_package_has_one_budget():
    """Hundreds of files of which each is just within its own limits."""
    source = "import os\n" + ATTACKS["nested functions"] + LOAD
    data = source.encode()
    files = [_file(f"Lib/site-packages/pkg/m{number}.py", data) for number in range(300)]
    view = FileView(files)
    started = time.process_time()
    package_loads(view, Profile())
    assert time.process_time() - started < patience(30)
    assert len(budget_of(view).unread) > 250


def test_large_files_are_noted_if_they_load():
    loading = b"import ctypes\nctypes.CDLL('x.dll')\n"
    sizes = {"large": SOURCE_LIMIT + 1, "huge": SEARCH_LIMIT + 1}
    files = [_file(f"Lib/site-packages/pkg/{name}.py", loading + b"#" * size) for name, size in sizes.items()]
    files.append(_file("Lib/site-packages/pkg/data.py", b"#" * (SOURCE_LIMIT + 1)))
    view = FileView(files)
    package_loads(view, Profile())
    assert {path.rpartition("/")[2] for path in budget_of(view).unread} == {"large.py", "huge.py"}


def _file(path: str, data: bytes) -> ViewFile:
    class Source:
        size = len(data)

        def read_at(self, offset: int, length: int) -> bytes:
            return data[offset : offset + length]

    return ViewFile(path, path.removeprefix("Lib/site-packages/"), len(data), Source)


def test_tokens_are_counted_high_enough():
    for source in ("x," * 1000, "0\n" * 1000, "a=b;" * 500, "f(x)\n" * 300):
        nodes = sum(1 for _ in ast.walk(ast.parse(source)))
        assert count_tokens(source) * 6 > nodes
    assert FILE_TOKENS < ALL_TOKENS


@named_cases(
    "source, expected",
    {
        "longest chain": ("a = b" + ".c" * MAX_LINKS, False),
        "too long": ("a = b" + ".c" * (MAX_LINKS + 1), True),
        "after a carriage return": ("a = b\r\n# x\rb" + ".c" * (MAX_LINKS + 1), True),
        "numbers": ("a = [" + "-1, " * 2 * MAX_LINKS + "]", False),
        "tuples": ("a = [" + "(b.c, [d.e]), " * MAX_LINKS + "]", False),
        "table": ("a = {\n" + "    'b': c.d(e) + 1,\n" * MAX_LINKS + "}", False),
        "statements": ("a.b(c)\n" * MAX_LINKS, False),
        "one line": ("a.b(c);" * MAX_LINKS, False),
        "string": ("a = '" + "." * 2 * MAX_LINKS + "'", False),
        "comment": ("# " + "." * 2 * MAX_LINKS, False),
        "docstring": ('"""' + "see (a.b) + c\n" * MAX_LINKS + '"""', False),
        "sum after a string": ("r'\\\\' " + "+ a" * (MAX_LINKS + 1), True),
        "longest import": ("import " + ".".join("a" * (MAX_DOTS + 1)), False),
        "too long import": ("import " + ".".join("a" * (MAX_DOTS + 2)), True),
        "second import": ("import a, " + ".".join("a" * (MAX_DOTS + 2)), True),
        "imports": ("from a.b import c\n" * 2 * MAX_DOTS, False),
        "comment about an origin": ("# from here on " + "." * 50 + "\n" + "a.b\n" * 2 * MAX_DOTS, False),
    },
)  # fmt: skip
def test_what_is_given_to_the_parser(source, expected):
    """A chain of 190 000 attributes ended Python 3.10, and the whole run, with a segmentation fault."""
    assert is_too_deep(source) is expected


def test_a_tree_that_is_kept_takes_room_once():
    kept = Kept(room=10)
    for _ in range(2):
        kept.add("a.py", ast.parse(""), 6)
    assert (kept.room, list(kept.by_path)) == (4, ["a.py"])


def test_one_module_parses_code_of_strangers():
    package = Path(wheelfix.__file__).parent
    found = [path.name for path in package.rglob("*.py") if "ast.parse(" in path.read_text("utf-8")]
    assert found == ["budget.py"]
