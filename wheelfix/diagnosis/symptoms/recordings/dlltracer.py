"""Reads what dlltracer writes, in each of its forms.

``out=``: lines ``LoadLibrary PATH`` and ``Failed PATH``. ``collect=True``: a list of event objects, which prints as
``<LoadLibrary(PATH)>``. ``audit=True``: the events ``dlltracer.load`` and ``dlltracer.failed``. ``debug=True``: the raw
events of Windows, four lines each. It writes no JSON and no ETL file.

``Failed`` means that a mapped module was released again. A missing DLL is never mapped, so it has no line at all: the
modules that were released with it are what such a recording says. Windows' own components are released in normal
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

_LOADER = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"
"""The provider of image events: operation 10 loads, 2 releases."""
MARKERS = ("LoadLibrary", "Loaded \\", "Failed \\", "Failed C:", "dlltracer.", _LOADER, "Path   = ")
_FILE = r"(?P<path>(?:\\Device\\|\\\\|[A-Za-z]:\\)[^<>\"|?*\r\n]{1,500})"
_LINE = re.compile(rf"\s*(?P<what>LoadLibrary|Loaded|Failed)\s+{_FILE}\s*")
_EVENT = re.compile(rf"<(?P<what>LoadLibraryFailed|LoadLibrary)\({_FILE}\)>")
_AUDIT = re.compile(rf"dlltracer\.(?P<what>load|failed)\W{{1,4}}{_FILE}")
_DEBUG = re.compile(rf"{_LOADER}: (?P<operation>10|2)\s*$")
_DEBUG_PATH = re.compile(r"Path   = .{0,200}?(?P<path>\\Device\\[^<>\"|?*\r\n]{1,500})")
_DEVICE = re.compile(r"\\Device\\HarddiskVolume\d{1,4}\\", re.IGNORECASE)


class DlltracerReader:
    """Collects the loads of a dlltracer recording."""

    markers: tuple[str, ...] = MARKERS

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._loaded: dict[str, RecordedLoad] = {}
        self._released: list[RecordedLoad] = []
        self._stopped = ""
        self._ends_in_release = False
        self._operation = ""

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        whole = _LINE.fullmatch(line)
        if whole:
            self._note(number, whole["what"].lower(), _plain_path(whole["path"]))
        elif "<LoadLibrary" in line or "dlltracer." in line:
            for pattern in (_EVENT, _AUDIT):
                for found in pattern.finditer(line):
                    self._note(number, found["what"].lower(), _plain_path(found["path"]))
        else:
            self._debug(number, line)

    def _debug(self, number: int, line: str) -> None:
        """Read the raw form: a line with the operation, and two lines later one with the path."""
        begun = _DEBUG.search(line)
        if begun:
            self._operation = begun["operation"]
        elif self._operation and line.startswith("Path   = "):
            found = _DEBUG_PATH.match(line)
            if found:
                self._note(number, "load" if self._operation == "10" else "failed", _plain_path(found["path"]))
            self._operation = ""

    def _note(self, number: int, what: str, path: str) -> None:
        if len(self._loaded) + len(self._released) >= MAX_LOADS:
            self._stopped = f"more than {MAX_LOADS} loads"
            return
        load = RecordedLoad(base_name(path), path, line=number)
        # Device paths and drive letters of one file differ; what follows the first folder does not.
        key = "\\".join(path.lower().split("\\")[-3:])
        if what in ("loadlibrary", "loaded", "load"):
            self._loaded[key] = load
            self._ends_in_release = False
        elif not in_windows_folder(path):
            first = self._loaded.pop(key, load)
            self._released.append(first)
            self._ends_in_release = True

    def result(self) -> Recording | None:
        """Return the recording; None when no line was one of dlltracer's."""
        if not self._loaded and not self._released:
            return None
        released = sorted(self._released, key=lambda load: load.line)
        return Recording(
            "dlltracer",
            tuple(self._loaded.values()),
            released=tuple(released),
            ends_in_release=self._ends_in_release,
            stopped=self._stopped,
        )


def _plain_path(path: str) -> str:
    """Return a path without its volume: ``\\Device\\HarddiskVolume3\\x`` becomes ``\\x``."""
    path = path.rstrip(" '\",)")
    return _DEVICE.sub(r"\\", path, count=1)
