"""``wheelfix demo``: a small broken wheel, and the way from the error to a wheel that loads."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import own_data
from wheelfix.cli.main import main
from wheelfix.errors import Exit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

STORIES = {"cu117": ("11.7", ("CUDA/v11.7", "oneAPI")), "cu114": ("11.4", ("CUDA/v11.4", "NvToolsExt"))}
"""The CUDA that each wheel was built with, and the vendors' folders that have what is missing."""


def execute(args: argparse.Namespace) -> int:
    """Walk through the story; the exit code is 0 when every step came out as it should."""
    cuda, roots = STORIES[args.story]
    folder = Path(tempfile.mkdtemp(prefix="wheelfix-demo-"))
    try:
        with _inside(folder):
            _unpack(args.story)
            good = _walk(next(Path("dist").iterdir()), [Path("roots", root) for root in roots], cuda)
    finally:
        if args.keep:
            print(f"\nThe files are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return Exit.OK if good else Exit.FINDINGS


def _unpack(story: str) -> None:
    """Lay out the files of a story, which ``tools/example.py`` has made, in the current folder."""
    with zipfile.ZipFile(io.BytesIO(own_data("wheelfix.cli", "example.zip"))) as archive:
        archive.extractall(members=[name for name in archive.namelist() if name.startswith(f"{story}/")])
    for part in Path(story).iterdir():
        part.rename(part.name)
    Path(story).rmdir()


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
        if main(command) != expected:
            print("\nThat is not what this step should have shown.", file=sys.stderr)
            return False
    print("\nDone: the wheel in wheelhouse loads on a machine without any of these toolkits.")
    return True


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, so that the paths shown are short."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
