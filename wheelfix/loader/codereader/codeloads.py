"""Loads and added folders in Python code: which DLLs are meant, whether they exist, and what cannot be read."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codeattempt import LoadAttempt, is_relative, path_folders
from wheelfix.loader.codereader.codestore import CERTAIN, LATER, FoundCall, FoundFolder, FoundLoad, Raised
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    UNKNOWN,
    AddedFolder,
    Extern,
    Items,
    LoadedLibrary,
    combined,
    is_absolute,
    join,
    strings,
    tidy,
)
from wheelfix.loader.codereader.importcode import goes_on
from wheelfix.loader.loadcall import AS_PYTHON_DOES, DEFAULT_DIRS, MOD_NOT_FOUND
from wheelfix.pycode.exceptions import catches

if TYPE_CHECKING:
    from wheelfix.loader.codereader.codestore import CodeState
    from wheelfix.loader.codereader.codevalue import Atom, Value
    from wheelfix.pycode.budget import CodeBudget

_LOADERS = frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "load_library", "LoadLibraryExW", "LoadLibraryW", "dlopen"}
    | {"LoadLibraryA", "LoadLibraryEx", "LoadLibraryExA"}
)
"""Of ctypes, NumPy, pywin32 and cffi."""
_OF_WINDOWS = frozenset({"LoadLibraryExW", "LoadLibraryExA", "LoadLibraryW", "LoadLibraryA"})
"""Functions of kernel32: they return 0 instead of raising an exception."""
NO_FILE = "FileNotFoundError"
CURRENT_FOLDER = "<current folder>"
"""Stands among the environment variables for the folder that ``os.chdir`` sets."""
_LISTS = frozenset({"cdll", "windll", "oledll", "pydll"})
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


def is_attribute_load(run: CodeState, atom: Atom, name: str) -> bool:
    """Whether an attribute of ``ctypes.cdll`` and its kin is a load of a DLL that is not Windows' own."""
    if (
        not isinstance(atom, Extern)
        or atom.last not in _LISTS
        or name.startswith("_")
        or name in ("LoadLibrary", "copy")
    ):
        return False
    return not run.files.finds(name + ".dll", ())


