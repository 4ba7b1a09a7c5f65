"""The shapes of our JSON documents, as JSON Schema."""

from __future__ import annotations

import importlib.resources
import json
from typing import Any


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema of a document: ``scan-1`` for ``wheelfix.scan/1``."""
    text = (importlib.resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
