"""Gather, per DLL that another distribution provides or may provide, who asks for it and who has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.model import Edge, InView, MayComeFrom, OwnedBy, ProvidedDll, dll_key

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject


def list_provided(subject: Subject) -> tuple[ProvidedDll, ...]:
    """Every DLL that the subject's own files get from other distributions, by distribution and name."""
    found: dict[tuple[str, tuple[str, ...], str], ProvidedDll] = {}
    for edge in subject.resolution.edges:
        one = _provided(subject, edge) if edge.importer in subject.images else None
        if one is not None:
            key = (one.how, one.distributions, dll_key(one.name))
            needed_by = (*found[key].needed_by, *one.needed_by) if key in found else one.needed_by
            found[key] = replace(found.get(key, one), needed_by=tuple(dict.fromkeys(needed_by)))
    return tuple(sorted(found.values(), key=lambda one: (one.distributions, dll_key(one.name))))


def _provided(subject: Subject, edge: Edge) -> ProvidedDll | None:
    asked = (subject.origin(edge.importer),)
    match edge.provider:
        case OwnedBy(distribution=name, reachable=reachable, because=because, specifier=specifier):
            how = "requirement" if reachable else "out-of-reach"
            return ProvidedDll(edge.name, how, (name,), asked, specifier, because=because)
        case MayComeFrom(distributions=names, because=because):
            return ProvidedDll(edge.name, "unsure", names, asked, because=because)
        case InView(path):
            owner = subject.owner(path)
            return ProvidedDll(edge.name, "file", (owner,), asked, path=path) if owner else None
        case _:
            return None
