"""Reports for machines: what ``schemas/*.json`` describe, and the same bytes for the same input.

A schema says what is written, and where it is found: a key is the attribute of its name, or what ``from`` names, as in
``"from": "facts.machine"``; an object that is ``sorted`` has its keys in order. A required key without a value is its
``default``, or null; others are left out.
"""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import wheelfix
from wheelfix.base.parsing import whole_number
from wheelfix.report import safe
from wheelfix.schemas import load_schema

if TYPE_CHECKING:
    from wheelfix.model import Json, JsonObject, ScanReport
    from wheelfix.report.document import Document


def dump(value: Json) -> str:
    """Return JSON text: indented, in ASCII, so that no console or pipe between us and the reader can spoil it.

    Nothing in it is a command for a CI system: ``#`` is doubled only in texts, where the second one can be escaped.
    """
    text = json.dumps(value, indent=2, ensure_ascii=True)
    if "\\ud" in text:
        text = json.dumps(safe.json(value), indent=2, ensure_ascii=True)
    return text.replace("##", "#\\u0023") + "\n"


_schema = functools.cache(load_schema)
"""A document of many parts asks for its schema again and again."""


def tool() -> JsonObject:
    """Return who wrote the document."""
    return {"name": "wheelfix", "version": wheelfix.__version__}


def render(name: str, **values: object) -> str:
    """Return a document, ``scan-1`` for ``wheelfix.scan/1``, over what its keys and their ``from`` name."""
    return dump(written({"tool": tool(), **values}, name))


def written(value: object, name: str, part: str = "") -> JsonObject:
    """Return a value in the shape of a schema, or of one of its parts."""
    schema = _schema(name)
    found = _Writer(schema.get("$defs", {})).write(value, schema["$defs"][part] if part else schema)
    assert isinstance(found, dict)
    return found


class _Writer:
    """Writes values in the shapes of one schema, whose parts it knows by name."""

    def __init__(self, parts: Mapping[str, Mapping[str, Any]]) -> None:
        self._parts = parts

    def write(self, value: object, shape: Mapping[str, Any]) -> Json:
        """Return a value in a shape."""
        if "oneOf" in shape:  # the others are null
            return None if value is None else self.write(value, shape["oneOf"][-1])
        keys, required = {**shape.get("properties", {})}, [*shape.get("required", ())]
        if "$ref" in shape:
            shape = self._parts[shape["$ref"].rpartition("/")[2]]
            keys, required = {**shape.get("properties", {}), **keys}, [*shape.get("required", ()), *required]
        if keys:
            made: JsonObject = {}
            for key, one in keys.items():
                found = _at(value, one.get("from", key))
                if key in required:
                    made[key] = self.write(one.get("const", one.get("default") if found is None else found), one)
                elif found or (found is not None and isinstance(found, tuple) and "minItems" not in one):
                    made[key] = self.write(found, one)
            return made
        if "items" in shape and isinstance(value, Iterable):
            return [self.write(item, shape["items"]) for item in value]
        return plain(dict(sorted(value.items())) if "sorted" in shape and isinstance(value, Mapping) else value)


def _at(value: Any, place: str) -> object:
    """Return what is found by names and numbers between dots: of a list that of each entry; None for none."""
    for name in place.split("."):
        if (number := whole_number(name)) is not None:
            value = value[number] if number < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, tuple):
            value = tuple(getattr(one, name) for one in value)
        else:
            value = getattr(value, name, None)
    return value


def plain(value: object) -> Json:
    """Return text, numbers and their collections as JSON has them; an enumeration is its value."""
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, Iterable) else str(value)


def render_scan(document: Document) -> str:
    """Return the ``wheelfix.scan/1`` document; keys about failures are there only when something failed."""
    value: Any = written({"tool": tool(), "document": document}, "scan-1")
    for report, wheel in zip(document.reports, value["wheels"], strict=True):
        for finding, shown in zip(report.findings, wheel["findings"], strict=True):
            if document.context.known(report, finding):
                shown["known"] = True
    return dump(value)


def summary_value(document: Document) -> JsonObject:
    """Return the figures over all inputs."""
    return written(document, "scan-1", "summary")


def scan_value(report: ScanReport) -> JsonObject:
    """Return the report on one wheel as plain values."""
    return written(report, "scan-1", "wheel")
