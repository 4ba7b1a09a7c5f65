"""WF404 to WF406, WF408 and WF412: parts of different releases, several OpenMP runtimes, different DLLs of one name.

Names give the major, version resources the rest. A resource lies near the end of its file, and the whole file is
inflated for it; so only the files of families with such a rule are asked, whatever else is printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import grouped
from wheelfix.knowledge.families import demangle, family_of, is_openmp, is_released_whole
from wheelfix.loader.followed import followed_imports, top_level
from wheelfix.loader.resolve import orders_of
from wheelfix.model import FileVersion, Finding, Image, Severity, canonical, dll_key
from wheelfix.rules.context import Subject, base, folder, key_of
from wheelfix.rules.hints import drop_option, repair_command
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import arrow, dotted, listing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.loading import Loader
    from wheelfix.loader.places import InstalledSet


_LLVM = frozenset({"openmp-intel", "openmp-llvm", "openmp-msvc-llvm"})
"""Families of OpenMP runtimes that are the same code at heart and refuse to live side by side."""


# --------------------------------------------------------------------------------------------------------- OpenMP


@rule("WF405")
def several_openmp(subject: Subject) -> Findings:
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
        who = f"import {subject.loading.package}" if subject.startup else base(process[0])
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
            evidence={base(item): found[item][1] for item in sorted(found)},
            severity=Severity.WARNING if clash else Severity.INFO,
        )
    yield from _openmp_of_others(subject)


def _openmp_of_others(subject: Subject) -> Findings:
    """Find runtimes of other distributions that a process has beside the subject's own, after importing both."""
    beside, name = subject.view.beside, canonical(subject.name)
    own = [path for path in subject.images if subject.reached(path) and _is_llvm(subject, path)]
    if beside is None or not own or name not in beside:
        return
    orders = orders_of(beside, subject.profile)
    for other in beside:
        if other == name or not any(_is_llvm(subject, path) for path in beside[other].paths):
            continue
        theirs, mine = _both_loaded(subject, orders.state((name, other)), other, own)
        if not (theirs and mine):
            theirs, mine = _both_loaded(subject, orders.state((other, name)), other, own)
        if theirs and mine:
            imported = other in _imported(subject, beside)
            both = f"importing {name} imports {other}" if imported else f"{name} and {other} in one process"
            paths = subject.origins((mine[0], theirs[0]))
            yield finding(
                "WF405",
                paths[0],
                f"{both}: {paths[1]} is loaded, too; the second one to start ends the process with OMP: Error #15",
                hint="use builds of both that share one OpenMP runtime; KMP_DUPLICATE_LIB_OK=TRUE only hides it",
                evidence={base(mine[0]): paths, "distribution": other},
                severity=Severity.WARNING if imported else Severity.INFO,
            )


def _imported(subject: Subject, beside: InstalledSet) -> set[str]:
    """The other distributions whose modules importing the subject imports."""
    followed = followed_imports(subject.view, subject.profile)
    code = (file.path for file in subject.view.own_files if file.path.endswith((".py", ".pyd")))
    modules = {module for top in dict.fromkeys(map(top_level, code)) for module in followed.of(top).foreign}
    return {*map(beside.owner_of_module, modules)}


def _both_loaded(subject: Subject, state: Loader | None, other: str, own: list[str]) -> tuple[list[str], list[str]]:
    """Return the runtimes of another distribution, and the subject's own, that a process has."""
    loaded = sorted(path for path in (state.modules if state is not None else ()) if _is_llvm(subject, path))
    return [path for path in loaded if subject.owner(path) == other], [path for path in loaded if path in own]


def _is_llvm(subject: Subject, path: str) -> bool:
    """Whether a file is one of the runtimes that refuse to live side by side."""
    return family_of(base(path)).id in _LLVM and not _is_stub(subject, path)


