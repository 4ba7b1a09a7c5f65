"""What commands with several inputs share: the size of each, how far they are, and the failure of one that was lost."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from wheelfix.errors import EnvironmentFailure
from wheelfix.exam.examination import ScanFailure

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.exam.examination import Progress
    from wheelfix.remote.ranges import WheelPath


def lost_input(path: Path, reason: str) -> ScanFailure:
    """Return the failure of an input whose worker process died."""
    return ScanFailure(str(path), EnvironmentFailure(str(path), because=reason, hint="try it alone, with -j 1"))


def file_size(path: Path) -> int:
    """Return the size of a file; 0 for a folder, and for what is not there."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class Shares:
    """How many bytes are done of the inputs that are scanned side by side."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._shares: dict[WheelPath, tuple[int, int]] = {}

    def report(self, path: WheelPath, done: int, total: int) -> None:
        """Take the share of one input, and pass on that of all that are not done."""
        if self._progress is None:
            return
        self._shares[path] = (done, total)
        shares = [share for share in self._shares.copy().values() if share[0] < share[1]]
        self._progress(sum(share[0] for share in shares), sum(share[1] for share in shares))
