"""Decide what a repair will do, what the wheel it makes would be like, and what to advise where DLLs stay missing."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.archive.conformance import NOT_IRREGULAR
from wheelfix.archive.names import name_parts
from wheelfix.base.options import Renaming, RepairOptions
from wheelfix.base.parsing import human_size
from wheelfix.base.values import distinct, frozen, grouped, replace
from wheelfix.errors import CannotRepair, NetworkFailure, UsageError, shown_url
from wheelfix.exam.examine import examine_again
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.provider_index import known_sha256, trusted_by
from wheelfix.loader.loading import split_forwarder
from wheelfix.loader.packagecode import names_in_code
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, key_of
from wheelfix.model import (
    EdgeKind,
    Finding,
    Image,
    MissingDll,
    Repairable,
    Severity,
    dll_key,
    fold,
)
from wheelfix.pe.version import read_version
from wheelfix.plan.model import (
    Addition,
    ArchiveFix,
    Chosen,
    Plan,
    Refusal,
    Remaining,
    Rename,
    Source,
    Supplied,
    TakenRelease,
    WheelRef,
)
from wheelfix.plan.planner import EXCLUDED, TRUST, Planner, processed_by, signature_in_words
from wheelfix.plan.ways import is_supply, relying, supplies, ways
from wheelfix.pycode.sourcecode import python_code
from wheelfix.remote.addresses import identity
from wheelfix.roots.release import GROUPS, LEARNED, broken_requirements, shown_version
from wheelfix.rules.archive import lasting_faults, only_on_request, record_faults
from wheelfix.rules.cuda import partial_cuda
from wheelfix.rules.dependencies import missing_companions
from wheelfix.rules.registry import Group, all_allowed, found_by, group_of, matches_any
from wheelfix.rules.wording import and_more
from wheelfix.streams.codec import Compressor
from wheelfix.streams.pool import Task, WorkerPool
from wheelfix.streams.source import sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wheelfix.archive.faults import ArchiveFault
    from wheelfix.archive.reader import Archive
    from wheelfix.exam.examination import Examination
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import Required, Root, RootFile


def choose_layout(planner: Planner, chosen: tuple[Chosen, ...]) -> tuple[frozenset[str], list[str]]:
    """Return the additions that are renamed, and what the user should know about it.

    UsageError if an option for it makes no sense.
    """
    renamed, notes = _choose(planner, chosen)
    renaming = planner.options.renaming
    if renamed:
        _check_places(planner.view, renaming)
    elif renaming.asked:
        notes.append(f"{', '.join(renaming.asked)}: not used, because no DLL goes to a folder for renamed DLLs")
    return renamed, notes


def _check_places(view: FileView, renaming: Renaming) -> None:
    """UsageError if the wheel has no place for the code that finds the DLLs, where the options say it should be."""
    for package in renaming.namespace_pkgs:
        folder = f"{SITE_PACKAGES}/{package.replace('.', '/')}/"
        if not any(file.path.startswith(folder) for file in view.files):
            raise UsageError(f"--namespace-pkg {package}", because="the wheel has no such package")
    if renaming.custom_patch and not any(True for _ in python_code(view, (b"# delvewheel: patch",))):
        raise UsageError(
            "--custom-patch",
            because="no Python file of the wheel has the comment '# delvewheel: patch'",
            hint="put that line where the package should look for its DLLs",
        )


def _choose(planner: Planner, chosen: tuple[Chosen, ...]) -> tuple[frozenset[str], list[str]]:
    """Choose the additions for the folder.

    Two packages with an unmangled ``zlib1.dll`` collide, so DLLs of no known family are renamed in ordinary extension
    packages. Vendors' families break when renamed, and a package with a DLL folder of its own needs no help.
    """
    subject, layout = planner.subject, planner.options.layout
    if layout == "libs" and subject.startup is not None:
        lib = subject.startup.lib.removeprefix(f"{SITE_PACKAGES}/")
        because = f"{subject.loading.package} loads {lib} by itself, and only there"
        raise UsageError("--layout libs", because=because, hint="leave --layout out")
    own = subject.resolution.search_dirs or not any(one.event.cause == "extension" for one in subject.outcomes)
    installed = planner.subject.facts.info is None  # its __init__.py is not patched
    if installed or layout == "beside" or subject.startup or planner.options.dest or (layout == "auto" and own):
        return frozenset(), []
    # What RECORD lists goes back to where it was, under its own name.
    candidates = [entry for entry in chosen if entry.file is not None and entry.path not in planner.restorable]
    if candidates and (version := processed_by(planner.before)):
        note = f"delvewheel {version} has processed this wheel, which it does only once: the new DLLs keep their names"
        return frozenset(), [note] if layout == "libs" else []
    tied = _ties(planner.view, candidates) if candidates else {}
    notes = [f"{base_name(path)} keeps its name: {reason}" for path, reason in tied.items() if layout == "libs"]
    return frozenset(entry.path for entry in candidates if entry.path not in tied), notes


def one_of_each(chosen: tuple[Chosen, ...], renamed: frozenset[str]) -> tuple[Chosen, ...]:
    """Return the additions without further copies of what is renamed: ``<distribution>.libs`` serves all folders."""
    kept: dict[str, Chosen] = {}
    for entry in chosen:
        name = key_of(entry.path) if entry.path in renamed else entry.path
        first = kept.get(name)
        serves = distinct([*first.serves, *entry.serves]) if first else ()
        kept[name] = replace(first, serves=serves) if first else entry
    return tuple(kept.values())


def _ties(view: FileView, candidates: list[Chosen]) -> dict[str, str]:
    """Return why additions cannot be renamed, by path; those that can are left out."""
    images = [(path, image) for path, image in view.images().items() if isinstance(image, Image)]
    importers = grouped(
        (dll_key(need.dll), path) for path, image in images for need in (*image.imports, *image.delay_imports)
    )
    forwarded = {dll_key(split_forwarder(to)[0]) for _, one in images for to in one.exports.forwarders.values()}
    namesakes = Counter(key for key, _ in {(key_of(entry.path), entry.file) for entry in candidates})
    code = names_in_code(view)

    def why(entry: Chosen) -> str:
        name = base_name(entry.path)
        key, family = dll_key(name), family_of(name)
        others = [path for path in importers.get(key, ()) if not path.lower().endswith((".pyd", ".dll"))]
        if family:
            return f"{family.title} loads its parts by name"
        if code.mentions(name):
            return "the package's Python code names it"
        if entry.kind not in ("import", "delay"):
            return "no import table names it"
        if others:
            return f"{base_name(others[0])} imports it, and delvewheel changes only .pyd and .dll files"
        if key in forwarded:
            return "another DLL forwards exports to it by name"
        return "different files of this name are needed" if namesakes[key] > 1 else ""

    return {entry.path: reason for entry in candidates if (reason := why(entry))}


def left_to_others(after: Examination) -> tuple[str, ...]:
    """The DLLs of Windows, Python, drivers and owners, and what may be missing; as they compare and as spelled."""
    found: dict[str, None] = {}
    for edge in after.report.resolution.edges:
        if not edge.file or edge.file not in after.subject.view.own:
            found[dll_key(edge.name)] = None
            if edge.is_missing:
                found[edge.name] = None
    return tuple(sorted(found))


def _fetched(chosen: Iterable[Chosen]) -> list[RootFile]:
    """The files among these that come from wheels on servers, each once."""
    files = dict.fromkeys(entry.file for entry in chosen if entry.file is not None)
    return [file for file in files if file.root.remote is not None]


def trust_fetched(chosen: Iterable[Chosen], index: RootIndex, path: str, *, preview: bool) -> dict[Root, str]:
    """Return why the bytes of each fetched wheel count; NetworkFailure or CannotRepair if they do not.

    The weakest reason of a wheel's DLLs is that of all: ``table``, then ``signature``, then ``wheel``. For a
    ``preview``, before its DLLs are downloaded, ``table`` or ``not-fetched``.
    """
    found = {}
    for root, files in grouped((file.root, file) for file in _fetched(chosen)).items():
        if preview:
            found[root] = "table" if all(map(expected_sha256, files)) else "not-fetched"
            continue
        reasons = {trusted_by(one.package, index.sha256(one), index.signature(one)) for one in files}
        if "" in reasons:
            _check_whole(root, files, index, path)
        found[root] = "wheel" if "" in reasons else "signature" if "signature" in reasons else "table"
    return found


def expected_sha256(file: RootFile) -> str:
    """Return the sha256 that the table has for a DLL of a wheel on the index; empty where it does not have it."""
    return known_sha256(file.root.remote.name, file.path) if file.root.remote is not None else ""


def still_to_fetch(chosen: Iterable[Chosen], index: RootIndex) -> list[str]:
    """Return how much a repair will download for a plan for which no DLL was downloaded."""
    packed = [found[1].csize for file in _fetched(chosen) if (found := index.packed(file)) is not None]
    if not packed:
        return []
    size = f"{human_size(sum(packed))} for {len(packed)} DLL{'s' if len(packed) > 1 else ''}"
    return [f"a repair fetches {size} from the package index, less what is in the cache"]


def _check_whole(root: Root, files: Iterable[RootFile], index: RootIndex, path: str) -> None:
    """Download the wheel, check its hash, and compare what came in parts with it."""
    assert root.remote is not None
    if not root.remote.sha256:
        raise CannotRepair(
            f"{path} cannot be repaired",
            because=f"{root.remote} has no sha256 on its index, and its DLLs are not known or signed by the vendor",
            hint="download the wheel, check it yourself, and name it with --root",
        )
    if root.remote.page:
        raise CannotRepair(
            f"{path} cannot be repaired",
            because=f"the sha256 of {root.remote} was read from {shown_url(root.remote.page)} over plain http, "
            "where anyone on the network can change it, and its DLLs are not known or signed by the vendor",
            hint="use https, or name the host in pip's trusted-host",
        )
    before = {one: index.sha256(one) for one in files}
    index.use_whole(root)
    for one, digest in before.items():
        if index.digest_again(one) != digest:
            raise NetworkFailure(
                f"{one.location} is not what was expected",
                because="the parts that the server sent differ from the whole wheel, which has the right hash",
                hint="nothing was written; use another index",
            )


def finding_in_words(finding: Finding) -> str:
    """Return a finding as a reason why a repair does not succeed."""
    text = finding.message if finding.subject in finding.message else f"{finding.subject}: {finding.message}"
    return f"{finding.code} {text}"


def cannot_repair(name: str, lasting: Sequence[Finding], planned: Planned, *, fetch: bool) -> CannotRepair:
    """Return the error for a wheel or package that would still fail, or of which that could not be told.

    ``fetch`` says whether the package index was asked for what no root has.
    """
    plan, missing = planned.plan, planned.after.report.missing
    releases = {item.name: item.fetch for item in missing if item.fetch and not fetch}
    unsure = all(finding.severity is Severity.UNSURE for finding in lasting)
    deleted = [finding for finding in lasting if finding.evidence.get("kind") == "row-orphan"]
    settles = next((finding.hint for finding in [*deleted, *lasting] if finding.hint), "`wheelfix scan` shows more")
    half = next((finding for finding in lasting if _hides_toolkit(finding, plan)), None)
    if half is not None and not unmet(plan):
        settles = (
            "vendor all of CUDA (--cuda FOLDER with the whole toolkit, --cudnn FOLDER), or none of it: "
            f"--assume cuda={half.evidence['cuda']} leaves it to machines that have the toolkit"
        )
    return CannotRepair(
        f"could not tell whether {name} loads" if unsure else f"{name} cannot be repaired",
        because=(*map(finding_in_words, lasting), *why_unmet(plan)),
        hint=settles
        if deleted
        else hint(plan, releases) or (f"{settles}; --allow-missing NAME accepts it" if unsure else settles),
    )


NOWHERE = "no root has "
"""How the reason begins when there was nothing to choose from."""


def unmet(plan: Plan) -> tuple[Remaining, ...]:
    """Return the DLLs that something fails without, and that the user did not allow to be missing."""
    return tuple(item for item in plan.remaining if item.required and not item.allowed)


def why_unmet(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each DLL that was somewhere and was not taken; those that are nowhere need none."""
    return tuple(
        f"{item.name}: {item.because}" for item in unmet(plan) if item.because and not item.because.startswith(NOWHERE)
    )