def _openmp_runtimes(subject: Subject, process: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the runtimes of a process: path or name to family and who asks for it."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for importer in process:
        for edge in subject.edges_from.get(importer, ()):
            if not is_openmp(edge.name) or not edge.required:
                continue
            target = edge.file if edge.file else edge.name.lower()
            if not _is_stub(subject, target):
                found.setdefault(target, (family_of(edge.name).id, (base(importer), edge.name)))
    return found


def _is_stub(subject: Subject, path: str) -> bool:
    """Whether a DLL only passes calls on: conda's libiomp5md.dll is libomp.dll by another name."""
    image = subject.view.image(path)
    return isinstance(image, Image) and 2 * len(image.exports.forwarders) > len(image.exports.names) > 0


# -------------------------------------------------------------------------------------------------------- same name


@rule("WF406")
def same_name(subject: Subject) -> Findings:
    """Find DLLs of one name of which the first that is loaded serves everyone."""
    places = grouped((key_of(path), path) for path in subject.images if path.lower().endswith(".dll"))
    for key, paths in sorted(places.items()):
        if len(paths) < 2 or not _differ(subject, paths):
            continue
        loaded = [path for path in paths if subject.reached(path)]
        shadowed = _shadowed(subject, paths)
        if _differ(subject, loaded) and _imported_by_several(subject, loaded):
            consequence = f"{len(loaded)} of them are loaded, and later loads of that name get the first"
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
            evidence={"key": key, "paths": subject.origins(paths)},
        )


def _imported_by_several(subject: Subject, paths: list[str]) -> bool:
    """Whether images of different names import these files: only an import asks for the name, and gets the first.

    A load by a full path gets that very file (ctransformers has one for each kind of processor), and of modules of one
    name in several folders code imports one (synapx has one for each torch).
    """
    return len({key_of(edge.importer) for path in paths for edge in subject.edges_to.get(path, ())}) > 1


def _differ(subject: Subject, paths: list[str]) -> bool:
    images = (subject.images[path] for path in paths)
    return (
        len(
            {
                (one.size, one.machine, one.linker, one.imports, one.exports.names, one.exports.ordinals)
                for one in images
            }
        )
        > 1
    )


def _shadowed(subject: Subject, paths: list[str]) -> tuple[str, str] | None:
    """Return an importer with one of the files beside it that gets another one, and which."""
    beside = {folder(path): path for path in paths}
    for path in paths:
        for edge in subject.edges_to.get(path, ()):
            own = beside.get(folder(edge.importer))
            if own is not None and own != path and subject.reached(edge.importer) and _differ(subject, [own, path]):
                return edge.importer, path
    return None


_CUDNN = (
    "cuDNN",
    "the first operation that needs both fails with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH or a crash",
    "cudnn*.dll",
    "--root FOLDER",
)
_MKL = ("MKL", "calls between them crash or give wrong results", "mkl_*.dll", "--root FOLDER")
_MKL_PART = regex(r"mkl_(?!blacs_|scalapack_|msg\.)\w+?\.(?P<version>\d+)\.dll")
"""Parts that are released together; BLACS and ScaLAPACK keep their own number (mkl 2026 has .3 and .2)."""


def _family(subject: Subject, family: str) -> dict[str, dict[str, str]]:
    """Return the DLLs of a family by folder: path to what the name says about the release."""
    found: dict[str, dict[str, str]] = {}
    for path in subject.images:
        one = family_of(base(path))
        if one.id == family:
            found.setdefault(folder(path), {})[path] = one.version(base(path))
    return found


def _mixed(
    subject: Subject, code: str, what: tuple[str, ...], paths: list[str], compared: list[str], digits: int
) -> Findings:
    """Find parts whose version resources have different numbers.

    ``what`` has the library, the consequence, and with which option a repair takes which files from one release.
    """
    title, consequence, glob, root = what
    versions = ((path, subject.version(path)) for path in (compared if len(compared) > 1 else ()))
    found = grouped((version.file[:digits], path) for path, version in versions if version and any(version.file))
    releases = {dotted(release): members for release, members in sorted(found.items())}
    if len(releases) > 1:
        shown = listing([f"{base(members[0])} {release}" for release, members in releases.items()])
        command = repair_command(subject, f"{drop_option(subject, paths, glob)} {root}")
        yield finding(
            code,
            subject.origin(paths[0]),
            f"{title}'s parts are of different releases: {shown}; {consequence}",
            hint=f"take every {glob} from one release: {command} with a folder that has them",
            evidence={release: subject.origins(members) for release, members in releases.items()},
        )


