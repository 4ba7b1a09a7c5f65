"""What an expression of Python code can give, as far as that is known without running it.

A value is a tuple of alternatives: branches that cannot be decided give a name several of them. ``UNKNOWN`` among them
stands for whatever else it may be.
"""

from __future__ import annotations

import itertools
import posixpath
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.archive.placement import SITE_PACKAGES
from wheelfix.pycode.budget import MAX_ITEMS, MAX_TEXT
from wheelfix.values import dataclass

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

    from wheelfix.pycode.budget import CodeBudget

ROOT = "@"
"""Stands for the prefix of the environment, as the first part of a path."""
BASE = "@base"
"""Stands for the Python that a virtual environment was made from, which may be the same."""
SITE = f"{ROOT}/{SITE_PACKAGES}"
CAUGHT = "<caught>."
"""What the names of exceptions that were caught begin with, before their class."""
MAX_ALTERNATIVES = 16
MAX_NUMBER = 1 << 80


class _Unknown:
    """Something unknown."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()


class Items:
    """A list, tuple or set; compared by identity, because lists may hold one another many times over."""

    __slots__ = ("complete", "items")

    def __init__(self, items: tuple[Value, ...] = (), complete: bool = True) -> None:
        self.items = items
        self.complete = complete
        """False if there may be more, or fewer."""


class DictValue:
    """A dictionary, by those of its keys that are known."""

    __slots__ = ("complete", "entries")

    def __init__(self, entries: dict[str | int | None, Value], complete: bool = True) -> None:
        self.entries = entries
        self.complete = complete


@dataclass(frozen=True, slots=True)
class Extern:
    """Something that is not the package's own, by its dotted name: ``os.path.join``."""

    name: str

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the package itself."""

    name: str
    path: str
    """Its file in the view; a folder for a package without ``__init__.py``."""


class Scope:
    """Where names live: a module, a call of a function, a class, an object."""

    __slots__ = ("above", "path", "shared")

    def __init__(self, path: str, above: Scope | None = None) -> None:
        self.path = path
        """The Python file."""
        self.above = above
        self.shared: frozenset[str] = frozenset()
        """Names that ``global`` and ``nonlocal`` look up further out."""


class Function:
    """A function, method or lambda of the package, with the scope that it was made in."""

    __slots__ = ("node", "owner", "scope")

    def __init__(self, node: FunctionNode, scope: Scope, owner: Value | None = None) -> None:
        self.node = node
        self.scope = scope
        self.owner = owner
        """What ``self`` or ``cls`` is, for a method that was asked of an object."""


class Class:
    """A class of the package, or one of its objects: its attributes are the names of its scope."""

    __slots__ = ("bases", "fields", "of", "scope")

    def __init__(
        self, scope: Scope, of: Class | None = None, fields: tuple[str, ...] = (), bases: tuple[Class, ...] = ()
    ) -> None:
        self.scope = scope
        self.of = of
        """For an object, its class."""
        self.fields = fields
        """The fields of a dataclass or a named tuple, in the order of their parameters."""
        self.bases = bases
        """Its base classes in the package."""


@dataclass(frozen=True, slots=True)
class LoadedLibrary:
    """What a load gives: something that is true."""

    target: str


class Partial:
    """What ``functools.partial`` gives: a function with some of its arguments."""

    __slots__ = ("args", "function", "keywords")

    def __init__(self, function: Atom, args: list[Value], keywords: dict[str, Value]) -> None:
        self.function = function
        self.args = args
        self.keywords = keywords


@dataclass(frozen=True, slots=True)
class AddedFolder:
    """What ``os.add_dll_directory`` gives: it can be closed."""

    folder: str


@dataclass(frozen=True, slots=True)
class OpenTextFile:
    """A small text file of the package that is open for reading."""

    text: str


Atom: TypeAlias = (
    "str | int | None | _Unknown | Items | DictValue | Extern | Module | Function | Class | LoadedLibrary | AddedFolder"
    " | OpenTextFile | Partial"
)
FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda"
Value: TypeAlias = "tuple[Atom, ...]"
ANYTHING: Value = (UNKNOWN,)


def united(values: Iterable[Value]) -> Value:
    """All alternatives of several values, none twice."""
    found: list[Atom] = []
    for atom in itertools.chain.from_iterable(values):
        if not any(atom is known or (type(atom) is type(known) and atom == known) for known in found):
            found.append(atom)
        if len(found) > MAX_ALTERNATIVES:
            return (*found[:MAX_ALTERNATIVES], UNKNOWN)
    return tuple(found) or ANYTHING


def combined(make: Callable[..., Atom], *values: Value) -> Value:
    """What a function of single things gives for all combinations of alternatives."""
    choices = list(itertools.islice(itertools.product(*values), MAX_ALTERNATIVES * 2 + 1))
    return united((make(*choice),) for choice in choices)


def bounded(value: Value, budget: CodeBudget) -> Value:
    """The value, counted against the budget; UNKNOWN in place of texts, lists and numbers that are too large."""
    checked: list[Atom] = []
    for atom in value:
        if isinstance(atom, str):
            budget.text(len(atom))
            checked.append(atom if len(atom) <= MAX_TEXT else UNKNOWN)
        elif isinstance(atom, Items):
            budget.step(len(atom.items))
            checked.append(atom if len(atom.items) <= MAX_ITEMS else UNKNOWN)
        elif isinstance(atom, int):
            checked.append(atom if abs(atom) < MAX_NUMBER else UNKNOWN)
        else:
            checked.append(atom)
    return tuple(checked)


def strings(value: Value) -> list[str]:
    """Every string among the alternatives, those in lists included."""
    found: list[str] = []
    for atom in value:
        if isinstance(atom, str):
            found.append(atom)
        elif isinstance(atom, Items):
            found += [inner for item in atom.items for inner in item if isinstance(inner, str)]
    return found


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None if some alternatives do and others do not, or that is not known."""
    found = {_is_true(atom) for atom in value}
    return found.pop() if len(found) == 1 else None


def _is_true(atom: Atom) -> bool | None:
    if atom is UNKNOWN or isinstance(atom, Extern):
        return None
    if isinstance(atom, Items):
        return bool(atom.items) if atom.complete else None
    if isinstance(atom, DictValue):
        return True if atom.entries else False if atom.complete else None
    return bool(atom) if isinstance(atom, str | int) or atom is None else True


def join(*parts: Atom) -> Atom:
    """Join paths as ``os.path.join`` does, if all of them are known."""
    known = [part.replace("\\", "/") for part in parts if isinstance(part, str)]
    if not parts or len(known) < len(parts) or sum(map(len, known)) > MAX_TEXT:
        return UNKNOWN
    start = max((at for at, part in enumerate(known) if is_absolute(part)), default=0)
    return posixpath.join(*known[start:])


def is_absolute(path: str) -> bool:
    """Whether a path says where it begins."""
    return path in (ROOT, BASE) or path.startswith((f"{ROOT}/", f"{BASE}/", "/")) or path[1:2] == ":"


def tidy(path: str) -> str:
    """A path as the view spells it; a bare name stays one."""
    text = posixpath.normpath(path.replace("\\", "/")) if path else ""
    return text.removeprefix(f"{ROOT}/") if text != ROOT else "."


def ancestor(path: str, index: int) -> str | None:
    """What ``Path(path).parents[index]`` gives; None where there is no such folder, however large the number."""
    if not 0 <= index <= path.count("/"):
        return None
    for _ in range(index + 1):
        path = posixpath.dirname(path)
    return path
