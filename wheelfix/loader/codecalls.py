"""What functions, methods and constants of Python's own library give on a Windows machine without other programs."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
import sys
from typing import TYPE_CHECKING

from wheelfix.loader.codebudget import MAX_TEXT
from wheelfix.loader.codefiles import matching
from wheelfix.loader.codeloads import add_folder, is_folder_call, is_load_call, load, load_library
from wheelfix.loader.codestore import Raised
from wheelfix.loader.codevalue import (
    ANYTHING,
    BASE,
    ROOT,
    SITE,
    UNKNOWN,
    Extern,
    Items,
    Module,
    Table,
    ancestor,
    combined,
    is_absolute,
    join,
    tidy,
    truth,
    united,
)
from wheelfix.loader.importcode import catches_kind
from wheelfix.model import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.codebudget import CodeBudget
    from wheelfix.loader.codefiles import NoFiles
    from wheelfix.loader.codestore import CodeState
    from wheelfix.loader.codevalue import Atom, Value

MAX_DEPTH = 12
"""Functions of the package that call one another."""
MAX_TURNS = 64
_PATH = "c:/windows/system32;c:/windows"
_SET_ALWAYS = frozenset({"SYSTEMROOT", "WINDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME"})
_SAME = frozenset(
    "abspath realpath normpath normcase fspath fsdecode fsencode expanduser expandvars str resolve absolute as_posix"
    " as_file enter_context copy lru_cache cache encode decode c_char_p c_wchar_p iter sorted list tuple set frozenset"
    " reversed cast".split()
)
"""Functions that give back what they are given, as far as paths and lists go."""
_PATHS = frozenset({"Path", "PurePath", "WindowsPath", "PureWindowsPath"})
_CONSTANTS: dict[tuple[str, str], str] = {
    ("os", "name"): "nt",
    ("os", "sep"): "/",
    ("os", "pathsep"): ";",
    ("os", "pardir"): "..",
    ("os", "curdir"): ".",
    ("path", "pardir"): "..",
    ("path", "sep"): "/",
    ("path", "curdir"): ".",
    ("path", "pathsep"): ";",
    ("sys", "platform"): "win32",
    ("sys", "byteorder"): "little",
    ("sys", "prefix"): ROOT,
    ("sys", "exec_prefix"): ROOT,
    ("sys", "base_prefix"): BASE,
    ("sys", "base_exec_prefix"): BASE,
    ("sys", "executable"): f"{ROOT}/python.exe",
    ("sys", "version"): "3.11",
}
_USUAL_PYTHON = (3, 11)
"""For wheels that do not say which Python they are for."""
_LATE_PATCH = 9
_SCHEMES = {"platlib": SITE, "purelib": SITE, "data": ROOT, "scripts": f"{ROOT}/Scripts", "stdlib": f"{ROOT}/Lib"}
_NAMES = {Machine.AMD64: "AMD64", Machine.X86: "x86", Machine.ARM64: "ARM64"}
_PLATFORMS = {Machine.AMD64: "win-amd64", Machine.X86: "win32", Machine.ARM64: "win-arm64"}
_COMPARED = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_NOT_OF_NONE = frozenset({"join", "dirname", "basename", "abspath", "realpath", "normpath", "listdir", "Path", "isdir"})
"""Functions that raise TypeError when they are given None."""
_PRESENT = frozenset({"add_dll_directory", "windll", "WinDLL", "oledll", "OleDLL", "getwindowsversion", "winver"})


# ------------------------------------------------------------------------------------------------- the syntax


def is_standard(name: str) -> bool:
    """Whether a module is of Python's own library."""
    return name.partition(".")[0] in sys.stdlib_module_names


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The last parts of the names of a function's decorators."""
    bare = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return [item.attr if isinstance(item, ast.Attribute) else getattr(item, "id", "") for item in bare]


def catches_imports(node: ast.Try) -> bool:
    """Whether a ``try`` catches a failed import."""
    return any(catches_kind(handler.type, "ImportError") for handler in node.handlers)


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
    one, other = _plain(left), _plain(right)
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
        return _environment(wanted) is not None if isinstance(wanted, str) else None
    if isinstance(owner, Table) and (isinstance(wanted, str | int) or wanted is None):
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


