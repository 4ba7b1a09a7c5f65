"""Decide what a repair will do: answer every need from the roots until the model says that the wheel loads."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wheelfix.archive.codec import Compressor
from wheelfix.errors import UsageError
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of, is_test_artifact
from wheelfix.knowledge.providers import who_ships
from wheelfix.loader.places import member_path
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES, ViewFile, base_name, parent
from wheelfix.model import InView, Missing, Repairable, Severity, dll_key, fold
from wheelfix.plan.model import (
    Addition,
    Drop,
    Mend,
    Plan,
    Refusal,
    Rejected,
    Remaining,
    Rename,
    Source,
    WheelRef,
)
from wheelfix.plan.needs import Lack, destinations, lacks, matches_any, needers
from wheelfix.plan.objections import in_words, objections
from wheelfix.plan.sources import sha256_of
from wheelfix.roots.choose import choose
from wheelfix.roots.family import family_files
from wheelfix.roots.outcome import Choice, Conflict, Need, Terms
from wheelfix.verbs.scan import examine_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.archive.reader import Archive
    from wheelfix.loader.view import FileView
    from wheelfix.model import ImageFacts, Resolution
    from wheelfix.options import RepairOptions
    from wheelfix.roots.index import RootFile, RootIndex
    from wheelfix.verbs.scan import Examination

ROUNDS = 64
"""More rounds than the longest chain of dependencies; a bound, not a policy."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file that will be added, and everything the plan says about it."""

    path: str
    """Where it goes, in the view."""
    file: RootFile | None
    """The file of a root, or None for a copy of another member of the same wheel."""
    own: str
    """For such a copy: the member's path in the view."""
    kind: str
    because: str
    serves: tuple[str, ...]
    reason: str
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the files behind it, and what the scan says about the wheel that it will make."""

    plan: Plan
    chosen: tuple[Chosen, ...]
    after: Examination


@dataclass(slots=True)
class _Planner:
    before: Examination
    index: RootIndex
    options: RepairOptions
    view: FileView
    chosen: dict[str, Chosen] = field(default_factory=dict)
    drops: list[Drop] = field(default_factory=list)
    refused: dict[str, Refusal] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    tried: set[tuple[str, str]] = field(default_factory=set)

    @property
    def cuda(self) -> str | None:
        subject = self.before.subject
        return subject.torch.cuda if subject.torch else subject.profile.cuda

    # ------------------------------------------------------------------------------------------------ the rounds

    def run(self) -> None:
        """Drop, include, then answer needs until nothing changes."""
        self._drop()
        self._include()
        profile = self.before.subject.profile
        if self.options.with_vcredist:
            profile = replace(profile, assume=profile.assume - {"vcredist"})
        for _ in range(ROUNDS):
            resolution = resolve(self.view, profile, self.before.identity.requires)
            found = list(lacks(self.view, resolution, self.options.companions, self.cuda))
            answers = [self._answer(lack, resolution.search_dirs) for lack in found]
            if not any(answers):
                return

    def _drop(self) -> None:
        patterns = self.options.drop
        for file in self.view.files:
            name = base_name(file.path)
            if any(fnmatch.fnmatchcase(fold(file.origin), fold(p)) or _is_name(p, name) for p in patterns):
                self.drops.append(Drop(file.origin, "asked for with --drop"))
            elif self.options.drop_test_artifacts and is_test_artifact(name):
                self.drops.append(Drop(file.origin, "a test artefact of BUILD_TEST=1"))
        unmatched = [p for p in patterns if not any(_means(p, drop.path) for drop in self.drops)]
        if unmatched:
            raise UsageError(f"--drop {unmatched[0]}", because=f"no member of {self.before.identity.path} matches it")
        gone = {drop.path for drop in self.drops}
        self.view = self.view.changed(dropped=[file.path for file in self.view.files if file.origin in gone])

    def _include(self) -> None:
        for name in self.options.include:
            where = self._folder_for_included()
            if self.view.find(where, name) is None:
                lack = Lack((name,), (), (), True)
                self._take(lack, name, (where,), "include", f"asked for with --include {name}")

    def _folder_for_included(self) -> str:
        subject = self.before.subject
        if self.options.dest is not None:
            return _in_site_packages(self.options.dest)
        if subject.torch is not None:
            return subject.torch.lib
        reached = sorted(subject.resolution.reached) or sorted(subject.images)
        return parent(reached[0]) if reached else SITE_PACKAGES

    # ------------------------------------------------------------------------------------------------ one answer

    def _answer(self, lack: Lack, added_dirs: tuple[str, ...]) -> bool:
        """Try to meet a need; whether the view changed."""
        if matches_any(lack.name, self.options.exclude):
            self.refused.setdefault(dll_key(lack.name), Refusal(lack.name, "excluded with --exclude"))
            return False
        torch = self.before.subject.torch
        folders = destinations(self.view, lack, torch.lib if torch else None, added_dirs)
        if self.options.dest is not None:
            folders = (_in_site_packages(self.options.dest),)
        folders = tuple(folder for folder in folders if (dll_key(lack.name), folder) not in self.tried)
        if not folders:
            return False
        self.tried.update((dll_key(lack.name), folder) for folder in folders)
        if lack.present_at and self._copy_own(lack, folders):
            return True
        because = _because(self.view, lack)
        names = lack.names or self._by_pattern(lack)
        return any(self._take(lack, name, folders, str(lack.kind), because) for name in names)

    def _copy_own(self, lack: Lack, folders: tuple[str, ...]) -> bool:
        """Put a copy of a DLL that is in the wheel already where the loader looks."""
        if not lack.reached:
            return False
        origin = lack.present_at[0]
        for folder in folders:
            chosen = Chosen(
                path=f"{folder}/{base_name(origin)}",
                file=None,
                own=origin,
                kind=str(lack.kind),
                because=_because(self.view, lack),
                serves=tuple(map(self.view.origin, lack.importers)),
                reason="it is in the wheel, but where the loader does not look",
            )
            self._add(chosen)
        return True

    def _by_pattern(self, lack: Lack) -> tuple[str, ...]:
        """Names of root files that a pattern means, for companions without a fixed name."""
        found = {
            file.name: None
            for file in self.index.files()
            if any(fnmatch.fnmatchcase(file.key, glob) for glob in lack.globs)
        }
        return tuple(found)

    def _take(self, lack: Lack, name: str, folders: tuple[str, ...], kind: str, because: str) -> bool:
        need = Need(
            name=name,
            machine=self.before.subject.machine,
            needers=needers(self.view, lack, name),
            cuda=self.cuda or "",
            release=self._release(lack, name),
            companions=_family_companions(name, self.cuda),
            beside=self._beside(lack, name),
        )
        outcome = choose(need, self.index.candidates(name), self.index, self._terms())
        if not isinstance(outcome, Choice):
            reason = f"{outcome.reason}; {outcome.hint}" if isinstance(outcome, Conflict) else outcome.reason
            self.unanswered.setdefault(dll_key(lack.name), reason)
            return False
        self.unanswered.pop(dll_key(lack.name), None)
        serves = tuple(map(self.view.origin, lack.importers))
        rejected = tuple(Rejected(c.file.location, c.reason) for c in outcome.considered if c.verdict != "chosen")
        for folder in folders:
            path = f"{folder}/{outcome.winner.name}"
            self._add(
                Chosen(path, outcome.winner, "", kind, because, serves, outcome.reason, rejected, outcome.warnings)
            )
            self._add_family(outcome.winner, folder)
        return True

    def _add_family(self, file: RootFile, folder: str) -> None:
        """A family comes whole and from one folder."""
        member = family_of(file.name)
        for sibling in family_files(self.index, file) if member else ():
            taken = self.view.find(folder, sibling.name)
            if taken is None and not matches_any(sibling.name, self.options.exclude):
                because = (
                    f"part of {member.family.title if member else 'its family'}, which comes whole from one folder"
                )
                path = f"{folder}/{sibling.name}"
                self._add(Chosen(path, sibling, "", "family", because, (file.name,), f"lies beside {file.name}"))

    def _add(self, chosen: Chosen) -> None:
        self.chosen[chosen.path] = chosen
        if chosen.file is None:
            own = self.view.file(chosen.own)
            new = ViewFile(chosen.path, member_path(chosen.path, self._data), own.size, own.open)
        else:
            opened = functools.partial(self.index.open, chosen.file)
            new = ViewFile(chosen.path, member_path(chosen.path, self._data), chosen.file.size, opened)
        self.view = self.view.changed(added=[new])

    @property
    def _data(self) -> str:
        info = self.before.facts.info
        return info.data if info else f"{self.before.identity.name}.data"

    # --------------------------------------------------------------------------------------------- what is known

    def _terms(self) -> Terms:
        return Terms(
            runtime=self.options.with_vcredist,
            included=frozenset(map(dll_key, self.options.include)),
            objection=objections(self.index, self.options),
            provided=self._provided,
        )

    def _provided(self, name: str) -> ImageFacts | None:
        paths = self.view.named(dll_key(name))
        return self.view.image(paths[0]) if paths else None

    def _beside(self, lack: Lack, name: str) -> RootFile | None:
        """The member of the same family that is chosen already: only its folder counts."""
        member = family_of(name)
        for path in lack.importers:
            chosen = self.chosen.get(path)
            other = family_of(base_name(path))
            if chosen and chosen.file and member and other and other.family.id == member.family.id:
                return chosen.file
        return None

    def _release(self, lack: Lack, name: str) -> str:
        """The release of the family that is in the wheel already, which a missing part has to fit."""
        member = family_of(name)
        for path in lack.importers:
            other = family_of(base_name(path))
            if member and other and other.family.id == member.family.id and path not in self.chosen:
                version = self.before.subject.version(path)
                return str(version) if version else ""
        return ""


def make_plan(before: Examination, index: RootIndex, options: RepairOptions, archive: Archive | None = None) -> Planned:
    """Decide what to do with what was scanned: a wheel, or a distribution in an environment."""
    planner = _Planner(before, index, options, before.subject.view)
    planner.run()
    chosen = tuple(planner.chosen[path] for path in sorted(planner.chosen))
    mangled = to_mangle(planner, chosen)
    info = before.facts.info
    mended = replace(info, faults=(), prefix="") if info else None
    facts = replace(before.facts, info=mended, faults=(), record_faults=())
    scan = replace(options.scan, select=(), ignore=())
    after = examine_view(planner.view, before.identity, scan, facts, None)
    compressor = Compressor.choose(options.compressor or "auto", options.compression)
    additions = tuple(_addition(entry, planner, entry.path in mangled) for entry in chosen)
    plan = Plan(
        wheel=reference(archive, before, seal=options.seal),
        output=output_name(archive.path.name, options.build_tag) if archive else "",
        layout="libs" if mangled else "beside",
        additions=additions,
        drops=tuple(sorted(planner.drops, key=lambda drop: drop.path)),
        renames=(Rename(info.prefix, "", "everything lay one folder too deep"),) if info and info.prefix else (),
        mends=_mends(before, bool(chosen or planner.drops)),
        refused=tuple(planner.refused[key] for key in sorted(planner.refused)),
        remaining=tuple(_remaining(after, planner)),
        kept=(len(archive.members) if archive else len(before.subject.view.files)) - len(planner.drops),
        compressor=f"{compressor.name} {compressor.version}",
        compression=options.compression,
        sbom=options.sbom and bool(chosen),
        left_alone=_of_others(after) if mangled else (),
        notes=tuple(dict.fromkeys(warning for addition in additions for warning in addition.warnings)),
    )
    return Planned(plan, chosen, after)


def reference(archive: Archive | None, before: Examination, *, seal: bool = False) -> WheelRef:
    """What identifies the wheel that a plan is for; an installed distribution has no archive."""
    identity = before.identity
    if archive is None:
        return WheelRef(identity.path, identity.name, identity.version, 0, "")
    digest = hashlib.sha256(archive.directory).hexdigest()
    whole = sha256_of(archive) if seal else ""
    return WheelRef(str(archive.path), identity.name, identity.version, archive.size, digest, whole)


def output_name(name: str, build_tag: str | None) -> str:
    """The file name of the repaired wheel: the same, or with another build tag."""
    if build_tag is None:
        return name
    parts = name.removesuffix(".whl").split("-")
    if not build_tag[:1].isdigit() or "-" in build_tag:
        raise UsageError(f"--build-tag {build_tag}", because="a build tag begins with a digit and has no hyphen")
    return "-".join([*parts[:2], build_tag, *parts[-3:]]) + ".whl"


def to_mangle(planner: _Planner, chosen: tuple[Chosen, ...]) -> frozenset[str]:
    """The additions that go to ``<distribution>.libs`` under names of their own.

    Two packages with an unmangled ``zlib1.dll`` collide, so DLLs of no known family are renamed in ordinary extension
    packages. Vendors' families break when renamed, and torch or a package with a DLL folder of its own needs no help.
    """
    subject, layout = planner.before.subject, planner.options.layout
    if layout == "libs" and subject.torch is not None:
        raise UsageError(
            "--layout libs", because="torch loads torch/lib by itself, and only there", hint="leave --layout out"
        )
    if planner.before.facts.info is None:  # an installed distribution: nobody would patch its __init__.py
        return frozenset()
    if layout == "beside" or subject.torch is not None or planner.options.dest is not None:
        return frozenset()
    if layout == "auto" and (subject.resolution.search_dirs or not _has_extensions(subject.resolution)):
        return frozenset()
    return frozenset(entry.path for entry in chosen if entry.file is not None and _may_be_renamed(entry.path))


def _has_extensions(resolution: Resolution) -> bool:
    return any(outcome.event.cause == "extension" for outcome in resolution.outcomes)


def _may_be_renamed(path: str) -> bool:
    member = family_of(base_name(path))
    return member is None or member.family.rename


def _of_others(after: Examination) -> tuple[str, ...]:
    """The DLLs of Windows, Python, drivers and owners, and what may be missing; as they compare and as spelled."""
    found: dict[str, None] = {}
    for edge in after.report.resolution.edges:
        if not isinstance(edge.provider, InView):
            found[dll_key(edge.name)] = None
            if isinstance(edge.provider, Missing):
                found[edge.name] = None
    return tuple(sorted(found))


def _addition(entry: Chosen, planner: _Planner, mangle: bool) -> Addition:
    target = planner.view.origin(entry.path)
    if mangle:
        target = f"{planner.before.identity.name}.libs/{base_name(entry.path)}"
    signer, warnings = "", entry.warnings
    if entry.file is None:
        origin = planner.before.subject.view.origin(entry.own)
        source = Source("own", planner.before.identity.path, origin, origin="this wheel")
        own = planner.view.file(entry.path)
        size, digest, version = own.size, sha256_of(own.open()), ""
    else:
        file, index = entry.file, planner.index
        kind = file.root.kind if file.root.is_file else "file"
        path = str(file.root.path) if file.root.is_file else file.location
        member = file.path if file.root.is_file else ""
        source = Source(kind, path, member, str(file.root.path), file.origin)
        found = index.version(file)
        size, digest, version = file.size, index.sha256(file), str(found) if found else file.version_hint
        signature = index.signature(file)
        signer = str(signature)
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
        mangle=mangle,
        warnings=warnings,
    )


def _mends(before: Examination, writing: bool) -> tuple[Mend, ...]:
    """What writing the wheel anew puts right by itself; for what harms nobody alone it is not written anew."""
    findings = [f for f in before.report.findings if f.code < "WF2" and f.repairable is not Repairable.NEVER]
    if not writing and all(finding.severity is Severity.INFO for finding in findings):
        return ()
    return tuple(Mend(finding.code, finding.subject, finding.message) for finding in findings)


def _remaining(after: Examination, planner: _Planner) -> Iterator[Remaining]:
    for missing in after.report.missing:
        reason = planner.unanswered.get(dll_key(missing.name), "")
        refusal = planner.refused.get(dll_key(missing.name))
        yield Remaining(
            name=missing.name,
            required=missing.required,
            needed_by=missing.needed_by,
            because=refusal.because if refusal else reason or "optional; --companions all brings it along",
            providers=who_ships(missing.name, cuda=planner.cuda),
            allowed=matches_any(missing.name, planner.options.allow_missing),
        )


def still_broken(planned: Planned) -> tuple[str, ...]:
    """What the planned wheel would still fail with, apart from what the user allowed to be missing."""
    allowed = {dll_key(item.name) for item in planned.plan.remaining if item.allowed}
    faults = []
    for finding in planned.after.report.findings:
        if finding.severity is Severity.ERROR and dll_key(finding.subject) not in allowed:
            faults.append(f"{finding.code} {finding.message}")
    return tuple(faults)


def _because(view: FileView, lack: Lack) -> str:
    names = tuple(dict.fromkeys(map(base_name, lack.importers)))
    who = ", ".join(names[:3])
    more = len(names) - 3
    who += f" and {more} more" if more > 0 else ""
    words = {"import": "imported by", "delay": "delay-loaded by", "companion": "loaded at run time by"}
    return f"{words.get(str(lack.kind), 'a forwarder target of')} {who}"


def _family_companions(name: str, cuda: str | None) -> tuple[str, ...]:
    member = family_of(name)
    if member is None:
        return ()
    found = []
    for need in companions_of(name, cuda=cuda):
        other = family_of(need.names[0]) if need.names and need.required else None
        if other and other.family.id == member.family.id:
            found.append(need.names[0])
    return tuple(found)


def _in_site_packages(folder: str) -> str:
    inside = folder.replace("\\", "/").strip("/")
    if not inside or any(part in ("", ".", "..") for part in inside.split("/")) or ":" in inside:
        raise UsageError(f"--dest {folder}", because="it is no folder inside the wheel", hint="for example torch/lib")
    return f"{SITE_PACKAGES}/{inside}"


def _is_name(pattern: str, name: str) -> bool:
    return "/" not in pattern and fnmatch.fnmatchcase(fold(name), fold(pattern))


def _means(pattern: str, path: str) -> bool:
    return fnmatch.fnmatchcase(fold(path), fold(pattern)) or _is_name(pattern, base_name(path))


def names_of(chosen: Iterable[Chosen]) -> tuple[str, ...]:
    """The base names of what will be added."""
    return tuple(base_name(entry.path) for entry in chosen)
