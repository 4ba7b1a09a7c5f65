"""Recorded loads: what dlltracer, loader snaps, Process Monitor, Wine and others saw a real loader do.

Each tool has a reader, which sees the lines of a text that hold one of its words.
"""

from __future__ import annotations

import csv
import re
import struct
from collections import deque
from typing import IO, TYPE_CHECKING, Any

from wheelfix.base.parsing import parse_json, regex
from wheelfix.base.values import replace
from wheelfix.diagnosis.symptoms.model import (
    RecordedLoad,
    Recording,
    TextLimits,
    base_name,
    distinct,
    in_windows_folder,
    win32_code,
)
from wheelfix.diagnosis.symptoms.stream import Text, TextProgress, blocks, sniff_encoding
from wheelfix.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LOADS = 20_000
"""Loads kept of one recording; a process with more is cut there, and the recording says so."""
MAX_SEARCHED = 40
"""Folders kept of one search."""


class _RecordingReader:
    """Collects the loads that one tool recorded."""

    tool = ""
    markers: tuple[str, ...] = ()
    """Words of which one is in every line that the reader has to see."""

    def __init__(self) -> None:
        self.loaded: dict[str, RecordedLoad] = {}
        self.failed: list[RecordedLoad] = []
        self.released: dict[str, RecordedLoad] = {}
        self.ends_in_release = False
        self.stopped = ""

    def feed(self, number: int, line: str) -> None:
        """Take one line in."""
        raise NotImplementedError

    def is_full(self) -> bool:
        if len(self.loaded) + len(self.failed) + len(self.released) >= MAX_LOADS:
            self.stopped = f"more than {MAX_LOADS} loads"
        return bool(self.stopped)

    def load(self, number: int, path: str) -> None:
        self.loaded.setdefault(path.lower(), RecordedLoad(base_name(path), path, line=number))
        self.ends_in_release = False

    def result(self) -> Recording | None:
        """Return the recording; None when no line was one of the tool's."""
        if not self.loaded and not self.failed and not self.released:
            return None
        # released in reverse order: the one that was asked for is the first that was mapped
        released = tuple(sorted(self.released.values(), key=lambda load: load.line))
        loaded, failed = tuple(self.loaded.values()), distinct(self.failed)
        return Recording(self.tool, loaded, failed, released, (), self.ends_in_release, self.stopped)


# ------------------------------------------------------------------------------------------------- dlltracer, debuggers

_LOADER = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"
"""The provider of image events: operation 10 loads, 2 releases."""
_FILE = r"(?P<path>(?:\\Device\\|\\\\|[A-Za-z]:\\)[^<>\"|?*\r\n]{1,500})"
_TRACED_LINE = regex(rf"\s*(?P<what>LoadLibrary|Loaded|Failed)\s+{_FILE}\s*")
_TRACED_EVENTS = (
    re.compile(rf"<(?P<what>LoadLibraryFailed|LoadLibrary)\({_FILE}\)>"),
    re.compile(rf"dlltracer\.(?P<what>load|failed)\W{{1,4}}{_FILE}"),
)
_DEBUG = regex(rf"{_LOADER}: (?P<operation>10|2)\s*$")
_DEBUG_PATH = regex(r"Path   = .{0,200}?(?P<path>\\Device\\[^<>\"|?*\r\n]{1,500})")
_DEVICE = regex(r"\\Device\\HarddiskVolume\d{1,4}\\", re.IGNORECASE)


