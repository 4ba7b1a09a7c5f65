"""WF405 and WF406: several OpenMP runtimes in one process, and different DLLs of one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of, is_openmp
from wheelfix.loader.followed import followed_imports, top_level
from wheelfix.loader.resolve import orders_of
from wheelfix.model import Finding, Image, InView, Repairable, Severity, canonical, dll_key
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import arrow, listing, strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.loading import Loader
    from wheelfix.loader.view import Beside

_LLVM = frozenset({"openmp-intel", "openmp-llvm", "openmp-msvc-llvm"})
"""Families of OpenMP runtimes that are the same code at heart and refuse to live side by side."""


# --------------------------------------------------------------------------------------------------------- OpenMP


@rule(
    "WF405",
    "several-openmp",
    Severity.WARNING,
    Repairable.NEVER,
    "Two OpenMP runtimes are loaded into one process.",
)
def several_openmp(subject: Subject) -> Iterator[Finding]:
    """Find import closures with more than one OpenMP runtime."""
    reported: set[frozenset[str]] = set()
    for process in subject.processes:
        found = _openmp_runtimes(subject, process)
        if len(found) < 2 or frozenset(found) in reported:
            continue
        reported.add(frozenset(found))
        llvm = sorted(runtime for runtime, (family, _) in found.items() if family in _LLVM)
        clash = len(llvm) > 1
        shown = llvm if clash else sorted(found)
        # All that a startup loads is one process; naming the first file of its folder would blame it for the others.
        who = f"import {subject.loading.package}" if subject.loading and subject.startup else base(process[0])
        yield finding(
            "WF405",
            base(shown[0]),
            f"{who} brings in {listing([f'{base(item)} ({arrow(found[item][1])})' for item in shown])}; "
            + (
                "the second one to start ends the process with OMP: Error #15"
                if clash
                else "each has its own threads, which costs speed"
            ),
            hint=(
                "link everything against one OpenMP runtime (for MSVC: /openmp:llvm or /openmp, not both), or take the "
                "second out of the wheel; KMP_DUPLICATE_LIB_OK=TRUE only hides it"
            ),
            evidence={base(item): strings(found[item][1]) for item in sorted(found)},
            severity=Severity.WARNING if clash else Severity.INFO,
        )
    yield from _openmp_of_others(subject)


def _openmp_of_others(subject: Subject) -> Iterator[Finding]:
    """Find runtimes of other distributions that a process has beside the subject's own, after importing both."""
    beside, name = subject.view.beside, canonical(subject.name)
    own = [path for path in subject.images if subject.reached(path) and _is_llvm(subject, path)]
    if beside is None or not own or name not in beside:
        return
    orders = orders_of(beside, subject.profile)
    for other in beside:
        if other == name or not any(_is_llvm(subject, path) for path in beside.paths(other)):
            continue
        theirs, mine = _both_loaded(subject, orders.state((name, other)), other, own)
        if not (theirs and mine):
            theirs, mine = _both_loaded(subject, orders.state((other, name)), other, own)
        if theirs and mine:
            imported = other in _imported(subject, beside)
            both = f"importing {name} imports {other}" if imported else f"{name} and {other} in one process"
            paths = [subject.origin(path) for path in (mine[0], theirs[0])]
            yield finding(
                "WF405",
                paths[0],
                f"{both}: {paths[1]} is loaded, too; the second one to start ends the process with OMP: Error #15",
                hint="use builds of both that share one OpenMP runtime; KMP_DUPLICATE_LIB_OK=TRUE only hides it",
                evidence={base(mine[0]): [*paths], "distribution": other},
                severity=Severity.WARNING if imported else Severity.INFO,
            )