def add_folder(run: CodeState, node: ast.Call, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``os.add_dll_directory``: note the folders; one that is certainly not there raises an exception."""
    value = args[0] if args else keywords.get("path", ANYTHING)
    found = [text for text in strings(value) if ";" not in text]
    if any(atom is UNKNOWN for atom in value) or not found:
        _note_unread(run, node, "add_dll_directory")
    absent = (
        bool(found) and all(isinstance(atom, str) for atom in value) and all(is_absent(run, text) for text in found)
    )
    for text in found:
        if not run.muted:
            run.folders.append(
                FoundFolder(
                    tidy(text), run.scope.path, node.lineno, run.level, is_guarded(run, NO_FILE), absent, run.place
                )
            )
    if absent and run.level != LATER and is_caught(run, NO_FILE):
        raise Raised(NO_FILE)
    process = run.process
    if process is None or run.level == LATER or absent:
        return ANYTHING
    if run.level == CERTAIN and len(value) == 1 and found:
        process.add(tidy(found[0]))
        return (AddedFolder(tidy(found[0])),)
    process.settled = False
    return ANYTHING


def is_absent(run: CodeState, text: str) -> bool:
    """Whether there is certainly no such folder in the package."""
    return is_absolute(text) and run.files.is_own(tidy(text)) and run.files.exists(tidy(text), folder=True) is False


def load(run: CodeState, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
    """``ctypes.CDLL`` and its kin: note what is loaded; what is certainly not there raises an exception."""
    last = name.rpartition(".")[2]
    value = args[0] if args else keywords.get("name", ANYTHING)
    if last == "load_library" and len(args) > 1:  # NumPy's: a name and a folder
        value = _in_folder(args)
    if last in _OF_WINDOWS and "win32api" not in name:
        return _load_quietly(run, node, last, value, args)
    mode = keywords.get("winmode", args[5] if len(args) > 5 and last.endswith("DLL") else (None,))
    mode = (0,) if _is_rtld(node) else mode
    flags = mode[0] if len(mode) == 1 and (isinstance(mode[0], int) or mode[0] is None) else UNKNOWN
    return load_library(run, node, last, value, flags=flags if not isinstance(flags, str) else UNKNOWN)


def _load_quietly(run: CodeState, node: ast.Call, function: str, value: Value, args: list[Value]) -> Value:
    """A function of kernel32, which returns 0 where a load fails: the code goes on, and may ask for that."""
    given = args[2][0] if len(args) > 2 and len(args[2]) == 1 else UNKNOWN
    flags = given if isinstance(given, int) and function.startswith("LoadLibraryEx") else UNKNOWN
    run.guards += 1
    try:
        found = load_library(run, node, function, value, flags=flags if function.startswith("LoadLibraryEx") else 0)
    except Raised:
        found = (None,)
    finally:
        run.guards -= 1
    return found


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
    run: CodeState,
    node: ast.Call | ast.Subscript | ast.Attribute,
    function: str,
    value: Value,
    *,
    flags: Atom = None,
) -> Value:
    """Note a load of one of several DLLs; ``flags`` is None where Python chooses them."""
    value = tuple(_from_folder(run, atom) for atom in value)
    named = strings(value)
    known = [text for text in named if text and not _DATA.search(text)]
    whole = all(isinstance(atom, str) for atom in value)
    if value == (None,) or (named and not known and whole):
        if run.level != LATER and named and is_caught(run, "OSError"):
            raise Raised("OSError")
        return ANYTHING  # the process itself, or a library of another system
    if (not whole and not any(isinstance(atom, Items) for atom in value)) or (
        any(map(is_relative, known)) and not any("/" in name for name in run.looked_for)
    ):
        _note_unread(run, node, function)
    if not known:
        return ANYTHING
    attempts = [LoadAttempt(run, text, _flags_of(function, text, flags)) for text in known]
    outcomes = [attempt.outcome() for attempt in attempts]
    fails = whole and all(outcome is False for outcome in outcomes)
    quiet = function in _OF_WINDOWS
    kind = _kind_of(function, attempts)
    caught = fails and run.level != LATER and (quiet or is_caught(run, kind))
    if not run.muted:
        _note_load(run, node, function, attempts, whole=whole, fails=fails and not caught)
    if True in outcomes:
        run.looked_for.clear()
    elif fails:
        ends = ((tidy(attempt.text), attempt.chain) for attempt in attempts)
        run.looked_for.update((path, chain) for path, chain in ends if "/" not in path or run.files.is_own(path))
    if caught:
        raise Raised(kind)
    run.unsure_calls += True not in outcomes
    return ANYTHING if quiet and True not in outcomes else (LoadedLibrary(known[0]),)


def _from_folder(run: CodeState, atom: Atom) -> Atom:
    """A relative path, from the current folder if the code has set it."""
    folder = run.store.get(run.variables, CURRENT_FOLDER)
    if isinstance(atom, str) and is_relative(atom) and folder is not None and len(folder) == 1:
        return join(folder[0], atom)
    return atom


def _note_load(
    run: CodeState, node: ast.expr, function: str, attempts: list[LoadAttempt], *, whole: bool, fails: bool
) -> None:
    """Remember a load, with what is known about how it ends."""
    texts = [attempt.text for attempt in attempts]
    own = any(run.files.is_own(tidy(text)) for text in texts if is_absolute(text))
    along = any(attempt.standard for attempt in attempts)
    inside = along and any(run.files.is_own(folder) for folder in path_folders(run) or ())
    there = [attempt.failure for attempt in attempts if attempt.failure is not None]
    run.loads.append(
        FoundLoad(
            targets=tuple(dict.fromkeys(attempt.resolved or tidy(attempt.text) for attempt in attempts)),
            complete=whole,
            file=run.scope.path,
            line=node.lineno,
            function=function,
            level=run.level,
            guarded=is_guarded(run, _kind_of(function, attempts)),
            fails=fails and not there,
            standard_search=along,
            bundled=own or inside or bool(run.looked_for),
            flags=attempts[0].flags if len(attempts) == 1 and is_absolute(texts[0]) else None,
            along=(path_folders(run) or ()) if along else (),
            failure=there[0] if fails and len(there) == 1 == len(attempts) else None,
            place=run.place,
        )
    )


def _kind_of(function: str, attempts: list[LoadAttempt]) -> str:
    """The class of the exception that a failed load raises: ctypes has one of its own for error 126."""
    there = [attempt.failure for attempt in attempts if attempt.failure is not None]
    missing = all(failure.code == MOD_NOT_FOUND for failure in there) and (there or not _is_there(attempts))
    return NO_FILE if missing and function != "dlopen" else "OSError"


def _is_there(attempts: list[LoadAttempt]) -> bool:
    return any(attempt.found for attempt in attempts)


def _flags_of(function: str, text: str, flags: Atom) -> int | None:
    """The flags that a load is made with; None if they are not known."""
    if isinstance(flags, int):
        return flags
    if flags is not None:
        return None
    has_folder = is_absolute(text) or "/" in text or "\\" in text
    if function == "dlopen":  # cffi: as programs do by default, if there is no folder in the name
        return AS_PYTHON_DOES if has_folder else 0
    return AS_PYTHON_DOES if has_folder else DEFAULT_DIRS


def is_guarded(run: CodeState, kind: str) -> bool:
    """Whether an exception of a kind is caught, and the code goes on."""
    return bool(run.guards) or any(goes_on(node, kind, run.budget) for node in run.tries)


def is_caught(run: CodeState, kind: str) -> bool:
    """Whether some ``try`` around catches an exception; whether it goes on is another question."""
    return any(catches(handler.type, kind) is not False for node in run.tries for handler in node.handlers)


def _note_unread(run: CodeState, node: ast.Call | ast.Subscript | ast.Attribute, function: str) -> None:
    if run.process is not None and run.level != LATER:
        run.process.settled = False
    if not run.muted:
        argument: ast.expr = node
        if isinstance(node, ast.Call):
            argument = node.args[0] if node.args else node.func
        elif isinstance(node, ast.Subscript):
            argument = node.slice
        text = spelled(argument, run.budget)
        guarded = is_guarded(run, "OSError")
        run.unread.append(FoundCall(run.scope.path, node.lineno, function, text, run.level, guarded))


def spelled(node: ast.expr, budget: CodeBudget) -> str:
    """An expression as the code has it, shortened; one that takes too long to write out is ``…``."""
    for count, _ in enumerate(ast.walk(node)):
        budget.step()
        if count > _SHOWN_NODES:
            return "…"
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"
