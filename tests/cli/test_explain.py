"""``wheelfix explain``: every page on every terminal, by code and by name."""

from __future__ import annotations

import json

import pytest

from wheelfix.cli.main import main
from wheelfix.report.canvas import TextStyle
from wheelfix.report.pages import render_page, render_rules
from wheelfix.rules.registry import all_rules, page


def explain(capsys, *argv: str) -> str:
    assert main(["explain", *argv]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("word", ["WF301", "wf301", "missing-dependency", "Missing_Dependency"])
def test_by_code_and_by_name(word, capsys):
    assert explain(capsys, word) == render_page(page("WF301"), TextStyle())


def test_all_in_a_list(capsys):
    out = explain(capsys)
    assert out == render_rules(all_rules(), TextStyle())
    for rule in all_rules():
        assert f"  {rule.code}  " in out


def test_those_that_begin_so(capsys):
    out = explain(capsys, "WF3")
    assert "WF301" in out
    assert "WF101" not in out


def test_several_pages(capsys):
    out = explain(capsys, "WF301", "WF302")
    assert "WF301" in out.splitlines()[0]
    assert out.count("What it means") == 2 or "WF302" in out


def test_as_markdown(capsys):
    assert explain(capsys, "WF301", "--format", "markdown") == page("WF301")
    assert explain(capsys, "--format", "markdown").startswith("| code | name |")


def test_as_json(capsys):
    document = json.loads(explain(capsys, "WF30", "--format", "json"))
    assert {rule["code"][:4] for rule in document["rules"]} == {"WF30"}


def test_a_slip(capsys):
    assert main(["explain", "missing-dependancy"]) == 2
    assert "did you mean missing-dependency" in capsys.readouterr().err
    assert main(["explain", "WF999"]) == 2


@pytest.mark.parametrize("code", [rule.code for rule in all_rules()])
def test_every_page_is_rendered_whole_and_narrow(code):
    text = render_page(page(code), TextStyle(80))
    assert text.isascii(), [line for line in text.splitlines() if not line.isascii()]
    assert "```" not in text
    assert "**" not in text
    for line in text.splitlines():
        assert len(line) <= 80 or line.startswith("    "), line  # code stays as it is


def test_into_a_file(tmp_path, capsys):
    assert explain(capsys, "WF301", "-o", str(tmp_path / "page.txt")) == ""
    assert (tmp_path / "page.txt").read_text(encoding="utf-8") == render_page(page("WF301"), TextStyle(unicode=True))