class _DlltracerReader(_RecordingReader):
    """Reads what dlltracer writes, in each of its forms.

    ``out=``: lines ``LoadLibrary PATH`` and ``Failed PATH``. ``collect=True``: a list of event objects, which prints as
    ``<LoadLibrary(PATH)>``. ``audit=True``: the events ``dlltracer.load`` and ``dlltracer.failed``. ``debug=True``: the
    raw events of Windows, four lines each. It writes no JSON and no ETL file.

    ``Failed`` means that a mapped module was released again. A missing DLL is never mapped, so it has no line at all:
    the modules that were released with it are what such a recording says. Windows' own components are released in
    normal work as well and say nothing.
    """

    tool = "dlltracer"
    markers = ("LoadLibrary", "Loaded \\", "Failed \\", "Failed C:", "dlltracer.", _LOADER, "Path   = ")
    _operation = ""

    def feed(self, number: int, line: str) -> None:
        whole, begun = _TRACED_LINE.fullmatch(line), _DEBUG.search(line)
        if whole:
            self._note(number, whole["what"], whole["path"])
        elif "<LoadLibrary" in line or "dlltracer." in line:
            for found in (found for pattern in _TRACED_EVENTS for found in pattern.finditer(line)):
                self._note(number, found["what"], found["path"])
        elif begun:
            self._operation = begun["operation"]
        elif self._operation and line.startswith("Path   = "):
            path = _DEBUG_PATH.match(line)
            if path:
                self._note(number, "load" if self._operation == "10" else "failed", path["path"])
            self._operation = ""

    def _note(self, number: int, what: str, path: str) -> None:
        if self.is_full():
            return
        # ``\Device\HarddiskVolume3\x`` becomes ``\x``
        path = _DEVICE.sub(r"\\", path.rstrip(" '\",)"), count=1)
        load = RecordedLoad(base_name(path), path, line=number)
        # Device paths and drive letters of one file differ; what follows the first folder does not.
        key = "\\".join(path.lower().split("\\")[-3:])
        if what.lower() in ("loadlibrary", "loaded", "load"):
            self.loaded[key] = load
            self.ends_in_release = False
        elif not in_windows_folder(path):
            self.released[str(len(self.released))] = self.loaded.pop(key, load)
            self.ends_in_release = True


_DEBUGGER_LOADED = regex(
    r"(?:ModLoad|Module loaded): [0-9a-fA-F`]{8,17} [0-9a-fA-F`]{8,17} {1,4}(?P<path>[^\r\n\"]{3,400}?\.\w{2,4})(?: |$)"
    r"|\(Win32\): Loaded '(?P<quoted>[^'\r\n]{3,400})'"
)
_DEBUGGER_RELEASED = regex(
    r"Module unloaded: [0-9a-fA-F`]{8,17} [0-9a-fA-F`]{8,17} {1,4}(?P<path>[^\r\n\"]{3,400}?\.\w{2,4})(?: |$)"
    r"|\(Win32\): Unloaded '(?P<quoted>[^'\r\n]{3,400})'"
    r"|Unload module (?P<named>[^\r\n\"]{3,400}?\.\w{2,4}) at "
)


class _DebuggerReader(_RecordingReader):
    """Reads what debuggers print about modules: WinDbg's ``ModLoad``, and the output window of Visual Studio.

    A debugger reports what was mapped and released, as dlltracer does; a DLL that was not found leaves no line.
    """

    tool = "debugger"
    markers = ("ModLoad: ", "Module loaded: ", "Module unloaded: ", "Unload module ", "(Win32): ")

    def feed(self, number: int, line: str) -> None:
        released = _DEBUGGER_RELEASED.search(line)
        found = released or _DEBUGGER_LOADED.search(line)
        if found is None or self.is_full():
            return
        path = next(value for value in found.groupdict().values() if value).strip()
        load = self.loaded.pop(path.lower(), None) if released else None
        if load is not None:
            self.released.setdefault(path.lower(), load)
            self.ends_in_release = True
        elif not released:
            self.released.pop(path.lower(), None)
            self.load(number, path)


# --------------------------------------------------------------------------------------------------------- loader snaps

