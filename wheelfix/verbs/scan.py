"""Look at a wheel, a folder or an environment: read its facts, load it in the model, and say what was found."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.archive.conformance import check_archive
from wheelfix.archive.hashing import HashedReading
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.archive.wheelinfo import WheelInfo, canonical
from wheelfix.errors import EnvironmentFailure, InputError, WheelfixError
from wheelfix.loader.places import open_environment, view_of_folder, view_of_wheel
from wheelfix.loader.predict import predict
from wheelfix.loader.profile import Profile, assumptions
from wheelfix.loader.resolve import resolve
from wheelfix.loader.torch import torch_facts
from wheelfix.loader.view import Layer, base_name
from wheelfix.model import Image, Machine, ScanReport, Severity, dll_key
from wheelfix.options import ScanOptions
from wheelfix.pe.image import read_image
from wheelfix.roots.gather import open_index
from wheelfix.rules.context import Subject
from wheelfix.rules.cudastory import cuda_story
from wheelfix.rules.registry import run
from wheelfix.verbs.details import Details, archs_of_all, scanned_images
from wheelfix.verbs.missing import list_missing

if TYPE_CHECKING:
    from wheelfix.archive.faults import ArchiveFault
    from wheelfix.archive.hashing import Digest
    from wheelfix.archive.record import RecordFault
    from wheelfix.loader.places import Distribution, Environment
    from wheelfix.loader.view import FileView, ViewFile
    from wheelfix.model import ImageFacts
    from wheelfix.options import RepairOptions
    from wheelfix.roots.index import RootIndex

Progress: TypeAlias = Callable[[int, int], None]

_PLATFORMS = {"win_amd64": Machine.AMD64, "win32": Machine.X86, "win_arm64": Machine.ARM64}


@dataclass(frozen=True, slots=True)
class ScanFailure:
    """An input that could not be scanned, and why; the others are scanned all the same."""

    path: str
    error: WheelfixError


@dataclass(frozen=True, slots=True)
class Identity:
    """What a thing calls itself."""

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


@dataclass(frozen=True, slots=True)
class Examination:
    """A scan with the things it was made from, for the verbs that go on from there."""

    report: ScanReport
    subject: Subject
    identity: Identity
    facts: ArchiveFacts = field(default_factory=ArchiveFacts)


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
    paths: Iterable[Path], options: ScanOptions, progress: Progress | None = None
) -> Iterator[ScanReport | ScanFailure]:
    """Scan several inputs, some of them side by side, and give the results in the order of the inputs.

    One that cannot be read does not stop the rest, and never are more than a few in memory.
    """
    waiting = list(paths)
    with open_index(options.roots) as index:
        if len(waiting) == 1 or options.jobs == 1:
            for path in waiting:
                yield from _results(path, options, index, progress)
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


def _gathered(path: Path, options: ScanOptions, index: RootIndex) -> list[ScanReport | ScanFailure]:
    return list(_results(path, options, index, None))


def _results(
    path: Path, options: ScanOptions, index: RootIndex, progress: Progress | None
) -> Iterator[ScanReport | ScanFailure]:
    try:
        yield from _scan_one(path, options, index, progress)
    except WheelfixError as error:
        yield ScanFailure(str(path), error)
    except OSError as error:
        yield ScanFailure(str(path), EnvironmentFailure(str(path), because=error.strerror or str(error)))


def _scan_one(
    path: Path, options: ScanOptions, index: RootIndex | None, progress: Progress | None
) -> Iterator[ScanReport]:
    if not path.is_dir():
        with Archive.open(path, options.limits) as archive:
            yield examine_wheel(archive, options, index, progress).report
    elif is_package_folder(path):
        yield examine_folder(path, options, index, progress).report
    else:
        environment = open_environment(path)
        for distribution in chosen_distributions(environment, options.packages):
            yield examine_installed(environment, distribution, options, index, progress).report


# --------------------------------------------------------------------------------------------- three kinds of input


def examine_wheel(
    archive: Archive, options: ScanOptions, index: RootIndex | None = None, progress: Progress | None = None
) -> Examination:
    """Scan an open wheel."""
    info = WheelInfo.from_archive(archive)
    view = view_of_wheel(archive, info)
    if options.python is not None:
        view = view.over(open_environment(options.python).view)
    identity = Identity(str(archive.path), info.name, info.version, info.tags, info.metadata.requires_dist)
    # Unpacking lets go of the interpreter lock, looking at ten thousand headers does not: they go side by side.
    with ThreadPoolExecutor(max_workers=1) as aside:
        reading = aside.submit(_read_images, view, archive, options, progress)
        faults = (*check_archive(archive), *info.faults)
        known = reading.result()
    record_faults = check_record(archive, hashes=options.verify, jobs=options.jobs, known=known)
    return examine_view(view, identity, options, ArchiveFacts(info, faults, record_faults), index, progress)


def _read_images(
    view: FileView, archive: Archive, options: ScanOptions, progress: Progress | None
) -> Mapping[int, Digest]:
    """Read the images of a wheel; when RECORD is to be verified, hash them in the same pass and return the digests."""
    if not options.verify:
        view.read_images(options.jobs, progress)
        return {}
    known: dict[int, Digest] = {}

    def read(file: ViewFile) -> ImageFacts:
        member = archive.find(file.origin)
        if file.layer is not Layer.SUBJECT or member is None:
            return read_image(file.open())
        try:
            reading = HashedReading(archive, member)
            facts = read_image(reading.source)
        except InputError:
            return read_image(file.open())
        digest = reading.finish()
        if digest is not None:
            known[member.entry] = digest
        return facts

    view.read_images(options.jobs, progress, read)
    return known


def examine_folder(
    path: Path, options: ScanOptions, index: RootIndex | None = None, progress: Progress | None = None
) -> Examination:
    """Scan a package that lies in a folder, as if it were installed."""
    return examine_view(
        view_of_folder(path), Identity(str(path), path.name, ""), options, ArchiveFacts(), index, progress
    )


def examine_installed(
    environment: Environment,
    distribution: Distribution,
    options: ScanOptions,
    index: RootIndex | None = None,
    progress: Progress | None = None,
) -> Examination:
    """Scan one distribution within its environment."""
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


# ----------------------------------------------------------------------------------------------------- the story


def examine_view(
    view: FileView,
    identity: Identity,
    options: ScanOptions,
    facts: ArchiveFacts,
    index: RootIndex | None = None,
    progress: Progress | None = None,
    python: tuple[int, int] | None = None,
) -> Examination:
    """Read the images, resolve the loads, run the rules, and put the report together."""
    view.read_images(options.jobs, progress)
    machine = machine_of(identity.tags, view)
    assume, cuda = assumptions(options.assume, options.no_assume)
    profile = Profile(machine, python_of_tags(identity.tags) or python, assume, cuda)
    resolution = resolve(view, profile, identity.requires)
    details = Details(view)
    details.read_ahead(options)
    subject = Subject(
        view=view,
        profile=profile,
        resolution=resolution,
        machine=machine,
        wheel=facts.info,
        archive_faults=facts.faults,
        record_faults=facts.record_faults,
        torch=torch_facts(view),
        gpu=options.gpu,
        version=details.version,
        gpu_code=details.gpu_code,
        numpy=details.numpy,
        signer=details.signer if options.signatures else nobody_asked,
        thorough=options.versions,
    )
    images = tuple(scanned_images(subject, options))
    report = ScanReport(
        path=identity.path,
        name=identity.name,
        version=identity.version,
        tags=identity.tags,
        machine=machine,
        images=images,
        resolution=resolution,
        missing=list_missing(subject, index),
        first_failure=predict(view, resolution, _excused(subject)),
        findings=run(subject, options.select, options.ignore),
        archs=archs_of_all(images) if options.archs or options.gpu is not None else None,
        cuda=cuda_story(subject),
    )
    return Examination(report, subject, identity, facts)


def again(before: Examination, options: RepairOptions) -> Callable[[FileView, ArchiveFacts], Examination]:
    """The same scan, unfiltered, for another view of the same thing: what a plan asks about its result."""
    scan = replace(options.scan, select=(), ignore=())
    return lambda view, facts: examine_view(view, before.identity, scan, facts, None)


def nobody_asked(path: str) -> None:
    """The answer to a question that costs more than the scan was told to spend."""
    return


def _excused(subject: Subject) -> frozenset[str]:
    """Missing DLLs that fail a load and, as the rules know, not the package."""
    found = run(subject, ("missing-dependency", "outside-search-path"))
    harmful = {dll_key(finding.subject) for finding in found if finding.severity is Severity.ERROR}
    return frozenset(dll_key(base_name(finding.subject)) for finding in found) - frozenset(map(base_name, harmful))


def archive_facts(archive: Archive, info: WheelInfo, options: ScanOptions) -> ArchiveFacts:
    """What is irregular about a wheel as an archive, and between it and its RECORD."""
    faults = (*check_archive(archive), *info.faults)
    return ArchiveFacts(info, faults, check_record(archive, hashes=options.verify, jobs=options.jobs))


def machine_of(tags: tuple[str, ...], view: FileView) -> Machine:
    """The processor a wheel is for: from its platform tag, else the one most of its images are for."""
    for tag in tags:
        platform = tag.rpartition("-")[2]
        if platform in _PLATFORMS:
            return _PLATFORMS[platform]
    counted = Counter(facts.machine for facts in view.images().values() if isinstance(facts, Image))
    counted.pop(Machine.UNKNOWN, None)
    return counted.most_common(1)[0][0] if counted else Machine.AMD64


def python_of_tags(tags: tuple[str, ...]) -> tuple[int, int] | None:
    """The one CPython that a wheel's tags name; None for abi3, pure and several."""
    found = set()
    for tag in tags:
        python, abi = tag.split("-")[:2]
        match = re.fullmatch(r"cp(\d)(\d+)", python)
        if match and abi.startswith("cp"):
            found.add((int(match[1]), int(match[2])))
        else:
            return None
    return found.pop() if len(found) == 1 else None
