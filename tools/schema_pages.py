"""The JSON documents that wheelfix writes: one table of fields for each object of each schema."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from tools.markdown import NOTE, code, table
from wheelfix.schemas import load_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INTRODUCTION = """\
# JSON documents

Every document has its name and version under `schema`. Within a version keys are added, never renamed or removed.
The schemas are part of the package: `wheelfix.schemas.load_schema("scan-1")` returns the one of `wheelfix.scan/1`.
The same input gives the same bytes.

"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    files = sorted(item.name for item in resources.files("wheelfix.schemas").iterdir() if item.name.endswith(".json"))
    text = NOTE + INTRODUCTION
    for file in files:
        schema = load_schema(file.removesuffix(".json"))
        text += f"## {schema.get('title', file)}\n\n{schema.get('description', '').strip()}\n\n"
        text += _fields(schema)
        for name, part in schema.get("$defs", {}).items():
            if "properties" in part:
                text += f"### {name} of {schema.get('title', file)}\n\n{part.get('description', '')}\n\n{_fields(part)}"
    yield "reference/json.md", "\n".join(line for line in _squeezed(text)) + "\n"


def _squeezed(text: str) -> Iterator[str]:
    """Yield lines without two blank ones in a row."""
    before = "x"
    for line in text.rstrip().split("\n"):
        if line or before:
            yield line
        before = line


def _fields(part: Mapping[str, Any]) -> str:
    required = set(part.get("required", ()))
    rows = [
        (code(name), _type(value), "always" if name in required else "", value.get("description", ""))
        for name, value in part.get("properties", {}).items()
    ]
    return table(("key", "value", "present", "meaning"), rows) if rows else ""


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "const" in value:
        return code(f'"{value["const"]}"')
    if "enum" in value:
        return ", ".join(code(item) for item in value["enum"])
    if "examples" in value:
        return f"{value['type']}, such as {', '.join(code(item) for item in value['examples'])}"
    for key in ("oneOf", "anyOf"):
        if key in value:
            return " or ".join(_type(item) for item in value[key])
    kind = value.get("type", "anything")
    if kind == "array":
        return f"list of {_type(value.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
