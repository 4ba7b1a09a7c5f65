"""Several distributions imported one after the other in one process: the first DLL of a name is used by all."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.loader.loaded import merged_edges
from wheelfix.loader.resolve import Start, all_together

if TYPE_CHECKING:
    from wheelfix.loader.loaded import Loaded
    from wheelfix.loader.loading import Loader
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.resolve import Imported
    from wheelfix.loader.view import Beside
    from wheelfix.model import Edge


@dataclass(frozen=True, slots=True)
class AfterOthers:
    """The import of a distribution in a process in which others were imported before."""

    failed: tuple[Loaded, ...] = ()
    """The loads that work in a fresh process and fail here."""
    edges: tuple[Edge, ...] = ()
    """Every need of all its loads, as it is met here."""


class ImportOrders:
    """Tries orders of the distributions of a set; what each of them loads by itself is found out once."""

    def __init__(self, beside: Beside, profile: Profile) -> None:
        self._beside, self._profile = beside, profile
        self._starts: dict[str, Start] = {}
        self._alone: dict[str, Imported] = {}
        self._states: dict[tuple[str, ...], Loader] = {}

    def state(self, names: tuple[str, ...]) -> Loader | None:
        """The process after some distributions were imported, each with all of its modules; None for no names.

        A distribution whose DLLs ask for too much is passed over.
        """
        if not names:
            return None
        if names not in self._states:
            before = self.state(names[:-1])
            try:
                start = self._start(names[-1])
                found, processes, _ = self._import_alone(names[-1]) if before is None else start.run(before)
                whole = all_together(start.blank if before is None else start.blank.after(before), found, processes)
            except InputError:
                whole = before if before is not None else self._start(names[-1]).blank
            self._states[names] = whole
        return self._states[names]

    def after(self, before: tuple[str, ...], name: str) -> AfterOthers:
        """What comes of importing a distribution after others."""
        try:
            alone, found = self.loads((), name), self.loads(before, name)
        except InputError:
            return AfterOthers()
        works = {loaded.event.path for loaded in alone if loaded.failure is None}
        failed = tuple(one for one in found if one.failure and not one.event.guarded and one.event.path in works)
        return AfterOthers(failed, tuple(merged_edges(found).values()))

    def loads(self, before: tuple[str, ...], name: str) -> list[Loaded]:
        """Every load of a distribution, in a process in which others were imported before."""
        state = self.state(before)
        found, _, _ = self._import_alone(name) if state is None else self._start(name).run(state)
        return found

    def _start(self, name: str) -> Start:
        if name not in self._starts:
            view, requires = self._beside.view_of(name), self._beside.requires(name)
            self._starts[name] = Start.of(view, self._profile, requires)
        return self._starts[name]

    def _import_alone(self, name: str) -> Imported:
        if name not in self._alone:
            self._alone[name] = self._start(name).run()
        return self._alone[name]


_ORDERS: weakref.WeakKeyDictionary[Beside, dict[Profile, ImportOrders]] = weakref.WeakKeyDictionary()


def orders_of(beside: Beside, profile: Profile) -> ImportOrders:
    """The orders of a set, shared by the examinations of all its distributions."""
    known = _ORDERS.setdefault(beside, {})
    return known.setdefault(profile, ImportOrders(beside, profile))
