"""Every regular expression of the package, with the way it is applied.

Patterns come from three places: calls of ``re`` in the sources, by their syntax tree; objects that hold one after all
modules and tables are loaded; and :data:`MADE_LATE`, for those that only a call can put together.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wheelfix
from wheelfix.archive import metadata
from wheelfix.diagnosis import machine as report_block
from wheelfix.diagnosis.symptoms.causes import CauseRule
from wheelfix.diagnosis.symptoms.forms import Form
from wheelfix.knowledge.tables import NamePattern, TomlTable
from wheelfix.roots import toolkits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(wheelfix.__file__).parent
MODES = frozenset({"search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"})

MADE_LATE: dict[tuple[str, str], tuple[str, ...]] = {
    ("archive/metadata.py", "_is_list"): (
        metadata.NAME,
        metadata.CLAUSE,
        metadata.COMPARISON,
        " ?, ?",
        " (?:and|or) ",
    ),
    ("knowledge/tables.py", "fullmatch"): (),  # NamePattern: found as objects
    ("knowledge/tables.py", "pattern"): (),  # Checker: the patterns of Rule, found as objects
    ("diagnosis/symptoms/forms.py", "parse_forms"): (),  # Form: found as objects
    ("diagnosis/symptoms/forms.py", "_compile_phrase"): (),  # Form as well
    ("pycode/library.py", "_compiled"): (r"^core_v?(\d+)\.dll$",),
    ("loader/packagecode.py", "_holds"): (r"(?<![\w.-])a\.dll(?![\w.-])",),
    ("pycode/windows.py", "sets_variable"): (
        r"environ\s*\[\s*['\"]A['\"]\s*\]\s*=[^=]|(?:setdefault|putenv)\s*\(\s*['\"]A['\"]\s*,",
    ),
    ("rules/unmet.py", "is_named"): (r"(?<![A-Za-z0-9_])mpi(?![A-Za-z0-9_])",),
    ("rules/policy.py", "list_test_artifacts"): (r"\A(?:test_\w+|\w+_test|\w+_benchmark)\.exe",),
    ("roots/tree.py", "subfolders"): (),  # found where it is called
    ("roots/tree.py", "dll_names"): (),
    ("diagnosis/machine.py", "mask_users"): (r"(?i)(?<=[\\/])ann\ lee(?=[\\/\s\"']|$)",),
    ("diagnosis/machine.py", "_value"): (report_block.ASSIGNMENT.format(name="cuda"),),
    ("diagnosis/machine.py", "_tools"): tuple(pattern for _, pattern in report_block.TOOLS.values()),
    ("roots/toolkits.py", "_cudnn_version"): (*toolkits.NAMED_VERSIONS, r"#define\s+CUDNN_MAJOR\s+(\d+)"),
}
"""Examples of the patterns that each place makes while it runs, by file and function."""
_NAMED_FILES = frozenset({"subfolders", "dll_names"})
"""Functions of ``roots/tree.py`` that take a pattern for names of files."""
_NAMING = re.compile(rf"\bre\s*\.\s*\w|{'|'.join(_NAMED_FILES)}")
"""What the source of a module has that passes a pattern on."""


@dataclass(frozen=True)
class Site:
    """A pattern, how it is applied and where."""

    pattern: str | bytes
    flags: int
    mode: str
    where: str

    @functools.cached_property
    def apply(self) -> Callable[[Any], object]:
        """Apply the pattern to a text in the way its caller does."""
        compiled: re.Pattern[Any] = re.compile(self.pattern, self.flags)
        if self.mode in ("sub", "subn"):
            return lambda text: compiled.sub(text[:0], text)
        if self.mode == "finditer":
            return lambda text: sum(1 for _ in compiled.finditer(text))
        method: Callable[[Any], object] = getattr(compiled, self.mode)
        return method


@functools.cache
def sites() -> tuple[Site, ...]:
    """Return every pattern of the package, each way of applying it once."""
    modules = [importlib.import_module(name) for name in _module_names()]
    found: dict[tuple[str | bytes, int, str], Site] = {}
    for site in (*_in_sources(), *_in_modules(modules), *_in_objects(modules)):
        found.setdefault((site.pattern, site.flags & ~re.UNICODE, site.mode), site)
    return tuple(found.values())


def _module_names() -> list[str]:
    return [info.name for info in pkgutil.walk_packages(wheelfix.__path__, "wheelfix.") if "__main__" not in info.name]


# ----------------------------------------------------------------------------------------------------------- sources


def _in_sources() -> Iterator[Site]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        source = path.read_text("utf-8")
        if _NAMING.search(source):  # parsing every module takes two seconds
            yield from _calls(name, ast.parse(source))


def _calls(name: str, tree: ast.Module) -> Iterator[Site]:
    """Yield the patterns that a file passes to ``re`` as they stand; one that is put together must be in the table."""
    module = importlib.import_module("wheelfix." + name[:-3].replace("/", ".").removesuffix(".__init__"))
    for function, call in _walk(tree, ""):
        of = call.func
        if isinstance(of, ast.Attribute) and of.attr in _NAMED_FILES and len(call.args) == 2:
            wanted = _constant(call.args[1], module)
            if wanted is not None:
                yield Site(wanted, 0, "fullmatch", f"{name}:{call.lineno}")
        if not (isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name) and of.value.id == "re"):
            continue
        if of.attr not in MODES | {"compile"}:
            continue
        where = f"{name}:{call.lineno}"
        pattern = _constant(call.args[0], module)
        flags = _flags(call)
        if pattern is not None and of.attr != "compile":
            yield Site(pattern, flags, of.attr, where)
        elif pattern is not None and function:
            yield Site(pattern, flags, "search", where)
        elif pattern is None and function:
            if (name, function) not in MADE_LATE:
                raise AssertionError(f"{where}: a pattern is made in {function}; add examples to MADE_LATE")
            mode = "search" if of.attr == "compile" else of.attr
            yield from (Site(example, flags, mode, where) for example in MADE_LATE[name, function])


def _walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call with the function around it."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef) else function
        if isinstance(child, ast.Call):
            yield function, child
        yield from _walk(child, inner)


def _constant(node: ast.expr, module: object) -> str | bytes | None:
    """Return the pattern if it is made of constants alone, of the text or of the module."""
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), vars(module))  # our own sources
    except (NameError, AttributeError, TypeError, KeyError):
        return None
    return value if isinstance(value, str | bytes) else None


def _flags(call: ast.Call) -> int:
    names = [node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute) and node.attr.isupper()]
    return int(functools.reduce(lambda flags, name: flags | getattr(re, name, 0), names, 0))


# ----------------------------------------------------------------------------------------------------------- objects


def _in_modules(modules: list[Any]) -> Iterator[Site]:
    """Yield the patterns that modules and their classes keep under a name, as the module uses that name."""
    for module in modules:
        spaces = [vars(module), *(vars(item) for item in vars(module).values() if isinstance(item, type))]
        for name, value in ((name, value) for space in spaces for name, value in list(space.items())):
            if isinstance(value, re.Pattern):
                for mode in _uses(_tree(module.__file__), name):
                    yield Site(value.pattern, value.flags, mode, f"{module.__name__}.{name}")
            elif isinstance(owner := getattr(value, "__self__", None), re.Pattern):
                yield Site(owner.pattern, owner.flags, value.__name__, f"{module.__name__}.{name}")
            elif isinstance(value, tuple | list | dict):
                for held in _held(value):
                    yield Site(held.pattern, held.flags, "search", f"{module.__name__}.{name}")


@functools.lru_cache(maxsize=1)
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text("utf-8"))


def _held(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (found for item in value.values() for found in _held(item))
    elif isinstance(value, tuple | list):
        yield from (found for item in value for found in _held(item))


def _uses(tree: ast.Module, name: str) -> set[str]:
    """How a module applies the pattern of a name; searching is assumed where it is handed on."""
    modes: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _name(node.value) == name and node.attr in MODES:
            modes.add(node.attr)
    return modes or {"search"}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _in_objects(modules: list[Any]) -> Iterator[Site]:
    """Yield the patterns of tables, which their loaders keep."""
    for module in modules:
        for value in list(vars(module).values()):
            if isinstance(value, TomlTable) or (hasattr(value, "cache_info") and value.__module__ == module.__name__):
                _try(value)
    frozen = gc.get_freeze_count()  # the tests freeze what is there when they were collected
    gc.unfreeze()
    things = gc.get_objects()
    if frozen:
        gc.freeze()
    for thing in things:
        if isinstance(thing, toolkits.Vendor) and thing.versions:
            yield Site(thing.versions, 0, "fullmatch", f"folders of {thing.kind}")
        if isinstance(thing, NamePattern):
            yield Site(thing.pattern, 0, "fullmatch", f"table: {thing.pattern}")
        elif isinstance(thing, Form):
            yield Site(thing.pattern.pattern, thing.pattern.flags, "finditer", f"form {thing.kind}")
        elif isinstance(thing, CauseRule):
            for part in thing.patterns.values():
                yield Site(part.pattern, part.flags, "fullmatch", f"cause {thing.cause}")


def _try(loader: Callable[[], object]) -> None:
    """Call a loader that takes nothing."""
    import inspect

    if not inspect.signature(loader).parameters:
        loader()
