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
from wheelfix.knowledge.tables import Checker, entries, header_field, read_text, table
from wheelfix.model import Exports, Machine, Symbol, Word, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


FIRST_LINE = "wheelfix target 1"
BASES = ("windows", "unknown", "none")
MACHINES = {"amd64": Machine.AMD64, "x86": Machine.X86, "arm64": Machine.ARM64, "any": None}
MAX_FAULTS = 20
MAX_ORDINALS = 4_000_000
"""Ordinals in one list; those of a whole Windows have some hundred thousand."""
_ORDINALS = r"@(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?"
_NAME = r"[^\s/\\:\"<>|?]{1,255}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NO_DATE = "is not a date as 2026-11-16"
KEYS = {
    "name": (r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", "has more than letters, digits, '.', '_' and '-'"),
    "title": (".*", ""),
    "build": ("[0-9]{1,9}", "is not a number"),
    "date": (_DATE, _NO_DATE),
    "base": ("|".join(BASES), f"is none of {', '.join(BASES)}"),
    "machine": ("|".join(MACHINES), f"is none of {', '.join(MACHINES)}"),
    "binding": ("load|call", "is none of load, call"),
    "remedy": (".*", ""),
}
"""The first lines of a list: what each may hold, and what is said of anything else."""
REQUIRED = ("name", "title", "base", "date")


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

    def is_for(self, machine: Machine) -> bool:
        """Whether the list is about the files of a processor: that of another one's folder says nothing."""
        both = {self.machine, machine}
        return self.machine is None or len(both) == 1 or both == {Machine.ARM64, Machine.ARM64EC}


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
            self.fault(number, f"{_short(value)} {_NO_DATE}")

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

    def finish(self) -> TargetList:
        """Check what has to be there, and return the list; it is of no use where there are faults."""
        header = {key: value for key, value in self.header.items() if value}
        self.faults += [f"{key}: is missing" for key in REQUIRED if key not in header]
        for key, value in header.items():
            pattern, otherwise = KEYS[key]
            if not re.fullmatch(pattern, value):
                self.faults.append(f"{key}: {_short(value)} {otherwise}")
        for section in self.sections:
            missing = [key for key in ("source", "date") if not getattr(section, key)]
            self.faults += [f"line {section.line}: [{section.title}] has no {key}:" for key in missing]
        if header.get("base") == "none" and not any(fact.state is State.HAS for fact in self.dlls.values()):
            self.faults.append("base: none, and no DLL under [has]")
        exports = {key: Exports(frozenset(names), frozenset(found)) for key, (names, found) in self.exports.items()}
        return TargetList(
            name=header.get("name", ""),
            title=header.get("title", ""),
            base=header.get("base", ""),
            date=header.get("date", ""),
            build=whole_number(header.get("build", "")) or 0,
            machine=MACHINES.get(header.get("machine", "any")),
            dlls=self.dlls,
            patterns=tuple(self.patterns),
            exports={key: found for key, found in exports.items() if key not in self.some},
            some_exports={key: found for key, found in exports.items() if key in self.some},
            absent_exports=self.absent_exports,
            binding=header.get("binding", "load"),
            api_sets=frozenset(self.api_sets) if any(one.title == "api sets" for one in self.sections) else None,
            remedy=header.get("remedy", ""),
            source=self.sections[0].source if self.sections else "",
        )


def parse_target_list(text: str, file: str) -> TargetList:
    """Return a list; InputError, with every fault that keeps it from being used."""
    lines = ((number, line.rstrip()) for number, line in enumerate(text.splitlines(), start=1))
    lines = ((number, line) for number, line in lines if line and not line.lstrip().startswith("#"))
    number, first = next(lines, (1, ""))
    reader = _Reader()
    if first.strip() != FIRST_LINE:
        raise _refused(file, [f"line {number}: it does not begin with '{FIRST_LINE}'"])
    for number, line in lines:
        reader.line(number, line)
    found = reader.finish()
    if reader.faults:
        raise _refused(file, reader.faults)
    return found


def _refused(file: str, faults: list[str]) -> InputError:
    hint = "docs/howto/targets.md has the format; tools/windows_target.ps1 writes it"
    return InputError(file, because=faults, hint=hint)


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


def release(build: int) -> str:
    """Return the name of the release with a build, or of none as ``build 12345``."""
    name = RELEASES.get(build)
    return f"{name} (build {build})" if name else f"build {build}"


@table("windows_since.txt")
def functions_since(check: Checker) -> dict[tuple[str, str], tuple[int, Fact]]:
    """Return folded DLL and function to the build that has it first, Windows 8 or later, and what is said of others."""
    source, date = header_field(check.text, "source"), header_field(check.text, "date")
    found: dict[tuple[str, str], tuple[int, Fact]] = {}
    for dll, build, *functions in map(str.split, entries(check.text)):
        since = whole_number(build) or 0, Fact(State.ABSENT, f"{source}: since build {build}", date)
        found |= dict.fromkeys([(dll, function) for function in functions], since)
    return found


NAMES = ("windows-11", "windows-10-1809", "windows-n", "server-core-2022", "nano-server", "wine")
"""The targets that come with wheelfix, in the order in which ``all`` shows them."""
ALL = "all"
MAX_FILE = 64 << 20
"""Bytes of a user's list; one of a whole Windows 11 with exports has about 6 MB."""
_NOTHING = Fact(State.UNKNOWN)


@functools.cache
def known_target(name: str) -> TargetList:
    """Return one of the targets that come with wheelfix."""
    file = f"target_lists/{name}.txt"
    return parse_target_list(read_text(file), file)


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
        data = read_file(Path(word), MAX_FILE)
        # Windows PowerShell writes UTF-16 where ``>`` is used.
        text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(word, because=f"it cannot be read as text: {exc}", hint="write it as UTF-8") from exc
    return parse_cep28(text, word) if text.lstrip()[:1] == "{" else parse_target_list(text, word)


def parse_cep28(text: str, file: str) -> TargetList:
    """Return the list that conda's build tools use, as CEP 28 describes it: what may and what may not be linked.

    Patterns of a whole folder mean all that Windows has there; what is denied counts as absent.
    """
    try:
        tree = parse_json(text)
    except ValueError as exc:
        raise _refused(file, [f"it is neither a list of wheelfix nor JSON: {exc}"]) from exc
    lists = [tree.get(key, []) for key in ("allow", "deny")] if isinstance(tree, dict) else []
    texts = all(isinstance(one, list) and all(isinstance(glob, str) for glob in one) for one in lists)
    if not lists or not texts or tree.get("version") != 1:
        raise _refused(file, ["it is not a list of CEP 28: an object with version 1, 'allow' and 'deny'"])
    name = Path(file).stem
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
    return TargetList(name, title, base, "", machine=machine, patterns=tuple(patterns), source="CEP 28")


def presence(target: TargetList, name: str, machine: Machine = Machine.AMD64) -> Fact:
    """Say whether a target has a DLL or an API set of Windows."""
    if not target.is_for(machine):
        return _NOTHING
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


def missing_exports(target: TargetList, name: str, symbols: Iterable[Symbol], machine: Machine) -> dict[Symbol, Fact]:
    """Return the imported functions that a target's DLL does not have for certain, each with how that is known."""
    key = dll_key(name)
    found: dict[Symbol, Fact] = {}
    known = target.exports.get(key) if target.is_for(machine) else None
    for symbol in symbols:
        named = target.absent_exports.get((key, symbol)) if isinstance(symbol, str) else None
        if named is not None:
            found[symbol] = named
        elif known is not None:
            if not known.offers(symbol):
                found[symbol] = Fact(State.ABSENT, target.source, target.date)
        elif target.build and isinstance(symbol, str):
            build, fact = functions_since().get((key, symbol), (0, _NOTHING))
            if build > target.build:
                found[symbol] = fact
    return found


def unknown_exports(target: TargetList, name: str, symbols: Iterable[Symbol], machine: Machine) -> tuple[Symbol, ...]:
    """Return the imported functions about which nothing is known, for a DLL of which a part is listed."""
    key = dll_key(name)
    known = target.some_exports.get(key) if target.is_for(machine) else None
    if known is None:
        return ()
    return tuple(
        symbol
        for symbol in symbols
        if not known.offers(symbol) and (not isinstance(symbol, str) or (key, symbol) not in target.absent_exports)
    )
