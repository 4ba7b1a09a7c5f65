"""Values: the dataclasses of this package, made for a tenth of what they usually cost (DESIGN has the figures).

The standard library compiles six functions for each frozen class whenever the program starts, which for the two
hundred classes here is a quarter of a small scan. Ours share their functions; only ``__init__`` is compiled, for
classes with more than a few objects. To a type checker they are the standard ones, and a frozen one refuses assignments
as those do. ``dataclasses.fields``, ``asdict`` and ``replace`` work on them as well.
"""

from __future__ import annotations

import enum
import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

__all__ = ["as_tree", "dataclass", "distinct", "field", "from_tree", "frozen", "grouped", "is_value", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from dataclasses import dataclass, field, replace

    from typing_extensions import dataclass_transform

T = TypeVar("T")
_Key = TypeVar("_Key")

if not TYPE_CHECKING:

    class field:  # noqa: N801  # it stands for a function
        """What is said of a field besides its type, with the names of the standard library."""

        default = ...
        default_factory = None
        compare = True
        hash = None

        def __init__(self, **said: Any) -> None:
            vars(self).update(said)

        @property
        def required(self) -> bool:
            """Whether a value must be given."""
            return self.default is ... and self.default_factory is None

    def dataclass(cls: type) -> type:
        """Make a dataclass of a class."""
        return _made(cls, OPEN)

    def frozen(cls: type) -> type:
        return _made(cls, FROZEN)

    def replace(value: Any, /, **changes: Any) -> Any:
        """Return a copy of a value in which some fields are others."""
        return type(value)(**{name: getattr(value, name) for name in value._values} | changes)


if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[T]) -> type[T]:
        """Make a frozen dataclass of a class, as most of ours are; it has a hash."""


def grouped(pairs: Iterable[tuple[_Key, T]]) -> dict[_Key, list[T]]:
    """Return things by their key, in the order in which they come."""
    found: dict[_Key, list[T]] = {}
    for key, one in pairs:
        found.setdefault(key, []).append(one)
    return found


def distinct(things: Iterable[T]) -> tuple[T, ...]:
    """Return things without those that came before, in the order in which they come."""
    return tuple(dict.fromkeys(things))


def is_value(thing: object) -> bool:
    """Whether this is a value, or the class of one."""
    return hasattr(thing, "_values")


def as_tree(value: Any) -> Any:
    """Return a value as JSON has it: its fields by name, lists for tuples, and the same for what is in them."""
    if is_value(value):
        return {name: as_tree(getattr(value, name)) for name in value._values}
    if isinstance(value, list | tuple):
        return [*map(as_tree, value)]
    return {key: as_tree(item) for key, item in value.items()} if isinstance(value, dict) else value


_hints = functools.cache(get_type_hints)
_JSON = {str: "text", int: "a number", bool: "true or false"}


def from_tree(kind: type[T], tree: object, path: str = "", *, others: bool = False) -> T:
    """Return the value that JSON stands for; ValueError names what does not fit, such as a field that is not known.

    With ``others`` fields that are not known are passed over: a later version may have written them.
    """
    made: Any = tree
    if is_value(kind):
        made = _with_fields(kind, tree, path, others)
    elif arguments := get_args(kind):  # every generic here is tuple[X, ...]
        if not isinstance(tree, list):
            raise ValueError(f"{path} should be a list")
        made = tuple(from_tree(arguments[0], entry, f"{path}[{n}]", others=others) for n, entry in enumerate(tree))
    elif issubclass(kind, enum.Enum):
        made = kind(tree)
    elif not isinstance(tree, kind) or (kind is int and isinstance(tree, bool)):
        raise ValueError(f"{path} should be {_JSON[kind]}")
    return made  # type: ignore[no-any-return]


def _with_fields(kind: Any, tree: object, path: str, others: bool) -> Any:
    if not isinstance(tree, dict):
        raise ValueError(f"{path or 'it'} should be an object")
    hints = _hints(kind)
    if not others and (unknown := sorted(set(tree) - set(hints))):
        raise ValueError(f"{path or 'it'} has the unknown field {unknown[0]}")
    names = [name for name in tree if name in hints]
    values = {name: from_tree(hints[name], tree[name], f"{path}.{name}".lstrip("."), others=others) for name in names}
    try:
        return kind(**values)
    except TypeError as exc:
        raise ValueError(f"{path or 'it'} is incomplete: {exc}") from exc


