"""What scanning wheels as one installation costs, compared with the same wheels scanned one by one in one run.

python -m benchmarks.setcost [SET ...] [--rounds 3] [--reports FOLDER]

The sets are those of ``tests/real/sets.toml``; ``python -m tests.real.fetch --sets`` downloads their wheels. Counts
processor time on one core, so that other load has little effect. Both commands run in turn, and the best
of each counts. Ends with 1 if a set costs more than 1.2 times its wheels. ``--reports`` keeps the JSON of each set, to
compare two versions of wheelfix.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import run
from benchmarks.peers import HERE, clean_environment
from tests.real.environments import real_sets, set_wheels_folder
from tests.support.tiers import wheels_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.real.environments import RealSet

LIMIT = 1.2


class SetCost(NamedTuple):
    """Processor seconds of one set."""

    name: str
    wheels: int
    apart: float
    together: float

    @property
    def ratio(self) -> float:
        """How much more the set costs than its wheels."""
        return self.together / self.apart


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the sets that were named, or all; 1 if one of them costs too much."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.setcost", description=__doc__)
    parser.add_argument("sets", metavar="SET", nargs="*", help="names of sets (default: all of them)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each runs (default: 3)")
    parser.add_argument("--reports", type=Path, metavar="FOLDER", help="keep the JSON of each set here")
    options = parser.parse_args(argv)
    known = {one.name: one for one in real_sets()}
    unknown = sorted(set(options.sets) - known.keys())
    if unknown:
        parser.error(f"no set is named {', '.join(unknown)}; there are {', '.join(known)}")
    over = 0
    print(f"{'set':<24}{'wheels':>8}{'apart s':>10}{'together s':>12}{'ratio':>8}")
    for name in options.sets or known:
        paths, absent = _wheels(known[name])
        if absent:
            print(f"{name:<24}  not measured: {absent[0]} and {len(absent) - 1} others are not there")
            continue
        cost = measure(name, paths, options.rounds, options.reports)
        over += cost.ratio > LIMIT
        mark = "  over" if cost.ratio > LIMIT else ""
        seconds = f"{cost.apart:>10.2f}{cost.together:>12.2f}"
        print(f"{name:<24}{cost.wheels:>8}{seconds}{cost.ratio:>8.2f}{mark}", flush=True)
    return 1 if over else 0


def _wheels(one: RealSet) -> tuple[list[Path], list[str]]:
    """The wheels of a set that are there, and the names of the others."""
    places = {file: [folder / file for folder in (wheels_folder(), set_wheels_folder())] for file in one.wheels}
    found = {file: next((path for path in paths if path.is_file()), None) for file, paths in places.items()}
    return [path for path in found.values() if path], [file for file, path in found.items() if path is None]


def measure(name: str, wheels: Sequence[Path], rounds: int, reports: Path | None = None) -> SetCost:
    """Scan wheels apart and together, several times in turn."""
    words = [sys.executable, "-m", "wheelfix", "scan", "--no-discover", "-j", "1", "--format", "json"]
    paths = [*map(str, wheels)]
    environment = {**clean_environment(), "PYTHONPATH": str(HERE)}  # the sources beside this file
    apart: list[float] = []
    together: list[float] = []
    with tempfile.TemporaryDirectory(prefix="wheelfix-sets-") as place:
        folder = Path(place)
        for _ in range(rounds):
            for extra, costs in (([], apart), (["--together"], together)):
                command = [*words, *extra, "-o", f"report{len(extra)}.json", *paths]
                costs.append(run(command, folder, environment, (0, 1)).cpu)
        if reports is not None:
            reports.mkdir(parents=True, exist_ok=True)
            (reports / f"{name}.json").write_bytes((folder / "report1.json").read_bytes())
    return SetCost(name, len(wheels), min(apart), min(together))


if __name__ == "__main__":
    sys.exit(main())
