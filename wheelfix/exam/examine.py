"""From read images to a report: load them in the model, run the rules, and say what was found."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.archive.faults import ArchiveFault
from wheelfix.base.values import distinct, grouped, replace
from wheelfix.exam.examination import Examination, Progress
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.loader.loading import MOD_NOT_FOUND, PROC_NOT_FOUND
from wheelfix.loader.packageloading import loading_of
from wheelfix.loader.predict import predict, predict_absent
from wheelfix.loader.profile import Profile, assumptions, python_of_tags
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import BASE, SITE_PACKAGES, FileView, base_name, is_pyd, parent
from wheelfix.model import (
    PLATFORM_MACHINES,
    ByteSource,
    Candidate,
    Edge,
    Finding,
    GpuFit,
    Image,
    InView,
    LoadOutcome,
    Machine,
    MayComeFrom,
    MissingDll,
    OwnedBy,
    Prediction,
    ProvidedDll,
    Resolution,
    ScannedImage,
    ScanReport,
    Severity,
    TargetVerdict,
    canonical,
    dll_key,
    verdict_of,
)
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.pe.modulenames import read_numpy
from wheelfix.pe.version import read_version
from wheelfix.roots.host import this_machine
from wheelfix.roots.release import ranked_releases
from wheelfix.roots.toolkits import known_toolkit, searched_nvtx, searched_toolkit
from wheelfix.rules.context import ArchiveFacts, Subject, signature_reader
from wheelfix.rules.cuda import cuda_summary
from wheelfix.rules.dependencies import Need, gather, is_required
from wheelfix.rules.failures import failure_of_order, visible_failure
from wheelfix.rules.gpufit import fit_of_image, in_order
from wheelfix.rules.hints import may_be_vendored, providers_of
from wheelfix.rules.leftout import own_module_missing
from wheelfix.rules.otherdistributions import module_not_installed
from wheelfix.rules.registry import check_patterns, found_by, run, with_allowed
from wheelfix.streams.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wheelfix.base.options import RepairOptions, ScanOptions
    from wheelfix.knowledge.targets import TargetList
    from wheelfix.loader.places import Distribution
    from wheelfix.roots.index import RootIndex


def examine_view(
    view: FileView,
    path: str,
    distribution: Distribution,
    options: ScanOptions,
    facts: ArchiveFacts,
    index: RootIndex | None = None,
    progress: Progress | None = None,
    python: tuple[int, int] | None = None,
    *,
    installed: bool = False,
) -> Examination:
    """Read the images, resolve the loads, run the rules, and put the report together.

    For an installed package this machine's CUDA toolkit and NVTX count, as far as its code searches their folders.
    """
    view.read_images(options.jobs, progress)
    profile, resolution = load(view, distribution, options, python, installed=installed)
    subject = Subject(
        view=view,
        profile=profile,
        resolution=resolution,
        options=options,
        distribution=distribution,
        installed=installed,
        facts=replace(facts, record_faults=(*facts.record_faults, *_gone(view, distribution))),
        loading=loading_of(view),
    )
    _read_ahead(subject)
    return Examination(_judged(subject, path, index), subject)


def _gone(view: FileView, distribution: Distribution) -> Iterator[ArchiveFault]:
    """The DLLs that belong to what is installed, and are neither there nor added by a plan."""
    message = "RECORD of the installed distribution lists it, and it is not there"
    for path in distribution.absent:
        if view.find(parent(path), base_name(path)) is None:
            yield ArchiveFault("file-gone", path.removeprefix(f"{SITE_PACKAGES}/"), message)


def _judged(subject: Subject, path: str, index: RootIndex | None) -> ScanReport:
    """Run the rules on what was read and resolved, and put the report together."""
    options, images = subject.options, tuple(scanned_images(subject))
    check_patterns(options.select, "select")
    check_patterns(options.ignore, "ignore")
    findings = with_allowed(run(subject, options.select, options.ignore), options.allow_missing)
    first_failure = _first_failure(subject, findings)
    return ScanReport(
        path=path,
        name=subject.name,
        version=subject.distribution.version,
        tags=subject.distribution.tags,
        # Pure Python is for no processor in particular; the profile still needs one to load with.
        machine=subject.machine if images or machine_of_tags(subject.distribution.tags) else Machine.UNKNOWN,
        images=images,
        resolution=subject.resolution,
        missing=list_missing(subject, index),
        first_failure=first_failure,
        findings=findings,
        archs=tuple(in_order({arch for image in images for arch in image.archs or ()}))
        if options.archs or options.gpu is not None
        else None,
        cuda=cuda_summary(subject),
        provided=list_provided(subject),
        targets=tuple(_verdict(subject, target, findings, first_failure) for target in subject.targets),
    )


def _first_failure(subject: Subject, findings: tuple[Finding, ...]) -> Prediction | None:
    """The error that the import raises: a module that is not installed is met before any DLL."""
    errors = (item for item in findings if item.severity is Severity.ERROR)
    modules = {item.subject for item in errors if found_by(item, module_not_installed, own_module_missing)}
    for absent in subject.resolution.absent_modules:
        if absent.module in modules and not absent.below:
            return predict_absent(subject.view, absent)
    failure = visible_failure(subject, findings)
    if failure is None:
        failure = failure_of_order(subject, findings)
    if failure is None:
        return None
    return predict(subject.view, subject.resolution, failure, subject.profile.python)


def load(
    view: FileView,
    distribution: Distribution,
    options: ScanOptions,
    python: tuple[int, int] | None = None,
    *,
    installed: bool = False,
) -> tuple[Profile, Resolution]:
    """Load the subject in the model; the images must have been read."""
    assume, cuda = assumptions(options.assume, options.no_assume)
    tags = distribution.tags
    machine, own = machine_of(tags, view, options.remote.target.platform), python_of_tags(tags)
    if installed:  # the environment's Python imports it, whatever its tags say
        machine, own = _machine_of_python(view) or machine, python or own
    profile = Profile(machine, own or python, assume, cuda, bare=options.bare)
    loading = loading_of(view)
    built = loading.cuda if installed and options.roots.discover and loading.startup is not None else None
    if options.roots.discover and (cuda or built):
        profile = _with_folders(profile, built)
    return profile, resolve(view, profile, distribution.requires)


def _with_folders(profile: Profile, built: str | None) -> Profile:
    """The profile with the folders of this machine that are searched, where they can be read.

    ``built`` is the CUDA of an installed package that searches for its toolkit; an assumed toolkit may lie anywhere.
    """
    host = this_machine()
    assumed = known_toolkit(profile.cuda, host) if profile.cuda else None
    toolkit = assumed or (searched_toolkit(built, host) if built and not profile.cuda else None)
    return replace(profile, toolkit=toolkit, nvtx=searched_nvtx(host) if built else None)


def examine_again(
    before: Examination,
    view: FileView,
    facts: ArchiveFacts,
    options: RepairOptions,
) -> Examination:
    """Examine another view of the same thing, with all findings: what a plan asks about its result."""
    scan = replace(options.scan, select=(), ignore=(), allow_missing=options.allow_missing)
    subject, path = before.subject, before.report.path
    python, installed = subject.profile.python, subject.installed
    return examine_view(view, path, subject.distribution, scan, facts, python=python, installed=installed)


def machine_of_tags(tags: tuple[str, ...]) -> Machine | None:
    """The processor that a platform tag for Windows names, or None."""
    platforms = (tag.rpartition("-")[2] for tag in tags)
    return next((PLATFORM_MACHINES[platform] for platform in platforms if platform in PLATFORM_MACHINES), None)


def _machine_of_python(view: FileView) -> Machine | None:
    """The processor that the Python of an environment is for; None where its ``python.exe`` is not there."""
    found = (view.find(folder, "python.exe") for folder in ("", "Scripts", BASE))
    images = (view.image(path) for path in found if path is not None and path not in view.own)
    machines = (image.machine for image in images if isinstance(image, Image))
    return next((machine for machine in machines if machine is not Machine.UNKNOWN), None)


def machine_of(tags: tuple[str, ...], view: FileView, platform: str = "win_amd64") -> Machine:
    """The processor a package is examined for: that of its platform tag, else that of the Python it is installed in.

    A wheel for any platform is examined for ``platform``, whatever its DLLs are for: those of one processor may be
    missing. Only a folder without tags is taken to be for the processor that most of its images are for.
    """
    named = machine_of_tags(tags) or _machine_of_python(view)
    if named is not None:
        return named
    if tags:
        return PLATFORM_MACHINES[platform]
    counted = Counter(facts.machine for facts in view.images().values() if isinstance(facts, Image))
    counted.pop(Machine.UNKNOWN, None)
    return counted.most_common(1)[0][0] if counted else PLATFORM_MACHINES[platform]


def _read_ahead(subject: Subject) -> None:
    """Read the details of all images that the options ask for, several at a time: inflating lets other threads work.

    They are read in the order in which they lie in a file, so that it is inflated in one go.
    """
    options, view = subject.options, subject.view
    readers: list[Callable[[ByteSource], object]] = [read_gpu_code] if options.archs or options.gpu is not None else []
    readers += [read_version] if options.versions else []
    readers += [signature_reader(options.roots.trusted_roots)] if options.signatures or options.signers else []
    readers += [read_numpy] if options.versions else []

    def read(path: str) -> None:
        source = view.source(path)
        for reader in readers:
            if (reader is not read_numpy or is_pyd(path)) and (reader, path) not in view.details:
                view.details[reader, path] = reader(source)

    if readers:
        with WorkerPool(options.jobs) as pool:
            pool.map(read, sorted(subject.images, key=lambda path: -view.file(path).size))


def scanned_images(subject: Subject) -> Iterator[ScannedImage]:
    """The images of a view, with as many details as the options ask for."""
    options = subject.options
    wants_code = options.archs or options.gpu is not None
    for path, facts in subject.view.images().items():
        if not isinstance(facts, Image):
            yield ScannedImage(subject.origin(path), facts, place=path)
            continue
        code = subject.gpu_code(path) if wants_code else None
        yield ScannedImage(
            path=subject.origin(path),
            facts=facts,
            version=subject.version(path) if options.versions else None,
            archs=code.archs if code is not None else None,
            gpu=_gpu_fit(subject, facts, code) if code is not None and code.archs else None,
            numpy=subject.numpy(path) if options.versions and is_pyd(path) else None,
            signature=subject.signature(path),
            place=path,
        )


def _gpu_fit(subject: Subject, image: Image, code: GpuCode) -> GpuFit | None:
    if subject.options.gpu is None or subject.card is None:
        return None
    return GpuFit(subject.options.gpu, subject.card, fit_of_image(code, image.size, subject.card).value)


def list_missing(subject: Subject, index: RootIndex | None) -> tuple[MissingDll, ...]:
    """Every DLL that is needed and has no provider, required ones first, by name."""
    unmet = (edge for edge in subject.edges if edge.is_missing)
    found = [_described(subject, need, index) for need in gather(unmet, lambda edge: edge.required)]
    return tuple(sorted(found, key=lambda missing: not missing.required))


def _described(subject: Subject, need: Need, index: RootIndex | None) -> MissingDll:
    deleted = need.missing.deleted
    return MissingDll(
        name=need.name,
        kind=need.kind,
        required=is_required(subject, need.edges),
        needed_by=tuple(map(subject.origin, need.importers)),
        # The way there: from a load that fails because of it, else from a file that needs it.
        chain=subject.failed_chains.get(dll_key(need.first.name)) or (base_name(need.first.importer), need.first.name),
        candidates=_candidates(need.name, index, subject),
        providers=() if deleted else providers_of(need.name, subject),
        deleted=deleted,
        fetch="" if deleted else _release_on_index(need.name, subject),
    )


def _release_on_index(name: str, subject: Subject) -> str:
    """The release that ``repair --fetch`` would look at first, for a DLL that may be vendored; empty if none is known.

    It is known from the tables: the index is not asked.
    """
    if not may_be_vendored(name, subject.machine):
        return ""
    for distribution, version in ranked_releases(name, subject.cuda.text):
        wheels = provider_index().looked_at(distribution)
        fits = any(wheel.version == version and wheel.machine in (None, subject.machine) for wheel in wheels)
        if fits and distribution != canonical(subject.name):
            return f"{distribution}=={version}"
    return ""


def _candidates(name: str, index: RootIndex | None, subject: Subject) -> tuple[Candidate, ...]:
    """The files of that name in the roots, and with ``--fetch`` on the package index, as a report shows them."""
    if index is None:
        return ()
    if not index.candidates(name):
        index.look_on_index(name, subject.cuda.text, subject.machine)
    return tuple(
        Candidate(file.location, file.root.where, index.shown_version(file), f"{file.origin}, {file.root.learned}")
        for file in index.candidates(name)
    )


def list_provided(subject: Subject) -> tuple[ProvidedDll, ...]:
    """Every DLL that the subject's own files get from other distributions, by distribution and name."""
    own = (_provided(subject, edge) for edge in subject.edges if edge.importer in subject.images)
    found = grouped(((one.distributions, dll_key(one.name), one.how), one) for one in own if one is not None)
    return tuple(
        replace(same[0], needed_by=distinct(path for one in same for path in one.needed_by))
        for _, same in sorted(found.items())
    )


