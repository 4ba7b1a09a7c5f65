"""Carries out statements in order: blocks, and the statements that have none inside.

Blocks are Python generators, so that a generator of the package stops where it yields and goes on from there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.interpreter.concerns import Concerns
from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    Instance,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

NEXT, BREAK, CONTINUE, RETURN = range(4)
"""How a statement ends."""
_COMPOUND = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)


class Statements(Concerns):
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
        if isinstance(found, UnknownValue):
            raise Undecided("what is raised is not known")
        if not isinstance(found, Instance):
            raise error("TypeError", "exceptions must derive from BaseException")
        raise Thrown(found)

    # ------------------------------------------------------------------------------------------- definitions

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        found: PyValue = self.function(node)
        for decorator in reversed(node.decorator_list):
            mark = self.value(decorator)
            made = self.decorated(mark, found)
            found = found if isinstance(made, UnknownValue) else made
        self.environment.names[node.name] = found

    visit_AsyncFunctionDef = visit_FunctionDef

    def decorated(self, mark: PyValue, function: PyValue) -> PyValue:
        """What a decorator makes of a function or class; unknown decorators leave it as it is, and do not call it."""
        return UNKNOWN if isinstance(mark, UnknownValue) else self.call(mark, [function], {})

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
            made = made if isinstance(changed, UnknownValue) else changed
        self._bind(node.name, made)


def _yielded(node: ast.stmt) -> ast.Yield | ast.YieldFrom | None:
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    return value if isinstance(value, ast.Yield | ast.YieldFrom) else None
