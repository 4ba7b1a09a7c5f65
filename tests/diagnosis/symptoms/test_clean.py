from __future__ import annotations

import pytest

from wheelfix.diagnosis.symptoms.stream import clean_line, join_wrapped

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
def test_what_others_put_around_a_line_is_gone(line: str) -> None:
    assert clean_line(line) == ERROR


@pytest.mark.parametrize(
    "line",
    ["[WinError 126] x", "[Errno 2] x", "[E:onnxruntime:Default, x.cc:1] y", "C:\\a | b", "    indented", "ends with "],
)
def test_what_the_program_printed_stays(line: str) -> None:
    assert clean_line(line) == line


def test_entities_of_a_web_page_are_read() -> None:
    assert clean_line("loading &quot;C:\\a.dll&quot;") == 'loading "C:\\a.dll"'


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
def test_broken_lines_are_joined(lines: tuple[str, ...], whole: str) -> None:
    assert join_wrapped(lines) == whole
