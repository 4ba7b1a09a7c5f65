"""What a scan gives to the commands that continue from it, and what commands with several inputs share."""

from __future__ import annotations

import contextlib
import functools
import itertools
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from wheelfix.archive.conformance import check_archive, size_faults, stored_fault
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, WheelfixError, failure_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wheelfix.archive.faults import ArchiveFault
    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.archive.reader import Archive
    from wheelfix.base.workers import Start, Work
    from wheelfix.model import ScanReport
    from wheelfix.rules.context import Subject


Progress: TypeAlias = Callable[[int, int], None]
"""Is called with how much of the work is done, and how much there is."""
_P = TypeVar("_P")
_R = TypeVar("_R")


@frozen
class Examination:
    """A scan with what it was made from, for the commands that continue from it."""

    report: ScanReport
    subject: Subject


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


def each_input(
    start: Start[_P, Iterable[_R]],
    paths: Sequence[_P],
    jobs: int,
    progress: Progress | None,
    *,
    stage: str = "read",
    side_by_side: bool = True,
) -> Iterator[_R | FailedInput]:
    """Work on inputs and give the results in their order; several at once in processes where that is faster.

    An input that fails at the ``stage`` does not stop the rest.
    """
    if len(paths) > 1 and side_by_side:
        from wheelfix.base.workers import in_processes, worth_processes

        sizes, shares = [_file_size(path) for path in paths], Shares(progress).report
        if worth_processes(sizes, jobs):
            begin = functools.partial(_listing, start, stage)
            found: Iterator[list[_R | FailedInput]]
            found = in_processes(begin, paths, sizes, jobs=jobs, lost=_lost, progress=shares)
            yield from itertools.chain.from_iterable(found)
            return
    with start() as work:
        for path in paths:
            yield from attempt(work, path, jobs, progress, stage)


def attempt(
    work: Work[_P, Iterable[_R]], path: _P, jobs: int, progress: Progress | None, stage: str = "read"
) -> Iterator[_R | FailedInput]:
    """Work on one input; whatever goes wrong, it costs this input only."""
    try:
        yield from work(path, jobs, progress)
    except Exception as error:
        yield FailedInput(str(path), failure_of(error, str(path)), stage)


@contextlib.contextmanager
def _listing(start: Start[_P, Iterable[_R]], stage: str) -> Iterator[Work[_P, list[_R | FailedInput]]]:
    """What a worker process does with each input: what it gives is sent back as a whole."""
    with start() as work:
        yield lambda path, jobs, progress: [*attempt(work, path, jobs, progress, stage)]


def _lost(path: object, reason: str) -> list[Any]:
    """The failure of an input whose worker process died."""
    return [FailedInput(str(path), EnvironmentFailure(str(path), because=reason, hint="try it alone, with -j 1"))]


def faults_of(archive: Archive, info: WheelInfo) -> tuple[ArchiveFault, ...]:
    """Return what is wrong with an archive and its metadata, RECORD left aside."""
    return (*check_archive(archive), *stored_fault(archive), *size_faults(archive), *info.faults)


def wheels_in(folder: Path) -> list[Path]:
    """Return the wheels that lie in a folder, sorted; none for one in which distributions are installed."""
    if any(folder.glob("*.dist-info")):
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".whl" and path.is_file())


def _file_size(path: object) -> int:
    """Return the size of a file; 0 for a folder, and for what is not there."""
    try:
        status = Path(str(path)).stat()
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class Shares:
    """How many bytes are done of the inputs that are scanned side by side."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._shares: dict[object, tuple[int, int]] = {}

    def report(self, path: object, done: int, total: int) -> None:
        """Take the share of one input, and pass on that of all that are not done."""
        if self._progress is None:
            return
        self._shares[path] = (done, total)
        shares = [share for share in self._shares.copy().values() if share[0] < share[1]]
        self._progress(sum(share[0] for share in shares), sum(share[1] for share in shares))
