"""The whole story of an import: what is loaded in which order, who needs whom, what lacks, and what fails first."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from wheelfix.knowledge.companions import companions_of, needs_in_practice
from wheelfix.loader import torch
from wheelfix.loader.others import Provisions
from wheelfix.loader.packages import extension_modules, guarded_imports, module_name, package_loads
from wheelfix.loader.search import AS_PYTHON_DOES, DEFAULT_DIRS, Loader
from wheelfix.loader.target import Target
from wheelfix.loader.view import base_name, parent
from wheelfix.model import (
    Edge,
    EdgeKind,
    Image,
    InView,
    LoadEvent,
    LoadOutcome,
    Missing,
    Resolution,
    dll_key,
)
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.knowledge.companions import CompanionNeed
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.search import Failure
    from wheelfix.loader.view import FileView
    from wheelfix.model import Provider


_RESOLVED: weakref.WeakKeyDictionary[FileView, dict[tuple[Profile, tuple[str, ...]], Resolution]]
_RESOLVED = weakref.WeakKeyDictionary()


def resolve(view: FileView, profile: Profile, requires: tuple[str, ...] = ()) -> Resolution:
    """Load, in the model, everything that importing the subject of a view loads; then ask what else it needs.

    A view never changes, so what was told of it once is told again: a plan asks what the scan before it asked.
    """
    known = _RESOLVED.setdefault(view, {})
    key = (profile, requires)
    if key not in known:
        known[key] = _resolve(view, profile, requires)
    return known[key]


def _resolve(view: FileView, profile: Profile, requires: tuple[str, ...]) -> Resolution:
    facts = torch.torch_facts(view)
    provisions = Provisions(profile, requires, facts, view)
    loader = Loader(view, Target(profile, provisions), profile.machine)
    outcomes = _import_torch(loader, facts, profile) if facts else _import_package(loader, profile)
    reached = dict(loader.touched)
    _survey(loader, view)
    companions = _Companions(loader, facts.cuda if facts else profile.cuda)
    edges = [*_upgraded(loader), *companions.edges()]
    return Resolution(
        edges=tuple(sorted(edges, key=lambda edge: (edge.importer, edge.kind.value, dll_key(edge.name)))),
        outcomes=tuple(outcomes),
        reached=frozenset(reached),
        search_dirs=tuple(loader.user_dirs),
    )


# --------------------------------------------------------------------------------------------------- the import


def _import_torch(loader: Loader, facts: torch.TorchFacts, profile: Profile) -> list[LoadOutcome]:
    """torch's own loop over ``torch/lib``, then its extension modules."""
    loader.user_dirs = list(torch.search_dirs(facts, loader.view))
    torch.preload(loader, facts)
    outcomes = [_outcome(event, torch.load_one(loader, event.path)) for event in torch.events(loader.view)]
    for path in extension_modules(loader.view, profile):
        outcomes.append(_outcome(LoadEvent(path, "extension", module_name(path)), loader.load(path, AS_PYTHON_DOES)))
    return outcomes


def _import_package(loader: Loader, profile: Profile) -> list[LoadOutcome]:
    """Every load that an ordinary package performs, with the folders that its code adds."""
    loads = package_loads(loader.view, profile)
    loader.user_dirs = list(loads.added)
    for name in loads.names:
        loader.load_by_name(name, DEFAULT_DIRS)
    failures = {event: loader.load(event.path, AS_PYTHON_DOES) for event in loads.events}
    # The order of a package's own imports is not known: what loads once its siblings are loaded is taken to load.
    while True:
        again = [event for event, failure in failures.items() if failure]
        failures.update({event: loader.load(event.path, AS_PYTHON_DOES) for event in again})
        if sum(map(bool, failures.values())) == len(again):
            break
    failed = [event.module for event, failure in failures.items() if failure and event.cause == "extension"]
    guarded = guarded_imports(loader.view, failed)
    settled = {
        replace(event, guarded=True) if failure and event.module in guarded else event: failure
        for event, failure in failures.items()
    }
    _forget_guarded(loader, settled)
    return [_outcome(event, failure) for event, failure in settled.items()]


def _forget_guarded(loader: Loader, failures: dict[LoadEvent, Failure | None]) -> None:
    """Take back what only loads have touched that failed without harm: for the package it is as if never loaded."""
    harmless = {path for event, failure in failures.items() if failure and event.guarded for path in failure.mapped}
    harmful = {path for event, failure in failures.items() if failure and not event.guarded for path in failure.mapped}
    for path in harmless - harmful - set(loader.modules):
        loader.touched.pop(path, None)


