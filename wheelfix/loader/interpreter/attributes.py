"""What ``owner.name`` gives, for objects, classes and functions of the package, and for DLLs."""

from __future__ import annotations

import abc

from wheelfix.loader.interpreter import methods
from wheelfix.loader.interpreter.classes import Classes
from wheelfix.loader.interpreter.evaluation import error
from wheelfix.loader.interpreter.objects import (
    UNKNOWN,
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
    UnknownValue,
    VersionInfo,
    WindowsPathValue,
    is_error,
)

_DESCRIPTORS = ("property", "cached_property")


class Attributes(Classes):
    """Looks up attributes."""

    def attribute(self, owner: PyValue, name: str) -> PyValue:
        """What ``owner.name`` gives."""
        if isinstance(owner, Instance):
            return self._of_object(owner, name)
        if isinstance(owner, CodeClass):
            return self._of_type(owner, name)
        if isinstance(owner, CodeModule):
            return self.of_module(owner, name)
        if isinstance(owner, Native):
            return self.of_native(owner.name, name)
        if isinstance(owner, LoadedDll):
            return self._of_library(owner, name)
        if isinstance(owner, WindowsPathValue):
            return methods.path_attribute(owner, name)
        if isinstance(owner, CodeFunction | MarkedFunction):
            return self._of_function(owner, name)
        if isinstance(owner, UnknownValue):
            return UNKNOWN
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

    @abc.abstractmethod
    def of_module(self, module: CodeModule, name: str) -> PyValue:
        """A name of a module of the package."""

    @abc.abstractmethod
    def of_native(self, owner: str, name: str) -> PyValue:
        """An attribute of something of Python's library."""

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
        found = self._of_class(kind, name) if isinstance(kind, CodeClass) else None
        if isinstance(found, MarkedFunction) and found.kind in _DESCRIPTORS and name not in owner.attributes:
            made = self.call(found.function, [owner], {})
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
            return self._of_cffi(owner.attributes["<library>"], name)
        if "<items>" in owner.attributes and hasattr(dict, name):
            return Bound(Native(f"<method>.{name}"), [owner.attributes["<items>"]])
        if name in ("__dict__", "__doc__", "__module__"):
            return owner.attributes if name == "__dict__" else UNKNOWN
        own = self._of_class(kind, "__getattr__") if isinstance(kind, CodeClass) else None
        if isinstance(own, CodeFunction):
            return self.call(own, [owner, name], {})
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
        getter = self._of_class(found.kind, "__get__") if _is_own_object(found) else None
        if isinstance(getter, CodeFunction):
            return self.call(getter, [found, owner, kind], {})
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
        found = self._of_class(owner, name)
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
        found = self._of_class(maker, name)
        if isinstance(found, MarkedFunction) and found.kind in _DESCRIPTORS:
            return self.call(found.function, [owner], {})
        if isinstance(found, CodeFunction):
            return Bound(found, [owner])
        own = self._of_class(maker, "__getattr__")
        if isinstance(own, CodeFunction):
            return self.call(own, [owner, name], {})
        return UNKNOWN

    def _of_super(self, owner: CodeClass, thing: PyValue, name: str) -> PyValue:
        """What ``super().name`` gives in a method of a class."""
        for base in owner.bases:
            for one in base.order() if isinstance(base, CodeClass) else ():
                if isinstance(one, CodeClass) and name in one.names:
                    found = one.names[name]
                    if isinstance(found, MarkedFunction) and found.kind in _DESCRIPTORS:
                        return self.call(found.function, [thing], {})
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
        exported = self.machine.exports(owner)
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

    def _of_cffi(self, library: LoadedDll, name: str) -> PyValue:
        """A function of a DLL that cffi has loaded; constants have names in capitals, and come from elsewhere."""
        exported = self.machine.exports(library)
        if exported is not None and name not in exported and not name[:1].isupper() and not name.startswith("_"):
            thrown = error("AttributeError", f"function/symbol '{name}' not found in library")
            thrown.error.failure = LoadFault("symbol", library.path, None)
            raise thrown
        return UNKNOWN


def _is_own_object(value: PyValue) -> bool:
    return isinstance(value, Instance) and isinstance(value.kind, CodeClass)
