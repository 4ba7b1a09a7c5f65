"""Look at a wheel, a folder or an environment: read its facts, load it in the model, and say what was found."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.archive.conformance import check_archive
from wheelfix.archive.hashing import HashedReading, digest_work
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record, read_record
from wheelfix.archive.wheelinfo import WheelInfo
from wheelfix.errors import EnvironmentFailure, InputError, WheelfixError
from wheelfix.loader.places import open_environment, view_of_folder, view_of_wheel
from wheelfix.loader.view import PE_SUFFIXES, Layer
from wheelfix.model import ScanReport, canonical
from wheelfix.options import ScanOptions
from wheelfix.pe.image import read_image
from wheelfix.roots.late import late_index
from wheelfix.values import dataclass, replace
from wheelfix.verbs.examination import ArchiveFacts, Examination, Identity

if TYPE_CHECKING:
    from wheelfix.archive.hashing import Digest
    from wheelfix.archive.members import Member
    from wheelfix.loader.places import Distribution, Environment
    from wheelfix.loader.view import FileView, ViewFile
    from wheelfix.model import ImageFacts
    from wheelfix.roots.late import Candidates

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ScanFailure:
    """An input that could not be scanned, and why; the others are scanned all the same."""

    path: str
    error: WheelfixError


# ------------------------------------------------------------------------------------------------- for everybody


def scan(path: str | Path, options: ScanOptions | None = None) -> ScanReport:
    """Scan one wheel, package folder or environment with one distribution of interest, and return the report.

    An environment with several distributions that have DLLs gives several reports: use :func:`scan_all`.
    """
    results = list(scan_all([Path(path)], options or ScanOptions()))
    if len(results) > 1:
        names = ", ".join(result.name for result in results if isinstance(result, ScanReport))
        raise InputError(
            str(path), because=f"it holds several distributions ({names})", hint="name one, or use scan_all"
        )
    result = results[0]
    if isinstance(result, ScanFailure):
        raise result.error
    return result


def scan_all(
    paths: Iterable[Path],
    options: ScanOptions,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[ScanReport | ScanFailure]:
    """Scan several inputs, some of them side by side, and give the results in the order of the inputs.

    One that cannot be read does not stop the rest, and never are more than a few in memory. While a single wheel is
    unpacked, ``meanwhile`` is called: what is slow to import can be imported then.
    """
    waiting = list(paths)
    with late_index(options.roots) as index:
        if len(waiting) == 1 or options.jobs == 1:
            for path in waiting:
                yield from _results(path, options, index, progress, meanwhile)
            return
        index.prepare()
        alone = replace(options, jobs=1)
        with ThreadPoolExecutor(max_workers=options.jobs) as pool:
            running: deque[Future[list[ScanReport | ScanFailure]]] = deque()
            for path in waiting:
                running.append(pool.submit(_gathered, path, alone, index))
                if len(running) > 2 * options.jobs:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()


def _gathered(path: Path, options: ScanOptions, index: Candidates) -> list[ScanReport | ScanFailure]:
    return list(_results(path, options, index, None))


def _results(
    path: Path,
    options: ScanOptions,
    index: Candidates,
    progress: Progress | None,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[ScanReport | ScanFailure]:
    try:
        yield from _scan_one(path, options, index, progress, meanwhile)
    except WheelfixError as error:
        yield ScanFailure(str(path), error)
    except OSError as error:
        yield ScanFailure(str(path), EnvironmentFailure(str(path), because=error.strerror or str(error)))


def _scan_one(
    path: Path,
    options: ScanOptions,
    index: Candidates | None,
    progress: Progress | None,
    meanwhile: Callable[[], None] | None,
) -> Iterator[ScanReport]:
    if not path.is_dir():
        with Archive.open(path, options.limits) as archive:
            yield examine_wheel(archive, options, index, progress, meanwhile).report
    elif is_package_folder(path):
        yield examine_folder(path, options, index, progress).report
    else:
        environment = open_environment(path)
        for distribution in chosen_distributions(environment, options.packages):
            yield examine_installed(environment, distribution, options, index, progress).report


# --------------------------------------------------------------------------------------------- three kinds of input


def examine_wheel(
    archive: Archive,
    options: ScanOptions,
    index: Candidates | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Examination:
    """Scan an open wheel; ``meanwhile`` is called when there is nothing to do but wait for its images."""
    images = _Images(archive, verify=options.verify)
    # Unpacking lets go of the interpreter lock; what needs it is done meanwhile, imports among it.
    with _workers(options.jobs) as (pool, stop):
        images.begin(pool)
        info = WheelInfo.from_archive(archive)
        view = view_of_wheel(archive, info)
        if options.python is not None:
            view = view.over(open_environment(options.python).view)
        identity = Identity(str(archive.path), info.name, info.version, info.tags, info.metadata.requires_dist)
        others = _no_images(view, archive) if options.verify else ()
        hashing = [pool.submit(work) for work in digest_work(archive, others, stop)]
        finish_images = view.begin_images(images.start(pool))
        from wheelfix.verbs.examine import examine_view, load, prepare

        faults = (*check_archive(archive), *info.faults)
        record = read_record(archive)
        record_faults = () if options.verify else check_record(archive, record)
        prepare()
        if meanwhile is not None:
            meanwhile()
        finish_images(progress)
        load(view, identity, options)
        if options.verify:
            known = images.digests | {digest.member.entry: digest for work in hashing for digest in work.result()}
            record_faults = check_record(archive, record, hashes=True, jobs=options.jobs, known=known)
    return examine_view(view, identity, options, ArchiveFacts(info, faults, record_faults), index, progress)


@contextlib.contextmanager
def _workers(jobs: int) -> Iterator[tuple[ThreadPoolExecutor, threading.Event]]:
    """Threads, and what tells long work in them to stop; when something goes wrong, nothing more is begun."""
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        try:
            yield pool, stop
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _no_images(view: FileView, archive: Archive) -> list[Member]:
    """The members that are not hashed as images."""
    images = {view.origin(path) for path in view.image_paths}
    return [member for member in archive.members if member.name[-1:] != "/" and member.name not in images]


class _Images:
    """Reads the images of a wheel; where RECORD is to be verified, it hashes them in the same pass."""

    def __init__(self, archive: Archive, *, verify: bool) -> None:
        self._archive, self._verify = archive, verify
        self._early: dict[str, Future[ImageFacts | None]] = {}
        self.digests: dict[int, Digest] = {}

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Begin with the largest, before anything else is known of the wheel: nothing takes longer."""
        images = (member for member in self._archive.members if member.name.endswith(PE_SUFFIXES))
        first = max(images, key=attrgetter("usize"), default=None)
        if first is not None and self._archive.find(first.name) is first:  # not the second of two with one name
            self._early[first.name] = pool.submit(self._read, first)

    def start(self, pool: ThreadPoolExecutor) -> Callable[[ViewFile], Future[ImageFacts | None]]:
        """Return what has a file of a view read."""

        def start(file: ViewFile) -> Future[ImageFacts | None]:
            own = file.layer is Layer.SUBJECT
            return (self._early.get(file.origin) if own else None) or pool.submit(self._read_file, file)

        return start

    def _read_file(self, file: ViewFile) -> ImageFacts | None:
        member = self._archive.find(file.origin) if file.layer is Layer.SUBJECT else None
        return self._read(member) if member is not None else None

    def _read(self, member: Member) -> ImageFacts | None:
        """Return the facts of a member; None for one that cannot be read, which the view shows as empty."""
        try:
            if not self._verify:
                return read_image(self._archive.source(member))
            reading = HashedReading(self._archive, member)
            facts = read_image(reading.source)
        except InputError:
            return None
        digest = reading.finish()
        if digest is not None:
            self.digests[member.entry] = digest
        return facts


