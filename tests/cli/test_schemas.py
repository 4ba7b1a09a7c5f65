"""Every JSON that a command prints names its schema and fits it."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing

import wheelfix
from tools import example
from wheelfix.cli.main import main
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


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A broken torch-like wheel and the roots that could repair it."""
    folder = tmp_path_factory.mktemp("story")
    told = example.kepler_cu117()
    wheel = example.write_wheel(told, folder / "dist")
    roots = [word for root in example.write_roots(told, folder / "roots").values() for word in ("--root", str(root))]
    return folder, str(wheel), ["--no-discover", *roots]


def run(capsys, *argv: str, code: int = 0) -> dict:
    assert main(list(argv)) == code
    return json.loads(capsys.readouterr().out)


def test_scan(story, capsys):
    _, wheel, roots = story
    document = run(capsys, "scan", wheel, *roots, "--format", "json", code=1)
    validate(document)
    missing = {item["name"]: item for item in document["wheels"][0]["missing"]}
    assert missing["cupti64_2022.2.1.dll"]["candidates"]


def test_plan(story, capsys):
    _, wheel, roots = story
    document = run(capsys, "repair", wheel, *roots, "--dry-run", "--format", "json")
    assert document["schema"] == "wheelfix.plan/1"
    validate(document)
    assert document["additions"]


def test_repair_and_lock(story, capsys, tmp_path):
    _, wheel, roots = story
    lock = tmp_path / "plan.json"
    document = run(
        capsys, "repair", wheel, *roots, "-w", str(tmp_path / "out"), "--lock", str(lock), "--format", "json"
    )
    validate(document)
    assert document["wheels"][0]["outcome"] == "repaired"
    validate(json.loads(lock.read_text(encoding="utf-8")))


def test_repair_that_fails(story, capsys, tmp_path):
    _, wheel, _ = story
    document = run(capsys, "repair", wheel, "--no-discover", "-w", str(tmp_path / "out"), "--format", "json", code=1)
    validate(document)
    assert document["wheels"][0]["outcome"] == "failed"


def test_verify(story, capsys):
    validate(run(capsys, "verify", story[1], "--format", "json"))


def test_explain(capsys):
    validate(run(capsys, "explain", "--format", "json"))


@pytest.mark.parametrize("name", schema_names())
def test_schemas_say_what_they_are(name):
    schema = load_schema(name)
    title, _, version = name.rpartition("-")
    assert schema["$id"] == f"urn:wheelfix:{title}:{version}"
    assert schema["properties"]["schema"] == {"const": f"wheelfix.{title}/{version}"}
    assert schema["description"]


def test_the_schemas_are_in_the_package():
    assert (Path(wheelfix.__file__).parent / "schemas" / "scan-1.json").is_file()
