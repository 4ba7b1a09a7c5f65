"""Values of any of our dataclasses in which every text is one that a stranger chose to do harm."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import importlib
import pkgutil
import sys
import types
import typing
from pathlib import Path
from typing import Any

import wheelfix
from wheelfix import model

HOSTILE = (
    "x\x1b[2J\x1b]0;owned\x07\x1b]8;;http://owned\x1b\\\x9b31m\r\n::error::owned\x85::add-mask::owned\u2028##vso[task.x]"
    "##[error]owned \u202egnp.exe \u200b\ufeff `a` ``b`` ```c |d|e| <script>owned</script> <!-- ]]> & &lt; [t](u)"
    " ![i](j) **b** ~~s~~ %0A%25 \\| \\` \ud800 \udfff \x00 $(owned) {{owned}} # - 1. {}"
)
"""Something for every output to obey."""


class Maker:
    """Makes values from the annotations of their classes."""

    def __init__(self, text: str = HOSTILE, **fixed: object) -> None:
        self._text = text
        self._fixed = fixed
        """Values for fields of a name, where a text has to be one of a few words of ours."""

    def make(self, kind: Any) -> Any:
        """Return a value of an annotation."""
        if isinstance(kind, str):  # an alias inside of another annotation, which Python 3.10 leaves as it is
            kind = eval(kind, vars(model))
        origin, args = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self.make(next(arg for arg in args if arg is not type(None)))
        if origin is tuple:
            if len(args) == 2 and args[1] is ...:
                return (self.make(args[0]), self.make(args[0]))
            return tuple(self.make(arg) for arg in args)
        if origin in (list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable):
            return (list if origin is list else frozenset if origin is frozenset else tuple)([self.make(args[0])])
        if origin in (dict, collections.abc.Mapping):
            return {self.make(args[0]): self.make(args[1])}
        if origin is collections.abc.Callable:
            return lambda *_: self.make(args[-1])
        return self._plain(kind)

    def _plain(self, kind: Any) -> Any:
        if kind is str or kind is Any or kind is object:
            return self._text
        if kind in (int, float):
            return kind(3)
        if kind is bool:
            return True
        if kind is bytes:
            return b"x"
        if kind is Path:
            return Path(self._text.replace("\0", ""))
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return next(iter(kind))
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return kind(self._text, because=self._text, hint=self._text)
        if hasattr(kind, "__dataclass_fields__"):
            return self._dataclass(kind)
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return kind(**self._fields(kind, kind._fields))
        raise TypeError(f"no value for {kind!r}")

    def _dataclass(self, kind: Any) -> Any:
        names = [field.name for field in dataclasses.fields(kind) if field.init]
        return kind(**self._fields(kind, names))

    def _fields(self, kind: Any, names: Any) -> dict[str, Any]:
        hints = _hints(kind)
        return {name: self._fixed[name] if name in self._fixed else self.make(hints[name]) for name in names}


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    own = {name: value for name, value in vars(sys.modules[kind.__module__]).items() if isinstance(value, type)}
    return typing.get_type_hints(kind, localns={"Path": Path, **_names(), **own})


@functools.cache
def _names() -> dict[str, Any]:
    """Return every class and alias of the package by its name; modules import some for their annotations only."""
    # Of two classes of one name that of the model is meant, unless a module has the other.
    found = {name: value for name, value in vars(model).items() if name[0].isupper()}
    for info in pkgutil.walk_packages(wheelfix.__path__, "wheelfix."):
        if "__main__" not in info.name:
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                if isinstance(value, type) and value.__module__ == info.name and not name.startswith("_"):
                    found.setdefault(name, value)
    return {
        **{name: getattr(collections.abc, name) for name in ("Callable", "Iterable", "Mapping", "Sequence")},
        **found,
    }
