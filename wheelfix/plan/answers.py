"""How one need of a wheel is answered: with a copy of the wheel's own file, or from the roots, with its family."""

from __future__ import annotations

import fnmatch
import functools
from typing import TYPE_CHECKING

from wheelfix.archive.placement import installed_path
from wheelfix.exam.requests import needers, request_for, wanted_release
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify
from wheelfix.loader.packagecode import declared_folders
from wheelfix.loader.places import member_path
from wheelfix.loader.view import Layer, ViewFile, base_name, parent
from wheelfix.model import EdgeKind, Image, Severity, dll_key
from wheelfix.plan.chosen import Chosen, in_site_packages, inside
from wheelfix.plan.model import Drop, Refusal, Rejected
from wheelfix.plan.needs import destinations
from wheelfix.plan.objections import objections
from wheelfix.plan.parts import family_companions, loaded_by
from wheelfix.plan.processed import processed_by
from wheelfix.roots.choice import Choice, Conflict, Terms, choose, family_files, never_vendored
from wheelfix.roots.release import GROUPS, OneRelease, group_of
from wheelfix.rules.allowed import matches_any
from wheelfix.rules.dependencies import says_out_of_reach
from wheelfix.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wheelfix.exam.examination import Examination
    from wheelfix.exam.needs import Need
    from wheelfix.loader.view import FileView
    from wheelfix.model import Edge, ImageFacts
    from wheelfix.options import RepairOptions
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.lazy import LazyIndex
    from wheelfix.roots.root import RootFile


