"""The list of real wheels: which they are, where they come from, and what a scan must say about each."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

LIST = Path(__file__).with_name("wheels.toml")


@dataclass(frozen=True, slots=True)
class Listed:
    """One wheel of the list."""

    file: str
    """Its name on PyPI, which tells project, version, Python and platform."""
    verdict: str
    why: str
    """Why the expectation is true, found out without wheelfix."""
    kind: str
    """What it stands for among the others."""
    in_ci: bool = False
    """Whether it belongs to the small set that CI downloads."""
    findings: tuple[str, ...] = ()
    """The codes of all warnings and errors."""
    notes: tuple[str, ...] = ()
    """Codes of remarks that must be among those made."""
    missing: tuple[str, ...] = ()
    """All DLLs that some import table names and nobody brings."""
    failure: str = ""
    """The line that the import raises."""

    @property
    def project(self) -> str:
        """The name under which an index has it."""
        return self.file.split("-")[0]

    @property
    def version(self) -> str:
        """The release."""
        return self.file.split("-")[1]

    @property
    def tags(self) -> tuple[str, str, str]:
        """Python, ABI and platform."""
        python, abi, platform = self.file.removesuffix(".whl").split("-")[-3:]
        return python, abi, platform

    @property
    def python(self) -> str:
        """A Python that takes the wheel: ``3.11``."""
        python, abi, _ = self.tags
        match = re.match(r"cp3(\d+)", python)
        return f"3.{match[1]}" if match and abi != "abi3" else f"3.{max(11, int(match[1]) if match else 0)}"


@functools.cache
def listed() -> tuple[Listed, ...]:
    """Every wheel of the list, in its order."""
    with LIST.open("rb") as file:
        tables = tomli.load(file)["wheel"]
    return tuple(Listed(**{key: _frozen(value) for key, value in table.items()}) for table in tables)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def named(project: str, version: str = "") -> Listed:
    """The wheel of a project, of one release if there are several."""
    (found,) = (wheel for wheel in listed() if wheel.project == project and version in ("", wheel.version))
    return found
