"""What a name stands for: a value of the package, or something of Python's own."""

from __future__ import annotations

import builtins
import functools
import importlib
from typing import TYPE_CHECKING

from wheelfix.loader.interpreter.evaluation import Evaluation, error
from wheelfix.loader.interpreter.objects import UNKNOWN, Namespace, Native, PyValue, Undecided

if TYPE_CHECKING:
    import ast

_STARRED = frozenset(
    "ctypes ctypes.util ctypes.wintypes os os.path math struct typing enum time platform pathlib".split()
)
_ONLY_ON_WINDOWS = frozenset(
    "WinDLL OleDLL windll oledll WinError FormatError GetLastError get_last_error set_last_error WINFUNCTYPE HRESULT"
    " DllCanUnloadNow DllGetClassObject".split()
)


@functools.cache
def standard_names(module: str) -> frozenset[str]:
    """The names that ``from module import *`` binds, for modules of Python's library that packages do this with."""
    if module not in _STARRED:
        return frozenset()
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    return frozenset(names) | (_ONLY_ON_WINDOWS if module == "ctypes" else frozenset())


def is_builtin(name: str) -> bool:
    """Whether Python has a name without any import."""
    return hasattr(builtins, name) or name in ("WindowsError", "__builtins__")


class NameLookup(Evaluation):
    """Looks names up, from the innermost function outwards."""

    def visit_Name(self, node: ast.Name) -> PyValue:
        return self.look_up(node.id)

    def look_up(self, name: str) -> PyValue:
        """What a name stands for."""
        place: Namespace | None = self.environment
        while place is not None:
            if name in place.names and name not in place.outer:
                return place.names[name]
            place = place.above
        if name in self.environment.globals:
            return self.environment.globals[name]
        for module in reversed(self.environment.globals.get("<star>", ())):
            if not module or name in standard_names(module):
                return Native(f"{module}.{name}") if module else UNKNOWN
        if not is_builtin(name):
            if not self.binds(name):
                raise Undecided(f"something else defines the name {name}")
            raise error("NameError", f"name '{name}' is not defined")
        return Native(name)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> PyValue:
        found = self.value(node.value)
        self.assign(node.target, found)
        return found
