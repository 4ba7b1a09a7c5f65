"""Carries out statements in order. What depends on something unknown is left out if it cannot concern DLLs.

Blocks are Python generators, so that a generator of the package stops where it yields and goes on from there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codesyntax import never_holds
from wheelfix.loader.interpreter.expressions import ExpressionValues, error
from wheelfix.loader.interpreter.objects import (
    MYSTERY,
    CodeClass,
    CodeFunction,
    CodeModule,
    FolderHandle,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    MarkedFunction,
    Mystery,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    is_kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

NEXT, BREAK, CONTINUE, RETURN = range(4)
"""How a statement ends."""
_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Raise)
_CHANGING = frozenset(
    "add_dll_directory CDLL WinDLL OleDLL PyDLL LoadLibrary LoadLibraryExW LoadLibraryW dlopen cdll windll load_library"
    " chdir environ putenv import_module __import__ exec".split()
)
"""Names of what changes the search for DLLs, or loads something."""
MAX_TURNS = 500
DEEPEST = 3
"""Functions that call one another in which is looked for what concerns DLLs."""


class Statements(ExpressionValues):
    """Carries out statements."""

    returned: PyValue = None

    # ------------------------------------------------------------------------------------------------ blocks

    def run(self, body: list[ast.stmt]) -> int:
        """Carry out statements that yield nothing; say how they end."""
        block = self.block(body)
        while True:
            try:
                next(block)
            except StopIteration as end:
                flow: int = end.value
                return flow
            raise Undecided("a function yields where none is expected")

    def block(self, body: list[ast.stmt]) -> Generator[PyValue, None, int]:
        """Carry out statements; yields what they yield, returns how they end."""
        for node in body:
            self.step()
            if isinstance(node, _COMPOUND):
                flow = yield from self._compound(node)
            else:
                yielded = _yielded(node)
                if yielded is not None:
                    yield from self._yield(node, yielded)
                    continue
                flow = self._placed(node)
            if flow != NEXT:
                return flow
        return NEXT

    def _yield(self, node: ast.stmt, expression: ast.Yield | ast.YieldFrom) -> Generator[PyValue, None, None]:
        environment = self.environment
        if isinstance(expression, ast.YieldFrom):
            for item in self.iterate(self.value(expression.value)):
                yield item
                self.environment = environment
        else:
            yield self.value(expression.value) if expression.value is not None else None
            self.environment = environment
        for target in node.targets if isinstance(node, ast.Assign) else ():
            self.assign(target, None)

    def _placed(self, node: ast.stmt) -> int:
        """Carry out a simple statement; an exception remembers where it was raised first."""
        try:
            return self._simple(node)
        except Thrown as thrown:
            if not thrown.error.place[0]:
                thrown.error.place = (self.environment.file, node.lineno)
            raise
        except Undecided as undecided:
            if not undecided.place[0]:
                undecided.place = (self.environment.file, node.lineno)
            raise

    def _simple(self, node: ast.stmt) -> int:
        follow: Callable[[ast.stmt], int | None] | None = getattr(self, f"visit_{type(node).__name__}", None)
        if follow is None:
            raise Undecided(f"{type(node).__name__} is not interpreted")
        return follow(node) or NEXT

    def _compound(self, node: ast.stmt) -> Generator[PyValue, None, int]:
        follow = getattr(self, f"follow_{type(node).__name__.lower()}")
        flow: int = yield from follow(node)
        return flow

    # ---------------------------------------------------------------------------------------- plain statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Break(self, node: ast.Break) -> int:
        return BREAK

    def visit_Continue(self, node: ast.Continue) -> int:
        return CONTINUE

    def visit_Return(self, node: ast.Return) -> int:
        self.returned = self.value(node.value) if node.value is not None else None
        return RETURN

    def visit_Global(self, node: ast.Global) -> None:
        self.environment.outer |= set(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.environment.outer |= set(node.names)

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.value(node.value)
        for target in node.targets:
            self.assign(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))
        if isinstance(node.target, ast.Name) and "<fields>" in self.environment.names:
            self.environment.names["<fields>"].append((node.target.id, ast.unparse(node.annotation)))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        left, right = self.value(node.target), self.value(node.value)
        if isinstance(node.op, ast.Add) and isinstance(left, list):
            left += list(self.iterate(right))
            self.assign(node.target, left)
        else:
            self.assign(node.target, self.binary(node.op, left, right))

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.environment.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                owner, key = self.value(target.value), self.value(target.slice)
                if isinstance(owner, dict) and not isinstance(key, Mystery):
                    owner.pop(key, None)
                elif isinstance(owner, Native) and owner.name == "os.environ" and isinstance(key, str):
                    self.machine.variables.pop(key.upper(), None)

    def visit_Assert(self, node: ast.Assert) -> None:
        if self.condition(node.test) is False:
            raise error("AssertionError")

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            if not self.handled:
                raise error("RuntimeError", "No active exception to reraise")
            raise Thrown(self.handled[-1])
        found = self.value(node.exc)
        if isinstance(found, CodeClass | Native):
            found = self.call(found, [], {})
        if isinstance(found, Mystery):
            raise Undecided("what is raised is not known")
        if not isinstance(found, Instance):
            raise error("TypeError", "exceptions must derive from BaseException")
        raise Thrown(found)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        found: PyValue = self.function(node)
        for decorator in reversed(node.decorator_list):
            mark = self.value(decorator)
            made = self.decorated(mark, found)
            found = found if isinstance(made, Mystery) else made
        self.environment.names[node.name] = found

    visit_AsyncFunctionDef = visit_FunctionDef

    def decorated(self, mark: PyValue, function: PyValue) -> PyValue:
        """What a decorator makes of a function or class; unknown decorators leave it as it is."""
        return self.call(mark, [function], {})

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [self.value(base) for base in node.bases if not isinstance(base, ast.Starred)]
        outer = self.environment
        names: dict[str, PyValue] = {"<fields>": []}
        self.environment = Namespace(names, outer.globals, outer.file, outer)
        try:
            self.run(node.body)
        finally:
            self.environment = outer
        made: PyValue = self.make_class(node.name, bases, names)
        maker = next((self.value(word.value) for word in node.keywords if word.arg == "metaclass"), None)
        if isinstance(maker, CodeClass) and isinstance(made, CodeClass):
            made.maker = maker
        for decorator in reversed(node.decorator_list):
            mark = self.value(decorator)
            changed = self.decorated(mark, made)
            made = made if isinstance(changed, Mystery) else changed
        self._bind(node.name, made)

    # ---------------------------------------------------------------------------------------------- assignment

    def _bind(self, name: str, value: PyValue) -> None:
        place: Namespace | None = self.environment
        if name in self.environment.outer:
            place = self.environment.above
            while place is not None and (name not in place.names or name in place.outer):
                place = place.above
            if place is None:
                self.environment.globals[name] = value
                return
        assert place is not None
        place.names[name] = value

    def assign(self, target: ast.expr, value: PyValue) -> None:
        """Give a value to whatever stands on the left of ``=``."""
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            self._set_attribute(self.value(target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)

    def _unpack(self, targets: list[ast.expr], value: PyValue) -> None:
        if isinstance(value, Mystery | Native):
            for target in targets:
                self.assign(target.value if isinstance(target, ast.Starred) else target, MYSTERY)
            return
        items = list(self.iterate(value))
        star = next((at for at, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        if star is None and len(items) != len(targets):
            raise error("ValueError", "not enough values to unpack")
        if star is not None:
            behind = len(targets) - star - 1
            middle = items[star : len(items) - behind]
            items = [*items[:star], middle, *items[len(items) - behind :]]
        for target, item in zip(targets, items, strict=False):
            self.assign(target.value if isinstance(target, ast.Starred) else target, item)

    def _set_attribute(self, owner: PyValue, name: str, value: PyValue) -> None:
        if isinstance(owner, Instance):
            setter = self.setter_of(owner, name)
            if setter is not None:
                self.call(setter, [owner, value], {})
            else:
                owner.attributes[name] = value
        elif isinstance(owner, LoadedDll | CodeFunction):
            owner.attributes[name] = value
        elif isinstance(owner, CodeClass | CodeModule):
            owner.names[name] = value
        elif isinstance(owner, Native) and owner.name == "os" and name == "environ":
            raise Undecided("os.environ is replaced")

    def setter_of(self, owner: Instance, name: str) -> PyValue:
        """The function of a property that is assigned to; None if there is none."""
        if isinstance(owner.kind, CodeClass):
            for one in owner.kind.order():
                found = one.names.get(name) if isinstance(one, CodeClass) else None
                if isinstance(found, MarkedFunction) and found.kind == "property":
                    return found.kept.get("setter")
        return None

    def _set_item(self, target: ast.Subscript, value: PyValue) -> None:
        owner = self.value(target.value)
        if isinstance(target.slice, ast.Slice):
            if isinstance(owner, list) and target.slice.lower is None and target.slice.upper is None:
                owner[:] = list(self.iterate(value))
            return
        key = self.value(target.slice)
        if isinstance(owner, Native) and owner.name == "os.environ":
            if not isinstance(key, str) or (isinstance(value, Mystery) and key.upper() == "PATH"):
                raise Undecided("an environment variable is not known")
            if not isinstance(value, str | Mystery):
                raise error("TypeError", "str expected")
            self.machine.variables[key.upper()] = value
        elif (isinstance(owner, dict) and not isinstance(key, Mystery | list | dict)) or (
            isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner)
        ):
            owner[key] = value
        elif isinstance(owner, Instance):
            self.set_item_of(owner, key, value)

    def set_item_of(self, owner: Instance, key: PyValue, value: PyValue) -> None:
        """``owner[key] = value`` for an object of the package."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ control flow

    def follow_if(self, node: ast.If) -> Generator[PyValue, None, int]:
        holds = False if never_holds(node.test) else self.condition(node.test)
        if holds is None:
            return self._leave_out(node, [node.body, node.orelse])
        return (yield from self.block(node.body if holds else node.orelse))

    def _leave_out(self, node: ast.stmt, blocks: list[list[ast.stmt]]) -> int:
        """Go on behind statements of which is not known whether they are carried out."""
        for body in blocks:
            if self._only_complains(body) and not self.machine.missed:
                continue  # a check of something that has nothing to do with DLLs, and that is usually met
            for statement in body:
                if self.concerns(statement):
                    raise Undecided(f"a condition decides what {self.environment.file}, line {node.lineno} does")
        for name in dict.fromkeys(name for body in blocks for one in body for name in _assigned(one)):
            self._bind(name, MYSTERY)
        return NEXT

    @staticmethod
    def _only_complains(body: list[ast.stmt]) -> bool:
        return bool(body) and isinstance(body[-1], ast.Raise) and all(
            isinstance(one, ast.Raise | ast.Assign | ast.Expr) for one in body
        )  # fmt: skip

    def concerns(self, node: ast.AST, depth: int = DEEPEST) -> bool:
        """Whether a statement may change what is loaded, or where the code goes on."""
        leaving = _LEAVING if depth == DEEPEST else ast.Raise
        for inner in ast.walk(node):
            self.step()
            if isinstance(inner, leaving):
                return True
            name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
            if name in _CHANGING:
                return True
            if isinstance(inner, ast.ImportFrom | ast.Import) and self.imports_own(inner):
                return True
            if isinstance(inner, ast.Call) and self._calls_own(inner.func, depth):
                return True
        return False

    def imports_own(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether a statement imports a module of the package that has not been imported."""
        raise NotImplementedError

    def _calls_own(self, function: ast.expr, depth: int) -> bool:
        """Whether a call leads to code of the package in which something concerns DLLs."""
        if not isinstance(function, ast.Name):
            return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and bool(
                isinstance(self.environment.globals.get(function.value.id), CodeModule | CodeClass | Instance)
            )  # fmt: skip
        found = self.environment.names.get(function.id, self.environment.globals.get(function.id))
        found = found.function if isinstance(found, MarkedFunction) else found
        if isinstance(found, CodeFunction):
            return depth == 0 or any(self.concerns(one, depth - 1) for one in _body(found.node))
        if isinstance(found, CodeClass):
            starter = found.names.get("__init__")
            body = _body(starter.node) if isinstance(starter, CodeFunction) else []
            return depth == 0 or any(self.concerns(one, depth - 1) for one in body)
        return isinstance(found, Instance)

    def follow_for(self, node: ast.For) -> Generator[PyValue, None, int]:
        found = self.value(node.iter)
        if isinstance(found, Mystery | Native):
            self._leave_out(node, [node.body])
            return (yield from self.block(node.orelse))
        environment = self.environment
        for count, item in enumerate(self.iterate(found)):
            self.environment = environment
            if count > MAX_TURNS:
                raise Undecided("a loop goes on for too long")
            self.assign(node.target, item)
            flow = yield from self.block(node.body)
            if flow == BREAK:
                return NEXT
            if flow == RETURN:
                return flow
        self.environment = environment
        return (yield from self.block(node.orelse))

    def follow_while(self, node: ast.While) -> Generator[PyValue, None, int]:
        for _ in range(MAX_TURNS):
            holds = self.condition(node.test)
            if holds is None:
                return self._leave_out(node, [node.body])
            if not holds:
                return (yield from self.block(node.orelse))
            flow = yield from self.block(node.body)
            if flow == BREAK:
                return NEXT
            if flow == RETURN:
                return flow
        raise Undecided("a loop goes on for too long")

    def follow_match(self, node: ast.Match) -> Generator[PyValue, None, int]:
        subject = self.value(node.subject)
        for case in node.cases:
            fits = self._fits(case.pattern, subject)
            if fits and case.guard is not None:
                fits = self.condition(case.guard)
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
                self._bind(pattern.name, subject)
            return fits
        if isinstance(subject, Mystery):
            return None
        if isinstance(pattern, ast.MatchOr):
            found = [self._fits(one, subject) for one in pattern.patterns]
            return True if True in found else None if None in found else False
        if isinstance(pattern, ast.MatchValue):
            return self.compared(ast.Eq(), subject, self.value(pattern.value))
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

    # --------------------------------------------------------------------------------------------- exceptions

    def follow_try(self, node: ast.Try) -> Generator[PyValue, None, int]:
        environment, depth = self.environment, self.depth
        try:
            flow = yield from self._tried(node, environment, depth)
        except Thrown:
            self.environment, self.depth = environment, depth
            yield from self._finally(node)
            raise
        return (yield from self._finally(node, flow))

    def _tried(self, node: ast.Try, environment: Namespace, depth: int) -> Generator[PyValue, None, int]:
        """The body, and the handler or the ``else`` behind it."""
        try:
            flow = yield from self.block(node.body)
        except Thrown as thrown:
            self.environment, self.depth = environment, depth
            return (yield from self._handle(node, thrown))
        return flow if flow != NEXT else (yield from self.block(node.orelse))

    def _finally(self, node: ast.Try, flow: int = NEXT) -> Generator[PyValue, None, int]:
        returned = self.returned
        last = yield from self.block(node.finalbody)
        if last == NEXT:
            self.returned = returned
        return flow if last == NEXT else last

    def _handle(self, node: ast.Try, thrown: Thrown) -> Generator[PyValue, None, int]:
        for handler in node.handlers:
            wanted = self.value(handler.type) if handler.type is not None else Native("BaseException")
            caught = self.catches(wanted, thrown.error)
            if caught is None:
                raise Undecided("whether an exception is caught is not known")
            if not caught:
                continue
            if handler.name:
                self._bind(handler.name, thrown.error)
            self.handled.append(thrown.error)
            try:
                return (yield from self.block(handler.body))
            finally:
                self.handled.pop()
        raise thrown

    @staticmethod
    def catches(wanted: PyValue, error: Instance) -> bool | None:
        """Whether an ``except`` catches an exception."""
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        found = [is_kind(error.kind, kind) for kind in kinds]
        return True if True in found else None if None in found else False

    def follow_with(self, node: ast.With) -> Generator[PyValue, None, int]:
        return (yield from self._with(node, 0))

    def _with(self, node: ast.With, at: int) -> Generator[PyValue, None, int]:
        if at == len(node.items):
            return (yield from self.block(node.body))
        item = node.items[at]
        manager = self.value(item.context_expr)
        entered = self.enter(manager)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered)
        environment, depth = self.environment, self.depth
        try:
            flow = yield from self._with(node, at + 1)
        except Thrown as thrown:
            self.environment, self.depth = environment, depth
            if self.leave(manager, thrown.error):
                return NEXT
            raise
        self.environment = environment
        returned = self.returned
        self.leave(manager, None)
        self.returned = returned
        return flow

    def enter(self, manager: PyValue) -> PyValue:
        """``__enter__``."""
        if isinstance(manager, Managed):
            if manager.kind == "generator":
                for item in manager.value.items:
                    return item
                raise error("RuntimeError", "generator didn't yield")
            return manager if manager.kind == "stack" else manager.value
        if isinstance(manager, Instance):
            return self.call(self.attribute(manager, "__enter__"), [], {})
        return manager

    def leave(self, manager: PyValue, thrown: Instance | None) -> bool:
        """``__exit__``; whether the exception is suppressed."""
        if isinstance(manager, FolderHandle):
            self.close(manager)
        elif isinstance(manager, Managed) and manager.kind == "suppress":
            return thrown is not None and bool(self.catches(manager.value, thrown))
        elif isinstance(manager, Managed) and manager.kind == "stack":
            return True in [self.leave(one, thrown) for one in reversed(manager.value)]
        elif isinstance(manager, Managed) and manager.kind == "generator":
            return self._leave_generator(manager.value, thrown)
        elif isinstance(manager, Instance):
            given = [None] * 3 if thrown is None else [thrown.kind, thrown, MYSTERY]
            return bool(self.truth(self.call(self.attribute(manager, "__exit__"), given, {}))) and thrown is not None
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

    def close(self, handle: FolderHandle) -> None:
        """Take a folder from the search again."""
        if handle.folder in self.machine.process.user_dirs:
            self.machine.process.user_dirs.remove(handle.folder)


def _yielded(node: ast.stmt) -> ast.Yield | ast.YieldFrom | None:
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    return value if isinstance(value, ast.Yield | ast.YieldFrom) else None


def _body(node: ast.AST) -> list[ast.stmt]:
    body = getattr(node, "body", [])
    return body if isinstance(body, list) else []


def _assigned(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.alias):
            yield (inner.asname or inner.name).partition(".")[0]
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name
