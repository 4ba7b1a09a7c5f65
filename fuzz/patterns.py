"""Every regular expression of the package, with the way it is applied.

Patterns come from two places: calls of ``re`` in the sources, by their syntax tree, with a word for what only a call
can put in; and objects that hold one after all modules and tables are loaded.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import gc
import importlib
import itertools
import pkgutil
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import wheelfix
from wheelfix.diagnosis.symptoms.causes import CauseRule, EndingFamily
from wheelfix.diagnosis.symptoms.recognise import Form
from wheelfix.knowledge.tables import NamePattern, Table
from wheelfix.roots import toolkits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(wheelfix.__file__).parent
MODES = frozenset({"search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"})


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
    """Yield the patterns of calls of ``re``, and those that are handed to a function which passes them on."""
    sources = {path: path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}
    passing: set[str] = set()
    for path, source in sources.items():
        if re.search(r"\bre\s*\.\s*\w", source):  # parsing every module takes two seconds
            yield from _calls(path, source, passing)
    names = re.compile("|".join(rf"\b{name}\(" for name in sorted(passing - MODES)))
    for path, source in sources.items():
        if names.search(source):
            yield from _handed(path, source, passing - MODES)


def _calls(path: Path, source: str, passing: set[str]) -> Iterator[Site]:
    """Yield the patterns that a file passes to ``re``; note the functions that pass on what they are given."""
    module = _module(path)
    for around, call in _walk(ast.parse(source), None):
        of = call.func
        if not (isinstance(of, ast.Attribute) and _name(of.value) == "re" and of.attr in MODES | {"compile"}):
            continue
        if around is None and of.attr == "compile":  # found under its name
            continue
        mode, flags, where = of.attr.replace("compile", "search"), _flags(call), _where(path, call)
        pattern = _constant(call.args[0], module)
        if pattern is not None:
            yield Site(pattern, flags, mode, where)
        elif around is not None and (given := _name(call.args[0])):
            passing.add(around.name)
            loops = [node for node in ast.walk(around) if isinstance(node, ast.For | ast.comprehension)]
            looped = [one.iter for one in loops if any(_name(part) == given for part in ast.walk(one.target))]
            for node in itertools.chain.from_iterable(map(ast.walk, looped)):
                held = node.value if isinstance(node, ast.Constant) else vars(module).get(getattr(node, "id", ""))
                yield from (Site(text, flags, mode, where) for text in _texts(held))


def _handed(path: Path, source: str, passing: set[str]) -> Iterator[Site]:
    """Yield the texts that a file hands to functions that pass on a pattern."""
    module = _module(path)
    for _, call in _walk(ast.parse(source), None):
        if _name(call.func) in passing:
            for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                for text in _texts(_constant(given, module)):
                    yield Site(text, 0, "fullmatch", _where(path, call))


def _where(path: Path, call: ast.Call) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{call.lineno}"


def _module(path: Path) -> object:
    name = path.relative_to(ROOT.parent).with_suffix("").as_posix()
    return importlib.import_module(name.replace("/", ".").removesuffix(".__init__"))


def _texts(held: object) -> Iterator[str]:
    """Yield what looks like a pattern among constants."""
    if isinstance(held, dict | tuple | list):
        yield from (text for item in (held.values() if isinstance(held, dict) else held) for text in _texts(item))
    elif isinstance(held, str) and re.search(r"[][\\*+?{}()|]", held):
        with contextlib.suppress(re.error), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(held)
            yield held


def _walk(node: ast.AST, around: ast.FunctionDef | None) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
    """Yield every call with the function around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield around, child
        yield from _walk(child, child if isinstance(child, ast.FunctionDef) else around)


class _Word(str):
    """A word that stands for any value, also for a number that is written in a form of its own."""

    def __format__(self, form: str) -> str:
        return str(self)


class _Words(dict[str, object]):
    """Names that only a call gives a value to: a word stands for each."""

    def __init__(self, known: dict[str, object]) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, name: str) -> object:
        if name in self._known or hasattr(builtins, name):
            raise KeyError(name)
        return _Word("word")


def _constant(node: ast.expr, module: object) -> str | bytes | None:
    """Return the pattern that constants of the text and of the module make, with words for what is not known yet."""
    if isinstance(node, ast.Starred) or (isinstance(node, ast.Name) and node.id not in vars(module)):
        return None
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), vars(module), _Words(vars(module)))
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
            if _is_pattern(value):
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


def _is_pattern(value: object) -> TypeGuard[re.Pattern[Any]]:
    """Whether this is a pattern, compiled or not."""
    return isinstance(value, re.Pattern) or type(value).__name__ == "regex"


def _held(value: object) -> Iterator[re.Pattern[Any]]:
    if _is_pattern(value):
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


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _in_objects(modules: list[Any]) -> Iterator[Site]:
    """Yield the patterns of tables, which their loaders keep."""
    for module in modules:
        for value in list(vars(module).values()):
            if isinstance(value, Table) or (hasattr(value, "cache_info") and value.__module__ == module.__name__):
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
        elif isinstance(thing, EndingFamily):
            for part in filter(None, (thing.pattern, thing.above)):
                yield Site(part.pattern, part.flags, "search", f"ending {thing.id}")


def _try(loader: Callable[[], object]) -> None:
    """Call a loader that takes nothing."""
    import inspect

    if not inspect.signature(loader).parameters:
        loader()
