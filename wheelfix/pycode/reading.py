"""One file read with all its functions: which DLLs it may load, from which folders, and what may fail."""

from __future__ import annotations

import ast
import ntpath
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, replace
from wheelfix.loader.loadcall import AS_PYTHON_DOES, BAD_EXE_FORMAT, DEFAULT_DIRS, DLL_LOAD_DIR, MOD_NOT_FOUND, Failure
from wheelfix.loader.view import Layer, base_name
from wheelfix.model import CodeFault, CodeFolder, InView, UnreadCall
from wheelfix.pycode.budget import FILE_STEPS, PYTHON_ERRORS, CodeBudget
from wheelfix.pycode.importer import new_run
from wheelfix.pycode.objects import (
    UNKNOWN,
    CodeClass,
    FolderHandle,
    Instance,
    Iteration,
    LoadedDll,
    Managed,
    Namespace,
    Native,
    PyValue,
    Thrown,
    Undecided,
    WindowsPathValue,
    alternatives,
    error,
    joined,
)
from wheelfix.pycode.run import NEXT, OutOfSteps
from wheelfix.pycode.sourcecode import Mentions, called, catches, goes_on, spelled
from wheelfix.pycode.trace import CERTAIN, LATER, LOADING, PERHAPS, FoundCall, FoundEnd, FoundFolder, FoundLoad
from wheelfix.pycode.windows import FIRST_FOLDER, FIRST_PATH, ROOT, SITE, WindowsMachine, load_error, os_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.pycode.objects import CodeFunction, CodeModule
    from wheelfix.pycode.run import PythonRun

    FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    from collections.abc import Iterator

    from wheelfix.pycode.windows import ViewFiles

OF_WINDOWS = frozenset({"LoadLibraryExW", "LoadLibraryExA", "LoadLibraryW", "LoadLibraryA"})
"""Functions of kernel32: they return 0 instead of raising an exception."""
NO_FILE = "FileNotFoundError"
MAX_DEPTH = 12
"""How deep calls of the package's functions may be nested."""
MAX_VAIN = 10_000
"""Steps for all calls of one function in which nothing concerns DLLs; TensorFlow calls such ones thousands of times."""
MAX_MODULES = 12
"""Other files of the package that are followed because one file imports them."""
MAX_YIELDED = 20
"""Items of a generator that nobody is known to call."""
MOST = 300
UNKNOWN_TEXT = "…"
_SPELLINGS = ("WinDLL", "OleDLL", "PyDLL", "LoadLibrary")
_DATA = re.compile(r"\.(?:so(?:\.\d+)*|dylib)$|^/")
"""Names that only other systems have."""
_IMAGES = (".dll", ".pyd", ".drv", ".ocx")


