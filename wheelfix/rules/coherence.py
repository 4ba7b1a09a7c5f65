"""WF402, WF403, WF405 to WF407: DLLs that are all there and do not belong together.

What matters is one process: two CUDA majors in one wheel are two backends, in one import closure they are a fault.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.cuda import cuda_majors_for, cuda_versions_for, release, release_of_local_version
from wheelfix.knowledge.families import family_of, is_openmp
from wheelfix.model import EdgeKind, Finding, Image, InView, Json, Repairable, Severity, dll_key
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.dependencies import missing
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import arrow, listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LLVM = frozenset({"openmp-intel", "openmp-llvm", "openmp-msvc-llvm"})
"""Families of OpenMP runtimes that are the same code at heart and refuse to live side by side."""


def _strings(items: Iterable[str]) -> list[Json]:
    return [*items]


# ----------------------------------------------------------------------------------------------------------- CUDA


def cuda_dlls(subject: Subject, process: Iterable[str]) -> dict[str, str]:
    """Return the CUDA DLLs that a group of files is or asks for: folded name to who brings it in."""
    found: dict[str, str] = {}
    for path in process:
        key = dll_key(base(path))
        if cuda_majors_for(key):
            found.setdefault(key, base(path))
        for edge in subject.edges_from.get(path, ()):
            if edge.kind is EdgeKind.IMPORT and cuda_majors_for(edge.name):
                found.setdefault(dll_key(edge.name), base(path))
    return found


@rule(
    "WF402",
    "mixed-cuda-majors",
    Severity.WARNING,
    Repairable.NEVER,
    "DLLs of two CUDA majors meet in one process.",
)
def mixed_cuda_majors(subject: Subject) -> Iterator[Finding]:
    """Find import closures whose CUDA DLLs no single toolkit has."""
    told: set[frozenset[str]] = set()
    for process in subject.processes:
        found = cuda_dlls(subject, process)
        fits = [cuda_majors_for(key) for key in found]
        if not found or frozenset.intersection(*fits) or frozenset(found) in told:
            continue
        told.add(frozenset(found))
        sides = _sides(found)
        (first, first_names), (second, second_names) = sorted(sides.items())[:2]
        yield finding(
            "WF402",
            subject.origin(process[0]),
            f"{_asked(first_names[0], found)} is of CUDA {first}, {_asked(second_names[0], found)} of CUDA {second}; "
            "both are loaded into one process, and what one allocates the other cannot use",
            hint="build everything against one CUDA toolkit; look for a second one on PATH or in CUDA_PATH",
            evidence={str(major): _strings(names) for major, names in sorted(sides.items())},
        )


def _sides(found: dict[str, str]) -> dict[int, list[str]]:
    """Return the DLLs that only one CUDA major can have, by major."""
    sides: dict[int, list[str]] = {}
    for key in sorted(found):
        majors = cuda_majors_for(key)
        if len(majors) == 1:
            sides.setdefault(next(iter(majors)), []).append(key)
    if len(sides) < 2:  # the conflict lies with a name that several majors share
        for key in sorted(found):
            sides.setdefault(max(cuda_majors_for(key)), []).append(key)
    return sides


def _asked(key: str, found: dict[str, str]) -> str:
    by = found[key]
    return key if dll_key(by) == key else f"{key} (imported by {by})"


@rule(
    "WF403",
    "partial-cuda",
    Severity.ERROR,
    Repairable.SOMETIMES,
    "The torch wheel has cudart but not the other CUDA DLLs, so torch does not look for a toolkit.",
)
def partial_cuda(subject: Subject) -> Iterator[Finding]:
    """Find torch wheels that are between the two ways of getting CUDA: all of it inside, or none of it."""
    if subject.torch is None or subject.torch.cuda is None:
        return
    inside = [
        path
        for path in subject.images
        if folder(path) in subject.resolution.search_dirs and re.match(r"cudart64.*\.dll", dll_key(base(path)))
    ]
    absent = [need for need in missing(subject, EdgeKind.IMPORT) if need.reached and cuda_versions_for(need.name)]
    if not inside or not absent:
        return
    names = [need.name for need in absent]
    yield finding(
        "WF403",
        subject.origin(inside[0]),
        f"{base(inside[0])} is in the wheel, {listing(names)} {'is' if len(names) == 1 else 'are'} not; torch adds the "
        f"CUDA {subject.torch.cuda} toolkit's folder only if no cudart is in its own folders, so an installed toolkit "
        "does not help",
        hint=f"'wheelfix repair --cuda FOLDER' with CUDA {subject.torch.cuda}, or leave {base(inside[0])} out too",
        evidence={"present": _strings(subject.origin(path) for path in inside), "missing": _strings(names)},
    )


@rule(
    "WF407",
    "cuda-tag-mismatch",
    Severity.WARNING,
    Repairable.NEVER,
    "The version label, torch/version.py and the CUDA DLLs name different CUDA releases.",
)
def cuda_tag_mismatch(subject: Subject) -> Iterator[Finding]:
    """Hold ``+cu117`` against torch's own word and against the DLLs that are loaded."""
    version = subject.wheel.version if subject.wheel is not None else subject.torch.version if subject.torch else ""
    label = release_of_local_version(version.replace("_", "+", 1))
    built = release(subject.torch.cuda) if subject.torch is not None and subject.torch.cuda else None
    name = f"{subject.wheel.name} {version}" if subject.wheel is not None else f"torch {version}"
    if label and built and label != built:
        yield finding(
            "WF407",
            name,
            f"the version {version} says CUDA {_spell(label)}, torch/version.py says {_spell(built)}; users will "
            "install the wrong toolkit for it",
            hint="set PYTORCH_BUILD_VERSION to the label that fits the toolkit, and build again",
            evidence={"label": _spell(label), "built": _spell(built)},
        )
    told = built or label
    if told is None:
        return
    # One process after the other: an image that only another backend loads says nothing about this one.
    odd = {
        key: by
        for process in subject.processes
        for key, by in cuda_dlls(subject, process).items()
        if told[0] not in cuda_majors_for(key)
    }
    if odd:
        names = sorted(odd)
        yield finding(
            "WF407",
            names[0],
            f"the wheel is made for CUDA {_spell(told)}, but {_asked(names[0], odd)} is of CUDA "
            f"{listing([str(major) for major in sorted(cuda_majors_for(names[0]))])}"
            + (f" (as {listing(names[1:])})" if len(names) > 1 else ""),
            hint=f"build against CUDA {_spell(told)} alone, or give the wheel the label of the toolkit it really needs",
            evidence={"expected": _spell(told), "dlls": _strings(names)},
        )


