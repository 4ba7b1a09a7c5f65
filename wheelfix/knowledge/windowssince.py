"""Since which build of Windows a DLL exports a function, as Microsoft's documentation has it."""

from __future__ import annotations

import functools

from wheelfix.base.parsing import whole_number
from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import TableFault, read_text
from wheelfix.model import dll_key

TABLE = "windows_since.txt"
RELEASES = {
    9200: "Windows 8",
    9600: "Windows 8.1",
    10240: "Windows 10",
    10586: "Windows 10 1511",
    14393: "Windows 10 1607",
    15063: "Windows 10 1703",
    16299: "Windows 10 1709",
    17134: "Windows 10 1803",
    17763: "Windows 10 1809",
    18362: "Windows 10 1903",
    18363: "Windows 10 1909",
    19041: "Windows 10 2004",
    19042: "Windows 10 20H2",
    19043: "Windows 10 21H1",
    19044: "Windows 10 21H2",
    19045: "Windows 10 22H2",
    20348: "Windows Server 2022",
    22000: "Windows 11",
    22621: "Windows 11 22H2",
    22631: "Windows 11 23H2",
    26100: "Windows 11 24H2",
}
"""The releases of Windows by their build."""


@dataclass(frozen=True, slots=True)
class Since:
    """From which build on a function is documented."""

    build: int
    source: str
    date: str


def release(build: int) -> str:
    """Return the name of the release with a build, or of none as ``build 12345``."""
    name = RELEASES.get(build)
    return f"{name} (build {build})" if name else f"build {build}"


def parse_since(table: str, text: str) -> dict[tuple[str, str], Since]:
    """Return folded DLL and function to the build that has it first; lines that cannot be used are refused."""
    lines = text.splitlines()
    source = next((line.removeprefix("# source: ") for line in lines if line.startswith("# source: ")), "")
    date = next((line.removeprefix("# date: ") for line in lines if line.startswith("# date: ")), "")
    faults = [f"no {what}" for what, value in (("source", source), ("date", date)) if not value]
    found: dict[tuple[str, str], Since] = {}
    made: dict[int, Since] = {}
    for line in lines:
        if line.startswith("#"):
            continue
        words = line.split()
        build = whole_number(words[1]) if len(words) > 2 else None
        if build is None:
            faults.append(f"{line[:80]!r} cannot be used")
            continue
        since = made.setdefault(build, Since(build, source, date))
        for function in words[2:]:
            if found.setdefault((words[0], function), since) is not since:
                faults.append(f"{words[0]} {function} twice")
    if faults or not found:
        raise TableFault(table, faults or ["no functions"])
    return found


@functools.cache
def _table() -> dict[tuple[str, str], Since]:
    return parse_since(TABLE, read_text(TABLE))


def documented_since(dll: str, function: str) -> Since | None:
    """Return since when a DLL exports a function, if that is Windows 8 or later; None for all others."""
    return _table().get((dll_key(dll), function))
