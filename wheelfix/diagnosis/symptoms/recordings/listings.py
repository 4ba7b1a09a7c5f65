"""Listings of what files need: Dependencies (text and JSON) and ``dumpbin /dependents``.

No process was watched for them. Dependencies says what it did not find; dumpbin says only what is imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.parsing import parse_json
from wheelfix.diagnosis.symptoms.recordings.model import MAX_LOADS, RecordedLoad, Recording, base_name, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

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