def hint(plan: Plan, releases: Mapping[str, str]) -> str:
    """Return what to do about the DLLs that are still missing; empty when none is.

    ``releases`` are those on the package index that have a DLL, by its name.
    """
    items = unmet(plan)
    if not items:
        return ""
    nowhere = [item.name for item in items if not item.because or item.because.startswith(NOWHERE)]
    included = [item.name for item in items if "--include" in item.because]
    on_index = [name for name in nowhere if name in releases]
    steps = [f"add --fetch to take {and_more(on_index)} from the package index"] if on_index else []
    if nowhere:
        steps.append(f"name the folder of {and_more(nowhere)} with --root")
    if included:
        options = " ".join(f"--include {name}" for name in included)
        steps.append(
            f"{options} adds what was refused" if len(included) < 4 else "--include NAME adds what was refused"
        )
    trusted = [item.because.partition(TRUST)[2].split()[0] for item in items if TRUST in item.because]
    if trusted:
        steps.append(" ".join(f"{TRUST} {name}" for name in dict.fromkeys(trusted)))
    if len(nowhere) + len(included) < len(items):
        steps.append("name a root with a suitable file")
    return ", or ".join([*steps, "accept it with --allow-missing NAME"])


@frozen
class Planned:
    """A plan, the files behind it, and what the scan says about the wheel that it will make."""

    plan: Plan
    chosen: tuple[Chosen, ...]
    after: Examination