def _provided(subject: Subject, edge: Edge) -> ProvidedDll | None:
    asked = (subject.origin(edge.importer),)
    match edge.provider:
        case OwnedBy(distribution=name, reachable=reachable, because=because, specifier=specifier):
            how = "requirement" if reachable else "out-of-reach"
            return ProvidedDll(edge.name, how, (name,), asked, specifier, because=because)
        case MayComeFrom(distributions=names, because=because):
            return ProvidedDll(edge.name, "unsure", names, asked, because=because)
        case InView(path):
            owner = subject.owner(path)
            return ProvidedDll(edge.name, "file", (owner,), asked, path=path) if owner else None
        case _:
            return None


def _verdict(
    subject: Subject, target: TargetList, findings: Sequence[Finding], first_failure: Prediction | None
) -> TargetVerdict:
    """Return the answer for a target; ``first_failure`` is the error that comes on every Windows."""
    names = [one.name for one in subject.targets]
    own = [item for item in findings if item.evidence.get("target") == target.name]
    counted = [item for item in findings if item.evidence.get("target") not in names or item in own]
    return TargetVerdict(
        name=target.name,
        title=target.title,
        build=target.build,
        date=target.date,
        verdict=verdict_of(counted),
        absent=tuple(name for item in own if item.severity is Severity.ERROR for name in _names(item)),
        perhaps_absent=tuple(
            name
            for item in own
            if not _is_unknown(item) and item.severity is not Severity.ERROR
            for name in _names(item)
        ),
        unknown=tuple(name for item in own if _is_unknown(item) for name in _names(item)),
        first_failure=first_failure or _failure(subject, own),
    )


