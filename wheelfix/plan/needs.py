"""What a view still needs that the options want vendored, and where it has to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.exam.needs import Need, gather
from wheelfix.knowledge.companions import companions_of
from wheelfix.loader.view import base_name, parent
from wheelfix.model import Edge, EdgeKind, Missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.view import FileView
    from wheelfix.model import Resolution


def unmet_needs(view: FileView, resolution: Resolution, companions: str, cuda: str | None) -> Iterator[Need]:
    """Everything that images of the view ask for and that has no provider, as far as the policy wants it vendored."""
    unmet = (
        edge
        for edge in resolution.edges
        if isinstance(edge.provider, Missing) and edge.importer in view and _wanted(edge, companions)
    )
    for need in gather(unmet, lambda edge: edge.importer in resolution.reached):
        yield _with_alternatives(need, cuda)


def _wanted(edge: Edge, companions: str) -> bool:
    if edge.kind is not EdgeKind.COMPANION:
        return True
    return companions == "all" or (companions == "required" and edge.strength != "optional")


def _with_alternatives(need: Need, cuda: str | None) -> Need:
    """The need with the other names that the table of companions allows for it."""
    if need.kind is EdgeKind.COMPANION:
        for companion in companions_of(base_name(need.first.importer), cuda=cuda):
            if companion.name == need.name:
                return replace(need, other_names=companion.names[1:], patterns=companion.globs)
    return need


def destinations(view: FileView, need: Need, startup_lib: str | None, added_dirs: Iterable[str]) -> tuple[str, ...]:
    """The folders into which the DLL must go so that everyone who asks finds it.

    torch loads its own folder; a package that adds a DLL folder of its own searches that for every load, above all the
    ``.libs`` that delvewheel made; otherwise the DLL goes beside each image that needs it.
    """
    if startup_lib is not None and any(path.startswith(parent(startup_lib) + "/") for path in need.importers):
        return (startup_lib,)
    folders = tuple(dict.fromkeys(parent(path) for path in need.importers))
    own = [folder for folder in added_dirs if not folder.startswith("@")]
    libs = [folder for folder in own if folder.endswith(".libs")]
    if libs:
        return (libs[0],)
    if own and (len(folders) > 1 or folders[0] in own):
        return (folders[0],) if folders[0] in own else (own[0],)
    return folders