_SNAP_LINE = regex(r"(?P<thread>[0-9a-fA-F]{1,8}:[0-9a-fA-F]{1,8}) @ \w{1,20} - (?P<function>\w{1,60}) - (?P<text>.*)")
_UNABLE = regex(
    r'Unable to load DLL: "(?P<name>[^"]{1,500})", Parent Module: "(?P<parent>[^"]{0,500})", '
    r"Status: 0x(?P<status>[0-9a-fA-F]{8})"
)
_EXPORT = regex(
    r'Locating export "(?P<symbol>[^"]{1,2000})" for DLL "(?P<parent>[^"]{1,500})" '
    r"failed with status: 0x(?P<status>[0-9a-fA-F]{8})"
)
_INIT_FAILED = regex(
    r'Init routine \S{1,40} for DLL "(?P<name>[^"]{1,500})" failed during DLL_PROCESS_ATTACH', re.IGNORECASE
)
_NAMED = regex(r"ENTER: DLL name: (?P<path>[^\r\n]{1,500})")
_STATUS = regex(r"RETURN: Status: 0x(?P<status>[0-9a-fA-F]{8})")
_ENTRIES = frozenset({"LdrLoadDll", "LdrpLoadDll", "LdrpLoadDllInternal"})


class _SnapsReader(_RecordingReader):
    """Reads what Windows' own loader prints to a debugger after ``gflags /i python.exe +sls``.

    The lines are ``process:thread @ time - function - KIND: text``, whatever program wrote them down. They are followed
    thread by thread: several work on one load.
    """

    tool = "loader snaps"
    markers = (" - Ldr", " - _Ldr")

    def __init__(self) -> None:
        super().__init__()
        self._tops: dict[str, str] = {}
        self._entered: dict[tuple[str, str], str] = {}
        """The path that each thread gave to each function that it is in."""
        self._searched: dict[str, RecordedLoad] = {}
        """Names that were looked for, with the folders, at the last line that did."""
        self._lines = 0

    def feed(self, number: int, line: str) -> None:
        at = line.find(" @ ")
        found = _SNAP_LINE.match(line, max(line.rfind(" ", 0, at) + 1, 0)) if at > 0 else None
        if not found:
            return
        self._lines += 1
        if self.is_full():
            return
        thread, function, text = found["thread"], found["function"], found["text"]
        if "ERROR" in text or "WARNING" in text:
            self._fault(number, thread, text)
        elif text.startswith("ENTER"):
            named = _NAMED.match(text)
            if named and function in _ENTRIES:
                # The process names a request once; calls within that load come from the same thread before it returns.
                self._tops.setdefault(thread, named["path"].strip())
            elif named:
                self._entered[thread, function] = named["path"].strip()
        elif text.startswith("RETURN"):
            self._leave(number, thread, function, text)

    def _leave(self, number: int, thread: str, function: str, text: str) -> None:
        status = _STATUS.match(text)
        failed = bool(status and int(status["status"], 16))
        if function == "LdrLoadDll":
            self._tops.pop(thread, None)
        elif function == "LdrpResolveDllName":
            path = self._entered.pop((thread, function), "")
            name = base_name(path)
            if status and not failed:
                self._searched.pop(name.lower(), None)
            if failed and path:
                before = self._searched.get(name.lower(), RecordedLoad(name, "", 126))
                places = (*before.searched, path.rpartition("\\")[0])[:MAX_SEARCHED]
                self._searched[name.lower()] = replace(before, searched=places, line=number)
        elif function == "LdrpMinimalMapModule" and not failed:
            path = self._entered.pop((thread, function), "")
            if path:
                self.load(number, path)

    def _fault(self, number: int, thread: str, text: str) -> None:
        # The load that was asked for: of this thread, else of the only one that waits for one.
        waiting = set(self._tops.values())
        top = self._tops.get(thread, "") or (waiting.pop() if len(waiting) == 1 else "")
        if unable := _UNABLE.search(text):
            name, parent = unable["name"], "" if unable["parent"] == "(null)" else unable["parent"]
            code, path = win32_code(int(unable["status"], 16)), name if "\\" in name else ""
            probed = self._searched.get(base_name(name).lower())
            places = probed.searched if probed else ()
            self.failed.append(RecordedLoad(base_name(name), path, code, parent, top, "", places, number))
        elif (export := _EXPORT.search(text)) and "ERROR" in text:
            code = win32_code(int(export["status"], 16))
            parent = export["parent"]
            self.failed.append(RecordedLoad(base_name(parent), parent, code, "", top, export["symbol"], line=number))
        elif not export and (broken := _INIT_FAILED.search(text)):
            path = broken["name"]
            self.failed.append(RecordedLoad(base_name(path), path, 1114, "", top, line=number))

    def result(self) -> Recording | None:
        if not self._lines:
            return None
        if not self.failed:
            # The last name that was looked for in folder after folder, where the record was cut before it says so.
            loaded = {load.key for load in self.loaded.values()}
            self.failed = [load for name, load in self._searched.items() if name not in loaded][-1:]
        return super().result() or Recording(self.tool, stopped=self.stopped)