class CodeReading:
    """What is known and found at one point of a file that is read."""

    def __init__(self, run: PythonRun, root: str) -> None:
        self.run = run
        self.root = root
        """The file that is read."""
        self.level = CERTAIN
        self.guards: list[PyValue] = []
        """The ``try`` statements and context managers around the current one."""
        self.muted = 0
        """How many files are being followed for their names and not for what they load."""
        self.node: ast.expr = ast.Constant(None, lineno=0)
        """The call that is being carried out."""
        self.raised: Thrown | None = None
        """What a way ended with that was followed."""
        self.defined: dict[ast.AST, CodeFunction] = {}
        self.called: set[ast.AST] = set()
        self.active: list[ast.AST] = []
        self.vain: dict[ast.AST, int] = {}
        """Steps spent on functions in which nothing was found that concerns DLLs."""
        self.loads: list[FoundLoad] = []
        self.folders: list[FoundFolder] = []
        self.unread: list[FoundCall] = []
        self.ends: list[FoundEnd] = []
        self.listings: list[FoundFolder] = []
        """Folders whose files the code lists although they are not there."""
        self.unsure_calls = 0
        """How many loads were made of which it is not known that they succeed."""
        self.settled = True
        """False if something may have been added or loaded that is not known."""
        self.foreign = False
        """Whether modules were imported that are not in the view, and may have loaded DLLs."""
        self.imported_files: dict[str, None] = {}
        """The files of the modules that the code has imported, in their order."""
        self._woken = 0
        self._met: set[str] = set()
        """Other files whose names were asked for."""

    @property
    def findings(self) -> int:
        """How much was found so far."""
        return len(self.loads) + len(self.folders) + len(self.unread) + len(self.ends)

    # ---------------------------------------------------------------------------------------------- exceptions

    def is_thrown(self, thrown: Thrown) -> bool:
        """Whether an exception ends what it is raised in: code raises it, or catches it."""
        return thrown.raised or self.is_caught(_kind_name(thrown.error))

    def is_caught(self, kind: str) -> bool:
        """Whether something around catches an exception; whether the code then goes on is another question."""
        return any(_catches(guard, kind) is not False for guard in self.guards)

    def is_guarded(self, kind: str) -> bool:
        """Whether an exception of a kind is caught, and the code goes on."""
        return any(self._goes_on(guard, kind) for guard in self.guards)

    def _goes_on(self, guard: PyValue, kind: str) -> bool:
        if isinstance(guard, ast.AST):
            return goes_on(guard, kind, self.run.budget)  # type: ignore[arg-type]
        return bool(_catches(guard, kind))

    def ending(self, thrown: Thrown, node: ast.Raise | ast.Assert) -> Thrown:
        """Note an exception that nothing catches, after DLLs of the package were looked for and not found."""
        thrown.raised = True
        kind, missed = _kind_name(thrown.error), self.run.machine.missed
        if missed and not self.is_caught(kind) and not self.muted and self.level != LATER:
            names = tuple(missed)
            outside = not any("/" in name or self.run.machine.files.named(name) for name in names)
            chain = missed[names[0]] if len(names) == 1 else ()
            text = raised_text(self.run, node.exc) if isinstance(node, ast.Raise) else ""
            file, place = self.run.environment.file, self.run.steps
            self.ends.append(FoundEnd(kind, file, node.lineno, self.level, names, outside, place, chain, text))
        return thrown

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
        """Call a function with arguments that are not known."""
        wanted = [*function.node.args.posonlyargs, *function.node.args.args]
        unknown: list[PyValue] = [UNKNOWN] * (len(wanted) - len(function.defaults))
        unknown += [UNKNOWN if default is None else joined([default, UNKNOWN]) for default in function.defaults]
        given = [*(args or []), *unknown[len(args or []) :]]
        return self.run.call(function, given, {})

    def look_into(self, function: CodeFunction) -> None:
        """Follow a function that nothing is known to call, with unknown arguments."""
        level, self.level = self.level, LATER
        self.run.begin_branch()
        try:
            own = [Instance(function.owner)] if function.owner is not None else []
            found = self.call_with_unknown(function, own)
            for count, _ in enumerate(found.items if isinstance(found, Iteration) else ()):
                if count == MAX_YIELDED:
                    break
        except OutOfSteps:
            raise
        except (Thrown, Undecided):
            pass
        finally:
            self.run.end_branch()
            self.level = level

    def resume(self, generator: Iteration) -> int:
        """Go on in a generator: what it has tried is around again; return how much is around that is not its own."""
        around = len(self.guards)
        self.guards += generator.guards
        return around

    def suspend(self, generator: Iteration, around: int) -> None:
        """Leave a generator that waits."""
        generator.guards = self.guards[around:]
        del self.guards[around:]

    # ------------------------------------------------------------------------------------------------- modules

    def imported(self, path: str) -> None:
        """Remember that a module is imported."""
        self.imported_files[path] = None

    def wake(self, module: CodeModule) -> None:
        """Follow another file of the package for its names, quietly; the next file that is read has them, too."""
        if module.waiting:
            module.waiting = False
            self._woken += 1
            machine, outside = self.run.machine, (self.foreign, self.imported_files)
            process, variables, settled = machine.process, machine.variables, self.settled
            machine.process, machine.variables = process.fork(), dict(variables)
            self.foreign, self.imported_files = False, {}
            if self._woken <= MAX_MODULES:
                self._follow(module)
            module.brings = self.foreign, self.imported_files
            self.foreign, self.imported_files = outside
            machine.process, machine.variables, self.settled = process, variables, settled
        if module.brings is not None and module.file not in self._met:
            self._met.add(module.file)
            self.foreign |= module.brings[0]
            self.imported_files |= module.brings[1]

    def _follow(self, module: CodeModule) -> bool:
        """Follow another file of the package; whether that was possible."""
        run = self.run
        source = run.machine.files.source(module.file)
        tree = run.budget_of_others.parse_more(source, module.file) if source is not None else None
        if tree is None:
            return False
        state = self.level, self.guards, self.active, run.returned, run.handled, run.environment
        self.level, self.guards, self.active, run.returned, run.handled = CERTAIN, [], [], [], []
        self.muted += 1
        branches = run.leave_branches(0)
        run.environment = Namespace(module.names, module.names, module.file)
        try:
            run.execute(tree.body)
        except OutOfSteps:
            raise
        except (Thrown, Undecided):
            pass
        finally:
            self.muted -= 1
            run.enter_branches(branches)
            self.level, self.guards, self.active, run.returned, run.handled, run.environment = state
        return True

    def _relies_on_others(self) -> bool:
        """Whether modules of other distributions were imported, which may have loaded DLLs."""
        view = self.run.machine.view
        there = (path for path in self.imported_files if path in view)
        return self.foreign or any(view.layer(path) is Layer.ENVIRONMENT for path in there)

    def settle(self) -> None:
        """Note that something may have happened that is not known: other files may load whatever they need."""
        if self._relies_on_others() or self.run.machine.files.loading > {self.root}:
            self.settled = False

    # ------------------------------------------------------------------------------------------------- folders

    def add_folder(self, value: PyValue) -> PyValue:
        """``os.add_dll_directory``: note the folders; one that is certainly not there raises an exception."""
        machine = self.run.machine
        texts = [_text(one) for one in alternatives(value)]
        found = [text for text in texts if isinstance(text, str) and ";" not in text]
        if len(found) < len(texts):
            self._note_unread("add_dll_directory")
        absent = bool(found) and len(found) == len(texts) and all(map(self.is_absent, found))
        for text in found if not self.muted else ():
            self.folders.append(self._found_folder(text, absent=absent))
        if absent and self.level != LATER and self.is_caught(NO_FILE):
            raise Thrown(os_error(NO_FILE, 2, found[0]))
        if self.level == LATER or absent:
            return UNKNOWN
        if self.level == CERTAIN and len(texts) == 1 and found:
            machine.process.user_dirs.append(machine.view_path(found[0]))
            return FolderHandle(machine.view_path(found[0]))
        self.settled = False
        return UNKNOWN

    def close_folder(self, folder: str) -> None:
        """Remove a folder from the search again."""
        if self.level == CERTAIN:
            self.run.machine.close_folder(folder)
        elif self.level != LATER:
            self.settled = False

    def is_absent(self, text: str) -> bool:
        """Whether there is certainly no such folder in the package."""
        machine, path = self.run.machine, self.run.machine.view_path(text)
        return _is_absolute(text) and machine.files.is_own(path) and machine.files.exists(path, folder=True) is False

    def list_absent(self, text: str) -> None:
        """Note that the code lists a folder which is not there; raises an exception if something catches it."""
        if not self.is_absent(text) or self.level == LATER:
            return
        if not self.muted:
            self.listings.append(self._found_folder(text, absent=True))
        if self.is_caught(NO_FILE):
            raise Thrown(os_error(NO_FILE, 3, text))

    def _found_folder(self, text: str, *, absent: bool) -> FoundFolder:
        run = self.run
        path = run.machine.view_path(text) if _is_absolute(text) else text.replace("\\", "/")
        file = run.environment.file
        return FoundFolder(path, file, self.node.lineno, self.level, self.is_guarded(NO_FILE), absent, run.steps)

    # --------------------------------------------------------------------------------------------------- loads

    def load(self, function: str, value: PyValue, flags: PyValue = None) -> PyValue:
        """Note a load of one of several DLLs; ``flags`` is None where Python chooses them."""
        quiet = function in OF_WINDOWS
        if quiet:
            self.guards.append(Managed("suppress", Native("OSError")))
        try:
            return self._load(function, value, flags, quiet=quiet)
        except Thrown:
            if not quiet:
                raise
            return None
        finally:
            if quiet:
                self.guards.pop()

    def _load(self, function: str, value: PyValue, flags: PyValue, *, quiet: bool) -> PyValue:
        spelling = called(self.node) if isinstance(self.node, ast.Call) else ""
        function = spelling if spelling in _SPELLINGS and function == "CDLL" else function
        texts = [self._from_folder(_text(one)) for one in alternatives(value)]
        named = [text for text in texts if isinstance(text, str)]
        known = [text for text in named if text and not _DATA.search(text)]
        whole, missed = len(named) == len(texts), self.run.machine.missed
        if texts == [None] or (named and not known and whole):
            if self.level != LATER and named and self.is_caught("OSError"):
                raise error("OSError", "cannot load library")
            return UNKNOWN  # the process itself, or a library of another system
        if not whole or (any(map(_is_relative, known)) and not any("/" in name for name in missed)):
            self._note_unread(function)
        if not known:
            return UNKNOWN
        attempts = [LoadAttempt(self, text, _flags_of(function, text, flags)) for text in known]
        outcomes = [attempt.outcome() for attempt in attempts]
        fails = whole and all(outcome is False for outcome in outcomes)
        kind = _kind_of(function, attempts)
        caught = fails and self.level != LATER and (quiet or self.is_caught(kind))
        if not self.muted:
            self._note_load(function, attempts, whole=whole, fails=fails and not caught)
        if True in outcomes:
            missed.clear()
        elif fails:
            ends = ((attempt.path, attempt.chain) for attempt in attempts)
            files = self.run.machine.files
            missed.update((path, chain) for path, chain in ends if "/" not in path or files.is_own(path))
        if caught:
            failure = attempts[0].failure or Failure(MOD_NOT_FOUND, (attempts[0].path,))
            made = load_error(known[0], failure, cffi=function == "dlopen")
            raise Thrown(made if kind == NO_FILE or function == "dlopen" else os_error("OSError", 193))
        self.unsure_calls += True not in outcomes
        return UNKNOWN if quiet and True not in outcomes else LoadedDll(known[0], "")

    def _from_folder(self, text: PyValue) -> PyValue:
        """A relative path, from the current folder if the code has set it."""
        if isinstance(text, str) and _is_relative(text) and self.run.machine.folder != FIRST_FOLDER:
            return ntpath.join(self.run.machine.folder, text)
        return text

    def _note_load(self, function: str, attempts: list[LoadAttempt], *, whole: bool, fails: bool) -> None:
        """Remember a load, with what is known about how it ends."""
        run = self.run
        files = run.machine.files
        own = any(files.is_own(attempt.path) for attempt in attempts if _is_absolute(attempt.text))
        along = any(attempt.standard for attempt in attempts)
        folders = self.path_folders() or ()
        inside = along and any(map(files.is_own, folders))
        there = [attempt.failure for attempt in attempts if attempt.failure is not None]
        alone = len(attempts) == 1
        self.loads.append(
            FoundLoad(
                targets=tuple(dict.fromkeys(attempt.resolved or attempt.path for attempt in attempts)),
                complete=whole,
                file=run.environment.file,
                line=self.node.lineno,
                function=function,
                level=self.level,
                guarded=self.is_guarded(_kind_of(function, attempts)),
                fails=fails and not there,
                standard_search=along,
                bundled=own or inside or bool(run.machine.missed),
                flags=attempts[0].flags if alone and _is_absolute(attempts[0].text) else None,
                along=folders if along else (),
                failure=there[0] if fails and alone and there else None,
                place=run.steps,
            )
        )

    def path_folders(self) -> tuple[str, ...] | None:
        """The folders of the view that are on PATH by now; None if that is not known."""
        machine = self.run.machine
        value = machine.variables.get("PATH")
        if value == FIRST_PATH:
            return () if not machine.files.sets_variable("PATH") else None
        if not isinstance(value, str):
            return None
        inside = (part for part in value.split(";") if part.lower().startswith(f"{ROOT}\\".lower()))
        return tuple(map(machine.view_path, inside))

    def _note_unread(self, function: str) -> None:
        if self.level != LATER:
            self.settled = False
        if not self.muted:
            node = self.node
            argument = node
            if isinstance(node, ast.Call):
                argument = node.args[0] if node.args else node.func
            elif isinstance(node, ast.Subscript):
                argument = node.slice
            text, file = spelled(argument), self.run.environment.file
            self.unread.append(FoundCall(file, node.lineno, function, text, self.level, self.is_guarded("OSError")))