def make_plan(
    before: Examination,
    index: RootIndex,
    options: RepairOptions,
    archive: Archive | None = None,
    *,
    preview: bool = False,
) -> Planned:
    """Decide what to do with what was scanned: a wheel, or a distribution in an environment.

    For a ``preview`` no DLL is downloaded from the package index, only read as far as the choice needs it. Such a plan
    has the hashes that are known without that, and cannot be carried out.
    """
    with WorkerPool(options.scan.jobs) as pool:
        planner = _agreed(before, index, options, preview=preview)
        everything = tuple(planner.chosen[path] for path in sorted(planner.chosen))
        outside = tuple(one for one in everything if options.via == "wheels" and one.file and is_supply(one.file))
        chosen = tuple(one for one in everything if one not in outside)
        renamed, layout_notes = choose_layout(planner, chosen)
        chosen = one_of_each(chosen, renamed)
        reading = _begin_reading(chosen, index, pool, preview=preview)
        after, supplied, patched = _outcome(planner, everything, chosen, outside)
        for task in reading:
            task.result()
        trust = trust_fetched(chosen, index, before.report.path, preview=preview)
        waiting = still_to_fetch(chosen, index) if preview else []
    additions = tuple(_addition(entry, planner, entry.path in renamed, trust) for entry in chosen)
    remaining = tuple(_remaining(after, planner))
    notes = (
        *(warning for addition in additions for warning in addition.warnings),
        *layout_notes,
        *waiting,
        *(note for file in _fetched(chosen) for note in file.root.notes),
        *_left_to_users(planner, outside),
    )
    compressor = Compressor.choose(options.compressor or "auto", options.compression)
    prefix = before.subject.facts.info.prefix if before.subject.facts.info else ""
    plan = Plan(
        wheel=reference(archive, before, hash_file=options.seal),
        output=output_name(archive.path.name, options.build_tag) if archive else "",
        layout="libs" if renamed else "beside",
        releases=tuple(_releases(planner)),
        additions=additions,
        drops=tuple(sorted(planner.drops, key=lambda drop: drop.path)),
        renames=(Rename(prefix, "", "everything lay one folder too deep"),) if prefix else (),
        mends=_archive_fixes(before, options, bool(chosen or planner.drops or supplied)),
        refused=tuple(
            Refusal(need.name, EXCLUDED) for need in planner.unmet if matches_any(need.name, options.exclude)
        ),
        supplied=supplied,
        patched=tuple(path.removeprefix(prefix) for path in patched),
        remaining=remaining,
        ways=ways(before, additions, remaining) if archive and options.via == "vendor" else (),
        kept=(len(archive.members) if archive else len(before.subject.view.files)) - len(planner.drops),
        compressor=f"{compressor.name} {compressor.version}",
        compression=compressor.compression,
        sbom=options.sbom and bool(chosen),
        recompress=options.recompress and any(map(only_on_request, before.report.findings)),
        left_alone=left_to_others(after) if renamed else (),
        renaming=options.renaming if renamed else Renaming(),
        notes=distinct(notes),
    )
    return Planned(plan, chosen, after)


