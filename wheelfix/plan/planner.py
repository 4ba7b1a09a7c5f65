"""Answer every need of a wheel from the roots, in rounds, until the model says that nothing more can be met.

What was asked to be dropped goes first. With ``--clean`` a DLL that cannot be loaded where it is goes before the needs
are answered, so that a better one is found for it, and what nothing loads goes after that.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from posixpath import join
from typing import TYPE_CHECKING

from wheelfix.archive.names import installed_path, matches
from wheelfix.base.values import dataclass, distinct, field, grouped, replace
from wheelfix.errors import UsageError
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.provider_index import vendor_of
from wheelfix.knowledge.providers import pip_packages
from wheelfix.knowledge.system import classify
from wheelfix.loader.evidence import FOLDER_NOT_CHECKED
from wheelfix.loader.loading import runs_on
from wheelfix.loader.packagecode import declared_folders
from wheelfix.loader.places import member_path
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES, FileView, ViewFile, base_name, key_of, parent
from wheelfix.model import (
    TRUSTED,
    CodeFault,
    Edge,
    EdgeKind,
    Image,
    ImageFacts,
    Malformed,
    Missing,
    OwnedBy,
    Resolution,
    Severity,
    Signature,
    canonical,
    dll_key,
)
from wheelfix.plan.model import Chosen, Drop, Rejected
from wheelfix.plan.ways import is_supplied, is_supply, same_bytes
from wheelfix.pycode.sourcecode import python_code
from wheelfix.roots.choice import (
    DllRequest,
    Needer,
    Objection,
    choose,
    choose_release,
    family_files,
    gpu_objection,
    loaded_by_name,
    never_vendored,
    objection_of_parts,
)
from wheelfix.roots.host import card_arch
from wheelfix.roots.release import GROUPS, LEARNED, OneRelease, Wanted, group_of, unfulfilled
from wheelfix.rules.dependencies import Need, gather
from wheelfix.rules.gpufit import Fit, fit
from wheelfix.rules.placement import misplaced, used_files
from wheelfix.rules.policy import list_test_artifacts
from wheelfix.rules.registry import Theme, is_about, matches_any
from wheelfix.rules.wording import and_more

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wheelfix.base.options import RepairOptions
    from wheelfix.exam.examination import Examination
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import Required, RootFile
    from wheelfix.rules.context import Subject


def drops_asked_for(before: Examination, options: RepairOptions) -> tuple[Drop, ...]:
    """What ``--drop`` and ``--drop-test-artifacts`` mean; UsageError for a pattern that means nothing."""
    patterns = options.drop
    artifacts = frozenset(list_test_artifacts(before.subject) if options.drop_test_artifacts else ())
    drops = []
    for file in before.subject.view.files if patterns or artifacts else ():
        if matches(file.origin, patterns):
            drops.append(Drop(file.origin, "asked for with --drop"))
        elif file.path in artifacts:
            drops.append(Drop(file.origin, "a test artefact of BUILD_TEST=1"))
    unmatched = [pattern for pattern in patterns if not any(matches(drop.path, [pattern]) for drop in drops)]
    if unmatched:
        raise UsageError(f"--drop {unmatched[0]}", because=f"no member of {before.report.path} matches it")
    return tuple(drops)


def unusable(subject: Subject) -> Iterator[tuple[str, str]]:
    """DLLs that a load takes and that make it fail, with what is wrong: replaced if a root has a better one."""
    loaded = {outcome.event.path for outcome in subject.outcomes}
    imports = [edge for edge in subject.edges if edge.is_import]
    loaded.update(edge.file for edge in imports if edge.file)
    unfit = {edge.file: edge for edge in imports if edge.unexported and edge.file}
    for path in sorted(loaded):
        if not path.lower().endswith(".dll") or path not in subject.view or not _may_go(subject, path):
            continue
        image = subject.view.image(path)
        if isinstance(image, Malformed):
            yield path, f"it cannot be loaded: {image.reason}"
        elif isinstance(image, Image) and not runs_on(image.machine, subject.machine):
            yield path, f"it is for {image.machine}, the package for {subject.machine}"
        elif path in unfit:
            edge = unfit[path]
            yield path, f"it does not export {edge.unexported[0]}, which {base_name(edge.importer)} imports"


def leftovers(subject: Subject, chosen: Iterable[Chosen]) -> Iterator[Drop]:
    """What can go once everything that is needed is in its place: sources of copies, and what nothing loads."""
    moved = grouped((entry.own, entry.path) for entry in chosen if entry.file is None)
    used = used_files(subject)
    for path, targets in moved.items():
        if path not in used and _may_go(subject, path):
            places = ", ".join(target.rpartition("/")[0].removeprefix("Lib/site-packages/") for target in targets)
            yield Drop(subject.origin(path), f"moved to {places}, where it is looked for")
    for item in misplaced(subject):
        if item.path not in moved and not item.needed and _may_go(subject, item.path):
            yield Drop(subject.origin(item.path), item.message)


def _may_go(subject: Subject, path: str) -> bool:
    """Whether a file is the package's own, or of no distribution: those of others are left alone."""
    return path in subject.view.own or path in subject.facts.unowned