class LoadAttempt:
    """One load of one file at one point of a file that is read: whether it succeeds, in the process so far."""

    def __init__(self, reading: CodeReading, text: str, flags: int | None) -> None:
        self.reading, self.text, self.flags = reading, text, flags
        self.machine = reading.run.machine
        self.path = self.machine.view_path(text) if _is_absolute(text) else text.replace("\\", "/")
        self.standard = flags == 0
        """Whether it looks as programs do by default, which means along PATH."""
        self.failure: Failure | None = None
        """Why the load of a file that is there fails."""
        self.found = False
        """Whether there is a file."""
        self.resolved = ""
        """The file of the view that a bare name stands for."""

    @property
    def chain(self) -> tuple[str, ...]:
        """The way from a file that is there to the DLL that is not found; empty where that is not why it fails."""
        if self.failure is None or self.failure.code != MOD_NOT_FOUND or len(self.failure.chain) < 2:
            return ()
        return tuple(base_name(step) for step in self.failure.chain)

    def outcome(self) -> bool | None:
        """Whether the load succeeds: True, False, or None if that is not known."""
        if _is_relative(self.text):  # a last resort of code that has looked in its package before
            return False if any("/" in name for name in self.machine.missed) else None
        return self._of_path(self.path) if _is_absolute(self.text) else self._of_name(self.path)

    def _of_path(self, path: str) -> bool | None:
        files = self.machine.files
        if not (path.lower().endswith(_IMAGES) or files.exists(path)):
            path += ".dll"
        found = files.exists(path, folder=False)
        self.found = bool(found)
        if not found or path[1:2] == ":":
            return found
        if self.reading.level != CERTAIN:
            if self.reading.level != LATER:
                self.reading.settled = False
            return True
        return self._load(lambda flags: self.machine.process.load(files.spelled(path), flags))

    def _load(self, load: Callable[[int], Failure | None]) -> bool:
        """Load in the process of the code; False if that fails for certain."""
        flags = AS_PYTHON_DOES if self.flags is None else self.flags
        along = self._along_path()
        failure = load(flags)
        if failure is not None and not _fails_everywhere(failure):
            self.reading.settle()
            along = self._along_path()
            failure = load(flags)
        known = self.flags is not None or failure is None or failure.code != MOD_NOT_FOUND
        if failure is not None and known and self._is_certain(failure, flags, along):
            self.failure = failure
        return self.failure is None

    def _along_path(self) -> tuple[str, ...] | None:
        along = self.reading.path_folders()
        self.machine.process.path_dirs = list(along or ())
        return along

    def _is_certain(self, failure: Failure, flags: int, along: tuple[str, ...] | None) -> bool:
        """Whether a load fails whatever else may have happened."""
        if _fails_everywhere(failure):
            return True
        return self.reading.settled and not (not flags and along is None and failure.code == MOD_NOT_FOUND)

    def _of_name(self, path: str) -> bool | None:
        reading, files = self.reading, self.machine.files
        name = path if "." in path else path + ".dll"
        known = reading.level == CERTAIN and self.flags is not None
        found = files.finds(name, self._folders(known))
        if not found and known:
            reading.settle()
            known = reading.settled
            found = files.finds(name, self._folders(known))
        if found:
            if known and files.named(name):
                self._along_path()
                steps = self.machine.process.search_steps("", (self.flags or 0) & ~DLL_LOAD_DIR)
                place = self.machine.process.find(name, steps)
                self.resolved = place.path if isinstance(place, InView) else ""
                return self._load(lambda flags: self.machine.process.load_by_name(name, flags))
            return True
        loaded = {target.rpartition("/")[2].lower() for item in reading.loads for target in item.targets}
        if path.lower() in loaded and not all(item.fails for item in reading.loads if path in item.targets):
            return None
        if found is None:  # it is in the package, where this load may not look
            return False if known and (not self.standard or reading.path_folders() is not None) else None
        return None if not self.standard and reading._relies_on_others() else False

    def _folders(self, known: bool) -> tuple[str, ...]:
        """The folders in which a bare name is looked for."""
        if known:
            return self.reading.path_folders() or () if self.standard else tuple(self.machine.process.user_dirs)
        return () if self.standard else tuple(item.folder for item in self.reading.folders)