def _outcome(
    planner: Planner, everything: tuple[Chosen, ...], chosen: tuple[Chosen, ...], outside: tuple[Chosen, ...]
) -> tuple[Examination, tuple[Supplied, ...], tuple[str, ...]]:
    """Examine the wheel with what goes into it; return that, what it requires for the rest, and the files that change.

    ``outside`` is what comes from distributions that it requires.
    """
    before = described = planner.before
    result, patched = planner.view.changed(dropped=[one.path for one in outside]), tuple[str, ...]()
    supplied = supplies(outside, planner.index, before) if outside else ()
    if supplied:
        files = {one.file for one in outside if one.file is not None}
        described, result, patched = relying(before, result, supplied, files, planner.index)
    facts = replace(
        before.subject.facts,
        info=replace(before.subject.facts.info, faults=(), prefix="") if before.subject.facts.info else None,
        faults=lasting_faults(before.subject.facts.faults),
        record_faults=_lasting_rows(before, everything, planner),
    )
    unread = _fetched(chosen) if planner.preview else ()
    result.details.update({(read_version, entry.path): None for entry in chosen if entry.file in unread})
    return examine_again(described, result, facts, planner.options), supplied, patched


def _left_to_users(planner: Planner, outside: Sequence[Chosen]) -> Iterator[str]:
    """What users need besides the wheel and what it requires: a toolkit, and what DLLs of others look for in vain."""
    if planner.options.via == "toolkit":
        yield f"its users need CUDA {planner.subject.profile.cuda}, installed by NVIDIA's installer"
    paths = {one.path for one in outside}
    for need in planner.unmet:
        if not paths.isdisjoint(need.importers):
            users = ", ".join(dict.fromkeys(base_name(path) for path in need.importers if path in paths))
            yield f"no root has {need.name}, which {users} of a required distribution needs: its users have to have it"


