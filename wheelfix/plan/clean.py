"""What ``repair --clean`` removes, moves and replaces: DLLs in the wrong place, or that cannot be loaded there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.search import runs_on
from wheelfix.loader.view import Layer, base_name
from wheelfix.model import EdgeKind, Image, InView, Malformed
from wheelfix.plan.model import Drop
from wheelfix.rules.strays import misplaced, used_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.plan.planner import Chosen
    from wheelfix.rules.context import Subject


def unusable(subject: Subject) -> Iterator[tuple[str, str]]:
    """DLLs that a load takes and that make it fail, with what is wrong: replaced if a root has a better one."""
    loaded = {outcome.event.path for outcome in subject.resolution.outcomes}
    imports = [edge for edge in subject.resolution.edges if edge.kind is EdgeKind.IMPORT]
    loaded.update(edge.provider.path for edge in imports if isinstance(edge.provider, InView))
    lacking = {edge.provider.path: edge for edge in imports if edge.lacks and isinstance(edge.provider, InView)}
    for path in sorted(loaded):
        if not path.lower().endswith(".dll") or not _may_go(subject, path):
            continue
        image = subject.view.image(path)
        if isinstance(image, Malformed):
            yield path, f"it cannot be loaded: {image.reason}"
        elif isinstance(image, Image) and not runs_on(image.machine, subject.machine):
            yield path, f"it is for {image.machine}, the package for {subject.machine}"
        elif path in lacking:
            edge = lacking[path]
            yield path, f"it does not export {edge.lacks[0]}, which {base_name(edge.importer)} imports"


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
    """Whether a file is the package's own, or nobody's: those of other distributions are theirs."""
    return subject.view.layer(path) is not Layer.ENVIRONMENT or path in subject.unowned
