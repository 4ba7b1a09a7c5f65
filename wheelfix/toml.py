"""The one door to TOML: read it where there is some, and import its reader only then."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def loads(text: str) -> dict[str, Any]:
    """Return the tree of a TOML document; ValueError if it is none."""
    # Python 3.10 has no tomllib; tomli is the same code and installed there.
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    tree: dict[str, Any] = reader.loads(text)
    return tree
