"""Attributes of values, calls with their arguments, classes, and the objects that are made of them."""

from __future__ import annotations

import ast
import operator
from collections import OrderedDict
from pathlib import PurePath
from typing import TYPE_CHECKING

from wheelfix.pycode.builtintypes import path_attribute
from wheelfix.pycode.library import OF_UNKNOWN
from wheelfix.pycode.run import (
    PLAIN_CONTAINERS,
    UNKNOWN,
    Bound,
    CodeClass,
    CodeFunction,
    CodeModule,
    Instance,
    Iteration,
    LoadedDll,
    LoadFault,
    Managed,
    MarkedFunction,
    Method,
    Namespace,
    Native,
    PythonRun,
    PyValue,
    Thrown,
    Undecided,
    VersionInfo,
    attempt,
    error,
    error_class,
    is_error,
    is_kind,
    is_vague,
    of_class,
    unmarked,
)
from wheelfix.pycode.sourcecode import FUNCTIONS, nodes_in, once_for_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pycode.sourcecode import FunctionNode


_OF_ERRORS = frozenset(
    "add_note with_traceback __traceback__ __cause__ __context__ __init__ __repr__ msg name path winerror errno"
    " strerror filename".split()
)
_ABSENT = object()
"""Stands for no value at all."""


class Attributes:
    """Looks up attributes and items, and iterates over values."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run

    def attribute(self, owner: PyValue, name: str) -> PyValue:
        """What ``owner.name`` gives."""
        if isinstance(owner, Instance):
            return self._of_object(owner, name)
        if isinstance(owner, CodeClass):
            return self._of_type(owner, name)
        if isinstance(owner, CodeModule):
            return self.run.importer.of_module(owner, name)
        if isinstance(owner, Native):
            return self.run.library.of_native(owner.name, name)
        if isinstance(owner, LoadedDll):
            return self._of_library(owner, name)
        if isinstance(owner, PurePath):
            return path_attribute(owner, name)
        if isinstance(owner, CodeFunction | MarkedFunction):
            return self._of_function(owner, name)
        if owner is UNKNOWN:
            return Native(f"?.{name}") if self.run.reading is not None and name in OF_UNKNOWN else UNKNOWN
        if isinstance(owner, Managed) and owner.kind == "super":
            return self._of_super(owner.value[0], owner.value[1], name)
        if isinstance(owner, VersionInfo):
            return getattr(owner, name, UNKNOWN)
        if not isinstance(owner, Managed | Iteration | Bound | Method) and not hasattr(
            OrderedDict if isinstance(owner, dict) else owner, name
        ):
            raise error("AttributeError", f"'{type(owner).__name__}' object has no attribute '{name}'")
        return Method(owner, name)

    def attribute_or(self, owner: PyValue, name: str, default: PyValue) -> PyValue:
        """The same, or something else where there is no such attribute."""
        try:
            return self.attribute(owner, name)
        except Thrown as thrown:
            if is_kind(thrown.error.kind, Native("AttributeError")):
                return default
            raise

    def _of_function(self, owner: CodeFunction | MarkedFunction, name: str) -> PyValue:
        if isinstance(owner, MarkedFunction) and owner.kind == "property" and name == "setter":
            return Method(owner, name)
        inner = unmarked(owner)
        if not isinstance(inner, CodeFunction):
            return UNKNOWN
        return inner.name if name == "__name__" else inner.attributes.get(name, UNKNOWN)

    def _of_object(self, owner: Instance, name: str) -> PyValue:
        kind = owner.kind
        found = of_class(kind, name, _ABSENT)
        if name in owner.attributes:
            return owner.attributes[name]
        if isinstance(found, MarkedFunction) and found.kind == "property":
            return self.run.calls.call(found.function, [owner], {})
        if found is not _ABSENT:
            return self._described(found, owner, kind)
        if "<library>" in owner.attributes:
            return UNKNOWN  # a function of the DLL, or a constant of the declarations, which it does not export
        if "<items>" in owner.attributes and hasattr(dict, name):
            return Method(owner.attributes["<items>"], name)
        if name in ("__dict__", "__doc__", "__module__"):
            return owner.attributes if name == "__dict__" else UNKNOWN
        if of_class(kind, "__getattr__") is not None:
            return self._special(kind, "__getattr__", owner, name)
        if name not in _OF_ERRORS and (is_error(kind) or (isinstance(kind, CodeClass) and kind.is_known)):
            raise error("AttributeError", f"object has no attribute '{name}'")
        return UNKNOWN

    def _special(self, kind: PyValue, name: str, *args: PyValue) -> PyValue:
        """What a method of a class gives that Python calls by itself; unknown if it is not a function."""
        found = of_class(kind, name)
        return self.run.calls.call(found, list(args), {}) if isinstance(found, CodeFunction) else UNKNOWN

    def _described(self, found: PyValue, owner: PyValue, kind: PyValue) -> PyValue:
        """An attribute of a class as its object sees it."""
        if isinstance(found, Instance) and of_class(found.kind, "__get__") is not None:
            return self._special(found.kind, "__get__", found, owner, kind)
        return self._bound(found, owner, kind)

    @staticmethod
    def _bound(found: PyValue, owner: PyValue, kind: PyValue) -> PyValue:
        """A function of a class, with what it is called on; ``owner`` is None where the class itself is asked."""
        mark = found.kind if isinstance(found, MarkedFunction) else ""
        if mark == "staticmethod":
            return found.function
        if mark == "classmethod":
            return Bound(found.function, [kind])
        is_method = owner is not None and isinstance(found, CodeFunction | MarkedFunction)
        return Bound(found, [owner]) if is_method else found

    def _of_type(self, owner: CodeClass, name: str) -> PyValue:
        found = of_class(owner, name, _ABSENT)
        if found is _ABSENT:
            if name == "__name__":
                return owner.name
            if name == "__members__" and "<members>" in owner.names:  # psutil makes its constants of them
                return {one.attributes["name"]: one for one in owner.names["<members>"]}
            if owner.maker is not None:
                given = of_class(owner.maker, name)
                own = self._special(owner.maker, "__getattr__", owner, name) if given is None else UNKNOWN
                return Bound(given, [owner]) if isinstance(given, CodeFunction) else own
            if name.startswith("_") or not owner.is_known:
                return UNKNOWN
            raise error("AttributeError", f"type object '{owner.name}' has no attribute '{name}'")
        return self._described(found, None, owner)

    def _of_super(self, owner: CodeClass, thing: PyValue, name: str) -> PyValue:
        """What ``super().name`` gives in a method of a class."""
        for found in (of_class(base, name, _ABSENT) for base in owner.bases):
            if found is not _ABSENT:
                return self._bound(found, thing, thing.kind if isinstance(thing, Instance) else thing)
        return Native("<new>") if name == "__new__" else UNKNOWN

    # ----------------------------------------------------------------------------------- functions of DLLs

    def _of_library(self, owner: LoadedDll, name: str) -> PyValue:
        if name in owner.attributes:
            return owner.attributes[name]
        if name == "_name":
            return owner.name
        if name in ("_handle", "_FuncPtr") or (name.startswith("__") and name.endswith("__")):
            return UNKNOWN
        exported = self.run.machine.exports(owner)
        if exported is None:
            return Native(f"<windows>.{name}")
        if name not in exported:
            failure = LoadFault("symbol", owner.path, None)
            raise error("AttributeError", f"function '{name}' not found", failure=failure)
        owner.attributes[name] = UNKNOWN
        return UNKNOWN

    def item(self, owner: PyValue, key: PyValue) -> PyValue:
        """What ``owner[key]`` gives."""
        if isinstance(owner, Native):
            return self.run.library.item_of_native(owner.name, key)
        if isinstance(owner, LoadedDll):
            return self._of_library(owner, key) if isinstance(key, str) else UNKNOWN
        if isinstance(owner, Instance):
            return self._item_of(owner, key)
        if owner is UNKNOWN or isinstance(owner, CodeClass) or key is UNKNOWN:
            return UNKNOWN
        return attempt(operator.getitem, owner, self.run.key(key) if isinstance(owner, dict) else key)

    def _item_of(self, owner: Instance, key: PyValue) -> PyValue:
        if of_class(owner.kind, "__getitem__") is not None:
            return self._special(owner.kind, "__getitem__", owner, key)
        items = owner.attributes.get("<items>")
        if isinstance(items, dict) and key is not UNKNOWN:
            if self.run.key(key) not in items and "<factory>" in owner.attributes:
                items[key] = self.run.calls.call(owner.attributes["<factory>"], [], {})
            if key not in items and of_class(owner.kind, "__missing__") is not None:
                return self._special(owner.kind, "__missing__", owner, key)
            return self.item(items, key)
        return UNKNOWN

    def iterate(self, value: PyValue) -> Iterator[PyValue]:
        """Iterate over the items of a value; Undecided if they are not known."""
        self.run.step(1 + (len(value) >> 4) if isinstance(value, PLAIN_CONTAINERS) else 1)
        if isinstance(value, list):
            return _living(value)
        if isinstance(value, PLAIN_CONTAINERS):
            return iter(sorted(value, key=str) if isinstance(value, set | frozenset) else tuple(value))
        if isinstance(value, Iteration):
            return value.items
        if isinstance(value, CodeClass) and "<members>" in value.names:
            return iter(value.names["<members>"])
        if isinstance(value, PurePath) or value is None or isinstance(value, int):
            raise error("TypeError", "object is not iterable")
        if isinstance(value, Managed) and value.kind == "file":
            return iter(value.value.splitlines(True))
        raise Undecided("what a loop goes through is not known")

    def items_of(self, value: PyValue) -> list[PyValue]:
        """The items of a value; in a file that is read, one that is not known has some item."""
        vague = self.run.reading is not None and is_vague(value)
        return [UNKNOWN] if vague else list(self.iterate(value))


def _living(items: list[PyValue]) -> Iterator[PyValue]:
    """The items of a list that may change in the meantime."""
    at = 0
    while at < len(items):
        yield items[at]
        at += 1


MAX_CALLS = 30
"""How deep calls of the package's functions may be nested."""


