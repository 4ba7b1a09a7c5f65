"""Answers of a survey with texts of strangers, in folders with odd names, from damaged tables."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tests.support.surveys import forged_wheel
from tests.survey.test_survey import survey
from wheelfix.cli.main import main
from wheelfix.errors import Exit

pytestmark = pytest.mark.slow
HOSTILE = [
    "\x1b[31mred", "\x07bell", "=1+1", "+1", "@SUM(A1)", "-2+3", "\t=1", " =1", "a\rb", "a\r\nb", "::error::x",
    "a\n::error::x", "\u009b31m", "\u202etxt.exe", "##vso[task.x]", "\u200b=1", "\x00", 'a"b', "a,b", "|cmd", "%x",
]  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    forged_wheel(tmp_path / "wheels", "pkg")
    survey(tmp_path / "wheels", tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("kind", ["csv", "json", "table"])
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_cell_is_only_text(kind, text, tables, run):
    codes = " || ".join(f"chr({ord(char)})" for char in text) if "\x00" not in text else "'zero'"
    sql = f"SELECT {codes} AS a, 'behind' AS b, -5 AS c FROM wheels"
    shown = run("survey", "query", sql, "-o", tables, "--format", kind).out
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())
    if kind == "json":
        assert json.loads(shown)[0] == {"a": text if "\x00" not in text else "zero", "b": "behind", "c": -5}
    if kind == "csv":
        assert "##vso[" not in shown
        header, row = csv.reader(io.StringIO(shown))
        assert (header, row[1:]) == (["a", "b", "c"], ["behind", "-5"])
        assert row[0].strip()[:1] not in tuple("=+@-|%")


@pytest.mark.parametrize("name", ["[x] *", "a'b", "a?b", "[a-z]", "**", "part=1", "x]["])
def test_a_folder_with_an_odd_name(name, tables, run):
    shutil.move(tables, tables.parent / name)
    sql = "SELECT name FROM wheels"
    assert run("survey", "query", sql, "-o", tables.parent / name, "--format", "csv").out == "name\npkg\n"


@pytest.mark.parametrize("damage", ["cut", "empty", "zeros", "other", "middle"])
def test_a_damaged_table_is_named_and_can_be_read_again(damage, tables, capsys):
    file = next(tables.glob("part=*/wheels.parquet"))
    data = file.read_bytes()
    half = len(data) // 2
    made = {
        "cut": data[:half],
        "empty": b"",
        "zeros": bytes(len(data)),
        "other": b"not a table",
        "middle": data[:4] + b"\xff" * half + data[4 + half :],
    }
    file.write_bytes(made[damage])
    command = ["survey", "query", "SELECT name FROM wheels", "-o", str(tables), "--format", "csv"]
    assert main(command) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert "cannot be read" in said
    assert "should not have happened" not in said
    shutil.rmtree(file.parent)  # what the hint says
    assert main(["survey", str(tables.parent / "wheels"), "-o", str(tables), "-q"]) == Exit.OK
    assert main(command) == Exit.OK
    assert capsys.readouterr().out.endswith("name\npkg\n")
