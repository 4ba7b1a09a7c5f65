"""WF402, WF403 and WF407: CUDA DLLs, labels and version files that do not belong together; and CUDA in one paragraph.

What matters is one process: two CUDA majors in one wheel are two backends, in one import closure they are a fault.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import grouped
from wheelfix.knowledge.cards import (
    Architecture,
    architecture,
    cuda_of_driver,
    driver_needed,
    last_driver,
    windows_driver,
)
from wheelfix.knowledge.cuda import (
    Release,
    cuda_majors_for,
    cuda_table,
    cuda_versions_for,
    expected_name,
    is_versioned_by_patch,
    release,
    release_of_product,
    toolkits_of_file,
)
from wheelfix.knowledge.families import family_of
from wheelfix.model import CudaSummary, EdgeKind, Repairable, dll_key
from wheelfix.roots.release import SEPARATE
from wheelfix.rules.context import (
    Subject,
    base,
    folder,
    key_of,
    named_releases,
    present_releases,
    version_of,
)
from wheelfix.rules.dependencies import missing
from wheelfix.rules.gpufit import capability
from wheelfix.rules.hints import drop_option, repair_command
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import dotted, listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def cuda_dlls(subject: Subject, process: Iterable[str]) -> dict[str, str]:
    """Return the CUDA DLLs that a group of files is or asks for: folded name to the file that is it or imports it."""
    found: dict[str, str] = {}
    for path in process:
        key = key_of(path)
        if cuda_majors_for(key):
            found.setdefault(key, base(path))
        for edge in subject.edges_from.get(path, ()):
            if edge.is_import and cuda_majors_for(edge.name):
                found.setdefault(dll_key(edge.name), base(path))
    return found


def used_releases(subject: Subject) -> list[tuple[int, int]]:
    """Return the CUDA releases that a wheel uses; a minor of -1 where only the major is known.

    What the DLLs need counts, not what the label says.
    """
    label, built = named_releases(subject)
    release, majors = built or label, used_majors(subject)
    if release and not majors - {release[0]}:
        return [release]
    return [(major, -1) for major in sorted(majors)]


def used_majors(subject: Subject) -> set[int]:
    """Return the CUDA majors that processes need, and those of files that are loaded later or by others."""
    inside = {path for process in subject.processes for path in process}
    outside = [(path,) for path in subject.images if path not in inside]
    found = needed_majors(subject) | _majors(subject, outside)
    # curand64_10.dll has that name in three majors: the version of NVIDIA's package or of the file tells.
    stated = {release(version)[0] for version in present_releases(subject)}
    return found or (stated if len(stated) == 1 else set())


def needed_majors(subject: Subject) -> set[int]:
    """Return the CUDA majors that importing needs for certain."""
    return _majors(subject, subject.processes)


def _majors(subject: Subject, groups: Iterable[tuple[str, ...]]) -> set[int]:
    found: set[int] = set()
    for group in groups:
        sets = [cuda_majors_for(name) for name in cuda_dlls(subject, group)]
        common = frozenset.intersection(*sets) if sets else frozenset()
        if len(common) == 1:
            found |= common
        elif sets and not common:
            found |= {max(majors) for majors in sets if len(majors) == 1}
    return found


@rule("WF402")
def mixed_cuda_majors(subject: Subject) -> Findings:
    """Find import closures whose CUDA DLLs no single toolkit has."""
    reported: set[frozenset[str]] = set()
    for process in subject.processes:
        found = cuda_dlls(subject, process)
        fits = [cuda_majors_for(key) for key in found]
        if not found or frozenset.intersection(*fits) or frozenset(found) in reported:
            continue
        reported.add(frozenset(found))
        sides = _sides(found)
        (first, first_names), (second, second_names) = sorted(sides.items())[:2]
        yield finding(
            "WF402",
            subject.origin(process[0]),
            f"{_asked(first_names[0], found)} is of CUDA {first}, {_asked(second_names[0], found)} of CUDA {second}; "
            "both are loaded into one process, and what one allocates the other cannot use",
            hint="build everything against one CUDA toolkit; look for a second one on PATH or in CUDA_PATH",
            evidence={str(major): names for major, names in sorted(sides.items())},
        )


def _sides(found: dict[str, str]) -> dict[int, list[str]]:
    """Return the DLLs that only one CUDA major can have, by major."""
    majors = {key: cuda_majors_for(key) for key in sorted(found)}
    sides = grouped((max(fits), key) for key, fits in majors.items() if len(fits) == 1)
    if len(sides) < 2:  # the conflict lies with a name that several majors share
        for key, fits in majors.items():
            sides.setdefault(max(fits), []).append(key)
    return sides


def _asked(key: str, found: dict[str, str]) -> str:
    by = found[key]
    return key if dll_key(by) == key else f"{key} (imported by {by})"


@rule("WF403")
def partial_cuda(subject: Subject) -> Findings:
    """Find torch wheels that are between the two ways of getting CUDA: all of it inside, or none of it."""
    loading, startup = subject.loading, subject.startup
    if loading.cuda is None or startup is None or not startup.toolkit_unless:
        return
    inside = [
        path
        for path in subject.images
        if folder(path) in subject.resolution.search_dirs and fnmatch.fnmatch(key_of(path), startup.toolkit_unless)
    ]
    # cuDNN counts: many copy it into the toolkit's folder.
    absent = [
        need
        for need in missing(subject, EdgeKind.IMPORT)
        if need.reached and (cuda_versions_for(need.name) or family_of(need.name).group == "cudnn")
    ]
    if not inside or not absent:
        return
    names = [need.name for need in absent]
    yield finding(
        "WF403",
        subject.origin(inside[0]),
        f"{base(inside[0])} is in the wheel, {listing(names)} {'is' if len(names) == 1 else 'are'} not; "
        f"{loading.package} adds the CUDA {loading.cuda} toolkit's folder only if no cudart is in its own folders, so "
        "an installed toolkit is found only if it is on PATH",
        hint=(
            f"{repair_command(subject, '--root FOLDER')} with the toolkit of CUDA {loading.cuda}, or leave "
            f"{base(inside[0])} out too"
        ),
        evidence={"present": subject.origins(inside), "missing": names, "cuda": loading.cuda},
    )


@rule("WF407")
def cuda_tag_mismatch(subject: Subject) -> Findings:
    """Compare ``+cu117``, what the package itself says, and the DLLs that are loaded."""
    yield from _builtins_mismatch(subject)
    label, built = named_releases(subject)
    version = version_of(subject)
    name = f"{subject.name} {version}"
    variable = subject.loading.version_variable
    set_version = f"set {variable} to" if variable else "give the version"
    if label and built and label != built:
        yield finding(
            "WF407",
            name,
            f"the version {version} says CUDA {dotted(label)}, {subject.loading.cuda_file} says {dotted(built)}; "
            "users will install the wrong toolkit for it",
            hint=f"{set_version} the label that fits the toolkit, and build again",
            evidence={"label": dotted(label), "built": dotted(built)},
        )
    release = built or label
    if release is None:
        return
    # One process after the other: an image that only another backend loads says nothing about this one.
    odd = {
        key: by
        for process in subject.processes
        for key, by in cuda_dlls(subject, process).items()
        if not fits_release(key, release)
    }
    if odd:
        names = sorted(odd)
        yield finding(
            "WF407",
            names[0],
            f"the wheel is made for CUDA {dotted(release)}, but {_asked(names[0], odd)} is of CUDA "
            f"{_toolkits(names[0])}" + (f" (as {listing(names[1:])})" if len(names) > 1 else ""),
            hint=f"build against CUDA {dotted(release)} alone, "
            "or give the wheel the label of the toolkit it really needs",
            evidence={"expected": dotted(release), "dlls": names},
        )

    yield from _parts_of_another(subject, release, odd)


def _parts_of_another(subject: Subject, release: Release, reported: Iterable[str]) -> Findings:
    """Compare the release with the one that CUDA's DLLs in the wheel state: most names only tell the major."""
    loaded = dict.fromkeys(path for process in subject.processes for path in process)
    found: dict[str, str] = {}
    for path in loaded:
        name, family = base(path), family_of(base(path))
        if family.group != "cuda" or key_of(path) in reported or path not in subject.view:
            continue
        # Those whose name has the release are looked at above, and NVTX is of no release.
        stated = toolkits_of_file(name, subject.version(path)) if fits_release(name, release) else frozenset()
        if len(stated) == 1 and dotted(release) not in stated and family.id not in SEPARATE:
            found[name] = next(iter(stated))
    if found:
        names = sorted(found, key=str.lower)
        first = found[names[0]]
        yield finding(
            "WF407",
            names[0],
            f"the wheel is made for CUDA {dotted(release)}, but {names[0]} in it is of CUDA {first}"
            + (f" (as {listing(names[1:])})" if len(names) > 1 else "")
            + "; what only the other release has fails at run time",
            hint=f"take CUDA's DLLs from a toolkit of {dotted(release)}, or give the wheel the label of the one it has",
            evidence={"expected": dotted(release), "dlls": names, "stated": found},
        )


