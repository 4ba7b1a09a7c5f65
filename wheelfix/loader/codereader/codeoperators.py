"""What operators, comparisons and conditions of Python code give on Windows, without running them."""

from __future__ import annotations

import ast
import itertools
import operator
from typing import TYPE_CHECKING

from wheelfix.loader.codereader import codemethods, codesyntax
from wheelfix.loader.codereader.codescope import Names
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    UNKNOWN,
    Items,
    bounded,
    combined,
    join,
    truth,
    united,
)
from wheelfix.pycode.valuesize import PYTHON_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.codereader.codevalue import Atom, Value

MAX_POWER = 64


class OperatorValues(Names):
    """What operators give; what their operands give is computed by a later class."""

    def condition(self, node: ast.expr) -> bool | None:
        """Whether a condition holds; None if that is not known."""
        if codesyntax.never_holds(node):
            return False
        return truth(self.value(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        decisive = isinstance(node.op, ast.Or)
        found: list[Value] = []
        for part in node.values:
            value = self.value(part)
            holds = truth(value)
            if holds is decisive:
                return united([*found, value])
            if holds is None:
                found.append(tuple(atom for atom in value if truth((atom,)) is not (not decisive)) or value)
        return united([*found, value])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            holds = truth(value)
            return ANYTHING if holds is None else (not holds,)
        if isinstance(node.op, ast.USub):
            return combined(lambda atom: -atom if isinstance(atom, int) else UNKNOWN, value)
        return ANYTHING

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):  # a long sum must not recurse deeply
            self.budget.step()
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for part in reversed(chain):
            value = bounded(self.binary(part.op, value, self.value(part.right)), self.budget)
        return value

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        """What an operator between two values gives."""
        if isinstance(op, ast.Mod) and any(isinstance(atom, str) for atom in left):
            return combined(lambda text, args: codemethods.percent(text, args, self.budget), left, right)
        return combined(lambda one, other: self._calculated(op, one, other), left, right)

    def _calculated(self, op: ast.operator, left: Atom, right: Atom) -> Atom:
        if isinstance(op, ast.Div) and (isinstance(left, str) or isinstance(right, str)):
            return join(left, right)
        if isinstance(op, ast.Add) and isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(op, ast.Add) and isinstance(left, Items):
            more = right.items if isinstance(right, Items) else ()
            whole = left.complete and isinstance(right, Items) and right.complete
            return Items((*left.items, *more), whole)
        calculate = _ARITHMETIC.get(type(op))
        if calculate is None or not isinstance(left, int) or not isinstance(right, int):
            return UNKNOWN
        if (isinstance(op, ast.Pow | ast.LShift) and not 0 <= right <= MAX_POWER) or abs(left) >> 80:
            return UNKNOWN
        try:
            return calculate(left, right)
        except PYTHON_ERRORS:
            return UNKNOWN

    def visit_Compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            found = {codesyntax.compared(op, one, other, self.budget) for one, other in itertools.product(left, right)}
            holds = found.pop() if len(found) == 1 else None
            if holds is not True:
                return ANYTHING if holds is None else (False,)
            left = right
        return (True,)


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