def _outcome(event: LoadEvent, failure: Failure | None) -> LoadOutcome:
    if failure is None:
        return LoadOutcome(event)
    chain = tuple(base_name(step) for step in failure.chain)
    if chain[0] != base_name(event.path):
        chain = (base_name(event.path), *chain)
    return LoadOutcome(event, failure.code, chain, failure.detail)


def _survey(loader: Loader, view: FileView) -> None:
    """Resolve the imports of images that nothing is known to load, as whoever loads them would.

    A plugin is loaded when the package's own DLLs are already in the process, from wherever they lie; so a DLL that
    is anywhere in the view counts as found for it.
    """
    for path, image in view.images().items():
        if path in loader.touched or not isinstance(image, Image) or image.managed or path.lower().endswith(".sys"):
            continue  # assemblies and kernel drivers have loaders of their own
        steps = loader.search_steps(path, AS_PYTHON_DOES)
        needs = [(need, EdgeKind.IMPORT) for need in image.imports]
        needs += [(need, EdgeKind.DELAY) for need in image.delay_imports]
        for need, kind in needs:
            provider = loader.find(need.dll, steps)
            if isinstance(provider, Missing) and provider.present_at:
                provider = InView(provider.present_at[0])
            lacks: tuple[str | int, ...] = ()
            if isinstance(provider, InView) and kind is EdgeKind.IMPORT:
                lacks = loader.lacking(need, provider.path)
            edge = Edge(path, need.dll, kind, provider, kind is EdgeKind.IMPORT, lacks=lacks)
            loader.edges.setdefault((path, dll_key(need.dll), kind), edge)


# ----------------------------------------------------------------------------------------------- the companions


def _upgraded(loader: Loader) -> Iterator[Edge]:
    """The loader's edges; a delay load that the DLL's family needs in practice is marked as required."""
    for edge in loader.edges.values():
        need = needs_in_practice(base_name(edge.importer), edge.name) if edge.kind is EdgeKind.DELAY else None
        yield edge if need is None else replace(edge, required=True, because=need.without, source=need.source)


class _Companions:
    """What the DLLs of a view load by name at run time, which no import table shows."""

    def __init__(self, loader: Loader, cuda: str | None) -> None:
        self.loader = loader
        self.cuda = cuda

    def needs(self, name: str) -> list[CompanionNeed]:
        """The table's entries for a DLL name; what merely has to come along is no need of a load."""
        return [need for need in companions_of(name, cuda=self.cuda) if need.strength != "beside"]

    def edges(self) -> Iterator[Edge]:
        """One edge for each companion of each image of the subject, and of each DLL that is missing."""
        asked: dict[str, list[str]] = {}
        for edge in self.loader.edges.values():
            asked.setdefault(edge.importer, []).append(edge.name)
        for path, image in self.loader.view.images().items():
            if isinstance(image, Image):
                for need in self.needs(base_name(path)):
                    if not any(need.matches(name) for name in asked.get(path, ())):
                        yield self._edge(path, need)
        missing = {dll_key(e.name): e.name for e in self.loader.edges.values() if isinstance(e.provider, Missing)}
        for name in sorted(missing.values()):
            for need in self.needs(name):
                if need.met_by(missing) is None:
                    yield self._edge(name, need)

    def _edge(self, path: str, need: CompanionNeed) -> Edge:
        provider = self._find(path, need)
        spelled = base_name(provider.path) if isinstance(provider, InView) else need.name
        return Edge(
            importer=path,
            name=spelled,
            kind=EdgeKind.COMPANION,
            provider=provider,
            required=need.required,
            strength=need.strength,
            because=need.without,
            source=need.source,
        )

    def _find(self, path: str, need: CompanionNeed) -> Provider:
        """A companion is found when it is loaded, beside its parent, in an added folder, or when somebody brings it."""
        loaded = need.met_by(self.loader.loaded)
        if loaded is not None:
            return InView(self.loader.loaded[dll_key(loaded)])
        folders = tuple(dict.fromkeys([parent(path), *self.loader.user_dirs]))
        for folder in folders:
            names = {base_name(found): found for found in self.loader.view.in_folder(folder)}
            met = need.met_by(names)
            if met is not None:
                return InView(names[met])
        for name in need.names:
            other = self.loader.find(name, self.loader.search_steps(path, DEFAULT_DIRS))
            if not isinstance(other, Missing):
                return other
        present = tuple(file.path for file in self.loader.view.files if need.matches(base_name(file.path)))
        return Missing(searched=folders, present_at=present)