# ------------------------------------------------------------------------------------------------------ Process Monitor

_OPENS = frozenset({"CreateFile", "QueryOpen", "QueryNetworkOpenInformationFile", "Load Image"})
_ABSENT = frozenset({"NAME NOT FOUND", "PATH NOT FOUND", "NO SUCH FILE"})
_HEADINGS = ("Operation", "Path", "Result")
PML_MAGIC = b"PML_"
_MAX_EVENTS = 5_000_000


class _ProcmonReader(_RecordingReader):
    """Reads rows of Process Monitor's CSV export, or rows copied out of its window with tabs between the columns.

    It watches files, not the loader: who needs a DLL is not in it. What it shows are DLLs that were looked for in
    several folders and found in none.
    """

    tool = "Process Monitor"
    markers = ("CreateFile", "Load Image", "QueryOpen", "Operation")

    def __init__(self) -> None:
        super().__init__()
        self._columns: dict[str, int] | None = None
        self._found: set[tuple[str, str]] = set()
        self._absent: dict[tuple[str, str], tuple[int, list[str]]] = {}
        self._rows = 0

    def feed(self, number: int, line: str) -> None:
        is_heading = all(heading in line for heading in _HEADINGS)
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
        if len(self.loaded) + len(self._absent) >= MAX_LOADS:
            self.stopped = f"more than {MAX_LOADS} files"
            return
        self._rows += 1
        key = (process, name.lower())
        result = result.strip().upper()
        if operation == "Load Image" and result == "SUCCESS":
            self.load(number, path)
        if result == "SUCCESS":
            self._found.add(key)
        elif result in _ABSENT:
            _, places = self._absent.setdefault(key, (number, []))
            folder = path.rpartition("\\")[0]
            if folder not in places and len(places) < MAX_SEARCHED:
                places.append(folder)

    def result(self) -> Recording | None:
        if not self._rows:
            return None
        failed = [
            RecordedLoad(name, code=126, searched=tuple(places), line=number)
            for (process, name), (number, places) in self._absent.items()
            if (process, name) not in self._found and _was_searched(name, places)
        ]
        return Recording(self.tool, tuple(self.loaded.values()), tuple(failed), stopped=self.stopped)


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


def read_pml(file: IO[bytes], source: str) -> Recording | None:
    """Return the loads of a PML file, Process Monitor's own; None when no process looked for a DLL in it."""
    try:
        from procmon_parser import ProcmonLogsReader
    except ImportError as error:
        raise MissingExtra(
            f"{source}, a PML file of Process Monitor, cannot be read",
            "procmon-parser",
            extra="procmon",
            hint="; or save it as CSV in Process Monitor (File, Save, CSV)",
        ) from error
    reader = _ProcmonReader()
    words = {0: "SUCCESS", 0xC0000034: "NAME NOT FOUND", 0xC000003A: "PATH NOT FOUND", 0xC000000F: "NO SUCH FILE"}
    try:
        for number, event in enumerate(ProcmonLogsReader(file), start=1):
            if number > _MAX_EVENTS:
                break
            operation = str(getattr(event.operation, "name", event.operation)).replace("_", " ")
            result = words.get(event.result & 0xFFFFFFFF, "")
            reader.note(number, str(event.process.pid), operation, str(event.path), result)
    except Exception as error:  # the parser reports damage with whatever its struct readers raise
        raise InputError(
            source,
            because=f"it cannot be read as a PML file: {error}",
            hint="save it as CSV in Process Monitor (File, Save, CSV)",
        ) from error
    return reader.result()


