"""The report for people: compared whole, at fixed width, in Unicode and in ASCII."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.golden import check_golden
from tests.report.samples import broken_torch, clean_wheel, risky_extension
from wheelfix.errors import CannotRepair, InputError
from wheelfix.model import Edge, EdgeKind, Finding, InView, LoadEvent, LoadOutcome, Resolution, Severity
from wheelfix.report.canvas import STYLES, Canvas, TextStyle, cells, wrapped
from wheelfix.report.document import Context, FailedInput
from wheelfix.report.text import Hints, render_scan, render_summary

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


def test_programs_are_not_counted_as_dlls():
    report = clean_wheel()
    program = dataclasses.replace(report.images[0], path="bin/Tool.EXE")
    text = render_scan(dataclasses.replace(report, images=(*report.images, program)), ASCII, verbose=True)
    assert "amd64, 0 DLLs, 1 extension module, 1 program\n" in text


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


@pytest.mark.slow
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
def test_text_is_broken_at_blanks_only(text, room):
    lines = [text[start:end] for start, end in wrapped(text, room)]
    assert " ".join(lines).split() == text.split()
    assert all(cells(line) <= room or " " not in line.strip() for line in lines)


def test_a_path_stays_whole_in_a_pipe():
    path = "/home/jörg/my long folder of wheels/" + "x" * 90 + ".dll"
    canvas = Canvas(ASCII)
    canvas.paragraph((path, "path"), " and some words behind it", lead="needed by ")
    assert path in canvas.text()


def test_a_clean_wheel_is_one_line():
    assert render_scan(clean_wheel(), ASCII).split() == ["demo-1.0-cp311-cp311-win_amd64.whl", "OK"]


def test_a_hint_is_printed_once_in_a_run():
    hints = Hints()
    first, second = (render_scan(broken_torch(), ASCII, hints=hints) for _ in range(2))
    assert "hint:" in first
    assert "hint:" not in second
    assert "wheelfix explain" not in second


def test_a_missing_dll_is_described_once():
    named = Finding(
        "WF301",
        "missing-dependency",
        Severity.ERROR,
        "libomp140.x86_64.dll",
        "libomp140.x86_64.dll, imported by torch_cpu.dll, is missing; loading fbgemm.dll fails with error 126",
        hint="this hint belongs to the list",
    )
    text = render_scan(dataclasses.replace(broken_torch(), findings=(named,)), ASCII)
    assert "Missing (1)" in text
    assert "libomp140.x86_64.dll (see Missing)" in text
    assert "is missing;" not in text
    assert "this hint" not in text


def test_what_the_baseline_knows_is_only_counted():
    context = Context(known=lambda report, finding: True)
    text = render_scan(broken_torch(), ASCII, context=context)
    assert "Missing (" not in text
    assert "will raise" not in text
    assert "Known, in the baseline (9): WF301, WF303, WF605" in text


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
