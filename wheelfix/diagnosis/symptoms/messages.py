"""Messages, libraries and compiled modules that are recognised by words alone, with what to do about each."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from wheelfix.diagnosis.symptoms.model import Symptom
from wheelfix.knowledge.cards import architecture, capability_of_arch
from wheelfix.knowledge.compiled_modules import is_compiled
from wheelfix.knowledge.tables import Checker, parse_toml
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLES = ("messages.toml", "messages_gpu.toml", "messages_python.toml", "messages_build.toml")
KIND = "message"
_DLL = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}\.dll", re.IGNORECASE)
_ARCH = re.compile(r"(?:compute|sm)_[0-9]{2,3}[af]?")
_EXCERPT = 400


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
class MessageTable:
    """The content of one of the tables."""

    messages: tuple[Message, ...]
    wordings: tuple[Wording, ...]


def parse_words(row: Mapping[str, Any], name: str, check: Checker) -> Words | None:
    """Return the words of a row; None, and a fault, where there are none."""
    every: tuple[str, ...] = tuple(row.get("all", ()))
    some: tuple[str, ...] = tuple(row.get("any", ()))
    if not every and not some:
        check.faults.append(f"{name}: it has no words to be recognised by")
        return None
    check.faults += [f"{name}: {word!r} is not in lower case" for word in every + some if word != word.lower()]
    return Words(every, some)


def parse_messages(table: str, text: str) -> MessageTable:
    """Turn the table's text into values; a message without words is refused."""
    check = Checker(table)
    tree = parse_toml(table, text)
    optional = ("all", "any", "command", "when", "build", "missing", "general", "fallback")
    rows = check.rows(tree, "message", ("id", "summary", "known", "fix", "why"), optional)
    check.unique("message", (row["id"] for row in rows))
    messages = []
    for row in rows:
        words = parse_words(row, row["id"], check)
        if words is not None:
            given = {name: row[name] for name in ("summary", "known", "fix", "why", "source")}
            extra = {name: row[name] for name in optional[2:] if name in row}
            messages.append(Message(row["id"], words, **given, **extra))
    wordings = []
    others = ("all", "any", "dll", "module", "fallback")
    for row in check.rows(tree, "wording", ("cause",), others) if "wording" in tree else ():
        words = parse_words(row, row["cause"], check)
        if words is not None:
            extra = {name: row[name] for name in others[2:] if name in row}
            wordings.append(Wording(row["cause"], words, row["source"], **extra))
    check.finish()
    return MessageTable(tuple(messages), tuple(wordings))


@lru_cache(maxsize=1)
def _tables() -> tuple[MessageTable, ...]:
    folder = resources.files(__package__)
    return tuple(parse_messages(name, folder.joinpath(name).read_text(encoding="utf-8")) for name in TABLES)


@lru_cache(maxsize=1)
def messages() -> tuple[Message, ...]:
    """Return every message, in the order of the tables."""
    return tuple(message for table in _tables() for message in table.messages)


@lru_cache(maxsize=1)
def wordings() -> tuple[Wording, ...]:
    """Return every wording, in the order of the tables."""
    return tuple(wording for table in _tables() for wording in table.wordings)


@lru_cache(maxsize=1)
def message_triggers() -> tuple[str, ...]:
    """Return words of which one is in every line that is a message."""
    known = [*(message.words for message in messages()), *(wording.words for wording in wordings())]
    return tuple(sorted({word for words in known for word in words.triggers}))


def read_messages(line: str) -> Iterator[Symptom]:
    """Yield the messages that a line matches; a wording of another cause counts where only general ones match."""
    lowered = line.lower()
    excerpt = " ".join(line.split())[:_EXCERPT]
    matching = [message for message in messages() if message.words.match(lowered)]
    special = [one for one in matching if not one.general]
    worded = next((one for one in wordings() if one.words.match(lowered)), None) if not special else None
    if worded is not None:
        details = {"cause": worded.cause, **_rank(fallback=worded.fallback)}
        dlls = (worded.dll,) if worded.dll else ()
        yield Symptom(KIND, None, dlls=dlls, module=worded.module, excerpt=excerpt, details=details)
        return
    for message in special or matching:
        arch = _ARCH.search(lowered)
        details = {"message": message.id, **({"arch": arch[0]} if arch else {}), **_rank(fallback=message.fallback)}
        names = tuple(dict.fromkeys(found[0] for found in _DLL.finditer(line)))[:4]
        code = 126 if message.missing and names else None
        yield Symptom(KIND, code, dlls=names, excerpt=excerpt, details=details)