def _plain(atom: Atom) -> object:
    """A thing as Python compares it: strings, numbers and short tuples of them."""
    if isinstance(atom, str | int) or atom is None:
        return atom
    if isinstance(atom, Items) and atom.complete and len(atom.items) <= 8:
        parts = [item[0] if len(item) == 1 else UNKNOWN for item in atom.items]
        if all(isinstance(part, str | int) for part in parts):
            return tuple(parts)
    return UNKNOWN


def _environment(name: str) -> Value | None:
    """What an environment variable holds on a machine on which nothing was set up; None if it is not set."""
    if name.upper() == "PATH":
        return (_PATH,)
    return ANYTHING if name.upper() in _SET_ALWAYS else None


# -------------------------------------------------------------------------------------- attributes and items


def constant(owner: str, name: str, files: NoFiles) -> Value:
    """What an attribute of something of the library is."""
    last = owner.rpartition(".")[2].lstrip("_")
    if (last, name) in _CONSTANTS:
        return (_CONSTANTS[last, name],)
    if last == "sys" and name == "maxsize":
        return (2**31 - 1 if files.machine is Machine.X86 else 2**63 - 1,)
    if last == "sys" and name == "version_info":
        major, minor = files.python or _USUAL_PYTHON
        return (Items(((major,), (minor,), (_LATE_PATCH,))),)
    if last == "sys" and name == "path":
        return (Items(((f"{ROOT}/DLLs",), (f"{ROOT}/Lib",), (ROOT,), (SITE,))),)
    if name == "__path__":
        return (Items(((f"{SITE}/{owner.replace('.', '/')}",),)),)
    if name == "__file__" and not is_standard(owner) and "?" not in owner:
        return (f"{SITE}/{owner.replace('.', '/')}/__init__.py", UNKNOWN)
    if name in ("__name__", "__package__"):
        return (owner,)
    return (Extern(f"{owner}.{name}"),)


def of_path(path: str, name: str) -> Value:
    """An attribute of a ``Path``; strings have none of these names."""
    if name == "parent":
        return (posixpath.dirname(path),)
    if name == "name":
        return (posixpath.basename(path),)
    if name in ("stem", "suffix"):
        return (posixpath.splitext(posixpath.basename(path))[name == "suffix"],)
    if name == "parents":
        count = min(path.count("/") + 1, MAX_TURNS)
        return (Items(tuple((folder,) for at in range(count) if (folder := ancestor(path, at)) is not None)),)
    if name in ("origin", "value", "path"):
        return (path,)
    return (Extern(f"?.{name}"),)


def item(run: CodeState, owner: Atom, key: Atom, node: ast.Subscript) -> Value:
    """What ``owner[key]`` gives."""
    if isinstance(owner, Table):
        found = owner.entries.get(key) if isinstance(key, str | int) or key is None else None
        if found is None and not isinstance(key, str | int):
            return united([*owner.entries.values(), ANYTHING])
        return found if found is not None else ANYTHING
    if isinstance(owner, Items) and isinstance(key, int):
        if -len(owner.items) <= key < len(owner.items):
            return owner.items[key] if owner.complete or key >= 0 else ANYTHING
        return ANYTHING
    if isinstance(owner, str) and isinstance(key, int):
        return (owner[key],) if -len(owner) <= key < len(owner) else ANYTHING
    if isinstance(owner, Extern):
        if owner.last == "environ" and isinstance(key, str):
            found = None if run.files.sets_variable(key) else _environment(key)
            return found if found is not None else ANYTHING
        if owner.last in ("cdll", "windll", "oledll", "pydll") and isinstance(key, str):
            return load_library(run, node, owner.last, (key,))
    return ANYTHING


def sliced(atom: Atom, limits: list[Atom]) -> Atom:
    """What ``atom[start:end]`` gives."""
    known = [limit for limit in limits if limit is None or isinstance(limit, int)]
    if len(known) < len(limits):
        return UNKNOWN
    part = slice(*known)
    if isinstance(atom, str):
        return atom[part]
    return Items(atom.items[part], atom.complete) if isinstance(atom, Items) and atom.complete else UNKNOWN


