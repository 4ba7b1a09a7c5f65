"""Carries out statements: assignments and definitions, and the ways that code takes.

Blocks are Python generators, so that a generator of the package stops where it yields and goes on from there.
"""

from __future__ import annotations

import ast
from collections.abc import Generator
from types import GeneratorType
from typing import NamedTuple

from wheelfix.pycode.budget import PYTHON_ERRORS
from wheelfix.pycode.run import (
    BREAK,
    CONTINUE,
    ENVIRON,
    NEXT,
    RETURN,
    UNKNOWN,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    MarkedFunction,
    Namespace,
    Native,
    OutOfSteps,
    PythonRun,
    PyValue,
    Thrown,
    Undecided,
    error,
    is_kind,
    is_vague,
    methods_of,
    of_class,
    unmarked,
)
from wheelfix.pycode.sourcecode import FUNCTIONS, LISTS, LOADING, any_of, never_holds, nodes_in, once_for_node

Flowing = Generator[PyValue, None, int]


MAX_TURNS = 2_000
MAX_TURNS_READ = 24
"""Turns of ``while`` in a file that is read; most loops that go on for longer wait for something."""
_YIELDING = (ast.Yield, ast.YieldFrom)
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise, *_YIELDING)
_CHANGING = LOADING.union(LISTS, "chdir environ putenv import_module __import__ exec".split())
"""Names of what changes the search for DLLs, or loads something."""


