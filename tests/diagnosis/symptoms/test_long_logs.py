"""Logs that strangers made: reading them takes time in proportion to their size, whatever is in them."""

from __future__ import annotations

import time

import pytest

from tests.support.patience import patience
from wheelfix.cli.main import main
from wheelfix.diagnosis.symptoms.model import TextLimits
from wheelfix.diagnosis.symptoms.reader import read_log
from wheelfix.diagnosis.symptoms.recognise import form_triggers, sentence_triggers
from wheelfix.diagnosis.symptoms.stream import TextProgress, suspicious_lines

pytestmark = pytest.mark.no_cover
LOGS = {
    "blank lines": lambda size: "\n" * size,
    "one long line": lambda size: "a" * size,
    "one long suspicious line": lambda size: 'error loading "c:\\x ' * (size // 19),
    "carriage returns": lambda size: "winerror 126\r" * (size // 13),
    "the same error": lambda size: 'OSError: [WinError 126] x Error loading "c:\\x.dll"\n' * (size // 51),
    "other errors": lambda size: numbered('OSError: [WinError 126] # Error loading "c:\\#.dl', size),
    "frames": lambda size: numbered('  File "C:\\a\\b#.py", line #', size),
    "sentences": lambda size: numbered("Das angegebene Modul wurde nicht gefunden #", size),
    "quotes": lambda size: "could not find module " + "'\"" * (size // 2),
    "blanks after an error": lambda size: "Could not load this library:" + " " * size,
    "digits": lambda size: "cudnn version incompatibility compiled against " + "0. " * (size // 3),
    "what a build looks for": lambda size: numbered("-- Looking for header#.h - not found, could not find #", size),
    "escapes": lambda size: "\x1b[" * (size // 2),
    "CJK quotes": lambda size: "」" * size + " は Windows 上では実行できないか、エラーを含んでいます",
    "many triggers": lambda size: numbered(ALL, size),
}
ALL = (
    "winerror error loading loadlibrary failed dll load failed could not find module cuda binary at could not load "
    "this library: could not locate load symbol compiled against found runtime version mkl error os error 0x8007 "
    "unable to load dll ' cannot load library ' omp: error #15 supports cuda capabilities # error code .dll"
)


QUICK = [kind for kind in LOGS if kind != "many triggers"]


def numbered(line: str, size: int) -> str:
    return "".join(f"{line.replace('#', str(number))}\n" for number in range(size // (len(line) + 4)))


def seconds(text: str) -> float:
    start = time.process_time()
    read_log(text)
    return time.process_time() - start


@pytest.mark.parametrize("kind", [*QUICK, pytest.param("many triggers", marks=pytest.mark.slow)])
def test_time_grows_with_the_size(kind):
    size = 5000  # four times as much is less than the longest line that is read as a whole
    read_log(LOGS[kind](2000))  # tables are loaded once
    for _ in range(3):  # the machine may be busy
        once, four_times = seconds(LOGS[kind](size)), seconds(LOGS[kind](4 * size))
        if four_times < 0.05 or four_times <= 10 * once:  # sixteen times, if every line were compared with every other
            return
    raise AssertionError(f"{once:.2f} s, then {four_times:.2f} s")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", LOGS)
def test_a_log_of_fifty_megabytes(kind, tmp_path, capsys):
    log = tmp_path / "build.log"
    log.write_text(LOGS[kind](50_000_000), "utf-8")
    start = time.process_time()
    assert main(["diagnose", str(log)]) in (0, 1, 5)
    assert time.process_time() - start < patience(60)


@pytest.mark.parametrize(
    "line",
    [
        "module foo not found, skipping",
        "could not find file foo here",
        "unable to locate the folder foo",
        "No such file or directory: 'foo'",
        "error: step 7 took too long",
        "failed to do thing 7",
    ],
)
def test_lines_of_every_log_are_passed_over(line):
    """Tens of thousands of them take less than a second only where no form is tried on them."""
    found = suspicious_lines(f"{line}\n", form_triggers(), sentence_triggers(), TextLimits(), TextProgress())
    assert not [one for one in found if one.hot]
