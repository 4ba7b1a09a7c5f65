"""Look at a wheel: its largest image is begun at once, and what needs the interpreter is done while threads unpack.

Images come first, because everything waits for their facts. The hashes of the other members, which only RECORD needs,
may go on while somebody plans and writes already, who has to :meth:`Look.make_sure` before it counts. Only the longest
of them is begun before the images, or it would be what is waited for in the end.
"""

from __future__ import annotations

import itertools
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.crew import Crew
from wheelfix.errors import InputError
from wheelfix.loader.view import PE_SUFFIXES, Layer
from wheelfix.pe.image import read_image
from wheelfix.verbs.examination import ArchiveFacts, Examination, Identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.archive.hashing import Digest
    from wheelfix.archive.members import Member
    from wheelfix.archive.reader import Archive
    from wheelfix.archive.record import RecordFault
    from wheelfix.crew import Task
    from wheelfix.loader.view import FileView, ViewFile
    from wheelfix.model import ImageFacts
    from wheelfix.options import ScanOptions
    from wheelfix.roots.late import Candidates
    from wheelfix.verbs.scan import Progress


class RecordIsWrong(Exception):
    """Some hash in RECORD is not right, after all of them were taken to be."""


def examine_wheel(archive: Archive, options: ScanOptions, index: Candidates | None = None) -> Examination:
    """Scan an open wheel."""
    with Crew(options.jobs) as crew:
        return Look(archive, options, crew).examine(index)


class Look:
    """An open wheel whose images are being read, and whose members are being hashed if RECORD is to be verified."""

    def __init__(
        self,
        archive: Archive,
        options: ScanOptions,
        crew: Crew,
        progress: Progress | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """Read the images; ``meanwhile`` is called when there is nothing to do but wait for them."""
        self._archive, self._options, self._progress = archive, options, progress
        self._images = _Images(archive, verify=options.verify)
        self._images.begin(crew)
        # Unpacking lets go of the interpreter lock; what needs it is done meanwhile, imports included.
        from wheelfix.archive.conformance import check_archive
        from wheelfix.archive.hashing import digest_work
        from wheelfix.archive.record import check_record, read_record
        from wheelfix.archive.wheelinfo import WheelInfo
        from wheelfix.loader.places import open_environment, view_of_wheel

        info = WheelInfo.from_archive(archive)
        view = view_of_wheel(archive, info)
        if options.python is not None:
            view = view.over(open_environment(options.python).view)
        others = digest_work(archive, _no_images(view, archive) if options.verify else ())
        self._hashing = [crew.begin_steps(longest) for longest in itertools.islice(others, 1)]
        finish_images = view.begin_images(self._images.start(crew))
        self._hashing += [crew.begin_steps(work) for work in others]
        from wheelfix.verbs.examine import prepare, prepare_more

        self._view, self._info = view, info
        self._faults = (*check_archive(archive), *info.faults)
        self._record = read_record(archive)
        self._record_faults = check_record(archive, self._record)
        prepare()
        if meanwhile is not None:
            meanwhile()
        if self._images.under_way:
            prepare_more()
        finish_images(progress)

    def examine(self, index: Candidates | None = None, *, wait: bool = True) -> Examination:
        """Say what was found; not to ``wait`` for the hashes is to take those of RECORD to be right."""
        from wheelfix.verbs.examine import examine_view, load

        info, options = self._info, self._options
        identity = Identity(str(self._archive.path), info.name, info.version, info.tags, info.metadata.requires_dist)
        load(self._view, identity, options)  # while the others still hash
        record_faults = (*self._record_faults, *self._hash_faults()) if wait else self._record_faults
        facts = ArchiveFacts(info, self._faults, record_faults)
        return examine_view(self._view, identity, options, facts, index, self._progress)

    def make_sure(self) -> None:
        """Wait for the hashes, and raise RecordIsWrong unless they are as RECORD says."""
        if self._hash_faults():
            raise RecordIsWrong

    def _hash_faults(self) -> tuple[RecordFault, ...]:
        if not self._options.verify:
            return ()
        from wheelfix.archive.record import check_hashes

        known = self._images.digests | {
            digest.member.entry: digest for work in self._hashing for digest in work.result()
        }
        return check_hashes(self._archive, self._record, jobs=self._options.jobs, known=known)


def _no_images(view: FileView, archive: Archive) -> list[Member]:
    """The members that are not hashed as images."""
    images = {view.origin(path) for path in view.image_paths}
    return [member for member in archive.members if member.name[-1:] != "/" and member.name not in images]


class _Images:
    """Reads the images of a wheel; where RECORD is to be verified, it hashes them in the same pass."""

    def __init__(self, archive: Archive, *, verify: bool) -> None:
        self._archive, self._verify = archive, verify
        self._early: dict[str, Task[ImageFacts | None]] = {}
        self.digests: dict[int, Digest] = {}

    def begin(self, crew: Crew) -> None:
        """Begin with the largest, before anything else is known of the wheel: nothing takes longer."""
        images = (member for member in self._archive.members if member.name.endswith(PE_SUFFIXES))
        first = max(images, key=attrgetter("usize"), default=None)
        if first is not None and self._archive.find(first.name) is first:  # not the second of two with one name
            self._early[first.name] = crew.begin(lambda: self._read(first))

    @property
    def under_way(self) -> bool:
        """Whether the largest is still being read."""
        return not all(task.done for task in self._early.values())

    def start(self, crew: Crew) -> Callable[[ViewFile], Task[ImageFacts | None]]:
        """Return what has a file of a view read."""

        def start(file: ViewFile) -> Task[ImageFacts | None]:
            own = file.layer is Layer.SUBJECT
            return (self._early.get(file.origin) if own else None) or crew.begin(lambda: self._read_file(file))

        return start

    def _read_file(self, file: ViewFile) -> ImageFacts | None:
        member = self._archive.find(file.origin) if file.layer is Layer.SUBJECT else None
        return self._read(member) if member is not None else None

    def _read(self, member: Member) -> ImageFacts | None:
        """Return the facts of a member; None for one that cannot be read, which the view shows as empty."""
        try:
            if not self._verify:
                return read_image(self._archive.source(member))
            from wheelfix.archive.hashing import HashedReading

            reading = HashedReading(self._archive, member)
            facts = read_image(reading.source)
        except InputError:
            return None
        digest = reading.finish()
        if digest is not None:
            self.digests[member.entry] = digest
        return facts