def _fails_everywhere(failure: Failure) -> bool:
    """Whether a load fails in every process: the file itself is not an image that fits."""
    return failure.code == BAD_EXE_FORMAT and len(failure.chain) == 1


def _kind_of(function: str, attempts: list[LoadAttempt]) -> str:
    """The class of the exception that a failed load raises: ctypes has one of its own for error 126."""
    there = [attempt.failure for attempt in attempts if attempt.failure is not None]
    found = any(attempt.found for attempt in attempts)
    missing = all(failure.code == MOD_NOT_FOUND for failure in there) and (there or not found)
    return NO_FILE if missing and function != "dlopen" else "OSError"


def _flags_of(function: str, text: str, flags: PyValue) -> int | None:
    """The flags that a load is made with; None if they are not known."""
    if isinstance(flags, int):
        return flags
    if flags is not None:
        return None
    has_folder = "/" in text or "\\" in text
    if function == "dlopen":  # cffi: as programs do by default, if there is no folder in the name
        return AS_PYTHON_DOES if has_folder else 0
    return AS_PYTHON_DOES if has_folder else DEFAULT_DIRS


def _is_absolute(text: str) -> bool:
    """Whether a path says where it begins."""
    return text[1:2] == ":" or text.startswith(("/", "\\"))


def _is_relative(text: str) -> bool:
    """Whether a name has folders, but does not say where they begin: below the current folder, whichever that is."""
    return not _is_absolute(text) and ("/" in text or "\\" in text)


