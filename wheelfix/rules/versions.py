"""WF404, WF408 and WF412: files of one family that are of different releases.

Names give the major, version resources the rest. A resource lies near the end of its file, and the whole file is
inflated for it; so only the files of families with such a rule are asked, whatever else is printed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import demangle, family_of, is_released_whole
from wheelfix.model import Finding, InView, Json, Repairable, Severity, dll_key
from wheelfix.rules.context import Subject, base, folder
from wheelfix.rules.hints import drop_option, repair_command
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import dotted, listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.model import FileVersion

_MKL_PART = re.compile(r"mkl_(?!blacs_|scalapack_|msg\.)\w+?\.(?P<version>\d+)\.dll")
"""Parts that are released together; BLACS and ScaLAPACK keep their own number (mkl 2026 has .3 and .2)."""


def _family(subject: Subject, family: str) -> dict[str, dict[str, str]]:
    """Return the DLLs of a family by folder: path to what the name says about the release."""
    found: dict[str, dict[str, str]] = {}
    for path in subject.images:
        member = family_of(base(path))
        if member is not None and member.family.id == family:
            found.setdefault(folder(path), {})[path] = member.version
    return found


def _releases(subject: Subject, paths: list[str], digits: int) -> dict[tuple[int, ...], list[str]]:
    """Return the files by the first numbers of their version resource, as far as it is known."""
    found: dict[tuple[int, ...], list[str]] = {}
    for path in paths:
        version = subject.version_of(path)
        if version is not None and any(version.file):
            found.setdefault(version.file[:digits], []).append(path)
    return found


def _spelled(releases: dict[tuple[int, ...], list[str]]) -> str:
    return listing([f"{base(paths[0])} {dotted(release)}" for release, paths in sorted(releases.items())])


def _evidence(subject: Subject, releases: dict[tuple[int, ...], list[str]]) -> dict[str, Json]:
    return {dotted(release): [*map(subject.origin, paths)] for release, paths in sorted(releases.items())}


@rule(
    "WF404",
    "mixed-cudnn",
    Severity.WARNING,
    Repairable.SOMETIMES,
    "cuDNN's parts are of different releases.",
)
def mixed_cudnn(subject: Subject) -> Iterator[Finding]:
    """Find folders where cuDNN was put together from two downloads."""
    for parts in _family(subject, "cudnn").values():
        by_major: dict[str, list[str]] = {}
        for path, major in parts.items():
            by_major.setdefault(major, []).append(path)
        mains = {major for major, paths in by_major.items() if any(_is_main(path) for path in paths)}
        for major, paths in sorted(by_major.items()):
            if mains and major not in mains:
                main = next(path for path in parts if _is_main(path))
                yield finding(
                    "WF404",
                    subject.origin(paths[0]),
                    f"{listing([base(path) for path in paths])} {'is' if len(paths) == 1 else 'are'} of cuDNN {major}, "
                    f"but the library that loads the parts is {base(main)}, which will not use them",
                    hint=f"{repair_command(subject, drop_option(subject, paths))} removes what is not used",
                    evidence={"paths": [*map(subject.origin, paths)]},
                )
            compared = [path for path in paths if is_released_whole(base(path), subject.name)]
            releases = _releases(subject, compared, 4) if len(compared) > 1 else {}
            if len(releases) > 1:
                yield finding(
                    "WF404",
                    subject.origin(paths[0]),
                    f"cuDNN's parts are of different releases: {_spelled(releases)}; the first operation that needs "
                    "both fails with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH or a crash",
                    hint=_replace_all(subject, paths, "cudnn*.dll", "--cudnn FOLDER"),
                    evidence=_evidence(subject, releases),
                )


def _is_main(path: str) -> bool:
    return dll_key(base(path)).startswith("cudnn64_")


@rule("WF408", "mixed-mkl", Severity.WARNING, Repairable.SOMETIMES, "MKL's parts are of different releases.")
def mixed_mkl(subject: Subject) -> Iterator[Finding]:
    """Find folders where MKL was put together from two releases."""
    for _, parts in sorted(_family(subject, "mkl").items()):
        own = {
            path: found["version"] for path in parts if (found := _MKL_PART.fullmatch(demangle(dll_key(base(path)))))
        }
        layers = {version for path, version in own.items() if _is_mkl_core(path)}
        odd = sorted(path for path, version in own.items() if layers and version not in layers)
        if odd:
            yield finding(
                "WF408",
                subject.origin(odd[0]),
                f"{listing([base(path) for path in odd])} will not be used: mkl_core beside "
                f"{'it' if len(odd) == 1 else 'them'} is .{listing(sorted(layers))} and loads its own parts only",
                hint=f"{repair_command(subject, drop_option(subject, odd))} removes what is not used",
                evidence={"paths": [*map(subject.origin, odd)]},
            )
        releases = _releases(subject, sorted(own), 2) if len(own) > 1 else {}
        if len(releases) > 1:
            yield finding(
                "WF408",
                subject.origin(min(own)),
                f"MKL's parts are of different releases: {_spelled(releases)}; calls between them crash or give wrong "
                "results",
                hint=_replace_all(subject, sorted(own), "mkl_*.dll", "--oneapi FOLDER"),
                evidence=_evidence(subject, releases),
            )


def _replace_all(subject: Subject, paths: list[str], glob: str, root: str) -> str:
    command = repair_command(subject, f"{drop_option(subject, paths, glob)} {root}")
    return f"take every {glob} from one release: {command} with a folder that has them"


def _is_mkl_core(path: str) -> bool:
    return dll_key(base(path)).startswith("mkl_core.")


@rule(
    "WF412",
    "openmp-too-old",
    Severity.WARNING,
    Repairable.SOMETIMES,
    "libiomp5md.dll is older than the MKL that uses it.",
)
def openmp_too_old(subject: Subject) -> Iterator[Finding]:
    """Hold the date of Intel's OpenMP runtime against the year of MKL."""
    for edge in subject.resolution.edges:
        needs = (
            isinstance(edge.provider, InView)
            and dll_key(edge.name) == "libiomp5md.dll"
            and dll_key(base(edge.importer)).startswith("mkl_intel_thread.")
        )
        if not needs or not isinstance(edge.provider, InView):
            continue
        runtime, mkl = subject.version_of(edge.provider.path), subject.version_of(edge.importer)
        if runtime is None or mkl is None or not _is_older(runtime, mkl):
            continue
        built = f"{runtime.file[2]}-{runtime.file[3] // 100:02}"
        yield finding(
            "WF412",
            subject.origin(edge.provider.path),
            f"libiomp5md.dll is from {built}, {base(edge.importer)} is MKL {dotted(mkl.file[:2])}; it may call entry "
            "points that the older runtime does not have (0xC06D007F)",
            hint=f"take libiomp5md.dll of intel-openmp {mkl.file[0]} or later",
            evidence={"openmp": str(runtime), "mkl": str(mkl)},
        )


def _is_older(runtime: FileVersion, mkl: FileVersion) -> bool:
    """Intel's OpenMP has its build date as version (5.0.2023.428); MKL 2025 appears in autumn 2024."""
    year = mkl.file[0]
    return runtime.file[:2] == (5, 0) and year > 2000 and runtime.file[2:] < (year - 1, 601)
