"""Check wheels as archives: RECORD against every byte, and what PyPI, pip and uv accept; DLLs are not looked into."""

from __future__ import annotations

import contextlib
import functools
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.base.options import ScanOptions
from wheelfix.base.values import replace
from wheelfix.exam.examination import FailedInput, Progress, each_input, faults_of
from wheelfix.model import Finding, Machine, Resolution, ScanReport
from wheelfix.rules.archive import fault_findings
from wheelfix.rules.registry import pick

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from wheelfix.base.workers import Work


def verify(path: str | Path, options: ScanOptions | None = None) -> ScanReport:
    """Return a report with findings about the archive and its RECORD alone."""
    return _verify(Path(path), options or ScanOptions(verify=True), None)


def _verify(path: Path, options: ScanOptions, progress: Progress | None) -> ScanReport:
    with Archive.open(path, options.limits) as archive:
        info = WheelInfo.from_archive(archive)
        return ScanReport(
            path=str(path),
            name=info.name,
            version=info.version,
            tags=info.tags,
            machine=Machine.UNKNOWN,
            images=(),
            resolution=Resolution(),
            missing=(),
            first_failure=None,
            findings=archive_findings(archive, info, options, progress),
        )


def archive_findings(
    archive: Archive, info: WheelInfo, options: ScanOptions, progress: Progress | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with an open wheel as an archive, and between it and its RECORD."""
    hashed = _Counter(progress, sum(member.usize for member in archive.members)).add if progress else None
    faults = (
        *faults_of(archive, info),
        *check_record(archive, hashes=options.verify, jobs=options.jobs, progress=hashed),
    )
    return pick(fault_findings(faults, faults), options.select, options.ignore)


class _Counter:
    """Adds up the bytes that are done, and reports the sum."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """Count bytes that are done; may be called from several threads."""
        with self._lock:
            self._done += size
        self._progress(self._done, self._total)


def verify_all(
    paths: Iterable[Path], options: ScanOptions, progress: Progress | None = None
) -> Generator[ScanReport | FailedInput, None, None]:
    """Verify several wheels, in the order given; one that cannot be read does not stop the rest."""
    yield from each_input(functools.partial(_verifying, options), list(paths), options.jobs, progress)


@contextlib.contextmanager
def _verifying(options: ScanOptions) -> Iterator[Work[Path, list[ScanReport]]]:
    """What is done with each wheel, here or in a process of its own."""
    yield lambda path, threads, progress: [_verify(path, replace(options, jobs=threads), progress)]