def in_site_packages(folder: str) -> str:
    inside = folder.replace("\\", "/").strip("/")
    if not inside or any(part in ("", ".", "..") for part in inside.split("/")) or ":" in inside:
        raise UsageError(
            f"--dest {folder}", because="it is not a folder inside the wheel", hint="for example torch/lib"
        )
    return f"{SITE_PACKAGES}/{inside}"


@dataclass
class Planner:
    """Drops, includes, then answers needs from the roots in rounds, until nothing changes."""

    before: Examination
    index: RootIndex
    options: RepairOptions
    view: FileView
    chosen: dict[str, Chosen] = field(default_factory=dict)
    drops: list[Drop] = field(default_factory=list)
    unanswered: dict[str, str] = field(default_factory=dict)
    """Why DLLs are not added, by their folded names."""
    unmet: list[Need] = field(default_factory=list)
    """What is still needed when nothing more can be met."""
    releases: dict[str, OneRelease] = field(default_factory=dict)
    """The one release of each vendor's toolkit that is vendored from, by group."""
    tried: set[tuple[str, str, bool]] = field(default_factory=set)
    """Names and folders that were looked at, and whether the DLL was for something that is really loaded."""
    required: Required = ()
    """What wheels of the package index, from which DLLs are taken, require of each other."""
    preview: bool = False
    """Whether no DLL is downloaded from the package index."""

    @property
    def subject(self) -> Subject:
        """What the plan is for, as it was scanned."""
        return self.before.subject

    @property
    def cuda(self) -> str | None:
        """The CUDA release of the wheel, where one is known with its minor."""
        return self.subject.cuda.text if "." in self.subject.cuda.text else None

    @property
    def dest(self) -> tuple[str, ...]:
        """The folder that ``--dest`` names, for every DLL; none without it."""
        return (in_site_packages(self.options.dest),) if self.options.dest is not None else ()

    def run(self) -> None:
        """Drop, include, answer needs until nothing changes, then clean up."""
        self._drop_files(drops_asked_for(self.before, self.options))
        if self.options.clean:
            self._drop_files(Drop(self.view.origin(path), why) for path, why in unusable(self.subject))
        if self.options.via == "wheels":
            self._take_out_copies()
        asked = [Need(name) for name in self.options.include]
        self._settle_releases([*self._unmet_needs(self._resolve()), *asked])
        self._restore()
        self._answer_code()
        self._include()
        self._answer_all()
        if self.options.clean:
            subject = replace(self.subject, view=self.view, resolution=self._resolve())
            self._drop_files(leftovers(subject, self.chosen.values()))

    def _resolve(self) -> Resolution:
        profile = self.subject.profile
        if self.options.with_vcredist:
            profile = replace(profile, assume=profile.assume - {"vcredist"})
        return resolve(self.view, profile, self.subject.distribution.requires)

    def _unmet_needs(self, resolution: Resolution) -> Iterator[Need]:
        """Everything that images of the view ask for and that has no provider, as far as the policy wants it vendored.

        With ``--via wheels`` also what a required distribution has where it is not known to be found.
        """
        unmet = (edge for edge in resolution.edges if edge.importer in self.view and self._is_wanted(edge))
        if self.options.via == "wheels":
            unmet = (replace(edge, provider=Missing()) if _out_of_reach(edge) else edge for edge in unmet)
        unmet = (edge for edge in unmet if edge.is_missing)
        for need in gather(unmet, lambda edge: edge.importer in resolution.reached):
            yield self._with_alternatives(need)

    def _is_wanted(self, edge: Edge) -> bool:
        companions = self.options.companions
        if edge.kind is not EdgeKind.COMPANION or companions == "all":
            return True
        return companions == "required" and edge.strength != "optional"

    def _with_alternatives(self, need: Need) -> Need:
        """The need with the other names that the table of companions allows for it."""
        if need.kind is EdgeKind.COMPANION:
            for companion in companions_of(base_name(need.first.importer), cuda=self.cuda):
                if companion.name == need.name:
                    return replace(need, other_names=companion.names[1:], patterns=companion.globs)
        return need

    def _answer_all(self) -> None:
        """Answer needs in rounds, until the model says that nothing changes."""
        for _ in range(ROUNDS):
            self._answer_code()
            resolution = self._resolve()
            found = list(self._unmet_needs(resolution))
            self._settle_releases(found)
            # What a new DLL needs comes first: once that loads, others may find the new DLL where it is.
            if not (self._answer_for_new(found, resolution) or self._answer_each(found, resolution)):
                break
        self.unmet = found
        if self.options.with_vcredist:
            self._require_runtime(found)

    def _answer_for_new(self, found: Iterable[Need], resolution: Resolution) -> bool:
        """Answer the needs of DLLs that the plan adds; whether the view changed."""
        needs = [need for need in found if not self.chosen.keys().isdisjoint(need.importers)]
        return self._answer_each(needs, resolution)

    def _answer_each(self, needs: Iterable[Need], resolution: Resolution) -> bool:
        """Try to meet all of some needs; whether the view changed."""
        answers = [self._answer(need, resolution) for need in needs]
        return any(answers)

    def _require_runtime(self, left: list[Need]) -> None:
        """Refuse ``--with-vcredist`` where the runtime is needed and no root has it."""
        machine = self.subject.machine
        absent = [need.name for need in left if need.reached and classify(need.name, machine).kind == "vcredist"]
        if absent:
            raise UsageError(
                "--with-vcredist",
                because=[self.unanswered.get(dll_key(name)) or f"no root has {name}" for name in absent[:4]],
                hint="name the redist folder of Visual Studio with --root, or the wheel msvc-runtime from PyPI",
            )

    def _include(self) -> None:
        added = {key_of(path) for path in self.chosen}
        for name in self.options.include:
            where = self._folder_for_included(name) if dll_key(name) not in added else ""
            if not where or self.view.find(where, name) is not None:
                continue
            if not self._take(Need(name), name, (where,), f"asked for with --include {name}"):
                raise UsageError(
                    f"--include {name}",
                    because=self.unanswered.get(dll_key(name), "no root has a file of that name"),
                    hint="name the folder or wheel that has it with --root; wheelfix roots lists what is searched",
                )

    def _restore(self) -> None:
        """Put DLLs that RECORD lists and the wheel does not have where RECORD says, if a root has them."""
        if not self.restorable:
            return
        found = self._unmet_needs(self._resolve())
        needs = {dll_key(need.name): need for need in found}
        for path, row in self.restorable.items():
            name = base_name(path)
            if self.index.candidates(name) and not matches_any(name, self.options.exclude):
                need = needs.get(dll_key(name), Need(name))
                self._take(need, name, (parent(path),), f"RECORD lists {row}, and the wheel does not have it")

    def _take_out_copies(self) -> None:
        """Leave out the DLLs that are byte by byte those of a vendor's wheel: the wheel will require that one."""
        for path in self.view.image_paths:
            own, name = self.view.file(path), base_name(path)
            file = self._supply_of(own) if is_supplied(name) and not matches_any(name, self.options.exclude) else None
            if file is not None:
                because = f"the same bytes are in {file.origin}"
                self._drop_files([Drop(own.origin, because)])
                self._add(Chosen(path, file, "", "include", because, (), because))

    def _supply_of(self, own: ViewFile) -> RootFile | None:
        """The member of a vendor's wheel, named or on the package index, with the bytes of a file."""
        name = base_name(own.path)
        looked: set[RootFile] = set()
        while True:
            for file in self.index.candidates(name):
                another = file not in looked and canonical(file.package) != canonical(self.before.report.name)
                if another and is_supply(file) and same_bytes(own, file, self.index, preview=self.preview):
                    return file
                looked.add(file)
            if not self._look_on_index(name):
                return None

    def _folder_for_included(self, name: str) -> str:
        """The folder of a DLL that no table and no code asks for: where everything looks, else beside an image."""
        subject = self.subject
        if self.dest:
            return self.dest[0]
        if subject.startup is not None:
            return subject.startup.lib
        added = [folder for folder in subject.resolution.search_dirs if not folder.startswith("@")]
        images = (*sorted(subject.resolution.reached), *sorted(subject.images))
        places = (*added, *(parent(path) for path in images))
        where = next((folder for folder in places if folder.startswith(f"{SITE_PACKAGES}/")), "")
        if not where:
            raise UsageError(
                f"--include {name}",
                because="the wheel has no folder with DLLs, and its code does not show where it looks for this one",
                hint="add --dest with the folder of the wheel that the code looks into",
            )
        return where

    def _answer_code(self) -> None:
        """Put DLLs that code loads by itself to the first place at which the load finds them."""
        for _ in range(ROUNDS):
            faults = self._resolve().code_faults
            if not any(self._answer_fault(fault) for fault in faults):
                break

    def _answer_fault(self, fault: CodeFault) -> bool:
        """Try to meet what code looks for; whether the view changed."""
        for path in places_in_code(fault):
            name, (folder,) = base_name(path), self.dest or (parent(path),)
            if (path, folder, fault.sure) in self.tried or matches_any(name, self.options.exclude):
                continue
            self.tried.add((path, folder, fault.sure))
            absent = Missing(searched=fault.searched, present_at=tuple(self.view.named(dll_key(name))))
            need = Need(name, (Edge(fault.file, name, EdgeKind.COMPANION, absent, required=True),))
            before = self.view, dict(self.chosen)
            own = path in (*fault.missed, *fault.names)
            # What it loads by a path in the package is the package's own, also if it is the C runtime (glfw).
            if self._copy_own(need, (folder,)) or self._take(need, name, (folder,), own=own):
                # Without what it imports it would not load, and the code would go on to its next choice.
                for _ in range(ROUNDS):
                    resolution = self._resolve()
                    if fault not in resolution.code_faults:
                        return True
                    if not self._answer_for_new(self._unmet_needs(resolution), resolution):
                        break
                self.view, self.chosen = before
        return False

    def _settle_releases(self, found: list[Need]) -> None:
        """Choose the release of each toolkit once, when the first of its DLLs is needed."""
        asked = [x for x in found if not matches_any(x.name, self.options.exclude) and not self._may_be_found(x)]
        for need in asked:
            for name in need.names:
                if not self.index.candidates(name):
                    self._look_on_index(name)
        known = [(group, need) for need in asked if (group := group_of(need.name))]
        by_group = grouped((group, self._request(need, name)) for group, need in known for name in need.names)
        for group, requests in by_group.items():
            if group not in self.releases:
                wanted = self._wanted_release(group)
                assumed = self.subject.profile.cuda or ""
                if group == "cuda" and wanted.text.partition(".")[0] == assumed.partition(".")[0] != "":
                    because = f"--assume cuda={assumed} says that it is installed"
                    self.releases[group] = OneRelease(group, assumed, because)
                    continue
                self.releases[group] = choose_release(group, requests, self.index, wanted)

    # ------------------------------------------------------------------------------------- how one need is answered

    def _answer(self, need: Need, resolution: Resolution) -> bool:
        """Try to meet a need; whether the view changed."""
        if matches_any(need.name, self.options.exclude):
            self.unanswered[dll_key(need.name)] = EXCLUDED
            return False
        folders = self.dest or _lost_folders(resolution)[:1]
        folders = folders or self._destinations(need, resolution.search_dirs or self._emptied())
        folders = tuple(folder for folder in folders if (dll_key(need.name), folder, need.reached) not in self.tried)
        if not folders:
            return False
        self.tried.update((dll_key(need.name), folder, need.reached) for folder in folders)
        if self._may_be_found(need):
            return False
        if need.present_at and self._copy_own(need, folders):
            return True
        if any(self._take(need, name, folders) for name in need.names or self._by_pattern(need)):
            return True
        return self._take_for_each(need)

    def _destinations(self, need: Need, added: tuple[str, ...]) -> tuple[str, ...]:
        """The folders into which the DLL must go so that everyone who asks finds it.

        torch loads its own folder; a package that adds a DLL folder of its own searches that for every load, above all
        the ``.libs`` that delvewheel made; otherwise the DLL goes beside each image that needs it.
        """
        startup = self.subject.startup
        if startup is not None and any(path.startswith(parent(startup.lib) + "/") for path in need.importers):
            return (startup.lib,)
        folders = distinct(parent(path) for path in need.importers)
        own = [folder for folder in added if not folder.startswith("@")]
        libs = [folder for folder in own if folder.endswith(".libs")]
        if libs:
            return (libs[0],)
        if own and (len(folders) > 1 or folders[0] in own):
            return (folders[0],) if folders[0] in own else (own[0],)
        return folders

    def _take_for_each(self, need: Need) -> bool:
        """Answer folder by folder, where no one file has what all importers ask for: a wheel may need namesakes."""
        groups = grouped((parent(edge.importer), edge) for edge in need.edges if edge.is_import)
        if len(groups) < 2 or self.dest:
            return False
        parts = [(folder, replace(need, edges=tuple(edges))) for folder, edges in groups.items()]
        taken = [self._take(part, need.name, (folder,)) for folder, part in parts]
        return any(taken)

    def _emptied(self) -> tuple[str, ...]:
        """The folder of DLLs that delvewheel's patch adds, when all of them were taken out."""
        if not processed_by(self.before):
            return ()
        return tuple(folder for folder in declared_folders(self.view) if folder.endswith(".libs"))

    def _may_be_found(self, need: Need) -> bool:
        """Whether the scan is not sure that a DLL of the wheel is out of reach: code adds folders that were not read.

        A second copy of a DLL that is found after all would be loaded beside the first.
        """
        if not self.subject.unread_code(adding=True):
            return False
        places = {self.view.origin(path) for path in need.present_at}
        reported = (one for one in self.before.report.findings if is_about(one, Theme.OUT_OF_REACH))
        return any(one.subject in places and one.severity is not Severity.ERROR for one in reported)

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
            path = join(folder, base_name(origin))
            self._add(replace(first, path=path, kind=str(need.kind), because=because, serves=serves))
            if added is None:
                name = base_name(origin)
                siblings = {path: base_name(path) for path in self.view.in_folder(parent(origin)) if path != origin}
                parts = loaded_by_name(name, siblings, self.cuda)
                self._add_family(name, folder, ((None, part) for part in parts))
        return True

    def _can_serve(self, need: Need, path: str) -> bool:
        """Whether a file of the view can be copied, and has what those who ask import from it."""
        if self.subject.facts.info is not None and path not in self.view.own:
            return False  # a wheel can only copy what is in it
        image = self.view.image(path)
        if not isinstance(image, Image) or image.machine is not self.subject.machine:
            return False
        wanted = (symbol for needer in self._needers(need, need.name) for symbol in needer.symbols)
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
        info = self.subject.facts.info
        rows = self.subject.view.deleted.values()
        return {installed_path(row, info.data): row for row in rows} if info is not None else {}

    def _take(self, need: Need, name: str, folders: tuple[str, ...], asked: str = "", *, own: bool = False) -> bool:
        """Add the file of a root that serves a need best, if there is one; whether the view changed.

        ``asked`` is why it is added whatever needs it.
        """
        outcome = choose(self._request(need, name, own=own), self.index)
        while outcome.winner is None and self._look_on_index(name):
            outcome = choose(self._request(need, name, own=own), self.index)
        if outcome.winner is None:
            reason = outcome.reason
            if not outcome.considered and self.index.fetcher is not None:
                reason += f", nor has a vendor's wheel for this machine on the package index{self._others(name)}"
            self.unanswered.setdefault(dll_key(need.name), reason)
            return False
        self.unanswered.pop(dll_key(need.name), None)
        kind, because = ("include", asked) if asked else (str(need.kind), _because(self.view, need))
        serves = tuple(map(self.view.origin, need.importers))
        rejected = tuple(Rejected(c.file.location, c.reason) for c in outcome.considered if c.verdict != "chosen")
        for folder in folders:
            path = join(folder, outcome.winner.name)
            self._add(
                Chosen(path, outcome.winner, "", kind, because, serves, outcome.reason, rejected, outcome.warnings)
            )
            parts = family_files(self.index, outcome.winner)
            self._add_family(outcome.winner.name, folder, ((part, "") for part in parts))
        return True

    # --------------------------------------------------------------------------------------- changes of the view

    def _drop_files(self, drops: Iterable[Drop]) -> None:
        """Leave files out, those not already left out."""
        known = {drop.path for drop in self.drops}
        new = {drop.path: drop for drop in drops if drop.path not in known}
        self.drops += new.values()
        gone = [file.path for file in self.view.files if file.origin in new and file.path not in self.chosen]
        self.view = self.view.changed(dropped=gone)

    def _add_family(self, name: str, folder: str, parts: Iterable[tuple[RootFile | None, str]]) -> None:
        """Add the parts of its family that a DLL loads at run time, from beside it: of a root, or of the wheel."""
        family = family_of(name)
        if not family or self.options.companions == "none":
            return
        because = f"part of {family.title}, which comes whole from one folder"
        for file, own in parts:
            part = file.name if file is not None else base_name(own)
            wanted = self.view.find(folder, part) is None and own not in self.chosen
            if wanted and not matches_any(part, self.options.exclude):
                chosen = Chosen(join(folder, part), file, own, "family", because, (name,), f"lies beside {name}")
                self._add(chosen)

    def _add(self, chosen: Chosen) -> None:
        self.chosen[chosen.path] = chosen
        if chosen.file is None:
            own = self.view.file(chosen.own)
            size, opened = own.size, own.open
        else:
            size, opened = chosen.file.size, functools.partial(self.index.open, chosen.file)
        new = ViewFile(chosen.path, member_path(chosen.path, self._data), size, opened)
        self.view = self.view.changed(added=[new])

    @property
    def _data(self) -> str:
        info = self.subject.facts.info
        return info.data if info else f"{self.before.report.name}.data"

    # ------------------------------------------------------------------------------------- what a choice depends on

    def _look_on_index(self, name: str) -> bool:
        """Have the next release on the package index looked at, if ``--fetch`` was given."""
        subject = self.subject
        if never_vendored(name, subject.machine, runtime=self.options.with_vcredist):
            return False
        group = group_of(name)
        wanted = self._wanted_release(group).releases if group in GROUPS else frozenset[str]()
        return self.index.look_on_index(name, self.cuda or subject.cuda.text, subject.machine, wanted, self.required)

    def _others(self, name: str) -> str:
        """Who else has a DLL on the package index, and what it takes to have it fetched from there."""
        subject = self.subject
        found = pip_packages(name, cuda=self.cuda or subject.cuda.text or None)
        names = [canonical(re.split("[^A-Za-z0-9._-]", item, maxsplit=1)[0]) for item in found]
        names = [one for one in names if not vendor_of(one) and one != canonical(subject.name)]
        return f"; {TRUST} {names[0]} takes it from there" if names else ""

    def _request(self, need: Need, name: str, *, own: bool = False) -> DllRequest:
        """What is asked of the roots, and what the choice has to respect."""
        subject = self.subject
        return DllRequest(
            name,
            subject.machine,
            self._needers(need, name),
            subject.cuda.text,
            release=self._release(need, name),
            companions=_family_companions(name, self.cuda),
            beside=self._beside(need, name),
            one_release=self.releases.get(group_of(name)),
            runtime=self.options.with_vcredist or own,
            included=frozenset(map(dll_key, self.options.include)),
            objection=self._objections(name),
            provided=self._provided,
        )

    def _needers(self, need: Need, name: str) -> tuple[Needer, ...]:
        """Who asks for a DLL, with the symbols that each of them imports from it."""
        found = []
        for path in need.importers:
            image = self.view.image(path)
            tables = (*image.imports, *image.delay_imports) if isinstance(image, Image) else ()
            symbols = (symbol for one in tables if dll_key(one.dll) == dll_key(name) for symbol in one.symbols)
            found.append(Needer(self.view.origin(path), tuple(symbols)))
        return tuple(found)

    def _wanted_release(self, group: str) -> Wanted:
        """What the wheel was built with: its CUDA, or the release of the same libraries that it has already."""
        subject = self.subject
        if group == "cuda":
            return subject.cuda
        for path in subject.images:
            version = subject.version(path) if group_of(base_name(path)) == group else None
            if version is not None and any(version.file):
                release = f"{version.file[0]}.{version.file[1]}"
                return Wanted(frozenset({release}), f"{base_name(path)} in it is of {release}")
        return Wanted()

    def _objections(self, name: str) -> Callable[[RootFile], Objection | None]:
        """The first objection to a candidate, those that reject it before those that only rank it lower."""
        index, options, unmet = self.index, self.options, self._unmet(name)
        checks: list[Callable[[RootFile], Objection | None]] = []
        if self.required:
            checks.append(self._refused_by_others)
        if options.via == "wheels":
            checks.append(lambda file: NOT_OF_A_WHEEL if is_supplied(file.name) and not is_supply(file) else None)
        if options.require_signed:
            checks.append(objection_of_parts(index, lambda part: _unsigned(index.signature(part)), fatal=True))
        if options.scan.gpu is not None:
            card = card_arch(options.scan.gpu)
            checks.append(gpu_objection(index, card, lambda archs: fit(archs, card) is not Fit.NONE))
        if unmet:
            checks.append(
                lambda file: Objection(f"it imports {unmet[file]}, which no root has") if file in unmet else None
            )
        return lambda file: next((found for check in checks if (found := check(file)) is not None), None)

    def _refused_by_others(self, file: RootFile) -> Objection | None:
        if file.root.learned != LEARNED:
            return None
        broken = unfulfilled(canonical(file.package), file.root.version, self.required)
        return Objection(f"another wheel that DLLs are taken from requires {broken}", fatal=True) if broken else None

    def _unmet(self, name: str) -> dict[RootFile, str]:
        """The candidates that import what no root has, where others do not: a namesake from another build."""
        candidates = self.index.candidates(name)
        found = {file: missing for file in candidates if (missing := self._without(file))}
        return found if len(candidates) > len(found) else {}

    def _without(self, file: RootFile) -> str:
        """A DLL that a candidate imports and that neither Windows nor the wheel nor any root has."""
        image = self.index.image(file)
        for need in image.imports if isinstance(image, Image) else ():
            known = classify(need.dll, self.subject.machine).kind != "unknown"
            if not known and not self.view.named(dll_key(need.dll)) and not self.index.candidates(need.dll):
                return need.dll
        return ""

    def _provided(self, name: str) -> ImageFacts | None:
        paths = self.view.named(dll_key(name))
        return self.view.image(paths[0]) if paths else None

    def _relatives(self, need: Need, name: str) -> Iterator[str]:
        """Those who ask for a DLL and are of its family."""
        family = family_of(name)
        for path in need.importers if family else ():
            if family_of(base_name(path)) == family:
                yield path

    def _beside(self, need: Need, name: str) -> RootFile | None:
        """The member of the same family that is chosen already: only its folder counts."""
        chosen = (self.chosen.get(path) for path in self._relatives(need, name))
        return next((one.file for one in chosen if one and one.file), None)

    def _release(self, need: Need, name: str) -> str:
        """The release of the family that is in the wheel already, which a missing part has to fit."""
        own = next((path for path in self._relatives(need, name) if path not in self.chosen), None)
        version = self.subject.version(own) if own is not None else None
        return str(version) if version else ""