class Statements:
    """Carries out a statement by the method that is named for its kind of syntax, which says how the statement ends.

    Where a condition is not known, following an import leaves out what cannot concern DLLs, and gives up before what
    can; reading a file takes one way after the other.
    """

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        self._value, self._part = run.expressions.value, run.expressions.part

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self._value(node.value)
        for target in node.targets:
            self.assign(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self._value(node.value))
        if isinstance(node.target, ast.Name) and "<fields>" in self.run.environment.names:
            self.run.environment.names["<fields>"].append((node.target.id, ast.unparse(node.annotation)))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        left, right = self._value(node.target), self._value(node.value)
        if isinstance(node.op, ast.Add) and isinstance(left, list):
            self.run.changing(left)
            left += self.run.attributes.items_of(right)
            self.assign(node.target, self.run.bounded(left))
        else:
            self.assign(node.target, self.run.bounded(self.run.expressions.binary(node.op, left, right)))

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            names = self.run.environment.names
            if isinstance(target, ast.Name) and target.id in names:
                self.run.store(names, target.id, UNKNOWN)  # a branch remembers what it was
                del names[target.id]
            elif isinstance(target, ast.Subscript):
                raise Undecided("an item is deleted")

    def assign(self, target: ast.expr, value: PyValue) -> None:
        """Give a value to whatever stands on the left of ``=``."""
        if isinstance(target, ast.Name):
            self.run.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self._value(target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)

    def _unpack(self, targets: list[ast.expr], value: PyValue) -> None:
        if is_vague(value):
            for target in targets:
                self.assign(target.value if isinstance(target, ast.Starred) else target, UNKNOWN)
            return
        items = list(self.run.attributes.iterate(value))
        star = next((at for at, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        if star is None and len(items) != len(targets):
            raise error("ValueError", "not enough values to unpack")
        if star is not None:
            behind = len(targets) - star - 1
            middle = items[star : len(items) - behind]
            items = [*items[:star], middle, *items[len(items) - behind :]]
        for target, item in zip(targets, items, strict=False):
            self.assign(target.value if isinstance(target, ast.Starred) else target, item)

    def set_attribute(self, owner: PyValue, name: str, value: PyValue) -> None:
        """``owner.name = value``."""
        mark = of_class(owner.kind, name) if isinstance(owner, Instance) else None
        if isinstance(mark, MarkedFunction) and mark.setter is not None:
            self.run.calls.call(mark.setter, [owner, value], {})
        elif isinstance(owner, Instance | LoadedDll | CodeFunction):
            self.run.store(owner.attributes, name, value)
        elif isinstance(owner, CodeClass | CodeModule):
            self.run.store(owner.names, name, value)
        elif isinstance(owner, Native) and owner.name == "os" and name == "environ":
            raise Undecided("os.environ is replaced")

    def _set_item(self, target: ast.Subscript, value: PyValue) -> None:
        owner = self._value(target.value)
        if isinstance(target.slice, ast.Slice):
            if isinstance(owner, list) and target.slice.lower is None and target.slice.upper is None:
                self.run.changing(owner)
                owner[:] = list(self.run.attributes.iterate(value))
            return
        key = self._value(target.slice)
        if owner == ENVIRON:
            if not isinstance(key, str) or (value is UNKNOWN and key.upper() == "PATH"):
                if isinstance(key, str) and self.run.reading is not None:
                    self.run.store(self.run.machine.variables, key.upper(), UNKNOWN)
                raise Undecided("an environment variable is not known")
            self.run.store(self.run.machine.variables, key.upper(), value)
        elif isinstance(owner, dict) and key is UNKNOWN:
            self.run.lose(target)  # netgen fills one with the names of DLLs, which are not known
        elif isinstance(owner, dict):
            self.run.store(owner, self.run.key(key), value)
        elif isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
            self.run.changing(owner)
            owner[key] = value
        elif isinstance(owner, Instance) and "<items>" in owner.attributes and key is not UNKNOWN:
            owner.attributes["<items>"][self.run.key(key)] = value

    # ------------------------------------------------------------------------------------------------ blocks

    def execute(self, body: list[ast.stmt]) -> int:
        """Carry out statements that yield nothing; say how they end."""
        block = self.block(body)
        while True:
            try:
                next(block)
            except StopIteration as end:
                flow: int = end.value
                return flow
            raise Undecided("a function yields where none is expected")

    def block(self, body: list[ast.stmt]) -> Flowing:
        """Carry out statements; yields what they yield, returns how they end."""
        methods = methods_of(Statements)
        for node in body:
            self.run.step()
            try:
                visit = methods.get(type(node))
                if visit is None:
                    raise Undecided(f"{type(node).__name__} is not interpreted")
                flow = visit(self, node) or NEXT
                if isinstance(flow, GeneratorType):
                    flow = yield from flow
            except (Thrown, Undecided, OutOfSteps, *PYTHON_ERRORS) as raised:
                flow = self._pass_over(node, raised)
            if flow != NEXT:
                return flow
        return NEXT

    def _pass_over(self, node: ast.stmt, reason: Exception) -> int:
        """Go on behind a statement that cannot be followed: nothing that it does has happened.

        An exception of the code goes on; it remembers where it was raised first. One of Python itself is raised for
        arguments that the model does not expect.
        """
        raised = reason.error if isinstance(reason, Thrown) else reason
        if isinstance(raised, Instance | Undecided | OutOfSteps) and not raised.place[0]:
            raised.place = (self.run.environment.file, node.lineno)
        if isinstance(reason, OutOfSteps) or (isinstance(reason, Thrown) and not self._follows_from_unclear(reason)):
            raise reason
        if self.run.reading is None:
            self.run.note_unclear(reason, node)
            if isinstance(node, ast.Raise):
                raise error("Exception")
        if isinstance(node, ast.Return):
            self.run.returned = UNKNOWN
            return RETURN
        self.run.lose(node)
        return NEXT

    def _follows_from_unclear(self, thrown: Thrown) -> bool:
        """Whether an exception that ends an import may be one that only the model raises: it does not know all."""
        run, failure = self.run, thrown.error.failure
        if run.reading is not None:
            return False
        outside = run.environment.names is run.environment.globals and not run.guards
        if failure is None:
            return outside and thrown.error.by_python and not run.machine.missed
        return outside and failure.cause == "name" and bool(run.unclear)

    def _yield(self, node: ast.Yield) -> Flowing:
        environment = self.run.environment
        yield self._value(node.value) if node.value is not None else None
        self.run.environment = environment
        return NEXT

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.run.importer.import_statement(node)

    visit_ImportFrom = visit_Import

    # ---------------------------------------------------------------------------------------- plain statements

    def visit_Expr(self, node: ast.Expr) -> Flowing | None:
        if isinstance(node.value, ast.Yield):
            return self._yield(node.value)
        if not isinstance(node.value, ast.Constant):
            self._value(node.value)
        return None

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Break(self, node: ast.Break) -> int:
        return BREAK

    def visit_Continue(self, node: ast.Continue) -> int:
        return CONTINUE

    def visit_Return(self, node: ast.Return) -> int:
        self.run.returned = self._value(node.value) if node.value is not None else None
        return RETURN

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.run.environment.outer |= set(node.names)

    visit_Nonlocal = visit_Global

    def visit_Assert(self, node: ast.Assert) -> None:
        if self.run.expressions.condition(node.test) is False:
            raise error("AssertionError")

    def visit_Raise(self, node: ast.Raise) -> None:
        raise self._raised(node)

    def _raised(self, node: ast.Raise) -> Thrown:
        if node.exc is None:
            if not self.run.handled:
                return error("RuntimeError", "No active exception to reraise")
            return Thrown(self.run.handled[-1])
        found = self._value(node.exc)
        if isinstance(found, CodeClass | Native):
            found = self.run.calls.call(found, [], {})
        if isinstance(found, Instance):
            return Thrown(found)
        if self.run.reading is None:
            raise Undecided("what is raised is not known")
        return error("Exception")

    # ------------------------------------------------------------------------------------------- definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        found = self._decorated(node.decorator_list, self.run.calls.function(node))
        self.run.store(self.run.environment.names, node.name, found)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _decorated(self, decorators: list[ast.expr], found: PyValue) -> PyValue:
        """What decorators make of a function or class; unknown ones leave it as it is, and do not call it."""
        for decorator in reversed(decorators):
            mark = self._value(decorator)
            made = UNKNOWN if mark is UNKNOWN else self.run.calls.call(mark, [found], {})
            found = found if made is UNKNOWN else made
        return found

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [self._value(base) for base in node.bases if not isinstance(base, ast.Starred)]
        outer = self.run.environment
        names: dict[str, PyValue] = {"<fields>": []}
        self.run.environment = Namespace(names, outer.globals, outer.file, outer)
        try:
            self.execute(node.body)
        finally:
            self.run.environment = outer
        words = {word.arg: self._part(word.value) for word in node.keywords if word.arg is not None}
        maker = words.pop("metaclass", None)
        made: PyValue = self.run.calls.make_class(node.name, bases, names, words)
        made.maker = maker if isinstance(maker, CodeClass) else None
        self.run.bind(node.name, self._decorated(node.decorator_list, made))

    def _condition(self, test: ast.expr, complains: bool = False) -> bool | None:
        """Whether a condition holds, or which way a file that is read takes now; None if that is not known.

        A check that only raises an exception usually passes.
        """
        if never_holds(test):
            return False
        holds = self.run.truth(self._part(test))
        if holds is None and complains and self.run.reading is not None:
            return False
        return self.run.choose(test) if holds is None else holds

    # ------------------------------------------------------------------------------------------ branches and loops

    def visit_If(self, node: ast.If) -> Flowing:
        holds = self._condition(node.test, self._only_complains(node.body))
        if holds is None:
            return self._leave_out(node, [node.body, node.orelse])
        return (yield from self.block(node.body if holds else node.orelse))

    def visit_For(self, node: ast.For) -> Flowing:
        found = self._part(node.iter)
        if is_vague(found):
            way = self.run.choose(node)
            if way is None:
                self._leave_out(node, [node.body])
            found = [UNKNOWN] if way else []
        environment = self.run.environment
        for count, item in enumerate(self.run.attributes.iterate(found)):
            self.run.environment = environment
            if count > MAX_TURNS:
                raise Undecided("a loop goes on for too long")
            self.assign(node.target, item)
            flow = yield from self.block(node.body)
            if flow in (BREAK, RETURN):
                return NEXT if flow == BREAK else flow
        self.run.environment = environment
        return (yield from self.block(node.orelse))

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> Flowing:
        for _ in range(MAX_TURNS if self.run.reading is None else MAX_TURNS_READ):
            holds = self.run.truth(self._part(node.test))
            way = self.run.choose(node) if holds is None else holds
            if way is None:
                return self._leave_out(node, [node.body])
            if not way:
                return (yield from self.block(node.orelse))
            flow = yield from self.block(node.body)
            if flow in (BREAK, RETURN) or holds is None:  # the next turn would be the same
                return flow if flow == RETURN else NEXT
        if self.run.reading is not None:
            return NEXT
        raise Undecided("a loop goes on for too long")

    def visit_Match(self, node: ast.Match) -> Flowing:
        subject = self._part(node.subject)
        for case in node.cases:
            fits = self._fits(case.pattern, subject)
            if fits and case.guard is not None:
                fits = self._condition(case.guard)
            fits = self.run.choose(case) if fits is None else fits
            if fits is None:
                return self._leave_out(node, [one.body for one in node.cases])
            if fits:
                return (yield from self.block(case.body))
        return NEXT

    def _fits(self, pattern: ast.pattern, subject: PyValue) -> bool | None:
        """Whether a value fits a pattern, whose names are then bound."""
        if isinstance(pattern, ast.MatchAs):
            fits = True if pattern.pattern is None else self._fits(pattern.pattern, subject)
            if fits and pattern.name:
                self.run.bind(pattern.name, subject)
            return fits
        if subject is UNKNOWN:
            return None
        if isinstance(pattern, ast.MatchOr):
            return any_of(self._fits(one, subject) for one in pattern.patterns)
        if isinstance(pattern, ast.MatchValue):
            return self.run.expressions.compared(ast.Eq(), subject, self._value(pattern.value))
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
        for statement in (one for body in blocks for one in body):
            self.run.lose(statement)
        return NEXT

    @staticmethod
    def _only_complains(body: list[ast.stmt]) -> bool:
        return bool(body) and isinstance(body[-1], ast.Raise) and all(
            isinstance(one, ast.Raise | ast.Assign | ast.Expr) for one in body
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------ exceptions

    def visit_Try(self, node: ast.Try) -> Flowing:
        environment, depth = self.run.environment, self.run.depth
        try:
            flow = yield from self._tried(node, environment, depth)
        except Thrown:
            self.run.environment, self.run.depth = environment, depth
            yield from self._finally(node)
            raise
        return (yield from self._finally(node, flow))

    visit_TryStar = visit_Try

    def _tried(self, node: ast.Try, environment: Namespace, depth: int) -> Flowing:
        """The body, and the handler or the ``else`` behind it."""
        failed: Thrown | None = None
        around = len(self.run.guards)
        self.run.guards.append(node)
        try:
            flow = yield from self.block(node.body)
        except Thrown as thrown:
            self.run.environment, self.run.depth = environment, depth
            failed = thrown
        finally:
            del self.run.guards[around:]
        if failed is not None:
            return (yield from self._handle(node, failed))
        return flow if flow != NEXT else (yield from self.block(node.orelse))

    def _finally(self, node: ast.Try, flow: int = NEXT) -> Flowing:
        returned = self.run.returned
        last = yield from self.block(node.finalbody)
        if last != NEXT:
            return last
        self.run.returned = returned
        return flow

    def _handle(self, node: ast.Try, thrown: Thrown) -> Flowing:
        for handler in node.handlers:
            wanted = Native("BaseException") if handler.type is None else self._value(handler.type)
            caught = self.catches(wanted, thrown.error)
            caught = self.run.choose(handler) if caught is None else caught
            if caught is None:
                # It is not taken for caught: a failed load must not be hidden by what is not known.
                self.run.note_unclear(Undecided("whether an exception is caught is not known"), node, decides=True)
                raise thrown
            if not caught:
                continue
            if handler.name:
                self.run.bind(handler.name, thrown.error)
            self.run.handled.append(thrown.error)
            try:
                return (yield from self.block(handler.body))
            finally:
                self.run.handled.pop()
        raise thrown

    @staticmethod
    def catches(wanted: PyValue, error: Instance) -> bool | None:
        """Whether an ``except`` catches an exception."""
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        return any_of(is_kind(error.kind, kind) for kind in kinds)

    # ------------------------------------------------------------------------------------------------- with

    def visit_With(self, node: ast.With) -> Flowing:
        return (yield from self._with(node, 0))

    visit_AsyncWith = visit_With

    def _with(self, node: ast.With, at: int) -> Flowing:
        if at == len(node.items):
            return (yield from self.block(node.body))
        item = node.items[at]
        manager = self._part(item.context_expr)
        entered = self.enter(manager)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered)
        environment, depth = self.run.environment, self.run.depth
        around = len(self.run.guards)
        if isinstance(manager, Managed) and manager.kind == "generator":
            self.run.guards += manager.value.guards
        elif isinstance(manager, Instance) or (isinstance(manager, Managed) and manager.kind in ("suppress", "stack")):
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
            return manager if manager.kind in ("stack", "file", "folder") else manager.value
        if isinstance(manager, Instance):
            return self.run.calls.call(self.run.attributes.attribute(manager, "__enter__"), [], {})
        return manager

    def leave(self, manager: PyValue, thrown: Instance | None) -> bool:
        """``__exit__``; whether the exception is suppressed."""
        kind = manager.kind if isinstance(manager, Managed) else ""
        if kind == "folder":
            self.run.machine.close_folder(manager.value)
        elif kind == "suppress":
            return thrown is not None and bool(self.catches(manager.value, thrown))
        elif kind == "stack":
            return True in [self.leave(one, thrown) for one in reversed(manager.value)]
        elif kind == "generator":
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

    def concerns(self, node: ast.AST) -> bool:
        """Whether a statement may change what is loaded, or where the code goes on."""
        found = _concern_of(node)
        self.run.step(found.size)
        imports_own = any(map(self.run.importer.imports_own, found.imports))
        return found.changes or found.leaves or imports_own or any(map(self._calls_own, found.calls))

    def _calls_own(self, function: ast.expr) -> bool:
        """Whether a call leads to code of the package, in a file that loads DLLs."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = self.run.environment.globals.get(function.value.id)
            return isinstance(owner, CodeClass | Instance) or (isinstance(owner, CodeModule) and not owner.is_compiled)
        if not isinstance(function, ast.Name):
            return False
        found = self.run.environment.names.get(function.id, self.run.environment.globals.get(function.id))
        found = found.names.get("__init__") if isinstance(found, CodeClass) else unmarked(found)
        if isinstance(found, CodeFunction):
            return self.run.loads(found.environment.file)
        return isinstance(found, Instance)


class _Concern(NamedTuple):
    """What is in a statement, or an expression, that may concern DLLs."""

    size: int
    changes: bool
    """Whether it names what changes the search for DLLs, or loads something."""
    leaves: bool
    """Whether it leaves the function or loop around it, or raises an exception."""
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    calls: tuple[ast.expr, ...]


@once_for_node
def _concern_of(node: ast.AST) -> _Concern:
    inside = list(nodes_in(node))
    return _Concern(
        len(inside),
        any(getattr(one, "attr", getattr(one, "id", "")) in _CHANGING for one in inside),
        # A ``return`` in a function that is only defined here does not leave the code around it.
        any(isinstance(one, _LEAVING) for one in nodes_in(node, FUNCTIONS)),
        tuple(one for one in inside if isinstance(one, ast.Import | ast.ImportFrom)),
        tuple(one.func for one in inside if isinstance(one, ast.Call)),
    )
