"""Messages that are recognised by their words alone, compilation errors among them, with what to do about each."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.symptom import Symptom
from wheelfix.knowledge.cards import architecture, capability_of
from wheelfix.knowledge.tables import Checker, parse_toml
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = "messages.toml"
KIND = "message"
_DLL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}\.dll", re.IGNORECASE)
_ARCH = re.compile(r"(?:compute|sm)_[0-9]{2,3}[af]?")
_EXCERPT = 400


@dataclass(frozen=True, slots=True)
class Message:
    """One message, what is behind it, and what to do."""

    id: str
    every: tuple[str, ...]
    """Words in lower case that all have to be in the line."""
    some: tuple[str, ...]
    """Words in lower case of which one has to be in the line; empty when ``every`` suffices."""
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
    """Whether it counts only for lines that are no other message."""

    def matches(self, lowered: str) -> bool:
        """Whether a line in lower case is this message."""
        return all(word in lowered for word in self.every) and (not self.some or any(w in lowered for w in self.some))

    @property
    def triggers(self) -> tuple[str, ...]:
        """Words of which one is in every line that matches."""
        return self.some or (max(self.every, key=len),)


def parse_messages(table: str, text: str) -> tuple[Message, ...]:
    """Turn the table's text into values; a message without words is refused."""
    check = Checker(table)
    optional = ("all", "any", "command", "when", "build", "missing", "general")
    rows = check.rows(parse_toml(table, text), "message", ("id", "summary", "known", "fix", "why"), optional)
    check.unique("message", (row["id"] for row in rows))
    messages = []
    for row in rows:
        every, some = tuple(row.get("all", ())), tuple(row.get("any", ()))
        if not every and not some:
            check.faults.append(f"{row['id']}: it has no words to be recognised by")
            continue
        check.faults += [f"{row['id']}: {word!r} is not in lower case" for word in every + some if word != word.lower()]
        given = {name: row[name] for name in ("summary", "known", "fix", "why", "source")}
        extra = {name: row[name] for name in ("command", "when", "build", "missing", "general") if name in row}
        messages.append(Message(row["id"], every, some, **given, **extra))
    check.finish()
    return tuple(messages)


@lru_cache(maxsize=1)
def messages() -> tuple[Message, ...]:
    """Return every message, in the order of the table."""
    return parse_messages(TABLE, resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def message_triggers() -> tuple[str, ...]:
    """Return words of which one is in every line that is a message."""
    return tuple(sorted({word for message in messages() for word in message.triggers}))


def read_messages(line: str) -> Iterator[Symptom]:
    """Yield the messages that a line is."""
    lowered = line.lower()
    matching = [message for message in messages() if message.matches(lowered)]
    for message in [one for one in matching if not one.general] or matching:
        arch = _ARCH.search(lowered)
        details = {"message": message.id, **({"arch": arch[0]} if arch else {})}
        names = tuple(dict.fromkeys(found[0] for found in _DLL.finditer(line)))[:4]
        code = 126 if message.missing and names else None
        yield Symptom(KIND, code, dlls=names, excerpt=" ".join(line.split())[:_EXCERPT], details=details)


def message_of(symptom: Symptom) -> Message | None:
    """Return the message that a symptom is, or None."""
    wanted = symptom.details.get("message", "")
    return message_by_id(wanted) if wanted else None


def message_by_id(name: str) -> Message | None:
    """Return the message of that name, or None."""
    return next((message for message in messages() if message.id == name), None)


def about_architecture(name: str) -> str:
    """Return which toolkits compile for an architecture, in a sentence."""
    capability = capability_of(name.replace("compute_", "sm_"))
    known = architecture(capability) if capability else None
    if known is None:
        return "A newer toolkit may know it."
    first = "CUDA {}.{} is the first that compiles for it".format(*known.first_cuda)
    last = "" if known.last_cuda is None else ", {}.{} the last".format(*known.last_cuda)
    return f"{first}{last}."