def listed(value: Value) -> tuple[list[Value], bool]:
    """What a loop over a value goes through, and whether that is all, and for certain."""
    if len(value) == 1:
        atom = value[0]
        if isinstance(atom, Items):
            return ([*atom.items] if atom.complete else [*atom.items, ANYTHING]), atom.complete
        if isinstance(atom, Table):
            return [(key,) for key in atom.entries], atom.complete
        if isinstance(atom, str) and re.search(r"[*?\[]", atom):  # a pattern that glob was given, of unknown files
            return [(atom,)], False
        return [ANYTHING], False
    found = [item for atom in value if isinstance(atom, Items) for item in atom.items]
    return ([united([*found[:MAX_TURNS], ANYTHING])] if found else [ANYTHING]), False


# ----------------------------------------------------------------------------------------------- the methods


def method(run: CodeState, node: ast.Call, owner: str | Items | Table, name: str, args: list[Value]) -> Value:
    """What a method of a string, path, list or dictionary gives."""
    if isinstance(owner, Table):
        return _of_table(owner, name, args)
    if isinstance(owner, Items):
        return _of_items(run, node, owner, name, args)
    if name in ("exists", "is_file", "is_dir"):
        return _exists(run, owner, {"is_file": False, "is_dir": True}.get(name))
    if name == "iterdir":
        return _names(run, owner, whole=True)
    if name in ("glob", "rglob"):
        return _glob(run, join(owner, args[0][0] if args else UNKNOWN))
    if name in ("joinpath", "with_suffix", "with_name"):
        return combined(lambda *parts: _path_method(name, owner, *parts), *args) if args else (owner,)
    if name in ("open", "load"):
        return ANYTHING
    if name in _SAME:
        return (owner,)
    if name == "join":
        return _text_join(run, owner, args)
    return _text(owner, name, args)


def _path_method(name: str, owner: str, *parts: Atom) -> Atom:
    if name == "joinpath":
        return join(owner, *parts)
    folder, base = posixpath.split(owner)
    last = parts[0]
    if not isinstance(last, str):
        return UNKNOWN
    return posixpath.join(folder, last if name == "with_name" else posixpath.splitext(base)[0] + last)


def _text_join(run: CodeState, owner: str, args: list[Value]) -> Value:
    items, complete = listed(args[0]) if args else ([], False)
    parts = [one[0] for one in items if len(one) == 1 and isinstance(one[0], str)]
    if not complete or len(parts) < len(items) or sum(map(len, parts)) + len(owner) * len(parts) > MAX_TEXT:
        return ANYTHING
    return (owner.join(parts),)


def _text(owner: str, name: str, args: list[Value]) -> Value:
    """A method of a string with plain arguments."""
    plain = [_plain(arg[0]) if len(arg) == 1 else UNKNOWN for arg in args]
    if any(part is UNKNOWN for part in plain):
        return ANYTHING
    if name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        try:
            return (Items(tuple((part,) for part in getattr(owner, name)(*plain))),)
        except (TypeError, ValueError):
            return ANYTHING
    if name == "format":
        return (_formatted(owner, plain),)
    if name in (
        "replace",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "title",
        "casefold",
        "removeprefix",
        "removesuffix",
        "isdigit",
        "find",
        "count",
    ):
        if (
            name == "replace"
            and len(owner) * max((len(part) for part in plain if isinstance(part, str)), default=0) > MAX_TEXT
        ):
            return ANYTHING
        try:
            found = getattr(owner, name)(*plain)
        except (TypeError, ValueError):
            return ANYTHING
        return (found,)
    return ANYTHING


def _formatted(text: str, args: list[object]) -> Atom:
    """``"lib{}-{}.dll".format(…)``, for plain fields."""
    parts = re.split(r"\{(\d?)\}", text)
    made = [parts[0]]
    for at, (index, rest) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
        where = int(index) if index else at
        if where >= len(args) or not isinstance(args[where], str | int):
            return UNKNOWN
        made += [str(args[where]), rest]
    whole = "".join(made) if sum(map(len, made)) <= MAX_TEXT else "{"
    return UNKNOWN if "{" in whole else whole


