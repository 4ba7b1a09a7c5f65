"""Questions about the syntax of Python code that is followed: decorators, conditions, comparisons."""

from __future__ import annotations

import ast
import operator
import re
import sys
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    BASE,
    ROOT,
    UNKNOWN,
    DictValue,
    Extern,
    Items,
)
from wheelfix.pycode.exceptions import NO_MODULE, catches

if TYPE_CHECKING:
    from wheelfix.loader.codereader.codevalue import Atom, Value
    from wheelfix.pycode.budget import CodeBudget

_PATH = "c:/windows/system32;c:/windows"
_SET_ALWAYS = frozenset({"SYSTEMROOT", "WINDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME"})
_PLAIN_CALLS = frozenset(
    "CDLL WinDLL OleDLL PyDLL LoadLibrary join dirname abspath realpath basename str Path resolve joinpath"
    " fspath".split()
)
_COMPARED = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}


STANDARD = sys.stdlib_module_names | frozenset(
    (
        "_android_support _apple_support _ast_unparse _bootsubprocess _colorize _compression _crypt _hmac "
        "_interpchannels _interpqueues _interpreters _ios_support _math_integer _msi _opcode_metadata _py_warnings "
        "_pydatetime _pylong _pyrepl _remote_debugging _sha2 _sha256 _sha512 _suggestions _sysconfig _tokenize _types "
        "_typing _wmi _zstd aifc annotationlib asynchat asyncore audioop binhex cgi cgitb chunk compression crypt "
        "distutils imghdr imp lib2to3 mailcap msilib nis nntplib ossaudiodev pipes profiling smtpd sndhdr spwd "
        "sre_compile sre_constants sre_parse sunau telnetlib tomllib uu xdrlib"
    ).split()
)
"""The modules of this Python, and those that only some of Python 3.10 to 3.15 have (their sys.stdlib_module_names)."""


def is_standard(name: str) -> bool:
    """Whether a module is of Python's own library, in any version that a wheel may be for."""
    return name.partition(".")[0] in STANDARD


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The last parts of the names of a function's decorators."""
    bare = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return [item.attr if isinstance(item, ast.Attribute) else getattr(item, "id", "") for item in bare]


def fields_of(node: ast.ClassDef) -> tuple[str, ...]:
    """The fields of a dataclass or a ``NamedTuple``, which are the parameters of its objects; else nothing."""
    marks = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    names = {
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in (*marks, *node.bases)
    }
    if not names & {"dataclass", "NamedTuple", "define", "frozen"}:
        return ()
    rows = [part for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)]
    return tuple(row.target.id for row in rows if isinstance(row.target, ast.Name) and "ClassVar" not in ast.dump(row))


def only_loads(statements: list[ast.stmt], budget: CodeBudget) -> bool:
    """Whether some statements call nothing but loads and functions of paths, so that only a load can fail."""
    for statement in statements:
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return | ast.Break):
            return False
        for node in ast.walk(statement):
            budget.step()
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called not in _PLAIN_CALLS:
                    return False
            elif isinstance(node, ast.Subscript | ast.Lambda):
                return False
    return True


def matches(pattern: ast.pattern, subject: Value) -> bool | None:
    """Whether a value fits the pattern of a ``case``; None if that is not known."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return True
    if isinstance(pattern, ast.MatchOr):
        found = [matches(one, subject) for one in pattern.patterns]
        return True if True in found else None if None in found else False
    value = pattern.value if isinstance(pattern, ast.MatchValue) else None
    if not isinstance(value, ast.Constant) or any(plain(atom) is UNKNOWN for atom in subject):
        return None
    equal = {atom == value.value for atom in subject}
    return equal.pop() if len(equal) == 1 else None


def catches_imports(node: ast.Try) -> bool:
    """Whether a ``try`` catches the import of a module that is not there."""
    return any(catches(handler.type, NO_MODULE) for handler in node.handlers)


def mentions_environment(node: ast.expr, budget: CodeBudget) -> bool:
    """Whether a condition asks for environment variables."""
    for inner in ast.walk(node):
        budget.step()
        name = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""
        if name in ("environ", "getenv"):
            return True
    return False


def never_holds(test: ast.expr) -> bool:
    """Whether a condition never holds when a program runs: ``TYPE_CHECKING``, NumPy's ``__NUMPY_SETUP__``."""
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING" or re.fullmatch(r"__\w+_SETUP__", name) is not None


def compared(op: ast.cmpop, left: Atom, right: Atom, budget: CodeBudget) -> bool | None:
    """Whether a comparison of two things holds."""
    if isinstance(op, ast.Is | ast.IsNot) and (left is None or right is None):
        if left is UNKNOWN or right is UNKNOWN or isinstance(left, Extern):
            return None
        return (left is right) is isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        found = _contains(right, left, budget)
        return None if found is None else found is isinstance(op, ast.In)
    one, other = plain(left), plain(right)
    if one is UNKNOWN or other is UNKNOWN:
        return None
    if {one, other} == {ROOT, BASE}:
        return None  # depends on whether this is a virtual environment
    if isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        return (one == other) is isinstance(op, ast.Eq | ast.Is)
    try:
        return bool(_COMPARED[type(op)](one, other))  # type: ignore[arg-type]
    except (TypeError, KeyError):
        return None


def _contains(owner: Atom, wanted: Atom, budget: CodeBudget) -> bool | None:
    if isinstance(owner, Extern) and owner.last == "environ":
        return environment(wanted) is not None if isinstance(wanted, str) else None
    if isinstance(owner, DictValue) and (isinstance(wanted, str | int) or wanted is None):
        return True if wanted in owner.entries else False if owner.complete else None
    if isinstance(owner, str):
        return wanted in owner if isinstance(wanted, str) else None
    if not isinstance(owner, Items):
        return None
    budget.step(len(owner.items))
    found = [_same(wanted, item) for item in owner.items]
    return True if True in found else None if None in found or not owner.complete else False


def _same(wanted: Atom, item: Value) -> bool | None:
    if wanted is UNKNOWN or not all(isinstance(atom, str | int) or atom is None for atom in item):
        return None
    found = {atom == wanted for atom in item}
    return found.pop() if len(found) == 1 else None


def plain(atom: Atom) -> object:
    """A thing as Python compares it: strings, numbers and short tuples of them."""
    if isinstance(atom, str | int) or atom is None:
        return atom
    if isinstance(atom, Items) and atom.complete and len(atom.items) <= 8:
        parts = [item[0] if len(item) == 1 else UNKNOWN for item in atom.items]
        if all(isinstance(part, str | int) for part in parts):
            return tuple(parts)
    return UNKNOWN


def environment(name: str) -> Value | None:
    """What an environment variable holds on a machine on which nothing was set up; None if it is not set."""
    if name.upper() == "PATH":
        return (_PATH,)
    return ANYTHING if name.upper() in _SET_ALWAYS else None
