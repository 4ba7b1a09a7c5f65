"""The ways that code takes: conditions, loops, ``match``, ``try`` and ``with``.

Where a condition is not known, following an import leaves out what cannot concern DLLs, and gives up before what can;
reading a file takes one way after the other.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.pycode.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    CodeModule,
    FolderHandle,
    Instance,
    Iteration,
    Managed,
    MarkedFunction,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
    is_kind,
)
from wheelfix.pycode.run import BREAK, NEXT, RETURN
from wheelfix.pycode.sourcecode import LISTS, LOADING, any_of, never_holds
from wheelfix.pycode.statements import assigned

if TYPE_CHECKING:
    from collections.abc import Generator

    from wheelfix.pycode.run import PythonRun

    Flowing = Generator[PyValue, None, int]


MAX_TURNS = 2_000
MAX_TURNS_READ = 24
"""Turns of ``while`` in a file that is read; most loops that go on for longer wait for something."""
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Raise)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CHANGING = LOADING.union(LISTS, "chdir environ putenv import_module __import__ exec".split())
"""Names of what changes the search for DLLs, or loads something."""
DEEPEST = 3
"""How many calls deep the code of functions is searched for what concerns DLLs."""


class Flow:
    """Follows statements that have others inside."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run

    def follow(self, node: ast.stmt) -> Flowing:
        """Carry out a statement that has others inside."""
        follow = getattr(self, f"follow_{type(node).__name__.lower()}")
        flow: int = yield from follow(node)
        return flow

    def _condition(self, test: ast.expr, complains: bool = False) -> bool | None:
        """Whether a condition holds, or which way a file that is read takes now; None if that is not known.

        A check that only raises an exception usually passes.
        """
        if never_holds(test):
            return False
        holds = self.run.truth(self.run.expressions.part(test))
        if holds is None and complains and self.run.reading is not None:
            return False
        return self.run.choose(test) if holds is None else holds

    # ------------------------------------------------------------------------------------------ branches and loops

    def follow_if(self, node: ast.If) -> Flowing:
        holds = self._condition(node.test, self._only_complains(node.body))
        if holds is None:
            return self._leave_out(node, [node.body, node.orelse])
        return (yield from self.run.statements.block(node.body if holds else node.orelse))

    def follow_for(self, node: ast.For) -> Flowing:
        found = self.run.expressions.part(node.iter)
        if isinstance(found, UnknownValue | Native):
            way = self.run.choose(node)
            if way is None:
                self._leave_out(node, [node.body])
            found = [UNKNOWN] if way else []
        environment = self.run.environment
        for count, item in enumerate(self.run.attributes.iterate(found)):
            self.run.environment = environment
            if count > MAX_TURNS:
                raise Undecided("a loop goes on for too long")
            self.run.statements.assign(node.target, item)
            flow = yield from self.run.statements.block(node.body)
            if flow in (BREAK, RETURN):
                return NEXT if flow == BREAK else flow
        self.run.environment = environment
        return (yield from self.run.statements.block(node.orelse))

    follow_asyncfor = follow_for

    def follow_while(self, node: ast.While) -> Flowing:
        for _ in range(MAX_TURNS if self.run.reading is None else MAX_TURNS_READ):
            holds = self.run.truth(self.run.expressions.part(node.test))
            way = self.run.choose(node) if holds is None else holds
            if way is None:
                return self._leave_out(node, [node.body])
            if not way:
                return (yield from self.run.statements.block(node.orelse))
            flow = yield from self.run.statements.block(node.body)
            if flow in (BREAK, RETURN) or holds is None:  # the next turn would be the same
                return flow if flow == RETURN else NEXT
        if self.run.reading is not None:
            return NEXT
        raise Undecided("a loop goes on for too long")

    def follow_match(self, node: ast.Match) -> Flowing:
        subject = self.run.expressions.part(node.subject)
        for case in node.cases:
            fits = self._fits(case.pattern, subject)
            if fits and case.guard is not None:
                fits = self._condition(case.guard)
            fits = self.run.choose(case) if fits is None else fits
            if fits is None:
                return self._leave_out(node, [one.body for one in node.cases])
            if fits:
                return (yield from self.run.statements.block(case.body))
        return NEXT

    def _fits(self, pattern: ast.pattern, subject: PyValue) -> bool | None:
        """Whether a value fits a pattern, whose names are then bound."""
        if isinstance(pattern, ast.MatchAs):
            fits = True if pattern.pattern is None else self._fits(pattern.pattern, subject)
            if fits and pattern.name:
                self.run.bind(pattern.name, subject)
            return fits
        if isinstance(subject, UnknownValue):
            return None
        if isinstance(pattern, ast.MatchOr):
            return any_of(self._fits(one, subject) for one in pattern.patterns)
        if isinstance(pattern, ast.MatchValue):
            return self.run.expressions.compared(ast.Eq(), subject, self.run.expressions.value(pattern.value))
        if isinstance(pattern, ast.MatchSingleton):
            return subject is pattern.value
        if isinstance(pattern, ast.MatchSequence) and not any(
            isinstance(one, ast.MatchStar) for one in pattern.patterns
        ):
            if not isinstance(subject, list | tuple) or len(subject) != len(pattern.patterns):
                return False
            found = [self._fits(one, item) for one, item in zip(pattern.patterns, subject, strict=True)]
            return False if False in found else None if None in found else True
        return None

    def _leave_out(self, node: ast.stmt, blocks: list[list[ast.stmt]]) -> int:
        """Skip statements of which it is not known whether they run; Undecided if one of them could concern DLLs."""
        for body in blocks:
            if self._only_complains(body) and not self.run.machine.missed:
                continue  # a check of something that has nothing to do with DLLs, and that usually passes
            for statement in body:
                if self.concerns(statement):
                    raise Undecided(f"a condition decides what {self.run.environment.file}, line {node.lineno} does")
        for name in dict.fromkeys(name for body in blocks for one in body for name in assigned(one)):
            self.run.bind(name, UNKNOWN)
        return NEXT

    @staticmethod
    def _only_complains(body: list[ast.stmt]) -> bool:
        return bool(body) and isinstance(body[-1], ast.Raise) and all(
            isinstance(one, ast.Raise | ast.Assign | ast.Expr) for one in body
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------ exceptions

    def follow_try(self, node: ast.Try) -> Flowing:
        environment, depth = self.run.environment, self.run.depth
        try:
            flow = yield from self._tried(node, environment, depth)
        except Thrown:
            self.run.environment, self.run.depth = environment, depth
            yield from self._finally(node)
            raise
        return (yield from self._finally(node, flow))

    follow_trystar = follow_try

    def _tried(self, node: ast.Try, environment: Namespace, depth: int) -> Flowing:
        """The body, and the handler or the ``else`` behind it."""
        failed: Thrown | None = None
        around = len(self.run.guards)
        self.run.guards.append(node)
        try:
            flow = yield from self.run.statements.block(node.body)
        except Thrown as thrown:
            self.run.environment, self.run.depth = environment, depth
            failed = thrown
        finally:
            del self.run.guards[around:]
        if failed is not None:
            return (yield from self._handle(node, failed))
        return flow if flow != NEXT else (yield from self.run.statements.block(node.orelse))

    def _finally(self, node: ast.Try, flow: int = NEXT) -> Flowing:
        returned = self.run.returned
        last = yield from self.run.statements.block(node.finalbody)
        if last != NEXT:
            return last
        self.run.returned = returned
        return flow

    def _handle(self, node: ast.Try, thrown: Thrown) -> Flowing:
        for handler in node.handlers:
            wanted = Native("BaseException") if handler.type is None else self.run.expressions.value(handler.type)
            caught = self.catches(wanted, thrown.error)
            caught = self.run.choose(handler) if caught is None else caught
            if caught is None:
                # It is not taken for caught: a failed load must not be hidden by what is not known.
                self.run.note_unclear(Undecided("whether an exception is caught is not known"), node)
                raise thrown
            if not caught:
                continue
            if handler.name:
                self.run.bind(handler.name, thrown.error)
            self.run.handled.append(thrown.error)
            try:
                return (yield from self.run.statements.block(handler.body))
            finally:
                self.run.handled.pop()
        raise thrown

    @staticmethod
    def catches(wanted: PyValue, error: Instance) -> bool | None:
        """Whether an ``except`` catches an exception."""
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        return any_of(is_kind(error.kind, kind) for kind in kinds)

    # ------------------------------------------------------------------------------------------------- with

    def follow_with(self, node: ast.With) -> Flowing:
        return (yield from self._with(node, 0))

    follow_asyncwith = follow_with

    def _with(self, node: ast.With, at: int) -> Flowing:
        if at == len(node.items):
            return (yield from self.run.statements.block(node.body))
        item = node.items[at]
        manager = self.run.expressions.part(item.context_expr)
        entered = self.enter(manager)
        if item.optional_vars is not None:
            self.run.statements.assign(item.optional_vars, entered)
        environment, depth = self.run.environment, self.run.depth
        around = len(self.run.guards)
        if isinstance(manager, Managed) and manager.kind == "generator":
            self.run.guards += manager.value.guards
        elif isinstance(manager, Managed | Instance):
            self.run.guards.append(manager)
        try:
            flow = yield from self._with(node, at + 1)
        except Thrown as thrown:
            self.run.environment, self.run.depth = environment, depth
            if self.leave(manager, thrown.error):
                return NEXT
            raise
        finally:
            del self.run.guards[around:]
        self.run.environment = environment
        returned = self.run.returned
        self.leave(manager, None)
        self.run.returned = returned
        return flow

    def enter(self, manager: PyValue) -> PyValue:
        """``__enter__``."""
        if isinstance(manager, Managed):
            if manager.kind == "generator":
                return next(manager.value.items, UNKNOWN)
            return manager if manager.kind in ("stack", "file") else manager.value
        if isinstance(manager, Instance):
            return self.run.calls.call(self.run.attributes.attribute(manager, "__enter__"), [], {})
        return manager

    def leave(self, manager: PyValue, thrown: Instance | None) -> bool:
        """``__exit__``; whether the exception is suppressed."""
        if isinstance(manager, FolderHandle):
            self.run.close_folder(manager.folder)
        elif isinstance(manager, Managed) and manager.kind == "suppress":
            return thrown is not None and bool(self.catches(manager.value, thrown))
        elif isinstance(manager, Managed) and manager.kind == "stack":
            return True in [self.leave(one, thrown) for one in reversed(manager.value)]
        elif isinstance(manager, Managed) and manager.kind == "generator":
            return self._leave_generator(manager.value, thrown)
        elif isinstance(manager, Instance):
            given = [None] * 3 if thrown is None else [thrown.kind, thrown, UNKNOWN]
            return (
                bool(self.run.truth(self.run.calls.call(self.run.attributes.attribute(manager, "__exit__"), given, {})))
                and thrown is not None
            )
        return False

    @staticmethod
    def _leave_generator(generator: Iteration, thrown: Instance | None) -> bool:
        if thrown is None:
            next(generator.items, None)
            return False
        throw = getattr(generator.items, "throw", None)
        if throw is not None:
            try:
                throw(Thrown(thrown))
            except StopIteration:
                return True
        return False

    def concerns(self, node: ast.AST, depth: int = DEEPEST) -> bool:
        """Whether a statement may change what is loaded, or where the code goes on."""
        found = _concern_of(node)
        self.run.step(found.size)
        if found.changes or found.raises or (found.leaves and depth == DEEPEST):
            return True
        return any(map(self.run.importer.imports_own, found.imports)) or any(
            self._calls_own(one, depth) for one in found.calls
        )

    def _calls_own(self, function: ast.expr, depth: int) -> bool:
        """Whether a call leads to code of the package in which something concerns DLLs."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = self.run.environment.globals.get(function.value.id)
            return isinstance(owner, CodeClass | Instance) or (isinstance(owner, CodeModule) and not owner.is_compiled)
        if not isinstance(function, ast.Name):
            return False
        found = self.run.environment.names.get(function.id, self.run.environment.globals.get(function.id))
        found = found.function if isinstance(found, MarkedFunction) else found
        if isinstance(found, CodeFunction):
            return depth == 0 or any(self.concerns(one, depth - 1) for one in found.statements)
        if isinstance(found, CodeClass):
            starter = found.names.get("__init__")
            body = starter.statements if isinstance(starter, CodeFunction) else []
            return depth == 0 or any(self.concerns(one, depth - 1) for one in body)
        return isinstance(found, Instance)


class _Concern(NamedTuple):
    """What is in a statement, or an expression, that may concern DLLs."""

    size: int
    changes: bool
    """Whether it names what changes the search for DLLs, or loads something."""
    raises: bool
    leaves: bool
    """Whether it leaves the function or loop around it."""
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    calls: tuple[ast.expr, ...]


def _concern_of(node: ast.AST) -> _Concern:
    """The same for every time that a node is asked about, so that its tree is walked once."""
    known: _Concern | None = getattr(node, "concern", None)
    if known is None:
        inside = list(ast.walk(node))
        # A ``return`` in a function that is only defined here does not leave the code around it.
        defined = {id(inner) for outer in inside if isinstance(outer, _DEFINING) for inner in ast.walk(outer)}
        leaving = [one for one in inside if isinstance(one, _LEAVING) and id(one) not in defined]
        known = _Concern(
            len(inside),
            any(getattr(one, "attr", getattr(one, "id", "")) in _CHANGING for one in inside),
            any(isinstance(one, ast.Raise) for one in leaving),
            bool(leaving),
            tuple(one for one in inside if isinstance(one, ast.Import | ast.ImportFrom)),
            tuple(one.func for one in inside if isinstance(one, ast.Call)),
        )
        node.concern = known  # type: ignore[attr-defined]
    return known
