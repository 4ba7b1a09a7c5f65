"""WF312 and WF313: several copies of one DLL, and which of them is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.view import Layer
from wheelfix.model import EdgeKind, Finding, InView, Repairable, Severity, dll_key
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import repair_command
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.strays import misplaced
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterator


@rule(
    "WF312",
    "copy-never-loaded",
    Severity.INFO,
    Repairable.SOMETIMES,
    "A DLL is in the wheel twice, and one of the copies is never loaded.",
)
def copy_never_loaded(subject: Subject) -> Iterator[Finding]:
    """Find copies of a DLL that lie where no loader looks, beside one that is loaded."""
    copies: dict[str, list[str]] = {}
    for item in misplaced(subject):
        if item.copy == "idle":
            copies.setdefault(dll_key(base(item.path)), []).append(item.path)
    for key, idle in copies.items():
        paths = [path for path in subject.view.named(key) if path in subject.images]
        winners = [path for path in paths if path not in idle]
        differ = any(subject.images.get(path) != subject.images.get(winners[0]) for path in idle) if winners else False
        yield finding(
            "WF312",
            subject.origin(idle[0]),
            f"{base(idle[0])} is in the wheel {len(paths)} times; the copy in "
            f"{listing([_place(subject, path) for path in winners])} is loaded, the one in "
            f"{listing([_place(subject, path) for path in idle])} never is"
            + (", and is a different file" if differ else ""),
            hint=f"{repair_command(subject, '--clean')} leaves it out",
            evidence={
                "loaded": [subject.origin(path) for path in winners],
                "idle": [subject.origin(path) for path in idle],
            },
            severity=Severity.WARNING if differ else None,
        )


def _place(subject: Subject, path: str) -> str:
    return folder(subject.origin(path).replace("\\", "/")) or "the root of the wheel"


@rule(
    "WF313",
    "shadowed-by-environment",
    Severity.WARNING,
    Repairable.NEVER,
    "A file of the environment is loaded instead of the package's own DLL of that name.",
)
def shadowed_by_environment(subject: Subject) -> Iterator[Finding]:
    """Find DLLs of the package for which a file beside ``python.exe``, or of another package, is loaded."""
    own: dict[str, list[str]] = {}
    for path in subject.images:
        own.setdefault(dll_key(base(path)), []).append(path)
    reported = set()
    for edge in subject.resolution.edges:
        if edge.kind is not EdgeKind.IMPORT or not isinstance(edge.provider, InView):
            continue
        winner, mine = edge.provider.path, own.get(dll_key(edge.name), [])
        if winner in reported or not mine or winner in subject.images or not subject.reached(edge.importer):
            continue
        if winner in subject.view and subject.view.layer(winner) is Layer.ENVIRONMENT:
            reported.add(winner)
            other = subject.owner(winner)
            if other and any(subject.view.image(winner) == subject.images[path] for path in mine):
                continue  # the same file, which another distribution has as well
            place = f"it is {other}'s, which comes first" if other else "that place is searched first"
            remedy = f"let {other} and {subject.name} use one {base(winner)}: install releases that were built together"
            if not other:
                remedy = (
                    f"remove {subject.origin(winner)}, unless it is there on purpose and fits {base(edge.importer)}"
                )
            yield finding(
                "WF313",
                subject.origin(winner),
                f"{base(edge.importer)} gets {base(winner)} from {subject.origin(winner)} and not the package's own, "
                f"{subject.origin(mine[0])}: {place}",
                hint=remedy,
                evidence={"importer": subject.origin(edge.importer), "own": [subject.origin(path) for path in mine]},
            )
