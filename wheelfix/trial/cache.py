"""What is kept between runs: an emulated Wine, a fresh Wine prefix to copy, a Windows Python."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.streams.output import _lock as lock

if TYPE_CHECKING:
    from collections.abc import Iterator

PAUSE = 0.2


def cache_folder() -> Path:
    """Return the folder in which wheelfix keeps things between runs; XDG_CACHE_HOME moves it."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wheelfix"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two runs do not make the same thing at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        while lock(descriptor) is False:
            time.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)
