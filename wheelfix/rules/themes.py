"""What findings are about, for code that has a report but no rules, such as a renderer.

Code that has the rules asks :func:`wheelfix.rules.registry.found_by`. A test compares the codes here with the rules.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelfix.model import Finding


class Theme(Enum):
    """Findings that belong together, by their codes."""

    MISSING = frozenset({"WF301", "WF302", "WF303", "WF304"})
    """A DLL that the wheel needs is not there."""
    UNKNOWN = frozenset({"WF317", "WF318"})
    """Whether a DLL that the wheel needs is provided is not known."""
    FORWARDER = frozenset({"WF311"})
    """An export is forwarded to a DLL that is not there, or to nothing in it."""
    OUT_OF_REACH = frozenset({"WF305", "WF307"})
    """A DLL is there, where the loader does not look."""
    NOT_ON_TARGET = frozenset({"WF323", "WF325", "WF326"})
    """A DLL is, or may be, absent from a kind of Windows."""
    PARTIAL_CUDA = frozenset({"WF403"})
    """Some of CUDA's DLLs are there, others are not."""
    OTHER_CUDA = frozenset({"WF402", "WF407", "WF503"})
    """The CUDA release is not what the wheel, its tag or the driver wants."""


def is_about(item: Finding, *themes: Theme) -> bool:
    """Whether a finding has one of these themes."""
    return any(item.code in theme.value for theme in themes)