def _made(cls: Any, shared: Mapping[str, Any]) -> Any:
    """Give a class its fields, those that it inherits first, and what all classes share and it does not say itself."""
    found, body = dict[str, Any](), vars(cls)
    for base in cls.__mro__[-2:0:-1]:
        found.update(getattr(base, "_values", ()))
    for name in cls.__annotations__:
        said: Any = body.get(name, ...)
        found[name] = said if type(said) is field else field() if said is ... else field(default=said)
        if name in body:
            delattr(cls, name)
    cls._values, cls.__match_args__ = found, tuple(found)  # type: ignore[misc]
    cls._objects, cls._required = 0, {name for name, one in found.items() if one.required}
    for name, thing in shared.items():
        if name not in body:
            setattr(cls, name, thing)
    return cls


FEW = 30
"""A class with more objects than this gets a compiled function, which costs as much as thirty of them without it."""


def _init(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Make one of the first objects of a class; a compiled function makes the others, and refuses wrong arguments."""
    cls = type(self)
    cls._objects += 1
    given = dict(zip(cls.__match_args__, args)) | kwargs  # noqa: B905  # too many are refused below
    fits = len(given) == len(args) + len(kwargs) and cls._required <= given.keys() <= cls._values.keys()
    if cls._objects > FEW or not fits:
        compiled = _compiled(cls)
        if cls.__init__ is _init:  # and it is not wrapped
            cls.__init__ = compiled
        compiled(self, *args, **kwargs)
        return
    for name, one in cls._values.items():
        made = given[name] if name in given else one.default if one.default_factory is None else one.default_factory()
        object.__setattr__(self, name, made)
    if hasattr(cls, "__post_init__"):
        self.__post_init__()


def _compiled(cls: Any) -> Any:
    names: dict[str, Any] = {"_set": object.__setattr__}  # past the one that refuses
    head, body = ["self"], []
    for name, one in cls._values.items():
        given = name
        if one.default_factory is not None:
            names[f"_make_{name}"] = one.default_factory
            head.append(f"{name}=...")
            given = f"_make_{name}() if {name} is ... else {name}"
        elif one.required:
            head.append(name)
        else:
            names[f"_default_{name}"] = one.default
            head.append(f"{name}=_default_{name}")
        body.append(f"_set(self, {name!r}, {given})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(head)}):\n " + "\n ".join(body or ["pass"]), names)  # names and nothing else
    made = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@functools.cache
def _getter(cls: Hashable, is_hash: bool) -> Callable[[Any], Any]:
    """Return what makes two objects of a class equal, or what their hash is made of."""
    names = [name for name, one in vars(cls)["_values"].items() if one.compare and not (is_hash and one.hash is False)]
    return attrgetter(*names) if names else lambda _: ()


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = _getter(self.__class__, False)
    return self is other or compared(self) == compared(other)


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._values)})"


def _hash(self: Any) -> int:
    return hash(_getter(self.__class__, True)(self))


def _no_setting(self: object, name: str, value: object) -> None:
    raise _standard().FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deleting(self: object, name: str) -> None:
    raise _standard().FrozenInstanceError(f"cannot delete field {name!r}")


class _StandardFields:
    """What the standard library asks a dataclass for, made when it does."""

    def __get__(self, instance: object, owner: Any) -> Any:
        dataclasses, kinds = _standard(), dict[str, str]()
        for base in owner.__mro__[-2::-1]:
            kinds.update(base.__annotations__)
        listed = [(name, kinds[name], dataclasses.field(**vars(one))) for name, one in owner._values.items()]
        twin = dataclasses.make_dataclass(owner.__name__, listed)
        owner.__dataclass_fields__ = twin.__dataclass_fields__
        return owner.__dataclass_fields__


def _standard() -> Any:
    import dataclasses

    return dataclasses


OPEN = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": None,
    "__repr__": _repr,
    "__dataclass_fields__": _StandardFields(),
}
"""What all classes have."""
FROZEN = OPEN | {"__hash__": _hash, "__setattr__": _no_setting, "__delattr__": _no_deleting}
