"""``python -m fuzz``: damage seeds at random and feed them to every target, for a fixed time and from a fixed seed.

This runs anywhere. ``python -m fuzz.guided TARGET`` is guided by coverage and needs atheris.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.mutate import mutate
from fuzz.oracles import COMPARED
from fuzz.seeds import seeds
from fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass
class Result:
    """What came of feeding one target."""

    inputs: int = 0
    slowest: float = 0.0
    """Seconds that one input took at most."""
    findings: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """By the place that raised: what it said, and the first input that made it."""


def damaged(name: str, seed: int) -> Iterator[bytes]:
    """Yield the seeds of a target as they are, then damaged ones without end; the same for the same number."""
    dice, corpus = random.Random(f"{seed}:{name}"), seeds(name)
    yield from corpus
    while True:
        yield mutate(dice, corpus)


def feed(name: str, inputs: Iterable[bytes], seconds: float) -> Result:
    """Feed inputs to a target until there are no more or the time is over; it runs from the first input on."""
    result = Result()
    end: float | None = None
    for data in inputs:
        started = time.monotonic()
        end = started + seconds if end is None else end
        if started > end:
            break
        result.inputs += 1
        try:
            TARGETS[name](data)
        except Exception as error:  # whatever it is: that is what we are here for
            result.findings.setdefault(_place(error), (f"{type(error).__name__}: {str(error)[:300]}", data))
        result.slowest = max(result.slowest, time.monotonic() - started)
    return result


def _place(error: Exception) -> str:
    """Return where an exception comes from: the last line of ours on its way."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame for frame in frames if "wheelfix" in Path(frame.filename).parts or "fuzz" in Path(frame.filename).parts
    ]
    last = (ours or frames)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def _tell(name: str, result: Result, keep: Path | None) -> None:
    count, compared = len(result.findings), ", ".join(f"{who} {times}" for who, times in COMPARED.items())
    print(f"{name:10} {result.inputs:7} inputs, {count} findings, slowest {result.slowest * 1000:.0f} ms", end="")
    print(f"; compared with {compared}" if compared else "", flush=True)
    COMPARED.clear()
    for number, (place, (what, data)) in enumerate(result.findings.items(), 1):
        print(f"    {place}: {what}")
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}-{number}").write_bytes(data)
            print(f"    again with: python -m fuzz {name} --input {keep / f'{name}-{number}'}")


def main(argv: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"which of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="another number damages the seeds otherwise (default 1)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write inputs that found something there")
    parser.add_argument("--input", type=Path, action="append", metavar="FILE", help="feed this file and nothing else")
    args = parser.parse_args(argv)
    if unknown := [name for name in args.targets if name not in TARGETS]:
        parser.error(f"there is no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    chosen = args.targets or list(TARGETS)
    bad = 0
    for name in chosen:
        inputs = (path.read_bytes() for path in args.input) if args.input else damaged(name, args.seed)
        result = feed(name, inputs, args.seconds / len(chosen))
        _tell(name, result, args.keep)
        bad += len(result.findings)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