def _builtins_mismatch(subject: Subject) -> Findings:
    """Compare NVRTC's built-ins with the one release that an NVRTC loads."""
    for path in subject.images:
        beside = [*map(base, _builtins(subject, path))]
        if not beside:
            continue
        own = nvrtc_release(subject, path)
        wanted = expected_name("nvrtc-builtins", dotted(own)) if own is not None else None
        if own is None or wanted is None or dll_key(wanted) in map(dll_key, beside):
            continue
        yield finding(
            "WF407",
            subject.origin(path),
            f"{base(path)} is of CUDA {dotted(own)} and loads {wanted}, but beside it lies {listing(beside)}; what it "
            f'compiles at run time fails with "nvrtc: error: failed to open {wanted}"',
            hint=(
                f"take both files from one CUDA {dotted(own)} toolkit: "
                + repair_command(subject, f"{drop_option(subject, _builtins(subject, path))} --root FOLDER")
            ),
            evidence={"nvrtc": dotted(own), "wanted": wanted, "present": beside},
            repairable=Repairable.SOMETIMES,
        )


def _builtins(subject: Subject, nvrtc: str) -> list[str]:
    """Return the built-ins in the folder of an NVRTC; nothing for another file."""
    if not re.fullmatch(r"nvrtc64_\d+_0\.dll", key_of(nvrtc)):
        return []
    return [
        path
        for path in subject.images
        if folder(path) == folder(nvrtc) and key_of(path).startswith("nvrtc-builtins64_")
    ]


