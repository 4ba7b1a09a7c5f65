"""One name, one meaning: no class name stands for two things, and words in private senses do not return."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import pytest

import wheelfix

PACKAGE = Path(wheelfix.__file__).parent
SAME_NAME = {
    "Requirements": "both are the distributions that some wheels require on the target, read here and installed there",
    "Setting": "both are a value with the file that set it: ours, and those of pip and uv",
}
"""Class names, without leading underscores, that two modules have, each with why that confuses nobody."""
PRIVATE_WORDS = re.compile(r"(?:^|_)(?:told|lacks?|lacking|mends?|stead|anew|whoever|aloud)(?:_|$)")
CLASS = re.compile(r"^ *class (\w+)[(:]", re.MULTILINE)
CONTRACTS = {
    "told": "a field of Evidence, in the Python interface and in the JSON of diagnose",
    "mends": "a field of Plan, in the JSON of repair and in locks",
    "mend": "one of them",
}
"""Names that stay, because others rely on them."""
FILE_NAMES = {
    "model.py": "the values of its room",
    "targets.py": "kinds of Windows: the lists, the question, the findings",
    "diff.py scan.py sign.py": "the command, what does its work, and what prints it",
    "cache.py diagnose.py repair.py": "the command and what does its work",
    "run.py": "does the work of its room's command",
    "verify.py": "the command, what does its work, and the same for a signature",
    "cuda.py": "the tables, and the rules about CUDA",
    "ci.py": "the command, and the formats that CI systems read",
    "builds.py": "how two builds of a wheel differ, and the page that shows it",
    "reader.py": "reads the input of its room: a zip archive, a pasted text",
    "output.py": "where a command's output goes: the options, and files that appear whole",
    "settings.py": "what files set: our own, and those of pip and uv",
    "tables.py": "tables that come with us, and tables that a survey writes",
}
"""File names that several rooms have, with the one thing that they share; ``cli/`` has one file per command."""


@functools.cache
def modules() -> dict[str, tuple[set[str], set[str]]]:
    """The classes of each module, and the names that it gives (to functions, arguments, fields, variables).

    Without the names for a module in which no word is private.
    """
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        doubtful = any(map(PRIVATE_WORDS.search, re.findall(r"\w+", source)))
        # Parsing every module takes two seconds: names are of interest only where one has a private word.
        found[path.relative_to(PACKAGE).as_posix()] = (
            names_in(ast.parse(source)) if doubtful else (set(CLASS.findall(source)), set())
        )
    return found


def names_in(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names of a module's classes, and all names that it gives."""
    classes, found = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return classes, found


def classes() -> dict[str, list[str]]:
    """The modules that define a class, by its name without leading underscores."""
    found = defaultdict(list)
    for module, (defined, _) in modules().items():
        for name in defined:
            found[name.lstrip("_")].append(module)
    return found


@pytest.mark.no_cover
def test_a_class_name_means_one_thing() -> None:
    repeated = {name: modules for name, modules in classes().items() if len(modules) > 1}
    new = {name: modules for name, modules in repeated.items() if name not in SAME_NAME}
    assert new == {}, "name the class for what it is in its room, or say in SAME_NAME why one name serves both"
    assert set(SAME_NAME) <= set(repeated), "this name is used once now: take it out of SAME_NAME"


def test_no_name_uses_a_word_in_a_private_sense() -> None:
    wrong = {
        f"{module}: {name}"
        for module, (_, names) in modules().items()
        for name in names
        if PRIVATE_WORDS.search(name) and name not in CONTRACTS
    }
    assert wrong == set()


def test_a_file_name_repeats_only_for_a_reason() -> None:
    found = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__init__.py":
            found[path.name].append(path.relative_to(PACKAGE).as_posix())
    repeated = {name: sorted(paths) for name, paths in found.items() if len(paths) > 1}
    allowed = {name for names in FILE_NAMES for name in names.split()}
    assert {name: paths for name, paths in repeated.items() if name not in allowed} == {}
    assert allowed <= set(repeated), "this file name is used once now: take it out of FILE_NAMES"
