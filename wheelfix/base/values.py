"""Values: the dataclasses of this package, made for a tenth of what they usually cost (DESIGN has the figures).

The standard library compiles six functions for each frozen class whenever the program starts, which for the two
hundred classes here is a tenth of a scan, and what it imports for that is not free either. Ours share their functions;
only ``__init__`` is compiled, and only for a class of which many objects are made. To a type checker they are the
standard ones, and a frozen one refuses assignments as those do. ``dataclasses.fields``, ``asdict`` and ``replace`` work
on them as well.
"""

from __future__ import annotations

import functools
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["as_tree", "dataclass", "field", "frozen", "grouped", "is_value", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from dataclasses import dataclass, field, replace

    from typing_extensions import dataclass_transform

T = TypeVar("T")
_Key = TypeVar("_Key")
FEW = 20
"""So many objects of a class are made before a function for it is compiled; most classes have fewer."""

if not TYPE_CHECKING:

    def dataclass(cls: type) -> type:
        """Make a dataclass of a class."""
        return _made(cls, OPEN)

    def field(**said: Any) -> Any:
        """Say more of a field than its default, as one does to the standard library."""
        one = _Said()
        vars(one).update(said)
        return one

    def replace(value: Any, /, **changes: Any) -> Any:
        """Return a copy of a value in which some fields are others."""
        for name in type(value)._values:
            if name not in changes:
                changes[name] = getattr(value, name)
        return type(value)(**changes)


if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[T]) -> type[T]:
        """Make a frozen dataclass of a class, as most of ours are; it has a hash."""

else:

    def frozen(cls: type) -> type:
        return _made(cls, FROZEN)


def grouped(pairs: Iterable[tuple[_Key, T]]) -> dict[_Key, list[T]]:
    """Return things by their key, in the order in which they come."""
    found: dict[_Key, list[T]] = {}
    for key, one in pairs:
        found.setdefault(key, []).append(one)
    return found


def is_value(thing: object) -> bool:
    """Whether this is a value, or the class of one."""
    return hasattr(thing, "_values")


def as_tree(value: Any) -> Any:
    """Return a value as JSON has it: its fields by name, lists for tuples, and the same for what is in them."""
    if is_value(value):
        return {name: as_tree(getattr(value, name)) for name in type(value)._values}
    if isinstance(value, list | tuple):
        return [*map(as_tree, value)]
    return {key: as_tree(item) for key, item in value.items()} if isinstance(value, dict) else value


class _Said:
    """What was said of a field, with the names of the standard library."""

    default: Any = ...
    default_factory: Any = None
    compare = repr = True
    hash: bool | None = None


class Fields(dict[str, Any]):
    """The fields of a class: by name the default, what was said of it, or ``...`` for one that must be given."""

    def __init__(self, is_frozen: bool) -> None:
        super().__init__()
        self.is_frozen, self.calls = is_frozen, count()

    def said(self) -> list[tuple[str, _Said]]:
        """Return what was said of each."""
        return [(name, one if isinstance(one, _Said) else field(default=one)) for name, one in self.items()]

    @functools.cached_property
    def compared(self) -> Callable[[Any], Any]:
        """What makes two objects equal."""
        return _getter(name for name, one in self.said() if one.compare)

    @functools.cached_property
    def hashed(self) -> Callable[[Any], Any]:
        """What the hash is made of."""
        return _getter(name for name, one in self.said() if one.compare and one.hash is not False)


def _getter(names: Iterable[str]) -> Callable[[Any], Any]:
    listed = tuple(names)
    return attrgetter(*listed) if listed else lambda _: ()


def _made(cls: Any, shared: Mapping[str, Any]) -> Any:
    """Give a class its fields, those that it inherits first, and what all classes share and it does not say itself."""
    found, body = Fields(shared is FROZEN), vars(cls)
    for base in cls.__mro__[-2:0:-1]:
        found.update(getattr(base, "_values", ()))
    for name in cls.__annotations__:
        found[name] = body.get(name, ...)
        if name in body:
            delattr(cls, name)
    cls._values, cls.__match_args__ = found, tuple(found)  # type: ignore[misc]
    for name, thing in shared.items():
        if name not in body:
            setattr(cls, name, thing)
    return cls


def _init(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Fill the fields; it makes way for a compiled function when many objects are made, or it is called wrongly."""
    cls, found = type(self), self._values
    given = dict(zip(found, args, strict=False), **kwargs)
    if len(given) == len(args) + len(kwargs) and next(found.calls) < FEW:
        for name, one in found.items():
            if name not in given:
                if isinstance(one, _Said):
                    one = one.default if one.default_factory is None else one.default_factory()
                if one is ...:
                    break
                given[name] = one
        if len(given) == len(found):
            vars(self).update(given)
            if hasattr(cls, "__post_init__"):
                self.__post_init__()
            return
    compiled = _compiled(cls)
    if cls.__init__ is _init:  # and it is not wrapped
        cls.__init__ = compiled
    compiled(self, *args, **kwargs)


def _compiled(cls: Any) -> Any:
    names: dict[str, Any] = {"_set": object.__setattr__}  # past the one that refuses
    head, body = ["self"], []
    for name, one in cls._values.said():
        given = name
        if one.default_factory is not None:
            names[f"_make_{name}"] = one.default_factory
            head.append(f"{name}=...")
            given = f"_make_{name}() if {name} is ... else {name}"
        elif one.default is ...:
            head.append(name)
        else:
            names[f"_default_{name}"] = one.default
            head.append(f"{name}=_default_{name}")
        body.append(f"_set(self, {name!r}, {given})" if cls._values.is_frozen else f"self.{name} = {given}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(head)}):\n " + "\n ".join(body or ["pass"]), names)  # names and nothing else
    made = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return self is other or self._values.compared(self) == self._values.compared(other)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in self._values.said() if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _hash(self: Any) -> int:
    return hash(self._values.hashed(self))


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
        listed = [(name, kinds[name], dataclasses.field(**vars(one))) for name, one in owner._values.said()]
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
