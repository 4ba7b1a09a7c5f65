"""What a repair leaves out of a wheel: what was asked for, and with ``--clean`` what is in the wrong place.

A DLL that cannot be loaded where it is goes before the needs are answered, so that a better one is found for it; what
nothing loads goes after that.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from wheelfix.errors import UsageError
from wheelfix.loader.loadcall import runs_on
from wheelfix.loader.view import Layer, base_name
from wheelfix.model import EdgeKind, Image, InView, Malformed, fold
from wheelfix.plan.model import Drop
from wheelfix.rules.policy import list_test_artifacts
from wheelfix.rules.strays import misplaced, used_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.base.options import RepairOptions
    from wheelfix.exam.examination import Examination
    from wheelfix.plan.chosen import Chosen
    from wheelfix.rules.context import Subject


def drops_asked_for(before: Examination, options: RepairOptions) -> tuple[Drop, ...]:
    """What ``--drop`` and ``--drop-test-artifacts`` mean; UsageError for a pattern that means nothing."""
    patterns = options.drop
    artifacts = frozenset(list_test_artifacts(before.subject) if options.drop_test_artifacts else ())
    drops = []
    for file in before.subject.view.files if patterns or artifacts else ():
        if any(_means(pattern, file.origin) or _is_name(pattern, base_name(file.path)) for pattern in patterns):
            drops.append(Drop(file.origin, "asked for with --drop"))
        elif file.path in artifacts:
            drops.append(Drop(file.origin, "a test artefact of BUILD_TEST=1"))
    unmatched = [pattern for pattern in patterns if not any(_means(pattern, drop.path) for drop in drops)]
    if unmatched:
        raise UsageError(f"--drop {unmatched[0]}", because=f"no member of {before.identity.path} matches it")
    return tuple(drops)


def _is_name(pattern: str, name: str) -> bool:
    return "/" not in pattern and fnmatch.fnmatchcase(fold(name), fold(pattern))


def _means(pattern: str, path: str) -> bool:
    return fnmatch.fnmatchcase(fold(path), fold(pattern)) or _is_name(pattern, base_name(path))


def unusable(subject: Subject) -> Iterator[tuple[str, str]]:
    """DLLs that a load takes and that make it fail, with what is wrong: replaced if a root has a better one."""
    loaded = {outcome.event.path for outcome in subject.resolution.outcomes}
    imports = [edge for edge in subject.resolution.edges if edge.kind is EdgeKind.IMPORT]
    loaded.update(edge.provider.path for edge in imports if isinstance(edge.provider, InView))
    unfit = {edge.provider.path: edge for edge in imports if edge.unexported and isinstance(edge.provider, InView)}
    for path in sorted(loaded):
        if not path.lower().endswith(".dll") or not _may_go(subject, path):
            continue
        image = subject.view.image(path)
        if isinstance(image, Malformed):
            yield path, f"it cannot be loaded: {image.reason}"
        elif isinstance(image, Image) and not runs_on(image.machine, subject.machine):
            yield path, f"it is for {image.machine}, the package for {subject.machine}"
        elif path in unfit:
            edge = unfit[path]
            yield path, f"it does not export {edge.unexported[0]}, which {base_name(edge.importer)} imports"


def leftovers(subject: Subject, chosen: Iterable[Chosen]) -> Iterator[Drop]:
    """What can go once everything that is needed is in its place: sources of copies, and what nothing loads."""
    moved: dict[str, list[str]] = {}
    for entry in chosen:
        if entry.file is None:
            moved.setdefault(entry.own, []).append(entry.path)
    used = used_files(subject)
    for path, targets in moved.items():
        if path not in used and _may_go(subject, path):
            places = ", ".join(target.rpartition("/")[0].removeprefix("Lib/site-packages/") for target in targets)
            yield Drop(subject.origin(path), f"moved to {places}, where it is looked for")
    for item in misplaced(subject):
        if item.path not in moved and not item.needed and _may_go(subject, item.path):
            yield Drop(subject.origin(item.path), item.message)


def _may_go(subject: Subject, path: str) -> bool:
    """Whether a file is the package's own, or of no distribution: those of others are left alone."""
    return subject.view.layer(path) is not Layer.ENVIRONMENT or path in subject.unowned
