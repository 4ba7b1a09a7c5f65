"""The progress line: where somebody watches, and wiped before anything else is printed."""

from __future__ import annotations

import io

import pytest

from wheelfix.report import progress as module
from wheelfix.report.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by as much as a test says."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "50")
    return now


def test_short_work_shows_nothing(clock):
    stream = io.StringIO()
    with Progress(stream, 3, enabled=True) as bar:
        bar.step()
    assert stream.getvalue() == ""


def test_long_work_shows_a_line_and_wipes_it(clock):
    stream = io.StringIO()
    with Progress(stream, 4, enabled=True) as bar:
        clock[0] = 1.0
        bar.step()
        bar.part(5, 9)  # too soon after the last
        clock[0] = 2.0
        bar.part(6, 9)
    lines = stream.getvalue().split("\r")
    assert lines[1].rstrip() == "[######..................] 1/4"
    assert lines[2].rstrip() == "[######..................] 1/4 6 of 9 DLLs"
    assert lines[3] == " " * 49
    assert lines[4] == ""


def test_no_line_where_nobody_watches(clock):
    stream = io.StringIO()
    bar = Progress(stream, 1)
    clock[0] = 9.0
    bar.step()
    assert stream.getvalue() == ""


def test_a_stream_that_closes_is_let_go(clock):
    stream = io.StringIO()
    bar = Progress(stream, 1, enabled=True)
    stream.close()
    clock[0] = 9.0
    bar.step()
    bar.hide()
