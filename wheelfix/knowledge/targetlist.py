"""Reads the list of a target: which DLLs, exports and API sets a kind of Windows machine has, and how that is known.

The format is plain text, so that ``tools/windows_target.ps1`` can write it on any Windows::

    wheelfix target 1
    name: build-server
    title: Windows Server 2022 Standard
    build: 20348
    date: 2026-11-16
    base: none

    [has]
    source: tools/windows_target.ps1
    date: 2026-11-16
    kernel32.dll 10.0.20348.1
     AcquireSRWLockExclusive AddAtomA @1-1640

``base`` says what is known about DLLs that no section names: ``none`` (they are absent: the list is that of a whole
machine), ``windows`` (what every Windows 10 and 11 has is there) or ``unknown``.
"""

from __future__ import annotations

import enum
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from wheelfix.base.parsing import number_pair, whole_number
from wheelfix.base.values import dataclass, field
from wheelfix.model import Exports, Machine, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIRST_LINE = "wheelfix target 1"
BASES = ("windows", "unknown", "none")
MACHINES = {"amd64": Machine.AMD64, "x86": Machine.X86, "arm64": Machine.ARM64, "any": None}
BINDINGS = ("load", "call")
KEYS = ("name", "title", "build", "date", "base", "machine", "binding", "remedy")
MAX_FAULTS = 20
MAX_ORDINALS = 4_000_000
"""Ordinals in one list; those of a whole Windows have some hundred thousand."""
_ORDINALS = r"@(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?"
_NAME = r"[^\s/\\:\"<>|?]{1,255}"
_TARGET = r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


class State(str, enum.Enum):
    """What a list says about a DLL, a function or an API set."""

    HAS = "has"
    ABSENT = "absent"
    PERHAPS_ABSENT = "perhaps absent"
    """It was reported as absent, or is absent on a similar machine."""
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


SECTIONS = {
    "has": State.HAS,
    "has some": State.HAS,
    "absent": State.ABSENT,
    "perhaps absent": State.PERHAPS_ABSENT,
    "absent exports": State.ABSENT,
    "api sets": State.HAS,
}


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known, from where, and since when."""

    state: State
    source: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class TargetList:
    """What is known about one kind of machine."""

    name: str
    title: str
    base: str
    """``windows``, ``unknown`` or ``none``: what is known about DLLs that are not in ``dlls``."""
    date: str
    build: int = 0
    """The build of Windows, as 17763 for Windows 10 1809; 0 where that says nothing."""
    machine: Machine | None = None
    """The processor that the files are for; None for lists that hold for all."""
    dlls: Mapping[str, Fact] = field(default_factory=dict)
    """By folded name."""
    patterns: tuple[tuple[str, Fact], ...] = ()
    """Folded names with ``*``, for names that ``dlls`` does not have."""
    exports: Mapping[str, Exports] = field(default_factory=dict)
    """All that a DLL exports, by folded name, where that is known."""
    some_exports: Mapping[str, Exports] = field(default_factory=dict)
    """What a DLL is known to export, by folded name; about its other functions nothing is known."""
    absent_exports: Mapping[tuple[str, str], Fact] = field(default_factory=dict)
    """Functions that a DLL of the machine does not export, by folded DLL and name."""
    binding: str = "load"
    """When a function that a DLL does not have is noticed: ``load`` as on Windows, ``call`` as in Wine."""
    api_sets: frozenset[str] | None = None
    """The contracts of the machine's API-set schema, without their last number; None where they are not known."""
    remedy: str = ""
    """What a user of such a machine can do about DLLs that are absent; empty where nothing helps."""
    source: str = ""
    """The source of the first section."""

    def listed(self, name: str) -> Fact | None:
        """Return what the sections say about a DLL; None where they say nothing."""
        key = dll_key(name)
        exact = self.dlls.get(key)
        if exact is not None:
            return exact
        return next((fact for pattern, fact in self.patterns if fnmatchcase(key, pattern)), None)


@dataclass(slots=True)
class _ListSection:
    """A section while it is read."""

    title: str
    line: int
    source: str = ""
    date: str = ""
    entries: int = 0

    @property
    def fact(self) -> Fact:
        return Fact(SECTIONS[self.title], self.source, self.date)


