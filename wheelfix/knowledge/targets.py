"""The kinds of Windows that wheels can be checked for: one list per target in ``target_lists``, or a user's own.

A list says which DLLs, exports and API sets a kind of machine has, and how that is known. The format is plain text, so
that ``tools/windows_target.ps1`` can write it on any Windows::

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
machine), ``windows`` (what every Windows 10 and 11 has is there) or ``unknown``. ``windows_since.txt`` says since which
build Windows has a function.
"""

from __future__ import annotations

import functools
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import close_words, number_pair, parse_json, whole_number
from wheelfix.base.values import dataclass, field, frozen
from wheelfix.errors import InputError, UsageError
from wheelfix.knowledge.system import classify, contract
from wheelfix.knowledge.tables import Checker, TableFault, entries, header_field, read_text, table
from wheelfix.model import Exports, Machine, Symbol, Word, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


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


class State(Word):
    """What a list says about a DLL, a function or an API set."""

    HAS = "has"
    ABSENT = "absent"
    PERHAPS_ABSENT = "perhaps absent"
    """It was reported as absent, or is absent on a similar machine."""
    UNKNOWN = "unknown"


SECTIONS = {
    "has": State.HAS,
    "has some": State.HAS,
    "absent": State.ABSENT,
    "perhaps absent": State.PERHAPS_ABSENT,
    "absent exports": State.ABSENT,
    "api sets": State.HAS,
}


@frozen
class Fact:
    """What is known, from where, and since when."""

    state: State
    source: str = ""
    date: str = ""


@frozen
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


@dataclass
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
        if self.header.get("date") and not re.fullmatch(_DATE, self.header["date"]):
            self.faults.append(f"date: {_short(self.header['date'])} is not a date as 2026-11-16")
        build = whole_number(self.header["build"]) if "build" in self.header else 0
        if build is None:
            self.faults.append(f"build: {_short(self.header['build'])} is not a number")
        machine = self.header.get("machine", "any")
        for key, allowed in (("base", BASES), ("machine", (*MACHINES,)), ("binding", BINDINGS)):
            value = self.header.get(key)
            if value and value not in allowed:
                self.faults.append(f"{key}: {_short(value)} is none of {', '.join(allowed)}")
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


@frozen
class Since:
    """From which build on a function is documented."""

    build: int
    source: str
    date: str


def release(build: int) -> str:
    """Return the name of the release with a build, or of none as ``build 12345``."""
    name = RELEASES.get(build)
    return f"{name} (build {build})" if name else f"build {build}"


@table("windows_since.txt")
def functions_since(check: Checker) -> dict[tuple[str, str], Since]:
    """Return folded DLL and function to the build that has it first."""
    source, date = header_field(check.text, "source"), header_field(check.text, "date")
    found: dict[tuple[str, str], Since] = {}
    for dll, build, *functions in map(str.split, entries(check.text)):
        found |= dict.fromkeys(
            [(dll, function) for function in functions], Since(whole_number(build) or 0, source, date)
        )
    return found


def documented_since(dll: str, function: str) -> Since | None:
    """Return since when a DLL exports a function, if that is Windows 8 or later; None for all others."""
    return functions_since().get((dll_key(dll), function))


NAMES = ("windows-11", "windows-10-1809", "windows-n", "server-core-2022", "nano-server", "wine")
"""The targets that come with wheelfix, in the order in which ``all`` shows them."""
ALL = "all"
MAX_FILE = 64 << 20
"""Bytes of a user's list; one of a whole Windows 11 with exports has about 6 MB."""
_NOTHING = Fact(State.UNKNOWN)


@functools.cache
def known_target(name: str) -> TargetList:
    """Return one of the targets that come with wheelfix."""
    table = f"target_lists/{name}.txt"
    found, faults = parse_target_list(read_text(table))
    if found is None:
        raise TableFault(table, faults)
    return found


def chosen_targets(words: Iterable[str]) -> tuple[TargetList, ...]:
    """Return the targets that were asked for: names, ``all``, and files; each once, in the order they were named."""
    found: dict[str, TargetList] = {}
    for word in words:
        for target in _meant(word):
            if found.setdefault(target.name, target) is not target:
                raise UsageError(
                    f"--target {word}",
                    because=f"another target is called {target.name!r} too",
                    hint="change the line 'name:' of the file",
                )
    return tuple(found.values())


def _meant(word: str) -> tuple[TargetList, ...]:
    if word == ALL:
        return tuple(map(known_target, NAMES))
    if word in NAMES:
        return (known_target(word),)
    path = Path(word)
    if not path.is_file():
        close = close_words(word.lower(), NAMES, 1)
        raise UsageError(
            f"--target {word}",
            because="it is neither a known target nor a file",
            hint=(f"did you mean {close[0]!r}? known are " if close else "")
            + f"{', '.join(NAMES)}, {ALL}, or a list that tools/windows_target.ps1 has written",
        )
    return (_of_file(word, path.stat().st_mtime_ns, path.stat().st_size),)


