"""What the loader model found out: who meets each need, how each load ends, and what Python code does about DLLs."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from wheelfix.model.folding import Symbol


@dataclass(frozen=True, slots=True)
class InView:
    """A file of the wheel, environment or plan under examination."""

    path: str


@dataclass(frozen=True, slots=True)
class System:
    """A DLL or API set of Windows itself."""

    name: str


@dataclass(frozen=True, slots=True)
class PythonRuntime:
    """A DLL that CPython brings: ``python311.dll``, ``vcruntime140.dll``, ``libffi-8.dll``, …"""

    name: str


@dataclass(frozen=True, slots=True)
class Driver:
    """A DLL that a device driver installs."""

    name: str


@dataclass(frozen=True, slots=True)
class VcRedist:
    """A DLL of the Visual C++ runtime, assumed on the target by the profile."""

    name: str


@dataclass(frozen=True, slots=True)
class Assumed:
    """A DLL that the profile says is there: ``--assume cuda=11.7``, ``--assume conda``."""

    name: str
    by: str


@dataclass(frozen=True, slots=True)
class OwnedBy:
    """A DLL that another distribution provides, which the wheel requires or its code imports."""

    name: str
    distribution: str
    reachable: bool
    """Whether its folder is on the search path, or the DLL already loaded, when the load happens."""
    because: str
    """Why it is or is not reachable."""
    specifier: str = ""
    """The versions that are asked for, as Requires-Dist has them; empty for any."""
    via: tuple[str, ...] = ()
    """The distributions through which it is required, the nearest to the wheel first."""
    versions: tuple[str, ...] = ()
    """Versions that fit the specifier and are known to have the DLL, from old to new."""
    only: str = ""
    """The builds of the distribution that have it, when those on PyPI do not."""

    @property
    def requirement(self) -> str:
        """The distribution with its specifier: ``mkl (<=2021.4.0,>=2021.1.1)``."""
        return f"{self.distribution} ({self.specifier})" if self.specifier else self.distribution


@dataclass(frozen=True, slots=True)
class MayComeFrom:
    """A DLL that another distribution may provide; whether it does is not known."""

    name: str
    distributions: tuple[str, ...]
    """Those that may, the likeliest first."""
    because: str
    """Why it is not known."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A DLL without a provider."""

    searched: tuple[str, ...] = ()
    """The folders and other places that were searched, in order."""
    present_at: tuple[str, ...] = ()
    """Files of that name which are in the view, but where the loader does not look."""
    required: tuple[str, ...] = ()
    """Why distributions that are required do not provide it, one sentence for each."""
    absent: tuple[str, ...] = ()
    """Distributions that have it, or may have it, and are required, but not installed."""
    optional: tuple[str, ...] = ()
    """Distributions that have it, but that only an extra asks for, and that are not installed."""
    deleted: str = ""
    """The path in RECORD of a file of that name which the wheel does not have."""


Provider: TypeAlias = "InView | System | PythonRuntime | Driver | VcRedist | Assumed | OwnedBy | MayComeFrom | Missing"


class EdgeKind(str, enum.Enum):
    """How one image asks for another."""

    IMPORT = "import"
    DELAY = "delay"
    COMPANION = "companion"
    FORWARDER = "forwarder"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Edge:
    """One image's need for another, and who meets it."""

    importer: str
    """Path in the view."""
    name: str
    """The DLL as spelled by the importer or the companion table."""
    kind: EdgeKind
    provider: Provider
    required: bool = True
    """False for optional companions and for delay loads that no family needs in practice."""
    strength: str = ""
    """For companions: ``required``, ``expected`` or ``optional``, as the table has it."""
    because: str = ""
    """For companions: what happens without it."""
    source: str = ""
    """For companions: where the table has it from."""
    unexported: tuple[Symbol, ...] = ()
    """Imported symbols that the provider, a file of the view, does not export."""


