"""A DLL that images ask for, with everyone who asks: what rules judge, plans answer and reports print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.loader.view import base_name
from wheelfix.model import Edge, EdgeKind, Missing, dll_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_STRONGEST_FIRST = {EdgeKind.IMPORT: 0, EdgeKind.FORWARDER: 1, EdgeKind.DELAY: 2, EdgeKind.COMPANION: 3}


@dataclass(frozen=True, slots=True)
class Need:
    """One DLL, with everyone who asks for it."""

    name: str
    """As spelled by the first who asks."""
    edges: tuple[Edge, ...] = ()
    """The strongest kind of need first, then those that count, then by importer."""
    reached: bool = True
    """Whether a file that asks for it is loaded by the package itself."""
    other_names: tuple[str, ...] = ()
    """Further DLLs that would do, the best first."""
    patterns: tuple[str, ...] = ()
    """Patterns of names that would do."""

    @property
    def names(self) -> tuple[str, ...]:
        """The DLLs that would do, the best first; empty where only patterns of names are known."""
        return () if self.name in self.patterns else (self.name, *self.other_names)

    @property
    def first(self) -> Edge:
        """The edge that stands for all."""
        return self.edges[0]

    @property
    def kind(self) -> EdgeKind:
        """The strongest way in which it is asked for."""
        return self.first.kind

    @property
    def required(self) -> bool:
        """Whether something fails without it."""
        return any(edge.required for edge in self.edges)

    @property
    def importers(self) -> tuple[str, ...]:
        """View paths of those who ask."""
        return tuple(dict.fromkeys(edge.importer for edge in self.edges))

    @property
    def importer_names(self) -> tuple[str, ...]:
        """Base names of those who ask."""
        return tuple(dict.fromkeys(base_name(edge.importer) for edge in self.edges))

    @property
    def searched(self) -> tuple[str, ...]:
        """The places where the loader looked for the first of them."""
        return self.first.provider.searched if isinstance(self.first.provider, Missing) else ()

    @property
    def objections(self) -> tuple[str, ...]:
        """Why distributions that are required do not provide it."""
        return self._of_missing(lambda missing: missing.required)

    @property
    def absent(self) -> tuple[str, ...]:
        """Required distributions that have it or may have it, and are not installed: without them it fails."""
        return self._of_missing(lambda missing: missing.absent)

    @property
    def optional(self) -> tuple[str, ...]:
        """Distributions that have it, but that only an extra asks for: they may be left out on purpose."""
        return self._of_missing(lambda missing: missing.optional)

    @property
    def present_at(self) -> tuple[str, ...]:
        """Files of that name where the loader does not look."""
        return self._of_missing(lambda missing: missing.present_at)

    @property
    def deleted(self) -> str:
        """Where RECORD lists it, if the wheel does not have it there."""
        return next(iter(filter(None, self._of_missing(lambda missing: (missing.deleted,)))), "")

    def _of_missing(self, field: Callable[[Missing], tuple[str, ...]]) -> tuple[str, ...]:
        """What one field says in all edges without a provider, each text once."""
        found = (field(edge.provider) for edge in self.edges if isinstance(edge.provider, Missing))
        return tuple(dict.fromkeys(text for texts in found for text in texts))


def gather(edges: Iterable[Edge], counts: Callable[[Edge], bool]) -> tuple[Need, ...]:
    """Group edges by the DLL that they ask for; among edges of one kind those that count come first."""
    grouped: dict[str, list[Edge]] = {}
    for edge in edges:
        grouped.setdefault(dll_key(edge.name), []).append(edge)
    needs = []
    for _, group in sorted(grouped.items()):
        group.sort(key=lambda edge: (_STRONGEST_FIRST[edge.kind], not counts(edge), edge.importer))
        needs.append(Need(group[0].name, tuple(group), any(map(counts, group))))
    return tuple(needs)
