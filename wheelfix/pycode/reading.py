"""One file read with all its functions: which DLLs it may load, from which folders, and what may fail.

A file is followed as an import is, but where it is not known how the code goes on, one way after the other is taken.
Then the functions are followed that nothing has called, with unknown arguments.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import frozen
from wheelfix.loader.loading import MOD_NOT_FOUND, Failure
from wheelfix.model import CodeFolder, UnreadCall
from wheelfix.pycode.budget import FILE_STEPS, PYTHON_ERRORS, CodeBudget
from wheelfix.pycode.importer import new_run
from wheelfix.pycode.run import (
    UNKNOWN,
    CodeFunction,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    Namespace,
    OutOfSteps,
    PythonRun,
    PyValue,
    Thrown,
    Undecided,
    error,
    path_text,
)
from wheelfix.pycode.sourcecode import (
    LOADING,
    Mentions,
    any_of,
    called,
    catches,
    goes_on,
    last_line,
    spelled,
)
from wheelfix.pycode.windows import (
    ROOT,
    ViewFiles,
    WindowsMachine,
    default_flags,
    load_error,
    new_module,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


NO_FILE = "FileNotFoundError"
MAX_DEPTH = 12
"""How deep calls of the package's functions may be nested."""
MAX_VAIN = 10_000
"""Steps for all calls of one function in which nothing concerns DLLs; TensorFlow calls such ones thousands of times."""
MAX_YIELDED = 20
"""Items of a generator that nobody is known to call."""
MAX_WAYS = 64
"""Ways through a file or function that are taken."""
MAX_TURNINGS = 40
"""Places on one way at which another is taken later."""
STEPS_FOR_WAYS = 5_000
"""After so many steps no other way through a file or function is begun."""
_SPELLINGS = ("WinDLL", "OleDLL", "PyDLL", "LoadLibrary")
_DATA = regex(r"\.(?:so(?:\.\d+)*|dylib)$|^/")
"""Names that only other systems have."""
_CALL = regex(rf"\b({'|'.join(sorted(LOADING))})\s*\(((?:[^()]|\([^()]*\)){{0,80}})")
_IMAGES = (".dll", ".pyd", ".drv", ".ocx")


@frozen
class FoundLoad:
    """A DLL that code loads, or a folder that it gives to ``os.add_dll_directory``."""

    target: str
    """A path in the view, or the bare name of a DLL."""
    file: str
    line: int
    function: str
    at_import: bool
    """Whether importing the file does this, or may do it; False for what only calls of users do."""
    guarded: bool
    """Whether the code catches its failure and goes on without."""
    flags: int | None = None
    """The flags that it is made with, where they are known and a full path is loaded."""


