"""The kinds of Windows that wheels can be checked for: one list per target in ``target_lists``, or a user's own."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import parse_json
from wheelfix.errors import InputError, UsageError
from wheelfix.knowledge.system import classify, contract
from wheelfix.knowledge.tables import TableFault, read_text
from wheelfix.knowledge.targetlist import Fact, State, TargetList, parse_target_list
from wheelfix.knowledge.windowssince import documented_since
from wheelfix.model import Machine, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.model import Symbol

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
    if found is None or found.name != name:
        raise TableFault(table, faults or [f"its name is {found.name!r}" if found else "it is empty"])
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
        raise UsageError(
            f"--target {word}",
            because="it is neither a known target nor a file",
            hint=f"{', '.join(NAMES)}, {ALL}, or a list that tools/windows_target.ps1 has written",
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
