"""What loads and folders in Python code come to: which DLLs are meant, whether they are there, what is not readable."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from wheelfix.loader.codestore import LATER, FoundCall, FoundFolder, FoundLoad, Raised
from wheelfix.loader.codevalue import ANYTHING, UNKNOWN, Items, Library, combined, is_absolute, join, strings, tidy
from wheelfix.loader.importcode import catches_kind

if TYPE_CHECKING:
    from wheelfix.loader.codebudget import CodeBudget
    from wheelfix.loader.codestore import CodeState
    from wheelfix.loader.codevalue import Atom, Value

_LOADERS = frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "load_library", "LoadLibraryExW", "LoadLibraryW", "dlopen"}
    | {"LoadLibraryA", "LoadLibraryEx"}
)
"""Of ctypes, NumPy, pywin32 and cffi."""
_ALONG_PATH = frozenset({"dlopen", "LoadLibraryW", "LoadLibraryA"})
"""Loaders that search as programs do by default."""
_DATA = re.compile(r"\.(?:so(?:\.\d+)*|dylib)$|^/")
"""Names that only other systems have."""
_SHOWN_NODES = 60
_SHOWN_TEXT = 80


def is_load_call(name: str) -> bool:
    """Whether a function of this name loads a DLL."""
    return name in _LOADERS


def is_folder_call(name: str) -> bool:
    """Whether a function of this name adds a folder to the search."""
    return name == "add_dll_directory"


def add_folder(run: CodeState, node: ast.Call, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``os.add_dll_directory``: note the folders; one that is certainly not there raises an exception."""
    value = args[0] if args else keywords.get("path", ANYTHING)
    found = [text for text in strings(value) if ";" not in text]
    if any(atom is UNKNOWN for atom in value) or not found:
        _note_unread(run, node, "add_dll_directory")
    absent = (
        bool(found) and all(isinstance(atom, str) for atom in value) and all(_is_absent(run, text) for text in found)
    )
    for text in found:
        if not run.muted:
            run.folders.append(
                FoundFolder(tidy(text), run.scope.path, node.lineno, run.level, bool(run.guards), absent)
            )
    if absent and run.level != LATER and _is_caught(run, "OSError"):
        raise Raised("FileNotFoundError")
    return ANYTHING


def _is_absent(run: CodeState, text: str) -> bool:
    return is_absolute(text) and run.files.is_own(tidy(text)) and run.files.exists(tidy(text), folder=True) is False


def load(run: CodeState, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``ctypes.CDLL`` and its kin: note what is loaded; what is certainly not there raises an exception."""
    last = name.rpartition(".")[2]
    value = args[0] if args else keywords.get("name", ANYTHING)
    if last == "load_library" and len(args) > 1:  # NumPy's: a name and a folder
        value = _in_folder(args)
    mode = keywords.get("winmode", args[5] if len(args) > 5 and last.endswith("DLL") else None)
    along_path = last in _ALONG_PATH or mode == (0,) or _is_rtld(node)
    return load_library(run, node, last, value, along_path=along_path)


def _is_rtld(node: ast.Call) -> bool:
    """Whether ``winmode`` is one of the ``RTLD_`` constants, which are 0 on Windows."""
    modes = [word.value for word in node.keywords if word.arg == "winmode"]
    return any(isinstance(mode, ast.Attribute | ast.Name) and "RTLD" in ast.unparse(mode) for mode in modes)


def _in_folder(args: list[Value]) -> Value:
    def path(name: Atom, folder: Atom) -> Atom:
        made = join(folder, name)
        return made if not isinstance(made, str) or made.lower().endswith(".dll") else made + ".dll"

    return combined(path, args[0], args[1])


def load_library(
    run: CodeState, node: ast.Call | ast.Subscript, function: str, value: Value, *, along_path: bool = False
) -> Value:
    """Note a load of one of several DLLs."""
    named = strings(value)
    known = [text for text in named if text and not _DATA.search(text)]
    whole = all(isinstance(atom, str) for atom in value)
    if value == (None,) or (named and not known and whole):
        if run.level != LATER and named and _is_caught(run, "OSError"):
            raise Raised("OSError")
        return ANYTHING  # the process itself, or a library of another system
    if not whole and not any(isinstance(atom, Items) for atom in value):
        _note_unread(run, node, function)
    if not known:
        return ANYTHING
    outcomes = [_outcome(run, text, along_path) for text in known]
    fails = whole and all(outcome is False for outcome in outcomes)
    caught = fails and run.level != LATER and _is_caught(run, "OSError")
    bundled = any(run.files.is_own(tidy(text)) for text in known if is_absolute(text)) or bool(run.looked_for)
    if not run.muted:
        targets = tuple(dict.fromkeys(tidy(text) for text in known))
        found = FoundLoad(
            targets,
            whole,
            run.scope.path,
            node.lineno,
            function,
            run.level,
            bool(run.guards),
            fails and not caught,
            along_path,
            bundled,
        )
        run.loads.append(found)
    if True in outcomes:
        run.looked_for.clear()
    elif fails:
        run.looked_for.update(dict.fromkeys(tidy(text) for text in known if run.files.is_own(tidy(text))))
    if caught:
        raise Raised("OSError")
    return (Library(known[0]),)


def _outcome(run: CodeState, text: str, along_path: bool) -> bool | None:
    """Whether a load finds its file: True, False, or None if that is not known."""
    path = tidy(text)
    if "*" in path:
        return None
    if is_absolute(text):
        if path.lower().endswith((".dll", ".pyd", ".drv", ".ocx")) or run.files.exists(path):
            return run.files.exists(path, folder=False)
        return run.files.exists(path + ".dll", folder=False)
    if "/" in path:
        return None
    folders = () if along_path else tuple(item.folder for item in run.folders)
    found = run.files.finds(path, folders)
    if found or found is None:
        return found
    loaded = {target.rpartition("/")[2].lower() for item in run.loads for target in item.targets}
    if path.lower() in loaded and not all(item.fails for item in run.loads if path in item.targets):
        return None
    return None if run.foreign and not along_path else False


def _is_caught(run: CodeState, kind: str) -> bool:
    """Whether some ``try`` around catches an exception; whether it goes on is another question."""
    return any(catches_kind(handler.type, kind) is not False for node in run.tries for handler in node.handlers)


def _note_unread(run: CodeState, node: ast.Call | ast.Subscript, function: str) -> None:
    if not run.muted:
        argument = node.slice if isinstance(node, ast.Subscript) else node.args[0] if node.args else node.func
        text = spelled(argument, run.budget)
        run.unread.append(FoundCall(run.scope.path, node.lineno, function, text, run.level, bool(run.guards)))


def spelled(node: ast.expr, budget: CodeBudget) -> str:
    """An expression as the code has it, shortened; one that takes too long to write out is ``…``."""
    for count, _ in enumerate(ast.walk(node)):
        budget.step()
        if count > _SHOWN_NODES:
            return "…"
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"