def _agreed(before: Examination, index: RootIndex, options: RepairOptions, *, preview: bool) -> Planner:
    """A planner that has chosen; wheels of the package index among its sources fulfil what they require of each other.

    Who is chosen first does not know yet what the others require, so it is done again where they do not agree.
    """
    required: Required = ()
    while True:
        planner = Planner(before, index, options, before.subject.view, required=required, preview=preview)
        planner.run()
        files = (entry.file for entry in planner.chosen.values())
        fetched = {file.root for file in files if file is not None and file.root.learned == LEARNED}
        new = set(broken_requirements(fetched)).difference(required)
        if not new:
            return planner
        required = (*required, *sorted(new))


def _lasting_rows(before: Examination, chosen: tuple[Chosen, ...], planner: Planner) -> tuple[ArchiveFault, ...]:
    """Members that cannot be read, and files that RECORD lists, the wheel does not have, and nobody gave up.

    A repair does not hide either.
    """
    restored = {fold(planner.view.origin(entry.path)) for entry in chosen}
    given_up = (*planner.options.accept_missing, *planner.options.drop)
    return tuple(
        fault
        for fault in before.subject.facts.record_faults
        if fault.kind == "member-unreadable"
        or (
            fault.kind == "row-orphan"
            and fold(fault.subject) not in restored
            and not any(fnmatch.fnmatchcase(fold(fault.subject), fold(pattern)) for pattern in given_up)
        )
    )


