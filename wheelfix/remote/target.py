"""Where a wheel of a package index is to be installed: its platform and version of Python."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import UsageError
from wheelfix.remote.remoteoptions import PLATFORMS

if TYPE_CHECKING:
    from wheelfix.remote.remoteoptions import RemoteOptions

PYTHONS = tuple((3, minor) for minor in range(16, 6, -1))
"""Versions of Python for which a wheel is looked for, the newest first."""


@dataclass(frozen=True, slots=True)
class InstallTarget:
    """Where a wheel is to be installed."""

    platform: str = "win_amd64"
    python: tuple[int, int] | None = None
    """None: any, that of this Python first, then the newest."""

    @property
    def pythons(self) -> tuple[tuple[int, int], ...]:
        """The versions of Python that count, the best first."""
        if self.python is not None:
            return (self.python,)
        own = sys.version_info[:2]
        return ((own[0], own[1]), *(python for python in PYTHONS if python != own))

    def __str__(self) -> str:
        return f"{self.platform} and Python {'.'.join(map(str, self.python))}" if self.python else self.platform


def target_of(options: RemoteOptions) -> InstallTarget:
    """Return the target that the options mean."""
    if options.platform not in PLATFORMS:
        raise UsageError(f"--platform {options.platform}", because=f"it is not one of {', '.join(PLATFORMS)}")
    if not options.python_version:
        return InstallTarget(options.platform)
    found = re.fullmatch(r"(?:cp|py)?(3)\.?(\d{1,2})(?:\.\d+)?", options.python_version.strip())
    if found is None:
        raise UsageError(
            f"--python-version {options.python_version}",
            because="it is not a version of Python 3",
            hint="write it as 3.11",
        )
    return InstallTarget(options.platform, (int(found[1]), int(found[2])))
