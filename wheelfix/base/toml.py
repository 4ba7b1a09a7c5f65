"""The only module that reads TOML; its parser is imported when the first text is read."""

from __future__ import annotations

import importlib
from typing import Any


def loads(text: str) -> dict[str, Any]:
    """Return the tree of a TOML document; ValueError if it is none."""
    try:  # it is compiled, and so three times as fast as the same code in the standard library
        reader = importlib.import_module("tomli")
    except ImportError:
        reader = importlib.import_module("tomllib")
    tree: dict[str, Any] = reader.loads(text)
    return tree