def _releases(planner: Planner) -> Iterator[TakenRelease]:
    """The releases that were chosen once for all DLLs of a toolkit; nothing where no candidate shows its own."""
    for group, one in sorted(planner.releases.items()):
        if one.release or one.refused:
            yield TakenRelease(GROUPS[group], one.release, one.because, one.refused, one.other)


def reference(archive: Archive | None, before: Examination, *, hash_file: bool = False) -> WheelRef:
    """What identifies the wheel that a plan is for; an installed distribution has no archive."""
    report = before.report
    if archive is None:
        return WheelRef(report.path, report.name, report.version, 0, "")
    digest = hashlib.sha256(archive.directory).hexdigest()
    whole = sha256_of(archive) if hash_file else ""
    info, faults = before.subject.facts.info, before.subject.facts.faults
    odd = {fault.kind for fault in faults if info is None or fault not in info.faults} - NOT_IRREGULAR
    return WheelRef(str(archive.path), report.name, report.version, archive.size, digest, whole, not odd)


def output_name(name: str, build_tag: str | None) -> str:
    """The file name of the repaired wheel: the same, or with another build tag."""
    if build_tag is None:
        return name
    parts = name_parts(name)
    if not re.fullmatch("[0-9][A-Za-z0-9_.]{0,63}", build_tag):
        because = "a build tag begins with a digit and has letters, digits, dots and underscores after it"
        raise UsageError(f"--build-tag {build_tag}", because=because)
    tags = [parts[key] for key in ("python", "abi", "platform", "variant") if parts[key]]
    return "-".join([parts["name"], parts["version"], build_tag, *tags]) + ".whl"


def _begin_reading(chosen: Iterable[Chosen], index: RootIndex, pool: WorkerPool, *, preview: bool) -> list[Task[None]]:
    """Start to read what the plan says about each file, the largest first; for a ``preview`` none on a server."""
    files = {one.file for one in chosen if one.file is not None and not (preview and one.file.root.remote is not None)}
    for file in files:
        index.packed(file)  # which opens its wheel, before several threads want to
    largest = sorted(files, key=lambda file: (-file.size, file.location))
    return [pool.submit(functools.partial(index.read_whole, file)) for file in largest]


def _addition(entry: Chosen, planner: Planner, mangle: bool, trust: Mapping[Root, str]) -> Addition:
    target = planner.view.origin(entry.path)
    if mangle:
        target = f"{planner.before.report.name}{planner.options.renaming.lib_sdir}/{base_name(entry.path)}"
    signer, answer, warnings = "", "", entry.warnings
    if entry.file is None:
        origin = planner.subject.view.origin(entry.own)
        source = Source("own", planner.before.report.path, origin, origin="this wheel")
        own = planner.view.file(entry.path)
        size, digest, version = own.size, sha256_of(own.open()), ""
    else:
        file, index = entry.file, planner.index
        kind = file.root.kind if file.root.is_file else "file"
        path = str(file.root.path) if file.root.is_file else file.location
        member = file.path if file.root.is_file else ""
        source = Source(kind, path, member, str(file.root.path), file.origin)
        if file.root.remote is not None:
            url, whole = identity(file.root.remote.url), file.root.remote.sha256
            source = Source("index", url, member, url, file.origin, whole, trust[file.root])
        size, version = file.size, shown_version(file, index)
        if planner.preview and file.root.remote is not None:
            digest = expected_sha256(file)
        else:
            digest, signature = index.sha256(file), index.signature(file)
            signer, answer = signature.trusted_signer, str(signature)
            if signature.reason:
                warnings = (*warnings, f"{file.location} {signature_in_words(signature)}")
    return Addition(
        target=target,
        name=base_name(entry.path),
        kind=entry.kind,
        source=source,
        size=size,
        sha256=digest,
        version=version,
        because=entry.because,
        serves=entry.serves,
        chosen=entry.reason,
        rejected=entry.rejected,
        signer=signer,
        signature=answer,
        mangle=mangle,
        warnings=warnings,
    )


