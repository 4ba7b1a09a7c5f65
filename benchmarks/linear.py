"""Does the cost grow with the amount of work, and not faster? Wheels, members, and modules of Python code.

python -m benchmarks.linear [--quick] [--svg FILE]

Each kind of work is measured in steps, by the processor time of one command; what one more unit costs in the last step
may be at most 1.3 times what it costs in the cheapest step before. Exit code 1 if it is more.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.forgedwheels import make_wheels, write_wheel
from benchmarks.measure import run
from benchmarks.scalingplot import plot
from tools.forge import forge_dll
from tools.markdown import table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST = 1.3
ROUNDS = 3


class Kind(NamedTuple):
    """Work of which there may be more or less."""

    unit: str
    steps: tuple[int, ...]
    make: Callable[[Path, int], Sequence[Path]]
    """Writes wheels with so many units into a folder."""
    commands: tuple[str, ...] = ("scan",)


class Growth(NamedTuple):
    """What a command cost at each step."""

    unit: str
    command: str
    seconds: tuple[tuple[int, float], ...]

    @property
    def further(self) -> list[float]:
        """Seconds for one unit more, between one step and the next."""
        pairs = zip(self.seconds, self.seconds[1:], strict=False)
        return [(late - early) / (many - few) for (few, early), (many, late) in pairs]

    @property
    def ratio(self) -> float:
        """How much more a further unit costs at the end than before."""
        *before, last = self.further
        return last / max(min(before), 1e-9)


def wheels(folder: Path, count: int) -> list[Path]:
    """Write so many small wheels."""
    return make_wheels(folder, count, 0.2)


def members(folder: Path, count: int) -> list[Path]:
    """Write a wheel with so many files of data."""
    data = {f"pkg/data/{number % 97}/file{number}.txt": f"{number}\n".encode() * 20 for number in range(count)}
    return [write_wheel(folder, "pkg", {**_package("from . import _core\n"), **data})]


def modules(folder: Path, count: int) -> list[Path]:
    """Write a wheel with so many modules, each of which imports the next; one of ten has a function that loads."""
    adding = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'libs'))\n"
    files = _package(f"{adding}from . import m0, _core\n", "pkg/libs")
    for number in range(count):
        lines = ["import os", f"from . import m{number + 1}" if number + 1 < count else ""]
        if number % 10 == 0:
            lines += ["import ctypes", "def load(name):", "    return ctypes.CDLL(os.path.join(__file__, name))"]
        for part in range(8):
            lines += [f"def f{part}(a, b={part}):", "    if a:", "        return [*range(b)]", "    return {'a': a}"]
        files[f"pkg/m{number}.py"] = "\n".join(lines).encode()
    return [write_wheel(folder, "pkg", files)]


def _package(start: str, libs: str = "pkg") -> dict[str, bytes]:
    core = forge_dll("_core.pyd", imports={"kernel32.dll": ["Sleep"], "helper.dll": ["f"]}, exports=["PyInit__core"])
    helper = forge_dll("helper.dll", imports={"kernel32.dll": ["Sleep"]}, exports=["f"])
    return {"pkg/__init__.py": start.encode(), "pkg/_core.pyd": core, f"{libs}/helper.dll": helper}


KINDS = (
    Kind("wheels", (10, 100, 1000), wheels),
    Kind("members", (100, 10_000, 50_000), members, ("scan", "verify")),
    Kind("modules", (10, 1000, 5000), modules),
)


def measure(kind: Kind, folder: Path, rounds: int) -> list[Growth]:
    """Measure the commands at each step."""
    seconds: dict[str, list[tuple[int, float]]] = {command: [] for command in kind.commands}
    for count in kind.steps:
        place = folder / f"{kind.unit}{count}"
        place.mkdir()
        kind.make(place, count)
        for command in kind.commands:
            words = [sys.executable, "-m", "wheelfix", command, "-q", "-j", "1", str(place)]
            costs = [run(words, folder, os.environ, (0,)).cpu for _ in range(rounds)]
            seconds[command].append((count, min(costs)))
    return [Growth(kind.unit, command, tuple(found)) for command, found in seconds.items()]


def report(found: Sequence[Growth]) -> str:
    """Return a Markdown table."""
    rows = []
    for one in found:
        costs = ", ".join(f"{count}: {seconds:.2f} s" for count, seconds in one.seconds)
        further = ", ".join(f"{seconds * 1e6:.0f} µs" for seconds in one.further)
        rows.append([one.command, one.unit, costs, further, f"{one.ratio:.2f} ×"])
    return table(["command", "units", "processor time", "each further one", "last against before"], rows)


def draw(found: Sequence[Growth]) -> str:
    """Return the milliseconds of each further unit, in a panel for each kind."""
    panels = {}
    for unit in dict.fromkeys(one.unit for one in found):
        lines = {one.command: one for one in found if one.unit == unit}
        panels[f"ms of each further one, by {unit}"] = {
            command: [(count, cost * 1000) for (count, _), cost in zip(one.seconds[1:], one.further, strict=True)]
            for command, one in lines.items()
        }
    return plot("What each further unit costs", panels, ["scan", "verify"])


def main(argv: list[str]) -> int:
    """Measure, print, and compare with what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of each step, once, which shows that it works")
    parser.add_argument("--svg", type=Path)
    args = parser.parse_args(argv)
    found: list[Growth] = []
    with tempfile.TemporaryDirectory(prefix="wheelfix-linear-") as folder:
        for kind in KINDS:
            steps = tuple(max(1, step // 10) for step in kind.steps) if args.quick else kind.steps
            found += measure(kind._replace(steps=steps), Path(folder), 1 if args.quick else ROUNDS)
            print(found[-1], file=sys.stderr, flush=True)
    print(report(found), end="")
    if args.svg:
        args.svg.write_text(draw(found), encoding="utf-8", newline="\n")
    return 0 if args.quick else int(any(one.ratio > MOST for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
