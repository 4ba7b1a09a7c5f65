"""The page about predictions is made from recorded rows, and every difference has an explanation."""

from __future__ import annotations

import json
from pathlib import Path

from tools.agreement_page import MARK, PAGE, main, word_of

ROOT = Path(__file__).parents[2]


def row(wheel: str, agreement: str, expected: str = "works", observed: str = "imported") -> dict[str, str]:
    named = {"wheel": wheel, "way": "remove", "file": "a.dll", "module": "a"}
    return {**named, "agreement": agreement, "expected": expected, "observed": observed}


def write(folder: Path, rows: list[dict[str, str]], reasons: str = "") -> list[str]:
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    sample = '[[sample]]\ntitle = "Some"\nabout = "What ran."\nrows = "rows.jsonl"\n'
    (folder / "explained.toml").write_text(sample + reasons, encoding="utf-8")
    (folder / "page.md").write_text(f"# Title\n\n{MARK}\nold\n", encoding="utf-8")
    return ["--recorded", str(folder), "--page", str(folder / "page.md")]


def test_a_failure_that_was_not_expected_counts_as_missed():
    assert word_of(row("a", "not-predicted", "works", "ImportError : no")) == "missed"
    assert word_of(row("a", "not-predicted", "unsure")) == "unsure"
    assert word_of(row("a", "agrees")) == "agrees"


def test_tables_are_written_behind_the_mark(tmp_path):
    assert main(write(tmp_path, [row("a-1.whl", "agrees"), row("b-1.whl", "agrees")])) == 0
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{MARK}\n\n## Some\n\nWhat ran.\n")
    assert "| remove | 2 | 2 | 0 | 0 | 0 | 0 |" in text
    assert "Of 2 imports for which both sides have an answer, 2 agree (100.0 %)." in text
    assert "old" not in text


def test_a_difference_without_an_explanation_is_an_error(tmp_path, capsys):  # type: ignore[no-untyped-def]
    rows = [row("a_b-1.whl", "differs")]
    assert main(write(tmp_path, rows)) == 1
    assert "not explained: a_b-1.whl remove" in capsys.readouterr().err
    assert main(write(tmp_path, rows, '[[sample.reason]]\npackage = "a-b"\nwhy = "Because."\n')) == 0
    assert "- **a-b** (1 import): Because." in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_recorded_rows_give(tmp_path):
    page = ROOT / PAGE
    made = tmp_path / "page.md"
    made.write_bytes(page.read_bytes())
    assert main(["--recorded", str(ROOT / "fixtures" / "agreement"), "--page", str(made)]) == 0
    assert made.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