def nvrtc_release(subject: Subject, path: str) -> Release | None:
    """Return the toolkit that an NVRTC belongs to; from 11.2 on its name does not say, its version resource does."""
    version = subject.version(path)
    return release_of_product(version.strings.get("ProductName", "")) if version is not None else None


# ------------------------------------------------------------------------------------------------- for other rules, too


def fits_release(name: str, release: Release) -> bool:
    """Whether a CUDA DLL may be used by something that was built with that toolkit.

    Most names are those of a major. CUPTI's and the built-ins' name the very toolkit, as far as the table knows it.
    """
    if is_versioned_by_patch(name):
        return dotted(release) in cuda_versions_for(name)
    return release[0] in cuda_majors_for(name)


def _toolkits(name: str) -> str:
    if is_versioned_by_patch(name):
        return listing(sorted(cuda_versions_for(name), key=release))
    return listing([str(major) for major in sorted(cuda_majors_for(name))])


_GROUPS = ("cuda", "cudnn", "cuda-extra")


def cuda_summary(subject: Subject) -> CudaSummary | None:
    """Return what there is to know about the CUDA of a wheel; None for one that has nothing to do with it."""
    label, built = named_releases(subject)
    majors = used_majors(subject)
    if not (label or built or majors):
        return None
    release = built or label
    needed = [(cuda, driver) for cuda in used_releases(subject) if (driver := driver_needed(*cuda)) is not None]
    drivers = [
        f"CUDA {spelled_release(cuda)} needs driver {windows_driver(driver)} or later" for cuda, driver in needed
    ]
    sentences = [
        *_made_for(subject, label, built, majors),
        *_inside(subject),
        *_runtime_compiler(subject),
        *_profiler(subject, release),
        *_cudnn(subject),
        *([f"{listing(drivers, 9)}."] if drivers else []),
        *_card(subject, needed),
    ]
    newest = max((driver for _, driver in needed), default=0)
    spelled = dotted(release) if release else listing([str(major) for major in sorted(majors)], 9)
    return CudaSummary(spelled, windows_driver(newest) if newest else "", " ".join(sentences))


