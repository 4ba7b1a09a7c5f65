"""What ``owner.name`` and ``owner[key]`` give, and what a loop goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.pycode import methods
from wheelfix.pycode.loadcalls import OF_UNKNOWN
from wheelfix.pycode.objects import (
    PLAIN_CONTAINERS,
    UNKNOWN,
    Alternatives,
    Bound,
    CodeClass,
    CodeFunction,
    CodeModule,
    FolderHandle,
    Instance,
    Iteration,
    LoadedDll,
    LoadFault,
    Managed,
    MarkedFunction,
    Native,
    PyValue,
    Undecided,
    UnknownValue,
    VersionInfo,
    WindowsPathValue,
    error,
    is_error,
    of_class,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pycode.run import PythonRun


_DESCRIPTORS = ("property", "cached_property")


class Attributes:
    """Looks up attributes and items, and iterates over values."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        run.attribute = self.attribute
        run.item = self.item
        run.set_item_of = self.set_item_of
        run.iterate = self.iterate

    def attribute(self, owner: PyValue, name: str) -> PyValue:
        """What ``owner.name`` gives."""
        if isinstance(owner, Alternatives):
            return self.run.combined(lambda one: self.attribute(one, name), owner)
        if isinstance(owner, Instance):
            return self._of_object(owner, name)
        if isinstance(owner, CodeClass):
            return self._of_type(owner, name)
        if isinstance(owner, CodeModule):
            return self.run.of_module(owner, name)
        if isinstance(owner, Native):
            return self.run.of_native(owner.name, name)
        if isinstance(owner, LoadedDll):
            return self._of_library(owner, name)
        if isinstance(owner, WindowsPathValue):
            return methods.path_attribute(owner, name)
        if isinstance(owner, CodeFunction | MarkedFunction):
            return self._of_function(owner, name)
        if isinstance(owner, UnknownValue):
            return Native(f"?.{name}") if self.run.reading is not None and name in OF_UNKNOWN else UNKNOWN
        if owner is None or isinstance(owner, bool):
            if name.startswith("__"):
                return UNKNOWN
            raise error("AttributeError", f"'{type(owner).__name__}' object has no attribute '{name}'")
        if isinstance(owner, Managed) and owner.kind == "super":
            return self._of_super(owner.value[0], owner.value[1], name)
        if isinstance(owner, VersionInfo) and name in VersionInfo.names:
            return owner[VersionInfo.names.index(name)]
        if isinstance(owner, FolderHandle | Managed | Iteration | Bound):
            return Bound(Native(f"<{type(owner).__name__}>.{name}"), [owner])
        if not hasattr(owner, name) and not (isinstance(owner, dict) and name == "move_to_end"):
            raise error("AttributeError", f"'{type(owner).__name__}' object has no attribute '{name}'")
        return Bound(Native(f"<method>.{name}"), [owner])

    def _of_function(self, owner: CodeFunction | MarkedFunction, name: str) -> PyValue:
        if isinstance(owner, MarkedFunction) and owner.kind == "property" and name in ("setter", "getter", "deleter"):
            return Bound(Native(f"<property>.{name}"), [owner])
        inner = owner.function if isinstance(owner, MarkedFunction) else owner
        if isinstance(inner, CodeFunction):
            if name in inner.attributes:
                return inner.attributes[name]
            if name in ("__name__", "__qualname__"):
                return inner.name
            if name in ("__doc__", "__module__", "__dict__", "__wrapped__", "cache_clear", "__globals__"):
                return UNKNOWN
            raise error("AttributeError", f"'function' object has no attribute '{name}'")
        return UNKNOWN

    def _of_object(self, owner: Instance, name: str) -> PyValue:
        kind = owner.kind
        found = of_class(kind, name) if isinstance(kind, CodeClass) else None
        if isinstance(found, MarkedFunction) and found.kind in _DESCRIPTORS and name not in owner.attributes:
            made = self.run.call(found.function, [owner], {})
            if found.kind == "cached_property":
                owner.attributes[name] = made
            return made
        if name in owner.attributes:
            return owner.attributes[name]
        if found is not None:
            return self._described(found, owner, kind)
        if isinstance(kind, CodeClass) and name in kind.names:
            return None
        if name == "__class__":
            return kind
        if "<library>" in owner.attributes:
            return UNKNOWN  # a function of the DLL, or a constant of the declarations, which it does not export
        if "<items>" in owner.attributes and hasattr(dict, name):
            return Bound(Native(f"<method>.{name}"), [owner.attributes["<items>"]])
        if name in ("__dict__", "__doc__", "__module__"):
            return owner.attributes if name == "__dict__" else UNKNOWN
        own = of_class(kind, "__getattr__") if isinstance(kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            return self.run.call(own, [owner, name], {})
        if is_error(kind) or (isinstance(kind, CodeClass) and kind.is_known):
            if name in (
                "add_note",
                "with_traceback",
                "__traceback__",
                "__cause__",
                "__context__",
                "__init__",
                "__repr__",
            ):
                return UNKNOWN
            if name in ("msg", "name", "path", "winerror", "errno", "strerror", "filename"):
                return UNKNOWN
            raise error("AttributeError", f"object has no attribute '{name}'")
        return UNKNOWN

    def _described(self, found: PyValue, owner: PyValue, kind: PyValue) -> PyValue:
        """An attribute of a class as its object sees it."""
        getter = of_class(found.kind, "__get__") if _is_own_object(found) else None
        if isinstance(getter, CodeFunction):
            return self.run.call(getter, [found, owner, kind], {})
        return self._bound(found, owner, kind) if isinstance(owner, Instance) else found

    def _bound(self, found: PyValue, owner: Instance, kind: PyValue) -> PyValue:
        if isinstance(found, CodeFunction):
            return Bound(found, [owner])
        if isinstance(found, MarkedFunction):
            if found.kind == "staticmethod":
                return found.function
            return Bound(
                found if found.kind != "classmethod" else found.function,
                [kind if found.kind == "classmethod" else owner],
            )
        return found

    def _of_type(self, owner: CodeClass, name: str) -> PyValue:
        found = of_class(owner, name)
        if found is None and name not in owner.names:
            if name in ("__name__", "__qualname__"):
                return owner.name
            if name == "__members__" and "<members>" in owner.names:
                return {one.attributes["name"]: one for one in owner.names["<members>"]}
            if name == "_make" and owner.fields is not None:
                return UNKNOWN
            if owner.maker is not None:
                return self._of_maker(owner, owner.maker, name)
            if name.startswith("__") or not owner.is_known:
                return UNKNOWN
            raise error("AttributeError", f"type object '{owner.name}' has no attribute '{name}'")
        if isinstance(found, MarkedFunction) and found.kind == "classmethod":
            return Bound(found.function, [owner])
        if isinstance(found, MarkedFunction) and found.kind == "staticmethod":
            return found.function
        return self._described(found, None, owner)

    def _of_maker(self, owner: CodeClass, maker: CodeClass, name: str) -> PyValue:
        """An attribute that a metaclass gives to its class."""
        found = of_class(maker, name)
        if isinstance(found, MarkedFunction) and found.kind in _DESCRIPTORS:
            return self.run.call(found.function, [owner], {})
        if isinstance(found, CodeFunction):
            return Bound(found, [owner])
        own = of_class(maker, "__getattr__")
        if isinstance(own, CodeFunction):
            return self.run.call(own, [owner, name], {})
        return UNKNOWN

    def _of_super(self, owner: CodeClass, thing: PyValue, name: str) -> PyValue:
        """What ``super().name`` gives in a method of a class."""
        for base in owner.bases:
            for one in base.order() if isinstance(base, CodeClass) else ():
                if isinstance(one, CodeClass) and name in one.names:
                    found = one.names[name]
                    if isinstance(found, MarkedFunction) and found.kind in _DESCRIPTORS:
                        return self.run.call(found.function, [thing], {})
                    return self._bound(found, thing, thing.kind if isinstance(thing, Instance) else thing)
        if name in ("__new__", "__call__"):
            return Native("<new>.object") if name == "__new__" else Bound(Native("<make>.object"), [thing])
        return UNKNOWN

    # ----------------------------------------------------------------------------------- functions of DLLs

    def _of_library(self, owner: LoadedDll, name: str) -> PyValue:
        if name in owner.attributes:
            return owner.attributes[name]
        if name == "_name":
            return owner.name
        if name in ("_handle", "_FuncPtr", "__class__", "__dict__", "__setattr__", "__getitem__", "__doc__"):
            return UNKNOWN
        exported = self.run.machine.exports(owner)
        if name.startswith("__") and name.endswith("__"):
            raise error("AttributeError", name)
        if exported is None:
            return Native(f"<windows>.{name}")
        if name not in exported:
            thrown = error("AttributeError", f"function '{name}' not found")
            thrown.error.failure = LoadFault("symbol", owner.path, None)
            raise thrown
        owner.attributes[name] = UNKNOWN
        return UNKNOWN

    def item(self, owner: PyValue, key: PyValue) -> PyValue:
        """What ``owner[key]`` gives."""
        if isinstance(owner, Alternatives) or isinstance(key, Alternatives):
            return self.run.combined(self.item, owner, key)
        if isinstance(owner, Native):
            return self.run.item_of_native(owner.name, key)
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
            return owner[self.run.key(key) if isinstance(owner, dict) else key]
        except KeyError:
            raise error("KeyError", key) from None
        except IndexError:
            raise error("IndexError", "list index out of range") from None
        except TypeError:
            raise error("TypeError", "indices must be integers") from None

    def _item_of(self, owner: Instance, key: PyValue) -> PyValue:
        own = of_class(owner.kind, "__getitem__") if isinstance(owner.kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            return self.run.call(own, [owner, key], {})
        if isinstance(owner.kind, CodeClass) and owner.kind.fields is not None and isinstance(key, int):
            return self.item([owner.attributes.get(name) for name in owner.kind.fields], key)
        items = owner.attributes.get("<items>")
        if isinstance(items, dict) and not isinstance(key, UnknownValue):
            if self.run.key(key) not in items and "<factory>" in owner.attributes:
                items[key] = self.run.call(owner.attributes["<factory>"], [], {})
            if key not in items:
                absent = of_class(owner.kind, "__missing__") if isinstance(owner.kind, CodeClass) else None
                if isinstance(absent, CodeFunction):
                    return self.run.call(absent, [owner, key], {})
            return self.item(items, key)
        return UNKNOWN

    def set_item_of(self, owner: Instance, key: PyValue, value: PyValue) -> None:
        """``owner[key] = value`` for an object of the package."""
        own = of_class(owner.kind, "__setitem__") if isinstance(owner.kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            self.run.call(own, [owner, key, value], {})
        elif isinstance(owner.attributes.get("<items>"), dict) and not isinstance(key, UnknownValue):
            owner.attributes["<items>"][self.run.key(key)] = value

    def iterate(self, value: PyValue) -> Iterator[PyValue]:
        """Iterate over the items of a value; Undecided if they are not known."""
        self.run.step(1 + (len(value) >> 4) if isinstance(value, PLAIN_CONTAINERS) else 1)
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
        if isinstance(value, Alternatives):
            lists = [
                list(self.iterate(one)) for one in value.alternatives if not isinstance(one, UnknownValue | Native)
            ]
            return iter([item for items in lists for item in items])
        if isinstance(value, Managed) and value.kind == "file":
            return iter(value.value.splitlines(True))
        raise Undecided("what a loop goes through is not known")

    def _iterate_object(self, value: Instance) -> Iterator[PyValue]:
        kind = value.kind
        if isinstance(kind, CodeClass) and kind.fields is not None and of_class(kind, "__iter__") is None:
            return iter([value.attributes.get(name) for name in kind.fields])
        if "<items>" in value.attributes:
            return iter(list(value.attributes["<items>"]))
        own = of_class(kind, "__iter__") if isinstance(kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            return self.iterate(self.run.call(own, [value], {}))
        raise Undecided("what a loop goes through is not known")


def _is_own_object(value: PyValue) -> bool:
    return isinstance(value, Instance) and isinstance(value.kind, CodeClass)


def _living(items: list[PyValue]) -> Iterator[PyValue]:
    """The items of a list that may change in the meantime."""
    at = 0
    while at < len(items):
        yield items[at]
        at += 1