def examine_folder(
    path: Path, options: ScanOptions, index: Candidates | None = None, progress: Progress | None = None
) -> Examination:
    """Scan a package that lies in a folder, as if it were installed."""
    from wheelfix.verbs.examine import examine_view

    return examine_view(
        view_of_folder(path), Identity(str(path), path.name, ""), options, ArchiveFacts(), index, progress
    )


def examine_installed(
    environment: Environment,
    distribution: Distribution,
    options: ScanOptions,
    index: Candidates | None = None,
    progress: Progress | None = None,
) -> Examination:
    """Scan one distribution within its environment."""
    from wheelfix.verbs.examine import examine_view

    where = environment.view.origin(f"{distribution.dist_info}/METADATA")
    path = str(Path(where).parent) if where else str(environment.prefix)
    identity = Identity(path, distribution.name, distribution.version, distribution.tags, distribution.requires)
    view = environment.view.focused(distribution.paths)
    return examine_view(view, identity, options, ArchiveFacts(), index, progress, python=environment.python)


def is_package_folder(path: Path) -> bool:
    """Whether a folder is a package (``torch/``) or an unpacked wheel and no environment."""
    if (path / "__init__.py").exists():
        return True
    infos = list(path.glob("*.dist-info"))
    return len(infos) == 1 and path.name.lower() != "site-packages"


def chosen_distributions(environment: Environment, packages: tuple[str, ...]) -> list[Distribution]:
    """The distributions of an environment that were asked for, or all that have DLLs."""
    wanted = {canonical(name) for name in packages}
    found = []
    for distribution in environment.distributions:
        name = canonical(distribution.name)
        if name in wanted:
            found.append(distribution)
            wanted.discard(name)
        elif not packages and any(path.lower().endswith((".dll", ".pyd")) for path in distribution.paths):
            found.append(distribution)
    if wanted:
        raise InputError(
            str(environment.prefix),
            because=f"{', '.join(sorted(wanted))} is not installed there",
            hint="without --package every distribution with DLLs is scanned",
        )
    return found


def archive_facts(archive: Archive, info: WheelInfo, options: ScanOptions) -> ArchiveFacts:
    """What is irregular about a wheel as an archive, and between it and its RECORD."""
    faults = (*check_archive(archive), *info.faults)
    return ArchiveFacts(info, faults, check_record(archive, hashes=options.verify, jobs=options.jobs))