def _rank(*, fallback: bool) -> dict[str, str]:
    return {"rank": "fallback"} if fallback else {}


def message_of(symptom: Symptom) -> Message | None:
    """Return the message that a symptom was read from, or None."""
    wanted = symptom.details.get("message", "")
    return message_by_id(wanted) if wanted else None


def message_by_id(name: str) -> Message | None:
    """Return the message of that name, or None."""
    return next((message for message in messages() if message.id == name), None)


def about_architecture(name: str) -> str:
    """Return which toolkits compile for an architecture, in a sentence."""
    capability = capability_of_arch(name.replace("compute_", "sm_"))
    known = architecture(capability) if capability else None
    if known is None:
        return "A newer toolkit may know it."
    first = "CUDA {}.{} is the first that compiles for it".format(*known.first_cuda)
    last = "" if known.last_cuda is None else ", {}.{} the last".format(*known.last_cuda)
    return f"{first}{last}."


# -------------------------------------------------------------------------------- libraries that packages load by name


LIBRARY_TABLE = "libraries.toml"
LIBRARY_KIND = "library"
_SUFFIX = re.compile(r"\.dll$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedLibrary:
    """A native library and how to get it on Windows."""

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


def parse_libraries(table: str, text: str) -> tuple[NamedLibrary, ...]:
    """Turn the table's text into values; every fault is reported at once."""
    check = Checker(table)
    rows = check.rows(parse_toml(table, text), "library", ("name", "file", "fix", "why"), ("any", "windows", "command"))
    check.unique("library", (row["name"] for row in rows))
    found = []
    for row in rows:
        words = parse_words(row, row["name"], check) if "any" in row else None
        pattern = check.pattern(row["file"])
        given = {name: row[name] for name in ("fix", "why", "source", "command", "windows") if name in row}
        found.append(NamedLibrary(row["name"], pattern, words=words, **given))
    check.finish()
    return tuple(found)


@lru_cache(maxsize=1)
def libraries() -> tuple[NamedLibrary, ...]:
    """Return every library of the table."""
    return parse_libraries(
        LIBRARY_TABLE, resources.files(__package__).joinpath(LIBRARY_TABLE).read_text(encoding="utf-8")
    )


@lru_cache(maxsize=1)
def library_triggers() -> tuple[str, ...]:
    """Return words of which one is in every line that names a library of the table."""
    return tuple(sorted({word for one in libraries() if one.words for word in one.words.triggers}))


def read_libraries(line: str) -> Iterator[Symptom]:
    """Yield the library that a line says was not found."""
    lowered = line.lower()
    for one in libraries():
        if one.words is not None and one.words.match(lowered):
            details = {"only": "windows"} if one.windows else {}
            yield Symptom(LIBRARY_KIND, 126, one.name, excerpt=" ".join(line.split())[:_EXCERPT], details=details)
            return


def library_of(name: str) -> NamedLibrary | None:
    """Return the library that a file name stands for, or None."""
    stem = _SUFFIX.sub("", name).lower()
    return next((one for one in libraries() if one.file.fullmatch(stem)), None) if stem else None


# --------------------------------------------------------------------------- compiled modules that Python did not find


PART_TRIGGERS = ("no module named", "cannot import name")
CAUSE = "compiled-part-missing"
_NOT_FOUND = re.compile(r"No module named \\?['\"]?(?P<module>[A-Za-z_][\w.]{2,200})", re.IGNORECASE)
_NOT_IN = re.compile(
    r"cannot import name \\?['\"](?P<name>\w{1,100})\\?['\"] from (?:partially initialized module )?"
    r"\\?['\"](?P<package>[\w.]{1,200})\\?['\"]",
    re.IGNORECASE,
)
_VARIANTS = ("avx", "sse", "sve", "generic")
"""Builds for one kind of processor, of which a package tries one after the other."""


def read_compiled_parts(line: str) -> Iterator[Symptom]:
    """Yield the compiled module that a line says was not found, if it is one."""
    found = [match["module"].rstrip(".") for match in _NOT_FOUND.finditer(line)]
    found += [f"{match['package']}.{match['name']}" for match in _NOT_IN.finditer(line)]
    for module in found[:4]:
        if is_compiled(module) and not module.rpartition("_")[2].startswith(_VARIANTS):
            excerpt = " ".join(line.split())[:_EXCERPT]
            yield Symptom(KIND, module=module, excerpt=excerpt, details={"cause": CAUSE})
            return
