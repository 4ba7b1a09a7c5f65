"""The base of the interpreter: its state, what counts as true, and what its parts need of one another."""

from __future__ import annotations

import abc
import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codebudget import MAX_ITEMS, MAX_TEXT
from wheelfix.loader.codereader.valuesize import MAX_PARTS, PYTHON_ERRORS, TooLarge, parts_of
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    Instance,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    UnknownValue,
    WindowsPathValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.loader.interpreter.windows import WindowsMachine

MAX_STEPS = 250_000
"""Expressions and statements of one import; a second or two."""
_STREAMS = frozenset({"sys.stdin", "sys.stdout", "sys.stderr"})
"""They are there in a console program, which python.exe is."""
MAX_CALLS = 30
"""How deep calls of the package's functions may be nested."""
PLAIN_CONTAINERS = (str, bytes, list, tuple, dict, set, frozenset, range)
PLAIN = (int, float, bool, type(None), *PLAIN_CONTAINERS)
_BY_PYTHON = frozenset({"AttributeError", "TypeError", "IndexError", "KeyError", "ValueError", "StopIteration"})
"""Classes of exceptions that an inexact model of Python's library would raise by mistake."""


def error(kind: str, *args: PyValue) -> Thrown:
    """An exception that Python raises by itself."""
    thrown = Thrown(Instance(Native(kind), {"args": args}))
    thrown.error.by_python = kind in _BY_PYTHON
    return thrown