def _lost_folders(resolution: Resolution) -> tuple[str, ...]:
    """Folders of the package that its code needs to exist, and that do not: all their DLLs were taken out."""
    faults = (fault for fault in resolution.code_faults if fault.sure and fault.cause in ("folder", "listing"))
    return tuple(fault.names[0] for fault in faults if fault.names[0].startswith(f"{SITE_PACKAGES}/"))


def _because(view: FileView, need: Need) -> str:
    names = distinct(view.origin(path) if path.endswith(".py") else base_name(path) for path in need.importers)
    words = {"import": "imported by", "delay": "delay-loaded by", "companion": "loaded at run time by"}
    return f"{words.get(str(need.kind), 'a forwarder target of')} {and_more(names)}"


def _out_of_reach(edge: Edge) -> bool:
    """Whether a vendor's distribution has a DLL in a folder that is not searched, as far as is known."""
    found = edge.provider
    if not isinstance(found, OwnedBy) or not is_supplied(edge.name):
        return False
    return not found.reachable or found.because == FOLDER_NOT_CHECKED


def places_in_code(fault: CodeFault) -> tuple[str, ...]:
    """The paths at which code looks for a DLL that it loads, in its order; a bare name only where it is sure to fail.

    What a package may leave to the machine has a bare name; a path in the package is its own.
    """
    if fault.cause not in ("load", "cffi", "raise") or fault.chain:
        return ()
    found = []
    for name in dict.fromkeys((*fault.missed, *fault.names)):
        folders = fault.searched if fault.sure else ()
        found += [name] if "/" in name else [f"{folder}/{name}" for folder in folders]
    return tuple(path for path in found if path.startswith(f"{SITE_PACKAGES}/") and parent(path) != SITE_PACKAGES)


