"""Values: the dataclasses of this package, made for a third of what they usually cost.

The standard library compiles six functions for each frozen class whenever the program starts, which for the two
hundred classes here is a tenth of a scan. Ours compiles one, ``__init__``; the others are shared. To a type checker
they are the standard ones, and it is the type checker that sees when somebody assigns to a field of a frozen one.
"""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, slots: bool = False) -> Any:
        """Make a dataclass of a class; a frozen one has a hash."""

        def make(cls: type) -> type:
            made = dataclasses.dataclass(repr=False, eq=False, slots=slots)(cls)
            compared = [one for one in fields(made) if one.compare]
            made._compared = _getter(one.name for one in compared)
            made._hashed = _getter(one.name for one in compared if one.hash is not False)
            methods = {"__eq__": _equal, "__hash__": _hash if frozen else None, "__repr__": _show}
            for name, method in methods.items():
                if name not in cls.__dict__:
                    setattr(made, name, method)
            return made

        return make if cls is None else make(cls)


def _getter(names: Any) -> Callable[[Any], Any]:
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
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"