def _text(value: PyValue) -> PyValue:
    if isinstance(value, WindowsPathValue):
        return value.text
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _kind_name(made: Instance) -> str:
    return made.kind.name.rpartition(".")[2] if isinstance(made.kind, CodeClass | Native) else "Exception"


def _catches(guard: PyValue, kind: str) -> bool | None:
    """Whether a ``try`` or a context manager catches an exception."""
    if isinstance(guard, ast.AST):
        found = [catches(handler.type, kind) for handler in guard.handlers]  # type: ignore[attr-defined]
        return True if True in found else None if None in found else False
    if not isinstance(guard, Managed) or guard.kind not in ("suppress", "stack"):
        return False
    if guard.kind == "stack":
        found = [_catches(one, kind) for one in guard.value]
        return True if True in found else None if None in found else False
    kinds = guard.value if isinstance(guard.value, tuple) else (guard.value,)
    return any(catches(ast.Name(one.name), kind) for one in kinds if isinstance(one, CodeClass | Native))


def raised_text(run: PythonRun, raised: ast.expr | None) -> str:
    """The first line of an exception's text, with ``…`` for what is not known; empty if nothing of it is."""
    if not isinstance(raised, ast.Call) or len(raised.args) != 1 or raised.keywords:
        return ""
    text = _raised_part(run, raised.args[0]).replace(SITE, UNKNOWN_TEXT).replace(ROOT, UNKNOWN_TEXT)
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line[:MOST] if line.strip(f"{UNKNOWN_TEXT} ") else ""