def _is_unknown(item: Finding) -> bool:
    """Whether nothing is known about the DLLs of a finding: then it is about all of them, and names no importer."""
    return "importer" not in item.evidence


def _names(item: Finding) -> list[str]:
    """The DLLs, or the functions, that a finding is about."""
    dlls, symbols, functions = item.texts("names"), item.evidence.get("symbols"), item.evidence.get("functions")
    if isinstance(functions, dict):
        found = [f"{dll}!{one}" for dll, several in functions.items() if isinstance(several, list) for one in several]
        return [dll for dll in dlls if dll not in functions] + found
    if isinstance(symbols, list):
        return [f"{dll}!{symbol if isinstance(symbol, str) else f'#{symbol}'}" for dll in dlls for symbol in symbols]
    return dlls


def _failure(subject: Subject, findings: Sequence[Finding]) -> Prediction | None:
    """The error of the first load that fails on a target: absent files are noticed before absent functions."""
    errors = [item for item in findings if item.severity is Severity.ERROR]
    errors.sort(key=lambda item: "symbols" in item.evidence)
    unguarded = (outcome.event for outcome in subject.outcomes if not outcome.event.guarded)
    for event, item in itertools.product(unguarded, errors):
        if item.evidence["load"] == subject.origin(event.path):
            code = PROC_NOT_FOUND if "symbols" in item.evidence else MOD_NOT_FOUND
            failed = LoadOutcome(event, code, tuple(item.texts("chain")), ", ".join(_names(item)[:3]))
            return predict(subject.view, subject.resolution, failed)
    return None
