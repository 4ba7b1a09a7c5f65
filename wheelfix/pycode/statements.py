"""Carries out statements in order: blocks, assignments, definitions, and what has no block inside.

Blocks are Python generators, so that a generator of the package stops where it yields and goes on from there.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from wheelfix.pycode.budget import PYTHON_ERRORS
from wheelfix.pycode.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    LoadedDll,
    MarkedFunction,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
    error,
)
from wheelfix.pycode.run import BREAK, CONTINUE, NEXT, RETURN, OutOfSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from wheelfix.pycode.run import PythonRun


_COMPOUND: tuple[type[ast.stmt], ...] = (
    *(ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match, ast.AsyncFor, ast.AsyncWith),
    *([getattr(ast, "TryStar")] if sys.version_info >= (3, 11) else []),  # noqa: B009
)


class Statements:
    """Carries out statements."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.run.expressions.value(node.value)
        for target in node.targets:
            self.assign(target, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.run.expressions.value(node.value))
        if isinstance(node.target, ast.Name) and "<fields>" in self.run.environment.names:
            self.run.environment.names["<fields>"].append((node.target.id, ast.unparse(node.annotation)))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        left, right = self.run.expressions.value(node.target), self.run.expressions.value(node.value)
        if isinstance(node.op, ast.Add) and isinstance(left, list):
            unknown = self.run.reading is not None and isinstance(right, UnknownValue | Native)
            self.run.changing(left)
            left += [UNKNOWN] if unknown else list(self.run.attributes.iterate(right))
            self.assign(node.target, self.run.bounded(left))
        else:
            self.assign(node.target, self.run.bounded(self.run.expressions.binary(node.op, left, right)))

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._remove(self.run.environment.names, target.id)
            elif isinstance(target, ast.Subscript):
                owner, key = self.run.expressions.value(target.value), self.run.expressions.value(target.slice)
                if isinstance(owner, dict) and not isinstance(key, UnknownValue):
                    self._remove(owner, self.run.key(key))
                elif isinstance(owner, Native) and owner.name == "os.environ" and isinstance(key, str):
                    self.run.machine.variables.pop(key.upper(), None)

    def _remove(self, names: dict[PyValue, PyValue], name: PyValue) -> None:
        if name in names:
            self.run.store(names, name, names[name])  # a branch remembers it
            del names[name]

    def assign(self, target: ast.expr, value: PyValue) -> None:
        """Give a value to whatever stands on the left of ``=``."""
        if isinstance(target, ast.Name):
            self.run.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            self._set_attribute(self.run.expressions.value(target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)

    def _unpack(self, targets: list[ast.expr], value: PyValue) -> None:
        if isinstance(value, UnknownValue | Native):
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

    def _set_attribute(self, owner: PyValue, name: str, value: PyValue) -> None:
        if isinstance(owner, Instance):
            setter = self.setter_of(owner, name)
            if setter is not None:
                self.run.calls.call(setter, [owner, value], {})
            else:
                self.run.store(owner.attributes, name, value)
        elif isinstance(owner, LoadedDll | CodeFunction):
            self.run.store(owner.attributes, name, value)
        elif isinstance(owner, CodeClass | CodeModule):
            self.run.store(owner.names, name, value)
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
        owner = self.run.expressions.value(target.value)
        if isinstance(target.slice, ast.Slice):
            if isinstance(owner, list) and target.slice.lower is None and target.slice.upper is None:
                self.run.changing(owner)
                owner[:] = list(self.run.attributes.iterate(value))
            return
        key = self.run.expressions.value(target.slice)
        if isinstance(owner, Native) and owner.name == "os.environ":
            if not isinstance(key, str) or (isinstance(value, UnknownValue) and key.upper() == "PATH"):
                if isinstance(key, str) and self.run.reading is not None:
                    self.run.store(self.run.machine.variables, key.upper(), UNKNOWN)
                raise Undecided("an environment variable is not known")
            if not isinstance(value, str | UnknownValue):
                raise error("TypeError", "str expected")
            self.run.store(self.run.machine.variables, key.upper(), value)
        elif isinstance(owner, dict) and not isinstance(key, UnknownValue):
            self.run.store(owner, self.run.key(key), value)
        elif isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
            self.run.changing(owner)
            owner[key] = value
        elif isinstance(owner, Instance):
            self.run.attributes.set_item_of(owner, key, value)

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

    def block(self, body: list[ast.stmt]) -> Generator[PyValue, None, int]:
        """Carry out statements; yields what they yield, returns how they end."""
        for node in body:
            self.run.step()
            flow = yield from self._statement(node)
            if flow != NEXT:
                return flow
        return NEXT

    def _statement(self, node: ast.stmt) -> Generator[PyValue, None, int]:
        """Carry out one statement; one that cannot be followed is passed over, and that is remembered."""
        try:
            if isinstance(node, _COMPOUND):
                return (yield from self.run.flow.follow(node))
            yielded = _yielded(node)
            if yielded is None:
                return self._placed(node)
            yield from self._yield(node, yielded)
        except (Undecided, *PYTHON_ERRORS) as reason:  # the latter for arguments that the model does not expect
            if self.run.reading is None:
                return self._left_unclear(node, reason)
            return self._passed_over(node)
        except Thrown as thrown:
            if self.run.reading is None and self._follows_from_unclear(thrown):
                return self._left_unclear(node, thrown)
            if self.run.reading is None or self.run.reading.is_thrown(thrown):
                raise
            return self._passed_over(node)
        return NEXT

    def _follows_from_unclear(self, thrown: Thrown) -> bool:
        """Whether an exception that ends an import may be one that only the model raises: it does not know all."""
        run, failure = self.run, thrown.error.failure
        outside = run.environment.names is run.environment.globals and not run.guards
        if failure is None:
            return outside and thrown.error.by_python and not run.machine.missed
        return outside and failure.cause == "name" and bool(run.unclear)

    def _left_unclear(self, node: ast.stmt, reason: Exception) -> int:
        """Go on behind a statement of an import that cannot be followed: nothing it does has happened."""
        self.run.note_unclear(reason, node)
        if isinstance(node, ast.Raise):
            raise Thrown(Instance(Native("Exception")))
        for name in assigned(node):
            self.run.bind(name, UNKNOWN)
        return self._passed_over(node)

    def _passed_over(self, node: ast.stmt) -> int:
        """Go on behind a statement whose effect is not known."""
        if isinstance(node, ast.Return):
            self.run.returned = UNKNOWN
            return RETURN
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for inner in (inner for target in targets if target is not None for inner in ast.walk(target)):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                self.run.bind(inner.id, UNKNOWN)
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            self.run.bind((alias.asname or alias.name).partition(".")[0], UNKNOWN)
        return NEXT

    def _yield(self, node: ast.stmt, expression: ast.Yield | ast.YieldFrom) -> Generator[PyValue, None, None]:
        environment = self.run.environment
        if isinstance(expression, ast.YieldFrom):
            for item in self.run.attributes.iterate(self.run.expressions.value(expression.value)):
                yield item
                self.run.environment = environment
        else:
            yield self.run.expressions.value(expression.value) if expression.value is not None else None
            self.run.environment = environment
        for target in node.targets if isinstance(node, ast.Assign) else ():
            self.assign(target, None)

    def _placed(self, node: ast.stmt) -> int:
        """Carry out a simple statement; an exception remembers where it was raised first."""
        try:
            return self._simple(node)
        except Thrown as thrown:
            if not thrown.error.place[0]:
                thrown.error.place = (self.run.environment.file, node.lineno)
            raise
        except (Undecided, OutOfSteps) as undecided:
            if not undecided.place[0]:
                undecided.place = (self.run.environment.file, node.lineno)
            raise

    def _simple(self, node: ast.stmt) -> int:
        follow: Callable[[ast.stmt], int | None] | None = getattr(self, f"visit_{type(node).__name__}", None)
        if follow is None:
            raise Undecided(f"{type(node).__name__} is not interpreted")
        return follow(node) or NEXT

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.run.importer.import_statement(node)

    visit_ImportFrom = visit_Import

    # ---------------------------------------------------------------------------------------- plain statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.run.expressions.value(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Break(self, node: ast.Break) -> int:
        return BREAK

    def visit_Continue(self, node: ast.Continue) -> int:
        return CONTINUE

    def visit_Return(self, node: ast.Return) -> int:
        self.run.returned = self.run.expressions.value(node.value) if node.value is not None else None
        return RETURN

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.run.environment.outer |= set(node.names)

    visit_Nonlocal = visit_Global

    def visit_Assert(self, node: ast.Assert) -> None:
        if self.run.expressions.condition(node.test) is False:
            thrown = error("AssertionError")
            thrown.raised = True
            raise thrown

    def visit_Raise(self, node: ast.Raise) -> None:
        thrown = self._raised(node)
        thrown.raised = True
        raise thrown

    def _raised(self, node: ast.Raise) -> Thrown:
        if node.exc is None:
            if not self.run.handled:
                return error("RuntimeError", "No active exception to reraise")
            return Thrown(self.run.handled[-1])
        found = self.run.expressions.value(node.exc)
        if isinstance(found, CodeClass | Native):
            found = self.run.calls.call(found, [], {})
        if self.run.reading is not None and not isinstance(found, Instance):
            return Thrown(Instance(Native(_name_of_raised(node.exc))))
        if isinstance(found, UnknownValue):
            raise Undecided("what is raised is not known")
        if not isinstance(found, Instance):
            return error("TypeError", "exceptions must derive from BaseException")
        return Thrown(found)

    # ------------------------------------------------------------------------------------------- definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        found: PyValue = self.run.calls.function(node)
        for decorator in reversed(node.decorator_list):
            mark = self.run.expressions.value(decorator)
            made = self.decorated(mark, found)
            found = found if isinstance(made, UnknownValue) else made
        self.run.store(self.run.environment.names, node.name, found)

    visit_AsyncFunctionDef = visit_FunctionDef

    def decorated(self, mark: PyValue, function: PyValue) -> PyValue:
        """What a decorator makes of a function or class; unknown decorators leave it as it is, and do not call it."""
        return UNKNOWN if isinstance(mark, UnknownValue) else self.run.calls.call(mark, [function], {})

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [self.run.expressions.value(base) for base in node.bases if not isinstance(base, ast.Starred)]
        outer = self.run.environment
        names: dict[str, PyValue] = {"<fields>": []}
        self.run.environment = Namespace(names, outer.globals, outer.file, outer)
        try:
            self.execute(node.body)
        finally:
            self.run.environment = outer
        words = {word.arg: self.run.expressions.part(word.value) for word in node.keywords if word.arg is not None}
        maker = words.pop("metaclass", None)
        made: PyValue = self.run.calls.make_class(node.name, bases, names, words)
        if isinstance(maker, CodeClass) and isinstance(made, CodeClass):
            made.maker = maker
        for decorator in reversed(node.decorator_list):
            mark = self.run.expressions.value(decorator)
            changed = self.decorated(mark, made)
            made = made if isinstance(changed, UnknownValue) else changed
        self.run.bind(node.name, made)


def assigned(node: ast.AST) -> tuple[str, ...]:
    """The names that a statement, or one inside of it, gives a value to; its tree is walked once."""
    known: tuple[str, ...] | None = getattr(node, "assigned", None)
    if known is None:
        names = []
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names.append(inner.id)
            elif isinstance(inner, ast.alias):
                names.append((inner.asname or inner.name).partition(".")[0])
            elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(inner.name)
        known = node.assigned = tuple(dict.fromkeys(names))  # type: ignore[attr-defined]
    return known


def _yielded(node: ast.stmt) -> ast.Yield | ast.YieldFrom | None:
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    return value if isinstance(value, ast.Yield | ast.YieldFrom) else None


def _name_of_raised(node: ast.expr) -> str:
    """The class of an exception, as far as the code spells it."""
    named = node.func if isinstance(node, ast.Call) else node
    name = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "Exception")
    return "OSError" if name == "WinError" else name if name[:1].isupper() or name[:1] == "_" else "Exception"