def percent(text: Atom, args: Atom, budget: CodeBudget) -> Atom:
    """``"lib%s-%d.dll" % (…)``, for plain fields."""
    if not isinstance(text, str):
        return UNKNOWN
    given = _plain(args)
    values = given if isinstance(given, tuple) else (given,)
    if any(not isinstance(value, str | int) for value in values):
        return UNKNOWN
    if re.search(r"%[^sdi%]", text) or len(text) + sum(len(str(value)) for value in values) > MAX_TEXT:
        return UNKNOWN
    try:
        return text % values
    except (TypeError, ValueError):
        return UNKNOWN


def _of_table(owner: Table, name: str, args: list[Value]) -> Value:
    if name == "get" and args:
        default = args[1] if len(args) > 1 else (None,)
        found = []
        for key in args[0]:
            known = owner.entries.get(key) if isinstance(key, str | int) or key is None else ANYTHING
            found.append(known if known is not None else default if owner.complete else (*default, UNKNOWN))
        return united(found)
    if name == "values":
        return (Items(tuple(owner.entries.values()), owner.complete),)
    if name == "keys":
        return (Items(tuple((key,) for key in owner.entries), owner.complete),)
    if name == "items":
        pairs = tuple((Items(((key,), value)),) for key, value in owner.entries.items())
        return (Items(pairs, owner.complete),)
    return ANYTHING


def _of_items(run: CodeState, node: ast.Call, owner: Items, name: str, args: list[Value]) -> Value:
    """A method of a list; those that change it give its name another value."""
    changed: Items | None = None
    if name in ("append", "add") and args:
        changed = Items((*owner.items, args[0]), owner.complete)
    elif name == "insert" and len(args) > 1:
        at = args[0][0]
        where = at if isinstance(at, int) and owner.complete else len(owner.items)
        changed = Items((*owner.items[:where], args[1], *owner.items[where:]), owner.complete)
    elif name in ("extend", "update") and args:
        more, complete = listed(args[0])
        changed = Items((*owner.items, *more), owner.complete and complete)
    elif name in ("remove", "pop", "clear", "discard"):
        changed = Items(owner.items, complete=False)
    elif name in ("copy", "__iter__"):
        return (owner,)
    if changed is not None and isinstance(node.func, ast.Attribute):
        run.budget.step(len(changed.items))
        run.assign(node.func.value, (changed,))
    return ANYTHING if name == "pop" else (None,)


# --------------------------------------------------------------------------------------------- the functions


