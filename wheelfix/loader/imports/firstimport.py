"""Of several loads that fail, the one that importing the package meets first: the error names that one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.imports.importorder import ImportOrder
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.pycode.budget import separate_budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import LoadOutcome


def in_import_order(view: FileView, profile: Profile, outcomes: Sequence[LoadOutcome]) -> tuple[LoadOutcome, ...]:
    """Return outcomes with the failed imports of extension modules in the order in which the package imports them.

    Those that nothing imports for certain come after the others, in the order that they had.
    """
    places = [at for at, outcome in enumerate(outcomes) if _is_failed_import(outcome)]
    if len(places) < 2:
        return tuple(outcomes)
    failed = [outcomes[at] for at in places]
    order = ImportOrder(view, profile.python, separate_budget(view))
    paths = {outcome.event.path: None for outcome in failed}
    ranks = _ranks(view, order, paths)
    failed.sort(key=lambda outcome: ranks.get(outcome.event.path, len(ranks)))
    first = _met_first(order, failed[0].event.path, paths)
    failed.sort(key=lambda outcome: outcome.event.path != first)
    found = list(outcomes)
    for at, outcome in zip(places, failed, strict=True):
        found[at] = outcome
    return tuple(found)


def _is_failed_import(outcome: LoadOutcome) -> bool:
    return bool(outcome.code) and not outcome.event.guarded and outcome.event.cause in ("extension", "module")


def _met_first(order: ImportOrder, path: str, paths: dict[str, None]) -> str:
    """The first of some files that importing one of them by its name imports: a package above it may import others."""
    met = (step.path for step, _ in order.steps(path) if step.path in paths and step.certain and not step.guarded)
    return next(met, path)


def _ranks(view: FileView, order: ImportOrder, paths: dict[str, None]) -> dict[str, int]:
    """When each of some files is imported for certain, and nothing catches its failure."""
    tops = dict.fromkeys(path.removeprefix(SITE_PACKAGES + "/").partition("/")[0] for path in paths)
    ranks: dict[str, int] = {}
    inits = (f"{SITE_PACKAGES}/{top}/__init__.py" for top in tops)
    for step, _ in (step for init in inits if init in view for step in order.steps(init)):
        if step.path in paths and step.certain and not step.guarded:
            ranks.setdefault(step.path, len(ranks))
            if len(ranks) == len(paths) - 1:  # the one that is left comes last, imported or not
                break
    return ranks
