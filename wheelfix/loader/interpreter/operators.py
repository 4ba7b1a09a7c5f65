"""Operators and comparisons: Python's own on values that are known, an unknown value for the rest."""

from __future__ import annotations

import ast
import ntpath
import operator
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codebudget import MAX_ITEMS, MAX_TEXT
from wheelfix.loader.interpreter.evaluation import PLAIN, error
from wheelfix.loader.interpreter.namelookup import is_builtin
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    LoadedDll,
    Native,
    PyValue,
    UnknownValue,
    WindowsPathValue,
)
from wheelfix.loader.interpreter.texts import TextValues

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_POWER = 64
_OPERATORS: dict[type[ast.operator], Callable[[PyValue, PyValue], PyValue]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}
_COMPARED: dict[type[ast.cmpop], Callable[[PyValue, PyValue], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class Operators(TextValues):
    """Computes what operators give."""

    def visit_BoolOp(self, node: ast.BoolOp) -> PyValue:
        decisive = isinstance(node.op, ast.Or)
        unknown = False
        for part in node.values:
            found = self.value(part)
            holds = self.truth(found)
            if holds is None:
                unknown = True
            elif holds is decisive:
                return UNKNOWN if unknown else found
        return UNKNOWN if unknown else found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> PyValue:
        found = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            holds = self.truth(found)
            return UNKNOWN if holds is None else not holds
        if isinstance(node.op, ast.Invert):
            return ~int(found) if isinstance(found, int) else UNKNOWN
        if isinstance(found, int | float):
            return -found if isinstance(node.op, ast.USub) else found
        return UNKNOWN

    def visit_BinOp(self, node: ast.BinOp) -> PyValue:
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def binary(self, op: ast.operator, left: PyValue, right: PyValue) -> PyValue:
        """What an operator between two values gives."""
        if isinstance(op, ast.Div) and (isinstance(left, WindowsPathValue) or isinstance(right, WindowsPathValue)):
            return self._joined(left, right)
        if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
            return self._percent(left, right)
        if isinstance(left, Instance | UnknownValue | Native) or isinstance(right, Instance | UnknownValue | Native):
            return UNKNOWN
        if not isinstance(left, PLAIN) or not isinstance(right, PLAIN):
            return UNKNOWN
        numbers = _small_numbers(left, right)
        if isinstance(op, ast.Pow | ast.LShift) and not (numbers and _is_power(right)):
            return UNKNOWN
        if isinstance(op, ast.Mult) and not numbers:
            return self._repeated(left, right)
        compute = _OPERATORS.get(type(op))
        if compute is None:
            return UNKNOWN
        try:
            return compute(left, right)
        except TypeError:
            raise error("TypeError", "unsupported operand") from None
        except (ArithmeticError, ValueError, MemoryError):
            return UNKNOWN

    def _repeated(self, left: PyValue, right: PyValue) -> PyValue:
        count, what = (left, right) if isinstance(left, int) else (right, left)
        if isinstance(count, int) and isinstance(what, str | list | tuple) and len(what) * max(count, 0) <= MAX_ITEMS:
            return what * count
        return UNKNOWN

    def _joined(self, left: PyValue, right: PyValue) -> PyValue:
        parts = [part.text if isinstance(part, WindowsPathValue) else part for part in (left, right)]
        if not all(isinstance(part, str) for part in parts):
            if any(part is None for part in parts):
                raise error("TypeError", "unsupported operand type(s) for /")
            return UNKNOWN
        if sum(map(len, parts)) > MAX_TEXT:
            return UNKNOWN
        return WindowsPathValue(ntpath.normpath(ntpath.join(*parts)) if parts[0] != "" else parts[1])

    # ---------------------------------------------------------------------------------------- comparisons

    def visit_Compare(self, node: ast.Compare) -> PyValue:
        left = self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            holds = self.compared(op, left, right)
            if holds is None:
                return UNKNOWN
            if not holds:
                return False
            left = right
        return True

    def compared(self, op: ast.cmpop, left: PyValue, right: PyValue) -> bool | None:
        """Whether a comparison holds; None if that is not known."""
        if isinstance(op, ast.In | ast.NotIn):
            found = self.contains(right, left)
            return None if found is None else found is isinstance(op, ast.In)
        if isinstance(left, UnknownValue) or isinstance(right, UnknownValue):
            return None
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and (left is None or right is None):
            return (left is right) is isinstance(op, ast.Is | ast.Eq)
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and not self.is_plain(left, right):
            return self._same(left, right, isinstance(op, ast.Is | ast.Eq))
        if not self.is_plain(left, right):
            return None
        if isinstance(op, ast.Is | ast.IsNot) and not isinstance(left, bool) and not isinstance(right, bool):
            return (left == right) is isinstance(op, ast.Is)
        try:
            return bool(_COMPARED[type(op)](left, right))
        except TypeError:
            raise error("TypeError", "not supported between instances") from None

    @staticmethod
    def _same(left: PyValue, right: PyValue, wanted: bool) -> bool | None:
        if left is right:
            return wanted
        if isinstance(left, Native) and isinstance(right, Native):
            return (
                wanted if left == right else (not wanted if is_builtin(left.name) and is_builtin(right.name) else None)
            )
        known = (WindowsPathValue, CodeFunction, CodeClass, CodeModule, LoadedDll)
        if isinstance(left, known) and isinstance(right, known):
            return (left == right) is wanted
        if isinstance(left, known) and isinstance(right, Native):
            return not wanted
        if isinstance(left, Native) and isinstance(right, known):
            return not wanted
        return None

    def contains(self, owner: PyValue, wanted: PyValue) -> bool | None:
        """Whether something is in another; None if that is not known."""
        if isinstance(owner, Native) and owner.name == "os.environ":
            return self.machine.variable(wanted) is not None if isinstance(wanted, str) else None
        if isinstance(owner, Native) and owner.name == "sys.modules":
            return None
        if isinstance(wanted, UnknownValue):
            return None
        if isinstance(owner, dict):
            return (wanted in owner) if self.can_be_key(wanted) else None
        if isinstance(owner, str):
            if not isinstance(wanted, str):
                raise error("TypeError", "'in <string>' requires string as left operand")
            return wanted in owner
        if isinstance(owner, WindowsPathValue) or owner is None:
            raise error("TypeError", "argument is not iterable")
        if isinstance(owner, list | tuple | set | frozenset | range):
            self.step(len(owner))
            found = [self.compared(ast.Eq(), wanted, item) for item in owner]
            return True if True in found else None if None in found else False
        return None


def _small_numbers(*values: PyValue) -> bool:
    return all(isinstance(value, int | float) and abs(value) < 1 << 80 for value in values)


def _is_power(value: PyValue) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_POWER