# ----------------------------------------------------------------------------------------------------------------- Wine

_NEEDED = regex(
    r"(?:Loading l|L)ibrary (?P<name>\S[^()\r\n]{0,300}?) \(which is needed by L\"(?P<parent>[^\"\r\n]{1,500})\"\) "
    r"(?:not found|failed \(error (?P<status>[0-9a-fA-F]{1,8})\))"
)
_SYMBOL = regex(
    r"No implementation for (?P<name>[^\s:]{1,300}?\.(?:dll|DLL|pyd))\.(?P<symbol>\S{1,2000}) "
    r"imported from L\"(?P<parent>[^\"\r\n]{1,500})\""
)
_OWN = regex(
    r"wine: (?:could not|failed to) load (?:L\")?(?P<name>[^\"\s,]{1,300}\.(?:dll|exe|so))\"?,? "
    r"(?:status|error) (?P<status>[0-9a-fA-F]{8})"
)
_WINE_LOADED = regex(r"Loaded L\"(?P<path>[^\"\r\n]{1,500})\" at (?:0x)?[0-9a-fA-F]+: (?:native|builtin)")


class _WineReader(_RecordingReader):
    """Reads Wine's ``err:module`` about what it could not load, and with ``WINEDEBUG=+loaddll`` what it loaded."""

    tool = "Wine"
    markers = ("module:", ":loaddll:", "No implementation for ", "wine: could not load ", "wine: failed to load ")

    def feed(self, number: int, line: str) -> None:
        if self.is_full():
            return
        line = line.replace("\\\\", "\\")
        if ":loaddll:" in line:
            if loaded := _WINE_LOADED.search(line):
                self.load(number, loaded["path"])
        elif "which is needed by" in line:
            if found := _NEEDED.search(line):
                code = win32_code(int(found["status"], 16)) if found["status"] else 126
                self.failed.append(RecordedLoad(found["name"], "", code, found["parent"], line=number))
        elif own := _OWN.search(line):
            code = win32_code(int(own["status"], 16))
            self.failed.append(RecordedLoad(base_name(own["name"]), "", code, line=number))
        elif found := _SYMBOL.search(line):
            parent, symbol = found["parent"], found["symbol"]
            self.failed.append(RecordedLoad(found["name"], "", 127, parent, parent, symbol, line=number))

    def result(self) -> Recording | None:
        """Return the recording without what follows from it.

        Wine reports a missing DLL first and then everyone above it as not found; those follow from the first.
        """
        causes: list[RecordedLoad] = []
        broken: set[str] = set()
        for load in self.failed:
            if load.code != 126 or load.key not in broken:
                causes.append(load)
            broken.add(base_name(load.needed_by).lower())
        needed_by = {base_name(one.name).lower(): one.needed_by for one in self.failed if one.code == 126}
        self.failed = [_with_top(load, needed_by) for load in distinct(causes)]
        return super().result()


def _with_top(load: RecordedLoad, needed_by: dict[str, str]) -> RecordedLoad:
    """Follow the lines upwards to the module whose load was asked for."""
    top, seen = load.needed_by, {load.key}
    while (name := base_name(top).lower()) in needed_by and name not in seen:
        seen.add(name)
        top = needed_by[name]
    return replace(load, top=top)


# ------------------------------------------------------------------------------------------ listings of what files need

