"""dlltracer's lines: ``LoadLibrary PATH`` and ``Failed PATH``, also as its event objects and audit events print them.

``Failed`` means that a mapped module was released again. A missing DLL is never mapped, so it has no line at all: the
modules that were released with it are what such a recording tells. Windows' own components are released in normal
work as well and say nothing.
"""

from __future__ import annotations

import re

from wheelfix.diagnosis.symptoms.recordings.model import (
    MAX_LOADS,
    RecordedLoad,
    Recording,
    base_name,
    in_windows_folder,
)

MARKERS = ("LoadLibrary", "Failed \\", "Failed C:", "dlltracer.")
_FILE = r"(?P<path>(?:\\Device\\|\\\\|[A-Za-z]:\\)[^<>\"|?*\r\n]{1,500})"
_LINE = re.compile(rf"\s*(?P<what>LoadLibrary|Failed)\s+{_FILE}\s*")
_EVENT = re.compile(rf"<(?P<what>LoadLibraryFailed|LoadLibrary)\({_FILE}\)>")
_AUDIT = re.compile(rf"dlltracer\.(?P<what>load|failed)\W{{1,4}}{_FILE}")
_DEVICE = re.compile(r"\\Device\\HarddiskVolume\d{1,4}\\", re.IGNORECASE)


class DlltracerReader:
    """Collects the loads of a dlltracer recording."""

    markers: tuple[str, ...] = MARKERS

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._loaded: dict[str, RecordedLoad] = {}
        self._released: list[RecordedLoad] = []
        self._stopped = ""

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        for pattern, search in ((_LINE, _LINE.fullmatch), (_EVENT, _EVENT.search), (_AUDIT, _AUDIT.search)):
            if pattern is not _LINE and "<LoadLibrary" not in line and "dlltracer." not in line:
                return
            found = search(line)
            if found:
                self._note(number, found["what"].lower(), _plain_path(found["path"]))
                return

    def _note(self, number: int, what: str, path: str) -> None:
        if len(self._loaded) + len(self._released) >= MAX_LOADS:
            self._stopped = f"more than {MAX_LOADS} loads"
            return
        load = RecordedLoad(base_name(path), path, line=number)
        # Device paths and drive letters of one file differ; what follows the first folder does not.
        key = "\\".join(path.lower().split("\\")[-3:])
        if what in ("loadlibrary", "load"):
            self._loaded[key] = load
        elif not in_windows_folder(path):
            first = self._loaded.pop(key, load)
            self._released.append(first)

    def result(self) -> Recording | None:
        """Return the recording; None when no line was one of dlltracer's."""
        if not self._loaded and not self._released:
            return None
        released = sorted(self._released, key=lambda load: load.line)
        return Recording("dlltracer", tuple(self._loaded.values()), released=tuple(released), stopped=self._stopped)


def _plain_path(path: str) -> str:
    """Return a path without its volume: ``\\Device\\HarddiskVolume3\\x`` becomes ``\\x``."""
    path = path.rstrip(" '\",)")
    return _DEVICE.sub(r"\\", path, count=1)
