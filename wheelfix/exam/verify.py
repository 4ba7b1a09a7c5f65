"""Check wheels as archives: RECORD against every byte, and what PyPI, pip and uv accept; DLLs are not looked into."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.archive.wheelinfo import WheelInfo
from wheelfix.exam.examination import ScanFailure
from wheelfix.exam.scan import Shares, archive_facts, file_size, lost_input
from wheelfix.failures import failure_of
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import FileView
from wheelfix.model import Machine, Resolution, ScanReport
from wheelfix.options import ScanOptions
from wheelfix.rules.context import Subject
from wheelfix.rules.registry import Group, group_of, run
from wheelfix.values import replace
from wheelfix.workers import in_processes, worth_processes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from wheelfix.exam.examination import Progress
    from wheelfix.model import Finding
    from wheelfix.workers import Work


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
    facts = archive_facts(archive, info, options, progress)
    subject = Subject(
        view=FileView(()),
        profile=Profile(),
        resolution=Resolution(),
        wheel=info,
        archive_faults=facts.faults,
        record_faults=facts.record_faults,
    )
    found = run(subject, options.select, options.ignore)
    return tuple(finding for finding in found if group_of(finding) is Group.ARCHIVE)


def verify_all(
    paths: Iterable[Path], options: ScanOptions, progress: Progress | None = None
) -> Generator[ScanReport | ScanFailure, None, None]:
    """Verify several wheels, in the order given; one that cannot be read does not stop the rest."""
    waiting = list(paths)
    if worth_processes(sizes := [file_size(path) for path in waiting], options.jobs):
        start, report = functools.partial(_verifying, options), Shares(progress).report
        yield from in_processes(start, waiting, sizes, jobs=options.jobs, lost=lost_input, progress=report)
        return
    for path in waiting:
        yield _result(path, options, progress)


@contextlib.contextmanager
def _verifying(options: ScanOptions) -> Iterator[Work[Path, ScanReport | ScanFailure]]:
    """What a worker process does with each wheel."""
    yield lambda path, threads, progress: _result(path, replace(options, jobs=threads), progress)


def _result(path: Path, options: ScanOptions, progress: Progress | None) -> ScanReport | ScanFailure:
    try:
        return _verify(path, options, progress)
    except Exception as error:  # whatever it is, it costs this wheel only
        return ScanFailure(str(path), failure_of(error, path))
