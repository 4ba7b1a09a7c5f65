"""Documents against the schemas that they name; reading and checking a schema takes longer than using it."""

from __future__ import annotations

import functools
import importlib.resources
from typing import Any

import jsonschema
import referencing

from wheelfix.schemas import load_schema


def schema_names() -> list[str]:
    """Every schema in the package."""
    files = importlib.resources.files("wheelfix.schemas").iterdir()
    return sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json"))


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    resources = [referencing.Resource.from_contents(load_schema(one)) for one in schema_names()]
    registry = referencing.Registry().with_resources([(resource.id(), resource) for resource in resources])
    return jsonschema.Draft202012Validator(load_schema(name), registry=registry)


def validate(document: dict[str, Any]) -> None:
    """Assert that a document fits the schema that it names."""
    tool, _, rest = document["schema"].partition(".")
    assert tool == "wheelfix"
    validator(rest.replace("/", "-")).validate(document)
