"""What the DLLs of a view load by name at run time, which no import table shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.knowledge.companions import CompanionNeed, companions_of, depends_on_version, needs_in_practice
from wheelfix.knowledge.cuda import release_of_product
from wheelfix.loader.loadcall import DEFAULT_DIRS
from wheelfix.loader.view import base_name, parent
from wheelfix.model import (
    Edge,
    EdgeKind,
    Image,
    InView,
    Missing,
    dll_key,
)
from wheelfix.pe.version import read_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.loading import Loader
    from wheelfix.loader.packageloading import PackageLoading
    from wheelfix.loader.profile import Profile
    from wheelfix.model import Provider


def with_needs_in_practice(loader: Loader) -> Iterator[Edge]:
    """The loader's edges; a delay load that the DLL's family needs in practice is marked as required."""
    for edge in loader.edges.values():
        need = needs_in_practice(base_name(edge.importer), edge.name) if edge.kind is EdgeKind.DELAY else None
        yield edge if need is None else replace(edge, required=True, because=need.without, source=need.source)


class Companions:
    """What the DLLs of a view load by name at run time, which no import table shows."""

    def __init__(
        self, loader: Loader, processes: list[Loader], loading: PackageLoading | None, profile: Profile
    ) -> None:
        self.loader = loader
        self.processes = processes
        self.cuda = loading.cuda if loading is not None and loading.startup is not None else profile.cuda
        self.named = loading.named if loading is not None else ()

    def needs(self, name: str, path: str = "") -> list[CompanionNeed]:
        """The table's entries for a DLL name; what is only vendored too is not needed by a load.

        Some are about certain releases only: then the version of the file at the path counts.
        """
        found = read_version(self.loader.view.source(path)) if path and depends_on_version(name) else None
        version = str(found) if found is not None else None
        cuda = self._release_of_nvrtc(name, path) or self.cuda
        needs = [need for need in companions_of(name, cuda=cuda, version=version) if need.strength != "beside"]
        own = (load for load in self.named if path and load.by == path)
        return [*needs, *(CompanionNeed((one.name,), "required", "", one.without, one.source) for one in own)]

    def _release_of_nvrtc(self, name: str, path: str) -> str:
        """The toolkit of an NVRTC without built-ins beside it, from its version resource: it opens only those."""
        if not path or not re.fullmatch(r"nvrtc64_\d+_0\.dll", dll_key(name)):
            return ""
        view = self.loader.view
        if any(base_name(file).lower().startswith("nvrtc-builtins64_") for file in view.in_folder(parent(path))):
            return ""
        found = read_version(view.source(path))
        release = release_of_product(found.strings.get("ProductName", "")) if found is not None else None
        return f"{release[0]}.{release[1]}" if release is not None else ""

    def edges(self) -> Iterator[Edge]:
        """One edge for each companion of each image of the subject, and of each DLL that is missing."""
        asked: dict[str, list[str]] = {}
        for edge in self.loader.edges.values():
            asked.setdefault(edge.importer, []).append(edge.name)
        for path, image in self.loader.view.images().items():
            if isinstance(image, Image):
                for need in self.needs(base_name(path), path):
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
        """The provider of a companion, in each process that has its parent; none if it is missing in one of them."""
        processes = [process for process in self.processes if path in process.modules] or [self.loader]
        answers = [self._find_in(process, path, need) for process in processes]
        return next((answer for answer in answers if isinstance(answer, Missing)), answers[0])

    def _find_in(self, process: Loader, path: str, need: CompanionNeed) -> Provider:
        """A companion is found when it is loaded, beside its parent, in an added folder, or in another distribution."""
        loaded = need.met_by(process.loaded)
        if loaded is not None:
            return InView(process.loaded[dll_key(loaded)])
        folders = tuple(dict.fromkeys([parent(path), *process.user_dirs]))
        for folder in folders:
            names = {base_name(found): found for found in process.view.in_folder(folder)}
            met = need.met_by(names)
            if met is not None:
                return InView(names[met])
        for name in need.names:
            other = process.find(name, process.search_steps(path, DEFAULT_DIRS))
            if not isinstance(other, Missing):
                return other
        present = tuple(file.path for file in process.view.files if need.matches(base_name(file.path)))
        return Missing(searched=folders, present_at=present)
