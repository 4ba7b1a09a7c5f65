"""The lists of real sets and environments: wheels that are installed together, and what is reported about them."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.listing import Listed
from wheelfix.model import canonical

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("sets.toml")
ENVIRONMENTS = Path(__file__).with_name("environments.toml")

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


@dataclass(frozen=True, slots=True)
class RealEnvironment:
    """What pip has installed for Windows, and which distributions do not work there."""

    name: str
    wheels: tuple[str, ...]
    expect: dict[str, list[str]]
    """For each distribution that is not ok: the verdict, the code of a finding, and words of that finding."""
    why: str
    gone: tuple[str, ...] = ()
    """Files that are deleted from site-packages."""
    python: str = "3.11"
    in_ci: bool = False


@functools.cache
def real_environments() -> tuple[RealEnvironment, ...]:
    """Every environment of the list, in its order."""
    with ENVIRONMENTS.open("rb") as file:
        found = tomllib.load(file)
    return tuple(_environment(found["groups"], **table) for table in found["environment"])


def _environment(
    known: dict[str, list[str]],
    *,
    groups: list[str],
    without: tuple[str, ...] = (),
    replace: tuple[str, ...] = (),
    **more: Any,
) -> RealEnvironment:
    wheels = {canonical(file.split("-")[0]): file for group in groups for file in known[group]}
    wheels = {name: file for name, file in wheels.items() if name not in without}
    wheels.update({canonical(file.split("-")[0]): file for file in replace})
    return RealEnvironment(wheels=tuple(wheels.values()), expect=more.pop("expect", {}), **more)


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
    """The wheels of all sets and environments, or of those that every change is tested with, none twice."""
    both = (*real_sets(), *real_environments())
    files = dict.fromkeys(file for one in both if one.in_ci or everything for file in one.wheels)
    return [Listed(file, "", "part of a set", "set", in_ci=True) for file in files]


def wheels_of_matrix() -> list[Listed]:
    """The wheels of torch's matrix, and the examples."""
    files = [*EXAMPLES, *(f"torch-{version}-{TAGS}" for version in TORCH), *(f"{other}-{TAGS}" for other in EXTENSIONS)]
    return [Listed(file, "", "part of torch's matrix", "matrix", in_ci=True) for file in files]
