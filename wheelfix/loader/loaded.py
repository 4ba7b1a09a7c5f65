"""One load in a process of its own, and what came of it; what the loads of several processes give together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, replace
from wheelfix.loader.loadcall import AS_PYTHON_DOES
from wheelfix.model import InView, Missing, OwnedBy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.loadcall import Failure
    from wheelfix.loader.loading import Loader
    from wheelfix.model import Edge, EdgeKind, LoadEvent

ROUNDS = 10
"""How often loads that failed are tried again, while others of the package succeed."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One load in a process of its own, and everything that came of it."""

    event: LoadEvent
    failure: Failure | None
    edges: dict[tuple[str, str, EdgeKind], Edge]
    touched: dict[str, None]
    alone: Failure | None = None
    """Why it fails when it is imported by its own name, where the package's code imports it in another way."""
    sure: bool = True
    """For such a load: whether that code could be followed, and imports everything that the load needs first."""
    after: str = ""
    """The other top-level package that has to be imported before the one with this module."""


def load_in(process: Loader, event: LoadEvent, flags: int = AS_PYTHON_DOES) -> Loaded:
    """Load one file as Python would, and keep what came of it apart from other loads."""
    process.edges, process.touched = {}, {}
    failure = process.load(event.path, flags)
    return Loaded(event, failure, process.edges, process.touched)


def load_in_any_order(
    process: Loader, events: Iterable[LoadEvent], flags: dict[str, int] | None = None
) -> dict[str, Loaded]:
    """Load several files in one process; those that failed are tried again as long as one more succeeds."""
    own = flags or {}
    done = {event.path: load_in(process, event, own.get(event.path, AS_PYTHON_DOES)) for event in events}
    for _ in range(ROUNDS):
        again = [loaded.event for loaded in done.values() if loaded.failure]
        done.update({event.path: load_in(process, event, own.get(event.path, AS_PYTHON_DOES)) for event in again})
        if all(done[event.path].failure for event in again):
            break
    return done


def merged_edges(found: Iterable[Loaded]) -> dict[tuple[str, str, EdgeKind], Edge]:
    """Every need of all loads; one that is unmet in some process counts as unmet, unless that load does no harm."""
    merged: dict[tuple[str, str, EdgeKind], Edge] = {}
    harmless: dict[tuple[str, str, EdgeKind], Edge] = {}
    for loaded in found:
        if loaded.failure and loaded.event.guarded:
            harmless.update(loaded.edges)
            continue
        for key, edge in loaded.edges.items():
            known = merged.get(key)
            if known is None or (_is_unmet(edge) and not _is_unmet(known)):
                merged[key] = edge
    return {**harmless, **merged}


def _is_unmet(edge: Edge) -> bool:
    unreachable = isinstance(edge.provider, OwnedBy) and not edge.provider.reachable
    return isinstance(edge.provider, Missing) or unreachable or bool(edge.unexported)


def as_if_found(edge: Edge) -> Edge:
    """A need of a module that loads once others are imported: the file of that name in the set serves it then."""
    provider = edge.provider
    if isinstance(provider, Missing) and provider.present_at:
        return replace(edge, provider=InView(provider.present_at[0]))
    return edge
