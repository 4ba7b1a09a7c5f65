"""The door to procmon-parser, which reads Process Monitor's own files (``.PML``)."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from wheelfix.diagnosis.symptoms.recordings.procmon import ProcmonReader
from wheelfix.errors import InputError

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.recordings.model import Recording

MAGIC = b"PML_"
_MAX_EVENTS = 5_000_000


def read_pml(file: IO[bytes], source: str) -> Recording | None:
    """Return the loads of a PML file; None when no process looked for a DLL in it."""
    try:
        from procmon_parser import ProcmonLogsReader
    except ImportError as error:
        raise InputError(
            source,
            because="it is a PML file of Process Monitor, and procmon-parser is not installed",
            hint='python -m pip install "wheelfix[procmon]"; or save it as CSV in Process Monitor (File, Save, CSV)',
        ) from error
    reader = ProcmonReader()
    try:
        for number, event in enumerate(ProcmonLogsReader(file), start=1):
            if number > _MAX_EVENTS:
                break
            operation = str(getattr(event.operation, "name", event.operation)).replace("_", " ")
            reader.note(number, str(event.process.pid), operation, str(event.path), _result(event.result))
    except Exception as error:  # the parser reports damage with whatever its struct readers raise
        raise InputError(
            source,
            because=f"it cannot be read as a PML file: {error}",
            hint="save it as CSV in Process Monitor (File, Save, CSV)",
        ) from error
    return reader.result()


def _result(status: int) -> str:
    """Process Monitor's word for the NTSTATUS of an event."""
    names = {0: "SUCCESS", 0xC0000034: "NAME NOT FOUND", 0xC000003A: "PATH NOT FOUND", 0xC000000F: "NO SUCH FILE"}
    return names.get(status & 0xFFFFFFFF, f"0x{status & 0xFFFFFFFF:08X}")
