"""Gather, for each DLL without a provider, who asks for it, how, and where it could come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.exam.needs import Need, gather
from wheelfix.loader.view import base_name
from wheelfix.model import Candidate, Edge, Missing, MissingDll, dll_key
from wheelfix.rules.hints import providers_of
from wheelfix.rules.unmet import is_required

if TYPE_CHECKING:
    from wheelfix.roots.root import Candidates
    from wheelfix.rules.context import Subject


def list_missing(subject: Subject, index: Candidates | None) -> tuple[MissingDll, ...]:
    """Every DLL that is needed and has no provider, required ones first, by name."""
    unmet = (edge for edge in subject.resolution.edges if isinstance(edge.provider, Missing))
    found = [_described(subject, need, index) for need in gather(unmet, lambda edge: edge.required)]
    return tuple(sorted(found, key=lambda missing: not missing.required))


def _described(subject: Subject, need: Need, index: Candidates | None) -> MissingDll:
    return MissingDll(
        name=need.name,
        kind=need.kind,
        required=is_required(subject, need.edges),
        needed_by=tuple(map(subject.origin, need.importers)),
        chain=_chain(subject, need.first),
        candidates=_candidates(need.name, index, subject),
        providers=providers_of(need.name, subject),
    )


def _chain(subject: Subject, edge: Edge) -> tuple[str, ...]:
    """The way to the missing DLL: from a load that fails because of it, else from a file that needs it."""
    return subject.failed_chains.get(dll_key(edge.name)) or (base_name(edge.importer), edge.name)


def _candidates(name: str, index: Candidates | None, subject: Subject) -> tuple[Candidate, ...]:
    """The files of that name in the roots, and with ``--fetch`` on the package index, as a report shows them."""
    if index is None:
        return ()
    if not index.candidates(name):
        index.look_on_index(name, subject.cuda.text, subject.machine)
    return tuple(
        Candidate(file.location, file.root.where, index.shown_version(file), f"{file.origin}, {file.root.learned}")
        for file in index.candidates(name)
    )
