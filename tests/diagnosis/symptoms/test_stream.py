"""Logs become clean lines, whatever their size, encoding and source."""

from __future__ import annotations

import codecs
import io

import pytest

from wheelfix.diagnosis.symptoms.model import TextLimits
from wheelfix.diagnosis.symptoms.stream import (
    BLOCK,
    Line,
    Text,
    TextProgress,
    blocks,
    clean_line,
    join_wrapped,
    sniff_encoding,
    suspicious_lines,
)


def lines(text: Text, *triggers: str, limits: TextLimits | None = None) -> list[Line]:
    return list(suspicious_lines(text, dict.fromkeys(triggers, ()), (), limits or TextLimits(), TextProgress()))


def test_a_dull_text_yields_nothing():
    assert lines("one\ntwo\n" * 100, "needle") == []


def test_a_hot_line_comes_with_its_neighbours_and_their_numbers():
    text = "\n".join(f"line {number}" for number in range(1, 201)).replace("line 100", "NEEDLE")
    found = lines(text, "needle")
    assert [line.number for line in found] == list(range(60, 109))
    assert [line for line in found if line.hot] == [Line(100, "NEEDLE", hot=True)]


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_numbers_hold_across_blocks(ending):
    filler = "x" * 90 + ending
    before = filler * (3 * BLOCK // len(filler))
    found = [line for line in lines((before + "needle" + ending).encode(), "needle") if line.hot]
    assert found == [Line(before.count("\n") + 1, "needle", hot=True)]


def test_neighbours_come_from_the_block_before_and_after():
    rows = [f"row {number}".ljust(64, ".") for number in range(2 * BLOCK // 65)]
    for place in range(BLOCK // 65 - 5, BLOCK // 65 + 5):
        text = "\n".join([*rows[:place], "needle", *rows[place:]])
        found = lines(text.encode(), "needle")
        assert [line.number for line in found] == list(range(place - 39, place + 10)), place


def test_a_carriage_return_alone_ends_a_piece_but_counts_no_line():
    found = lines("10%\r50%\rneedle\nnext\n", "needle")
    assert [(line.number, line.text) for line in found] == [(1, "10%"), (1, "50%"), (1, "needle"), (2, "next")]


def test_an_over_long_line_comes_in_overlapping_pieces():
    text = "a" * 4000 + "needle" + "b" * 30_000
    pieces = lines(text, "needle")
    assert all(len(piece.text) <= 4096 for piece in pieces)
    assert any("needle" in piece.text for piece in pieces)


def test_a_line_without_end_is_not_kept_in_memory():
    """A hundred blocks without a line end: what is carried over stays below a few blocks."""
    text = "a" * (20 * BLOCK) + "needle" + "a" * (20 * BLOCK)
    assert any("needle" in line.text for line in lines(io.BytesIO(text.encode()), "needle"))


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"plain", "utf-8"),
        (codecs.BOM_UTF8 + b"x", "utf-8-sig"),
        (codecs.BOM_UTF16_LE + "text".encode("utf-16-le"), "utf-16"),
        (codecs.BOM_UTF16_BE + "text".encode("utf-16-be"), "utf-16"),
        ("some text".encode("utf-16-le"), "utf-16-le"),
        ("some text".encode("utf-16-be"), "utf-16-be"),
        (bytes(range(256)), "utf-8"),
        (b"", "utf-8"),
    ],
    ids=["plain", "utf8-mark", "utf16le-mark", "utf16be-mark", "utf16le", "utf16be", "binary", "empty"],
)
def test_encoding_is_told_from_the_first_bytes(head, encoding):
    assert sniff_encoding(head) == encoding


def test_utf16_appended_to_utf8_reads_as_ascii():
    mixed = b"first line\n" + "needle here\r\n".encode("utf-16-le")
    assert any("needle here" in line.text for line in lines(mixed, "needle"))


def test_reading_stops_at_the_limit_of_bytes():
    progress = TextProgress()
    found = list(suspicious_lines(b"x" * 50 + b"\nneedle\n", {"needle": ()}, (), TextLimits(max_bytes=40), progress))
    assert found == []
    assert progress.stopped == "only the first 40 bytes were read"


def test_progress_counts_lines_and_bytes():
    progress = TextProgress()
    list(suspicious_lines(b"one\ntwo\nthree", {"x": ()}, (), TextLimits(), progress))
    assert (progress.size, progress.lines, progress.encoding) == (13, 3, "utf-8")


def test_early_triggers_count_only_in_the_first_megabytes(monkeypatch):
    monkeypatch.setattr("wheelfix.diagnosis.symptoms.stream.EARLY", BLOCK)
    text = ("needle\n" + "x" * 99 + "\n" * 1) + ("x" * 99 + "\n") * (2 * BLOCK // 100) + "needle\n"
    hot = [line.number for line in suspicious_lines(text, {}, ("needle",), TextLimits(), TextProgress()) if line.hot]
    assert hot == [1]


@pytest.mark.parametrize("word", ["winerror", "dll load failed", "カーネル", "nvrtc"])
@pytest.mark.parametrize("before", range(9))
def test_a_word_is_never_overlooked(word, before):
    """Words are left out of the search by groups of four bytes, wherever in a group they begin."""
    for filling in ("x", "é"):
        text = f"{filling * before}{word}{filling * 3}"
        assert [line.text for line in lines(text, word, "entirely absent") if line.hot] == [text]


ERROR = "OSError: [WinError 126] text"


@pytest.mark.parametrize(
    "line",
    [
        ERROR,
        f"\x1b[31m{ERROR}\x1b[0m",
        f"\x1b[38;5;196m{ERROR}\x1b[K",
        f"[31m{ERROR}[0m",
        f"^[[31m{ERROR}^[[0m",
        f"\x1b]0;title\x07{ERROR}",
        f"2025-02-11T09:31:07.4413340Z {ERROR}",
        f"2025-02-11 09:31:07,441 {ERROR}",
        f"2024-06-10T06:14:01.000000Z 01E {ERROR}",
        f"[2024-03-05T08:13:30.123Z] [gpu-node] {ERROR}",
        f"[10:22:33] {ERROR}",
        f"##[error]{ERROR}",
        f"::error file=a.py,line=1::{ERROR}",
        f"section_start:1718000000:step[collapsed=true]{ERROR}",
        f"#12 34.56 {ERROR}",
        f"web-1  | {ERROR}",
        f"> > {ERROR}",
        f">{ERROR}",
        f"│ {ERROR}   │",
        f"E   {ERROR}",
        f"\ufeff{ERROR}",
    ],
)
def test_what_others_put_around_a_line_is_gone(line):
    assert clean_line(line) == ERROR


@pytest.mark.parametrize(
    "line",
    ["[WinError 126] x", "[Errno 2] x", "[E:onnxruntime:Default, x.cc:1] y", "C:\\a | b", "    indented", "ends with "],
)
def test_what_the_program_printed_stays(line):
    assert clean_line(line) == line


def test_entities_of_a_web_page_are_read():
    text = "loading &quot;C:\\a.dll&quot;"
    assert "".join(blocks(text, TextLimits(), TextProgress())) == 'loading "C:\\a.dll"'


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        (('loading "C:\\env\\Lib\\site-pack', 'ages\\a.dll" or'), 'loading "C:\\env\\Lib\\site-packages\\a.dll" or'),
        (('loading "C:\\Program', 'Files\\a.dll" or'), 'loading "C:\\Program Files\\a.dll" or'),
        (('loading "C:\\Program ', 'Files\\a.dll"'), 'loading "C:\\Program Files\\a.dll"'),
        (('loading "C:\\My', ' Files\\a.dll"'), 'loading "C:\\My Files\\a.dll"'),
        (("could not", "be found"), "could not be found"),
        (("x" * 80, "yz"), "x" * 80 + "yz"),
        (('    loading "C:\\en', '    v\\a.dll"'), '    loading "C:\\env\\a.dll"'),
        (("alone",), "alone"),
    ],
    ids=["path", "program-files", "blank-left", "blank-right", "words", "width", "indented", "one"],
)
def test_broken_lines_are_joined(lines, whole):
    assert join_wrapped(lines) == whole


def test_a_word_that_needs_another_one_in_its_line():
    text = b"a.h - not found\n" * 20 + b"ninja was not found\n" + b"b.h - not found\n" * 20 + b"ninja\n"
    found = suspicious_lines(text, {"not found": ("ninja", "cmake")}, (), TextLimits(), TextProgress())
    assert [line.number for line in found if line.hot] == [21]