class CodeReading:
    """What is known and found at one point of a file that is read."""

    def __init__(self, run: PythonRun) -> None:
        self.run = run
        self.later = False
        """Whether the code is one that only calls of users run."""
        self.done = False
        """Whether the last statement that concerns DLLs was carried out: then other ways do not matter."""
        self.node: ast.expr = ast.Constant(None, lineno=0)
        """The call that is being carried out."""
        self.defined: dict[ast.AST, CodeFunction] = {}
        self.called: set[ast.AST] = set()
        self.active: list[ast.AST] = []
        self.vain: dict[ast.AST, int] = {}
        """Steps spent on functions in which nothing was found that concerns DLLs."""
        self.loads: dict[FoundLoad, None] = {}
        self.folders: dict[FoundLoad, None] = {}
        self.unread: dict[UnreadCall, None] = {}
        self._way: tuple[bool, ...] = ()
        """Which way to take at each turning of the code; the first one at turnings behind these."""
        self._taken: list[tuple[tuple[object, int], bool]] = []
        """The turnings so far, each with the way that was taken."""

    @property
    def findings(self) -> int:
        """How much was found so far."""
        return len(self.loads) + len(self.folders) + len(self.unread)

    # ---------------------------------------------------------------------------------------------------- ways

    def choose(self, place: object) -> bool:
        """The way to take at a turning of the code."""
        at = len(self._taken)
        way = self._way[at] if at < len(self._way) else True
        if at < MAX_TURNINGS and not self.done:
            turn = sum(one == place for (one, _), _ in self._taken)  # a loop comes to the same place again
            self._taken.append(((place, turn), way))
        return way

    def ways(self) -> Iterator[None]:
        """Give once for every way through some code, within limits; first those that go where no other went."""
        outer, last = (self._way, self._taken), self.run.steps + STEPS_FOR_WAYS
        seen: set[object] = set()
        pending: dict[tuple[bool, ...], object] = {(): None}
        for _ in range(MAX_WAYS):
            if not pending or self.run.steps > last:
                break
            way = next((way for way, turning in pending.items() if turning not in seen), next(iter(pending)))
            del pending[way]
            self._way, self._taken = way, []
            taken = self._taken
            yield
            seen.update(taken)
            for at in range(len(way), len(taken)):
                place, here = taken[at]
                other = (*(one for _, one in taken[:at]), not here)
                pending[other] = place, not here
        self._way, self._taken = outer

    # ---------------------------------------------------------------------------------------------- exceptions

    def is_caught(self, kind: str) -> bool:
        """Whether something around catches an exception; whether the code then goes on is another question."""
        return any(self._catches(guard, kind) is not False for guard in self.run.guards)

    def is_guarded(self, kind: str) -> bool:
        """Whether an exception of a kind is caught, and the code goes on."""
        return any(self._goes_on(guard, kind) for guard in self.run.guards)

    def _goes_on(self, guard: PyValue, kind: str) -> bool:
        if isinstance(guard, ast.AST):
            return goes_on(guard, kind)  # type: ignore[arg-type]
        return bool(self._catches(guard, kind))

    def _catches(self, guard: PyValue, kind: str) -> bool | None:
        """Whether a ``try`` or a context manager catches an exception."""
        if isinstance(guard, ast.AST):
            return any_of(catches(handler.type, kind) for handler in guard.handlers)  # type: ignore[attr-defined]
        if isinstance(guard, Managed) and guard.kind == "stack":
            return any_of(self._catches(one, kind) for one in guard.value)
        is_suppress = isinstance(guard, Managed) and guard.kind == "suppress"
        return is_suppress and self.run.statements.catches(guard.value, error(kind).error)

    # ----------------------------------------------------------------------------------------------- functions

    def may_call(self, function: CodeFunction) -> bool:
        """Whether a function is worth following once more."""
        node = function.node
        return len(self.active) < MAX_DEPTH and node not in self.active and self.vain.get(node, 0) <= MAX_VAIN

    def begin_call(self, function: CodeFunction) -> tuple[int, int]:
        """Begin to follow a function."""
        self.called.add(function.node)
        self.active.append(function.node)
        return self.findings, self.run.steps

    def end_call(self, function: CodeFunction, begun: tuple[int, int]) -> None:
        """Count what was spent on a function in vain."""
        self.active.pop()
        findings, steps = begun
        if self.findings == findings:
            self.vain[function.node] = self.vain.get(function.node, 0) + self.run.steps - steps

    def call_with_unknown(self, function: CodeFunction, args: list[PyValue] | None = None) -> PyValue:
        """Call a function with arguments that are not known, or its defaults."""
        wanted = [*function.node.args.posonlyargs, *function.node.args.args]
        given: list[PyValue] = [UNKNOWN] * (len(wanted) - len(function.defaults))
        given += [
            UNKNOWN if default is None or not self.choose((function.node, at)) else default
            for at, default in enumerate(function.defaults)
        ]
        return self.run.calls.call(function, [*(args or []), *given[len(args or []) :]], {})

    def look_into(self, function: CodeFunction) -> None:
        """Follow a function that nothing is known to call, with unknown arguments."""
        self.later = True
        for _ in self.ways():
            with self.run.undone():
                try:
                    own = [Instance(function.owner)] if function.owner is not None else []
                    found = self.call_with_unknown(function, own)
                    for count, _ in enumerate(found.items if isinstance(found, Iteration) else ()):
                        if count == MAX_YIELDED:
                            break
                except (Thrown, Undecided):
                    pass
        self.later = False

    # ------------------------------------------------------------------------------------------------- folders

    def add_folder(self, value: PyValue) -> PyValue:
        """``os.add_dll_directory``: note the folder."""
        text = _text(value)
        if not isinstance(text, str) or ";" in text:
            self._note_unread("add_dll_directory")
            return UNKNOWN
        place = self.run.environment.file, self.node.lineno
        guarded = self.is_guarded(NO_FILE)
        found = FoundLoad(_as_path(self.run, text), *place, "add_dll_directory", not self.later, guarded)
        self.folders[found] = None
        return UNKNOWN

    # --------------------------------------------------------------------------------------------------- loads

    def load(self, function: str, value: PyValue, flags: PyValue = None) -> PyValue:
        """Note a load of a DLL; ``flags`` is None where Python chooses them."""
        spelling = called(self.node) if isinstance(self.node, ast.Call) else ""
        function = spelling if spelling in _SPELLINGS and function == "CDLL" else function
        text = _text(value)
        if text is None:
            return UNKNOWN  # the process itself
        if not isinstance(text, str) or _is_relative(text):
            self._note_unread(function)
        if not isinstance(text, str):
            return UNKNOWN
        if not text or _DATA.search(text):  # a library of another system
            if not self.later and self.is_caught("OSError"):
                raise error("OSError", "cannot load library")
            return UNKNOWN
        own = default_flags(text, cffi=function == "dlopen") if flags is None else flags
        found = self._found(text)
        kind = NO_FILE if function != "dlopen" and not found else "OSError"
        load = FoundLoad(
            target=found or _as_path(self.run, text),
            file=self.run.environment.file,
            line=self.node.lineno,
            function=function,
            at_import=not self.later,
            guarded=self.is_guarded(kind),
            flags=own if _is_absolute(text) and isinstance(own, int) else None,
        )
        self.loads[load] = None
        if not found and self.is_caught(kind) and (not self.choose(self.node) if found == "" else not self.later):
            failure = Failure(MOD_NOT_FOUND, (_as_path(self.run, text),))
            raise load_error(text, failure, cffi=function == "dlopen")
        return LoadedDll(text, "")

    def _found(self, text: str) -> str | None:
        """The file that a load means, empty if that is not known; None if there is no such file."""
        files, path = self.run.machine.files, _as_path(self.run, text)
        if _is_relative(text):
            return ""
        if _is_absolute(text):
            path = path if path.lower().endswith(_IMAGES) or files.exists(path) else path + ".dll"
            found = files.exists(path, folder=False)
            return path if found else None if found is False else ""
        name = path if "." in path else path + ".dll"
        for item in self.folders:
            inside = files.view.find(item.target, name)
            if inside:
                return inside
        found = files.finds(name)
        loaded = {item.target.rpartition("/")[2].lower() for item in self.loads}
        return path if found else None if found is False and path.lower() not in loaded else ""

    def path_folders(self) -> Iterator[str]:
        """The folders of the view that are on PATH by now, as far as that is known."""
        value = self.run.machine.variables.get("PATH")
        for part in value.split(";") if isinstance(value, str) else ():
            if part.lower().startswith(f"{ROOT}\\".lower()):
                yield self.run.machine.view_path(part)

    def _note_unread(self, function: str) -> None:
        node = argument = self.node
        if isinstance(node, ast.Call):
            argument = node.args[0] if node.args else node.func
        place = self.run.environment.file, node.lineno
        guarded = self.is_guarded("OSError")
        call = UnreadCall(*place, function, spelled(argument), not self.later, guarded=guarded)
        self.unread[call] = None


