"""What expressions give: Python's own operators on values that are known, and an unknown value for the rest."""

from __future__ import annotations

import abc
import ast
import builtins
import functools
import importlib
import ntpath
import operator
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.winerrors import message_text
from wheelfix.loader.codebudget import MAX_ITEMS, MAX_TEXT
from wheelfix.loader.interpreter.objects import (
    MYSTERY,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    Iteration,
    LoadedDll,
    Mystery,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    WindowsPathValue,
    is_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.loader.interpreter.windows import WindowsMachine

MAX_STEPS = 250_000
"""ExpressionValues and statements of one import; a second or two."""
MAX_CALLS = 30
"""Functions of the package that call one another."""
MAX_POWER = 64
_STARRED = frozenset(
    "ctypes ctypes.util ctypes.wintypes os os.path math struct typing enum time platform pathlib".split()
)
_ONLY_ON_WINDOWS = frozenset(
    "WinDLL OleDLL windll oledll WinError FormatError GetLastError get_last_error set_last_error WINFUNCTYPE HRESULT"
    " DllCanUnloadNow DllGetClassObject".split()
)
PLAIN = (str, int, float, bool, bytes, list, tuple, dict, set, frozenset, type(None), range)

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


_BY_PYTHON = frozenset({"AttributeError", "TypeError", "IndexError", "KeyError", "ValueError", "StopIteration"})
"""Classes of exceptions that an inexact model of Python's library would raise by mistake."""


def error(kind: str, *args: PyValue) -> Thrown:
    """An exception that Python raises by itself."""
    thrown = Thrown(Instance(Native(kind), {"args": args}))
    thrown.error.by_python = kind in _BY_PYTHON
    return thrown


def is_plain(value: PyValue, depth: int = 3) -> bool:
    """Whether a value is Python's own all the way down, so that Python can print and compare it."""
    if isinstance(value, list | tuple | set | frozenset):
        return depth > 0 and all(is_plain(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return depth > 0 and all(is_plain(key, depth - 1) and is_plain(value[key], depth - 1) for key in value)
    return isinstance(value, str | int | float | bytes | range | type(None))


class ExpressionValues(abc.ABC):
    """Computes expressions in the environment that is current."""

    def __init__(self, machine: WindowsMachine, steps: int = MAX_STEPS) -> None:
        self.machine = machine
        self.steps = 0
        self.most_steps = steps
        self.environment = Namespace({}, {}, "")
        self.depth = 0
        self.handled: list[Instance] = []
        """The exceptions that are being handled."""

    # ---------------------------------------------------------------------------------- what others bring

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
        """The syntax tree of code that is given to ``exec``; None if it has none."""

    @abc.abstractmethod
    def open_file(self, text: str, mode: PyValue) -> PyValue:
        """``open``: a small text file of the package, for reading."""

    @abc.abstractmethod
    def next_of(self, args: list[PyValue]) -> PyValue:
        """``next``."""

    @abc.abstractmethod
    def iterate(self, value: PyValue) -> Iterator[PyValue]:
        """Go through the items of something; Undecided if they are not known."""

    # ---------------------------------------------------------------------------------------- expressions

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
        if isinstance(found, str) and len(found) > MAX_TEXT and not isinstance(node, ast.Constant | ast.Name):
            return MYSTERY
        if isinstance(found, list | tuple) and len(found) > MAX_ITEMS:
            raise Undecided("its lists grow too long")
        return found

    def truth(self, value: PyValue) -> bool | None:
        """Whether a value counts as true; None if that is not known."""
        if isinstance(value, Mystery | Native | Iteration):
            return None if not isinstance(value, Iteration) else True
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

    def visit_Constant(self, node: ast.Constant) -> PyValue:
        return node.value if isinstance(node.value, PLAIN) else MYSTERY

    def visit_Name(self, node: ast.Name) -> PyValue:
        return self.look_up(node.id)

    def look_up(self, name: str) -> PyValue:
        """What a name stands for."""
        place: Namespace | None = self.environment
        while place is not None:
            if name in place.names and name not in place.outer:
                return place.names[name]
            place = place.above
        if name in self.environment.globals:
            return self.environment.globals[name]
        for module in reversed(self.environment.globals.get("<star>", ())):
            if not module or name in standard_names(module):
                return Native(f"{module}.{name}") if module else MYSTERY
        if not is_builtin(name):
            raise error("NameError", f"name '{name}' is not defined")
        return Native(name)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> PyValue:
        found = self.value(node.value)
        self.assign(node.target, found)
        return found

    def visit_JoinedStr(self, node: ast.JoinedStr) -> PyValue:
        parts = [self.value(part) for part in node.values]
        return "".join(parts) if all(isinstance(part, str) for part in parts) else MYSTERY

    def visit_FormattedValue(self, node: ast.FormattedValue) -> PyValue:
        found = self.value(node.value)
        spec = self.value(node.format_spec) if node.format_spec is not None else ""
        if node.conversion in (ord("r"), ord("a")):
            return repr(found) if is_plain(found) and spec == "" else MYSTERY
        text = self.text_of(found)
        if spec == "" or not isinstance(spec, str) or len(spec) > 4 or not isinstance(found, str | int):
            return text if spec == "" else MYSTERY
        try:
            return format(found, spec)
        except (TypeError, ValueError):
            return MYSTERY

    def text_of(self, value: PyValue) -> PyValue:
        """What ``str(value)`` gives."""
        if isinstance(value, WindowsPathValue):
            return value.text
        if isinstance(value, Instance):
            args: PyValue = value.attributes.get("args", MYSTERY)
            code = value.attributes.get("winerror")
            if isinstance(code, int) and is_error(value.kind):
                return f"[WinError {code}] {message_text(code)}"
            plain = isinstance(args, tuple) and len(args) == 1 and isinstance(args[0], str)
            return args[0] if plain and "__str__" not in _methods(value.kind) else MYSTERY
        return str(value) if is_plain(value) else MYSTERY

    def visit_IfExp(self, node: ast.IfExp) -> PyValue:
        holds = self.condition(node.test)
        return self.value(node.body if holds else node.orelse) if holds is not None else MYSTERY

    def condition(self, node: ast.expr) -> bool | None:
        """Whether a condition holds; None if that is not known."""
        return self.truth(self.value(node))

    def _elements(self, elements: list[ast.expr]) -> list[PyValue]:
        found: list[PyValue] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                found += list(self.iterate(self.value(element.value)))
            else:
                found.append(self.value(element))
        return found

    def visit_List(self, node: ast.List) -> PyValue:
        return MYSTERY if self._has_unknown(node.elts) else self._elements(node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> PyValue:
        return MYSTERY if self._has_unknown(node.elts) else tuple(self._elements(node.elts))

    def _has_unknown(self, elements: list[ast.expr]) -> bool:
        """Whether something unknown is unpacked among some elements."""
        return any(isinstance(one, ast.Starred) and self._is_unknown(one.value) for one in elements)

    def visit_Set(self, node: ast.Set) -> PyValue:
        return self.as_set(self._elements(node.elts))

    def as_set(self, items: list[PyValue]) -> PyValue:
        """A set, which is kept as a dictionary without values, in the order in which things were added."""
        return set(items) if all(is_plain(item) or isinstance(item, WindowsPathValue) for item in items) else MYSTERY

    def visit_Dict(self, node: ast.Dict) -> PyValue:
        found: dict[PyValue, PyValue] = {}
        known = True
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            if key is None:
                known = known and isinstance(value, dict)
                found.update(value if isinstance(value, dict) else {})
                continue
            name = self.value(key)
            if isinstance(name, Mystery) or not _hashable(name):
                known = False
            else:
                found[name] = value
        return found if known else MYSTERY

    def visit_Lambda(self, node: ast.Lambda) -> PyValue:
        return self.function(node)

    # ------------------------------------------------------------------------------------------ operators

    def visit_BoolOp(self, node: ast.BoolOp) -> PyValue:
        decisive = isinstance(node.op, ast.Or)
        unknown = False
        for part in node.values:
            found = self.value(part)
            holds = self.truth(found)
            if holds is None:
                unknown = True
            elif holds is decisive:
                return MYSTERY if unknown else found
        return MYSTERY if unknown else found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> PyValue:
        found = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            holds = self.truth(found)
            return MYSTERY if holds is None else not holds
        if isinstance(found, int | float):
            return (
                -found if isinstance(node.op, ast.USub) else ~int(found) if isinstance(node.op, ast.Invert) else found
            )
        return MYSTERY

    def visit_BinOp(self, node: ast.BinOp) -> PyValue:
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def binary(self, op: ast.operator, left: PyValue, right: PyValue) -> PyValue:
        """What an operator between two values gives."""
        if isinstance(op, ast.Div) and (isinstance(left, WindowsPathValue) or isinstance(right, WindowsPathValue)):
            return self._joined(left, right)
        if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
            return self._percent(left, right)
        if isinstance(left, Instance | Mystery | Native) or isinstance(right, Instance | Mystery | Native):
            return MYSTERY
        if not isinstance(left, PLAIN) or not isinstance(right, PLAIN):
            return MYSTERY
        numbers = _small_numbers(left, right)
        if isinstance(op, ast.Pow | ast.LShift) and not (numbers and _is_power(right)):
            return MYSTERY
        if isinstance(op, ast.Mult) and not numbers:
            return self._repeated(left, right)
        compute = _OPERATORS.get(type(op))
        if compute is None:
            return MYSTERY
        try:
            return compute(left, right)
        except TypeError:
            raise error("TypeError", "unsupported operand") from None
        except (ZeroDivisionError, ValueError, OverflowError):
            return MYSTERY

    def _repeated(self, left: PyValue, right: PyValue) -> PyValue:
        count, what = (left, right) if isinstance(left, int) else (right, left)
        if isinstance(count, int) and isinstance(what, str | list | tuple) and len(what) * max(count, 0) <= MAX_ITEMS:
            return what * count
        return MYSTERY

    def _joined(self, left: PyValue, right: PyValue) -> PyValue:
        parts = [part.text if isinstance(part, WindowsPathValue) else part for part in (left, right)]
        if not all(isinstance(part, str) for part in parts):
            if any(part is None for part in parts):
                raise error("TypeError", "unsupported operand type(s) for /")
            return MYSTERY
        return WindowsPathValue(ntpath.normpath(ntpath.join(*parts)) if parts[0] != "" else parts[1])

    def _percent(self, text: str | bytes, args: PyValue) -> PyValue:
        given = args if isinstance(args, tuple) else (args,)
        shown = tuple(one if isinstance(one, int | float | str) else self.text_of(one) for one in given)
        if isinstance(text, bytes) or not all(isinstance(one, int | float | str) for one in shown):
            return MYSTERY
        if len(text) > MAX_TEXT or any(mark in text for mark in ("%*", "%(")) or _wide(text):
            return MYSTERY
        try:
            return text % shown
        except (TypeError, ValueError):
            raise error("TypeError", "format") from None

    def visit_Compare(self, node: ast.Compare) -> PyValue:
        left = self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            holds = self.compared(op, left, right)
            if holds is None:
                return MYSTERY
            if not holds:
                return False
            left = right
        return True

    def compared(self, op: ast.cmpop, left: PyValue, right: PyValue) -> bool | None:
        """Whether a comparison holds; None if that is not known."""
        if isinstance(op, ast.In | ast.NotIn):
            found = self.contains(right, left)
            return None if found is None else found is isinstance(op, ast.In)
        if isinstance(left, Mystery) or isinstance(right, Mystery):
            return None
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and (left is None or right is None):
            return (left is right) is isinstance(op, ast.Is | ast.Eq)
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and not (is_plain(left) and is_plain(right)):
            return self._same(left, right, isinstance(op, ast.Is | ast.Eq))
        if not is_plain(left) or not is_plain(right):
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
            return wanted.upper() in self.machine.variables if isinstance(wanted, str) else None
        if isinstance(owner, Native) and owner.name == "sys.modules":
            return None
        if isinstance(wanted, Mystery):
            return None
        if isinstance(owner, dict):
            return (wanted in owner) if _hashable(wanted) else None
        if isinstance(owner, str):
            if not isinstance(wanted, str):
                raise error("TypeError", "'in <string>' requires string as left operand")
            return wanted in owner
        if isinstance(owner, WindowsPathValue) or owner is None:
            raise error("TypeError", "argument is not iterable")
        if isinstance(owner, list | tuple | set | frozenset | range):
            found = [self.compared(ast.Eq(), wanted, item) for item in owner]
            return True if True in found else None if None in found else False
        return None

    # ------------------------------------------------------------------------- attributes, items and calls

    def visit_Attribute(self, node: ast.Attribute) -> PyValue:
        return self.attribute(self.value(node.value), node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> PyValue:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            limits = [
                self.value(part) if part is not None else None
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            known = all(limit is None or isinstance(limit, int) for limit in limits) and limits[2] != 0
            return owner[slice(*limits)] if known and isinstance(owner, str | list | tuple | bytes) else MYSTERY
        return self.item(owner, self.value(node.slice))

    def visit_Starred(self, node: ast.Starred) -> PyValue:
        return self.value(node.value)

    def visit_Await(self, node: ast.Await) -> PyValue:
        raise Undecided("coroutines are not interpreted")

    def visit_Call(self, node: ast.Call) -> PyValue:
        function = self.value(node.func)
        if any(isinstance(one, ast.Starred) and self._is_unknown(one.value) for one in node.args):
            return self.call_with_unknown(function)
        args = self._elements(node.args)
        keywords: dict[str, PyValue] = {}
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                keywords[word.arg] = value
            elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
                keywords.update(value)
            elif not isinstance(function, Mystery):
                raise Undecided("arguments of a call are not known")
        return self.call(function, args, keywords)

    def _is_unknown(self, node: ast.expr) -> bool:
        """Whether a plain name stands for something that cannot be gone through."""
        return isinstance(node, ast.Name | ast.Attribute) and isinstance(self.value(node), Mystery | Native)

    @abc.abstractmethod
    def call_with_unknown(self, function: PyValue) -> PyValue:
        """Call something with arguments that are not known."""

    @abc.abstractmethod
    def concerns(self, node: ast.AST, depth: int = 3) -> bool:
        """Whether a statement or expression may change what is loaded, or where the code goes on."""

    # ------------------------------------------------------------------------------------- comprehensions

    def _goes_through_unknown(self, node: ast.expr, generators: list[ast.comprehension]) -> bool:
        """Whether a comprehension goes through something unknown, and does nothing that concerns DLLs."""
        return self._is_unknown(generators[0].iter) and not self.concerns(node)

    def visit_ListComp(self, node: ast.ListComp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return MYSTERY
        return list(self._comprehend(node.generators, lambda: self.value(node.elt)))

    def visit_SetComp(self, node: ast.SetComp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return MYSTERY
        return self.as_set(list(self._comprehend(node.generators, lambda: self.value(node.elt))))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return MYSTERY
        outer = self.environment
        first = list(self.iterate(self.value(node.generators[0].iter)))

        def items() -> Iterator[PyValue]:
            within = Namespace({}, outer.globals, outer.file, outer)
            inner = self._comprehended(node.generators, lambda: self.value(node.elt), iter(first))
            while True:
                before, self.environment = self.environment, within
                try:
                    found = next(inner, inner)
                finally:
                    self.environment = before
                if found is inner:
                    return
                yield found

        return Iteration(items())

    def visit_DictComp(self, node: ast.DictComp) -> PyValue:
        if self._goes_through_unknown(node, node.generators):
            return MYSTERY
        pairs = list(self._comprehend(node.generators, lambda: (self.value(node.key), self.value(node.value))))
        return dict(pairs) if all(_hashable(key) and not isinstance(key, Mystery) for key, _ in pairs) else MYSTERY

    def _comprehend(self, generators: list[ast.comprehension], make: Callable[[], PyValue]) -> Iterator[PyValue]:
        first = self.iterate(self.value(generators[0].iter))
        outer = self.environment
        self.environment = Namespace({}, outer.globals, outer.file, outer)
        try:
            yield from self._comprehended(generators, make, first)
        finally:
            self.environment = outer

    def _comprehended(
        self, generators: list[ast.comprehension], make: Callable[[], PyValue], items: Iterator[PyValue]
    ) -> Iterator[PyValue]:
        first, rest = generators[0], generators[1:]
        for item in items:
            self.step()
            self.assign(first.target, item)
            holds = [self.condition(test) for test in first.ifs]
            if None in holds:
                raise Undecided("a condition in a comprehension is not known")
            if not all(holds):
                continue
            if rest:
                yield from self._comprehended(rest, make, self.iterate(self.value(rest[0].iter)))
            else:
                yield make()


@functools.cache
def standard_names(module: str) -> frozenset[str]:
    """The names that ``from module import *`` binds, for modules of Python's library that packages do this with."""
    if module not in _STARRED:
        return frozenset()
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    return frozenset(names) | (_ONLY_ON_WINDOWS if module == "ctypes" else frozenset())


def _small_numbers(*values: PyValue) -> bool:
    return all(isinstance(value, int | float) and abs(value) < 1 << 80 for value in values)


def _is_power(value: PyValue) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_POWER


def is_builtin(name: str) -> bool:
    """Whether Python has a name without any import."""
    return hasattr(builtins, name) or name in ("WindowsError", "__builtins__")


def _methods(kind: PyValue) -> set[str]:
    order = kind.order() if isinstance(kind, CodeClass) else ()
    return {name for one in order if isinstance(one, CodeClass) for name in one.names}


def _hashable(value: PyValue) -> bool:
    if isinstance(value, tuple):
        return all(_hashable(item) for item in value)
    return not isinstance(value, list | dict | set | Mystery)


def _wide(text: str) -> bool:
    return re.search(r"%[-+ #0]*\d{4}", text) is not None
