"""What is drawn on a terminal: the progress line, which is gone before anything else is printed, and the canvas."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.report import canvas as module
from wheelfix.report.canvas import ProgressBar, TextStyle, look_of

PATHS = [Path(f"dist/pkg{number}-1.0-py3-none-win_amd64.whl") for number in range(4)]


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by as much as a test says."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "100")
    return now


def test_short_work_shows_nothing(clock):
    stream = io.StringIO()
    bar = ProgressBar(stream, PATHS, "scanning", enabled=True)
    clock[0] = 0.4
    bar.show()
    assert stream.getvalue() == ""


def test_the_line_says_what_how_far_and_how_long(clock):
    bar = ProgressBar(io.StringIO(), PATHS, "scanning", enabled=True)
    bar.step()
    bar.part(120_000_000, 240_000_000)
    clock[0] = 75.0
    expected = "[#######.............] 2/4 scanning pkg1-1.0-py3-none-win_amd64.whl, 120.0 MB of 240.0 MB, 1:15"
    assert bar.line(200) == f"{expected}, about 2:05 left"


def test_a_narrow_terminal_shortens_the_name(clock):
    bar = ProgressBar(io.StringIO(), PATHS[:1], "verifying", enabled=True)
    bar.part(5, 9)
    assert bar.line(70) == "[###########.........] verifying pkg0-1.0-py3-none-w, 5 B of 9 B, 0:00"
    assert len(bar.line(30)) <= 30


def test_the_line_is_gone_before_a_result_and_stays_away(clock):
    stream = io.StringIO()
    bar = ProgressBar(stream, PATHS, "scanning", enabled=True)
    clock[0] = 1.0
    bar.show()
    bar.hide()
    assert stream.getvalue().endswith("\r" + " " * 99 + "\r")
    before = stream.getvalue()
    clock[0] = 2.0
    bar.show()
    assert stream.getvalue() == before
    bar.step()
    bar.show()
    assert "2/4 scanning pkg1" in stream.getvalue()[len(before) :]


def test_nothing_is_drawn_after_the_last_input(clock):
    stream = io.StringIO()
    bar = ProgressBar(stream, PATHS[:1], "scanning", enabled=True)
    bar.step()
    clock[0] = 9.0
    bar.show()
    assert stream.getvalue() == ""


def test_the_distributions_of_an_environment_are_one_input(clock):
    bar = ProgressBar(io.StringIO(), [Path("env"), PATHS[0]], "scanning", enabled=True)
    bar.step(str(Path("env/Lib/site-packages/a.dist-info")))
    bar.step(str(Path("env/Lib/site-packages/b.dist-info")))
    assert "1/2 scanning env" in bar.line()
    bar.step(str(PATHS[0]))
    assert "2/2" in bar.line()


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_no_line_where_nobody_watches(clock, monkeypatch, term):
    monkeypatch.setenv("TERM", term)
    stream = io.StringIO()
    stream.isatty = lambda: term == "dumb"
    bar = ProgressBar(stream, PATHS, "scanning")
    clock[0] = 9.0
    bar.show()
    assert stream.getvalue() == ""


def test_a_stream_that_closes_is_let_go(clock):
    stream = io.StringIO()
    bar = ProgressBar(stream, PATHS, "scanning", enabled=True)
    stream.close()
    clock[0] = 9.0
    bar.show()
    bar.hide()


def test_names_that_a_console_cannot_show(clock):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    bar = ProgressBar(stream, [Path("grün 包.whl")], "scanning", enabled=True)
    assert "gr?n ?.whl" in bar.line()


def test_time_is_seen_to_move_during_one_long_step(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "PAUSE", 0.02)
    stream = io.StringIO()
    with ProgressBar(stream, PATHS[:1], "verifying", enabled=True):
        end = time.monotonic() + 60
        while stream.getvalue().count("verifying") < 3 and time.monotonic() < end:
            time.sleep(0.02)
    assert stream.getvalue().count("verifying") >= 3
    assert stream.getvalue().endswith("\r")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty module")
@pytest.mark.parametrize("term, shown", [("xterm", True), ("dumb", False)])
def test_on_a_terminal(tmp_path, term, shown):
    """The result is all that is left of what was drawn on the screen."""
    import pty

    wheel = build_wheel(tmp_path, files={"pkg/x.dll": ""})
    code = (
        "import sys, threading; from wheelfix.report import canvas as progress\n"
        "progress.PATIENCE = progress.PAUSE = 0.01\n"
        "drawn, line = threading.Event(), progress.ProgressBar.line\n"
        "progress.ProgressBar.line = lambda *a: (line(*a), drawn.set())[0]\n"
        "from wheelfix.exam import verify; real = verify.archive_findings\n"
        f"verify.archive_findings = lambda *a: (drawn.wait({60 if shown else 0.3}), real(*a))[1]\n"
        "from wheelfix.cli.main import main; sys.exit(main(sys.argv[1:]))\n"
    )
    terminal, inside = pty.openpty()
    environ = {**os.environ, "TERM": term, "COLUMNS": "100", "PYTHONIOENCODING": "cp1252", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, "verify", str(wheel)],
        stdin=inside, stdout=inside, stderr=inside, env=environ, start_new_session=True,
    )  # fmt: skip
    os.close(inside)
    output = b""
    with contextlib.suppress(OSError):  # Linux has an error where the other side is gone
        while data := os.read(terminal, 4096):
            output += data
    os.close(terminal)
    assert process.wait() == 0
    text = output.decode("cp1252")
    assert ("verifying pkg-1.0" in text) == shown
    assert "\x1b" not in text
    last = text.replace("\r\n", "\n").rpartition("\r")[2]
    assert last.split() == [wheel.name, "OK"]


# --------------------------------------------------------------------------------------------------------------- canvas
# How a report looks on a stream.


class Stream(io.TextIOWrapper):
    """A stream that may claim to be a terminal."""

    def __init__(self, encoding: str, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@named_cases(
    "encoding, terminal, environ, colour, unicode",
    {
        "terminal": ("utf-8", True, {}, True, True),
        "pipe": ("utf-8", False, {}, False, False),
        "cp1252 console": ("cp1252", True, {}, True, False),
        "ascii console": ("ascii", True, {}, True, False),
        "NO_COLOR": ("utf-8", True, {"NO_COLOR": "1"}, False, True),
        "empty NO_COLOR": ("utf-8", True, {"NO_COLOR": ""}, True, True),
        "FORCE_COLOR in a pipe": ("utf-8", False, {"FORCE_COLOR": "1"}, True, True),
        "FORCE_COLOR in a cp1252 pipe": ("cp1252", False, {"FORCE_COLOR": "1"}, True, False),
        "both": ("utf-8", False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True),
        "dumb terminal": ("utf-8", True, {"TERM": "dumb"}, False, True),
    },
)
def test_look(encoding, terminal, environ, colour, unicode):
    with mock.patch.dict(os.environ, environ, clear=True):
        look = look_of(Stream(encoding, terminal))
    assert (look.colour, look.unicode) == (colour, unicode)


def test_a_terminal_has_its_own_width_within_reason(monkeypatch):
    for columns, width in ((100, 100), (500, 120), (10, 40)):
        monkeypatch.delenv("COLUMNS", raising=False)
        monkeypatch.setattr("shutil.get_terminal_size", lambda _, columns=columns: os.terminal_size((columns, 24)))
        assert look_of(Stream("utf-8", True)).width == width


def test_a_closed_stream_is_a_pipe():
    stream = io.StringIO()
    stream.close()
    with mock.patch.dict(os.environ, clear=True):
        assert look_of(stream) == TextStyle()
