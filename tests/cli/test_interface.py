"""The interface for Python, as callers write it, and the small things that errors and answers got wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

import wheelfix
from tests.support.wheels import build_wheel
from tools.take_one_out import write_without
from wheelfix.cli.main import main
from wheelfix.errors import InputError, MissingExtra
from wheelfix.schemas import load_schema

NAME = "helper-0f2ea955.dll"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    files = {
        "pkg/_x.cp311-win_amd64.pyd": f"imports {NAME}",
        f"pkg/{NAME}": "",
    }
    return build_wheel(tmp_path / "whole", files=files)


@pytest.fixture
def broken(whole: Path, tmp_path: Path) -> Path:
    """The wheel without its DLL, which RECORD still lists."""
    path = tmp_path / "dist" / whole.name
    path.parent.mkdir()
    write_without(whole, f"pkg/{NAME}", path, row_left=True)
    return path


def test_names_are_listed():
    assert set(dir(wheelfix)) == set(wheelfix.__all__) >= {"scan", "repair", "diff", "ScanOptions"}


def test_options_take_texts_for_paths_and_one_for_several(broken, whole, tmp_path):
    loose = wheelfix
    roots = loose.RootOptions(roots=str(whole), discover=False)
    options = loose.RepairOptions(wheel_dir=str(tmp_path / "wh"), scan=loose.ScanOptions(roots=roots))
    assert wheelfix.repair(str(broken), options).output == tmp_path / "wh" / broken.name
    found = wheelfix.scan(broken, loose.ScanOptions(select="WF3", roots=roots)).findings
    assert {finding.code for finding in found} == {"WF301"}
    with pytest.raises(TypeError, match=r"ScanOptions\.select takes texts or paths, not 3"):
        loose.ScanOptions(select=3)
    with pytest.raises(TypeError, match=r"RepairOptions\.wheel_dir takes a path, not 3"):
        loose.RepairOptions(wheel_dir=3)


def test_a_folder_is_its_wheel(broken, whole, monkeypatch):
    monkeypatch.chdir(broken.parent)
    assert wheelfix.scan(".").verdict == "broken"
    (broken.parent / "other-1.0-py3-none-any.whl").write_bytes(whole.read_bytes())
    with pytest.raises(InputError, match="it holds 2 wheels"):
        wheelfix.scan(".")


def test_a_report_is_a_document(broken):
    report = wheelfix.scan(broken)
    value = report.to_dict()
    assert json.loads(report.to_json()) == value
    definitions = load_schema("scan-1")["$defs"]
    jsonschema.validate(value, {"$ref": "#/$defs/wheel", "$defs": definitions})
    assert value["verdict"] == "broken"


def test_diff(broken, whole, run):
    difference = wheelfix.diff(whole, wheelfix.scan(broken))
    assert [file.path for file in difference.lost] == [f"pkg/{NAME}"]
    assert (
        f"WF102 pkg/{NAME}: RECORD lists it, but the wheel does not have it"
        in run("diff", whole, broken, code=None).out
    )


# ------------------------------------------------------------------------------------------------- the small things


def test_a_browser_changed_the_name(whole, run):
    copy = whole.with_name(f"{whole.stem} (1).whl")
    whole.rename(copy)
    assert f"a browser has changed it: rename it to {whole.name}" in run("scan", copy, code=3).err


@pytest.mark.parametrize(
    "library, words, extra",
    [
        ("requests", ["scan", "demo==1.0", "--index-url", "https://127.0.0.1:9/simple"], "fetch"),
        ("pyarrow.parquet", ["survey", "WHOLE", "-o", "tables"], "survey"),
        ("duckdb", ["survey", "query", "verdicts", "-o", "tables"], "survey"),
        ("fsspec", ["survey", "s3://bucket", "-o", "tables"], "survey"),
        ("distributed", ["survey", "WHOLE", "-o", "tables", "--scheduler", "tcp://127.0.0.1:9"], "dask"),
    ],
)
def test_a_missing_extra_is_said_alike(library, words, extra, whole, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    assert main([str(whole) if word == "WHOLE" else word for word in words]) == MissingExtra.exit_code == 4
    assert f'hint: python -m pip install "wheelfix[{extra}]"\n' in capsys.readouterr().err
