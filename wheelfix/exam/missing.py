"""Gather, per DLL that nobody provides, who asks for it, how, and where it could come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.providers import who_ships
from wheelfix.loader.view import base_name
from wheelfix.model import Candidate, Edge, EdgeKind, Missing, MissingDll, dll_key

if TYPE_CHECKING:
    from wheelfix.roots.index import Candidates
    from wheelfix.rules.context import Subject

_ORDER = (EdgeKind.IMPORT, EdgeKind.FORWARDER, EdgeKind.DELAY, EdgeKind.COMPANION)


def list_missing(subject: Subject, index: Candidates | None) -> tuple[MissingDll, ...]:
    """Every DLL that somebody needs and nobody provides, required ones first, by name."""
    grouped: dict[str, list[Edge]] = {}
    for edge in subject.resolution.edges:
        if isinstance(edge.provider, Missing):
            grouped.setdefault(dll_key(edge.name), []).append(edge)
    found = [_gather(subject, edges, index) for _, edges in sorted(grouped.items())]
    return tuple(sorted(found, key=lambda missing: not missing.required))


def _gather(subject: Subject, edges: list[Edge], index: Candidates | None) -> MissingDll:
    edges = sorted(edges, key=lambda edge: (_ORDER.index(edge.kind), not edge.required, edge.importer))
    first = edges[0]
    cuda = subject.cuda.text or None
    return MissingDll(
        name=first.name,
        kind=first.kind,
        required=any(edge.required for edge in edges),
        needed_by=tuple(dict.fromkeys(subject.origin(edge.importer) for edge in edges)),
        chain=_chain(subject, first),
        candidates=_candidates(first.name, index),
        providers=who_ships(first.name, cuda=cuda),
    )


def _chain(subject: Subject, edge: Edge) -> tuple[str, ...]:
    """The way to the missing DLL: from a load that fails because of it, else from whoever needs it."""
    return subject.failed_chains.get(dll_key(edge.name)) or (base_name(edge.importer), edge.name)


def _candidates(name: str, index: Candidates | None) -> tuple[Candidate, ...]:
    if index is None:
        return ()
    from wheelfix.roots.gather import list_candidates  # and with it whatever can discover roots

    return list_candidates(index, name)
