"""The state of code that is followed: what every name stands for, and what was found on the way."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codevalue import ANYTHING, Scope, united
from wheelfix.loader.codereader.nofiles import NoFiles
from wheelfix.pycode.budget import ALL_STEPS
from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from wheelfix.loader.codereader.codevalue import Atom, Class, Function, FunctionNode, Value
    from wheelfix.loader.loadcall import Failure
    from wheelfix.pycode.budget import CodeBudget

CERTAIN, MAYBE, LATER = 2, 1, 0
"""Whether importing the file does something: for certain, if a condition holds, or only once it is called."""


class Raised(Exception):
    """The code that is followed raises an exception of some kind."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class FoundLoad:
    """A DLL that code loads."""

    targets: tuple[str, ...]
    """The paths in the view, patterns or bare names that it may be; only one of them is loaded."""
    complete: bool
    """Whether it is one of them for certain."""
    file: str
    line: int
    function: str
    level: int
    guarded: bool
    """Whether the code catches its failure and goes on without."""
    fails: bool = False
    """Whether there is no such file for certain, and nothing catches that."""
    standard_search: bool = False
    """Searched for as programs do by default, which means along PATH: cffi, ``winmode=0``."""
    bundled: bool = False
    """Whether the code has also looked for a DLL of its own package that is not there."""
    flags: int | None = None
    """The flags that it is made with, where they are known and a full path is loaded."""
    along: tuple[str, ...] = ()
    """The folders of the package that are on PATH at that point, for a load that looks there."""
    failure: Failure | None = None
    """Why a file that is there cannot be loaded at that point, where nothing catches that."""
    place: int = field(default=0, compare=False)
    """Goes up with every step of the code: what has a smaller one happens before."""


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A folder that code gives to ``os.add_dll_directory``."""

    folder: str
    file: str
    line: int
    level: int
    guarded: bool
    absent: bool = False
    """Whether there is no such folder for certain, which is an error of its own."""
    place: int = field(default=0, compare=False)
    """Goes up with every step of the code: what has a smaller one happens before."""


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A load or a folder whose argument could not be read."""

    file: str
    line: int
    function: str
    argument: str
    level: int
    guarded: bool


@dataclass(frozen=True, slots=True)
class FoundEnd:
    """A ``raise`` that nothing catches, after the code has looked for DLLs that are not there."""

    kind: str
    file: str
    line: int
    level: int
    looked_for: tuple[str, ...]
    """Those DLLs of the package, as paths of the view; bare names for those that were looked for along PATH."""
    outside: bool = False
    """Whether all of them were looked for along PATH, and the package has no file of such a name."""
    place: int = field(default=0, compare=False)
    """Goes up with every step of the code: what has a smaller one happens before."""
    chain: tuple[str, ...] = ()
    """For one file that is there: the way from it to the DLL that is not found, as base names."""
    text: str = ""
    """The first line of what the exception says, with ``…`` for what is not known; empty if nothing of it is."""


class Store:
    """What names stand for; branches write into a layer of their own until they are merged."""

    def __init__(self) -> None:
        self._layers: list[dict[tuple[Scope, str], Value]] = [{}]

    def get(self, scope: Scope, name: str) -> Value | None:
        """What a name of one scope stands for; None if it has no such name."""
        key = (scope, name)
        for layer in reversed(self._layers):
            if key in layer:
                return layer[key]
        return None

    def set(self, scope: Scope, name: str, value: Value) -> None:
        """Let a name stand for something."""
        self._layers[-1][scope, name] = value

    def push(self) -> None:
        """Begin a branch."""
        self._layers.append({})

    def pop(self) -> dict[tuple[Scope, str], Value]:
        """End a branch; return what it changed."""
        return self._layers.pop()

    def merge(self, branches: list[dict[tuple[Scope, str], Value]]) -> None:
        """Go on after branches of which one was taken: a name stands for what it stands for in any of them."""
        keys = dict.fromkeys(key for branch in branches for key in branch)
        for key in keys:
            before = self.get(*key)
            values = [branch.get(key, before) for branch in branches]
            first = values[0]
            if first is not None and len(first) == 1 and all(value is first for value in values):
                self._layers[-1][key] = first
                continue
            self._layers[-1][key] = united(value if value is not None else ANYTHING for value in values)

    def names_of(self, scope: Scope) -> dict[str, Value]:
        """Every name of a scope."""
        found: dict[str, Value] = {}
        for layer in self._layers:
            found.update({name: value for (owner, name), value in layer.items() if owner is scope})
        return found


class CodeState(abc.ABC):
    """What is known at one point of code that is followed; how it is followed is in the derived classes."""

    def __init__(self, path: str, budget: CodeBudget, files: NoFiles | None = None) -> None:
        self.budget = budget
        self.files: NoFiles = files or NoFiles()
        self.store = Store()
        self.scope = Scope(path)
        self.level = CERTAIN
        self.guards = 0
        """How many statements around the current one catch a failed load and go on."""
        self.muted = 0
        self.tries: list[ast.Try] = []
        self.active: list[FunctionNode] = []
        self.returned: list[Value] = []
        self.yielded: list[Value] = []
        self.yielded_maybe = False
        """Whether a generator gives some of its items only if a condition holds."""
        self.raised = self.handling = ""
        self.defined: dict[FunctionNode, Function] = {}
        self.methods: dict[FunctionNode, Class] = {}
        self.called: set[FunctionNode] = set()
        self.vain: dict[FunctionNode, int] = {}
        """Steps spent on functions in which nothing was found that concerns DLLs."""
        self.modules: dict[str, Scope] = {path: self.scope}
        self.loads: list[FoundLoad] = []
        self.folders: list[FoundFolder] = []
        self.unread: list[FoundCall] = []
        self.ends: list[FoundEnd] = []
        self.looked_for: dict[str, tuple[str, ...]] = {}
        """DLLs that were looked for and not found; for one that is there, the way from it to the missing one."""
        self.unsure_calls = 0
        """How many loads were made of which it is not known that they succeed."""
        self.listings: list[FoundFolder] = []
        """Folders whose files the code lists although they are not there."""
        self.variables = Scope("")
        """The environment variables that the code has set."""
        self.process = self.files.process(path)
        self.foreign = False
        """Whether modules were imported that are not in the view, and may have loaded DLLs."""
        self.imported_files: dict[str, None] = {}
        """The files of the modules that the code has imported, in their order."""

    def relies_on_others(self) -> bool:
        """Whether modules of other distributions were imported, which may have loaded DLLs."""
        return self.foreign or any(map(self.files.acts_on_dlls, self.imported_files))

    @property
    def place(self) -> int:
        """How far the code has been followed."""
        return ALL_STEPS - self.budget.steps

    @abc.abstractmethod
    def value(self, node: ast.expr) -> Value:
        """What an expression gives."""

    @abc.abstractmethod
    def look_up(self, name: str) -> Value:
        """What a name stands for."""

    @abc.abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None:
        """Give a value to whatever stands on the left of ``=``."""

    @abc.abstractmethod
    def attribute(self, atom: Atom, name: str) -> Value:
        """What an attribute of a thing is."""

    @abc.abstractmethod
    def catch_up(self) -> None:
        """Follow what other files of the package have done to the process by now."""

    @abc.abstractmethod
    def imported(self, name: str) -> Value:
        """What ``import name`` gives."""

    @abc.abstractmethod
    def run(self, statements: Sequence[ast.stmt]) -> int:
        """Follow statements in order; say how they may end."""

    @abc.abstractmethod
    def call_function(self, function: Function, args: list[Value], keywords: dict[str, Value]) -> Value:
        """Call a function of the package."""
