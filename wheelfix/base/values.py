"""Values: the dataclasses of this package, made for a tenth of what they usually cost (DESIGN has the figures).

The standard library compiles six functions for each frozen class whenever the program starts, which for the two
hundred classes here is a tenth of a scan, and what it imports for that is not free either. Ours compile one function,
``__init__``, and only for a class of which many objects are made; the others are shared. To a type checker they are
the standard ones, and a frozen one refuses assignments as those do. ``dataclasses.fields``, ``asdict`` and ``replace``
work on them as well.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["as_tree", "dataclass", "field", "frozen", "grouped", "is_value", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass, field, replace

    from typing_extensions import dataclass_transform

T = TypeVar("T")
_Key = TypeVar("_Key")
FEW = 20
"""So many objects of a class are made before a function for it is compiled; most classes have fewer."""

if not TYPE_CHECKING:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, slots: bool = False) -> Any:
        """Make a dataclass of a class; a frozen one has a hash."""

        def make(cls: type) -> type:
            found = _collected(cls)
            made = _with_slots(cls, found) if slots else cls
            compared = [name for name, one in found.items() if one.compare]
            made._values = found
            made._compared = _getter(compared)
            made._hashed = _getter(name for name in compared if found[name].hashed is not False)
            methods = {
                "__init__": _late_init(made, found, frozen),
                "__eq__": _equal,
                "__hash__": _hash if frozen else None,
                "__repr__": _show,
                "__match_args__": tuple(found),
                "__dataclass_fields__": _StandardFields(),
            }
            if frozen:
                methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_set}
                methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
            for name, method in methods.items():
                if name not in cls.__dict__:
                    setattr(made, name, method)
            return made

        return make if cls is None else make(cls)

    def field(**said: Any) -> Any:
        """Say more of a field than its default, as one does to the standard library."""
        return _Field(**said)

    def replace(value: Any, /, **changes: Any) -> Any:
        """Return a copy of a value in which some fields are others."""
        for name in type(value)._values:
            if name not in changes:
                changes[name] = getattr(value, name)
        return type(value)(**changes)


if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[T]) -> type[T]:
        """Make a frozen dataclass with slots of a class, as most of ours are."""

else:
    frozen = dataclass(frozen=True, slots=True)


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


class _Field:
    """What was said of a field."""

    __slots__ = ("compare", "default", "factory", "hashed", "kind", "shown")

    def __init__(self, default: Any = ..., default_factory: Any = None, compare: bool = True, **said: Any) -> None:
        self.default, self.factory, self.compare = default, default_factory, compare
        self.hashed, self.shown, self.kind = said.get("hash"), said.get("repr", True), ""


def _collected(cls: Any) -> dict[str, _Field]:
    """The fields of a class, those that it inherits first; what it says of its own is taken off it."""
    found: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(base.__dict__.get("_values", {}))
    for name, kind in cls.__annotations__.items():
        given = cls.__dict__.get(name, ...)
        found[name] = given if isinstance(given, _Field) else _Field(given)
        found[name].kind = kind
        if given is not ...:
            delattr(cls, name)
    return found


def _with_slots(cls: Any, found: Iterable[str]) -> Any:
    """The class made again with a slot for each field."""
    taken = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    body = {name: thing for name, thing in cls.__dict__.items() if name not in {"__dict__", "__weakref__"}}
    body["__slots__"] = tuple(name for name in found if name not in taken)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _late_init(cls: Any, found: dict[str, _Field], frozen: bool) -> Callable[..., None]:
    """An ``__init__`` that makes way for a compiled one when many objects are made, or it is called wrongly."""
    left, real = FEW, None
    needed = {name for name, one in found.items() if one.default is ... and one.factory is None}

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal left, real
        left -= 1
        given = dict(zip(found, args, strict=False), **kwargs)
        is_right = len(given) == len(args) + len(kwargs) and needed <= given.keys() <= found.keys()
        if left < 0 or not is_right:
            if real is None:
                real = _init(cls, found, frozen)
                if cls.__init__ is init:  # and it is not wrapped
                    cls.__init__ = real
            real(self, *args, **kwargs)
            return
        for name, one in found.items():
            value = given[name] if name in given else one.default if one.factory is None else one.factory()
            object.__setattr__(self, name, value)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    return init


def _init(cls: Any, found: dict[str, _Field], frozen: bool) -> Any:
    names: dict[str, Any] = {}
    head, body = ["self"], []
    for name, one in found.items():
        given = name
        if one.factory is not None:
            names[f"_make_{name}"] = one.factory
            head.append(f"{name}=...")
            given = f"_make_{name}() if {name} is ... else {name}"
        elif one.default is ...:
            head.append(name)
        else:
            names[f"_default_{name}"] = one.default
            head.append(f"{name}=_default_{name}")
        if frozen:  # past the __setattr__ that refuses
            names[f"_set_{name}"] = _setter(cls, name)
            body.append(f"_set_{name}(self, {given})")
        else:
            body.append(f"self.{name} = {given}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(head)}):\n " + "\n ".join(body or ["pass"]), names)  # names and nothing else
    made = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _setter(cls: Any, name: str) -> Callable[[Any, Any], None]:
    """A function that sets a field of a frozen object: that of its slot, where it has one."""
    slot: Any = getattr(cls, name, None)
    if hasattr(slot, "__set__"):
        set_slot: Callable[[Any, Any], None] = slot.__set__
        return set_slot
    return lambda value, given: object.__setattr__(value, name, given)


def _standard() -> Any:
    import dataclasses

    return dataclasses


def _refuse_to_set(self: object, name: str, value: object = ...) -> None:
    raise _standard().FrozenInstanceError(f"cannot {'delete' if value is ... else 'assign to'} field {name!r}")


def _get_state(self: Any) -> list[Any]:
    """What copy and pickle keep of a frozen object."""
    return [getattr(self, name) for name in type(self)._values]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, given in zip(type(self)._values, state, strict=True):
        object.__setattr__(self, name, given)


class _StandardFields:
    """What the standard library asks a dataclass for, made when it does."""

    def __get__(self, instance: object, owner: Any) -> Any:
        dataclasses, listed = _standard(), []
        for name, one in owner._values.items():
            said = {"compare": one.compare, "hash": one.hashed, "repr": one.shown}
            if one.default is not ...:
                said["default"] = one.default
            if one.factory is not None:
                said["default_factory"] = one.factory
            listed.append((name, one.kind, dataclasses.field(**said)))
        twin: Any = dataclasses.make_dataclass(owner.__name__, listed)
        owner.__dataclass_fields__ = twin.__dataclass_fields__
        return owner.__dataclass_fields__


def _getter(names: Iterable[str]) -> Callable[[Any], Any]:
    listed = tuple(names)
    return attrgetter(*listed) if listed else lambda _: ()


def _equal(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return self is other or _key(self) == _key(other)


def _key(value: Any) -> Any:
    return type(value)._compared(value)


def _hash(self: Any) -> int:
    return hash(type(self)._hashed(self))


def _show(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in type(self)._values.items() if one.shown)
    return f"{type(self).__qualname__}({shown})"