def _raised_part(run: PythonRun, node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_raised_part(run, part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        plain = node.conversion in (-1, ord("s")) and node.format_spec is None
        return _raised_part(run, node.value) if plain else UNKNOWN_TEXT
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _raised_part(run, node.left) + _raised_part(run, node.right)
    try:
        return _shown(run, run.value(node))
    except (Thrown, Undecided):
        return UNKNOWN_TEXT


def _shown(run: PythonRun, value: PyValue) -> str:
    text = run.text_of(value) if isinstance(value, str | int | WindowsPathValue | Instance) else None
    return text if isinstance(text, str) else UNKNOWN_TEXT


NOT_FOLLOWED = "it does something that cannot be followed"


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    found_folders: tuple[FoundFolder, ...] = ()
    loads: tuple[FoundLoad, ...] = ()
    found_calls: tuple[FoundCall, ...] = ()
    listings: tuple[FoundFolder, ...] = ()
    """Folders whose files the code lists although they are not there."""
    ends: tuple[FoundEnd, ...] = ()
    """Exceptions that the file raises when it is imported, because DLLs are not there."""
    on_path: tuple[str, ...] = ()
    """Folders of the view that importing the file puts on PATH."""
    unread: str = ""
    """Why the file was not read; then nothing is known about it."""

    @property
    def folders(self) -> tuple[CodeFolder, ...]:
        """What is given to ``os.add_dll_directory``, with the line."""
        found = (CodeFolder(item.folder, item.file, item.line) for item in self.found_folders)
        return tuple(dict.fromkeys(found))

    @property
    def unread_calls(self) -> tuple[UnreadCall, ...]:
        """Loads and folders whose argument could not be read."""
        found = (
            UnreadCall(item.file, item.line, item.function, item.argument, item.level != LATER)
            for item in self.found_calls
        )
        return tuple(dict.fromkeys(found))

    @property
    def added(self) -> tuple[str, ...]:
        """The folders, none twice."""
        return tuple(dict.fromkeys(item.folder for item in self.found_folders))

    @property
    def loaded(self) -> tuple[str, ...]:
        """Files of the view or bare names that are loaded, none twice."""
        return tuple(dict.fromkeys(target for item in self.loads for target in item.targets))


def read_path_code(source: str, path: str, budget: CodeBudget, files: ViewFiles) -> PathCode:
    """Find the DLL folders and loads in one file, which lies at ``path`` in the view.

    A file that cannot be read, or takes more work than the budget has, gives nothing: half of its loads would be worse
    than none. That it was not read is in the budget and in the answer.
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
        return PathCode(unread=budget.unread[path])
    machine = WindowsMachine(files, files.profile, complete=False)
    machine.lenient = True
    run = new_run(machine, steps=min(FILE_STEPS, budget.steps))
    run.budget = budget
    run.modules = dict(files.code_modules)
    reading = run.reading = CodeReading(run, path)
    on_path: tuple[str, ...] = ()
    try:
        functions = Mentions(tree, source, budget).functions
        if not _follow_file(reading, tree) & NEXT and not reading.findings:
            reading.unread += _behind_the_end(tree, path)
        on_path = reading.path_folders() or ()
        for node in functions:
            if node not in reading.called and node in reading.defined:
                reading.look_into(reading.defined[node])
    except RecursionError:
        budget.give_up(path, "it is nested too deeply")
    except OutOfSteps:
        budget.give_up(path, "its loops and functions go on for too long")
    except PYTHON_ERRORS as error:  # of Python's library, for a value that it cannot work with
        budget.give_up(path, f"{NOT_FOLLOWED} ({type(error).__name__})")
    finally:
        known = {name: module for name, module in run.modules.items() if module.file != path}
        files.code_modules.update(known)
        budget.steps = max(budget.steps - run.steps, 0)
    if path in budget.unread:
        return PathCode(unread=budget.unread[path])
    return PathCode(
        found_folders=tuple(dict.fromkeys(reading.folders)),
        loads=tuple(dict.fromkeys(reading.loads)),
        found_calls=tuple(dict.fromkeys(reading.unread)),
        listings=tuple(dict.fromkeys(reading.listings)),
        ends=tuple(reading.ends),
        on_path=on_path,
    )


def _follow_file(reading: CodeReading, tree: ast.Module) -> int:
    """Follow the statements of a file; say how they end."""
    run = reading.run
    module = run.new_module(reading.root)
    run.modules[module.name] = module
    run.environment = type(run.environment)(module.names, module.names, reading.root)
    try:
        return run.execute(tree.body)
    except OutOfSteps:
        raise
    except (Thrown, Undecided):
        return 0


def _behind_the_end(tree: ast.Module, path: str) -> Iterator[FoundCall]:
    """Give the loads and folders of a file that raises an exception before any of them.

    It raises on a machine without other programs; pyjnius, for example, adds the folder of Java if it finds one.
    """
    for node in ast.walk(tree):
        name = called(node) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in LOADING:
            argument = node.args[0] if node.args else node.func
            yield FoundCall(path, node.lineno, name, spelled(argument), PERHAPS, False)


def code_faults(code: PathCode, root: str) -> Iterator[CodeFault]:
    """What fails, or may fail, when the file at ``root`` is imported, in the order in which that happens."""
    found = [*_of_loads(code, root), *_of_folders(code, root), *_of_ends(code, root)]
    yield from (fault for _, fault in sorted(found, key=lambda pair: pair[0]))
    for call in code.found_calls:
        if call.level == CERTAIN and not call.guarded and call.function != "add_dll_directory":
            name = f"{call.function}({call.argument})"
            yield CodeFault("unread", root, call.file, call.line, (name,), "", sure=False)


def _of_loads(code: PathCode, root: str) -> Iterator[tuple[int, CodeFault]]:
    for load in code.loads:
        cffi = load.function == "dlopen"
        error = "OSError" if cffi else "FileNotFoundError"
        if load.fails and load.level != LATER and not load.guarded:
            cause = "cffi" if cffi else "load"
            yield load.place, CodeFault(cause, root, load.file, load.line, load.targets, error, _is_sure(load))
        elif _is_out_of_order(load) and load.failure is not None:
            chain = tuple(base_name(step) for step in load.failure.chain)
            fault = CodeFault("order", root, load.file, load.line, load.targets, error, sure=True, chain=chain)
            yield load.place, fault


def _of_folders(code: PathCode, root: str) -> Iterator[tuple[int, CodeFault]]:
    for cause, folders in (("folder", code.found_folders), ("listing", code.listings)):
        for one in folders:
            if one.absent and one.level == CERTAIN and not one.guarded:
                fault = CodeFault(cause, root, one.file, one.line, (one.folder,), "FileNotFoundError", sure=True)
                yield one.place, fault


def _of_ends(code: PathCode, root: str) -> Iterator[tuple[int, CodeFault]]:
    for end in code.ends:
        if end.outside and end.level != CERTAIN:
            continue  # most packages that look for optional DLLs of others have some check that may raise
        sure = end.level == CERTAIN and not end.outside
        fault = CodeFault("raise", root, end.file, end.line, end.looked_for, end.kind, sure)
        yield end.place, replace(fault, chain=end.chain, text=end.text)


def _is_out_of_order(load: FoundLoad) -> bool:
    """Whether a file that is there is loaded for certain, where a DLL that it imports is not found."""
    failure = load.failure
    if failure is None or failure.code != MOD_NOT_FOUND or len(failure.chain) < 2:
        return False
    return load.level == CERTAIN and not load.guarded


def _is_sure(load: FoundLoad) -> bool:
    """Whether a load that finds no file fails everywhere: one that looks along PATH may find what users installed.

    Code that looked for a DLL of its own package first was not made to rely on that.
    """
    return load.level == CERTAIN and (load.bundled or not load.standard_search)
