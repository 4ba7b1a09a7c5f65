"""Scan an open wheel: threads inflate its images, the largest first, while this one reads names, headers and RECORD.

Images come first, because everything waits for their facts. The hashes of the other members, which only RECORD needs,
may go on while a repair is planned and written; it calls :meth:`WheelScan.wait_for_hashes` before the result counts.
Only the longest of these is started before the images; otherwise everything would have to wait for it at the end.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Digest, check_hashes, check_record, digest_work
from wheelfix.errors import InputError
from wheelfix.exam import examine
from wheelfix.exam.examination import Examination, Progress, faults_of
from wheelfix.knowledge.families import is_released_whole
from wheelfix.loader.places import Distribution, open_environment, view_of_wheel
from wheelfix.loader.view import PE_SUFFIXES, FileView, ViewFile, key_of
from wheelfix.pe.image import read_image
from wheelfix.pe.modulenames import read_cimports, read_numpy
from wheelfix.pe.version import read_version
from wheelfix.rules.context import ArchiveFacts
from wheelfix.streams.pool import Task, WorkerPool
from wheelfix.streams.source import HashingSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.archive.directory import Member
    from wheelfix.archive.faults import ArchiveFault
    from wheelfix.base.options import ScanOptions
    from wheelfix.model import ImageFacts
    from wheelfix.remote.ranges import WheelPath
    from wheelfix.roots.index import RootIndex


class RecordIsWrong(Exception):
    """A hash in RECORD is wrong, although all of them were taken to be correct."""


def examine_wheel(archive: Archive, options: ScanOptions, index: RootIndex | None = None) -> Examination:
    """Scan an open wheel."""
    with WorkerPool(options.jobs) as pool:
        return WheelScan(archive, options, pool).examine(index)


@contextlib.contextmanager
def looking_at(
    path: WheelPath, options: ScanOptions, progress: Progress | None = None
) -> Iterator[tuple[Archive, WheelScan]]:
    """Open a wheel and read it."""
    # The archive is closed before the threads are waited for: one that still reads finds nothing more to read.
    with WorkerPool(options.jobs) as pool, Archive.open(path, options.limits) as archive:
        yield archive, WheelScan(archive, options, pool, progress)


BYTES_FOR_THREAD = 32 << 20
"""Packed bytes of images for which one more thread is worthwhile; for fewer they wait for one another. With 16 threads
SciPy took 1.8 times the processor time of two, and no less time."""


class WheelScan:
    """An open wheel whose images are being read, and whose members are being hashed if RECORD is to be verified."""

    def __init__(
        self,
        archive: Archive,
        options: ScanOptions,
        pool: WorkerPool,
        progress: Progress | None = None,
        view: FileView | None = None,
        info: WheelInfo | None = None,
    ) -> None:
        """Begin to read the images.

        ``view`` has the wheel's files as the subject of an installation, ``info`` its metadata.
        """
        self._archive, self._options, self._progress = archive, options, progress
        info = info or WheelInfo.from_archive(archive)
        view = view_of_wheel(archive, info) if view is None else view
        if options.python is not None:
            view = view.over(open_environment(options.python).view)
        self._images = images = Images(archive, pool, view.details, verify=options.verify)
        images.uses_numpy = any("numpy" in line.lower() for line in info.metadata.requires_dist)
        others = digest_work(archive, _no_images(view, archive) if options.verify else ())
        self._hashing = [pool.submit(longest) for longest in itertools.islice(others, 1)]
        self._finish_images = view.begin_images(images.start)
        self._hashing += [pool.submit(work) for work in others]
        self._view, self._info = view, info
        self._faults = faults_of(archive, info)
        self._record_faults = check_record(archive)
        deleted = (fault.subject for fault in self._record_faults if fault.kind == "row-orphan")
        view.deleted = {key_of(path): path for path in deleted if path.lower().endswith(PE_SUFFIXES)}

    def examine(
        self, index: RootIndex | None = None, *, wait: bool = True, python: tuple[int, int] | None = None
    ) -> Examination:
        """Return what was found; without ``wait`` the hashes in RECORD are taken to be correct.

        ``python`` is the version that imports a wheel whose tags name none.
        """
        info, options = self._info, self._options
        self._finish_images(self._progress)
        path, distribution = self._archive.shown, Distribution.of_wheel(info)
        examine.load(self._view, distribution, options, python)  # while the others still hash
        record_faults = (*self._record_faults, *self._hash_faults()) if wait else self._record_faults
        facts = ArchiveFacts(info, self._faults, record_faults)
        return examine.examine_view(self._view, path, distribution, options, facts, index, self._progress, python)

    def wait_for_hashes(self) -> None:
        """Wait for the hashes, and raise RecordIsWrong unless they are as RECORD says."""
        if self._hash_faults():
            raise RecordIsWrong

    def _hash_faults(self) -> tuple[ArchiveFault, ...]:
        if not self._options.verify:
            return ()
        others = {digest.member.entry: digest for work in self._hashing for digest in work.result()}
        known = self._images.digests | others
        return tuple(check_hashes(self._archive, jobs=self._options.jobs, known=known))


def _no_images(view: FileView, archive: Archive) -> list[Member]:
    """The members that are not hashed as images."""
    images = {view.origin(path) for path in view.image_paths}
    return [member for member in archive.members if member.name[-1:] != "/" and member.name not in images]


class Images:
    """Reads the images of a wheel; where RECORD is to be verified, it hashes them in the same pass."""

    def __init__(
        self, archive: Archive, pool: WorkerPool, details: dict[tuple[object, str], Any], *, verify: bool
    ) -> None:
        """``details`` get what rules compare, read in the same pass, so that it is the only one."""
        self._archive, self._pool, self._details, self._verify = archive, pool, details, verify
        self.digests: dict[int, Digest] = {}
        """The digests of those that were hashed, by ``entry``."""
        self.uses_numpy = False
        """Whether the wheel requires NumPy, so that WF410 asks each extension module for which one it was built."""
        if not verify:
            packed = sum(member.csize for member in archive.members if member.name.endswith(PE_SUFFIXES))
            pool.at_most(2 + packed // BYTES_FOR_THREAD)

    def start(self, file: ViewFile) -> Task[ImageFacts | None]:
        """Start to read a file of a view."""
        return self._pool.submit(lambda: self._read_file(file))

    def _read_file(self, file: ViewFile) -> ImageFacts | None:
        member = self._archive.find(file.origin)
        return self._read(member, file.path) if member is not None else None

    def _read(self, member: Member, path: str) -> ImageFacts | None:
        """Return the facts of a member; None for one that cannot be read, which the view shows as empty."""
        try:
            source = self._archive.source(member)
            hashing = HashingSource(source) if self._verify else None
            source = hashing or source
            facts = read_image(source)
            if is_released_whole(member.name.rpartition("/")[2], self._archive.path.name.partition("-")[0]):
                self._details[read_version, path] = read_version(source)
            if self.uses_numpy and member.name.endswith(".pyd"):
                self._details[read_numpy, path] = read_numpy(source)
            if member.name.endswith(".pyd"):
                self._details[read_cimports, path] = read_cimports(source)
        except InputError:
            return None
        with contextlib.suppress(InputError):  # what is wrong with it is told when its hash is compared
            if hashing is not None:
                self.digests[member.entry] = Digest(member, value=hashing.finish(member.crc))
        return facts
