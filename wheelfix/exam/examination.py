"""What a scan gives to the commands that continue from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    from wheelfix.archive.faults import ArchiveFault, RecordFault
    from wheelfix.archive.wheelinfo import WheelInfo
    from wheelfix.errors import WheelfixError
    from wheelfix.model import ScanReport
    from wheelfix.rules.context import Subject


Progress: TypeAlias = Callable[[int, int], None]
"""Is called with how much of the work is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies the wheel, folder or distribution that is examined."""

    path: str
    name: str
    version: str
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchiveFacts:
    """What there is to say about a wheel as an archive; empty for folders and environments."""

    info: WheelInfo | None = None
    faults: tuple[ArchiveFault, ...] = ()
    record_faults: tuple[RecordFault, ...] = ()
    unowned: frozenset[str] = frozenset()
    """In an environment: the DLLs that no distribution owns."""


@dataclass(frozen=True, slots=True)
class Examination:
    """A scan with the things it was made from, for the commands that continue from it."""

    report: ScanReport
    subject: Subject
    identity: Identity
    facts: ArchiveFacts = field(default_factory=ArchiveFacts)


@dataclass(frozen=True, slots=True)
class ScanFailure:
    """An input that could not be scanned, and why; the others are scanned all the same."""

    path: str
    error: WheelfixError