@dataclass(frozen=True, slots=True)
class LoadEvent:
    """A load that the package performs by itself: torch's glob, an extension module, a DLL named in its code."""

    path: str
    cause: str
    """``torch-glob``, ``extension``, ``code`` or ``cffi``; ``folder`` for one that code adds, ``listing`` for one whose
    files it lists, ``raise`` for code that gives up because it cannot have a DLL, ``module`` for a file that Python
    does not take for the module."""
    module: str = ""
    """For an extension: the dotted module name; for ``raise`` the class of the exception."""
    guarded: bool = False
    """The code catches the failure of this load wherever it performs it, and goes on without."""
    text: str = ""
    """For ``raise``: what the exception says, as far as that is known. For an extension: the line that the package
    raises instead of the ImportError that it has caught."""

    @property
    def package(self) -> str:
        """The package whose import performs it with code that is modelled as a whole, as ``torch``; else empty."""
        return self.cause.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Alone:
    """How a module fails when it is imported by its own name, before anything else of its package."""

    code: int
    chain: tuple[str, ...]
    """From the module to the true cause, as base names."""
    sure: bool
    """Whether the package's own code is known to import first what the module needs; False if that is not known."""
    after: str = ""
    """The other top-level package of the wheel that has to be imported first, where that helps."""


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """What the loader answers to one event."""

    event: LoadEvent
    code: int = 0
    """0, or the Windows error code."""
    chain: tuple[str, ...] = ()
    """From the file named in the event to the true cause, as base names."""
    detail: str = ""
    """The symbol that is missing, the machine that does not fit, …"""
    alone: Alone | None = None
    """For a load that succeeds only after other imports of the package: how it fails without them."""


@dataclass(frozen=True, slots=True)
class CodeFolder:
    """A folder that Python code gives to ``os.add_dll_directory``, whether or not anything is in it."""

    folder: str
    """Relative to the prefix, as paths of a view are: ``Library/bin``, ``Lib/site-packages/vtk.libs``."""
    file: str
    """The Python file, as a path of the view."""
    line: int


@dataclass(frozen=True, slots=True)
class UnreadCall:
    """A call in Python code that loads a DLL or adds a folder, but which one could not be read."""

    file: str
    """The Python file, as a path of the view."""
    line: int
    function: str
    """``add_dll_directory``, ``CDLL``, ``dlopen``, …"""
    argument: str
    """As the code spells it, shortened."""
    at_import: bool = True
    """Whether importing its file gets to it, or may do so; False for functions that are only called later."""
    reached: bool = False
    """Whether importing the package runs that file, or may do so."""
    guarded: bool = False
    """Whether the code catches its failure and goes on without."""


@dataclass(frozen=True, slots=True)
class CodeFault:
    """Something in Python code that fails, or may fail, when its file is imported."""

    cause: str
    """``load``, ``cffi`` or ``folder`` for what is not there, ``listing`` for a folder whose files are listed,
    ``order`` for a load that does not find a DLL of the package at that point, ``raise`` for code that gives up after
    it looked for DLLs, ``end`` for any other exception, ``unread`` for a load that could not be read."""
    root: str
    """The Python file whose import fails, as a path of the view."""
    file: str
    """The Python file that has the call, which may be one that the other calls."""
    line: int
    names: tuple[str, ...]
    """The DLLs or the folder, as paths of the view or bare names; for ``unread`` the call as it is spelled."""
    error: str
    """The class of the exception."""
    sure: bool
    """Whether it fails for certain on a machine on which nothing else is installed."""
    reached: bool = False
    """Whether importing the package runs that file for certain, and catches no failure of it."""
    chain: tuple[str, ...] = ()
    """For a file that is there: the way from it to the DLL that is not found, as base names."""
    text: str = ""
    """For ``raise`` and ``end``: the first line of what the exception says, with ``…`` for what is not known."""


@dataclass(frozen=True, slots=True)
class AbsentModule:
    """A module of another distribution that is imported for certain, and is not installed."""

    module: str
    distribution: str
    """The required distribution that has it."""
    requirement: str
    """With its specifier."""
    file: str
    """The file that imports it, as a path of the view."""
    sure: bool = True
    """False where it is only known that an extension module has its name in its data."""
    specifier: str = ""
    """The versions that are allowed; empty for any."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Everything the loader model found out about one view."""

    edges: tuple[Edge, ...] = ()
    outcomes: tuple[LoadOutcome, ...] = ()
    reached: frozenset[str] = frozenset()
    """Files that some event loads, directly or through imports and companions; not those of guarded loads that fail."""
    search_dirs: tuple[str, ...] = ()
    """Folders that the package adds to the DLL search before each of its extension modules is loaded, in order."""
    code_folders: tuple[CodeFolder, ...] = ()
    """Every folder that the package's Python code names, also those in which this view has no file."""
    unread_calls: tuple[UnreadCall, ...] = ()
    """Loads and folders that could not be read, in the package's Python code and in that of others which it imports."""
    absent_modules: tuple[AbsentModule, ...] = ()
    """Modules without which importing the package raises ``ModuleNotFoundError``."""
    code_faults: tuple[CodeFault, ...] = ()
    """What fails, or may fail, in the package's Python code itself."""

    @property
    def first_failure(self) -> LoadOutcome | None:
        """The first event that fails and that no code catches, which is the one the user sees."""
        return next((outcome for outcome in self.outcomes if outcome.code and not outcome.event.guarded), None)