class _Reader:
    """Reads one list, and notes every fault with its line."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.header: dict[str, str] = {}
        self.sections: list[_ListSection] = []
        self.dlls: dict[str, Fact] = {}
        self.patterns: list[tuple[str, Fact]] = []
        self.exports: dict[str, tuple[set[str], set[int]]] = {}
        self.some: set[str] = set()
        self.absent_exports: dict[tuple[str, str], Fact] = {}
        self.api_sets: set[str] = set()
        self._last = ""
        self._ordinals_left = MAX_ORDINALS

    def fault(self, number: int, what: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(f"line {number}: {what}")

    def line(self, number: int, text: str) -> None:
        """Take one line that is neither empty nor a comment."""
        if text.startswith("["):
            self._open(number, text.strip())
        elif not self.sections:
            self._header(number, text)
        elif text[0] in " \t":
            self._exports(number, text)
        elif self.sections[-1].entries == 0 and text.startswith(("source:", "date:")):
            key, _, value = text.partition(":")
            self._describe(number, key, value.strip())
        else:
            self._entry(number, text.split())

    def _header(self, number: int, text: str) -> None:
        key, colon, value = text.partition(":")
        if not colon or key not in KEYS:
            self.fault(number, f"{_short(text)} is none of {', '.join(f'{one}:' for one in KEYS)} and no section")
        elif key in self.header:
            self.fault(number, f"{key} for the second time")
        else:
            self.header[key] = value.strip()

    def _open(self, number: int, text: str) -> None:
        title = text[1:-1].strip() if text.endswith("]") else ""
        if title not in SECTIONS:
            self.fault(number, f"{_short(text)} is none of {', '.join(f'[{one}]' for one in SECTIONS)}")
            title = "has"
        self._last = ""
        self.sections.append(_ListSection(title, number))

    def _describe(self, number: int, key: str, value: str) -> None:
        section = self.sections[-1]
        if key == "source":
            section.source = value
        elif re.fullmatch(_DATE, value):
            section.date = value
        else:
            self.fault(number, f"{_short(value)} is not a date as 2026-11-16")

    def _entry(self, number: int, words: list[str]) -> None:
        section, key = self.sections[-1], dll_key(words[0])
        section.entries += 1
        if not re.fullmatch(_NAME, key) or "." not in key:
            self.fault(number, f"{_short(words[0])} is not the name of a DLL")
            return
        if section.title == "api sets":
            self.api_sets.add(key.removesuffix(".dll").rpartition("-")[0])
        elif section.title == "absent exports":
            if len(words) < 2:
                self.fault(number, f"{key} without a function")
            self.absent_exports.update({(key, function): section.fact for function in words[1:]})
        elif key in self.dlls and not (section.title == "has some" and key in self.some):
            self.fault(number, f"{key} for the second time")
        elif "*" in key:
            self.patterns.append((key, section.fact))
        else:
            self.dlls.setdefault(key, section.fact)
            self._last = key if section.fact.state is State.HAS else ""
            if section.title == "has some":
                self.some.add(key)
                self.exports.setdefault(key, (set(), set()))

    def _exports(self, number: int, text: str) -> None:
        if not self._last:
            self.fault(number, "exports without a DLL above them")
            return
        names, ordinals = self.exports.setdefault(self._last, (set(), set()))
        for word in text.split():
            found = re.fullmatch(_ORDINALS, word)
            if found is None:
                names.add(word)
                continue
            first, last = number_pair(found["first"], found["last"] or found["first"]) or (1, 0)
            self._ordinals_left -= max(0, last - first + 1)
            if last < first or last > 0xFFFF:
                self.fault(number, f"{word} is not a range of ordinals")
            elif self._ordinals_left < 0:
                self.fault(number, f"more than {MAX_ORDINALS} ordinals in one list")
            else:
                ordinals.update(range(first, last + 1))

    def finish(self) -> TargetList | None:
        """Check what has to be there, and return the list if nothing is wrong."""
        for key in ("name", "title", "base", "date"):
            if not self.header.get(key):
                self.faults.append(f"{key}: is missing")
        if self.header.get("name") and not re.fullmatch(_TARGET, self.header["name"]):
            self.faults.append(f"name: {_short(self.header['name'])} has more than letters, digits, '.', '_' and '-'")
        if self.header.get("base") and self.header["base"] not in BASES:
            self.faults.append(f"base: {_short(self.header['base'])} is none of {', '.join(BASES)}")
        if self.header.get("date") and not re.fullmatch(_DATE, self.header["date"]):
            self.faults.append(f"date: {_short(self.header['date'])} is not a date as 2026-11-16")
        build = whole_number(self.header["build"]) if "build" in self.header else 0
        if build is None:
            self.faults.append(f"build: {_short(self.header['build'])} is not a number")
        machine = self.header.get("machine", "any")
        if machine not in MACHINES:
            self.faults.append(f"machine: {_short(machine)} is none of {', '.join(MACHINES)}")
        if self.header.get("binding", "load") not in BINDINGS:
            self.faults.append(f"binding: {_short(self.header['binding'])} is none of {', '.join(BINDINGS)}")
        for section in self.sections:
            for key in ("source", "date"):
                if not getattr(section, key):
                    self.faults.append(f"line {section.line}: [{section.title}] has no {key}:")
        if self.header.get("base") == "none" and not any(fact.state is State.HAS for fact in self.dlls.values()):
            self.faults.append("base: none, and no DLL under [has]")
        if self.faults or build is None:
            return None
        exports = {key: Exports(frozenset(names), frozenset(found)) for key, (names, found) in self.exports.items()}
        return TargetList(
            name=self.header["name"],
            title=self.header["title"],
            base=self.header["base"],
            date=self.header["date"],
            build=build,
            machine=MACHINES[machine],
            dlls=self.dlls,
            patterns=tuple(self.patterns),
            exports={key: found for key, found in exports.items() if key not in self.some},
            some_exports={key: found for key, found in exports.items() if key in self.some},
            absent_exports=self.absent_exports,
            binding=self.header.get("binding", "load"),
            api_sets=frozenset(self.api_sets) if self._has("api sets") else None,
            remedy=self.header.get("remedy", ""),
            source=self.sections[0].source if self.sections else "",
        )

    def _has(self, title: str) -> bool:
        return any(section.title == title for section in self.sections)


def parse_target_list(text: str) -> tuple[TargetList | None, list[str]]:
    """Return a list, or None with every fault that keeps it from being used."""
    lines = _lines(text)
    number, first = next(lines, (1, ""))
    reader = _Reader()
    if first.strip() != FIRST_LINE:
        return None, [f"line {number}: it does not begin with '{FIRST_LINE}'"]
    for number, line in lines:
        reader.line(number, line)
    found = reader.finish()
    return found, reader.faults


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.rstrip()


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