class Calls:
    """Calls functions, and makes classes and objects."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run

    def function(self, node: FunctionNode) -> CodeFunction:
        """The function that a definition makes."""
        defaults = [self.run.expressions.value(one) for one in node.args.defaults]
        others = [self.run.expressions.value(one) if one is not None else UNKNOWN for one in node.args.kw_defaults]
        above = self.run.environment
        while above is not None and "<fields>" in above.names and above.above is not None:
            above = above.above  # names of a class are not seen by its methods
        place = Namespace({}, above.globals, above.file, above if above.names is not above.globals else None)
        made = CodeFunction(node, place, defaults, others)
        if self.run.reading is not None:
            self.run.reading.defined[node] = made
        return made

    def call(self, function: PyValue, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Call something."""
        self.run.step()
        if isinstance(function, CodeFunction):
            return self._call_function(function, args, keywords)
        if isinstance(function, Bound):
            return self.call(function.function, [*function.args, *args], {**function.keywords, **keywords})
        if isinstance(function, Method):
            return self.run.library.call_method(function, args, keywords)
        if isinstance(function, MarkedFunction):
            return self._call_wrapped(function, args, keywords)
        if isinstance(function, CodeClass):
            return self.make(function, args, keywords)
        if isinstance(function, Instance):
            return self.call(self.run.attributes.attribute(function, "__call__"), args, keywords)
        if isinstance(function, Native):
            return self.run.library.call_native(function.name, args, keywords)
        if function is UNKNOWN:
            return self.call_unknown(args, keywords)
        raise error("TypeError", "object is not callable")

    def call_unknown(self, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """Nothing is known of what is called; it may call what it is given, and change lists."""
        for one in (*args, *keywords.values()) if self.run.reading is None else ():
            if isinstance(one, CodeFunction) and self.run.loads(one.environment.file):
                raise Undecided("a function of the package is given to code that is not known")
            if one is self.run.environment.globals:  # protobuf's builder puts messages into it
                self.run.importer.note_star("")
        return UNKNOWN

    def _call_function(self, function: CodeFunction, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        reading = self.run.reading
        if reading is not None and not reading.may_call(function):
            return UNKNOWN
        if self.run.depth >= MAX_CALLS:
            raise Undecided("its functions call one another too often")
        place = Namespace({}, function.environment.globals, function.environment.file, function.environment.above)
        place.names.update(self._parameters(function, args, keywords))
        if function.owner is not None and args:
            place.names["<super>"] = (function.owner, args[0])
        if _has_yield(function.node):
            if reading is not None:
                reading.called.add(function.node)
            made = Iteration(iter(()))
            made.items = self._generate(function, place, made)
            return made
        if isinstance(function.node, ast.AsyncFunctionDef) and reading is None:
            return UNKNOWN
        outer, self.run.environment = self.run.environment, place
        self.run.depth += 1
        returned, self.run.returned = self.run.returned, None
        begun = reading.begin_call(function) if reading is not None else (0, 0)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.run.expressions.value(function.node.body)
            self.run.statements.execute(function.node.body)
            return self.run.returned
        finally:
            self.run.environment, self.run.returned = outer, returned
            self.run.depth -= 1
            if reading is not None:
                reading.end_call(function, begun)

    def _generate(self, function: CodeFunction, place: Namespace, made: Iteration) -> Iterator[PyValue]:
        """The items of a generator; its environment is current only while it runs."""
        run = self.run
        inner = run.statements.block(function.statements)
        thrown: Thrown | None = None
        while True:
            outer, run.environment = run.environment, place
            returned, run.returned = run.returned, None
            around = len(run.guards)
            run.guards += made.guards
            try:
                found = next(inner) if thrown is None else inner.throw(thrown)
            except StopIteration:
                return
            finally:
                place, run.environment, run.returned = run.environment, outer, returned
                made.guards = run.guards[around:]
                del run.guards[around:]
            thrown = None
            try:
                yield found
            except Thrown as error_:
                thrown = error_

    def _parameters(
        self, function: CodeFunction, args: list[PyValue], keywords: dict[str, PyValue]
    ) -> dict[str, PyValue]:
        wanted = [*function.node.args.posonlyargs, *function.node.args.args]
        names = [one.arg for one in wanted]
        found: dict[str, PyValue] = dict(zip(names, args, strict=False))
        left = {key: value for key, value in keywords.items() if key not in names}
        found.update({key: value for key, value in keywords.items() if key in names})
        for name, default in zip(reversed(names), reversed(function.defaults), strict=False):
            found.setdefault(name, default)
        for one, default in zip(function.node.args.kwonlyargs, function.keyword_defaults, strict=True):
            found[one.arg] = left.pop(one.arg, default)
        if function.node.args.vararg is not None:
            found[function.node.args.vararg.arg] = tuple(args[len(names) :])
        if function.node.args.kwarg is not None:
            found[function.node.args.kwarg.arg] = left
        return dict.fromkeys(names, UNKNOWN) | found

    def _call_wrapped(self, wrapped: MarkedFunction, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        found = self.call(wrapped.function, args, keywords)
        if wrapped.kind == "contextmanager" and isinstance(found, Iteration):
            return Managed("generator", found)
        return found

    def make_class(
        self, name: str, bases: list[PyValue], names: dict[str, PyValue], words: dict[str, PyValue] | None = None
    ) -> PyValue:
        """A class from its body."""
        fields = names.pop("<fields>", [])
        made = CodeClass(name, bases, names)
        for one in names.values():
            inner = unmarked(one)
            if isinstance(inner, CodeFunction) and inner.owner is None:
                inner.owner = made
        self._check_bases(bases)
        self._tell_bases(made, words or {})
        natives = {base.name for base in made.order() if isinstance(base, Native)}
        if any(one.startswith("enum.") for one in natives):
            return self._make_enum(made)
        if "typing.NamedTuple" in natives:
            made.fields = [field for field, _ in fields]
        names["<annotated>"] = [field for field, kind in fields if "ClassVar" not in kind]
        return made

    @staticmethod
    def _check_bases(bases: list[PyValue]) -> None:
        """Two classes of exceptions that Python keeps in different ways cannot be the bases of one."""
        if len(bases) > 1 and all(isinstance(base, CodeClass | Native) for base in bases):
            try:
                made: dict[int, type] = {}
                type("Made", tuple(_python_class(base, made) for base in bases), {})
            except TypeError:
                raise error("TypeError", "multiple bases have instance lay-out conflict", exact=True) from None
            except ValueError:
                return

    def _tell_bases(self, made: CodeClass, words: dict[str, PyValue]) -> None:
        """Call ``__init_subclass__`` of the first base that has one."""
        for base in made.bases:
            found = of_class(base, "__init_subclass__")
            found = unmarked(found)
            if isinstance(found, CodeFunction):
                self.call(found, [made], words)
                return

    def _make_enum(self, made: CodeClass) -> PyValue:
        members: list[PyValue] = []
        for name, value in list(made.names.items()):
            if not name.startswith("_") and not isinstance(value, CodeFunction | MarkedFunction):
                if value == Native("enum.auto()"):
                    value = len(members) + 1
                made.names[name] = Instance(made, {"name": name, "value": value})
                members.append(made.names[name])
        made.names["<members>"] = members
        return made

    def make(self, kind: CodeClass, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
        """An object of a class of the package."""
        if "<members>" in kind.names:
            return UNKNOWN
        maker = of_class(kind, "__new__")
        made: PyValue = Instance(kind)
        if isinstance(maker, MarkedFunction | CodeFunction):
            function = unmarked(maker)
            made = self.call(function, [kind, *args], keywords)
            if self.run.reading is not None and not isinstance(made, Instance):
                made = Instance(kind)
            if not isinstance(made, Instance):
                return made
        made.attributes.setdefault("args", tuple(args))
        if any(isinstance(one, Native) and one.name in ("dict", "collections.OrderedDict") for one in kind.order()):
            made.attributes["<items>"] = dict(args[0]) if args and isinstance(args[0], dict) else {}
        starter = of_class(kind, "__init__")
        if isinstance(starter, CodeFunction):
            self.call(starter, [made, *args], keywords)
        elif kind.fields is not None:
            self._fill(made, kind, args, keywords)
        return made

    def _fill(self, made: Instance, kind: CodeClass, args: list[PyValue], keywords: dict[str, PyValue]) -> None:
        """The fields of a dataclass or named tuple."""
        fields = kind.fields or []
        given = dict(zip(fields, args, strict=False)) | keywords
        for name in fields:
            default = of_class(kind, name, _ABSENT)
            if name not in given and isinstance(default, Managed) and default.kind == "factory":
                made.attributes[name] = self.call(default.value, [], {})
            elif name in given or default is not _ABSENT:
                made.attributes[name] = given.get(name, default)
            else:
                raise error("TypeError", f"missing argument '{name}'")
        after = of_class(kind, "__post_init__")
        if isinstance(after, CodeFunction):
            self.call(after, [made], {})


@once_for_node
def _has_yield(node: FunctionNode) -> bool:
    """Whether calling a function gives a generator."""
    parts = [] if isinstance(node, ast.Lambda) else node.body
    inside = (one for part in parts for one in nodes_in(part, (*FUNCTIONS, ast.ClassDef)))
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in inside)


def _python_class(kind: PyValue, made: dict[int, type]) -> type:
    """A real class of Python with the same exceptions as bases; ValueError if one of these is not known."""
    if isinstance(kind, CodeClass):
        if id(kind) not in made:
            bases = tuple(_python_class(base, made) for base in kind.bases)
            made[id(kind)] = type(kind.name, bases or (object,), {})
        return made[id(kind)]
    found = error_class(kind)
    if found is None:
        raise ValueError(kind)
    return found
