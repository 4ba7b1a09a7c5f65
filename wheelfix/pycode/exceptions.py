"""What an ``except`` catches of a load that fails: the one answer for all that read or carry out Python code.

An extension module whose DLL is missing raises ImportError, and a module that is not there ModuleNotFoundError, which
is one kind of it. ctypes raises FileNotFoundError for a missing file, which is one kind of OSError.
"""

from __future__ import annotations

import ast
import builtins

NOT_LOADED = "ImportError"
"""What importing an extension module raises when a DLL that it needs is missing."""
NO_MODULE = "ModuleNotFoundError"
"""What an import raises when there is no such module."""
LOAD_ERRORS = ("OSError", "FileNotFoundError")
"""What a failed load of ctypes raises."""
_OTHER_NAMES = {"WindowsError": "OSError", "EnvironmentError": "OSError", "IOError": "OSError", "WinError": "OSError"}
_OF_MODULES = {f"{module}.error": "OSError" for module in ("os", "socket", "select")}


def exception_class(name: str) -> type[BaseException] | None:
    """The exception class of Python that has a name; None if there is none."""
    found = getattr(builtins, _OTHER_NAMES.get(name, name), None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def is_one(kind: str, caught: str) -> bool | None:
    """Whether an exception of one kind is one of another, by their names; None if that is not known."""
    own, other = exception_class(kind), exception_class(caught)
    if kind == caught or other in (Exception, BaseException):
        return True
    if own is not None and other is not None:
        return issubclass(own, other)
    # A class of a package cannot be the base of one of Python's; a variable may hold any.
    is_class = caught.lstrip("_")[:1].isupper() and not caught.isupper()
    return False if own is not None and is_class else None


def catches(caught: ast.expr | None, kind: str) -> bool | None:
    """Whether a handler of some type catches an exception of a kind; None if that is not known."""
    if caught is None:
        return True
    if isinstance(caught, ast.Tuple):
        found = {catches(element, kind) for element in caught.elts}
        return True if True in found else None if None in found else False
    if isinstance(caught, ast.Attribute):
        owner = caught.value.id if isinstance(caught.value, ast.Name) else ""
        return is_one(kind, _OF_MODULES.get(f"{owner}.{caught.attr}", caught.attr))
    return is_one(kind, caught.id) if isinstance(caught, ast.Name) else None


def suppresses(node: ast.With, kind: str) -> bool:
    """Whether a ``with`` is ``contextlib.suppress`` of an exception."""
    for item in node.items:
        call = item.context_expr
        name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
        if name == "suppress" and isinstance(call, ast.Call) and any(catches(one, kind) for one in call.args):
            return True
    return False