def _archive_fixes(before: Examination, options: RepairOptions, writing: bool) -> tuple[ArchiveFix, ...]:
    """What rewriting the wheel fixes by itself; a harmless fault is not a reason to rewrite it."""
    findings = [
        f for f in before.report.findings if group_of(f) is Group.ARCHIVE and f.repairable is not Repairable.NEVER
    ]
    findings = [f for f in findings if options.recompress or not only_on_request(f)]
    asked = any(map(only_on_request, findings))
    if not writing and not asked and all(finding.severity is Severity.INFO for finding in findings):
        return ()
    return tuple(ArchiveFix(finding.code, finding.subject, finding.message) for finding in findings)


def _remaining(after: Examination, planner: Planner) -> Iterator[Remaining]:
    for missing in after.report.missing:
        yield Remaining(
            name=missing.name,
            required=missing.required,
            needed_by=missing.needed_by,
            because=planner.unanswered.get(dll_key(missing.name)) or _why_left_out(missing),
            providers=missing.providers,
            allowed=_is_allowed(missing, planner.options),
        )


def _why_left_out(missing: MissingDll) -> str:
    """Say why nothing was looked for: it is not vendored by default, or it goes with a DLL that is missing too."""
    if missing.required:
        return f"it goes with {base_name(missing.needed_by[0])}, which is missing too"
    return "optional; --companions all adds it" if missing.kind is EdgeKind.COMPANION else "optional"


def _is_allowed(missing: MissingDll, options: RepairOptions) -> bool:
    left_out = missing.kind is EdgeKind.COMPANION and options.companions == "none"
    allowed = options.allow_missing
    return left_out or matches_any(missing.name, allowed) or all_allowed(missing.needed_by, allowed)


def still_broken(planned: Planned, options: RepairOptions) -> tuple[Finding, ...]:
    """What the planned wheel would still fail with, or may fail with, apart from what the user allowed to be missing.

    A file that RECORD lists and that is gone counts whatever it is: removing its row would hide that. So does half of
    CUDA, if it is the plan that adds cudart: that hides the toolkit which has what was allowed to be missing.
    """
    accepted = (missing_companions,) if options.companions == "none" else ()
    faults = {Severity.ERROR} if options.accept_unsure else {Severity.ERROR, Severity.UNSURE}
    return tuple(
        finding
        for finding in planned.after.report.findings
        if (finding.severity in faults and not found_by(finding, *accepted))
        or found_by(finding, record_faults)
        or _hides_toolkit(finding, planned.plan)
    )


def _hides_toolkit(finding: Finding, plan: Plan) -> bool:
    """Whether a finding is that half of CUDA is in the wheel, by the plan's own doing."""
    added = {addition.target for addition in plan.additions}
    return found_by(finding, partial_cuda) and not added.isdisjoint(finding.texts("present"))


def allowed_names(plan: Plan) -> tuple[str, ...]:
    """The DLLs that stay missing with the user's consent; a scan of the result has to know them."""
    return tuple(item.name for item in plan.remaining if item.allowed)
