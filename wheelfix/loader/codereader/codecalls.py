"""What functions of Python's own library give on a Windows machine without other programs."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codeattempt import path_folders
from wheelfix.loader.codereader.codelisting import content, exists, globbed, list_folder
from wheelfix.loader.codereader.codeloads import (
    CURRENT_FOLDER,
    add_folder,
    is_absent,
    is_folder_call,
    is_load_call,
    load,
)
from wheelfix.loader.codereader.codemethods import SAME, listed
from wheelfix.loader.codereader.codestore import Raised
from wheelfix.loader.codereader.codesyntax import environment
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    ROOT,
    SITE,
    UNKNOWN,
    Extern,
    Items,
    Module,
    OpenTextFile,
    combined,
    is_absolute,
    join,
    tidy,
    truth,
    united,
)
from wheelfix.model import Machine
from wheelfix.pycode.budget import MAX_TURNS

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from wheelfix.loader.codereader.codestore import CodeState
    from wheelfix.loader.codereader.codevalue import Atom, Value

_PATHS = frozenset({"Path", "PurePath", "WindowsPath", "PureWindowsPath"})
_SCHEMES = {"platlib": SITE, "purelib": SITE, "data": ROOT, "scripts": f"{ROOT}/Scripts", "stdlib": f"{ROOT}/Lib"}
_NAMES = {Machine.AMD64: "AMD64", Machine.X86: "x86", Machine.ARM64: "ARM64"}
_PLATFORMS = {Machine.AMD64: "win-amd64", Machine.X86: "win32", Machine.ARM64: "win-arm64"}
_NOT_OF_NONE = frozenset({"join", "dirname", "basename", "abspath", "realpath", "normpath", "listdir", "Path", "isdir"})
"""Functions that raise TypeError when they are given None."""
_PRESENT = frozenset({"add_dll_directory", "windll", "WinDLL", "oledll", "OleDLL", "getwindowsversion", "winver"})


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
    if name.endswith("environ.setdefault") and len(args) > 1:
        return _set_default(run, args)
    if first == (None,) and last in _NOT_OF_NONE:
        raise Raised("TypeError")
    if name.endswith("metadata.files"):  # the files of a distribution, which are not those of a module
        return (Items((), complete=False),)
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
        return united(exists(run, atom, wanted) for atom in first)
    if last in ("listdir", "scandir") and args:
        return united(list_folder(run, node, atom, whole=last == "scandir") for atom in first)
    if last in ("glob", "iglob") and args:
        return united(globbed(run, atom) for atom in first)
    if last in ("abspath", "realpath", "resolve") and args:
        return combined(_absolute, first)
    if last in SAME and args:
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


def _find_library(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``ctypes.util.find_library`` looks along PATH, where a machine without other programs has Windows' DLLs only."""
    found: list[Value] = []
    for atom in args[0] if args else ANYTHING:
        if not isinstance(atom, str):
            found.append(ANYTHING)
            continue
        name = atom if atom.lower().endswith(".dll") else atom + ".dll"
        along = path_folders(run)
        place = next((one for one in along or () if run.files.exists(f"{one}/{name}", folder=False)), None)
        if "/" not in name and run.files.finds(name, ()):
            found.append((name,))
        elif place is not None:
            found.append((f"{ROOT}/{place}/{name}",))
        else:
            found.append((None,) if along is not None else (None, UNKNOWN))
            inside = [f"{one}/{name}" for one in along or () if run.files.is_own(one)]
            run.looked_for.update(dict.fromkeys(inside or [name], ()))
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


def _which(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``shutil.which``: a machine without other programs has Windows' own, and Python."""
    names = [atom for atom in args[0] if isinstance(atom, str)] if args else []
    return (None,) if names and not any(name.startswith(("python", "cmd", "where")) for name in names) else ANYTHING


def _data(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``pkgutil.get_data`` and ``importlib.resources.read_text``: the content of a small file of the package."""
    places = _package_folder(run, args[:2], keywords) if len(args) > 1 else ANYTHING
    return united(content(run, atom) for atom in places)


def _open(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """A file that is open for reading."""
    mode = args[1] if len(args) > 1 else keywords.get("mode", ("r",))
    if not args or not all(isinstance(atom, str) and atom.startswith("r") for atom in mode):
        return ANYTHING
    texts = united(content(run, atom) for atom in args[0])
    return combined(lambda atom: OpenTextFile(atom) if isinstance(atom, str) else UNKNOWN, texts)


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
    found = run.store.get(run.variables, name.upper())
    if found is None:
        found = ANYTHING if run.files.sets_variable(name) and name.upper() != "PATH" else environment(name)
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


def _zip(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    columns = [listed(arg) for arg in args]
    rows = zip(*(items for items, _ in columns), strict=False)
    return (Items(tuple((Items(row),) for row in rows), all(complete for _, complete in columns)),)


def _enumerate(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    items, complete = listed(args[0]) if args else ([], False)
    first = args[1][0] if len(args) > 1 else keywords.get("start", (0,))[0]
    numbers = [(first + at,) if isinstance(first, int) else ANYTHING for at in range(len(items))]
    return (Items(tuple((Items(pair),) for pair in zip(numbers, items, strict=True)), complete),)


def _range(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    limits = [arg[0] if len(arg) == 1 else UNKNOWN for arg in args]
    numbers = [limit for limit in limits if isinstance(limit, int)]
    if len(numbers) < len(limits) or not 1 <= len(numbers) <= 3 or 0 in numbers[2:]:
        return (Items((), complete=False),)
    found = range(*numbers)
    return (Items(tuple((number,) for number in found[:MAX_TURNS]), len(found) <= MAX_TURNS),)


def _reversed(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    items, complete = listed(args[0]) if args else ([], False)
    return (Items(tuple(reversed(items)), complete),)


def _chdir(run: CodeState, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``os.chdir``: relative paths begin there from now on."""
    folder = args[0] if args and len(args[0]) == 1 else ANYTHING
    known = isinstance(folder[0], str) and is_absolute(folder[0]) and not is_absent(run, folder[0])
    run.store.set(run.variables, CURRENT_FOLDER, folder if known else ANYTHING)
    return (None,)


def _set_default(run: CodeState, args: list[Value]) -> Value:
    """``os.environ.setdefault``."""
    name = args[0][0] if len(args[0]) == 1 else UNKNOWN
    if not isinstance(name, str):
        return ANYTHING
    found = run.store.get(run.variables, name.upper()) or environment(name)
    if found is None:
        found = args[1]
        run.store.set(run.variables, name.upper(), found)
    return found


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
    "get_data": _data,
    "read_text": _data,
    "open": _open,
    "which": _which,
    "hasattr": _has_attribute,
    "getattr": _get_attribute,
    "getenv": _getenv,
    "import_module": _import,
    "import__": _import,
    "next": _next,
    "find_spec": _find_spec,
    "zip": _zip,
    "enumerate": _enumerate,
    "range": _range,
    "reversed": _reversed,
    "chdir": _chdir,
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
