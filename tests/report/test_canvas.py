"""How a report looks on a stream."""

from __future__ import annotations

import io

import pytest

from wheelfix.report.canvas import TextStyle, look_of


class Stream(io.TextIOWrapper):
    """A stream that may claim to be a terminal."""

    def __init__(self, encoding: str, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("encoding", "terminal", "environ", "colour", "unicode"),
    [
        pytest.param("utf-8", True, {}, True, True, id="terminal"),
        pytest.param("utf-8", False, {}, False, False, id="pipe"),
        pytest.param("cp1252", True, {}, True, False, id="cp1252 console"),
        pytest.param("ascii", True, {}, True, False, id="ascii console"),
        pytest.param("utf-8", True, {"NO_COLOR": "1"}, False, True, id="NO_COLOR"),
        pytest.param("utf-8", True, {"NO_COLOR": ""}, True, True, id="empty NO_COLOR"),
        pytest.param("utf-8", False, {"FORCE_COLOR": "1"}, True, True, id="FORCE_COLOR in a pipe"),
        pytest.param("cp1252", False, {"FORCE_COLOR": "1"}, True, False, id="FORCE_COLOR in a cp1252 pipe"),
        pytest.param("utf-8", False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True, id="both"),
        pytest.param("utf-8", True, {"TERM": "dumb"}, False, True, id="dumb terminal"),
    ],
)
def test_look(encoding, terminal, environ, colour, unicode):
    look = look_of(Stream(encoding, terminal), environ)
    assert (look.colour, look.unicode) == (colour, unicode)


def test_a_pipe_is_80_wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert look_of(Stream("utf-8", False), {}).width == 80


def test_a_terminal_has_its_own_width_within_reason(monkeypatch):
    for columns, width in ((100, 100), (500, 120), (10, 40)):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert look_of(Stream("utf-8", True), {}).width == width


def test_a_closed_stream_is_a_pipe():
    stream = io.StringIO()
    stream.close()
    assert look_of(stream, {}) == TextStyle()


@pytest.mark.parametrize(
    ("choice", "terminal", "environ", "colour"),
    [
        ("always", False, {}, True),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
        ("never", True, {"FORCE_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
    ],
)
def test_an_option_decides_before_the_environment(choice, terminal, environ, colour):
    assert look_of(Stream("utf-8", terminal), environ, choice).colour is colour
