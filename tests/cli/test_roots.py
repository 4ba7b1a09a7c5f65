"""``wheelfix roots``: what is seen and why, for people and machines."""

from __future__ import annotations

import json
import os

import jsonschema
import pytest

from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.schemas import load_schema


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A CUDA 11.7 that a variable names, a variable that names nothing, and a plain folder."""
    for name in list(os.environ):
        if name.startswith(("CUDA", "CONDA", "MKL", "ONEAPI", "VIRTUAL_ENV")):
            monkeypatch.delenv(name)
    cuda = tmp_path / "CUDA" / "v11.7"
    (cuda / "bin").mkdir(parents=True)
    (cuda / "version.json").write_text(json.dumps({"cuda": {"name": "CUDA SDK", "version": "11.7.1"}}))
    (cuda / "bin" / "cudart64_110.dll").write_bytes(forge_dll("x.dll"))
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "zlibwapi.dll").write_bytes(forge_dll("x.dll"))
    monkeypatch.setenv("CUDA_PATH", str(cuda))
    monkeypatch.setenv("CUDA_PATH_V12_1", str(tmp_path / "nowhere"))
    return tmp_path


def test_text(machine, capsys):
    assert main(["roots", "--root", str(machine / "plain"), "zlibwapi"]) == 0
    out = capsys.readouterr().out
    assert f"CUDA 11.7.1  {machine / 'CUDA' / 'v11.7'}\n" in out or f"CUDA 11.7  {machine / 'CUDA' / 'v11.7'}\n" in out
    assert "CUDA_PATH" in out
    assert "nowhere: no such folder" in " ".join(out.split())
    assert f"zlibwapi: 1 file\n  {machine / 'plain' / 'zlibwapi.dll'}" in out
    assert out.isascii()


def test_json_fits_its_schema(machine, capsys):
    assert main(["roots", "--format", "json", "--root", str(machine / "plain"), "cudart64_*.dll"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, load_schema("roots-1"), cls=jsonschema.Draft202012Validator)
    assert [match["name"] for match in document["matches"]] == ["cudart64_110.dll"]
    assert "cuda" in [root["kind"] for root in document["roots"]]


def test_only_what_is_named(machine, capsys):
    assert main(["roots", "-q", "--no-discover", "--root", str(machine / "plain")]) == 0
    assert capsys.readouterr().out == f"folder  {machine / 'plain'}\n"


def test_nothing_seen(machine, capsys):
    assert main(["roots", "--no-discover"]) == 0
    assert "No root was found." in capsys.readouterr().out


def test_a_root_that_is_not_there(machine, capsys):
    assert main(["roots", "--cuda", str(machine / "nowhere")]) == 2
    assert "the file or folder does not exist" in capsys.readouterr().err
