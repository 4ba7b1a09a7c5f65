"""Messages, libraries and compiled modules that are recognised by words alone, with what to do about each."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import dataclass
from wheelfix.diagnosis.symptoms.model import Symptom, table_text
from wheelfix.knowledge.cards import architecture, capability_of_arch
from wheelfix.knowledge.providers import is_compiled
from wheelfix.knowledge.tables import Checker, parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MESSAGES = ("messages.toml", "messages_gpu.toml", "messages_python.toml", "messages_build.toml")
LIBRARIES = "libraries.toml"
KIND = "message"
_DLL = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}\.dll", re.IGNORECASE)
_ARCH = re.compile(r"(?:compute|sm)_[0-9]{2,3}[af]?")
_PART_TRIGGERS = ("no module named", "cannot import name")
_PARTS = (
    re.compile(r"No module named \\?['\"]?(?P<package>[A-Za-z_][\w.]{2,200})(?P<name>)", re.IGNORECASE),
    re.compile(
        r"cannot import name \\?['\"](?P<name>\w{1,100})\\?['\"] from (?:partially initialized module )?"
        r"\\?['\"](?P<package>[\w.]{1,200})\\?['\"]",
        re.IGNORECASE,
    ),
)
_VARIANTS = ("avx", "sse", "sve", "generic")
"""Builds for one kind of processor, of which a package tries one after the other."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a line in lower case has to contain."""

    every: tuple[str, ...]
    """Words that all have to be in the line."""
    some: tuple[str, ...]
    """Words of which one has to be in the line; empty when ``every`` suffices."""

    def match(self, lowered: str) -> bool:
        """Whether a line in lower case has them."""
        return all(word in lowered for word in self.every) and (not self.some or any(w in lowered for w in self.some))

    @property
    def triggers(self) -> tuple[str, ...]:
        """Words of which one is in every line that matches."""
        return self.some or (max(self.every, key=len),)


@dataclass(frozen=True, slots=True)
class Message:
    """One message, what is behind it, and what to do."""

    id: str
    words: Words
    summary: str
    known: str
    fix: str
    why: str
    source: str
    command: str = ""
    build: bool = False
    """Whether it is an error of a compilation: there is no wheel yet."""
    missing: bool = False
    """Whether the DLL that it names is missing."""
    when: str = ""
    """What has to hold for the command to help; empty when nothing beyond the message itself."""
    general: bool = False
    """Whether it counts only for lines that match no other message."""
    fallback: bool = False
    """Whether it counts only in texts that say nothing else."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Words that stand for a cause which other messages lead to as well."""

    cause: str
    """A cause of ``causes.toml``, or a message."""
    words: Words
    source: str
    dll: str = ""
    """The DLL that it is about, where the message does not name one."""
    module: str = ""
    """The module that it is about, likewise."""
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class NamedLibrary:
    """A native library that packages load by name and do not contain, and how to get it on Windows."""

    name: str
    """The DLL, as it is usually called."""
    file: re.Pattern[str]
    """The names under which it is asked for, without the suffix, in lower case."""
    fix: str
    why: str
    source: str
    command: str = ""
    words: Words | None = None
    """The words of messages that name no file."""
    windows: bool = False
    """Whether these words come from other systems as often, so that the text has to show that it is from Windows."""


def _parsed_words(row: Mapping[str, Any], check: Checker) -> dict[str, Any]:
    """Return a row with its words as a value; a row without words, or with one not in lower case, is a fault."""
    name, every, some = next(iter(row.values())), tuple(row.get("all", ())), tuple(row.get("any", ()))
    if not every and not some:
        check.faults.append(f"{name}: it has no words to be recognised by")
    check.faults += [f"{name}: {word!r} is not in lower case" for word in every + some if word != word.lower()]
    return {key: row[key] for key in row if key not in ("all", "any")} | {"words": Words(every, some)}


def parse_messages(table: str, text: str) -> tuple[tuple[Message, ...], tuple[Wording, ...]]:
    """Turn the table's text into values; a message without words is refused."""
    check, tree = Checker(table), parse_toml(table, text)
    optional = ("all", "any", "command", "when", "build", "missing", "general", "fallback")
    rows = check.rows(tree, "message", ("id", "summary", "known", "fix", "why"), optional)
    check.unique("message", (row["id"] for row in rows))
    others = ("all", "any", "dll", "module", "fallback")
    worded = check.rows(tree, "wording", ("cause",), others) if "wording" in tree else ()
    messages = tuple(Message(**_parsed_words(row, check)) for row in rows)
    wordings = tuple(Wording(**_parsed_words(row, check)) for row in worded)
    check.finish()
    return messages, wordings