_NOT_FOUND = (0xFF, "NOT_FOUND")
"""Dependencies' ``ModuleSearchStrategy.NOT_FOUND``, as in its JSON and as in its text."""
_MAX_JSON = 64 << 20
_MODULE = regex(r"[\s>|*-]{0,40}\[(?P<how>[A-Za-z0-9_]{2,30})\] (?P<name>[^\s:\\]{1,260}) :(?P<path>[^\r\n]{0,500})")
_CHAIN = regex(r"(?P<bars>(?:\| {2}){0,200})├ (?P<name>[^\s(]{1,260}) \((?P<how>\w{2,30})\) :(?P<path>[^\r\n]{0,500})")
_DLL = regex(r"[^\s\\/:]{1,255}\.[A-Za-z]{2,4}")
_STRATEGIES = frozenset(
    "ROOT SxS ApiSetSchema WellKnownDlls ApplicationDirectory System32Folder WindowsFolder WorkingDirectory "
    "Environment AppInitDLL AppInitDll Fullpath ClrAssembly UserDefined NOT_FOUND".split()
)


class _DependenciesReader(_RecordingReader):
    """Reads ``Dependencies.exe -modules`` and ``-chain``, and its JSON. No process was watched for them."""

    tool = "Dependencies"
    markers = ("] ", "├ ")

    def __init__(self) -> None:
        super().__init__()
        self._above: list[str] = []
        self._first = ""

    def feed(self, number: int, line: str) -> None:
        found = _CHAIN.match(line) if "├" in line else _MODULE.match(line)
        if not found or found["how"] not in _STRATEGIES:
            return
        name, parent = base_name(found["name"]), ""
        if "bars" in found.groupdict():
            depth = len(found["bars"]) // 3
            self._above[depth:] = [name]
            parent = self._above[depth - 1] if depth and len(self._above) >= depth else ""
        top = self._above[0] if self._above else self._first
        self._note(number, name, found["path"].strip(), found["how"], parent, top)

    def _note(self, number: int, name: str, path: str, how: object, parent: str, top: str = "") -> None:
        if self.is_full():
            return
        if how in _NOT_FOUND:
            self.failed.append(RecordedLoad(name, "", 126, parent, top, line=number))
        else:
            self._first = self._first or name
            load = RecordedLoad(name, path, needed_by=parent, line=number)
            self.loaded.setdefault(f"{load.key} {parent.lower()}", load)

    def read_json(self, text: str) -> Recording | None:
        """Return what a JSON document of Dependencies says; None when the text is something else."""
        try:
            tree = parse_json(text)
        except ValueError:
            return None
        for parent, item in _modules(tree):
            if "SearchStrategy" in item:
                name, path = base_name(item["ModuleName"]), str(item.get("Filepath") or "")
                self._note(1, name, path, item["SearchStrategy"], parent)
        return self.result()


