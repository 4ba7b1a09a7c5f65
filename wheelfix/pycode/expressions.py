"""What expressions give: names, texts, operators, comparisons, lists, and the way to everything else."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import operator
from typing import TYPE_CHECKING

from wheelfix.knowledge.winerrors import message_text
from wheelfix.pycode.budget import MAX_ITEMS, MAX_TEXT, PYTHON_ERRORS, is_wide_format
from wheelfix.pycode.run import (
    ENVIRON,
    PLAIN,
    UNKNOWN,
    BasePrefix,
    CodeClass,
    CodeFunction,
    CodeModule,
    ImportedName,
    Instance,
    Iteration,
    LoadedDll,
    Namespace,
    Native,
    PythonRun,
    PyValue,
    Undecided,
    attempt,
    error,
    is_error,
    is_vague,
    methods_of,
    of_class,
    unmarked,
)
from wheelfix.pycode.sourcecode import any_of, exception_class, is_standard, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_STARRED = frozenset(
    "ctypes ctypes.util ctypes.wintypes os os.path math struct typing enum time platform pathlib".split()
)
_ONLY_ON_WINDOWS = frozenset(
    "WinDLL OleDLL windll oledll WinError FormatError GetLastError get_last_error set_last_error WINFUNCTYPE HRESULT"
    " DllCanUnloadNow DllGetClassObject".split()
)
MAX_POWER = 64
_NOT_MADE = (ast.Constant, ast.Name)
"""What only gives a value that was there before."""
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


class ExpressionValues:
    """Computes an expression by the method that is named for its kind of syntax."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run

    def value(self, node: ast.expr) -> PyValue:
        """What an expression gives."""
        self.run.step()
        compute = methods_of(ExpressionValues).get(type(node))
        if compute is None:
            raise Undecided(f"{type(node).__name__} is not followed")
        found = compute(self, node)
        return found if isinstance(node, _NOT_MADE) else self.run.bounded(found)

    def condition(self, node: ast.expr) -> bool | None:
        """Whether a condition holds; None if that is not known."""
        return self.run.truth(self.value(node))

    def visit_Name(self, node: ast.Name) -> PyValue:
        name = node.id
        place: Namespace | None = self.run.environment
        while place is not None:
            if name in place.names and name not in place.outer:
                return self._used(place.names, name)
            place = place.above
        if name in self.run.environment.globals:
            return self._used(self.run.environment.globals, name)
        for module in reversed(self.run.environment.globals.get("<star>", ())):
            if not module and exception_class(name):
                continue  # MaterialX catches ImportError behind a star import of what is compiled
            if not module or name in standard_names(module):
                return Native(f"{module}.{name}") if module else UNKNOWN
        if not is_builtin(name):
            if self.run.reading is not None:
                return Native(name) if is_standard(name) else UNKNOWN
            if not self._binds(name):
                raise Undecided(f"something else defines the name {name}")
            raise error("NameError", f"name '{name}' is not defined")
        return Native(name)

    def _used(self, names: dict[str, PyValue], name: str) -> PyValue:
        found = names[name]
        return self.run.importer.used(names, name) if isinstance(found, ImportedName) else found

    def _binds(self, name: str) -> bool:
        """Whether the code of the running file gives a value to a name anywhere."""
        tree = self.run.budget.trees.by_path.get(self.run.environment.file)
        return tree is None or name in written(tree).assigned

    def visit_NamedExpr(self, node: ast.NamedExpr) -> PyValue:
        found = self.value(node.value)
        self.run.statements.assign(node.target, found)
        return found

    def text_of(self, value: PyValue) -> PyValue:
        """What ``str(value)`` gives."""
        if isinstance(value, Instance):
            args: PyValue = value.attributes.get("args", UNKNOWN)
            code = value.attributes.get("winerror")
            if isinstance(code, int) and is_error(value.kind):
                return f"[WinError {code}] {message_text(code)}"
            plain = isinstance(args, tuple) and len(args) == 1 and isinstance(args[0], str)
            return args[0] if plain and of_class(value.kind, "__str__") is None else UNKNOWN
        return self.printed(str, value)

    def printed(self, how: Callable[[PyValue], str], value: PyValue) -> PyValue:
        """What ``str`` or ``repr`` gives for a value of Python's own."""
        return attempt(how, value) if self.run.is_plain(value) else UNKNOWN

    def visit_JoinedStr(self, node: ast.JoinedStr) -> PyValue:
        parts = [self.value(part) for part in node.values]
        known = all(isinstance(part, str) for part in parts) and sum(map(len, parts)) <= MAX_TEXT
        return "".join(parts) if known else UNKNOWN

    def visit_FormattedValue(self, node: ast.FormattedValue) -> PyValue:
        found = self.value(node.value)
        spec = self.value(node.format_spec) if node.format_spec is not None else ""
        if node.conversion in (ord("r"), ord("a")):
            found = self.printed(repr, found)
        elif not isinstance(found, str | int | float):
            found = self.text_of(found)
        known = isinstance(found, str | int | float) and isinstance(spec, str) and len(spec) <= 4
        return attempt(format, found, spec) if known else UNKNOWN

    def _percent(self, text: str | bytes, args: PyValue) -> PyValue:
        given = args if isinstance(args, tuple) else (args,)
        shown = tuple(one if isinstance(one, int | float | str) else self.text_of(one) for one in given)
        if isinstance(text, bytes) or not all(isinstance(one, int | float | str) for one in shown):
            return UNKNOWN
        if len(text) > MAX_TEXT or "%(" in text or is_wide_format(text) or not self.run.is_plain(shown):
            return UNKNOWN
        return attempt(operator.mod, text, shown)

    def visit_BoolOp(self, node: ast.BoolOp) -> PyValue:
        decisive = isinstance(node.op, ast.Or)
        unknown = False
        for part in node.values:
            found = self.value(part)
            holds = self.run.truth(found)
            holds = self.run.choose(part) if holds is None else holds
            if holds is None:
                unknown = True
            elif holds is decisive:
                return UNKNOWN if unknown else found
        return UNKNOWN if unknown else found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> PyValue:
        found = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            holds = self.run.truth(found)
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
        if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
            return self._percent(left, right)
        if not isinstance(left, PLAIN) or not isinstance(right, PLAIN):
            return UNKNOWN
        numbers = _small_numbers(left, right)
        if isinstance(op, ast.Pow | ast.LShift) and not (numbers and _is_power(right)):
            return UNKNOWN
        if isinstance(op, ast.Mult) and not numbers:
            return self._repeated(left, right)
        compute = _OPERATORS.get(type(op))
        return UNKNOWN if compute is None else attempt(compute, left, right)

    def _repeated(self, left: PyValue, right: PyValue) -> PyValue:
        count, what = (left, right) if isinstance(left, int) else (right, left)
        if isinstance(count, int) and isinstance(what, str | list | tuple) and len(what) * max(count, 0) <= MAX_ITEMS:
            return what * count
        return UNKNOWN

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
        if left is UNKNOWN or right is UNKNOWN:
            return None
        if isinstance(left, BasePrefix) or isinstance(right, BasePrefix):
            self.run.machine.asked_base = True
            if self.run.reading is not None:
                return None
        plain = self.run.is_plain(left, right)
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and not plain:
            same = self._same(left, right)
            return None if same is None else same is isinstance(op, ast.Is | ast.Eq)
        if not plain:
            return None
        if isinstance(op, ast.Is | ast.IsNot) and not isinstance(left, bool) and not isinstance(right, bool):
            return (left == right) is isinstance(op, ast.Is)
        return bool(attempt(_COMPARED[type(op)], left, right))

    @staticmethod
    def _same(left: PyValue, right: PyValue) -> bool | None:
        """Whether two values are one, of which at least one is not Python's own; None if that is not known."""
        if left is right or left is None or right is None:
            return left is right
        if isinstance(left, Native) and isinstance(right, Native):
            return True if left == right else False if is_builtin(left.name) and is_builtin(right.name) else None
        known = (CodeFunction, CodeClass, CodeModule, LoadedDll)
        others = (*known, Native, *PLAIN)
        pairs = ((left, right), (right, left))
        return False if any(isinstance(one, known) and isinstance(two, others) for one, two in pairs) else None

    def contains(self, owner: PyValue, wanted: PyValue) -> bool | None:
        """Whether something is in another; None if that is not known."""
        if owner == ENVIRON:
            return self.run.machine.variable(wanted) is not None if isinstance(wanted, str) else None
        if isinstance(owner, Native) and owner.name == "sys.modules" and isinstance(wanted, str):
            return self.run.importer.is_imported(wanted)
        if wanted is UNKNOWN:
            return None
        if isinstance(owner, dict):
            return (wanted in owner) if self.run.can_be_key(wanted) else None
        if isinstance(owner, str):
            if not isinstance(wanted, str):
                raise error("TypeError", "'in <string>' requires string as left operand")
            return wanted in owner
        if isinstance(owner, list | tuple | set | frozenset | range):
            self.run.step(2 * len(owner))
            return any_of(self.compared(ast.Eq(), wanted, item) for item in owner)
        return None

    def visit_List(self, node: ast.List) -> PyValue:
        return self._elements(node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> PyValue:
        found = self._elements(node.elts)
        return tuple(found) if isinstance(found, list) else UNKNOWN

    def visit_Set(self, node: ast.Set) -> PyValue:
        found = self._elements(node.elts)
        return self.as_set(found) if isinstance(found, list) else UNKNOWN

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
            if not self.run.can_be_key(name):
                known = False
            else:
                found[name] = value
        return found if known else UNKNOWN

    def _elements(self, elements: list[ast.expr]) -> PyValue:
        """The items of a list; UNKNOWN if something unknown is unpacked into it."""
        found: list[PyValue] = []
        known = True
        for element in elements:
            if not isinstance(element, ast.Starred):
                found.append(self.part(element))
                continue
            unpacked = self.part(element.value)
            if is_vague(unpacked):
                known = False
            else:
                found += list(self.run.attributes.iterate(unpacked))
        return found if known else UNKNOWN

    def part(self, node: ast.expr) -> PyValue:
        """An item or argument; in a file that is read, one that cannot be computed is unknown."""
        if self.run.reading is None:
            return self.value(node)
        try:
            return self.value(node)
        except (Undecided, *PYTHON_ERRORS):
            return UNKNOWN

    def as_set(self, items: list[PyValue]) -> PyValue:
        """A set; unknown if Python could not compare its items."""
        if not self.run.is_plain(items):
            return UNKNOWN
        return set(map(self.run.key, items))

    # ------------------------------------------------------------------------------------- comprehensions

    def visit_ListComp(self, node: ast.ListComp) -> PyValue:
        found = self._comprehension(node, lambda: self.value(node.elt))
        return UNKNOWN if found is None else found

    def visit_SetComp(self, node: ast.SetComp) -> PyValue:
        found = self._comprehension(node, lambda: self.value(node.elt))
        return UNKNOWN if found is None else self.as_set(found)

    def visit_DictComp(self, node: ast.DictComp) -> PyValue:
        pairs = self._comprehension(node, lambda: (self.value(node.key), self.value(node.value)))
        known = pairs is not None and all(self.run.can_be_key(key) for key, _ in pairs)
        return dict(pairs) if pairs is not None and known else UNKNOWN

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp, make: Callable[[], PyValue]
    ) -> list[PyValue] | None:
        outer = self.run.environment
        return self._collected(node, lambda: self._comprehend(node.generators, make, outer))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> PyValue:
        first = self._collected(node, lambda: self._items(node.generators[0].iter))
        if first is None:
            return UNKNOWN
        return Iteration(self._comprehend(node.generators, lambda: self.value(node.elt), self.run.environment, first))

    def _collected(self, node: ast.expr, items: Callable[[], Iterator[PyValue]]) -> list[PyValue] | None:
        """The items of a comprehension; None if they are unknown, and it does nothing that concerns DLLs."""
        try:
            return list(items())
        except Undecided:
            if self.run.reading is not None or self.run.statements.concerns(node):
                raise
            return None  # cupy asks for the names of all that is installed

    def _items(self, node: ast.expr) -> Iterator[PyValue]:
        """What a comprehension goes through."""
        found = self.value(node)
        if self.run.reading is not None and is_vague(found):
            return iter([UNKNOWN])
        return self.run.attributes.iterate(found)

    def _comprehend(
        self,
        generators: list[ast.comprehension],
        make: Callable[[], PyValue],
        outer: Namespace,
        first: list[PyValue] | None = None,
    ) -> Iterator[PyValue]:
        """The items of a comprehension, whose names are its own while it runs."""
        items = iter(first) if first is not None else self._items(generators[0].iter)
        inner, within = self._comprehended(generators, make, items), Namespace({}, outer.globals, outer.file, outer)
        while True:
            before, self.run.environment = self.run.environment, within
            try:
                found = next(inner, inner)
            finally:
                self.run.environment = before
            if found is inner:
                return
            yield found

    def _comprehended(
        self, generators: list[ast.comprehension], make: Callable[[], PyValue], items: Iterator[PyValue]
    ) -> Iterator[PyValue]:
        first, rest = generators[0], generators[1:]
        for item in items:
            self.run.step()
            self.run.statements.assign(first.target, item)
            holds = [self.condition(test) for test in first.ifs]
            way = self.run.choose(first) if None in holds else True
            if way is None:
                raise Undecided("a condition in a comprehension is not known")
            if False in holds or not way:
                continue
            if rest:
                yield from self._comprehended(rest, make, self._items(rest[0].iter))
            else:
                yield make()

    def visit_Constant(self, node: ast.Constant) -> PyValue:
        return node.value if isinstance(node.value, PLAIN) else UNKNOWN

    def visit_IfExp(self, node: ast.IfExp) -> PyValue:
        holds = self.condition(node.test)
        holds = self.run.choose(node) if holds is None else holds
        return self.value(node.body if holds else node.orelse) if holds is not None else UNKNOWN

    def visit_Lambda(self, node: ast.Lambda) -> PyValue:
        return self.run.calls.function(node)

    def visit_Attribute(self, node: ast.Attribute) -> PyValue:
        owner = self.value(node.value)
        if self.run.reading is not None:
            self.run.reading.node = node
        return self.run.attributes.attribute(owner, node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> PyValue:
        owner = self.value(node.value)
        part = node.slice
        if isinstance(part, ast.Slice):
            return self._sliced(owner, part)
        key = self.value(part)
        if self.run.reading is not None:
            self.run.reading.node = node
        return self.run.attributes.item(owner, key)

    def _sliced(self, owner: PyValue, node: ast.Slice) -> PyValue:
        limits = [self.value(part) if part is not None else None for part in (node.lower, node.upper, node.step)]
        known = all(limit is None or isinstance(limit, int) for limit in limits) and limits[2] != 0
        if not known or not isinstance(owner, str | list | tuple | bytes):
            return UNKNOWN
        return owner[slice(*limits)]

    def visit_Call(self, node: ast.Call) -> PyValue:
        function = self.value(node.func)
        args = self._elements(node.args)
        if not isinstance(args, list):
            return self._call_with_unknown(node, function)
        keywords: dict[str, PyValue] = {}
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                keywords[word.arg] = value
            elif isinstance(value, dict) and all(isinstance(key, str) for key in value):
                keywords.update(value)
            elif function is not UNKNOWN and self.run.reading is None:
                raise Undecided("arguments of a call are not known")
        if self.run.reading is not None:
            self.run.reading.node = node
        return self.run.calls.call(function, args, keywords)

    def _call_with_unknown(self, node: ast.Call, function: PyValue) -> PyValue:
        """A call with arguments that are not known: nothing is known of what it gives."""
        inner = of_class(function, "__init__") if isinstance(function, CodeClass) else unmarked(function)
        if self.run.reading is not None and isinstance(inner, CodeFunction):
            return self.run.reading.call_with_unknown(inner)
        if self.run.reading is None and self.run.statements.concerns(node):
            raise Undecided("arguments of a call are not known")
        return UNKNOWN


@functools.cache
def standard_names(module: str) -> frozenset[str]:
    """The names that ``from module import *`` binds, for modules of Python's library that packages do this with."""
    if module not in _STARRED:
        return frozenset()
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    return frozenset(names) | (_ONLY_ON_WINDOWS if module == "ctypes" else frozenset())


def is_builtin(name: str) -> bool:
    """Whether Python has a name without any import."""
    return hasattr(builtins, name) or name in ("WindowsError", "__builtins__")


def _small_numbers(*values: PyValue) -> bool:
    return all(isinstance(value, int | float) and abs(value) < 1 << 80 for value in values)


def _is_power(value: PyValue) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_POWER
