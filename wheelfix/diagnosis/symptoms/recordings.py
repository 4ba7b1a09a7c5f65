"""Recorded loads: what dlltracer, loader snaps, Process Monitor, Wine and others saw a real loader do."""

from __future__ import annotations

import csv
import re
from typing import IO, TYPE_CHECKING, Any, Protocol

from wheelfix.diagnosis.symptoms.model import (
    MAX_LOADS,
    MAX_SEARCHED,
    RecordedLoad,
    Recording,
    TextLimits,
    base_name,
    distinct,
    in_windows_folder,
    win32_code,
)
from wheelfix.diagnosis.symptoms.stream import Text, TextProgress, blocks
from wheelfix.errors import InputError
from wheelfix.parsing import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator


# ----------------------------------------------------------------------------------------------------------- dlltracer


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


# ----------------------------------------------------------------------------------------------------------- debuggers


_DEBUGGER_LOADED = re.compile(
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
        loaded = _DEBUGGER_LOADED.search(line)
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


# -------------------------------------------------------------------------------------------------------- loader snaps


_SNAP_LINE = re.compile(
    r"(?P<thread>[0-9a-fA-F]{1,8}:[0-9a-fA-F]{1,8}) @ \w{1,20} - (?P<function>\w{1,60}) - (?P<text>.*)"
)
_UNABLE = re.compile(
    r'Unable to load DLL: "(?P<name>[^"]{1,500})", Parent Module: "(?P<parent>[^"]{0,500})", '
    r"Status: 0x(?P<status>[0-9a-fA-F]{8})"
)
_EXPORT = re.compile(
    r'Locating export "(?P<symbol>[^"]{1,2000})" for DLL "(?P<parent>[^"]{1,500})" '
    r"failed with status: 0x(?P<status>[0-9a-fA-F]{8})"
)
_INIT_FAILED = re.compile(
    r'Init routine \S{1,40} for DLL "(?P<name>[^"]{1,500})" failed during DLL_PROCESS_ATTACH', re.IGNORECASE
)
_NAMED = re.compile(r"ENTER: DLL name: (?P<path>[^\r\n]{1,500})")
_STATUS = re.compile(r"RETURN: Status: 0x(?P<status>[0-9a-fA-F]{8})")
_OLD_ATTACH = re.compile(r'LDR: DLL_PROCESS_ATTACH for dll "(?P<path>[^"\r\n]{1,500})"')
_OLD_UNLOAD = re.compile(r"LDR: Unloading (?P<path>\S{1,500}) because either its init routine")
_ENTRIES = frozenset({"LdrLoadDll", "LdrpLoadDll", "LdrpLoadDllInternal"})


class SnapsReader:
    """Collects what the loader said, thread by thread: several work on one load."""

    markers: tuple[str, ...] = (" - Ldr", " - _Ldr", "LDR: DLL_PROCESS_ATTACH", "LDR: Unloading")

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._loaded: dict[str, RecordedLoad] = {}
        self._failed: list[RecordedLoad] = []
        self._tops: dict[str, str] = {}
        self._probing: dict[str, str] = {}
        self._searched: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        """Names that were looked for, as spelled."""
        self._last_probe: dict[str, int] = {}
        self._mapping: dict[str, str] = {}
        self._lines = 0
        self._attached = ""
        """The last DLL whose start-up routine was named, in lines of Windows before 7."""
        self._stopped = ""

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        if "LDR: " in line:
            self._old_form(number, line)
            return
        at = line.find(" @ ")
        found = _SNAP_LINE.match(line, max(line.rfind(" ", 0, at) + 1, 0)) if at > 0 else None
        if not found:
            return
        self._lines += 1
        if len(self._loaded) + len(self._failed) >= MAX_LOADS:
            self._stopped = f"more than {MAX_LOADS} loads"
            return
        thread, function, text = found["thread"], found["function"], found["text"]
        if "ERROR" in text or "WARNING" in text:
            self._fault(number, thread, function, text)
        elif text.startswith("ENTER"):
            self._enter(thread, function, text)
        elif text.startswith("RETURN"):
            self._leave(number, thread, function, text)

    def _old_form(self, number: int, line: str) -> None:
        """Take in a line of Windows before 7: a start-up routine that failed, and the DLL that is unloaded for it."""
        attached = _OLD_ATTACH.search(line)
        if attached:
            self._attached = attached["path"]
        unloaded = _OLD_UNLOAD.search(line)
        if unloaded and self._attached and base_name(unloaded["path"]) == base_name(self._attached):
            path = self._attached.removeprefix("\\\\?\\")
            self._failed.append(RecordedLoad(base_name(path), path, 1114, line=number))
            self._lines += 1

    def _enter(self, thread: str, function: str, text: str) -> None:
        named = _NAMED.match(text)
        if not named:
            return
        path = named["path"].strip()
        if function in _ENTRIES:
            # The process names a request once; calls within that load come from the same thread before it returns.
            self._tops.setdefault(thread, path)
        elif function == "LdrpResolveDllName":
            self._probing[thread] = path
        elif function == "LdrpMinimalMapModule":
            self._mapping[thread] = path

    def _leave(self, number: int, thread: str, function: str, text: str) -> None:
        status = _STATUS.match(text)
        failed = bool(status and int(status["status"], 16))
        if function == "LdrLoadDll":
            self._tops.pop(thread, None)
        elif function == "LdrpResolveDllName":
            path = self._probing.pop(thread, "")
            if status and not failed:
                self._searched.pop(base_name(path).lower(), None)
            if failed and path:
                name = base_name(path)
                places = self._searched.setdefault(name.lower(), [])
                self._names.setdefault(name.lower(), name)
                self._last_probe[name.lower()] = number
                if len(places) < MAX_SEARCHED:
                    places.append(path.rpartition("\\")[0])
        elif function == "LdrpMinimalMapModule" and not failed:
            path = self._mapping.pop(thread, "")
            if path:
                self._loaded.setdefault(path.lower(), RecordedLoad(base_name(path), path, line=number))

    def _fault(self, number: int, thread: str, function: str, text: str) -> None:
        unable = _UNABLE.search(text)
        if unable:
            self._note_unable(number, thread, unable)
            return
        export = _EXPORT.search(text)
        if export and "ERROR" in text:
            parent = export["parent"]
            code = win32_code(int(export["status"], 16))
            self._failed.append(
                RecordedLoad(
                    base_name(parent), parent, code, top=self._top(thread), symbol=export["symbol"], line=number
                )
            )
            return
        broken = _INIT_FAILED.search(text)
        if broken:
            path = broken["name"]
            self._failed.append(RecordedLoad(base_name(path), path, 1114, top=self._top(thread), line=number))

    def _note_unable(self, number: int, thread: str, unable: re.Match[str]) -> None:
        name = base_name(unable["name"])
        parent = "" if unable["parent"] in ("", "(null)") else unable["parent"]
        code = win32_code(int(unable["status"], 16))
        searched = tuple(self._searched.get(name.lower(), ()))
        path = unable["name"] if "\\" in unable["name"] else ""
        self._failed.append(RecordedLoad(name, path, code, parent, self._top(thread), searched=searched, line=number))

    def _top(self, thread: str) -> str:
        """The load that was asked for: of this thread, else of the only one that waits for one."""
        waiting = set(self._tops.values())
        return self._tops.get(thread, "") or (waiting.pop() if len(waiting) == 1 else "")

    def result(self) -> Recording | None:
        """Return the recording; None when there was no line of the loader."""
        if not self._lines:
            return None
        failed = distinct(self._failed) or self._never_found()
        return Recording("loader snaps", tuple(self._loaded.values()), failed, stopped=self._stopped)

    def _never_found(self) -> tuple[RecordedLoad, ...]:
        """The last name that was looked for in folder after folder, where the record was cut before it says so."""
        loaded = {load.key for load in self._loaded.values()}
        names = [name for name in self._searched if name not in loaded]
        return tuple(
            RecordedLoad(self._names[name], "", 126, searched=tuple(self._searched[name]), line=self._last_probe[name])
            for name in names[-1:]
        )


# ----------------------------------------------------------------------------------------------------- Process Monitor


_PROCMON_MARKERS = ("CreateFile", "Load Image", "QueryOpen", "Operation")
_OPENS = frozenset({"CreateFile", "QueryOpen", "QueryNetworkOpenInformationFile", "Load Image"})
_ABSENT = frozenset({"NAME NOT FOUND", "PATH NOT FOUND", "NO SUCH FILE"})
_HEADINGS = ("Operation", "Path", "Result")


class ProcmonReader:
    """Collects the DLLs that processes opened or looked for."""

    markers: tuple[str, ...] = _PROCMON_MARKERS

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._columns: dict[str, int] | None = None
        self._loaded: dict[str, RecordedLoad] = {}
        self._found: set[tuple[str, str]] = set()
        self._absent: dict[tuple[str, str], tuple[int, list[str]]] = {}
        self._rows = 0
        self._stopped = ""

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        is_heading = "Operation" in line and "Path" in line and "Result" in line
        if not is_heading and ".dll" not in line.lower() and ".pyd" not in line.lower():
            return
        fields = _fields(line)
        if is_heading and all(heading in fields for heading in _HEADINGS):
            self._columns = {field: index for index, field in enumerate(fields)}
            return
        row = self._row(fields)
        if row is not None:
            self.note(number, *row)

    def _row(self, fields: list[str]) -> tuple[str, str, str, str] | None:
        """Return process, operation, path and result of a row, by its headings or by the usual order."""
        if self._columns is not None and len(fields) > max(self._columns[name] for name in _HEADINGS):
            operation, path, result = (fields[self._columns[name]] for name in _HEADINGS)
            process = fields[self._columns["PID"]] if "PID" in self._columns else ""
        else:
            place = next((index for index, field in enumerate(fields) if field in _OPENS), -1)
            if place < 0 or len(fields) < place + 3:
                return None
            operation, path, result = fields[place : place + 3]
            process = fields[place - 1] if place else ""
        return (process, operation, path, result) if operation in _OPENS else None

    def note(self, number: int, process: str, operation: str, path: str, result: str) -> None:
        """Take one event in; rows of a PML file come here directly."""
        name = base_name(path)
        if not name.lower().endswith((".dll", ".pyd")):
            return
        if len(self._loaded) + len(self._absent) >= MAX_LOADS:
            self._stopped = f"more than {MAX_LOADS} files"
            return
        self._rows += 1
        key = (process, name.lower())
        result = result.strip().upper()
        if operation == "Load Image" and result == "SUCCESS":
            self._loaded.setdefault(path.lower(), RecordedLoad(name, path, line=number))
        if result == "SUCCESS":
            self._found.add(key)
        elif result in _ABSENT:
            _, places = self._absent.setdefault(key, (number, []))
            folder = path.rpartition("\\")[0]
            if folder not in places and len(places) < MAX_SEARCHED:
                places.append(folder)

    def result(self) -> Recording | None:
        """Return the recording; None when no row was one of Process Monitor's."""
        if not self._rows:
            return None
        failed = [
            RecordedLoad(name, code=126, searched=tuple(places), line=number)
            for (process, name), (number, places) in self._absent.items()
            if (process, name) not in self._found and _was_searched(name, places)
        ]
        return Recording("Process Monitor", tuple(self._loaded.values()), tuple(failed), stopped=self._stopped)


def _fields(line: str) -> list[str]:
    if "\t" in line and not line.lstrip().startswith('"'):
        return [field.strip().strip('"') for field in line.split("\t")]
    try:
        # Python 3.10 refuses a line with U+0000.
        return next(csv.reader([line.strip().lstrip("\ufeff").replace("\0", "")]), [])
    except csv.Error:
        return []


def _was_searched(name: str, places: list[str]) -> bool:
    """Whether the loader looked for it: in several folders, of which one is Windows' own.

    Python's import tries many ``.pyd`` names in each folder, and programs ask for optional files by their whole path.
    """
    return name.endswith(".dll") and len(places) > 1 and any(place.lower().endswith("\\system32") for place in places)


MAGIC = b"PML_"
_MAX_EVENTS = 5_000_000


def read_pml(file: IO[bytes], source: str) -> Recording | None:
    """Return the loads of a PML file; None when no process looked for a DLL in it."""
    try:
        from procmon_parser import ProcmonLogsReader
    except ImportError as error:
        raise InputError(
            source,
            because="it is a PML file of Process Monitor, and procmon-parser is not installed",
            hint='python -m pip install "wheelfix[procmon]"; or save it as CSV in Process Monitor (File, Save, CSV)',
        ) from error
    reader = ProcmonReader()
    try:
        for number, event in enumerate(ProcmonLogsReader(file), start=1):
            if number > _MAX_EVENTS:
                break
            operation = str(getattr(event.operation, "name", event.operation)).replace("_", " ")
            reader.note(number, str(event.process.pid), operation, str(event.path), _result(event.result))
    except Exception as error:  # the parser reports damage with whatever its struct readers raise
        raise InputError(
            source,
            because=f"it cannot be read as a PML file: {error}",
            hint="save it as CSV in Process Monitor (File, Save, CSV)",
        ) from error
    return reader.result()


def _result(status: int) -> str:
    """Process Monitor's word for the NTSTATUS of an event."""
    names = {0: "SUCCESS", 0xC0000034: "NAME NOT FOUND", 0xC000003A: "PATH NOT FOUND", 0xC000000F: "NO SUCH FILE"}
    return names.get(status & 0xFFFFFFFF, f"0x{status & 0xFFFFFFFF:08X}")


# ---------------------------------------------------------------------------------------------------------------- Wine


_NEEDED = re.compile(
    r"Library (?P<name>\S[^()\r\n]{0,300}?) \(which is needed by L\"(?P<parent>[^\"\r\n]{1,500})\"\) not found"
)
_FAILED = re.compile(
    r"Loading library (?P<name>\S[^()\r\n]{0,300}?) \(which is needed by L\"(?P<parent>[^\"\r\n]{1,500})\"\) "
    r"failed \(error (?P<status>[0-9a-fA-F]{1,8})\)"
)
_SYMBOL = re.compile(
    r"No implementation for (?P<name>[^\s:]{1,300}?\.(?:dll|DLL|pyd))\.(?P<symbol>\S{1,2000}) "
    r"imported from L\"(?P<parent>[^\"\r\n]{1,500})\""
)
_OWN = re.compile(
    r"wine: (?:could not|failed to) load (?:L\")?(?P<name>[^\"\s,]{1,300}\.(?:dll|exe|so))\"?,? "
    r"(?:status|error) (?P<status>[0-9a-fA-F]{8})"
)
_LOADED = re.compile(r"Loaded L\"(?P<path>[^\"\r\n]{1,500})\" at (?:0x)?[0-9a-fA-F]+: (?P<kind>native|builtin)")


class WineReader:
    """Collects what Wine's loader said."""

    markers: tuple[str, ...] = (
        "module:",
        ":loaddll:",
        "No implementation for ",
        "wine: could not load ",
        "wine: failed to load ",
    )

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._loaded: dict[str, RecordedLoad] = {}
        self._failed: list[RecordedLoad] = []
        self._stopped = ""

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        if len(self._loaded) + len(self._failed) >= MAX_LOADS:
            self._stopped = f"more than {MAX_LOADS} loads"
            return
        if ":loaddll:" in line:
            loaded = _LOADED.search(line)
            if loaded:
                path = _unescaped(loaded["path"])
                self._loaded.setdefault(path.lower(), RecordedLoad(base_name(path), path, line=number))
        elif "which is needed by" in line:
            self._note_library(number, line)
        elif own := _OWN.search(line):
            code = win32_code(int(own["status"], 16))
            self._failed.append(RecordedLoad(base_name(_unescaped(own["name"])), "", code, line=number))
        elif "No implementation for" in line:
            found = _SYMBOL.search(line)
            if found:
                parent = _unescaped(found["parent"])
                self._failed.append(
                    RecordedLoad(found["name"], "", 127, parent, parent, symbol=found["symbol"], line=number)
                )

    def _note_library(self, number: int, line: str) -> None:
        found = _NEEDED.search(line) or _FAILED.search(line)
        if not found:
            return
        groups = found.groupdict()
        code = win32_code(int(groups["status"], 16)) if groups.get("status") else 126
        self._failed.append(RecordedLoad(groups["name"], "", code, _unescaped(groups["parent"]), line=number))

    def result(self) -> Recording | None:
        """Return the recording; None when Wine said nothing about loads.

        Wine reports a missing DLL first and then everyone above it as not found; those follow from the first.
        """
        if not self._loaded and not self._failed:
            return None
        causes: list[RecordedLoad] = []
        broken: set[str] = set()
        for load in self._failed:
            if load.code != 126 or load.key not in broken:
                causes.append(load)
            broken.add(base_name(load.needed_by).lower())
        needed_by = {base_name(one.name).lower(): one.needed_by for one in self._failed if one.code == 126}
        chained = tuple(_with_top(load, needed_by) for load in distinct(causes))
        return Recording("Wine", tuple(self._loaded.values()), chained, stopped=self._stopped)


def _with_top(load: RecordedLoad, needed_by: dict[str, str]) -> RecordedLoad:
    """Follow the lines upwards to the module whose load was asked for."""
    top, seen = load.needed_by, {load.key}
    while (name := base_name(top).lower()) in needed_by and name not in seen:
        seen.add(name)
        top = needed_by[name]
    return RecordedLoad(load.name, load.path, load.code, load.needed_by, top, load.symbol, load.searched, load.line)


def _unescaped(text: str) -> str:
    return text.replace("\\\\", "\\")


# ----------------------------------------------------------------------------------------- listings of what files need


_NOT_FOUND_NUMBER = 0xFF
"""Dependencies' ``ModuleSearchStrategy.NOT_FOUND`` in its JSON."""
MAX_JSON = 64 << 20

_MODULE = re.compile(
    r"[\s>|*-]{0,40}\[(?P<how>[A-Za-z0-9_]{2,30})\] (?P<name>[^\s:\\]{1,260}) :(?P<path>[^\r\n]{0,500})"
)
_CHAIN = re.compile(
    r"(?P<bars>(?:\| {2}){0,200})├ (?P<name>[^\s(]{1,260}) \((?P<how>\w{2,30})\) :(?P<path>[^\r\n]{0,500})"
)
_DLL = re.compile(r"[^\s\\/:]{1,255}\.[A-Za-z]{2,4}")
_STRATEGIES = frozenset(
    "ROOT SxS ApiSetSchema WellKnownDlls ApplicationDirectory System32Folder WindowsFolder WorkingDirectory "
    "Environment AppInitDLL AppInitDll Fullpath ClrAssembly UserDefined NOT_FOUND".split()
)


class DependenciesReader:
    """Collects the lines of ``Dependencies.exe -modules`` and ``-chain``."""

    markers: tuple[str, ...] = ("] ", "├ ")

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._loaded: list[RecordedLoad] = []
        self._failed: list[RecordedLoad] = []
        self._above: list[str] = []

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        if len(self._loaded) + len(self._failed) >= MAX_LOADS:
            return
        found = _CHAIN.match(line) if "├" in line else _MODULE.match(line)
        if not found or found["how"] not in _STRATEGIES:
            return
        name, path = base_name(found["name"]), found["path"].strip()
        parent = ""
        if "bars" in found.groupdict():
            depth = len(found["bars"]) // 3
            self._above[depth:] = [name]
            parent = self._above[depth - 1] if depth and len(self._above) >= depth else ""
        self._note(RecordedLoad(name, path, needed_by=parent, line=number), found["how"])

    def _note(self, load: RecordedLoad, how: str) -> None:
        if how != "NOT_FOUND":
            self._loaded.append(load)
            return
        top = self._above[0] if self._above else next((one.name for one in self._loaded), "")
        self._failed.append(RecordedLoad(load.name, "", 126, load.needed_by, top, line=load.line))

    def result(self) -> Recording | None:
        """Return the listing; None when no line was one of Dependencies'."""
        if not self._loaded and not self._failed:
            return None
        return Recording("Dependencies", distinct(self._loaded), distinct(self._failed))


class DumpbinReader:
    """Collects ``dumpbin /dependents`` and the DLL names of ``dumpbin /imports``."""

    markers: tuple[str, ...] = ("Dump of file", ".dll", ".DLL", "dependencies:", "Summary")

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._file = ""
        self._listing = False
        self._imports: list[RecordedLoad] = []

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        text = line.strip()
        if text.startswith("Dump of file "):
            self._file, self._listing = text.removeprefix("Dump of file ").strip(), False
        elif self._file and text.endswith("dependencies:"):
            # Delay-loaded DLLs have a list of their own; without them the file loads.
            self._listing = "delay load" not in text
        elif self._file and text == "Summary":
            self._listing = False
        elif self._listing and _DLL.fullmatch(text) and len(self._imports) < MAX_LOADS:
            self._imports.append(RecordedLoad(text, needed_by=self._file, line=number))

    def result(self) -> Recording | None:
        """Return the listing; None when there was none."""
        return Recording("dumpbin", imports=distinct(self._imports)) if self._imports else None


def read_json(text: str) -> Recording | None:
    """Return what a JSON document of Dependencies says; None when the text is something else."""
    try:
        tree = parse_json(text)
    except ValueError:
        return None
    loaded, failed = [], []
    for parent, item in _items(tree):
        name = base_name(str(item["ModuleName"]))
        path = str(item.get("Filepath") or "")
        if item.get("SearchStrategy") in (_NOT_FOUND_NUMBER, "NOT_FOUND"):
            failed.append(RecordedLoad(name, "", 126, parent, line=1))
        elif "SearchStrategy" in item:
            loaded.append(RecordedLoad(name, path, needed_by=parent, line=1))
        if len(loaded) + len(failed) >= MAX_LOADS:
            break
    if not loaded and not failed:
        return None
    return Recording("Dependencies", distinct(loaded), distinct(failed))


def _items(tree: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every module of the document with the one that imports it, without recursion."""
    pending: list[tuple[str, object]] = [("", tree)]
    while pending:
        parent, value = pending.pop()
        if isinstance(value, dict):
            name = value.get("ModuleName")
            if isinstance(name, str):
                yield parent, value
                parent = base_name(name)
            pending += [(parent, one) for one in reversed(list(value.values())) if isinstance(one, (dict, list))]
        elif isinstance(value, list):
            pending += [(parent, one) for one in reversed(value) if isinstance(one, (dict, list))]


_LONGEST = 8192
"""Characters of a line that are looked at; no tool writes longer ones about a load."""


class _RecordingReader(Protocol):
    markers: tuple[str, ...]

    def feed(self, number: int, line: str) -> None: ...

    def result(self) -> Recording | None: ...


def read_recordings(text: Text, limits: TextLimits | None = None) -> tuple[Recording, ...]:
    """Return the recordings in a text, in bytes of any common encoding, or in an open file."""
    readers: list[_RecordingReader] = [
        DlltracerReader(),
        SnapsReader(),
        ProcmonReader(),
        WineReader(),
        DebuggerReader(),
        DependenciesReader(),
        DumpbinReader(),
    ]
    document: list[str] | None = []
    number, carry = 1, ""
    for block in blocks(text, limits or TextLimits(), TextProgress()):
        document = _kept(document, block)
        whole = carry + block
        end = whole.rfind("\n") + 1 if block else len(whole)
        lines, carry = whole[:end], whole[end:][-_LONGEST:]
        wanted = [reader for reader in readers if any(marker in lines for marker in reader.markers)]
        if wanted:
            _feed(wanted, number, lines)
        number += lines.count("\n")
    if document:
        found = read_json("".join(document))
        if found is not None:
            return (found,)
    results = (reader.result() for reader in readers)
    return tuple(result for result in results if result is not None)


def _feed(readers: list[_RecordingReader], number: int, text: str) -> None:
    for offset, line in enumerate(text.split("\n")):
        line = line[:_LONGEST].rstrip("\r")
        for reader in readers:
            if any(marker in line for marker in reader.markers):
                reader.feed(number + offset, line)


def _kept(document: list[str] | None, block: str) -> list[str] | None:
    """Keep a text that may be one JSON document; None once it is not, or is too long."""
    if document is None:
        return None
    if not document and not block.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    document.append(block)
    return document if sum(map(len, document)) <= MAX_JSON else None


_TEXT = """\
Each of these records what Windows' loader really does while "import {module}" fails. Any one is enough; the first
needs least, the second names the missing DLL itself.

1. dlltracer (a console run as administrator)

   python -m pip install dlltracer
   python -c "import sys, dlltracer; exec('with dlltracer.Trace(out=sys.stdout): import {module}')" > loads.txt 2>&1

2. Loader snaps (Debugging Tools for Windows: gflags.exe and cdb.exe; a console run as administrator)

   gflags /i python.exe +sls
   cdb -G -g -o -logo loads.txt python -c "import {module}"
   gflags /i python.exe -sls

3. Process Monitor (procmon64.exe; a console run as administrator)

   procmon64 /AcceptEula /Quiet /Minimized /BackingFile loads.pml
   python -c "import {module}"
   procmon64 /Terminate
   procmon64 /OpenLog loads.pml /SaveAs loads.csv

Then, with the environment that was recorded:

   wheelfix diagnose loads.txt --env PREFIX
"""


def how_to_record(module: str) -> str:
    """Return the commands, for one module."""
    return _TEXT.format(module=module)
