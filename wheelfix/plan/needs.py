"""What a view still lacks, in the form in which a candidate is chosen for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.companions import companions_of
from wheelfix.loader.view import base_name, parent
from wheelfix.model import Edge, EdgeKind, Image, Missing, dll_key
from wheelfix.roots.choice.outcome import Needer
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.view import FileView
    from wheelfix.model import Resolution, Symbol

_ORDER = {EdgeKind.IMPORT: 0, EdgeKind.FORWARDER: 1, EdgeKind.DELAY: 2, EdgeKind.COMPANION: 3}


@dataclass(frozen=True, slots=True)
class Lack:
    """A DLL that is missing for some of the view's images."""

    names: tuple[str, ...]
    """Any of them will do, the best first."""
    globs: tuple[str, ...]
    """Further names that will do, for companions that are told by a pattern."""
    edges: tuple[Edge, ...]
    """Everyone who asks, the strongest need first."""
    reached: bool
    """Whether somebody who asks is really loaded by the package."""

    @property
    def name(self) -> str:
        """The name to show."""
        return self.names[0] if self.names else self.globs[0]

    @property
    def kind(self) -> EdgeKind:
        """The strongest way in which it is asked for."""
        return self.edges[0].kind

    @property
    def importers(self) -> tuple[str, ...]:
        """View paths of everyone who asks."""
        return tuple(dict.fromkeys(edge.importer for edge in self.edges))

    @property
    def present_at(self) -> tuple[str, ...]:
        """Files of that name which are in the view, but not where the loader looks."""
        found = (edge.provider.present_at for edge in self.edges if isinstance(edge.provider, Missing))
        return tuple(dict.fromkeys(path for paths in found for path in paths))

    @property
    def required(self) -> bool:
        """Whether something fails without it."""
        return any(edge.required for edge in self.edges)


def lacks(view: FileView, resolution: Resolution, companions: str, cuda: str | None) -> Iterator[Lack]:
    """Everything that images of the view ask for and nobody provides, as far as the policy wants it vendored."""
    grouped: dict[str, list[Edge]] = {}
    for edge in resolution.edges:
        if isinstance(edge.provider, Missing) and edge.importer in view and _wanted(edge, companions):
            grouped.setdefault(dll_key(edge.name), []).append(edge)
    for _, edges in sorted(grouped.items()):
        edges.sort(key=lambda edge: (_ORDER[edge.kind], edge.importer not in resolution.reached, edge.importer))
        names, globs = _alternatives(edges[0], cuda)
        yield Lack(names, globs, tuple(edges), any(edge.importer in resolution.reached for edge in edges))


def _wanted(edge: Edge, companions: str) -> bool:
    if edge.kind is not EdgeKind.COMPANION:
        return True
    return companions == "all" or (companions == "required" and edge.strength != "optional")


def _alternatives(edge: Edge, cuda: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if edge.kind is EdgeKind.COMPANION:
        for need in companions_of(base_name(edge.importer), cuda=cuda):
            if need.name == edge.name:
                return need.names, need.globs
    return (edge.name,), ()


def needers(view: FileView, lack: Lack, name: str) -> tuple[Needer, ...]:
    """Who asks for a DLL, with the symbols each of them imports from it."""
    found = []
    for path in lack.importers:
        image = view.image(path)
        found.append(Needer(view.origin(path), _symbols(image, name) if isinstance(image, Image) else ()))
    return tuple(found)


def _symbols(image: Image, name: str) -> tuple[Symbol, ...]:
    key = dll_key(name)
    tables = (*image.imports, *image.delay_imports)
    return tuple(symbol for entry in tables if dll_key(entry.dll) == key for symbol in entry.symbols)


def destinations(view: FileView, lack: Lack, torch_lib: str | None, added_dirs: Iterable[str]) -> tuple[str, ...]:
    """The folders into which the DLL must go so that everyone who asks finds it.

    torch loads its own folder; a package that adds a DLL folder of its own searches that for every load, above all the
    ``.libs`` that delvewheel made; otherwise the DLL goes beside each image that needs it.
    """
    if torch_lib is not None and any(path.startswith(parent(torch_lib) + "/") for path in lack.importers):
        return (torch_lib,)
    folders = tuple(dict.fromkeys(parent(path) for path in lack.importers))
    own = [folder for folder in added_dirs if not folder.startswith("@")]
    libs = [folder for folder in own if folder.endswith(".libs")]
    if libs:
        return (libs[0],)
    if own and (len(folders) > 1 or folders[0] in own):
        return (folders[0],) if folders[0] in own else (own[0],)
    return folders
