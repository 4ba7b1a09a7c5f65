"""Look at a wheel: its largest image is begun at once, and what needs the interpreter is done while threads unpack.

Images come first, because everything waits for their facts. The hashes of the other members, which only RECORD needs,
may go on while somebody plans and writes already, who has to :meth:`Look.make_sure` before it counts. Only the longest
of them is begun before the images, or it would be what is waited for in the end.
"""

from __future__ import annotations

import contextlib
import itertools
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive import codec
from wheelfix.archive.reader import Archive
from wheelfix.crew import Crew
from wheelfix.errors import InputError
from wheelfix.loader.view import PE_SUFFIXES, Layer
from wheelfix.pe.image import read_image
from wheelfix.verbs.examination import ArchiveFacts, Examination, Identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wheelfix.archive.hashing import Digest
    from wheelfix.archive.members import Member
    from wheelfix.archive.record import RecordFault
    from wheelfix.crew import Task
    from wheelfix.loader.view import FileView, ViewFile
    from wheelfix.model import ImageFacts
    from wheelfix.options import ScanOptions
    from wheelfix.roots.late import Candidates
    from wheelfix.verbs.scan import Progress

    Meanwhile = Callable[[Archive], None]


_SEEN: list[Look] = []
"""The last wheel: mostly the process ends before the next, and need not take ten thousand values apart one by one."""


class RecordIsWrong(Exception):
    """Some hash in RECORD is not right, after all of them were taken to be."""


def examine_wheel(archive: Archive, options: ScanOptions, index: Candidates | None = None) -> Examination:
    """Scan an open wheel."""
    with Crew(options.jobs) as crew:
        return Look(archive, options, crew, Images(crew, verify=options.verify)).examine(index)


@contextlib.contextmanager
def looking_at(
    path: Path, options: ScanOptions, progress: Progress | None = None, meanwhile: Meanwhile | None = None
) -> Iterator[tuple[Archive, Look]]:
    """Open a wheel and look at it; the largest image is begun before the directory is read to its end."""
    _SEEN.clear()
    with Crew(options.jobs) as crew:
        images = Images(crew, verify=options.verify)
        # It is closed before the crew is waited for: what still reads has no more to read.
        with Archive.open(path, options.limits, early=images.foresee) as archive:
            look = Look(archive, options, crew, images, progress, meanwhile)
            _SEEN.append(look)
            yield archive, look


class Look:
    """An open wheel whose images are being read, and whose members are being hashed if RECORD is to be verified."""

    def __init__(
        self,
        archive: Archive,
        options: ScanOptions,
        crew: Crew,
        images: Images,
        progress: Progress | None = None,
        meanwhile: Meanwhile | None = None,
    ) -> None:
        """Read the images; ``meanwhile`` is called when there is nothing to do but wait for them."""
        self._archive, self._options, self._progress = archive, options, progress
        self._images = images
        images.begin(archive)
        # Unpacking lets go of the interpreter lock; what needs it is done meanwhile, imports included.
        from wheelfix.archive.conformance import check_archive
        from wheelfix.archive.hashing import digest_work
        from wheelfix.archive.record import check_record
        from wheelfix.archive.wheelinfo import WheelInfo
        from wheelfix.loader.places import open_environment, view_of_wheel

        info = WheelInfo.from_archive(archive)
        view = view_of_wheel(archive, info)
        if options.python is not None:
            view = view.over(open_environment(options.python).view)
        others = digest_work(archive, _no_images(view, archive) if options.verify else ())
        self._hashing = [crew.begin_steps(longest) for longest in itertools.islice(others, 1)]
        finish_images = view.begin_images(images.start)
        self._hashing += [crew.begin_steps(work) for work in others]
        from wheelfix.verbs.examine import prepare, prepare_more

        self._view, self._info = view, info
        self._faults = (*check_archive(archive), *info.faults)
        self._record_faults = check_record(archive)
        prepare()
        if meanwhile is not None:
            meanwhile(archive)
        if images.under_way:
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
        from wheelfix.archive.record import check_hashes, read_record

        known = self._images.digests | {
            digest.member.entry: digest for work in self._hashing for digest in work.result()
        }
        return check_hashes(self._archive, read_record(self._archive), jobs=self._options.jobs, known=known)


def _no_images(view: FileView, archive: Archive) -> list[Member]:
    """The members that are not hashed as images."""
    images = {view.origin(path) for path in view.image_paths}
    return [member for member in archive.members if member.name[-1:] != "/" and member.name not in images]


class Images:
    """Reads the images of a wheel; where RECORD is to be verified, it hashes them in the same pass."""

    def __init__(self, crew: Crew, *, verify: bool) -> None:
        self._crew, self._verify = crew, verify
        self._archive: Archive
        self._guess: tuple[Member, Task[ImageFacts | None]] | None = None
        self._guessed_wrong = False
        self._early: dict[str, Task[ImageFacts | None]] = {}
        self._digests: dict[int, Digest] = {}

    @property
    def digests(self) -> dict[int, Digest]:
        """The digests of those that were hashed, by ``entry``; what was begun too early and is refused has none."""
        return {
            entry: digest for entry, digest in self._digests.items() if not self._archive.why_refused(digest.member)
        }

    def foresee(self, archive: Archive) -> None:
        """Begin with what looks like the largest, before the directory is taken apart: nothing takes longer."""
        self._archive = archive
        guess = archive.guess_largest(suffix.encode() for suffix in PE_SUFFIXES)
        if guess is not None and guess.usize < archive.limits.ratio_from:
            codec.unpacker()  # imports what it takes, which takes longer in a thread among others
            self._guess = guess, self._crew.begin(lambda: None if self._guessed_wrong else self._read(guess))

    def begin(self, archive: Archive) -> None:
        """Begin with the largest, before anything else is known of the wheel, unless it was foreseen."""
        self._archive = archive
        images = (member for member in archive.members if member.name.endswith(PE_SUFFIXES))
        first = max(images, key=attrgetter("usize"), default=None)
        if first is None or archive.find(first.name) is not first:  # the second of two with one name
            return
        if self._guess is not None and self._guess[0] == first and not archive.why_refused(first):
            self._early[first.name] = self._guess[1]
        else:
            self._guessed_wrong = True
            self._early[first.name] = self._crew.begin(lambda: self._read(first))

    @property
    def under_way(self) -> bool:
        """Whether the largest is still being read."""
        return not all(task.done for task in self._early.values())

    def start(self, file: ViewFile) -> Task[ImageFacts | None]:
        """Have a file of a view read."""
        own = file.layer is Layer.SUBJECT
        return (self._early.get(file.origin) if own else None) or self._crew.begin(lambda: self._read_file(file))

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
            self._digests[member.entry] = digest
        return facts
