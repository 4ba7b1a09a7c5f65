"""The machine a wheel is meant for: what is assumed to be installed there."""

from __future__ import annotations

import re

from wheelfix.base.values import field, frozen
from wheelfix.errors import UsageError
from wheelfix.model import Machine

ASSUMABLE = ("vcredist", "vcredist-12", "vcredist-11", "vcredist-10", "vcredist-9", "nvidia-driver", "conda")
"""``vcredist`` is the runtime of Visual Studio 2015 and later; 2013 is ``vcredist-12``, 2008 is ``vcredist-9``."""
DEFAULT_ASSUMPTIONS = frozenset({"vcredist", "nvidia-driver"})


@frozen
class InstalledFolder:
    """A folder on the target machine whose DLLs are known, because that machine is this one."""

    label: str
    """Where it is, or what names it."""
    dlls: frozenset[str]
    """Keys of the DLLs in it."""


@frozen
class Profile:
    """A target: Windows, a Python, and what else is assumed to be installed."""

    machine: Machine = Machine.AMD64
    python: tuple[int, int] | None = None
    """The Python that loads the wheel; None when the tags name none."""
    assume: frozenset[str] = field(default=DEFAULT_ASSUMPTIONS)
    cuda: str | None = None
    """A CUDA toolkit that is installed on the target, as ``11.7``."""
    toolkit: InstalledFolder | None = None
    """The toolkit's own folder, where it is on this machine."""
    nvtx: InstalledFolder | None = None
    """The folder of NVTX, which is installed by itself."""
    bare: bool = False
    """Whether no toolkit of a vendor is installed, as under Wine; else a variable that names one may be set."""

    @property
    def searches_path(self) -> bool:
        """Whether extension modules and ctypes look for DLLs along PATH, as before Python 3.8."""
        return self.python is not None and self.python < (3, 8)


def assumptions(assume: tuple[str, ...], deny: tuple[str, ...]) -> tuple[frozenset[str], str | None]:
    """Turn ``--assume`` and ``--no-assume`` words into a set and a CUDA version."""
    chosen = set(DEFAULT_ASSUMPTIONS)
    cuda: str | None = None
    for word in assume:
        name, _, value = word.partition("=")
        if name == "cuda":
            cuda = value
            if not re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,3}", value):
                raise UsageError(f"--assume {word}", because="a CUDA version looks like cuda=11.7")
        elif name in ASSUMABLE and not value:
            chosen.add(name)
        else:
            raise UsageError(
                f"--assume {word}",
                because=f"that cannot be assumed; try {', '.join(ASSUMABLE)} or cuda=11.7",
            )
    for word in deny:
        if word == "cuda":
            cuda = None
        elif word in ASSUMABLE:
            chosen.discard(word)
        else:
            raise UsageError(f"--no-assume {word}", because=f"known are {', '.join(ASSUMABLE)} and cuda")
    return frozenset(chosen), cuda


def python_of_tags(tags: tuple[str, ...]) -> tuple[int, int] | None:
    """The one CPython that a wheel's tags name; None for abi3, pure and several."""
    found = set()
    for tag in tags:
        python, _, rest = tag.partition("-")
        abi = rest.partition("-")[0]
        match = re.fullmatch("cp([0-9])([0-9]{1,3})", python)
        if match and not abi.startswith("abi"):  # "none" is for that one version, too
            found.add((int(match[1]), int(match[2])))
        else:
            return None
    return found.pop() if len(found) == 1 else None