@functools.lru_cache(maxsize=16)
def _of_file(word: str, changed: int, size: int) -> TargetList:
    """Read a user's list; ``changed`` is there so that a list that was written again is read again."""
    try:
        text = _decoded(read_file(Path(word), MAX_FILE))
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(word, because=f"it cannot be read as text: {exc}", hint="write it as UTF-8") from exc
    found, faults = parse_cep28(text, Path(word).stem) if text.lstrip()[:1] == "{" else parse_target_list(text)
    if found is None:
        raise InputError(
            word, because=faults, hint="docs/howto/targets.md has the format; tools/windows_target.ps1 writes it"
        )
    return found


def _decoded(data: bytes) -> str:
    """Return the text of a file: Windows PowerShell writes UTF-16 where ``>`` is used."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def parse_cep28(text: str, name: str) -> tuple[TargetList | None, list[str]]:
    """Return the list that conda's build tools use, as CEP 28 describes it: what may and what may not be linked.

    Patterns of a whole folder mean all that Windows has there; what is denied counts as absent.
    """
    try:
        tree = parse_json(text)
    except ValueError as exc:
        return None, [f"it is neither a list of wheelfix nor JSON: {exc}"]
    lists = [tree.get(key, []) for key in ("allow", "deny")] if isinstance(tree, dict) else []
    if not lists or tree.get("version") != 1 or not all(_is_list_of_texts(one) for one in lists):
        return None, ["it is not a list of CEP 28: an object with version 1, 'allow' and 'deny'"]
    patterns: list[tuple[str, Fact]] = []
    whole = not lists[0]
    for globs, state in ((lists[1], State.ABSENT), (lists[0], State.HAS)):
        for glob in globs:
            last = dll_key(glob.replace("\\", "/").rpartition("/")[2])
            if state is State.HAS and last in ("*.dll", "*"):
                whole = True
            else:
                patterns.append((last, Fact(state, f"{name}.json, by CEP 28", "")))
    machines = {"win-64": Machine.AMD64, "win-32": Machine.X86, "win-arm64": Machine.ARM64}
    base = "windows" if whole else "unknown"
    title = f"the DLLs that {name}.json allows"
    machine = machines.get(str(tree.get("subdir")))
    return TargetList(name, title, base, "", machine=machine, patterns=tuple(patterns), source="CEP 28"), []


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def presence(target: TargetList, name: str, machine: Machine = Machine.AMD64) -> Fact:
    """Say whether a target has a DLL or an API set of Windows."""
    if target.machine is not None and not _same_files(target.machine, machine):
        return _NOTHING  # the list of another processor's folder says nothing
    listed = target.listed(name)
    if listed is not None:
        return listed
    own = classify(name, machine)
    if own.kind == "api-set" and target.api_sets is not None:
        state = State.HAS if contract(name) in target.api_sets else State.ABSENT
        return Fact(state, target.source, target.date)
    if target.base == "none" and own.kind != "api-set":
        return Fact(State.ABSENT, target.source, target.date)
    if target.base == "windows" and own.on_every_machine:
        return Fact(State.HAS, target.source, target.date)
    return _NOTHING


def _same_files(listed: Machine, wanted: Machine) -> bool:
    return listed is wanted or {listed, wanted} == {Machine.ARM64, Machine.ARM64EC}


def missing_exports(
    target: TargetList, name: str, symbols: Iterable[Symbol], machine: Machine = Machine.AMD64
) -> dict[Symbol, Fact]:
    """Return the imported functions that a target's DLL does not have for certain, each with how that is known."""
    key = dll_key(name)
    found: dict[Symbol, Fact] = {}
    known = target.exports.get(key) if target.machine is None or _same_files(target.machine, machine) else None
    for symbol in symbols:
        named = target.absent_exports.get((key, symbol)) if isinstance(symbol, str) else None
        if named is not None:
            found[symbol] = named
        elif known is not None:
            if not known.offers(symbol):
                found[symbol] = Fact(State.ABSENT, target.source, target.date)
        elif target.build and isinstance(symbol, str):
            since = documented_since(key, symbol)
            if since is not None and since.build > target.build:
                found[symbol] = Fact(State.ABSENT, f"{since.source}: since build {since.build}", since.date)
    return found


def unknown_exports(
    target: TargetList, name: str, symbols: Iterable[Symbol], machine: Machine = Machine.AMD64
) -> tuple[Symbol, ...]:
    """Return the imported functions about which nothing is known, for a DLL of which a part is listed."""
    key = dll_key(name)
    known = target.some_exports.get(key) if target.machine is None or _same_files(target.machine, machine) else None
    if known is None:
        return ()
    return tuple(
        symbol
        for symbol in symbols
        if not known.offers(symbol) and (not isinstance(symbol, str) or (key, symbol) not in target.absent_exports)
    )
