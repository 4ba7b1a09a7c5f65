"""Every JSON that a command prints names its schema and fits it."""

import json

import jsonschema
import pytest

from tests.support.schemas import schema_names, validate
from tools import example
from wheelfix.schemas import load_schema


@pytest.mark.parametrize(
    "words, code, schema, holds",
    [
        ("scan WHEEL ROOTS", 1, "scan/1", "candidates"),
        ("verify WHEEL", 0, "scan/1", "verdict"),
        ("repair WHEEL ROOTS --dry-run", 0, "plan/1", "additions"),
        ("repair WHEEL ROOTS -w out --lock plan.json", 0, "repair/1", "repaired"),
        ("repair WHEEL --no-discover -w out", 1, "repair/1", "failed"),
        ("explain", 0, "rules/1", "WF301"),
    ],
)
def test_what_a_command_prints(words, code, schema, holds, tmp_path, monkeypatch, run):
    """On a broken torch-like wheel, and the roots that could repair it."""
    monkeypatch.chdir(tmp_path)
    made = example.kepler_cu117()
    roots = [word for root in example.write_roots(made, tmp_path / "roots").values() for word in ("--root", root)]
    given = {"WHEEL": [example.write_wheel(made, tmp_path / "dist")], "ROOTS": ["--no-discover", *roots]}
    text = run(*(one for word in words.split() for one in given.get(word, [word])), "--format", "json", code=code).out
    document = json.loads(text)
    validate(document)
    assert document["schema"] == f"wheelfix.{schema}"
    assert f'"{holds}"' in text
    if "--lock" in words:
        validate(json.loads((tmp_path / "plan.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", schema_names())
def test_schemas_say_what_they_are(name):
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    title, _, version = name.rpartition("-")
    assert schema["$id"] == f"urn:wheelfix:{title}:{version}"
    assert schema["properties"]["schema"] == {"const": f"wheelfix.{title}/{version}"}
    assert schema["description"]
