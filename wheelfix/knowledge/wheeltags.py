"""What the tags in the name of a wheel stand for, in words."""

from __future__ import annotations

import re

from wheelfix.base.parsing import regex, whole_number

_WHEEL = regex(r"-(cp3(\d{1,2})t?|py\d\S{0,20})-(cp\d+[mtd]*|abi3t?|none)-([\w.]+)\.whl", re.IGNORECASE)
_PLATFORMS = {
    "win_amd64": "64-bit Windows",
    "win32": "32-bit Windows",
    "win_arm64": "Windows on ARM64",
    "any": "any system",
}
_LAST_WITH_M = 7
"""CPython 3.7 was the last whose tag of the ABI ends in m."""


def described_tags(text: str) -> str:
    """Return what the tags in the name of a wheel stand for."""
    found = _WHEEL.search(text)
    if found is None:
        return "cp311-cp311-win_amd64 is CPython 3.11 on 64-bit Windows"
    python, minor, abi, platform = found.groups()
    name = f"CPython 3.{minor}{' and later' if abi.startswith('abi3') else ''}" if minor else "any Python"
    odd = (
        f"; no Python has {abi}: from 3.8 on it is {abi[:-1]}"
        if abi.endswith("m") and (whole_number(minor or "") or 0) > _LAST_WITH_M
        else ""
    )
    return f"{python}-{abi}-{platform} is {name} on {_PLATFORMS.get(platform, platform)}{odd}"
