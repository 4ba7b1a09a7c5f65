"""The report for people: compared whole, at fixed width, in Unicode and in ASCII."""

from __future__ import annotations

import dataclasses
import io
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from tests.report.golden import check_golden
from tests.report.samples import broken_torch, clean_wheel, risky_extension
from wheelfix.errors import CannotRepair, InputError
from wheelfix.model import Edge, EdgeKind, InView, LoadEvent, LoadOutcome, Resolution
from wheelfix.report.document import Context, FailedInput
from wheelfix.report.text import render_scan, render_summary
from wheelfix.report.text.canvas import STYLES, Canvas, wrapped
from wheelfix.report.textstyle import TextStyle

ASCII = TextStyle(80, colour=False, unicode=False)
UNICODE = TextStyle(80, colour=False, unicode=True)


@pytest.mark.parametrize(("style", "look"), [("ascii", ASCII), ("unicode", UNICODE)])
@pytest.mark.parametrize("sample", [broken_torch, clean_wheel, risky_extension], ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("loud", ["", "quiet", "verbose"])
def test_golden(sample, style, look, loud):
    text = render_scan(sample(), look, verbose=loud == "verbose", quiet=loud == "quiet")
    check_golden(f"{sample.__name__}{'-' if loud else ''}{loud}.{style}.txt", text)


def test_ascii_report_has_only_ascii_where_its_names_have():
    assert render_scan(broken_torch(), ASCII, verbose=True).isascii()


def test_no_line_is_wider_than_the_look_but_those_that_must_stay_whole():
    report = broken_torch()
    for line in render_scan(report, ASCII).splitlines():
        assert len(line) <= 80 or report.first_failure.message in line


def test_the_predicted_line_stands_whole_on_one_line():
    report = broken_torch()
    assert f"\n  {report.first_failure.message}\n" in render_scan(report, TextStyle(60))


def test_control_characters_in_names_are_shown_not_obeyed():
    assert "\x1b" not in render_scan(risky_extension(), UNICODE, verbose=True)


def test_colour_changes_nothing_but_colour():
    plain = render_scan(broken_torch(), UNICODE)
    coloured = render_scan(broken_torch(), dataclasses.replace(UNICODE, colour=True))
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_the_process_environment_does_not_leak_in(monkeypatch):
    plain = render_scan(broken_torch(), UNICODE)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "33")
    assert render_scan(broken_torch(), UNICODE) == plain


def drawn(*edges: tuple[str, str]) -> str:
    """The report of a wheel in which these files need each other; the first of all is what is loaded."""
    folder = "Lib/site-packages/x/"
    resolution = Resolution(
        tuple(Edge(folder + first, second, EdgeKind.IMPORT, InView(folder + second)) for first, second in edges),
        (LoadOutcome(LoadEvent(folder + edges[0][0], "extension", "x")),),
    )
    return render_scan(dataclasses.replace(clean_wheel(), resolution=resolution), ASCII, verbose=True)


def test_a_chain_longer_than_pythons_stack_is_drawn():
    names = [f"{number:05}.dll" for number in range(3000)]
    text = drawn(*zip(names, [*names[1:], names[0]], strict=True))
    assert text.count(".dll -> x") == 3000


def test_a_deep_tree_goes_on_further_down():
    """Nothing is left out, and no line grows without end to the right."""
    names = [f"{number:05}.dll" for number in range(3000)]
    text = drawn(*itertools.pairwise(names))
    assert max(map(len, text.splitlines())) < 160
    lines = [line.strip() for line in text.splitlines()]
    continued = next(number for number, line in enumerate(lines) if line.endswith("(below)"))
    name = re.search(r"\d{5}\.dll", lines[continued])
    assert name is not None
    assert lines[continued + 1] == f"x/{name.group()}"


def test_a_tree_without_end_is_cut_and_says_so():
    names = [f"{number:03}.dll" for number in range(200)]
    text = drawn(*itertools.product(names, names))
    assert "The tree ends here, after 20000 lines; --format json has all 40000 edges." in text
    assert text.count(".dll -> x") < 20_000


def test_summary_of_many():
    failures = [
        FailedInput("dist/x.whl", InputError("dist/x.whl is not a wheel")),
        FailedInput(broken_torch().path, CannotRepair("nothing was written"), "repair"),
    ]
    context = Context(skipped=("dist/y-1-py3-none-linux_x86_64.whl",))
    check_golden("summary.ascii.txt", render_summary([clean_wheel(), broken_torch()], failures, ASCII, context))


@given(st.text("ab c-/日é→", max_size=120), st.integers(20, 40))
def test_text_is_wrapped_as_rich_wraps_it(text, room):
    console = Console(width=200, file=io.StringIO())
    rows = [row.plain.rstrip() for row in Text(text).wrap(console, room, overflow="fold")]
    mine = [text[start:end] for start, end in wrapped(text, room)]
    assert mine == (rows if text.strip() else [""])


WORDS = st.text("ab c-/日→", max_size=40)
SPANS = st.one_of(WORDS, st.tuples(WORDS, st.sampled_from([*STYLES])))


@given(st.lists(SPANS, max_size=5), st.integers(30, 90))
def test_colour_never_moves_a_word(spans, width):
    drawn = []
    for colour in (False, True):
        canvas = Canvas(TextStyle(width=width, unicode=True, colour=colour))
        canvas.line(*spans, indent=2)
        canvas.paragraph(*spans, indent=4, lead=("hint: ", "note"))
        canvas.table([spans, spans] if spans else [])
        canvas.ends("left", spans[0] if spans else "right")
        drawn.append(canvas.text())
    bare = "".join(f"{line.rstrip()}\n" for line in re.sub(r"\x1b\[[0-9;]*m", "", drawn[1]).splitlines())
    assert bare == drawn[0]


def test_styles_are_what_terminals_know():
    canvas = Canvas(TextStyle(colour=True))
    canvas.line(("gone", "bad"), " and ", ("known", "name"))
    assert canvas.text() == "\x1b[1;31mgone\x1b[0m and \x1b[1mknown\x1b[0m\n"
