"""Loader snaps: what Windows' own loader prints to a debugger after ``gflags /i python.exe +sls``.

The lines are ``process:thread @ time - function - KIND: text``, whatever program wrote them down.
"""

from __future__ import annotations

import re

from wheelfix.diagnosis.symptoms.recordings.model import (
    MAX_LOADS,
    MAX_SEARCHED,
    RecordedLoad,
    Recording,
    base_name,
    distinct,
    win32_code,
)

_LINE = re.compile(r"(?P<thread>[0-9a-fA-F]{1,8}:[0-9a-fA-F]{1,8}) @ \w{1,20} - (?P<function>\w{1,60}) - (?P<text>.*)")
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
        found = _LINE.match(line, max(line.rfind(" ", 0, at) + 1, 0)) if at > 0 else None
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
