"""Where a missing DLL could come from, as the last line of a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject


def where_from(name: str, subject: Subject) -> str:
    """Return what to do about a DLL that is missing: who ships it and how to bring it in."""
    return f"`wheelfix repair --root FOLDER` with a folder that has {name}"
