"""Whether a tier of tests can run here: skips it with a reason, or fails it where nothing may be skipped."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import NoReturn

import pytest

from tests.real.listing import listed

REQUIRED = "WHEELFIX_REQUIRE_TIERS"
"""With this variable set, a tier that cannot run and a skipped test are failures; CI sets it."""
IMPOSSIBLE = "not possible on this machine: "
EVERY_WHEEL = "only with every wheel: "
TOLERATED = (IMPOSSIBLE, EVERY_WHEEL)
"""How reasons begin for which a test may be skipped anywhere: CI downloads a part of the wheels."""
WHEELS = "WHEELFIX_WHEELS"
"""The folder of real wheels, when it is not the usual one."""


def unavailable(reason: str) -> NoReturn:
    """Skip the test with a reason of one line, or fail it where tiers are required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{reason}, and {REQUIRED} is set", pytrace=False)
    pytest.skip(reason)


def impossible(reason: str) -> NoReturn:
    """Skip a test that no installation could make run on this machine; it may be skipped anywhere."""
    pytest.skip(IMPOSSIBLE + reason)


def require(condition: object, reason: str) -> None:
    """Go on only if what the test needs is there."""
    if not condition:
        unavailable(reason)


def absent(what: str) -> None:
    """Warn of a part that the test does without here, or fail where nothing may be left out."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what}, and {REQUIRED} is set", pytrace=False)
    warnings.warn(what, stacklevel=2)


def program(name: str, package: str) -> str:
    """Return the path of a program that the test runs."""
    found = shutil.which(name)
    require(found, f"there is no {name} here (Debian: apt-get install {package})")
    assert found is not None
    return found


def cache_folder() -> Path:
    """Return where the tests keep things between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wheelfix"


def wheels_folder() -> Path:
    """Return the folder of real wheels; ``python -m tests.real.fetch`` fills it."""
    chosen = os.environ.get(WHEELS)
    return Path(chosen) if chosen else cache_folder() / "wheels"


def wheel(name: str, *, optional: bool = False) -> Path:
    """Return a real wheel by its file name.

    Where tiers are required it must be there, unless it is optional or none of those that CI downloads.
    """
    path = wheels_folder() / name
    if not path.is_file():
        reason = f"{name} is not in {wheels_folder()} (python -m tests.real.fetch --all)"
        if next(wheels_folder().glob("*.whl"), None) is None:  # one line for all of them
            reason = f"there are no wheels in {wheels_folder()} (python -m tests.real.fetch)"
        if not optional and name in {entry.file for entry in listed() if entry.in_ci}:
            unavailable(reason)
        pytest.skip(EVERY_WHEEL + reason)
    return path


def wheel_at_hand(name: str) -> bool:
    """Whether a real wheel is in the cache."""
    return (wheels_folder() / name).is_file()
