"""Hold a document against its schema, with our schemas at hand for one another."""

from __future__ import annotations

import importlib.resources
from typing import Any

import jsonschema
import referencing

from wheelfix.schemas import load_schema


def schema_names() -> list[str]:
    """Every schema in the package."""
    files = importlib.resources.files("wheelfix.schemas").iterdir()
    return sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json"))


def validate(document: dict[str, Any]) -> None:
    """Assert that a document fits the schema that it names."""
    tool, _, rest = document["schema"].partition(".")
    assert tool == "wheelfix"
    resources = [referencing.Resource.from_contents(load_schema(name)) for name in schema_names()]
    registry = referencing.Registry().with_resources([(resource.id(), resource) for resource in resources])
    schema = load_schema(rest.replace("/", "-"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema, registry=registry).validate(document)
