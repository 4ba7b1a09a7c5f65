"""The imports that running one Python file carries out, in their order, each with whether it is certain and caught."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from wheelfix.base.values import dataclass
from wheelfix.pycode.budget import is_lazy
from wheelfix.pycode.exceptions import LOAD_ERRORS, NO_MODULE, NOT_LOADED, suppresses
from wheelfix.pycode.importcode import goes_on, imported_by_call, imported_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.pycode.budget import CodeBudget


_KINDS = (NO_MODULE, NOT_LOADED, *LOAD_ERRORS)
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ImportStatement:
    """One import, with the modules that it names: ``import a.b``, or ``from a import b``, which may name ``a.b``."""

    names: tuple[str, ...]
    certain: bool
    """False where a condition decides whether it is carried out."""
    caught: frozenset[str] = frozenset()
    """The exceptions after which the code goes on: those of a module that is not there, of one that
    cannot be loaded, and of a failed load in its code."""


@dataclass(frozen=True, slots=True)
class FileImports:
    """The imports of one file that are carried out when it is imported."""

    statements: tuple[ImportStatement, ...] = ()
    complete: bool = True
    literal: bool = False
    """Whether it imports what its statements name, and nothing else."""


def executed_imports(
    tree: ast.Module, package: str, budget: CodeBudget, holds: Callable[[ast.expr], bool | None]
) -> Iterator[ImportStatement]:
    """The imports that running a file carries out, in order; those in functions are not among them.

    ``holds`` says whether a condition is true; None: it cannot be told.
    """
    pending: list[tuple[ast.stmt, bool, frozenset[str]]] = [(node, True, _NOTHING) for node in reversed(tree.body)]
    while pending:
        node, certain, caught = pending.pop()
        budget.step()
        lazy = is_lazy(node, None)
        if lazy:
            continue
        certain = certain and lazy is False
        if isinstance(node, ast.Import):
            yield from (ImportStatement((alias.name,), certain, caught) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ImportStatement(tuple(imported_from(node, package)), certain, caught)
        elif isinstance(node, ast.Assign | ast.Expr) and isinstance(node.value, ast.Call):
            yield from (ImportStatement((name,), certain, caught) for name in imported_by_call(node.value))
        elif isinstance(node, ast.Try):
            pending += [(inner, sure and certain, caught | more) for inner, sure, more in _tried(node, budget)]
        else:
            kinds = _KINDS if isinstance(node, ast.With) else ()
            around = caught.union(kind for kind in kinds if suppresses(cast("ast.With", node), kind))
            inside = list(_inner(node, holds))
            pending += [(inner, sure and certain, around) for inner, sure in reversed(inside)]


def _tried(node: ast.Try, budget: CodeBudget) -> list[tuple[ast.stmt, bool, frozenset[str]]]:
    """The statements of a ``try``, the last first: whether each is run for certain, and what is caught of it.

    ``else`` is run only if nothing was caught, and what it imports is not caught.
    """
    caught = frozenset(kind for kind in _KINDS if goes_on(node, kind, budget))
    found = [(inner, True, caught) for inner in node.body]
    found += [(inner, False, _NOTHING) for handler in node.handlers for inner in handler.body]
    found += [(inner, not caught, _NOTHING) for inner in node.orelse]
    found += [(inner, True, _NOTHING) for inner in node.finalbody]
    return found[::-1]


def _inner(node: ast.stmt, holds: Callable[[ast.expr], bool | None]) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements within a statement that are run with it, and whether that is certain."""
    if isinstance(node, ast.If):
        known = holds(node.test)
        if known is not False:
            yield from ((inner, known is True) for inner in node.body)
        if known is not True:
            yield from ((inner, known is False) for inner in node.orelse)
    elif isinstance(node, ast.With | ast.ClassDef):
        yield from ((inner, True) for inner in node.body)
    elif isinstance(node, ast.For | ast.While):
        yield from ((inner, False) for inner in [*node.body, *node.orelse])