def _unused(subject: Subject, code: str, paths: list[str], message: str) -> Finding:
    return finding(
        code,
        subject.origin(paths[0]),
        f"{listing([base(path) for path in paths])} {message}",
        hint=f"{repair_command(subject, drop_option(subject, paths))} removes what is not used",
        evidence={"paths": subject.origins(paths)},
    )


@rule("WF404")
def mixed_cudnn(subject: Subject) -> Findings:
    """Find folders where cuDNN was put together from two downloads."""
    for parts in _family(subject, "cudnn").values():
        by_major = grouped((major, path) for path, major in parts.items())
        mains = {major for major, paths in by_major.items() if any(_is_main(path) for path in paths)}
        for major, paths in sorted(by_major.items()):
            if mains and major not in mains:
                main = next(path for path in parts if _is_main(path))
                are = "is" if len(paths) == 1 else "are"
                loader = f"the library that loads the parts is {base(main)}"
                yield _unused(subject, "WF404", paths, f"{are} of cuDNN {major}, but {loader}, which will not use them")
            compared = [path for path in paths if is_released_whole(base(path), subject.name)]
            yield from _mixed(subject, "WF404", _CUDNN, paths, compared, 4)


def _is_main(path: str) -> bool:
    return key_of(path).startswith("cudnn64_")


@rule("WF408")
def mixed_mkl(subject: Subject) -> Findings:
    """Find folders where MKL was put together from two releases."""
    for _, parts in sorted(_family(subject, "mkl").items()):
        own = {path: found["version"] for path in parts if (found := _MKL_PART.fullmatch(demangle(key_of(path))))}
        layers = {version for path, version in own.items() if key_of(path).startswith("mkl_core.")}
        odd = sorted(path for path, version in own.items() if layers and version not in layers)
        if odd:
            them, release = "it" if len(odd) == 1 else "them", listing(sorted(layers))
            text = f"will not be used: mkl_core beside {them} is .{release} and loads its own parts only"
            yield _unused(subject, "WF408", odd, text)
        yield from _mixed(subject, "WF408", _MKL, sorted(own), sorted(own), 2)


@rule("WF412")
def openmp_too_old(subject: Subject) -> Findings:
    """Hold the date of Intel's OpenMP runtime against the year of MKL."""
    for edge in subject.edges:
        mkl_needs_it = dll_key(edge.name) == "libiomp5md.dll" and key_of(edge.importer).startswith("mkl_intel_thread.")
        if not mkl_needs_it or not {edge.file, edge.importer} <= subject.images.keys():
            continue
        runtime, mkl = subject.version(edge.file), subject.version(edge.importer)
        if runtime is None or mkl is None or not _is_older(runtime, mkl):
            continue
        built = f"{runtime.file[2]}-{runtime.file[3] // 100:02}"
        yield finding(
            "WF412",
            subject.origin(edge.file),
            f"libiomp5md.dll is from {built}, {base(edge.importer)} is MKL {dotted(mkl.file[:2])}; it may call entry "
            "points that the older runtime does not have (0xC06D007F)",
            hint=f"take libiomp5md.dll of intel-openmp {mkl.file[0]} or later",
            evidence={"openmp": str(runtime), "mkl": str(mkl)},
        )


def _is_older(runtime: FileVersion, mkl: FileVersion) -> bool:
    """Intel's OpenMP has its build date as version (5.0.2023.428); MKL 2025 appears in autumn 2024."""
    year = mkl.file[0]
    return runtime.file[:2] == (5, 0) and year > 2000 and runtime.file[2:] < (year - 1, 601)
