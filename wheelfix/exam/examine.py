"""From read images to a report: load them in the model, run the rules, and say what was found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.archive.faults import RecordFault
from wheelfix.base.values import replace
from wheelfix.exam.details import Details, archs_of_all, scanned_images
from wheelfix.exam.examination import ArchiveFacts, Examination, Identity
from wheelfix.exam.missing import list_missing
from wheelfix.exam.provided import list_provided
from wheelfix.exam.targets import target_verdicts
from wheelfix.knowledge.targets import chosen_targets
from wheelfix.loader.packageloading import loading_of
from wheelfix.loader.predict import predict, predict_absent
from wheelfix.loader.profile import Profile, assumptions, python_of_tags
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import BASE, SITE_PACKAGES, Layer, base_name, parent
from wheelfix.model import Image, Machine, ScanReport, Severity
from wheelfix.rules.allowed import with_allowed
from wheelfix.rules.context import Subject
from wheelfix.rules.cudasummary import cuda_summary
from wheelfix.rules.failures import visible_failure
from wheelfix.rules.firstloaded import failure_of_order
from wheelfix.rules.otherdistributions import is_absent_module
from wheelfix.rules.registry import check_patterns, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wheelfix.base.options import RepairOptions, ScanOptions
    from wheelfix.exam.examination import Progress
    from wheelfix.loader.view import FileView
    from wheelfix.model import FileVersion, Finding, Prediction, Resolution
    from wheelfix.roots.root import Candidates

PLATFORM_MACHINES = {"win_amd64": Machine.AMD64, "win32": Machine.X86, "win_arm64": Machine.ARM64}


def examine_view(
    view: FileView,
    identity: Identity,
    options: ScanOptions,
    facts: ArchiveFacts,
    index: Candidates | None = None,
    progress: Progress | None = None,
    python: tuple[int, int] | None = None,
    *,
    installed: bool = False,
    versions: Mapping[str, FileVersion | None] | None = None,
) -> Examination:
    """Read the images, resolve the loads, run the rules, and put the report together.

    For an installed package this machine's CUDA toolkit and NVTX count, as far as its code searches their folders.
    """
    view.read_images(options.jobs, progress)
    profile, resolution = load(view, identity, options, python, installed=installed)
    machine = profile.machine
    details = Details(view, options, versions)
    details.read_ahead(options)
    subject = Subject(
        view=view,
        profile=profile,
        resolution=resolution,
        machine=machine,
        distribution=identity.distribution,
        installed=installed,
        archive_faults=facts.faults,
        record_faults=(*facts.record_faults, *_gone(view, identity)),
        loading=loading_of(view),
        unowned=facts.unowned,
        targets=chosen_targets(options.targets),
        gpu=options.gpu,
        driver=options.driver,
        version=details.version,
        gpu_code=details.gpu_code,
        numpy=details.numpy,
        signature=details.signature if options.signatures or options.signers else not_requested,
        judges_signatures=options.signatures,
        import_order=options.import_order,
    )
    return Examination(_judged(subject, identity, options, index), subject, identity, facts)


def _gone(view: FileView, identity: Identity) -> Iterator[RecordFault]:
    """The DLLs that belong to what is installed, and are neither there nor added by a plan."""
    message = "RECORD of the installed distribution lists it, and it is not there"
    for path in identity.distribution.absent:
        if view.find(parent(path), base_name(path)) is None:
            yield RecordFault("file-gone", path.removeprefix(f"{SITE_PACKAGES}/"), message)


def _judged(subject: Subject, identity: Identity, options: ScanOptions, index: Candidates | None) -> ScanReport:
    """Run the rules on what was read and resolved, and put the report together."""
    images = tuple(scanned_images(subject, options))
    check_patterns(options.select, "select")
    check_patterns(options.ignore, "ignore")
    findings = with_allowed(run(subject, options.select, options.ignore), options.allow_missing)
    first_failure = _first_failure(subject, findings)
    return ScanReport(
        path=identity.path,
        name=identity.name,
        version=identity.version,
        tags=identity.tags,
        # Pure Python is for no processor in particular; the profile still needs one to load with.
        machine=subject.machine if images or machine_of_tags(identity.tags) else Machine.UNKNOWN,
        images=images,
        resolution=subject.resolution,
        missing=list_missing(subject, index),
        first_failure=first_failure,
        findings=findings,
        archs=archs_of_all(images) if options.archs or options.gpu is not None else None,
        cuda=cuda_summary(subject),
        provided=list_provided(subject),
        targets=target_verdicts(subject, findings, first_failure),
    )


def _first_failure(subject: Subject, findings: tuple[Finding, ...]) -> Prediction | None:
    """The error that the import raises: a module that is not installed is met before any DLL."""
    errors = {(item.code, item.subject) for item in findings if item.severity is Severity.ERROR}
    for absent in subject.resolution.absent_modules:
        if is_absent_module(errors, absent.module):
            return predict_absent(subject.view, absent)
    failure = visible_failure(subject, findings)
    if failure is None:
        failure = failure_of_order(subject, findings)
    if failure is None:
        return None
    return predict(subject.view, subject.resolution, failure, subject.profile.python)


def load(
    view: FileView,
    identity: Identity,
    options: ScanOptions,
    python: tuple[int, int] | None = None,
    *,
    installed: bool = False,
) -> tuple[Profile, Resolution]:
    """Load the subject in the model; the images must have been read."""
    assume, cuda = assumptions(options.assume, options.no_assume)
    machine, own = machine_of(identity.tags, view, options.remote.target.platform), python_of_tags(identity.tags)
    if installed:  # the environment's Python imports it, whatever its tags say
        machine, own = machine_of_python(view) or machine, python or own
    profile = Profile(machine, own or python, assume, cuda)
    loading = loading_of(view) if installed and options.roots.discover else None
    built = loading.cuda if loading is not None and loading.startup is not None else None
    if options.roots.discover and (cuda or built):
        profile = _with_folders(profile, built)
    return profile, resolve(view, profile, identity.requires)


def _with_folders(profile: Profile, built: str | None) -> Profile:
    """The profile with the folders of this machine that are searched, where they can be read.

    ``built`` is the CUDA of an installed package that searches for its toolkit; an assumed toolkit may lie anywhere.
    """
    from wheelfix.roots.host import this_machine
    from wheelfix.roots.toolkits import known_toolkit, searched_nvtx, searched_toolkit

    host = this_machine()
    assumed = known_toolkit(profile.cuda, host) if profile.cuda else None
    toolkit = assumed or (searched_toolkit(built, host) if built and not profile.cuda else None)
    return replace(profile, toolkit=toolkit, nvtx=searched_nvtx(host) if built else None)


def examine_again(
    before: Examination,
    view: FileView,
    facts: ArchiveFacts,
    options: RepairOptions,
    versions: Mapping[str, FileVersion | None] | None = None,
) -> Examination:
    """Examine another view of the same thing, with all findings: what a plan asks about its result.

    ``versions`` are version resources that are known, or not to be read.
    """
    scan = replace(options.scan, select=(), ignore=(), allow_missing=options.allow_missing)
    installed, python = before.subject.installed, before.subject.profile.python
    return examine_view(view, before.identity, scan, facts, None, python=python, installed=installed, versions=versions)


def not_requested(path: str) -> None:
    """The answer to a question that costs more than the scan was asked to spend."""
    return


def machine_of_tags(tags: tuple[str, ...]) -> Machine | None:
    """The processor that a platform tag for Windows names, or None."""
    platforms = (tag.rpartition("-")[2] for tag in tags)
    return next((PLATFORM_MACHINES[platform] for platform in platforms if platform in PLATFORM_MACHINES), None)


def machine_of_python(view: FileView) -> Machine | None:
    """The processor that the Python of an environment is for; None where its ``python.exe`` is not there."""
    found = (view.find(folder, "python.exe") for folder in ("", "Scripts", BASE))
    images = (view.image(path) for path in found if path is not None)
    return next((image.machine for image in images if isinstance(image, Image)), None)


def machine_of(tags: tuple[str, ...], view: FileView, platform: str = "win_amd64") -> Machine:
    """The processor a package is examined for: that of its platform tag, else that of the Python it is installed in.

    A wheel for any platform is examined for ``platform``, whatever its DLLs are for: those of one processor may be
    missing. Only a folder without tags is taken to be for the processor that most of its images are for.
    """
    named = machine_of_tags(tags)
    if named is not None:
        return named
    for python in ("python.exe", "Scripts/python.exe"):
        image = view.image(python) if python in view and view.layer(python) is Layer.ENVIRONMENT else None
        if isinstance(image, Image) and image.machine is not Machine.UNKNOWN:
            return image.machine
    if tags:
        return PLATFORM_MACHINES[platform]
    counted = Counter(facts.machine for facts in view.images().values() if isinstance(facts, Image))
    counted.pop(Machine.UNKNOWN, None)
    return counted.most_common(1)[0][0] if counted else PLATFORM_MACHINES[platform]
