"""The wheel's CUDA in one paragraph: which release, what is inside, which driver it needs, what that means for a card.

Contradictions are findings as well (WF402, WF403, WF407, WF503); here they are shown with what they belong to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import (
    NVIDIA,
    architecture,
    cuda_of_driver,
    driver_needed,
    last_driver,
    vendor_of,
    windows_driver,
)
from wheelfix.knowledge.cuda import cuda_majors_for, cuda_table, cuda_versions_for
from wheelfix.knowledge.families import family_of
from wheelfix.model import CudaSummary, EdgeKind, InView, dll_key
from wheelfix.rules.context import Subject, base
from wheelfix.rules.cuda import cuda_dlls, fits_release, nvrtc_builtins, nvrtc_release, used_majors, used_releases
from wheelfix.rules.gpufit import parse_arch
from wheelfix.rules.wantedcuda import cuda_file, named_releases, version_of
from wheelfix.rules.wording import dotted, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.knowledge.cards import Architecture
    from wheelfix.knowledge.cuda import Release
    from wheelfix.knowledge.families import FamilyMember

_GROUPS = ("cuda", "cudnn", "cuda-extra")


def cuda_summary(subject: Subject) -> CudaSummary | None:
    """Return what there is to know about the CUDA of a wheel; None for one that has nothing to do with it."""
    label, built = named_releases(subject)
    majors = used_majors(subject)
    if not (label or built or majors):
        return None
    release = built or label
    needed = [(cuda, driver) for cuda in used_releases(subject) if (driver := driver_needed(*cuda)) is not None]
    sentences = [
        *_made_for(subject, label, built, majors),
        *_inside(subject),
        *_runtime_compiler(subject),
        *_profiler(subject, release),
        *_cudnn(subject),
        *_driver(needed),
        *_card(subject, needed),
    ]
    newest = max((driver for _, driver in needed), default=0)
    spelled = dotted(release) if release else listing([str(major) for major in sorted(majors)], 9)
    return CudaSummary(spelled, windows_driver(newest) if newest else "", " ".join(sentences))


def _made_for(subject: Subject, label: Release | None, built: Release | None, majors: set[int]) -> Iterator[str]:
    tag, said = f"the label +{version_of(subject).partition('+')[2]}", cuda_file(subject)
    if label and built:
        if label == built:
            yield f"Made for CUDA {dotted(built)}, as {tag} and {said} say."
        else:
            yield f"{said} says CUDA {dotted(built)}, {tag} says {dotted(label)}: one of them is wrong."
    elif label or built:
        yield f"Made for CUDA {dotted(label or built or (0, 0))}, as {tag if label else said} says."
    release = built or label
    others = sorted(majors - {release[0]} if release else majors)
    names = listing([str(major) for major in others], 9)
    if release and others:
        yield f"But it has or asks for DLLs of CUDA {names}."
    elif others:
        several = ", which do not meet in one process" if len(others) > 1 and _are_apart(subject) else ""
        yield f"By the names of its DLLs it is for CUDA {names}{several}."


def _are_apart(subject: Subject) -> bool:
    """Whether every process has the DLLs of one major only."""
    for process in subject.processes:
        sets = [cuda_majors_for(name) for name in cuda_dlls(subject, process)]
        if sets and not frozenset.intersection(*sets):
            return False
    return True


def _inside(subject: Subject) -> Iterator[str]:
    """Say which of NVIDIA's libraries the wheel brings, and which it leaves to the machine."""
    inside = {member.family.title: None for path in subject.images if (member := _of_nvidia(base(path)))}
    outside = {
        dll_key(edge.name): edge.name
        for edge in subject.resolution.edges
        if edge.kind is EdgeKind.IMPORT and not isinstance(edge.provider, InView) and _of_nvidia(edge.name)
    }
    if inside:
        yield f"Inside: {listing(sorted(inside, key=str.casefold), 12)}."
    if outside:
        yield f"Not inside, but needed: {listing([outside[key] for key in sorted(outside)], 6)}."


def _of_nvidia(name: str) -> FamilyMember | None:
    member = family_of(name)
    return member if member is not None and member.family.group in _GROUPS else None


