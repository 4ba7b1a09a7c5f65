"""Every text of every value that is printed may be of a stranger: no output obeys any of them."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.support.hostile_values import HOSTILE, Maker
from tests.support.tables import named_cases
from wheelfix.diagnosis.machine import ReportBlock
from wheelfix.diagnosis.model import Diagnosis
from wheelfix.errors import InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import Finding, ScanReport, Severity
from wheelfix.plan.model import Plan, Repaired
from wheelfix.report import json_, safe
from wheelfix.report.builds import Comparison, comparison_blocks
from wheelfix.report.canvas import TextStyle, render_text
from wheelfix.report.ci import markdown_text
from wheelfix.report.diagnosis import render_diagnosis
from wheelfix.report.document import (
    SCAN_KINDS,
    Context,
    Document,
    render,
)
from wheelfix.report.html.scan import render_comparison, render_repairs
from wheelfix.report.repairs import render_balance, render_plan
from wheelfix.report.scans import render_scan, render_summary

LOOKS = [TextStyle(), TextStyle(unicode=True), TextStyle(width=40), TextStyle(unicode=True, colour=True)]
COMMAND = "::error::owned ::error::owned"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def document(kind: str, text: str) -> str:
    """A document in which every text is this one."""
    failures = [FailedInput(text, InputError(text, because=text, hint=text))]
    context = Context(skipped=(text,), sources={text: text}, command=text, date=text, sha256={text: text})
    return render(kind, [Maker(text).make(ScanReport)], failures, context, lambda failure: None)


def must_be_mute(text: str, *, ours: tuple[str, ...] = ()) -> None:
    """No character that a terminal obeys or hides, no line that a CI system obeys, and it can be encoded."""
    text.encode("utf-8")
    odd = {char for char in text if not char.isprintable() and char not in "\n\t"}
    assert not odd, odd
    for line in text.splitlines():
        if line.lstrip().startswith("::"):
            assert line.startswith(ours), line
    assert not re.search(r"##[a-z]*\[", text)


@pytest.mark.parametrize("look", LOOKS, ids=["ascii", "unicode", "narrow", "colour"])
@pytest.mark.parametrize("verbose", [False, True])
@named_cases("chosen", {"all": HOSTILE, "command": COMMAND})
def test_texts_for_people(look, verbose, chosen):
    look = dataclasses.replace(look, verbose=verbose)
    written = [
        render_scan(Maker(chosen, status="invalid").make(ScanReport), look),
        render_summary(
            Document(
                [Maker(chosen).make(ScanReport)],
                [FailedInput(chosen, InputError(chosen, because=chosen, hint=chosen))],
                Context(skipped=(chosen,)),
            ),
            look,
        ),
        render_diagnosis(Maker(chosen).make(Diagnosis), look),
        render_plan(Maker(chosen, outcome="repaired").make(Repaired), look),
        render_balance([Maker(chosen).make(Repaired)], [], look),
        render_text(comparison_blocks(Maker(chosen, verdict="broken").make(Comparison)), look),
    ]
    for text in written:
        must_be_mute(COLOURS.sub("", text) if look.colour else text)


@pytest.mark.parametrize("kind", SCAN_KINDS)
@named_cases("chosen", {"all": HOSTILE, "command": COMMAND})
def test_documents(kind, chosen):
    text = document(kind, chosen)
    page = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL) if kind == "html" else text
    must_be_mute(page, ours=("::error file=", "::warning file=", "::notice file=") if kind == "github" else ())
    check = {"json": check_json, "sarif": check_json, "junit": ET.fromstring, "html": check_html}.get(kind)
    if check is not None:
        check(text)


def check_json(text: str) -> None:
    """It is JSON of whole characters."""

    def walk(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, item in value.items():
                yield key
                yield from walk(item)
        elif isinstance(value, list):
            for item in value:
                yield from walk(item)

    for found in walk(json.loads(text)):
        found.encode("utf-8")


def check_html(text: str, harmless: str = "") -> None:
    """The page has no element, attribute or script that the same page over harmless names has not."""
    harmless = harmless or document("html", "harmless")

    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.found: set[tuple[str, ...]] = set()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.found.add((tag, *sorted(name for name, _ in attrs)))

    hostile, plain = Tags(), Tags()
    hostile.feed(text)
    plain.feed(harmless)
    assert {tag[0] for tag in hostile.found} <= {tag[0] for tag in plain.found}
    assert text.count("<script") <= harmless.count("<script")
    assert not [tag for tag in hostile.found if any(name.startswith("on") for name in tag[1:])]


def structure(markdown: str) -> list[str]:
    """What Markdown makes of a text: the kinds of its blocks, and of what is in them, without the words."""
    kinds = []
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown):
        kinds.append(f"{token.type} {token.tag}")
        kinds += [child.type for child in token.children or () if child.type not in ("text", "text_special")]
    return kinds


@named_cases(
    "draw",
    {
        "scan": lambda text: document("markdown", text),
        "diff": lambda text: markdown_text("diff", comparison_blocks(Maker(text, verdict="ok").make(Comparison))),
    },
)
def test_markdown_keeps_its_structure(draw):
    assert structure(draw(HOSTILE)) == structure(draw("harm/less"))  # with folders, too


@pytest.mark.parametrize("text", ["``", "a`b``c```d", "`a`", "a|b", "\\|", "a\\", " ` ", "- x", ""])
def test_code_spans(text):
    table = f"| a | b |\n| --- | --- |\n| {safe.markdown_code(text)} | {safe.markdown(text)} |\n"
    assert structure(table).count("td_open td") == 2
    if text.strip():
        cells = [t for t in MarkdownIt("commonmark").enable("table").parse(table) if t.type == "inline"]
        code = [child.content for cell in cells for child in cell.children or () if child.type == "code_inline"]
        assert [" ".join(part.split()) for part in code] == [text.strip()]
        assert "".join(child.content for child in cells[3].children or ()) == text.strip()


def test_other_documents():
    comparison = Maker(verdict="broken").make(Comparison)
    must_be_mute(markdown_text("diff", comparison_blocks(comparison)))
    check_json(json_.render("diff-1", comparison=comparison))
    block = ReportBlock(((HOSTILE, HOSTILE),))
    check_json(json_.render("diagnosis-1", diagnosis=Maker().make(Diagnosis), report=block.rows))


def comparison_page(text: str) -> str:
    context = Context(command=text, date=text)
    return render_comparison(Maker(text, verdict="broken").make(Comparison), context)


def repair_page(text: str) -> str:
    failures = [FailedInput(text, InputError(text, because=text, hint=text))]
    report = Repaired(Maker(text).make(Plan), "repaired", Path(text.replace("\0", "")), faults=(text,))
    return render_repairs([report], failures, Context(command=text, date=text))


@pytest.mark.parametrize("draw", [comparison_page, repair_page])
def test_other_pages(draw):
    for chosen in (HOSTILE, COMMAND):
        must_be_mute(draw(chosen))
        check_html(draw(chosen), draw("harmless"))


def test_annotations_are_one_line_each():
    finding = Finding("WF301", HOSTILE, Severity.ERROR, HOSTILE, HOSTILE, hint=HOSTILE)
    report = Maker(findings=(finding,)).make(ScanReport)
    text = render("github", [report], (), Context(), lambda failure: None)
    assert [line.partition(" ")[0] for line in text.splitlines()] == ["::error", "wheelfix:"]
