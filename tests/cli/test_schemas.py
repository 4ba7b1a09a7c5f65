"""Every JSON that a command prints names its schema and fits it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tests.support.schemas import schema_names, validate
from tools import example
from wheelfix.cli.main import main
from wheelfix.schemas import load_schema


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A broken torch-like wheel and the roots that could repair it."""
    folder = tmp_path_factory.mktemp("story")
    made = example.kepler_cu117()
    wheel = example.write_wheel(made, folder / "dist")
    roots = [word for root in example.write_roots(made, folder / "roots").values() for word in ("--root", str(root))]
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
    jsonschema.Draft202012Validator.check_schema(schema)
    title, _, version = name.rpartition("-")
    assert schema["$id"] == f"urn:wheelfix:{title}:{version}"
    assert schema["properties"]["schema"] == {"const": f"wheelfix.{title}/{version}"}
    assert schema["description"]