def _as_path(run: PythonRun, text: str) -> str:
    return run.machine.view_path(text) if _is_absolute(text) else text.replace("\\", "/")


def _is_absolute(text: str) -> bool:
    """Whether a path says where it begins."""
    return text[1:2] == ":" or text.startswith(("/", "\\"))


def _is_relative(text: str) -> bool:
    """Whether a name has folders, but does not say where they begin: below the current folder, whichever that is."""
    return not _is_absolute(text) and ("/" in text or "\\" in text)


def _text(value: PyValue) -> PyValue:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else path_text(value)


NOT_FOLLOWED = "it does something that cannot be followed"


@frozen
class PathCode:
    """What one Python file does to the DLL search."""

    found_folders: tuple[FoundLoad, ...] = ()
    loads: tuple[FoundLoad, ...] = ()
    unread_calls: tuple[UnreadCall, ...] = ()
    """Loads and folders whose argument could not be read."""
    on_path: tuple[str, ...] = ()
    """Folders of the view that importing the file puts on PATH."""

    @property
    def folders(self) -> tuple[CodeFolder, ...]:
        """What is given to ``os.add_dll_directory``, with the line."""
        found = (CodeFolder(item.target, item.file, item.line) for item in self.found_folders)
        return tuple(dict.fromkeys(found))

    @property
    def added(self) -> tuple[str, ...]:
        """The folders, none twice."""
        return tuple(dict.fromkeys(item.target for item in self.found_folders))


