"""What a tool recorded about loads, free of the form in which it printed it."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LOADS = 20_000
"""Loads kept of one recording; a process with more is cut there, and the recording says so."""
MAX_SEARCHED = 40
"""Folders kept of one search."""

_WIN32 = {
    0xC0000135: 126,  # STATUS_DLL_NOT_FOUND
    0xC0000034: 126,  # STATUS_OBJECT_NAME_NOT_FOUND
    0xC000003A: 126,  # STATUS_OBJECT_PATH_NOT_FOUND
    0xC0000139: 127,  # STATUS_ENTRYPOINT_NOT_FOUND
    0xC0000138: 182,  # STATUS_ORDINAL_NOT_FOUND
    0xC000007B: 193,  # STATUS_INVALID_IMAGE_FORMAT
    0xC000012F: 193,  # STATUS_INVALID_IMAGE_NOT_MZ
    0xC0000131: 193,  # STATUS_INVALID_IMAGE_WIN_16
    0xC0000359: 193,  # STATUS_INVALID_IMAGE_WIN_64
    0xC0000142: 1114,  # STATUS_DLL_INIT_FAILED
    0xC0000005: 998,  # STATUS_ACCESS_VIOLATION
    0xC0000022: 5,  # STATUS_ACCESS_DENIED
    0xC000012D: 1455,  # STATUS_COMMITMENT_LIMIT
    0xC0000428: 577,  # STATUS_INVALID_IMAGE_HASH
}
"""NTSTATUS to the code that LoadLibrary sets, as RtlNtStatusToDosError maps it."""


def win32_code(status: int) -> int:
    """Return the Windows error code of an NTSTATUS, or the status itself where no code is known."""
    return _WIN32.get(status, status)


@dataclass(frozen=True, slots=True)
class RecordedLoad:
    """One DLL that a process loaded, or tried to."""

    name: str
    """The base name as recorded."""
    path: str = ""
    """The whole path, where the tool knows it."""
    code: int = 0
    """0 when it was loaded, else the Windows error code; 126 for a DLL that no searched folder has."""
    needed_by: str = ""
    """The module that imports it, where the tool knows it."""
    top: str = ""
    """The file whose load was asked for when this one failed."""
    symbol: str = ""
    """The function that was not found, for 127."""
    searched: tuple[str, ...] = ()
    """The folders that were searched."""
    line: int = 0

    @property
    def key(self) -> str:
        """The name as names are compared."""
        return dll_key(self.name)


@dataclass(frozen=True, slots=True)
class Recording:
    """The loads of one recording, in order."""

    tool: str
    """Who made it: ``dlltracer``, ``loader snaps``, ``Process Monitor``, ``Wine``, ``debugger``, ``Dependencies``,
    ``dumpbin``."""
    loaded: tuple[RecordedLoad, ...] = ()
    failed: tuple[RecordedLoad, ...] = ()
    """Loads that failed, in the order in which they failed."""
    released: tuple[RecordedLoad, ...] = ()
    """Modules that were mapped and released again because something they need failed; dlltracer says no more."""
    imports: tuple[RecordedLoad, ...] = ()
    """What a listing says that a file imports, without a word on where it comes from."""
    ends_in_release: bool = False
    """Whether nothing follows the last release, so that more modules may have been released after the record ends."""
    stopped: str = ""
    """Why reading stopped before the end; empty when it did not."""

    @property
    def static(self) -> bool:
        """Whether a tool looked at files instead of watching a process."""
        return self.tool in ("Dependencies", "dumpbin")


def base_name(path: str) -> str:
    """Return the last part of a Windows path."""
    return PureWindowsPath(path).name or path


def in_windows_folder(path: str) -> bool:
    """Whether a path lies below the Windows folder, with a drive letter, a device name or Wine's drive."""
    parts = [part.lower() for part in PureWindowsPath(path).parts]
    places = [part for part in parts if part.strip("\\") and not part.endswith(":\\")]
    if places[:1] == ["device"]:
        places = places[2:]
    return places[:1] == ["windows"]


def distinct(loads: Iterable[RecordedLoad]) -> tuple[RecordedLoad, ...]:
    """Return each load once: the same file that fails for the same reason several times counts once."""
    kept: dict[tuple[str, str, int, str], RecordedLoad] = {}
    for load in loads:
        kept.setdefault((load.key, load.needed_by.lower(), load.code, load.symbol), load)
    return tuple(kept.values())
