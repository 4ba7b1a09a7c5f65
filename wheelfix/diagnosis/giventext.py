"""Reads the text of a request: an error message, a whole log or a recording of loads."""

from __future__ import annotations

import io
import tempfile
from typing import IO, TYPE_CHECKING, cast

from wheelfix.base.values import replace
from wheelfix.diagnosis.answer import Evidence
from wheelfix.diagnosis.gathered import SHOWN
from wheelfix.diagnosis.recorded import describe
from wheelfix.diagnosis.symptoms import read_log
from wheelfix.diagnosis.symptoms.recordings import read_recordings
from wheelfix.diagnosis.symptoms.recordings.pml import MAGIC as PML_MAGIC
from wheelfix.diagnosis.symptoms.recordings.pml import read_pml
from wheelfix.diagnosis.symptoms.symptom import Log, TextLimits
from wheelfix.diagnosis.symptoms.triage import contradictions, read_machine

if TYPE_CHECKING:
    from contextlib import ExitStack

    from wheelfix.diagnosis.gathered import DiagnoseRequest, GatheredEvidence
    from wheelfix.diagnosis.symptoms import Symptom
    from wheelfix.diagnosis.symptoms.stream import Text

_SHORT = 4096
"""Characters of a text that may be nothing but white space."""


def read_text(request: DiagnoseRequest, gathered: GatheredEvidence, stack: ExitStack) -> None:
    """Add the symptoms and recordings of the text to the evidence."""
    assert request.text is not None
    text = _rereadable(request.text, stack)
    if not isinstance(text, str) and _starts_with(text, PML_MAGIC):
        file = io.BytesIO(text) if isinstance(text, bytes) else text
        recording = read_pml(cast("IO[bytes]", file), request.text_source)
        gathered.recordings = (recording,) if recording is not None else ()
        gathered.log = Log()
    else:
        gathered.recordings = read_recordings(text)
        _rewind(text)
        gathered.notes += contradictions(read_machine(text))
        _rewind(text)
        gathered.log = read_log(text)
        if any(recording.tool in ("loader snaps", "Wine") for recording in gathered.recordings):
            # The loader prints a status in every line, and Wine's drivers do; alone it says nothing more.
            kept = tuple(symptom for symptom in gathered.log.symptoms if symptom.kind != "exit-code")
            gathered.log = replace(gathered.log, symptoms=kept)
        told = {load.line for recording in gathered.recordings for load in recording.failed if not recording.static}
        if told:
            kept = tuple(symptom for symptom in gathered.log.symptoms if symptom.line not in told)
            gathered.log = replace(gathered.log, symptoms=kept)
    for recording in gathered.recordings:
        gathered.evidence.append(Evidence("record", request.text_source, describe(recording)))
        if recording.stopped:
            gathered.notes.append(f"Not all of the record was used: {recording.stopped}.")
    if gathered.recordings and not gathered.symptoms:
        return
    if not gathered.log.size or _is_blank(text, gathered.log.size):
        gathered.log = replace(gathered.log, size=0)
        gathered.evidence.append(Evidence("text", request.text_source, "it is empty"))
        return
    kinds = ", ".join(dict.fromkeys(_in_short(symptom) for symptom in gathered.symptoms[:SHOWN]))
    gathered.evidence.append(Evidence("text", request.text_source, kinds or "nothing about DLLs in it"))
    if gathered.log.stopped:
        gathered.notes.append(f"Not all of the text was used: {gathered.log.stopped}.")


def _rereadable(text: Text, stack: ExitStack) -> Text:
    """Return a text that can be read twice; what comes from a pipe is kept in a temporary file first."""
    if isinstance(text, (str, bytes)) or text.seekable():
        return text
    kept = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # the stack closes it
    left = TextLimits().max_bytes + 1
    while left > 0 and (piece := text.read(min(1 << 20, left))):
        data = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
        kept.write(data)
        left -= len(data)
    kept.seek(0)
    return kept


def _starts_with(text: bytes | IO[bytes] | IO[str], magic: bytes) -> bool:
    if isinstance(text, bytes):
        return text.startswith(magic)
    head = text.read(len(magic))
    _rewind(text)
    return head == magic


def _is_blank(text: Text, size: int) -> bool:
    """Whether a short text has nothing but white space."""
    if size > _SHORT:
        return False
    _rewind(text)
    content = text if isinstance(text, (str, bytes)) else text.read(_SHORT + 1)
    return not content.strip()


def _rewind(text: Text) -> None:
    if not isinstance(text, (str, bytes)):
        text.seek(0)


def _in_short(symptom: Symptom) -> str:
    code = "" if symptom.code is None else f" {symptom.code}" if symptom.code <= 0xFFFF else f" 0x{symptom.code:08X}"
    about = symptom.file or symptom.module or ", ".join(symptom.dlls[:2])
    return f"line {symptom.line}: {symptom.kind}{code}{f' ({about})' if about else ''}"
