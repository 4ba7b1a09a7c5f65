"""``wheelfix demo``: a small broken wheel, and the way from the error to a wheel that loads."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.main import main
from wheelfix.demo import example
from wheelfix.errors import Exit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def execute(args: argparse.Namespace) -> int:
    """Walk through the story; the exit code is 0 when every step came out as it should."""
    story = example.kepler_cu117() if args.story == "cu117" else example.kepler_cu114()
    folder = Path(tempfile.mkdtemp(prefix="wheelfix-demo-"))
    try:
        with _inside(folder):
            wheel = example.write_wheel(story, Path("dist"))
            roots = example.write_roots(story, Path("roots"))
            good = _walk(wheel, list(roots.values()), story.cuda)
    finally:
        if args.keep:
            print(f"\nThe files are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return Exit.OK if good else Exit.FINDINGS


def _walk(wheel: Path, roots: list[Path], cuda: str) -> bool:
    """Run the four commands and say what each shows."""
    named = [word for root in roots for word in ("--root", root.as_posix())]
    target = (Path("wheelhouse") / wheel.name).as_posix()
    steps = (
        (
            f"1. A torch-like wheel, built with CUDA {cuda}. What would `import torch` say?",
            ["scan", wheel.as_posix(), "--no-discover"],
            Exit.FINDINGS,
        ),
        (
            "2. Vendor what is missing from folders that look like CUDA, oneAPI and the like.",
            ["repair", wheel.as_posix(), "--no-discover", *named, "--drop-test-artifacts"],
            Exit.OK,
        ),
        ("3. Look again.", ["scan", target, "--no-discover", "-q"], Exit.OK),
        ("4. Check RECORD and the archive against every byte.", ["verify", target, "-q"], Exit.OK),
    )
    for title, command, expected in steps:
        print(f"\n{title}\n\n$ wheelfix {' '.join(command)}\n")
        sys.stdout.flush()
        if _run(command) != expected:
            print("\nThat is not what this step should have shown.", file=sys.stderr)
            return False
    print("\nDone: the wheel in wheelhouse loads on a machine without any of these toolkits.")
    return True


def _run(command: list[str]) -> int:
    return main(command)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, so that the paths shown are short."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