def parse_libraries(table: str, text: str) -> tuple[NamedLibrary, ...]:
    """Turn the table's text into values; every fault is reported at once."""
    check = Checker(table)
    rows = check.rows(parse_toml(table, text), "library", ("name", "file", "fix", "why"), ("any", "windows", "command"))
    check.unique("library", (row["name"] for row in rows))
    found = []
    for row in rows:
        given = _parsed_words(row, check) if "any" in row else dict(row)
        found.append(NamedLibrary(**given | {"file": check.pattern(row["file"])}))
    check.finish()
    return tuple(found)


@lru_cache(maxsize=1)
def _tables() -> tuple[tuple[tuple[Message, ...], tuple[Wording, ...]], ...]:
    return tuple(parse_messages(name, table_text(name)) for name in MESSAGES)


@lru_cache(maxsize=1)
def messages() -> tuple[Message, ...]:
    """Return every message, in the order of the tables."""
    return tuple(message for found, _ in _tables() for message in found)


@lru_cache(maxsize=1)
def wordings() -> tuple[Wording, ...]:
    """Return every wording, in the order of the tables."""
    return tuple(wording for _, found in _tables() for wording in found)


@lru_cache(maxsize=1)
def libraries() -> tuple[NamedLibrary, ...]:
    """Return every library of the table."""
    return parse_libraries(LIBRARIES, table_text(LIBRARIES))


@lru_cache(maxsize=1)
def message_triggers() -> tuple[str, ...]:
    """Return words of which one is in every line that is recognised by its words."""
    known = [one.words for one in messages()] + [one.words for one in wordings()]
    known += [one.words for one in libraries() if one.words]
    return (*sorted({word for words in known for word in words.triggers}), *_PART_TRIGGERS)


def read_messages(line: str) -> list[Symptom]:
    """Return the messages that a line matches, else the library or the compiled module that it says was not found.

    A wording of another cause counts where only general messages match.
    """
    lowered, excerpt = line.lower(), " ".join(line.split())[:400]
    matching = [message for message in messages() if message.words.match(lowered)]
    special = [one for one in matching if not one.general]
    worded = next((one for one in wordings() if one.words.match(lowered)), None) if not special else None
    if worded is not None:
        details = {"cause": worded.cause, **({"rank": "fallback"} if worded.fallback else {})}
        dlls = (worded.dll,) if worded.dll else ()
        return [Symptom(KIND, None, dlls=dlls, module=worded.module, excerpt=excerpt, details=details)]
    if matching:
        arch = _ARCH.search(lowered)
        names = tuple(dict.fromkeys(found[0] for found in _DLL.finditer(line)))[:4]
        found = []
        for message in special or matching:
            details = {"message": message.id, **({"arch": arch[0]} if arch else {})}
            details |= {"rank": "fallback"} if message.fallback else {}
            code = 126 if message.missing and names else None
            found.append(Symptom(KIND, code, dlls=names, excerpt=excerpt, details=details))
        return found
    for library in libraries():
        if library.words is not None and library.words.match(lowered):
            details = {"only": "windows"} if library.windows else {}
            return [Symptom("library", 126, library.name, excerpt=excerpt, details=details)]
    cause = {"cause": "compiled-part-missing"}
    return [Symptom(KIND, module=name, excerpt=excerpt, details=cause) for name in _compiled_parts(line)][:1]


def _compiled_parts(line: str) -> Iterator[str]:
    """Yield the compiled modules that a line says were not found: the package is there, its compiled part is not."""
    found = [".".join(filter(None, match.group("package", "name"))) for one in _PARTS for match in one.finditer(line)]
    for module in (name.rstrip(".") for name in found[:4]):
        if is_compiled(module) and not module.rpartition("_")[2].startswith(_VARIANTS):
            yield module


def message_by_id(name: str) -> Message | None:
    """Return the message of that name, or None."""
    return next((message for message in messages() if message.id == name), None)


def library_of(name: str) -> NamedLibrary | None:
    """Return the library that a file name stands for, or None."""
    stem = name.lower().removesuffix(".dll")
    return next((one for one in libraries() if one.file.fullmatch(stem)), None) if stem else None


def about_architecture(name: str) -> str:
    """Return which toolkits compile for an architecture, in a sentence."""
    capability = capability_of_arch(name.replace("compute_", "sm_"))
    known = architecture(capability) if capability else None
    if known is None:
        return "A newer toolkit may know it."
    first = "CUDA {}.{} is the first that compiles for it".format(*known.first_cuda)
    last = "" if known.last_cuda is None else ", {}.{} the last".format(*known.last_cuda)
    return f"{first}{last}."
