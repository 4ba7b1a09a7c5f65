"""The list of real sets: wheels that are installed together, and what is reported when one of them is left out."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.listing import Listed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("sets.toml")

# The matrix of torch and its extensions, each version with each.
TORCH = ("2.7.1", "2.4.0", "2.0.1", "2.4.1", "2.5.1", "2.9.1", "2.15.0")
CANNOT_LOAD = {"2.4.0"}
"""Releases of torch that fail by themselves: libomp140.x86_64.dll is missing (pytorch#131662)."""
EXTENSIONS = (
    *("torchvision-0.22.1", "torchvision-0.19.0-1", "torchvision-0.15.2", "torchvision-0.18.1", "torchvision-0.19.1"),
    *("torchvision-0.20.1", "torchvision-0.24.1", "torchaudio-2.0.2", "torchaudio-2.4.1", "torchaudio-2.7.1"),
    "torchaudio-2.9.1",
)
TAGS = "cp311-cp311-win_amd64.whl"
EXAMPLES = tuple(
    f"{name}-{TAGS}" for name in ("torchcodec-0.9.1", "auto_gptq-0.7.1", "deepspeed-0.16.5", "torch-2.3.0")
)
"""Wheels that rely on DLLs of other distributions, besides those of the sets."""


@dataclass(frozen=True, slots=True)
class RealSet:
    """Wheels that pip installs together for Windows."""

    name: str
    wheels: tuple[str, ...]
    in_ci: bool = False
    """Whether every change is tested with it."""
    without: dict[str, list[str]] = field(default_factory=dict)
    """Distributions to leave out, with those of the set that fail then: their import tables name DLLs of it (LIEF)."""
    broken: tuple[str, ...] = ()
    """Distributions that fail in the complete set, too."""
    unsure: tuple[str, ...] = ()
    """Distributions about which the complete set does not decide: they use programs that pip does not install."""
    why: str = ""
    """Why the expectation is true, found out without wheelfix."""


@functools.cache
def real_sets() -> tuple[RealSet, ...]:
    """Every set of the list, in its order."""
    with LIST.open("rb") as file:
        tables: list[dict[str, Any]] = tomllib.load(file)["set"]
    return tuple(
        RealSet(**{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
        for table in tables
    )


def wheels_of_sets(*, everything: bool) -> list[Listed]:
    """The wheels of all sets, or of those that every change is tested with, none twice."""
    files = dict.fromkeys(file for one in real_sets() if one.in_ci or everything for file in one.wheels)
    return [Listed(file, "", "part of a set", "set", in_ci=True) for file in files]


def wheels_of_matrix() -> list[Listed]:
    """The wheels of torch's matrix, and the examples."""
    files = [*EXAMPLES, *(f"torch-{version}-{TAGS}" for version in TORCH), *(f"{other}-{TAGS}" for other in EXTENSIONS)]
    return [Listed(file, "", "part of torch's matrix", "matrix", in_ci=True) for file in files]
