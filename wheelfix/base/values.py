"""Values: the dataclasses of this package, made for a tenth of what they usually cost (DESIGN has the figures).

The standard library compiles six functions for each frozen class whenever the program starts, which for the two
hundred classes here is a tenth of a scan, and what it imports for that is not free either. Ours compile one function,
``__init__``, and only for a class of which many objects are made; the others are shared. To a type checker they are
the standard ones, and a frozen one refuses assignments as those do. ``dataclasses.fields``, ``asdict`` and ``replace``
work on them as well.
"""

from __future__ import annotations

from itertools import count
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
            body = {name: thing for name, thing in cls.__dict__.items() if name not in {"__dict__", "__weakref__"}}
            found = body["_values"] = _collected(cls, body)
            if slots:
                taken = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
                body["__slots__"] = tuple(name for name in found if name not in taken)
            body["_calls"] = count()
            body["__match_args__"], body["__dataclass_fields__"] = tuple(found), STANDARD_FIELDS
            body["_compared"] = body["_hashed"] = None
            bases = cls.__bases__
            if issubclass(cls, _Value):
                body.setdefault("__init__", _Value.__init__)  # that of the base may be compiled, for its own fields
            else:
                bases = (_Frozen if frozen else _Value, *(base for base in bases if base is not object))
            return type(cls)(cls.__name__, bases, body | {"__qualname__": cls.__qualname__})

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
    kind: str

    def __init__(  # the names are those of the standard library
        self,
        default: Any = ...,
        default_factory: Any = None,
        compare: bool = True,
        hash: bool | None = None,  # noqa: A002
        repr: bool = True,  # noqa: A002
    ) -> None:
        self.default, self.factory, self.compare, self.hashed, self.shown = (
            default,
            default_factory,
            compare,
            hash,
            repr,
        )


def _collected(cls: Any, body: dict[str, Any]) -> dict[str, _Field]:
    """The fields of a class, those that it inherits first; what it says of its own is taken out of its body."""
    found: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(base.__dict__.get("_values", ()))
    for name, kind in cls.__annotations__.items():
        given = body.pop(name, ...)
        one = found[name] = given if isinstance(given, _Field) else _Field(given)
        one.kind = kind
    return found


class _Value:
    """What the objects of all our dataclasses do."""

    __slots__ = ()
    if TYPE_CHECKING:  # whoever asks for the types of fields at run time does not mean these
        _values: dict[str, _Field]
        _calls: count[int]
        _compared: Callable[[Any], Any] | None
        _hashed: Callable[[Any], Any] | None

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        """Fill the fields; it makes way for a compiled function when many objects are made, or it is called wrongly."""
        cls, found = type(self), self._values
        given = dict(zip(found, args, strict=False), **kwargs)
        is_right = len(given) == len(args) + len(kwargs) and given.keys() <= found.keys()
        if is_right and next(cls._calls) < FEW:
            for name, one in found.items():
                value = given[name] if name in given else one.default if one.factory is None else one.factory()
                if value is ...:
                    break
                object.__setattr__(self, name, value)
            else:
                if hasattr(cls, "__post_init__"):
                    self.__post_init__()  # type: ignore[attr-defined]
                return
        compiled = _init(cls, found, isinstance(self, _Frozen))
        if cls.__init__ is _Value.__init__:  # and it is not wrapped
            cls.__init__ = compiled  # type: ignore[method-assign]
        compiled(self, *args, **kwargs)

    def __eq__(self, other: object) -> Any:
        cls = type(self)
        if type(other) is not cls:
            return NotImplemented
        if cls._compared is None:
            cls._compared = _getter(name for name, one in self._values.items() if one.compare)
        return self is other or cls._compared(self) == cls._compared(other)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in self._values.items() if one.shown)
        return f"{type(self).__qualname__}({shown})"


class _Frozen(_Value):
    """What cannot be changed, and can be a key."""

    __slots__ = ()

    def __hash__(self) -> int:
        cls = type(self)
        if cls._hashed is None:
            cls._hashed = _getter(name for name, one in self._values.items() if one.compare and one.hashed is not False)
        return hash(cls._hashed(self))

    def __setattr__(self, name: str, value: object) -> None:
        raise _standard().FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise _standard().FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[Any]:
        """What copy and pickle keep of it."""
        return [getattr(self, name) for name in self._values]

    def __setstate__(self, state: list[Any]) -> None:
        for name, given in zip(self._values, state, strict=True):
            object.__setattr__(self, name, given)


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


STANDARD_FIELDS = _StandardFields()


def _getter(names: Iterable[str]) -> Callable[[Any], Any]:
    listed = tuple(names)
    return attrgetter(*listed) if listed else lambda _: ()
