"""Small file systems of their own, for those who may mount one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tiers import IMPOSSIBLE, impossible

root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("mount"), reason=f"{IMPOSSIBLE}only root mounts"
)


@contextlib.contextmanager
def tiny_disk(folder: Path, size: str, mode: str = "rw") -> Iterator[Path]:
    """Give a folder that is a disk of that size; the test is skipped where it cannot be mounted."""
    folder.mkdir(parents=True)
    mount = shutil.which("mount")
    done = subprocess.run([mount or "mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False)
    if done.returncode:
        impossible("file systems cannot be mounted")
    try:
        if mode == "ro":
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def resize(disk: Path, size: str) -> None:
    """Give a disk another size."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
