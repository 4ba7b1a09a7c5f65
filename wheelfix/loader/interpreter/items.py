"""What ``owner[key]`` gives, and what a loop goes through."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from wheelfix.loader.interpreter.attributes import Attributes
from wheelfix.loader.interpreter.evaluation import PLAIN_CONTAINERS, error
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
    CodeClass,
    CodeFunction,
    Instance,
    Iteration,
    LoadedDll,
    Native,
    PyValue,
    Undecided,
    UnknownValue,
    WindowsPathValue,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class ItemLookup(Attributes):
    """Looks up items, and iterates over values."""

    def item(self, owner: PyValue, key: PyValue) -> PyValue:
        """What ``owner[key]`` gives."""
        if isinstance(owner, Native):
            return self.item_of_native(owner.name, key)
        if isinstance(owner, LoadedDll):
            return self._of_library(owner, key) if isinstance(key, str) else UNKNOWN
        if isinstance(owner, Instance):
            return self._item_of(owner, key)
        if isinstance(owner, CodeClass) and "<members>" in owner.names:
            return owner.names.get(key, UNKNOWN) if isinstance(key, str) else UNKNOWN
        if isinstance(owner, UnknownValue | CodeClass) or isinstance(key, UnknownValue):
            return UNKNOWN
        if not isinstance(owner, str | list | tuple | dict | bytes | range):
            raise error("TypeError", "object is not subscriptable")
        try:
            return owner[self.key(key) if isinstance(owner, dict) else key]
        except KeyError:
            raise error("KeyError", key) from None
        except IndexError:
            raise error("IndexError", "list index out of range") from None
        except TypeError:
            raise error("TypeError", "indices must be integers") from None

    def _item_of(self, owner: Instance, key: PyValue) -> PyValue:
        own = self._of_class(owner.kind, "__getitem__") if isinstance(owner.kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            return self.call(own, [owner, key], {})
        if isinstance(owner.kind, CodeClass) and owner.kind.fields is not None and isinstance(key, int):
            return self.item([owner.attributes.get(name) for name in owner.kind.fields], key)
        items = owner.attributes.get("<items>")
        if isinstance(items, dict) and not isinstance(key, UnknownValue):
            if self.key(key) not in items and "<factory>" in owner.attributes:
                items[key] = self.call(owner.attributes["<factory>"], [], {})
            if key not in items:
                absent = self._of_class(owner.kind, "__missing__") if isinstance(owner.kind, CodeClass) else None
                if isinstance(absent, CodeFunction):
                    return self.call(absent, [owner, key], {})
            return self.item(items, key)
        return UNKNOWN

    def set_item_of(self, owner: Instance, key: PyValue, value: PyValue) -> None:
        """``owner[key] = value`` for an object of the package."""
        own = self._of_class(owner.kind, "__setitem__") if isinstance(owner.kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            self.call(own, [owner, key, value], {})
        elif isinstance(owner.attributes.get("<items>"), dict) and not isinstance(key, UnknownValue):
            owner.attributes["<items>"][self.key(key)] = value

    @abc.abstractmethod
    def item_of_native(self, name: str, key: PyValue) -> PyValue:
        """An item of something of Python's library."""

    def iterate(self, value: PyValue) -> Iterator[PyValue]:
        """Iterate over the items of a value; Undecided if they are not known."""
        self.step(1 + (len(value) >> 4) if isinstance(value, PLAIN_CONTAINERS) else 1)
        if isinstance(value, list | tuple | range | str | bytes):
            return iter(list(value)) if not isinstance(value, list) else _living(value)
        if isinstance(value, set | frozenset):
            return iter(sorted(value, key=str))
        if isinstance(value, dict):
            return iter(list(value))
        if isinstance(value, Iteration):
            return value.items
        if isinstance(value, CodeClass) and "<members>" in value.names:
            return iter(value.names["<members>"])
        if isinstance(value, Instance):
            return self._iterate_object(value)
        if isinstance(value, WindowsPathValue) or value is None or isinstance(value, int):
            raise error("TypeError", "object is not iterable")
        raise Undecided("what a loop goes through is not known")

    def _iterate_object(self, value: Instance) -> Iterator[PyValue]:
        kind = value.kind
        if isinstance(kind, CodeClass) and kind.fields is not None and self._of_class(kind, "__iter__") is None:
            return iter([value.attributes.get(name) for name in kind.fields])
        if "<items>" in value.attributes:
            return iter(list(value.attributes["<items>"]))
        own = self._of_class(kind, "__iter__") if isinstance(kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            return self.iterate(self.call(own, [value], {}))
        raise Undecided("what a loop goes through is not known")


def _living(items: list[PyValue]) -> Iterator[PyValue]:
    """The items of a list that may change in the meantime."""
    at = 0
    while at < len(items):
        yield items[at]
        at += 1
