"""What code does that matters to DLLs, as it was read: loads, folders, and statements that could not be followed.

Each has its place, and whether the code goes on without it.
"""

from __future__ import annotations

from wheelfix.base.values import dataclass

OF_WINDOWS = frozenset({"LoadLibraryExW", "LoadLibraryExA", "LoadLibraryW", "LoadLibraryA"})
"""Functions of kernel32: they return 0 instead of raising an exception."""
LOADING = OF_WINDOWS | frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "LoadLibraryEx", "load_library", "dlopen", "add_dll_directory"}
)
"""Functions of ctypes, NumPy, pywin32, cffi and os that load DLLs or add a folder to the search, by their last name."""


@dataclass(frozen=True, slots=True)
class FoundLoad:
    """A DLL that code loads."""

    targets: tuple[str, ...]
    """The paths in the view, patterns or bare names that it may be; only one of them is loaded."""
    file: str
    line: int
    function: str
    at_import: bool
    """Whether importing the file does this, or may do it; False for what only calls of users do."""
    guarded: bool
    """Whether the code catches its failure and goes on without."""
    flags: int | None = None
    """The flags that it is made with, where they are known and a full path is loaded."""
    along: tuple[str, ...] = ()
    """The folders of the package that are on PATH at that point, for a load that looks there."""


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A folder that code gives to ``os.add_dll_directory``."""

    folder: str
    file: str
    line: int
    at_import: bool
    guarded: bool


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
    matters: bool = True
    """Whether what is loaded behind it may depend on it: it imports a module, or others in its file load DLLs."""
    inside: bool = False
    """Whether a statement in it imports a module."""


@dataclass(frozen=True, slots=True)
class ForeignImport:
    """An import of a module of another distribution."""

    file: str
    """The file that imports it."""
    caught: bool
    """Whether the code goes on where there is no such module."""
    there: bool = True
    """False for one that is known not to be installed."""
