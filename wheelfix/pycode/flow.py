"""The ways that code takes: conditions, loops, ``match``, ``try`` and ``with``.

What depends on something unknown is left out if it cannot concern DLLs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codesyntax import never_holds
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
    error,
    is_kind,
)
from wheelfix.pycode.statements import BREAK, NEXT, RETURN

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from wheelfix.pycode.run import PythonRun


MAX_TURNS = 2_000
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Raise)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
"""A ``return`` in a function that is only defined here does not leave the code around it."""
_CHANGING = frozenset(
    "add_dll_directory CDLL WinDLL OleDLL PyDLL LoadLibrary LoadLibraryExW LoadLibraryW dlopen cdll windll load_library"
    " chdir environ putenv import_module __import__ exec".split()
)
"""Names of what changes the search for DLLs, or loads something."""
DEEPEST = 3
"""How many calls deep the code of functions is searched for what concerns DLLs."""


class Flow:
    """Follows statements that have others inside."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        run.follow = self.follow
        run.concerns = self.concerns
        run.enter = self.enter
        run.leave = self.leave

    def follow(self, node: ast.stmt) -> Generator[PyValue, None, int]:
        """Carry out a statement that has others inside."""
        follow = getattr(self, f"follow_{type(node).__name__.lower()}")
        flow: int = yield from follow(node)
        return flow

    def follow_if(self, node: ast.If) -> Generator[PyValue, None, int]:
        holds = False if never_holds(node.test) else self.run.condition(node.test)
        if holds is None:
            return self._leave_out(node, [node.body, node.orelse])
        return (yield from self.run.block(node.body if holds else node.orelse))

    def follow_for(self, node: ast.For) -> Generator[PyValue, None, int]:
        found = self.run.value(node.iter)
        if isinstance(found, UnknownValue | Native):
            self._leave_out(node, [node.body])
            return (yield from self.run.block(node.orelse))
        environment = self.run.environment
        for count, item in enumerate(self.run.iterate(found)):
            self.run.environment = environment
            if count > MAX_TURNS:
                raise Undecided("a loop goes on for too long")
            self.run.assign(node.target, item)
            flow = yield from self.run.block(node.body)
            if flow == BREAK:
                return NEXT
            if flow == RETURN:
                return flow
        self.run.environment = environment
        return (yield from self.run.block(node.orelse))

    def follow_while(self, node: ast.While) -> Generator[PyValue, None, int]:
        for _ in range(MAX_TURNS):
            holds = self.run.condition(node.test)
            if holds is None:
                return self._leave_out(node, [node.body])
            if not holds:
                return (yield from self.run.block(node.orelse))
            flow = yield from self.run.block(node.body)
            if flow == BREAK:
                return NEXT
            if flow == RETURN:
                return flow
        raise Undecided("a loop goes on for too long")

    def follow_match(self, node: ast.Match) -> Generator[PyValue, None, int]:
        subject = self.run.value(node.subject)
        for case in node.cases:
            fits = self._fits(case.pattern, subject)
            if fits and case.guard is not None:
                fits = self.run.condition(case.guard)
            if fits is None:
                return self._leave_out(node, [one.body for one in node.cases])
            if fits:
                return (yield from self.run.block(case.body))
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
            found = [self._fits(one, subject) for one in pattern.patterns]
            return True if True in found else None if None in found else False
        if isinstance(pattern, ast.MatchValue):
            return self.run.compared(ast.Eq(), subject, self.run.value(pattern.value))
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
            if self._only_complains(body) and (not self.run.machine.missed or self._is_about_text(node)):
                continue  # a check of something that has nothing to do with DLLs, and that usually passes
            for statement in body:
                if self.concerns(statement):
                    raise Undecided(f"a condition decides what {self.run.environment.file}, line {node.lineno} does")
        for name in dict.fromkeys(name for body in blocks for one in body for name in _assigned(one)):
            self.run.bind(name, UNKNOWN)
        return NEXT

    def _is_about_text(self, node: ast.stmt) -> bool:
        """Whether a condition only matches texts against patterns, of which some cannot be matched here."""
        calls = [one for one in ast.walk(node.test) if isinstance(one, ast.Call)] if isinstance(node, ast.If) else []
        asked = [one.func for one in calls if isinstance(one.func, ast.Attribute)]
        patterns = [one for one in asked if isinstance(one.value, ast.Name) and self._is_module(one.value.id, "re")]
        return bool(calls) and len(patterns) == len(calls)

    def _is_module(self, name: str, module: str) -> bool:
        found = self.run.environment.names.get(name, self.run.environment.globals.get(name))
        return isinstance(found, Native) and found.name == module

    @staticmethod
    def _only_complains(body: list[ast.stmt]) -> bool:
        return bool(body) and isinstance(body[-1], ast.Raise) and all(
            isinstance(one, ast.Raise | ast.Assign | ast.Expr) for one in body
        )  # fmt: skip

    def follow_try(self, node: ast.Try) -> Generator[PyValue, None, int]:
        environment, depth = self.run.environment, self.run.depth
        try:
            flow = yield from self._tried(node, environment, depth)
        except Thrown:
            self.run.environment, self.run.depth = environment, depth
            yield from self._finally(node)
            raise
        return (yield from self._finally(node, flow))

    def _tried(self, node: ast.Try, environment: Namespace, depth: int) -> Generator[PyValue, None, int]:
        """The body, and the handler or the ``else`` behind it."""
        try:
            flow = yield from self.run.block(node.body)
        except Thrown as thrown:
            self.run.environment, self.run.depth = environment, depth
            return (yield from self._handle(node, thrown))
        return flow if flow != NEXT else (yield from self.run.block(node.orelse))

    def _finally(self, node: ast.Try, flow: int = NEXT) -> Generator[PyValue, None, int]:
        returned = self.run.returned
        last = yield from self.run.block(node.finalbody)
        if last == NEXT:
            self.run.returned = returned
        return flow if last == NEXT else last

    def _handle(self, node: ast.Try, thrown: Thrown) -> Generator[PyValue, None, int]:
        for handler in node.handlers:
            wanted = self.run.value(handler.type) if handler.type is not None else Native("BaseException")
            caught = self.catches(wanted, thrown.error)
            if caught is None:
                raise Undecided("whether an exception is caught is not known")
            if not caught:
                continue
            if handler.name:
                self.run.bind(handler.name, thrown.error)
            self.run.handled.append(thrown.error)
            try:
                return (yield from self.run.block(handler.body))
            finally:
                self.run.handled.pop()
        raise thrown

    @staticmethod
    def catches(wanted: PyValue, error: Instance) -> bool | None:
        """Whether an ``except`` catches an exception."""
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        found = [is_kind(error.kind, kind) for kind in kinds]
        return True if True in found else None if None in found else False

    # ------------------------------------------------------------------------------------------------- with

    def follow_with(self, node: ast.With) -> Generator[PyValue, None, int]:
        return (yield from self._with(node, 0))

    def _with(self, node: ast.With, at: int) -> Generator[PyValue, None, int]:
        if at == len(node.items):
            return (yield from self.run.block(node.body))
        item = node.items[at]
        manager = self.run.value(item.context_expr)
        entered = self.enter(manager)
        if item.optional_vars is not None:
            self.run.assign(item.optional_vars, entered)
        environment, depth = self.run.environment, self.run.depth
        try:
            flow = yield from self._with(node, at + 1)
        except Thrown as thrown:
            self.run.environment, self.run.depth = environment, depth
            if self.leave(manager, thrown.error):
                return NEXT
            raise
        self.run.environment = environment
        returned = self.run.returned
        self.leave(manager, None)
        self.run.returned = returned
        return flow

    def enter(self, manager: PyValue) -> PyValue:
        """``__enter__``."""
        if isinstance(manager, Managed):
            if manager.kind == "generator":
                for item in manager.value.items:
                    return item
                raise error("RuntimeError", "generator didn't yield")
            return manager if manager.kind in ("stack", "file") else manager.value
        if isinstance(manager, Instance):
            return self.run.call(self.run.attribute(manager, "__enter__"), [], {})
        return manager

    def leave(self, manager: PyValue, thrown: Instance | None) -> bool:
        """``__exit__``; whether the exception is suppressed."""
        if isinstance(manager, FolderHandle):
            self.run.machine.close_folder(manager.folder)
        elif isinstance(manager, Managed) and manager.kind == "suppress":
            return thrown is not None and bool(self.catches(manager.value, thrown))
        elif isinstance(manager, Managed) and manager.kind == "stack":
            return True in [self.leave(one, thrown) for one in reversed(manager.value)]
        elif isinstance(manager, Managed) and manager.kind == "generator":
            return self._leave_generator(manager.value, thrown)
        elif isinstance(manager, Instance):
            given = [None] * 3 if thrown is None else [thrown.kind, thrown, UNKNOWN]
            return (
                bool(self.run.truth(self.run.call(self.run.attribute(manager, "__exit__"), given, {})))
                and thrown is not None
            )
        return False

    def _leave_generator(self, generator: Iteration, thrown: Instance | None) -> bool:
        if thrown is not None:
            throw = getattr(generator.items, "throw", None)
            if throw is None:
                return False
            try:
                throw(Thrown(thrown))
            except StopIteration:
                return True
            raise error("RuntimeError", "generator didn't stop after throw()")
        for _ in generator.items:
            raise error("RuntimeError", "generator didn't stop")
        return False

    def concerns(self, node: ast.AST, depth: int = DEEPEST) -> bool:
        """Whether a statement may change what is loaded, or where the code goes on."""
        leaving = _LEAVING if depth == DEEPEST else ast.Raise
        defined = {id(inner) for outer in ast.walk(node) if isinstance(outer, _DEFINING) for inner in ast.walk(outer)}
        for inner in ast.walk(node):
            self.run.step()
            if isinstance(inner, leaving) and id(inner) not in defined:
                return True
            name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
            if name in _CHANGING:
                return True
            if isinstance(inner, ast.ImportFrom | ast.Import) and self.run.imports_own(inner):
                return True
            if isinstance(inner, ast.Call) and self._calls_own(inner.func, depth):
                return True
        return False

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


def _assigned(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.alias):
            yield (inner.asname or inner.name).partition(".")[0]
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name


def statements_of(node: ast.AST) -> list[ast.stmt]:
    """The statements of a function; a lambda has none."""
    body = getattr(node, "body", [])
    return body if isinstance(body, list) else []