def _modules(tree: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every module of the document with the one that imports it, without recursion."""
    pending: list[tuple[str, object]] = [("", tree)]
    while pending:
        parent, value = pending.pop()
        if isinstance(value, dict):
            name = value.get("ModuleName")
            if isinstance(name, str):
                yield parent, value
                parent = base_name(name)
            value = list(value.values())
        if isinstance(value, list):
            pending += [(parent, one) for one in reversed(value) if isinstance(one, (dict, list))]


class _DumpbinReader(_RecordingReader):
    """Reads ``dumpbin /dependents`` and the DLL names of ``dumpbin /imports``, which say only what is imported."""

    tool = "dumpbin"
    markers = ("Dump of file", ".dll", ".DLL", "dependencies:", "Summary")
    _file = ""
    _listing = False

    def feed(self, number: int, line: str) -> None:
        text = line.strip()
        if text.startswith("Dump of file "):
            self._file, self._listing = text.removeprefix("Dump of file ").strip(), False
        elif self._file and text.endswith("dependencies:"):
            # Delay-loaded DLLs have a list of their own; without them the file loads.
            self._listing = "delay load" not in text
        elif self._file and text == "Summary":
            self._listing = False
        elif self._listing and _DLL.fullmatch(text) and not self.is_full():
            self.failed.append(RecordedLoad(text, needed_by=self._file, line=number))

    def result(self) -> Recording | None:
        return Recording(self.tool, imports=distinct(self.failed)) if self.failed else None


# -------------------------------------------------------------------------------------------------------------- reading

_LONGEST = 8192
"""Characters of a line that are looked at; no tool writes longer ones about a load."""
_READERS: tuple[type[_RecordingReader], ...] = (
    _DlltracerReader,
    _SnapsReader,
    _ProcmonReader,
    _WineReader,
    _DebuggerReader,
    _DependenciesReader,
    _DumpbinReader,
)


def read_recordings(text: Text, limits: TextLimits | None = None) -> tuple[Recording, ...]:
    """Return the recordings in a text of any size, in bytes of any common encoding, or in an open file."""
    readers = [reader() for reader in _READERS]
    document: list[str] | None = []
    number, carry = 1, ""
    for block in blocks(text, limits or TextLimits(), TextProgress()):
        if document is not None:
            # A text that may be one JSON document is kept, until it is too long.
            fits = document or block.lstrip("\ufeff \t\r\n").startswith("{")
            document = [*document, block] if fits and sum(map(len, document)) + len(block) <= _MAX_JSON else None
        whole = carry + block
        end = whole.rfind("\n") + 1 if block else len(whole)
        lines, carry = whole[:end], whole[end:][-_LONGEST:]
        wanted = [reader for reader in readers if any(marker in lines for marker in reader.markers)]
        for offset, line in enumerate(lines.split("\n")) if wanted else ():
            line = line[:_LONGEST].rstrip("\r")
            for reader in wanted:
                if any(marker in line for marker in reader.markers):
                    reader.feed(number + offset, line)
        number += lines.count("\n")
    found = _DependenciesReader().read_json("".join(document)) if document else None
    if found is not None:
        return (found,)
    results = (reader.result() for reader in readers)
    return tuple(result for result in results if result is not None)


# ------------------------------------------------------------------------------------------- files that Windows writes

_EVTX_MAGIC, _DUMP_MAGIC = b"ElfFile\x00", b"MDMP"
_NOTHING = "There is no crash and no refused load in it.\n"
_KEPT = 20
"""Records of an event log that are used at most, the last ones."""
_MOST_MODULES = 4096
_CRASH = ("AppName", "AppVersion", "", "ModuleName", "ModuleVersion", "", "ExceptionCode", *[""] * 3, "", "ModulePath")
"""What the values of event 1000 are where they have no names."""


def windows_report(file: IO[bytes], source: str) -> str | None:
    """Return what an event log, a Report.wer or a minidump says, in the words of the event viewer; None for others."""
    head = file.read(512)
    file.seek(0)
    if head.startswith(_EVTX_MAGIC):
        return _event_log(file, source)
    if head.startswith(_DUMP_MAGIC):
        return _minidump(file, source)
    text = head.decode(sniff_encoding(head), "replace")
    if "EventType=" in text and text.lstrip("\ufeff").startswith("Version="):
        return _error_report(file.read(_MAX_REPORT))
    return None


_MAX_REPORT = 1 << 22


def _crash_lines(module: str, version: str, code: str, path: str) -> str:
    """The lines of the event viewer about a crash."""
    lines = [f"Faulting module name: {module}, version: {version or '0.0.0.0'}"]
    lines += [f"Exception code: 0x{code.lower().removeprefix('0x')}"] if code else []
    return "\n".join([*lines, *([f"Faulting module path: {path}"] if path else [])]) + "\n"


def _event_log(file: IO[bytes], source: str) -> str:
    try:
        from evtx import PyEvtxParser
    except ImportError as error:
        raise InputError(
            source,
            because="it is an event log of Windows, and the package evtx is not installed",
            hint='python -m pip install "wheelfix[events]"; or save it as text in the event viewer (Save As)',
        ) from error
    told: deque[str] = deque(maxlen=_KEPT)
    try:
        for record in PyEvtxParser(file).records_json():
            event = parse_json(record["data"]) if record else {}
            told.extend(filter(None, [_event(event.get("Event") or {})]))
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(source, because=f"it cannot be read as an event log: {error}") from error
    return "".join(told) or _NOTHING


def _event(event: dict[str, Any]) -> str:
    """Return what one event says about a load or a crash, or nothing."""
    system, data = event.get("System") or {}, event.get("EventData") or {}
    number = system.get("EventID")
    number = number.get("#text") if isinstance(number, dict) else number
    provider = ((system.get("Provider") or {}).get("#attributes") or {}).get("Name", "")
    values = data.get("Data") if isinstance(data, dict) else None
    listed = values.get("#text") if isinstance(values, dict) else values
    if isinstance(listed, list):
        data = {name: value for name, value in zip(_CRASH, listed, strict=False) if name}
    fields = {str(name): str(value) for name, value in data.items()} if isinstance(data, dict) else {}
    if provider == "Application Error" and str(number) == "1000":
        names = ("ModuleName", "ModuleVersion", "ExceptionCode", "ModulePath")
        return _crash_lines(*(fields.get(name, "") for name in names)) if fields.get("ModuleName") else ""
    # 3076 is written where a policy only watches, and the file was loaded.
    if provider.endswith("CodeIntegrity") and str(number) in ("3033", "3077"):
        path, process = fields.get("File Name", ""), fields.get("Process Name", "")
        return (
            f"Code Integrity determined that a process ({process}) attempted to load {path} that did not meet the "
            "signing level requirements or violated code integrity policy.\n"
        )
    return ""


def _error_report(data: bytes) -> str:
    """Return what a Report.wer says; its values have names of their own on lines before them."""
    text = data.decode(sniff_encoding(data), "replace").lstrip("\ufeff")
    rows = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    names = {value: rows.get(key.replace(".Name", ".Value"), "") for key, value in rows.items() if ".Name" in key}
    module = names.get("Fault Module Name", "")
    loaded = (value for key, value in rows.items() if key.startswith("LoadedModule["))
    path = next((one for one in loaded if base_name(one).lower() == module.lower()), "")
    if not module:
        return _NOTHING
    return _crash_lines(module, names.get("Fault Module Version", ""), names.get("Exception Code", ""), path)


def _minidump(file: IO[bytes], source: str) -> str:
    """Return in which module a minidump says that the process crashed.

    The layout is that of minidumpapiset.h: a directory of streams, of which 4 has the modules and 6 the exception.
    """

    def take(form: str, place: int) -> tuple[int, ...]:
        file.seek(place)
        return struct.unpack(form, file.read(struct.calcsize(form)))

    try:
        count, directory = take("<II", 8)
        found = (take("<III", directory + 12 * one) for one in range(min(count, 256)))
        streams = {kind: start for kind, _, start in found}
        if 4 not in streams or 6 not in streams:
            return _NOTHING
        (code,), (address,) = take("<I", streams[6] + 8), take("<Q", streams[6] + 24)
        modules = min(take("<I", streams[4])[0], _MOST_MODULES)
        for start in (streams[4] + 4 + 108 * one for one in range(modules)):
            base, size = take("<QI", start)
            if base <= address < base + size:
                (name,), (high, low) = take("<I", start + 20), take("<II", start + 32)
                length = min(take("<I", name)[0], 2 * 32767)
                path = file.read(length).decode("utf-16-le", "replace")
                version = f"{high >> 16}.{high & 0xFFFF}.{low >> 16}.{low & 0xFFFF}"
                return _crash_lines(base_name(path), version, f"{code:08x}", path)
    except struct.error as error:
        raise InputError(source, because="it cannot be read as a minidump: it ends too early") from error
    return f"Exception code: 0x{code:08x}\n"


_HOW_TO_RECORD = """\
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
    """Return the commands that record the loads of a failing import on Windows."""
    return _HOW_TO_RECORD.format(module=module)
