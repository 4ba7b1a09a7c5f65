"""What debuggers print about modules: WinDbg's ``ModLoad``, and the output window of Visual Studio.

A debugger reports what was mapped and released, as dlltracer does; a DLL that was not found leaves no line.
"""

from __future__ import annotations

import re

from wheelfix.diagnosis.symptoms.recordings.model import MAX_LOADS, RecordedLoad, Recording, base_name

_LOADED = re.compile(
    r"(?:ModLoad|Module loaded): [0-9a-fA-F`]{8,17} [0-9a-fA-F`]{8,17} {1,4}(?P<path>[^\r\n\"]{3,400}?\.\w{2,4})(?: |$)"
    r"|\(Win32\): Loaded '(?P<quoted>[^'\r\n]{3,400})'"
)
_RELEASED = re.compile(
    r"Module unloaded: [0-9a-fA-F`]{8,17} [0-9a-fA-F`]{8,17} {1,4}(?P<path>[^\r\n\"]{3,400}?\.\w{2,4})(?: |$)"
    r"|\(Win32\): Unloaded '(?P<quoted>[^'\r\n]{3,400})'"
    r"|Unload module (?P<named>[^\r\n\"]{3,400}?\.\w{2,4}) at "
)


class DebuggerReader:
    """Collects the modules that a debugger saw come and go."""

    markers: tuple[str, ...] = ("ModLoad: ", "Module loaded: ", "Module unloaded: ", "Unload module ", "(Win32): ")

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._loaded: dict[str, RecordedLoad] = {}
        self._released: dict[str, RecordedLoad] = {}
        self._stopped = ""
        self._ends_in_release = False

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        if len(self._loaded) + len(self._released) >= MAX_LOADS:
            self._stopped = f"more than {MAX_LOADS} loads"
            return
        released = _RELEASED.search(line)
        if released:
            key = _path(released).lower()
            load = self._loaded.pop(key, None)
            if load is not None:
                self._released.setdefault(key, load)
                self._ends_in_release = True
            return
        loaded = _LOADED.search(line)
        if loaded:
            path = _path(loaded)
            self._ends_in_release = False
            self._released.pop(path.lower(), None)
            self._loaded.setdefault(path.lower(), RecordedLoad(base_name(path), path, line=number))

    def result(self) -> Recording | None:
        """Return the recording; None when no line was a debugger's."""
        if not self._loaded and not self._released:
            return None
        # released in reverse order: the one that was asked for is the first that was mapped
        released = sorted(self._released.values(), key=lambda load: load.line)
        return Recording(
            "debugger",
            tuple(self._loaded.values()),
            released=tuple(released),
            ends_in_release=self._ends_in_release,
            stopped=self._stopped,
        )


def _path(found: re.Match[str]) -> str:
    return next(value for value in found.groupdict().values() if value).strip()