def _spell(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


# --------------------------------------------------------------------------------------------------------- OpenMP


@rule(
    "WF405",
    "several-openmp",
    Severity.WARNING,
    Repairable.NEVER,
    "Two OpenMP runtimes meet in one process.",
)
def several_openmp(subject: Subject) -> Iterator[Finding]:
    """Find import closures with more than one OpenMP runtime."""
    told: set[frozenset[str]] = set()
    for process in subject.processes:
        found = _openmp_runtimes(subject, process)
        if len(found) < 2 or frozenset(found) in told:
            continue
        told.add(frozenset(found))
        llvm = [runtime for runtime, (family, _) in found.items() if family in _LLVM]
        clash = len(llvm) > 1
        shown = llvm if clash else sorted(found)
        yield finding(
            "WF405",
            base(shown[0]),
            f"{base(process[0])} brings in {listing([f'{base(item)} ({arrow(found[item][1])})' for item in shown])}; "
            + (
                "the second one to start ends the process with OMP: Error #15"
                if clash
                else "each keeps threads of its own, which costs speed"
            ),
            hint=(
                "link everything against one OpenMP runtime (for MSVC: /openmp:llvm or /openmp, not both), or take the "
                "second out of the wheel; KMP_DUPLICATE_LIB_OK=TRUE only hides it"
            ),
            evidence={base(item): _strings(found[item][1]) for item in sorted(found)},
            severity=Severity.WARNING if clash else Severity.INFO,
        )


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
    image = subject.images.get(path)
    return image is not None and 2 * len(image.exports.forwarders) > len(image.exports.names) > 0


# -------------------------------------------------------------------------------------------------------- same name


@rule(
    "WF406",
    "same-name-different-content",
    Severity.WARNING,
    Repairable.NEVER,
    "Two different DLLs have one name, and the loader can meet both.",
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
            consequence = "both are loaded, and whoever asks for the name later gets the first"
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
            hint=f"ship one {base(paths[0])}, or give them names of their own ('wheelfix repair --layout libs' does)",
            evidence={"key": key, "paths": _strings(subject.origin(path) for path in paths)},
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
