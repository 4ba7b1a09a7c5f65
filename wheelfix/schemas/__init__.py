"""The shapes of our JSON documents, as JSON Schema, and what writes values in them.

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

from wheelfix.base.inputfiles import own_data
from wheelfix.base.parsing import whole_number

if TYPE_CHECKING:
    from wheelfix.model import Json, JsonObject


@functools.cache
def load_schema(name: str) -> dict[str, Any]:
    """Return the schema of a document: ``scan-1`` for ``wheelfix.scan/1``."""
    schema: dict[str, Any] = json.loads(own_data(__name__, f"{name}.json"))
    return schema


def written(value: object, name: str, part: str = "") -> JsonObject:
    """Return a value in the shape of a schema, or of one of its parts."""
    schema = load_schema(name)
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
                found = at(value, one.get("from", key))
                if key in required:
                    made[key] = self.write(one.get("const", one.get("default") if found is None else found), one)
                elif found or (found is not None and isinstance(found, tuple) and "minItems" not in one):
                    made[key] = self.write(found, one)
            return made
        if "items" in shape and isinstance(value, Iterable):
            return [self.write(item, shape["items"]) for item in value]
        return plain(dict(sorted(value.items())) if "sorted" in shape and isinstance(value, Mapping) else value)


def at(value: Any, place: str) -> object:
    """Return what is found by names and numbers between dots: of a list that of each entry; None for none."""
    for name in place.split("."):
        if (number := whole_number(name)) is not None:
            value = value[number] if number < len(value or ()) else None
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