class Evaluation(abc.ABC):
    """Computes an expression by the method that is named for its kind of syntax."""

    def __init__(self, machine: WindowsMachine, steps: int = MAX_STEPS) -> None:
        self.machine = machine
        self.steps = 0
        self.most_steps = steps
        self.environment = Namespace({}, {}, "")
        self.depth = 0
        self.handled: list[Instance] = []
        """The exceptions that are being handled."""

    # ---------------------------------------------------------------------------------- what later layers add

    @abc.abstractmethod
    def binds(self, name: str) -> bool:
        """Whether the code of the running file gives a value to a name anywhere."""

    @abc.abstractmethod
    def attribute(self, owner: PyValue, name: str) -> PyValue:
        """What ``owner.name`` gives."""

    @abc.abstractmethod
    def call(self, function: PyValue, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something."""

    @abc.abstractmethod
    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> CodeFunction:
        """The function that a definition makes."""

    @abc.abstractmethod
    def assign(self, target: ast.expr, value: PyValue) -> None:
        """Give a value to whatever stands on the left of ``=``."""

    @abc.abstractmethod
    def item(self, owner: PyValue, key: PyValue) -> PyValue:
        """What ``owner[key]`` gives."""

    @abc.abstractmethod
    def make_class(self, name: str, bases: list[PyValue], names: dict[str, PyValue]) -> PyValue:
        """A class from its body."""

    @abc.abstractmethod
    def is_same(self, one: PyValue, other: PyValue) -> bool:
        """Whether two values are equal for certain."""

    @abc.abstractmethod
    def run(self, body: list[ast.stmt]) -> int:
        """Carry out statements; say how they end."""

    @abc.abstractmethod
    def parsed(self, source: str) -> ast.Module | None:
        """The syntax tree of code that is given to ``exec``; None if it cannot be parsed."""

    @abc.abstractmethod
    def open_file(self, text: str, mode: PyValue) -> PyValue:
        """``open``: a small text file of the package, for reading."""

    @abc.abstractmethod
    def next_of(self, args: list[PyValue]) -> PyValue:
        """``next``."""

    @abc.abstractmethod
    def iterate(self, value: PyValue) -> Iterator[PyValue]:
        """Iterate over the items of a value; Undecided if they are not known."""

    @abc.abstractmethod
    def call_with_unknown(self, function: PyValue) -> PyValue:
        """Call something with arguments that are not known."""

    @abc.abstractmethod
    def concerns(self, node: ast.AST, depth: int = 3) -> bool:
        """Whether a statement or expression may change what is loaded, or where the code goes on."""

    # --------------------------------------------------------------------------------------- one expression

    def step(self, count: int = 1) -> None:
        """Count work."""
        self.steps += count
        if self.steps > self.most_steps:
            raise Undecided("its code goes on for too long")

    def value(self, node: ast.expr) -> PyValue:
        """What an expression gives."""
        self.step()
        compute: Callable[[ast.expr], PyValue] | None = getattr(self, f"visit_{type(node).__name__}", None)
        if compute is None:
            raise Undecided(f"{type(node).__name__} is not interpreted")
        found = compute(node)
        return found if isinstance(node, ast.Constant | ast.Name) else self.bounded(found)

    def bounded(self, found: PyValue) -> PyValue:
        """A value that was made, with its size counted as work; unknown if it is a text that is too long."""
        if isinstance(found, str | bytes | WindowsPathValue):
            length = len(found.text if isinstance(found, WindowsPathValue) else found)
            self.step(length >> 8)
            return UNKNOWN if length > MAX_TEXT else found
        if isinstance(found, list | tuple | dict | set):
            self.step(len(found) >> 4)
            if not isinstance(found, dict | set) and len(found) > MAX_ITEMS:
                raise Undecided("its lists grow too long")
        return found

    # ----------------------------------------------------------------------- what Python may be asked to do

    def is_plain(self, *values: PyValue) -> bool:
        """Whether values are Python's own all the way down, and small, so that Python can print and compare them."""
        return self._all_parts(values, lambda part: isinstance(part, PLAIN))

    def can_be_key(self, value: PyValue) -> bool:
        """Whether a value can be the key of a dictionary, and takes little time to hash."""
        return self._all_parts(value, lambda part: not isinstance(part, list | dict | set | UnknownValue))

    def _all_parts(self, value: PyValue, holds: Callable[[PyValue], bool]) -> bool:
        count, found = 0, True
        try:
            for part in parts_of(value):
                count += 1
                if not holds(part):
                    found = False
                    break
        except TooLarge:
            count, found = MAX_PARTS, False
        self.step(count >> 4)
        return found

    def key(self, value: PyValue) -> PyValue:
        """The value, which is about to be looked up in a dictionary or set; Undecided or TypeError if it cannot be."""
        if not self.can_be_key(value):
            if isinstance(value, list | dict | set):
                raise error("TypeError", "unhashable type")
            raise Undecided("a key of a dictionary is not known")
        return value

    @staticmethod
    def attempt(function: Callable[..., PyValue], *args: PyValue, **keywords: PyValue) -> PyValue:
        """What a function of Python gives for values that are small; what it raises is raised in the code."""
        try:
            return function(*args, **keywords)
        except PYTHON_ERRORS as raised:
            thrown = error(type(raised).__name__, *(one for one in raised.args if isinstance(one, str | int)))
            thrown.error.by_python = True
            raise thrown from None

    def condition(self, node: ast.expr) -> bool | None:
        """Whether a condition holds; None if that is not known."""
        return self.truth(self.value(node))

    def truth(self, value: PyValue) -> bool | None:
        """Whether a value counts as true; None if that is not known."""
        if isinstance(value, UnknownValue | Native):
            return True if isinstance(value, Native) and value.name in _STREAMS else None
        if isinstance(value, Instance):
            return self._truth_of(value)
        if isinstance(value, PLAIN):
            return bool(value)
        return True

    def _truth_of(self, value: Instance) -> bool | None:
        for name in ("__bool__", "__len__"):
            if isinstance(value.kind, CodeClass) and any(
                isinstance(one, CodeClass) and name in one.names for one in value.kind.order()
            ):
                return self.truth(self.call(self.attribute(value, name), [], {}))
        return True if not isinstance(value.kind, CodeClass) or value.kind.is_known else None
