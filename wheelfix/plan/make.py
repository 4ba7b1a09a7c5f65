"""Decide what a repair will do, and say what the wheel that it makes would be like."""

from __future__ import annotations

import fnmatch
import hashlib
import heapq
import re
from typing import TYPE_CHECKING

from wheelfix.archive.wheelname import name_parts
from wheelfix.errors import UsageError
from wheelfix.exam.examine import examine_again
from wheelfix.loader.view import base_name
from wheelfix.model import EdgeKind, Repairable, Severity, dll_key, fold
from wheelfix.options import Renaming
from wheelfix.plan.fetched import expect_fetched, expected_sha256, fetched_notes, still_to_fetch, trust_fetched
from wheelfix.plan.layout import choose_layout, left_to_others, one_of_each
from wheelfix.plan.model import Addition, ArchiveFix, Plan, Remaining, Rename, Source, TakenRelease, WheelRef
from wheelfix.plan.objections import in_words
from wheelfix.plan.planner import Planner
from wheelfix.remote.addresses import identity
from wheelfix.roots.release import GROUPS, shown_version
from wheelfix.rules.allowed import matches_any, missing_names
from wheelfix.rules.archive import only_on_request, record_faults
from wheelfix.rules.registry import Group, found_by, group_of
from wheelfix.streams.codec import Compressor
from wheelfix.streams.pool import WorkerPool
from wheelfix.streams.source import sha256_of
from wheelfix.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wheelfix.archive.faults import RecordFault
    from wheelfix.archive.reader import Archive
    from wheelfix.exam.examination import Examination
    from wheelfix.model import Finding, MissingDll
    from wheelfix.options import RepairOptions
    from wheelfix.plan.chosen import Chosen
    from wheelfix.roots.lazy import LazyIndex
    from wheelfix.roots.root import Root, RootFile
    from wheelfix.streams.pool import Task


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the files behind it, and what the scan says about the wheel that it will make."""

    plan: Plan
    chosen: tuple[Chosen, ...]
    after: Examination


def make_plan(
    before: Examination,
    roots: LazyIndex,
    options: RepairOptions,
    archive: Archive | None = None,
    *,
    preview: bool = False,
) -> Planned:
    """Decide what to do with what was scanned: a wheel, or a distribution in an environment.

    For a ``preview`` no DLL is downloaded from the package index, only read as far as the choice needs it. Such a plan
    has the hashes that are known without that, and cannot be carried out.
    """
    info = before.facts.info
    with WorkerPool(options.scan.jobs) as pool:
        reading = _FileReading(roots, pool, preview=preview)
        planner = Planner(before, roots, options, before.subject.view, reading.begin)
        planner.run()
        chosen = tuple(planner.chosen[path] for path in sorted(planner.chosen))
        layout = choose_layout(planner, chosen)
        chosen = one_of_each(chosen, layout)
        fixed = replace(info, faults=(), prefix="") if info else None
        facts = replace(before.facts, info=fixed, faults=(), record_faults=_deleted_files(before, chosen, planner))
        unread = {
            planner.view.origin(entry.path): None
            for entry in chosen
            if preview and entry.file is not None and entry.file.root.remote is not None
        }
        after = examine_again(before, planner.view, facts, options, unread)
        reading.finish()
        trust = expect_fetched(chosen) if preview else trust_fetched(chosen, roots, before.identity.path)
        waiting = still_to_fetch(chosen, roots) if preview else []
    compressor = Compressor.choose(options.compressor or "auto", options.compression)
    additions = tuple(
        _addition(entry, planner, entry.path in layout.renamed, trust, preview=preview) for entry in chosen
    )
    warnings = [warning for addition in additions for warning in addition.warnings]
    notes = [*warnings, *layout.notes, *waiting, *fetched_notes(chosen)]
    plan = Plan(
        wheel=reference(archive, before, hash_file=options.seal),
        output=output_name(archive.path.name, options.build_tag) if archive else "",
        layout="libs" if layout.renamed else "beside",
        releases=tuple(_releases(planner)),
        additions=additions,
        drops=tuple(sorted(planner.drops, key=lambda drop: drop.path)),
        renames=(Rename(info.prefix, "", "everything lay one folder too deep"),) if info and info.prefix else (),
        mends=_archive_fixes(before, options, bool(chosen or planner.drops)),
        refused=tuple(planner.refused[key] for key in sorted(planner.refused)),
        remaining=tuple(_remaining(after, planner)),
        kept=(len(archive.members) if archive else len(before.subject.view.files)) - len(planner.drops),
        compressor=f"{compressor.name} {compressor.version}",
        compression=compressor.compression,
        sbom=options.sbom and bool(chosen),
        recompress=options.recompress and any(map(only_on_request, before.report.findings)),
        left_alone=left_to_others(after) if layout.renamed else (),
        renaming=options.renaming if layout.renamed else Renaming(),
        notes=tuple(dict.fromkeys(notes)),
    )
    return Planned(plan, chosen, after)


def _deleted_files(before: Examination, chosen: tuple[Chosen, ...], planner: Planner) -> tuple[RecordFault, ...]:
    """The files that RECORD lists, the wheel does not have, and nobody gave up: a repair does not hide them."""
    restored = {fold(planner.view.origin(entry.path)) for entry in chosen}
    given_up = (*planner.options.accept_missing, *planner.options.drop)
    return tuple(
        fault
        for fault in before.facts.record_faults
        if fault.kind == "row-orphan"
        and fold(fault.path) not in restored
        and not any(fnmatch.fnmatchcase(fold(fault.path), fold(pattern)) for pattern in given_up)
    )


def _releases(planner: Planner) -> Iterator[TakenRelease]:
    """The releases that were chosen once for all DLLs of a toolkit; nothing where no candidate shows its own."""
    for group, one in sorted(planner.releases.items()):
        if one.release or one.refused:
            yield TakenRelease(GROUPS[group], one.release, one.because, one.refused)


def reference(archive: Archive | None, before: Examination, *, hash_file: bool = False) -> WheelRef:
    """What identifies the wheel that a plan is for; an installed distribution has no archive."""
    identity = before.identity
    if archive is None:
        return WheelRef(identity.path, identity.name, identity.version, 0, "")
    digest = hashlib.sha256(archive.directory).hexdigest()
    whole = sha256_of(archive).hex() if hash_file else ""
    return WheelRef(str(archive.path), identity.name, identity.version, archive.size, digest, whole, archive.is_regular)


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


class _FileReading:
    """Reads what the plan says about each file while it is still being made, several at a time, the largest first."""

    def __init__(self, roots: LazyIndex, pool: WorkerPool, *, preview: bool = False) -> None:
        """For a ``preview`` nothing is read of files on servers."""
        self._roots, self._pool, self._preview = roots, pool, preview
        self._files: set[RootFile] = set()
        self._waiting: list[tuple[int, int, RootFile]] = []
        self._tasks: list[Task[None]] = []

    def begin(self, file: RootFile) -> None:
        """Start to read a file that was chosen."""
        if file not in self._files and not (self._preview and file.root.remote is not None):
            self._files.add(file)
            self._roots.open().packed(file)
            heapq.heappush(self._waiting, (-file.size, len(self._files), file))
            self._tasks.append(self._pool.submit(self._read_largest))

    def _read_largest(self) -> None:
        self._roots.open().read_whole(heapq.heappop(self._waiting)[-1])

    def finish(self) -> None:
        """Wait until all of them have been read."""
        for task in self._tasks:
            task.result()


def _addition(entry: Chosen, planner: Planner, mangle: bool, trust: Mapping[Root, str], *, preview: bool) -> Addition:
    target = planner.view.origin(entry.path)
    if mangle:
        target = f"{planner.before.identity.name}{planner.options.renaming.lib_sdir}/{base_name(entry.path)}"
    signer, answer, warnings = "", "", entry.warnings
    if entry.file is None:
        origin = planner.before.subject.view.origin(entry.own)
        source = Source("own", planner.before.identity.path, origin, origin="this wheel")
        own = planner.view.file(entry.path)
        size, digest, version = own.size, sha256_of(own.open()).hex(), ""
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
        if preview and file.root.remote is not None:
            digest = expected_sha256(file)
        else:
            digest, signature = index.sha256(file), index.signature(file)
            signer, answer = signature.trusted_signer, str(signature)
            if signature.reason:
                warnings = (*warnings, f"{file.location} {in_words(signature)}")
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
        reason = planner.unanswered.get(dll_key(missing.name), "")
        refusal = planner.refused.get(dll_key(missing.name))
        yield Remaining(
            name=missing.name,
            required=missing.required,
            needed_by=missing.needed_by,
            because=refusal.because if refusal else reason or _why_left_out(missing),
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
    return left_out or matches_any(missing.name, options.allow_missing)


def still_broken(planned: Planned, options: RepairOptions) -> tuple[Finding, ...]:
    """What the planned wheel would still fail with, or may fail with, apart from what the user allowed to be missing.

    A file that RECORD lists and that is gone counts whatever it is: removing its row would hide that.
    """
    allowed = allowed_names(planned.plan)
    faults = {Severity.ERROR} if options.accept_unsure else {Severity.ERROR, Severity.UNSURE}
    return tuple(
        finding
        for finding in planned.after.report.findings
        if (finding.severity in faults and not _is_about(finding, allowed)) or found_by(finding, record_faults)
    )


def allowed_names(plan: Plan) -> tuple[str, ...]:
    """The DLLs that stay missing with the user's consent; a scan of the result has to know them."""
    return tuple(item.name for item in plan.remaining if item.allowed)


def _is_about(finding: Finding, allowed: tuple[str, ...]) -> bool:
    """Whether a finding is about nothing but DLLs that may be missing."""
    names = missing_names(finding)
    return bool(names) and {dll_key(name) for name in names} <= {dll_key(name) for name in allowed}
