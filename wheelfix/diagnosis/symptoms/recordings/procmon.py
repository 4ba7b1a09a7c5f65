"""Process Monitor: rows of its CSV export, or rows copied out of its window with tabs between the columns.

It watches files, not the loader: who needs a DLL is not in it. What it shows are DLLs that were looked for in several
folders and found in none.
"""

from __future__ import annotations

import csv

from wheelfix.diagnosis.symptoms.recordings.model import MAX_LOADS, MAX_SEARCHED, RecordedLoad, Recording, base_name

MARKERS = ("CreateFile", "Load Image", "QueryOpen", "Operation")
_OPENS = frozenset({"CreateFile", "QueryOpen", "QueryNetworkOpenInformationFile", "Load Image"})
_ABSENT = frozenset({"NAME NOT FOUND", "PATH NOT FOUND", "NO SUCH FILE"})
_HEADINGS = ("Operation", "Path", "Result")


class ProcmonReader:
    """Collects the DLLs that processes opened or looked for."""

    markers: tuple[str, ...] = MARKERS

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