def read_path_code(source: str, path: str, budget: CodeBudget, files: ViewFiles) -> PathCode:
    """Find the DLL folders and loads in one file, which lies at ``path`` in the view.

    Of a file that cannot be read, or takes more work than the budget has, only calls are known, and not what they load:
    half of its loads would be worse than none. That it was not read is in the budget.
    """
    key = f"{path}\0" if files.blind else path
    known = budget.results.get(key)
    if not isinstance(known, PathCode):
        known = budget.results[key] = _read(source, path, budget, files)
    return known


def _read(source: str, path: str, budget: CodeBudget, files: ViewFiles) -> PathCode:
    budget.loading.add(path)
    tree = budget.parse(source, path)
    if tree is None:
        return PathCode(unread_calls=tuple(_spelled_calls(source, path)))
    machine = WindowsMachine(files, complete=False)
    machine.lenient = True
    run = new_run(machine, steps=min(FILE_STEPS, budget.steps))
    run.budget = budget
    reading = run.reading = CodeReading(run)
    on_path: dict[str, None] = {}
    looked: set[ast.AST] = set()
    ended = False
    left = range(0)
    try:
        mentions = Mentions(tree, source)
        functions = mentions.functions
        last = last_line(source.encode())
        for _ in reading.ways():
            variables, folder = dict(machine.variables), machine.folder
            left = _follow_file(reading, tree, last, path)
            ended = ended or not left
            acts = mentions.outside or not reading.called.isdisjoint(functions)
            on_path.update(dict.fromkeys(reading.path_folders()))
            for node in functions:
                if node not in reading.called and node not in looked and node in reading.defined:
                    looked.add(node)
                    reading.look_into(reading.defined[node])
            machine.variables, machine.folder = variables, folder
            if not acts:
                break  # what only functions do that are not called does not depend on the way through the file
        if not ended:
            found = {one.line for one in [*reading.loads, *reading.folders] if one.file == path}
            calls = (call for call in _spelled_calls(source, path) if call.line not in found)
            reading.unread.update((call, None) for call in calls if call.line in left or not reading.findings)
    except RecursionError:
        budget.give_up(path, "it is nested too deeply")
    except OutOfSteps:
        budget.give_up(path, "its loops and functions go on for too long")
    except PYTHON_ERRORS as error:  # of Python's library, for a value that it cannot work with
        budget.give_up(path, f"{NOT_FOLLOWED} ({type(error).__name__})")
    finally:
        budget.steps = max(budget.steps - run.steps, 0)
    if path in budget.unread:
        return PathCode(unread_calls=tuple(_spelled_calls(source, path)))
    return PathCode(tuple(reading.folders), tuple(reading.loads), tuple(reading.unread), tuple(on_path))


def _follow_file(reading: CodeReading, tree: ast.Module, last: int, path: str) -> range:
    """Follow the statements of a file, of which those behind a line do not concern DLLs; return the lines left over."""
    run = reading.run
    module = new_module(path)
    run.modules[module.name] = module
    run.environment = Namespace(module.names, module.names, path)
    try:
        for node in tree.body:
            reading.done = node.lineno > last
            run.statements.execute([node])
    except (Thrown, Undecided):
        return range(node.lineno, last + 1)
    finally:
        reading.done = False
    return range(0)


def _spelled_calls(source: str, path: str) -> Iterator[UnreadCall]:
    """Give the loads and folders of a file that is not followed to any of them, as far as its text shows them.

    It cannot be parsed, or raises an exception before them on a machine without other programs: pyjnius, for example,
    adds the folder of Java if it finds one.
    """
    for number, line in enumerate(source.splitlines(), start=1):
        for name, argument in _CALL.findall(line.partition("#")[0]):
            yield UnreadCall(path, number, name, argument.strip() or "…")
