"""Finds recordings in a text of any size: each reader sees the lines that hold one of its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wheelfix.diagnosis.symptoms.recordings.debugger import DebuggerReader
from wheelfix.diagnosis.symptoms.recordings.dlltracer import DlltracerReader
from wheelfix.diagnosis.symptoms.recordings.listings import MAX_JSON, DependenciesReader, DumpbinReader, read_json
from wheelfix.diagnosis.symptoms.recordings.procmon import ProcmonReader
from wheelfix.diagnosis.symptoms.recordings.snaps import SnapsReader
from wheelfix.diagnosis.symptoms.recordings.wine import WineReader
from wheelfix.diagnosis.symptoms.stream import Text, TextProgress, blocks
from wheelfix.diagnosis.symptoms.symptom import TextLimits

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.recordings.model import Recording

_LONGEST = 8192
"""Characters of a line that are looked at; no tool writes longer ones about a load."""


class _RecordingReader(Protocol):
    markers: tuple[str, ...]

    def feed(self, number: int, line: str) -> None: ...

    def result(self) -> Recording | None: ...


def read_recordings(text: Text, limits: TextLimits | None = None) -> tuple[Recording, ...]:
    """Return the recordings in a text, in bytes of any common encoding, or in an open file."""
    readers: list[_RecordingReader] = [
        DlltracerReader(),
        SnapsReader(),
        ProcmonReader(),
        WineReader(),
        DebuggerReader(),
        DependenciesReader(),
        DumpbinReader(),
    ]
    document: list[str] | None = []
    number, carry = 1, ""
    for block in blocks(text, limits or TextLimits(), TextProgress()):
        document = _kept(document, block)
        whole = carry + block
        end = whole.rfind("\n") + 1 if block else len(whole)
        lines, carry = whole[:end], whole[end:][-_LONGEST:]
        wanted = [reader for reader in readers if any(marker in lines for marker in reader.markers)]
        if wanted:
            _feed(wanted, number, lines)
        number += lines.count("\n")
    if document:
        found = read_json("".join(document))
        if found is not None:
            return (found,)
    results = (reader.result() for reader in readers)
    return tuple(result for result in results if result is not None)


def _feed(readers: list[_RecordingReader], number: int, text: str) -> None:
    for offset, line in enumerate(text.split("\n")):
        line = line[:_LONGEST].rstrip("\r")
        for reader in readers:
            if any(marker in line for marker in reader.markers):
                reader.feed(number + offset, line)


def _kept(document: list[str] | None, block: str) -> list[str] | None:
    """Keep a text that may be one JSON document; None once it is not, or is too long."""
    if document is None:
        return None
    if not document and not block.lstrip("\ufeff \t\r\n").startswith("{"):
        return None
    document.append(block)
    return document if sum(map(len, document)) <= MAX_JSON else None