def call(run: CodeState, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
    """What calling something of the library gives."""
    last = name.rpartition(".")[2].lstrip("_")
    first = args[0] if args else ANYTHING
    if is_folder_call(last):
        return add_folder(run, node, args, keywords)
    if is_load_call(last):
        return load(run, node, name, args, keywords)
    if name.endswith("environ.get"):
        return _getenv(run, args, keywords)
    if first == (None,) and last in _NOT_OF_NONE:
        raise Raised("TypeError")
    if last in _ASKED:
        return _ASKED[last](run, args, keywords)
    if last in _PATHS:
        return combined(join, *args) if args else ("",)
    if last == "join":
        return combined(join, *args) if args else ANYTHING
    if last in ("dirname", "basename"):
        part = posixpath.dirname if last == "dirname" else posixpath.basename
        return combined(lambda atom: part(atom.replace("\\", "/")) if isinstance(atom, str) else UNKNOWN, first)
    if args and (last == "splitext" or name.endswith("path.split")):  # not the method of an unknown string
        return united(_split(last, atom) for atom in first)
    if last in ("exists", "isfile", "isdir", "lexists") and args:
        wanted = {"isfile": False, "isdir": True}.get(last)
        return united(_exists(run, atom, wanted) for atom in first)
    if last in ("listdir", "scandir") and args:
        return united(_names(run, atom, whole=last == "scandir") for atom in first)
    if last in ("glob", "iglob") and args:
        return united(_glob(run, atom) for atom in first)
    if last in ("abspath", "realpath", "resolve") and args:
        return combined(_absolute, first)
    if last in _SAME and args:
        return first
    return ANYTHING


def _absolute(atom: Atom) -> Atom:
    """A path made absolute; one below the current folder could be anywhere."""
    if not isinstance(atom, str):
        return UNKNOWN
    text = atom.replace("\\", "/")
    if is_absolute(text):
        tidied = tidy(text)
        return text if not text.startswith(ROOT) else f"{ROOT}/{tidied}" if tidied != "." else ROOT
    return posixpath.join(".", text)


def _split(name: str, atom: Atom) -> Value:
    if not isinstance(atom, str):
        return ANYTHING
    parts = posixpath.split(atom) if name == "split" else posixpath.splitext(atom)
    return (Items(tuple((part,) for part in parts)),)


def _exists(run: CodeState, atom: Atom, folder: bool | None) -> Value:
    """Whether a file or folder is there; a DLL of the package that is not is remembered."""
    if not isinstance(atom, str) or not is_absolute(atom):
        return (False,) if isinstance(atom, str) and atom and run.files.names("") is not None else ANYTHING
    path = tidy(atom)
    found = run.files.exists(path, folder=folder)
    if path.lower().endswith((".dll", ".pyd")):
        if found:
            run.looked_for.clear()
        elif found is False and run.files.is_own(path):
            run.looked_for[path] = None
    return ANYTHING if found is None else (found,)


def _names(run: CodeState, atom: Atom, *, whole: bool) -> Value:
    names = run.files.names(tidy(atom)) if isinstance(atom, str) and is_absolute(atom) else None
    if names is None:
        return (Items((), complete=False),)
    return (Items(tuple((join(atom, name) if whole else name,) for name in names)),)


def _glob(run: CodeState, atom: Atom) -> Value:
    """The files that a pattern stands for; the pattern itself where files are not known."""
    if not isinstance(atom, str):
        return ANYTHING
    found = matching(run.files, tidy(atom)) if is_absolute(atom) else None
    if found is None:
        return (Items(((atom,),), complete=False),)
    return (Items(tuple((f"{ROOT}/{path}",) for path in found)),)


def _find_library(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``ctypes.util.find_library`` looks along PATH, where a machine without other programs has Windows' DLLs only."""
    found: list[Value] = []
    for atom in args[0] if args else ANYTHING:
        if not isinstance(atom, str):
            found.append(ANYTHING)
            continue
        name = atom if atom.lower().endswith(".dll") else atom + ".dll"
        found.append((name,) if "/" not in name and run.files.finds(name, ()) else (None,))
    return united(found)


def _package_folder(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``importlib.resources.files`` and ``pkg_resources.resource_filename``."""

    def folder(package: Atom, *more: Atom) -> Atom:
        if isinstance(package, Module):
            package = package.name
        if isinstance(package, Extern):
            package = package.name
        if not isinstance(package, str):
            return UNKNOWN
        path = run.files.module(package)
        start = f"{SITE}/{package.replace('.', '/')}"
        if path and path.endswith(".py") and not path.endswith("__init__.py"):
            start = posixpath.dirname(start)
        return join(start, *more)

    return combined(folder, *args) if args else combined(folder, run.look_up("__package__"))


def _has_attribute(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    name = args[1][0] if len(args) > 1 else UNKNOWN
    if name in _PRESENT:
        return (True,)
    owner = args[0][0] if args else UNKNOWN
    if name in ("frozen", "_MEIPASS", "real_prefix") or (isinstance(owner, Extern) and owner.name == "builtins"):
        return (False,)
    return ANYTHING


def _get_attribute(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    has = truth(_has_attribute(run, args, keywords))
    if has is False:
        return args[2] if len(args) > 2 else ANYTHING
    name = args[1][0] if len(args) > 1 else UNKNOWN
    if not isinstance(name, str):
        return ANYTHING
    return united(run.attribute(atom, name) for atom in args[0])


def _getenv(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    name = args[0][0] if args else UNKNOWN
    if not isinstance(name, str):
        return ANYTHING
    found = ANYTHING if run.files.sets_variable(name) else _environment(name)
    return found if found is not None else args[1] if len(args) > 1 else (None,)


def _import(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    name = args[0][0] if args else UNKNOWN
    return run.imported(name) if isinstance(name, str) and name and not name.startswith(".") else ANYTHING


def _next(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    items, complete = listed(args[0]) if args else ([], False)
    if not items or (not complete and len(items) == 1):
        return args[1] if len(args) > 1 and complete else ANYTHING
    return items[0] if complete else united([items[0], ANYTHING])


def _find_spec(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """The path of a module of the package: its ``origin`` is asked of it."""
    name = args[0][0] if args else UNKNOWN
    path = run.files.module(name) if isinstance(name, str) else None
    return ANYTHING if path is None else (f"{ROOT}/{path}",) if path else (None,)


def _map(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    if len(args) != 2:
        return ANYTHING
    if any(isinstance(atom, Extern) and atom.last in ("str", "Path", "abspath") for atom in args[0]):
        return args[1]
    return (Items((), complete=False),)


def _length(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    atom = args[0][0] if args and len(args[0]) == 1 else UNKNOWN
    if isinstance(atom, str):
        return (len(atom),)
    return (len(atom.items),) if isinstance(atom, Items) and atom.complete else ANYTHING


def _some(run: CodeState, args: list[Value], keywords: dict[str, Value], *, every: bool) -> Value:
    items, complete = listed(args[0]) if args else ([], False)
    found = [truth(value) for value in items]
    if (not every) in found and complete:
        return (not every,)
    return ANYTHING if None in found or not complete else (every,)


def _truth(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    found = truth(args[0]) if args else False
    return ANYTHING if found is None else (found,)


def _is_instance(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    kinds = {atom.last for atom in args[1] if isinstance(atom, Extern)} if len(args) > 1 else set()
    if kinds == {"str"} and args and all(isinstance(atom, str) for atom in args[0]):
        return (True,)
    return ANYTHING


_ASKED: dict[str, Callable[[CodeState, list[Value], dict[str, Value]], Value]] = {
    "find_library": _find_library,
    "files": _package_folder,
    "resource_filename": _package_folder,
    "path": _package_folder,
    "hasattr": _has_attribute,
    "getattr": _get_attribute,
    "getenv": _getenv,
    "import_module": _import,
    "import__": _import,
    "next": _next,
    "find_spec": _find_spec,
    "map": _map,
    "len": _length,
    "bool": _truth,
    "isinstance": _is_instance,
    "any": lambda run, args, keywords: _some(run, args, keywords, every=False),
    "all": lambda run, args, keywords: _some(run, args, keywords, every=True),
    "system": lambda run, args, keywords: ("Windows",) if not args else ANYTHING,
    "machine": lambda run, args, keywords: (_NAMES.get(run.files.machine, "AMD64"),) if not args else ANYTHING,
    "architecture": lambda run, args, keywords: (
        Items((("32bit" if run.files.machine is Machine.X86 else "64bit",), ("WindowsPE",))),
    ),
    "get_platform": lambda run, args, keywords: (_PLATFORMS.get(run.files.machine, "win-amd64"),),
    "python_implementation": lambda run, args, keywords: ("CPython",),
    "calcsize": lambda run, args, keywords: (
        (4 if run.files.machine is Machine.X86 else 8,) if args and args[0] == ("P",) else ANYTHING
    ),
    "sizeof": lambda run, args, keywords: (
        (4 if run.files.machine is Machine.X86 else 8,)
        if args and any(isinstance(atom, Extern) and atom.last in ("c_void_p", "c_size_t") for atom in args[0])
        else ANYTHING
    ),
    "get_path": lambda run, args, keywords: (
        (_SCHEMES[args[0][0]],) if args and isinstance(args[0][0], str) and args[0][0] in _SCHEMES else ANYTHING
    ),
    "getsitepackages": lambda run, args, keywords: (Items(((ROOT,), (SITE,))),),
    "get_python_lib": lambda run, args, keywords: (SITE,),
    "getfile": lambda run, args, keywords: run.look_up("__file__"),
    "getsourcefile": lambda run, args, keywords: run.look_up("__file__"),
    "currentframe": lambda run, args, keywords: ANYTHING,
}
