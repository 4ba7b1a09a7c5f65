"""What a scan gives to the commands that continue from it, and what commands with several inputs share."""

from __future__ import annotations

import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from wheelfix.archive.conformance import check_archive, size_faults, stored_fault
from wheelfix.base.values import field, frozen
from wheelfix.errors import EnvironmentFailure, WheelfixError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from wheelfix.archive.faults import ArchiveFault
    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.archive.reader import Archive
    from wheelfix.base.workers import Start
    from wheelfix.model import ScanReport
    from wheelfix.remote.ranges import WheelPath
    from wheelfix.rules.context import Subject


Progress: TypeAlias = Callable[[int, int], None]
"""Is called with how much of the work is done, and how much there is."""
_R = TypeVar("_R")


@frozen
class ArchiveFacts:
    """What there is to say about a wheel as an archive; of what is installed, only the files that are gone."""

    info: WheelInfo | None = None
    faults: tuple[ArchiveFault, ...] = ()
    record_faults: tuple[ArchiveFault, ...] = ()
    unowned: frozenset[str] = frozenset()
    """In an environment: the DLLs that no distribution owns."""


@frozen
class Examination:
    """A scan with the things it was made from, for the commands that continue from it."""

    report: ScanReport
    subject: Subject
    facts: ArchiveFacts = field(default_factory=ArchiveFacts)


STAGES = {"read": "not readable", "repair": "not repaired", "report": "not reported", "try": "not imported"}
"""What an input that failed at a stage is called in every format."""


@frozen
class FailedInput:
    """An input that could not be read, repaired, reported or imported, and why; it may have a report all the same."""

    path: str
    error: WheelfixError
    stage: str = "read"
    """Where it failed: a key of :data:`STAGES`."""

    @property
    def words(self) -> str:
        """What the input is called."""
        return STAGES[self.stage]


def lost_input(path: Path, reason: str) -> FailedInput:
    """Return the failure of an input whose worker process died."""
    return FailedInput(str(path), EnvironmentFailure(str(path), because=reason, hint="try it alone, with -j 1"))


def each_input(
    start: Start[Path, _R],
    paths: Sequence[Path],
    jobs: int,
    progress: Progress | None,
    lost: Callable[[Path, str], _R],
    *,
    side_by_side: bool = True,
) -> Iterator[_R]:
    """Work on inputs and give the results in their order; several at once in processes where that is faster.

    ``lost`` makes the result of an input whose process died, from the reason.
    """
    if len(paths) > 1 and side_by_side:
        from wheelfix.base.workers import in_processes, worth_processes

        sizes = [_file_size(path) for path in paths]
        if worth_processes(sizes, jobs):
            yield from in_processes(start, paths, sizes, jobs=jobs, lost=lost, progress=Shares(progress).report)
            return
    with start() as work:
        for path in paths:
            yield work(path, jobs, progress)


def faults_of(archive: Archive, info: WheelInfo) -> tuple[ArchiveFault, ...]:
    """Return what is wrong with an archive and its metadata, RECORD left aside."""
    return (*check_archive(archive), *stored_fault(archive), *size_faults(archive), *info.faults)


def wheels_in(folder: Path) -> list[Path]:
    """Return the wheels that lie in a folder, sorted; none for one in which distributions are installed."""
    if any(folder.glob("*.dist-info")):
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".whl" and path.is_file())


def _file_size(path: Path) -> int:
    """Return the size of a file; 0 for a folder, and for what is not there."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class Shares:
    """How many bytes are done of the inputs that are scanned side by side."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._shares: dict[WheelPath, tuple[int, int]] = {}

    def report(self, path: WheelPath, done: int, total: int) -> None:
        """Take the share of one input, and pass on that of all that are not done."""
        if self._progress is None:
            return
        self._shares[path] = (done, total)
        shares = [share for share in self._shares.copy().values() if share[0] < share[1]]
        self._progress(sum(share[0] for share in shares), sum(share[1] for share in shares))
