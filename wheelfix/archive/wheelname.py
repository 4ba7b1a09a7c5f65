"""The parts of a wheel's file name, and the tags that it stands for."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


_FILE_NAME = re.compile(
    r"(?P<name>[^-\s]+)-(?P<version>[^-\s]+)(?:-(?P<build>\d[^-\s]*))?"
    r"-(?P<python>[^-\s]+)-(?P<abi>[^-\s]+)-(?P<platform>[^-\s]+)(?:-(?P<variant>(?-i:[0-9a-z_.]{1,16})))?\.whl",
    re.IGNORECASE,
)
_PLATFORM = re.compile(r"any|win32|[a-z0-9]+_[a-z0-9_.]+", re.IGNORECASE)
MAX_TAGS = 1000
"""Tags that a wheel may have; a few letters, cleverly put, stand for billions."""


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a wheel's file name."""

    name: str
    version: str
    build: str
    tags: tuple[str, ...]
    """Expanded: ``py2.py3-none-any`` is two tags."""
    variant: str = ""
    """The label of a wheel variant (PEP 825), such as ``x86_64_v3``; empty for the usual wheels."""

    @classmethod
    def parse(cls, path: Path) -> FileName:
        """Take a wheel's file name apart; InputError if it is none."""
        parts = name_parts(path.name)
        if not parts:
            raise InputError(
                f"{path} has no wheel name",
                because="the name is not of the form name-version-python-abi-platform.whl",
                hint="give the wheel back the name it was built with",
            )
        tags = expand_tag(f"{parts['python']}-{parts['abi']}-{parts['platform']}")
        if tags is None:
            raise InputError(
                f"{path} has no wheel name",
                because=f"its tags stand for more than {MAX_TAGS} combinations",
                hint="give the wheel back the name it was built with",
            )
        return cls(parts["name"], parts["version"], parts["build"], tags, parts["variant"])


def name_parts(name: str) -> dict[str, str]:
    """Return the parts of a wheel's file name, ``build`` and ``variant`` empty where absent; nothing if it is none."""
    match = _FILE_NAME.fullmatch(name)
    # Six parts are a variant only if the fifth is a platform: a build number that is none must not shift the tags.
    if match is None or (match["variant"] and not _PLATFORM.fullmatch(match["platform"])):
        return {}
    return {key: value or "" for key, value in match.groupdict().items()}


def without_variant(name: str) -> str:
    """Return a wheel's file name without its variant label."""
    label = name_parts(name).get("variant")
    return f"{name.removesuffix('.whl').removesuffix(f'-{label}')}.whl" if label else name


def expand_tag(tag: str) -> tuple[str, ...] | None:
    """Return the tags that a compressed one stands for: ``py2.py3-none-any`` is two; None for more than MAX_TAGS."""
    parts = [part.split(".") for part in tag.split("-")]
    if math.prod(len(part) for part in parts[:16]) > MAX_TAGS or len(parts) > 16 or len(tag) > MAX_TAGS:
        return None
    return tuple("-".join(choice) for choice in itertools.product(*parts))
