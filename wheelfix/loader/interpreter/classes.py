"""Classes of the package, and the objects that are made of them."""

from __future__ import annotations

import ast

from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.handlers import Handlers
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    Instance,
    Managed,
    MarkedFunction,
    Native,
    PyValue,
    Thrown,
    error_class,
)


class Classes(Handlers):
    """Makes classes and objects."""

    def make_class(self, name: str, bases: list[PyValue], names: dict[str, PyValue]) -> PyValue:
        """A class from its body."""
        fields = names.pop("<fields>", [])
        made = CodeClass(name, bases, names)
        for one in names.values():
            inner = one.function if isinstance(one, MarkedFunction) else one
            if isinstance(inner, CodeFunction) and inner.owner is None:
                inner.owner = made
        self._check_bases(bases)
        self._tell_bases(made)
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
                text = "multiple bases have instance lay-out conflict"
                raise Thrown(Instance(Native("TypeError"), {"args": (text,)})) from None
            except ValueError:
                return

    def _tell_bases(self, made: CodeClass) -> None:
        """Call ``__set_name__`` of attributes, and ``__init_subclass__`` of the first base that has one."""
        for name, one in list(made.names.items()):
            kind = one.kind if isinstance(one, Instance) else None
            teller = self._of_class(kind, "__set_name__") if isinstance(kind, CodeClass) else None
            if isinstance(teller, CodeFunction):
                self.call(teller, [one, made, name], {})
        for base in made.bases:
            found = self._of_class(base, "__init_subclass__") if isinstance(base, CodeClass) else None
            found = found.function if isinstance(found, MarkedFunction) else found
            if isinstance(found, CodeFunction):
                self.call(found, [made], {})
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
            same = [one for one in kind.names["<members>"] if args and self.is_same(one.attributes["value"], args[0])]
            return same[0] if same else UNKNOWN
        maker = self._of_class(kind, "__new__")
        made: PyValue = Instance(kind)
        if isinstance(maker, MarkedFunction | CodeFunction):
            function = maker.function if isinstance(maker, MarkedFunction) else maker
            made = self.call(function, [kind, *args], keywords)
            if not isinstance(made, Instance):
                return made
        made.attributes.setdefault("args", tuple(args))
        if any(isinstance(one, Native) and one.name in ("dict", "collections.OrderedDict") for one in kind.order()):
            made.attributes["<items>"] = dict(args[0]) if args and isinstance(args[0], dict) else {}
        starter = self._of_class(kind, "__init__")
        if isinstance(starter, CodeFunction):
            self.call(starter, [made, *args], keywords)
        elif kind.fields is not None:
            self._fill(made, kind, args, keywords)
        return made

    def is_same(self, one: PyValue, other: PyValue) -> bool:
        """Whether two values are equal for certain."""
        return self.compared(ast.Eq(), one, other) is True

    def _fill(self, made: Instance, kind: CodeClass, args: list[PyValue], keywords: dict[str, PyValue]) -> None:
        """The fields of a dataclass or named tuple."""
        fields = kind.fields or []
        given = dict(zip(fields, args, strict=False)) | keywords
        for name in fields:
            default = self._of_class(kind, name)
            if name not in given and isinstance(default, Managed) and default.kind == "factory":
                made.attributes[name] = self.call(default.value, [], {})
            elif name in given or default is not None:
                made.attributes[name] = given.get(name, default)
            else:
                raise error("TypeError", f"missing argument '{name}'")
        for name, default in kind.names.items():
            if isinstance(default, Managed) and default.kind == "factory" and name not in fields:
                made.attributes[name] = self.call(default.value, [], {})
        after = self._of_class(kind, "__post_init__")
        if isinstance(after, CodeFunction):
            self.call(after, [made], {})

    @staticmethod
    def _of_class(kind: CodeClass, name: str) -> PyValue:
        for one in kind.order():
            if isinstance(one, CodeClass) and name in one.names:
                return one.names[name]
        return None


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