def _made_for(subject: Subject, label: Release | None, built: Release | None, majors: set[int]) -> Iterator[str]:
    tag, said = f"the label +{version_of(subject).partition('+')[2]}", subject.loading.cuda_file
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
    inside = {family.title: None for path in subject.images if (family := family_of(base(path))).group in _GROUPS}
    outside = {
        dll_key(edge.name): edge.name
        for edge in subject.edges
        if edge.is_import and not edge.file and family_of(edge.name).group in _GROUPS
    }
    if inside:
        yield f"Inside: {listing(sorted(inside, key=str.casefold), 12)}."
    if outside:
        yield f"Not inside, but needed: {listing([outside[key] for key in sorted(outside)], 6)}."


def _runtime_compiler(subject: Subject) -> Iterator[str]:
    """Say whether NVRTC has its own built-ins beside it."""
    for path in subject.images:
        for builtins in map(base, _builtins(subject, path)):
            own = nvrtc_release(subject, path)
            if own is None:
                continue
            fits = dotted(own) in cuda_versions_for(builtins)
            yield f"NVRTC is of CUDA {dotted(own)}, {builtins} " + ("fits." if fits else "is of another release.")


def _profiler(subject: Subject, release: Release | None) -> Iterator[str]:
    """Say which patch of the toolkit CUPTI's name belongs to: no other will do."""
    patches = grouped((dll_key(name), dotted(patch)) for patch, name in cuda_table().cupti.items())
    names = {key_of(path) for path in subject.images} | {dll_key(edge.name) for edge in subject.edges}
    for name in sorted(names & patches.keys()):
        fits = "" if release is None or fits_release(name, release) else f", not of {dotted(release)}"
        yield f"CUPTI is needed as {name}, which is that of CUDA {listing(patches[name])}{fits}."


def _cudnn(subject: Subject) -> Iterator[str]:
    names = [base(path) for path in subject.images] + [edge.name for edge in subject.edges]
    found = {family.version(name) for name in names if (family := family_of(name)).group == "cudnn"}
    majors = sorted(found - {""})
    front = next((path for path in subject.images if key_of(path).startswith("cudnn64_")), None)
    version = subject.version(front) if front else None
    if version is not None and any(version.file):
        yield f"cuDNN is {version}."
    elif majors:
        yield f"cuDNN is {listing(majors)}."


def spelled_release(cuda: Release) -> str:
    """Return a release for a sentence; of some only the major is known."""
    return dotted(cuda) if cuda[1] >= 0 else str(cuda[0])


def _card(subject: Subject, needed: list[tuple[Release, int]]) -> Iterator[str]:
    """Say what an old card's last driver means: it runs older CUDA, and compiles older PTX."""
    known = capability(subject.card)
    if known is None or not needed:
        return
    newest = needed[-1][0]
    yield from _toolkit_of_card(architecture(known), newest)
    ended = last_driver(*known)
    if ended is None:
        return
    runs = [spelled_release(cuda) for cuda, driver in needed if driver <= ended.driver]
    fails = [spelled_release(cuda) for cuda, driver in needed if driver > ended.driver]
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


def _toolkit_of_card(known: Architecture | None, release: Release) -> Iterator[str]:
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
