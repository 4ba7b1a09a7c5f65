"""Versions, specifiers, requirements and markers as ``packaging`` reads them.

It takes longer to import than a small wheel to scan, and most scans need none of it: each function imports its part
when it is first called. What cannot be read is a ValueError, nesting that is too deep a RecursionError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.markers import Marker
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version


def as_version(text: str) -> Version:
    """Return a version: ``2.7.1+cu128``."""
    from packaging.version import Version

    return Version(text)


def as_specifiers(text: str) -> SpecifierSet:
    """Return what versions must fulfil: ``>=1.21,<3``."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text)


def as_requirement(text: str) -> Requirement:
    """Return a requirement: ``numpy>=1.21; extra == 'test'``."""
    from packaging.requirements import Requirement

    return Requirement(text)


def as_marker(text: str) -> Marker:
    """Return a condition: ``python_version < '3.11'``."""
    from packaging.markers import Marker

    return Marker(text)
