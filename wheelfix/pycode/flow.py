"""The ways that code takes: conditions, loops, ``match``, ``try`` and ``with``.

Where a condition is not known, following an import leaves out what cannot concern DLLs, and gives up before what can;
reading a file takes both ways, and what they do counts as possible.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.pycode.objects import (
    UNKNOWN,
    Alternatives,
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
    SomeOf,
    Thrown,
    Undecided,
    UnknownValue,
    alternatives,
    is_kind,
    joined,
)
from wheelfix.pycode.run import BREAK, CONTINUE, NEXT, RAISE, RETURN
from wheelfix.pycode.sourcecode import CLASSES, LISTS, LOADING, any_of, never_holds
from wheelfix.pycode.statements import assigned

if TYPE_CHECKING:
    from collections.abc import Generator

    from wheelfix.pycode.reading import CodeReading
    from wheelfix.pycode.run import Changes, PythonRun

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
_PLAIN_CALLS = frozenset(
    (*CLASSES, *"LoadLibrary join dirname abspath realpath basename str Path resolve joinpath fspath".split())
)


class Flow:
    """Follows statements that have others inside."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run

    def follow(self, node: ast.stmt) -> Flowing:
        """Carry out a statement that has others inside."""
        follow = getattr(self, f"follow_{type(node).__name__.lower()}")
        flow: int = yield from follow(node)
        return flow

    # ------------------------------------------------------------------------------------- ways that are possible

    def _apart(self, body: list[ast.stmt], *, later: bool = False) -> Generator[PyValue, None, tuple[int, Changes]]:
        """Follow statements of a file that is read, and take back what they change; say how they end, and that."""
        run, reading = self.run, self._reading
        before, reading.later = reading.later, reading.later or later
        environment, depth = run.environment, run.depth
        run.begin_branch()
        try:
            flow = yield from run.statements.block(body)
        except Thrown as thrown:
            run.environment, run.depth = environment, depth
            reading.raised = thrown
            flow = RAISE
        finally:
            reading.later = before
            changes = run.end_branch()
        return flow, changes

    @property
    def _reading(self) -> CodeReading:
        assert self.run.reading is not None
        return self.run.reading

    def _condition(self, test: ast.expr) -> bool | None:
        """Whether a condition holds; where a file is read, one that cannot be followed is one that is not known."""
        if never_holds(test):
            return False
        return self.run.truth(self.run.expressions.part(test))

    # ------------------------------------------------------------------------------------------ branches and loops

    def follow_if(self, node: ast.If) -> Flowing:
        holds = self._condition(node.test)
        if holds is None and self.run.reading is None:
            return self._leave_out(node, [node.body, node.orelse])
        if holds is None:
            return (yield from self._both_ways(node))
        if self.run.reading is not None and _asks_environment(node.test):
            # With the variable set, the other way is taken: what is loaded there may be loaded.
            yield from self._apart(node.orelse if holds else node.body, later=True)
        return (yield from self.run.statements.block(node.body if holds else node.orelse))

    def _both_ways(self, node: ast.If) -> Flowing:
        flow, branches = 0, []
        for body, assumed in ((node.body, True), (node.orelse, False)):
            self.run.begin_branch()
            self._narrow(node.test, assumed)
            inner, changes = yield from self._apart(body)
            changes = {**self.run.end_branch(), **changes}
            flow |= inner
            if inner & NEXT:
                branches.append(changes)
        self.run.merge(branches)
        return self._ended(flow)

    def _ended(self, flow: int) -> int:
        """How several ways end; where all of them raise an exception, it is raised."""
        if flow == RAISE and self._reading.raised is not None:
            raise self._reading.raised
        return flow

    def _narrow(self, test: ast.expr, holds: bool) -> None:
        """Within a branch, leave a name only what makes its condition true."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        name = test.left if isinstance(test, ast.Compare) and len(test.ops) == 1 else test
        value = self.run.environment.names.get(name.id) if isinstance(name, ast.Name) else None
        if not isinstance(value, Alternatives) or not isinstance(name, ast.Name):
            return
        kept = value.alternatives
        if isinstance(test, ast.Name):
            kept = tuple(one for one in kept if self.run.truth(one) in (holds, None))
        elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot):
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                wants = isinstance(test.ops[0], ast.Is) is holds
                kept = tuple(one for one in kept if one is UNKNOWN or (one is None) is wants)
        if kept and len(kept) < len(value.alternatives):
            self.run.bind(name.id, joined(kept))

    def follow_for(self, node: ast.For) -> Flowing:
        found = self._gone_through(node.iter)
        if isinstance(found, UnknownValue | Native) and self.run.reading is None:
            self._leave_out(node, [node.body])
            return (yield from self.run.statements.block(node.orelse))
        environment, flow, left = self.run.environment, 0, 0
        reading = self.run.reading
        items = self.run.attributes.iterate(found) if not isinstance(found, UnknownValue | Native) else iter([UNKNOWN])
        unclear = isinstance(found, UnknownValue | Native | SomeOf)
        for count, item in enumerate(items):
            self.run.environment = environment
            if count > MAX_TURNS:
                raise Undecided("a loop goes on for too long")
            if reading is not None and (unclear or left):
                inner = yield from self._perhaps_a_turn(node, item)
            else:
                self.run.statements.assign(node.target, item)
                inner = yield from self.run.statements.block(node.body)
            flow |= inner
            left = flow & (BREAK | RETURN | RAISE)
            if not inner & (NEXT | CONTINUE) and not unclear:
                return (flow & (RETURN | RAISE)) | (NEXT if flow & BREAK else 0)
        self.run.environment = environment
        return (flow & (RETURN | RAISE)) | (yield from self._else(node.orelse, perhaps=bool(flow & BREAK)))

    follow_asyncfor = follow_for

    def _gone_through(self, node: ast.expr) -> PyValue:
        """What a loop goes through; where a file is read, all that it may go through."""
        found = self.run.expressions.part(node)
        if isinstance(found, Alternatives):
            items: SomeOf = SomeOf()
            for one in alternatives(found):
                items += [UNKNOWN] if isinstance(one, UnknownValue | Native) else self.run.attributes.iterate(one)
            return items
        return found

    def _perhaps_a_turn(self, node: ast.For | ast.AsyncFor, item: PyValue) -> Flowing:
        self.run.begin_branch()
        self.run.statements.assign(node.target, item)
        inner, changes = yield from self._apart(node.body)
        changes = {**self.run.end_branch(), **changes}
        self.run.merge([changes, {}] if inner & (NEXT | BREAK | CONTINUE) else [{}])
        return inner | NEXT

    def _else(self, body: list[ast.stmt], *, perhaps: bool) -> Flowing:
        """The ``else`` of a loop, which is left out after ``break``."""
        if not perhaps or not body:
            return (yield from self.run.statements.block(body))
        flow, changes = yield from self._apart(body)
        self.run.merge([changes, {}] if flow & NEXT else [{}])
        return flow | NEXT

    def follow_while(self, node: ast.While) -> Flowing:
        flow = 0
        for _ in range(MAX_TURNS if self.run.reading is None else MAX_TURNS_READ):
            holds = self._condition(node.test)
            if holds is None and self.run.reading is None:
                return self._leave_out(node, [node.body])
            if holds is None:
                inner, changes = yield from self._apart(node.body)
                self.run.merge([changes, {}] if inner & (NEXT | BREAK | CONTINUE) else [{}])
                return NEXT | ((flow | inner) & (RETURN | RAISE))
            if not holds:
                return (flow & (RETURN | RAISE)) | (yield from self.run.statements.block(node.orelse))
            inner = yield from self.run.statements.block(node.body)
            flow |= inner
            if not inner & (NEXT | CONTINUE):
                return (flow & (RETURN | RAISE)) | (NEXT if flow & BREAK else 0)
        if self.run.reading is not None:
            return NEXT | (flow & (RETURN | RAISE))
        raise Undecided("a loop goes on for too long")

    def follow_match(self, node: ast.Match) -> Flowing:
        subject = self.run.expressions.part(node.subject)
        flow = 0
        branches: list[Changes] = []
        for case in node.cases:
            fits = self._fits(case.pattern, subject)
            if fits and case.guard is not None:
                fits = self._condition(case.guard)
            if fits is None and self.run.reading is None:
                return self._leave_out(node, [one.body for one in node.cases])
            if fits and not branches:
                return flow | (yield from self.run.statements.block(case.body))
            if fits is not False:
                inner, changes = yield from self._apart(case.body)
                flow |= inner
                branches += [changes] if inner & NEXT else []
            if fits:
                break
        else:
            flow |= NEXT
            branches.append({})
        if self.run.reading is None:
            return NEXT
        self.run.merge(branches)
        return self._ended(flow)

    def _fits(self, pattern: ast.pattern, subject: PyValue) -> bool | None:
        """Whether a value fits a pattern, whose names are then bound."""
        if isinstance(pattern, ast.MatchAs):
            fits = True if pattern.pattern is None else self._fits(pattern.pattern, subject)
            if fits and pattern.name:
                self.run.bind(pattern.name, subject)
            return fits
        if isinstance(subject, UnknownValue | Alternatives):
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
        reading = self.run.reading
        unsure = reading.unsure_calls if reading is not None else 0
        if reading is not None:
            self.run.begin_branch()
        changes: Changes = {}
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
            if reading is not None:
                changes = self.run.end_branch()
                self.run.merge([changes])
        if failed is not None:
            return (yield from self._handle(node, failed))
        if reading is None:
            return flow if flow != NEXT else (yield from self.run.statements.block(node.orelse))
        if reading.unsure_calls == unsure and not reading.later and not flow & RAISE and _only_loads(node.body):
            self.run.guards.append(Managed("suppress", Native("BaseException")))
            for handler in node.handlers:  # nothing is raised; what is loaded there may be loaded elsewhere
                yield from self._apart(handler.body, later=True)
            self.run.guards.pop()
        else:
            yield from self._other_handlers(node, changes, raised=bool(flow & RAISE))
        return (flow & ~NEXT) | (yield from self.run.statements.block(node.orelse)) if flow & NEXT else flow

    def _other_handlers(self, node: ast.Try, changes: Changes, *, raised: bool) -> Generator[PyValue, None, None]:
        """Follow handlers of exceptions that may be raised; they may run where a module of others is imported."""
        risky = raised or any(self.run.importer.imports_of_others(inner) for inner in node.body)
        for handler in node.handlers:
            if handler.name:
                self.run.bind(handler.name, UNKNOWN)
            flow, other = yield from self._apart(handler.body, later=not risky)
            if risky and flow & NEXT:
                self.run.merge([{}, other])
            elif flow & NEXT:
                self.run.merge([{key: change for key, change in other.items() if key not in changes}])

    def _finally(self, node: ast.Try, flow: int = NEXT) -> Flowing:
        returned = list(self.run.returned)
        last = yield from self.run.statements.block(node.finalbody)
        if last == NEXT:
            self.run.returned[:] = returned
        elif not last & NEXT:
            del self.run.returned[: len(returned)]
        return flow if last & NEXT else last

    def _handle(self, node: ast.Try, thrown: Thrown) -> Flowing:
        for handler in node.handlers:
            wanted = Native("BaseException") if handler.type is None else self.run.expressions.value(handler.type)
            caught = self.catches(wanted, thrown.error)
            if caught is None and self.run.reading is None:
                # It is not taken for caught: a failed load must not be hidden by what is not known.
                self.run.note_unclear(Undecided("whether an exception is caught is not known"), node)
                raise thrown
            if caught is False:
                continue
            if handler.name:
                self.run.bind(handler.name, thrown.error)
            self.run.handled.append(thrown.error)
            try:
                if caught:
                    return (yield from self.run.statements.block(handler.body))
                flow, changes = yield from self._apart(handler.body)
                self.run.merge([changes])
                return flow | RAISE
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
        returned = list(self.run.returned)
        self.leave(manager, None)
        self.run.returned[:] = returned
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


def _asks_environment(node: ast.expr) -> bool:
    """Whether a condition asks for environment variables."""
    names = (getattr(inner, "attr", getattr(inner, "id", "")) for inner in ast.walk(node))
    return any(name in ("environ", "getenv") for name in names)


def _only_loads(statements: list[ast.stmt]) -> bool:
    """Whether some statements call nothing but loads and functions of paths, so that only a load can fail."""
    for statement in statements:
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return | ast.Break):
            return False
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called not in _PLAIN_CALLS:
                    return False
            elif isinstance(node, ast.Subscript | ast.Lambda):
                return False
    return True
