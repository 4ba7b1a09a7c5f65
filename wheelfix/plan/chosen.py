"""A file that a plan adds, and where it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.errors import UsageError
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from wheelfix.plan.model import Rejected
    from wheelfix.roots.root import RootFile


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file that will be added, and everything the plan says about it."""

    path: str
    """Where it goes, in the view."""
    file: RootFile | None
    """The file of a root, or None for a copy of another member of the same wheel."""
    own: str
    """For such a copy: the member's path in the view."""
    kind: str
    because: str
    serves: tuple[str, ...]
    reason: str
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()


def inside(folder: str, name: str) -> str:
    """The path of a file in a folder of the view; the prefix itself is the empty string."""
    return f"{folder}/{name}" if folder else name


def in_site_packages(folder: str) -> str:
    inside = folder.replace("\\", "/").strip("/")
    if not inside or any(part in ("", ".", "..") for part in inside.split("/")) or ":" in inside:
        raise UsageError(
            f"--dest {folder}", because="it is not a folder inside the wheel", hint="for example torch/lib"
        )
    return f"{SITE_PACKAGES}/{inside}"