@dataclass(slots=True)
class NeedAnswers:
    """What a plan has chosen so far, the files of the wheel with it, and how the next need is answered."""

    before: Examination
    roots: LazyIndex
    options: RepairOptions
    view: FileView
    begin: Callable[[RootFile], object]
    """Called with each file that is chosen, as soon as it is."""
    chosen: dict[str, Chosen] = field(default_factory=dict)
    drops: list[Drop] = field(default_factory=list)
    refused: dict[str, Refusal] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    releases: dict[str, OneRelease] = field(default_factory=dict)
    """The one release of each vendor's toolkit that is vendored from, by group."""
    tried: set[tuple[str, str, bool]] = field(default_factory=set)
    """Names and folders that were looked at, and whether the DLL was for something that is really loaded."""

    @property
    def index(self) -> RootIndex:
        """The files of the roots, which are looked for when the first DLL is missing."""
        return self.roots.open()

    @property
    def cuda(self) -> str | None:
        """The CUDA release of the wheel, where one is known with its minor."""
        return self.before.subject.cuda.text if "." in self.before.subject.cuda.text else None

    def answer(self, need: Need, added_dirs: tuple[str, ...]) -> bool:
        """Try to meet a need; whether the view changed."""
        if matches_any(need.name, self.options.exclude):
            self.refused.setdefault(dll_key(need.name), Refusal(need.name, "excluded with --exclude"))
            return False
        startup = self.before.subject.startup
        folders = destinations(self.view, need, startup.lib if startup else None, added_dirs or self._emptied())
        if self.options.dest is not None:
            folders = (in_site_packages(self.options.dest),)
        folders = tuple(folder for folder in folders if (dll_key(need.name), folder, need.reached) not in self.tried)
        if not folders:
            return False
        self.tried.update((dll_key(need.name), folder, need.reached) for folder in folders)
        if self.may_be_found(need):
            return False
        if need.present_at and self._copy_own(need, folders):
            return True
        because = _because(self.view, need)
        names = need.names or self._by_pattern(need)
        if any(self.take(need, name, folders, str(need.kind), because) for name in names):
            return True
        return self._take_for_each(need, because)

    def _take_for_each(self, need: Need, because: str) -> bool:
        """Answer folder by folder, where no one file has what all importers ask for: a wheel may need namesakes."""
        groups: dict[str, list[Edge]] = {}
        for edge in need.edges:
            if edge.kind is EdgeKind.IMPORT:
                groups.setdefault(parent(edge.importer), []).append(edge)
        if len(groups) < 2 or self.options.dest is not None:
            return False
        parts = [(folder, replace(need, edges=tuple(edges))) for folder, edges in groups.items()]
        taken = [self.take(part, need.name, (folder,), str(need.kind), because) for folder, part in parts]
        return any(taken)

    def _emptied(self) -> tuple[str, ...]:
        """The folder of DLLs that delvewheel's patch adds, when all of them were taken out."""
        if not processed_by(self.before):
            return ()
        return tuple(folder for folder in declared_folders(self.view) if folder.endswith(".libs"))

    def may_be_found(self, need: Need) -> bool:
        """Whether the scan is not sure that a DLL of the wheel is out of reach: code adds folders that were not read.

        A second copy of a DLL that is found after all would be loaded beside the first.
        """
        if not self.before.subject.unread_code:
            return False
        places = {self.view.origin(path) for path in need.present_at}
        reported = [f for f in self.before.report.findings if says_out_of_reach(f) and f.subject in places]
        return any(finding.severity is not Severity.ERROR for finding in reported)

    def _copy_own(self, need: Need, folders: tuple[str, ...]) -> bool:
        """Put a copy of a DLL that the wheel has, or that this plan adds, where the loader looks."""
        origin = next(filter(functools.partial(self._can_serve, need), need.present_at), None)
        if not need.reached or origin is None:
            return False
        added = self.chosen.get(origin)
        first = added or Chosen(
            path=origin,
            file=None,
            own=origin,
            kind=str(need.kind),
            because="",
            serves=(),
            reason="it is in the wheel, but where the loader does not look",
        )
        because, serves = _because(self.view, need), tuple(map(self.view.origin, need.importers))
        for folder in folders:
            path = inside(folder, base_name(origin))
            self._add(replace(first, path=path, kind=str(need.kind), because=because, serves=serves))
            if added is None:
                self._add_own_family(origin, folder)
        return True

    def _add_own_family(self, origin: str, folder: str) -> None:
        """Copy the parts of its family that a DLL of the wheel loads at run time, from beside it."""
        member = family_of(base_name(origin))
        if member is None or self.options.companions == "none":
            return
        because = f"part of {member.family.title}, which comes whole from one folder"
        siblings = {path: base_name(path) for path in self.view.in_folder(parent(origin)) if path != origin}
        for path in loaded_by(base_name(origin), siblings, self.cuda):
            wanted = self.view.find(folder, base_name(path)) is None and path not in self.chosen
            if wanted and not matches_any(base_name(path), self.options.exclude):
                target, reason = inside(folder, base_name(path)), f"lies beside {base_name(origin)}"
                self._add(Chosen(target, None, path, "family", because, (base_name(origin),), reason))

    def _can_serve(self, need: Need, path: str) -> bool:
        """Whether a file of the view can be copied, and has what those who ask import from it."""
        if self.before.facts.info is not None and self.view.layer(path) is Layer.ENVIRONMENT:
            return False  # a wheel can only copy what is in it
        image = self.view.image(path)
        if not isinstance(image, Image) or image.machine is not self.before.subject.machine:
            return False
        wanted = (symbol for needer in needers(self.view, need, need.name) for symbol in needer.symbols)
        return all(map(image.exports.offers, wanted))

    def _by_pattern(self, need: Need) -> tuple[str, ...]:
        """Names of root files that a pattern means, for companions without a fixed name."""
        found = {
            file.name: None
            for file in self.index.files()
            if any(fnmatch.fnmatchcase(file.key, glob) for glob in need.patterns)
        }
        return tuple(found)

    @property
    def restorable(self) -> dict[str, str]:
        """Where DLLs were that RECORD lists and the wheel does not have, each with its row."""
        info = self.before.facts.info
        rows = self.before.subject.view.deleted.values()
        return {installed_path(row, info.data): row for row in rows} if info is not None else {}

    def take(self, need: Need, name: str, folders: tuple[str, ...], kind: str, because: str) -> bool:
        """Add the file of a root that serves a need best, if there is one; whether the view changed."""
        request = request_for(
            need,
            name,
            self.view,
            self.before.subject,
            release=self._release(need, name),
            companions=family_companions(name, self.cuda),
            beside=self._beside(need, name),
            one_release=self.releases.get(group_of(name)),
        )
        candidates = self.index.candidates(name)
        outcome = choose(request, candidates, self.index, self.terms(candidates))
        while not isinstance(outcome, Choice) and self.look_on_index(name):
            candidates = self.index.candidates(name)
            outcome = choose(request, candidates, self.index, self.terms(candidates))
        if not isinstance(outcome, Choice):
            reason = f"{outcome.reason}; {outcome.hint}" if isinstance(outcome, Conflict) else outcome.reason
            if not candidates and self.index.fetcher is not None:
                reason += ", nor has a vendor's wheel for this machine on the package index"
            self.unanswered.setdefault(dll_key(need.name), reason)
            return False
        self.unanswered.pop(dll_key(need.name), None)
        serves = tuple(map(self.view.origin, need.importers))
        rejected = tuple(Rejected(c.file.location, c.reason) for c in outcome.considered if c.verdict != "chosen")
        for folder in folders:
            path = inside(folder, outcome.winner.name)
            self._add(
                Chosen(path, outcome.winner, "", kind, because, serves, outcome.reason, rejected, outcome.warnings)
            )
            self._add_family(outcome.winner, folder)
        return True

    # --------------------------------------------------------------------------------------- changes of the view

    def drop_files(self, drops: Iterable[Drop]) -> None:
        """Leave files out, those not already left out."""
        known = {drop.path for drop in self.drops}
        new = {drop.path: drop for drop in drops if drop.path not in known}
        self.drops += new.values()
        gone = [file.path for file in self.view.files if file.origin in new and file.path not in self.chosen]
        self.view = self.view.changed(dropped=gone)

    def _add_family(self, file: RootFile, folder: str) -> None:
        """The parts of its family that a DLL loads at run time are vendored too, from its own folder."""
        member = family_of(file.name)
        if member is None or self.options.companions == "none":
            return
        because = f"part of {member.family.title}, which comes whole from one folder"
        for part in self._parts(file):
            if self.view.find(folder, part.name) is None and not matches_any(part.name, self.options.exclude):
                path = inside(folder, part.name)
                self._add(Chosen(path, part, "", "family", because, (file.name,), f"lies beside {file.name}"))

    def _parts(self, file: RootFile) -> list[RootFile]:
        """What a DLL, and what it loads, loads by name from its own family: MKL's kernels, but not its MPI layer."""
        siblings = {sibling: sibling.name for sibling in family_files(self.index, file)}
        return sorted(loaded_by(file.name, siblings, self.cuda), key=lambda part: part.key)

    def _add(self, chosen: Chosen) -> None:
        self.chosen[chosen.path] = chosen
        if chosen.file is None:
            own = self.view.file(chosen.own)
            new = ViewFile(chosen.path, member_path(chosen.path, self._data), own.size, own.open)
        else:
            self.begin(chosen.file)
            opened = functools.partial(self.index.open, chosen.file)
            new = ViewFile(chosen.path, member_path(chosen.path, self._data), chosen.file.size, opened)
        self.view = self.view.changed(added=[new])

    @property
    def _data(self) -> str:
        info = self.before.facts.info
        return info.data if info else f"{self.before.identity.name}.data"

    # ------------------------------------------------------------------------------------- what a choice depends on

    def look_on_index(self, name: str) -> bool:
        """Have the next release on the package index looked at, if ``--fetch`` was given."""
        subject = self.before.subject
        if never_vendored(name, subject.machine, runtime=self.options.with_vcredist):
            return False
        group = group_of(name)
        wanted = wanted_release(group, subject).releases if group in GROUPS else frozenset[str]()
        return self.index.look_on_index(name, self.cuda or subject.cuda.text, subject.machine, wanted)

    def terms(self, candidates: Sequence[RootFile]) -> Terms:
        """What the choice among these candidates has to respect."""
        return Terms(
            runtime=self.options.with_vcredist,
            included=frozenset(map(dll_key, self.options.include)),
            objection=objections(self.index, self.options, self._unmet(candidates)),
            provided=self._provided,
        )

    def _unmet(self, candidates: Sequence[RootFile]) -> dict[RootFile, str]:
        """The candidates that import what no root has, where others do not: a namesake from another build."""
        found = {file: missing for file in candidates if (missing := self._without(file))}
        return found if len(candidates) > len(found) else {}

    def _without(self, file: RootFile) -> str:
        """A DLL that a candidate imports and that neither Windows nor the wheel nor any root has."""
        image = self.index.image(file)
        for need in image.imports if isinstance(image, Image) else ():
            known = classify(need.dll, self.before.subject.machine).kind != "unknown"
            if not known and not self.view.named(dll_key(need.dll)) and not self.index.candidates(need.dll):
                return need.dll
        return ""

    def _provided(self, name: str) -> ImageFacts | None:
        paths = self.view.named(dll_key(name))
        return self.view.image(paths[0]) if paths else None

    def _beside(self, need: Need, name: str) -> RootFile | None:
        """The member of the same family that is chosen already: only its folder counts."""
        member = family_of(name)
        for path in need.importers:
            chosen = self.chosen.get(path)
            other = family_of(base_name(path))
            if chosen and chosen.file and member and other and other.family.id == member.family.id:
                return chosen.file
        return None

    def _release(self, need: Need, name: str) -> str:
        """The release of the family that is in the wheel already, which a missing part has to fit."""
        member = family_of(name)
        for path in need.importers:
            other = family_of(base_name(path))
            if member and other and other.family.id == member.family.id and path not in self.chosen:
                version = self.before.subject.version(path)
                return str(version) if version else ""
        return ""


def _because(view: FileView, need: Need) -> str:
    names = tuple(dict.fromkeys(map(base_name, need.importers)))
    who = ", ".join(names[:3])
    more = len(names) - 3
    who += f" and {more} more" if more > 0 else ""
    words = {"import": "imported by", "delay": "delay-loaded by", "companion": "loaded at run time by"}
    return f"{words.get(str(need.kind), 'a forwarder target of')} {who}"
