"""Wine's lines: ``err:module`` about what it could not load, with ``WINEDEBUG=+loaddll`` also about what it loaded."""

from __future__ import annotations

import re

from wheelfix.diagnosis.symptoms.recordings.model import (
    MAX_LOADS,
    RecordedLoad,
    Recording,
    base_name,
    distinct,
    win32_code,
)

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