def _imported(subject: Subject, beside: Beside) -> set[str]:
    """The other distributions whose modules importing the subject imports."""
    followed = followed_imports(subject.view, subject.profile)
    code = (file.path for file in subject.view.own_files if file.path.endswith((".py", ".pyd")))
    modules = {module for top in dict.fromkeys(map(top_level, code)) for module in followed.of(top).foreign}
    return {beside.owner(file) for file in map(beside.file_of_module, modules) if file is not None}


def _both_loaded(subject: Subject, state: Loader | None, other: str, own: list[str]) -> tuple[list[str], list[str]]:
    """Return the runtimes of another distribution, and the subject's own, that a process has."""
    loaded = sorted(path for path in (state.modules if state is not None else ()) if _is_llvm(subject, path))
    return [path for path in loaded if subject.owner(path) == other], [path for path in loaded if path in own]


def _is_llvm(subject: Subject, path: str) -> bool:
    """Whether a file is one of the runtimes that refuse to live side by side."""
    member = family_of(base(path))
    return member is not None and member.family.id in _LLVM and not _is_stub(subject, path)


def _openmp_runtimes(subject: Subject, process: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the runtimes of a process: path or name to family and who asks for it."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for importer in process:
        for edge in subject.edges_from.get(importer, ()):
            member = family_of(edge.name)
            if member is None or not is_openmp(edge.name) or not edge.required:
                continue
            target = edge.provider.path if isinstance(edge.provider, InView) else edge.name.lower()
            if not _is_stub(subject, target):
                found.setdefault(target, (member.family.id, (base(importer), edge.name)))
    return found


def _is_stub(subject: Subject, path: str) -> bool:
    """Whether a DLL only passes calls on: conda's libiomp5md.dll is libomp.dll by another name."""
    image = subject.view.image(path)
    return isinstance(image, Image) and 2 * len(image.exports.forwarders) > len(image.exports.names) > 0


# -------------------------------------------------------------------------------------------------------- same name


@rule(
    "WF406",
    "same-name-different-content",
    Severity.WARNING,
    Repairable.NEVER,
    "Two different DLLs have one name, and one process can load either.",
)
def same_name(subject: Subject) -> Iterator[Finding]:
    """Find DLLs of one name of which the first that is loaded serves everyone."""
    places: dict[str, list[str]] = {}
    for path in subject.images:
        if path.lower().endswith(".dll"):
            places.setdefault(dll_key(base(path)), []).append(path)
    for key, paths in sorted(places.items()):
        if len(paths) < 2 or not _differ(subject, paths):
            continue
        loaded = [path for path in paths if subject.reached(path)]
        shadowed = _shadowed(subject, paths)
        if len(loaded) > 1 and _differ(subject, loaded):
            consequence = "both are loaded, and later loads of that name get the first"
        elif shadowed:
            importer, got = shadowed
            consequence = f"{base(importer)} has one beside it but gets that of {folder(subject.origin(got))}"
        else:
            continue
        yield finding(
            "WF406",
            subject.origin(paths[0]),
            f"{base(paths[0])} is in the wheel {len(paths)} times with different content "
            f"({listing([folder(subject.origin(path)) for path in paths])}); {consequence}",
            hint=f"ship one {base(paths[0])}, or build each with a unique name",
            evidence={"key": key, "paths": strings(subject.origin(path) for path in paths)},
        )


def _differ(subject: Subject, paths: list[str]) -> bool:
    return len({_fingerprint(subject.images[path]) for path in paths}) > 1


def _fingerprint(image: Image) -> tuple[object, ...]:
    return image.size, image.machine, image.linker, image.imports, image.exports.names, image.exports.ordinals


def _shadowed(subject: Subject, paths: list[str]) -> tuple[str, str] | None:
    """Return an importer with one of the files beside it that gets another one, and which."""
    beside = {folder(path): path for path in paths}
    for path in paths:
        for edge in subject.edges_to.get(path, ()):
            own = beside.get(folder(edge.importer))
            if own is not None and own != path and subject.reached(edge.importer) and _differ(subject, [own, path]):
                return edge.importer, path
    return None
