"""The tables as a document for programs of others."""

import json
import re
from pathlib import Path

from tools import export_tables

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "data.md"


def test_the_document_is_as_its_page_says(tmp_path):
    target = tmp_path / "tables.json"
    assert export_tables.main([str(target)]) == 0
    document = json.loads(target.read_text("utf-8"))
    assert [*document] == re.findall(r"^\| `(\w+)`", PAGE.read_text("utf-8"), re.MULTILINE)
    assert document["schema"] == "wheelfix-tables-1"
    assert document["tables"].keys() == {"python_exports", "stable_abi", "dlls"}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", one["date"]) and one["source"] for one in document["tables"].values())
    assert "PyUnicodeWriter_Create" in document["python_exports"]["3.14"]
    assert "PyUnicodeWriter_Create" not in document["python_exports"]["3.13"]
    assert document["stable_abi"]["PyObject_Call"] == "3.2"
    (mkl,) = (row for row in document["dlls"]["mkl_rt.2.dll"] if row["distribution"] == "mkl")
    assert mkl["folder"] == "Library/bin"
    assert mkl["versions"]