def _family_companions(name: str, cuda: str | None) -> tuple[str, ...]:
    family = family_of(name)
    needs = companions_of(name, cuda=cuda) if family else ()
    found = (need.names[0] for need in needs if need.names and need.required)
    return tuple(other for other in found if family_of(other) == family)


WORDS = {
    "untrusted-root": "has a signature that leads to no trusted root",
    "invalid": "has an invalid signature",
    "not-checked": "has a signature that was not checked",
}
NOT_OF_A_WHEEL = Objection(
    "--via wheels takes it from a wheel of its vendor; name one with --root, or add --fetch", fatal=True
)


def _unsigned(signature: Signature) -> str:
    trusted = signature.status == TRUSTED
    return "" if trusted else f"{signature_in_words(signature)}, and --require-signed was given"


def signature_in_words(signature: Signature) -> str:
    """Return what is wrong with a signature, as words that follow the file's name."""
    if signature.status == "unsigned":
        return "is not signed"
    return f"{WORDS[signature.status]} ({signature.reason})" if signature.reason else WORDS[signature.status]


_PATCH = re.compile(r"^def _delvewheel_(?:init_)?patch_(\d+(?:_\d+)*)\(", re.MULTILINE)


def processed_by(before: Examination) -> str:
    """Return the delvewheel that has processed a wheel, as far as it says so; empty if none has."""
    info, view = before.subject.facts.info, before.subject.view
    text = view.read_text(f"{SITE_PACKAGES}/{info.dist_info}/DELVEWHEEL") if info else None
    if text is not None:
        first = text.partition("\n")[0].strip()
        return first.removeprefix("Version: ") if first.startswith("Version: ") else "(unknown version)"
    for _, source in python_code(view, (b"_delvewheel_",)):  # early releases left only their patch
        patch = _PATCH.search(source)
        if patch is not None:
            return patch[1].replace("_", ".")
    return ""


TRUST = "--trust-distribution"
EXCLUDED = "excluded with --exclude"
ROUNDS = 64
"""More rounds than the longest chain of dependencies; a bound, not a policy."""