def _runtime_compiler(subject: Subject) -> Iterator[str]:
    """Say whether NVRTC has its own built-ins beside it."""
    for path in subject.images:
        for builtins in nvrtc_builtins(subject, path):
            own = nvrtc_release(subject, path)
            if own is None:
                continue
            fits = dotted(own) in cuda_versions_for(builtins)
            yield f"NVRTC is of CUDA {dotted(own)}, {builtins} " + ("fits." if fits else "is of another release.")


def _profiler(subject: Subject, release: Release | None) -> Iterator[str]:
    """Say which patch of the toolkit CUPTI's name belongs to: no other will do."""
    patches: dict[str, list[str]] = {}
    for patch, name in cuda_table().cupti.items():
        patches.setdefault(dll_key(name), []).append(".".join(map(str, patch)))
    names = {dll_key(base(path)) for path in subject.images} | {dll_key(edge.name) for edge in subject.resolution.edges}
    for name in sorted(names & patches.keys()):
        fits = "" if release is None or fits_release(name, release) else f", not of {dotted(release)}"
        yield f"CUPTI is needed as {name}, which is that of CUDA {listing(patches[name])}{fits}."


def _cudnn(subject: Subject) -> Iterator[str]:
    names = [base(path) for path in subject.images] + [edge.name for edge in subject.resolution.edges]
    members = [member for name in names if (member := _of_nvidia(name)) and member.family.id == "cudnn"]
    majors = sorted({member.version for member in members if member.version})
    front = next((path for path in subject.images if dll_key(base(path)).startswith("cudnn64_")), None)
    version = subject.version_of(front) if front else None
    if version is not None and any(version.file):
        yield f"cuDNN is {version}."
    elif majors:
        yield f"cuDNN is {listing(majors)}."


def _driver(needed: list[tuple[Release, int]]) -> Iterator[str]:
    if needed:
        drivers = [f"CUDA {_short(cuda)} needs driver {windows_driver(driver)} or later" for cuda, driver in needed]
        yield f"{listing(drivers, 9)}."


def _short(cuda: Release) -> str:
    return dotted(cuda) if cuda[1] >= 0 else str(cuda[0])


def _card(subject: Subject, needed: list[tuple[Release, int]]) -> Iterator[str]:
    """Say what an old card's last driver means: it runs older CUDA, and compiles older PTX."""
    if subject.card is None or vendor_of(subject.card) != NVIDIA or not needed:
        return
    major, minor, _ = parse_arch(subject.card)
    newest = needed[-1][0]
    yield from _toolkits(architecture((major, minor)), newest)
    ended = last_driver(major, minor)
    if ended is None:
        return
    runs = [_short(cuda) for cuda, driver in needed if driver <= ended.driver]
    fails = [_short(cuda) for cuda, driver in needed if driver > ended.driver]
    last = f"The last driver for the card ({ended.name}), {ended.driver},"
    compiled = cuda_of_driver(ended.driver)
    if not runs:
        yield f"{last} is too old for that: no device will be found."
    elif fails:
        yield f"{last} runs CUDA {listing(runs)}, not {listing(fails)}."
    elif newest[1] < 0 or compiled is None or compiled >= newest:
        yield f"{last} runs that."
    else:
        yield (
            f"{last} runs that, but compiles PTX of CUDA {dotted(compiled)} and before only: everything needs machine "
            f"code for {subject.card}, and what is compiled to PTX at run time fails."
        )


def _toolkits(known: Architecture | None, release: Release) -> Iterator[str]:
    """Say whether the toolkit makes code for the card, where that has begun late or ended."""
    if known is None or release[1] < 0:
        return
    card = f"{known.name} ({known.generation})"
    if release < known.first_cuda:
        yield f"CUDA {dotted(release)} does not know {card} yet; {dotted(known.first_cuda)} is the first that does."
    elif known.last_cuda is not None and release <= known.last_cuda:
        yield f"CUDA {dotted(release)} still compiles for {card}; {dotted(known.last_cuda)} is the last that does."
    elif known.last_cuda is not None:
        yield f"CUDA {dotted(release)} no longer compiles for {card}; {dotted(known.last_cuda)} was the last that did."
