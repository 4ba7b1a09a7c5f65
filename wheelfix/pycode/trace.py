"""What code does that matters to DLLs, as it was read: loads, folders, exceptions, and calls that could not be read.

Each has its place, its certainty, and whether the code goes on without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field

if TYPE_CHECKING:
    from wheelfix.loader.loadcall import Failure

LOADING = frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "load_library", "dlopen", "add_dll_directory"}
    | {"LoadLibraryA", "LoadLibraryW", "LoadLibraryEx", "LoadLibraryExA", "LoadLibraryExW"}
)
"""Functions of ctypes, NumPy, pywin32, cffi and os that load DLLs or add a folder to the search, by their last name."""
CERTAIN, PERHAPS, LATER = 2, 1, 0
"""Whether importing the file does something: for certain, if a condition holds, or only once it is called."""


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


@dataclass(frozen=True, slots=True)
class Unclear:
    """A statement of a followed import that was passed over, because what it does is not known."""

    reason: str
    file: str = ""
    """The file that it is in; empty where anything may have happened."""
    line: int = 0
    last: int = 0
    """The last line of the statement."""
    imports: bool = False
    """Whether it imports a module."""


@dataclass(frozen=True, slots=True)
class ForeignImport:
    """An import of a module of another distribution."""

    file: str
    """The file that imports it."""
    caught: bool
    """Whether the code goes on where there is no such module."""
    there: bool = True
    """False for one that is known not to be installed."""
