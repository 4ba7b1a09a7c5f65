"""The table of Wine's deviations: every row has a reason and a source, and contradictions are refused."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.tables import TableFault
from wheelfix.knowledge.winerrors import deviation, deviations, parse_deviations, shown_by

ROW = '[[deviation]]\nid = "a"\nwhat = "w"\nwine = "x"\nsource = "s"\n'


def test_every_row_has_a_source() -> None:
    assert all(row.source and row.what and row.wine for row in deviations())
    assert deviation("missing-symbol").windows == 127


def test_lines_of_a_log_show_rows() -> None:
    line = (
        '0024:err:module:import_dll No implementation for helper.dll.call imported from L"T:\\\\m.pyd", setting to 0x7'
    )
    assert [row.id for row in shown_by([line])] == ["missing-symbol"]
    ordinal = line.replace("dll.call", "dll.12")
    assert [row.id for row in shown_by([ordinal, "something else"])] == ["missing-ordinal"]
    crash = (
        "wine: Unimplemented function KERNEL32.dll.NewThing called at address 0x1 (thread 0024), starting debugger..."
    )
    assert [row.id for row in shown_by([crash])] == ["unimplemented-function"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ROW + ROW, "twice"),
        (ROW.replace('source = "s"\n', ""), "source"),
        (ROW + "windows = 127\n", "no line of the log"),
        (ROW + 'log = "("\n', "pattern"),
        (ROW + 'phase = "later"\n', "phase"),
    ],
)
def test_contradictions_are_refused(text: str, fault: str) -> None:
    with pytest.raises(TableFault) as caught:
        parse_deviations("test", text)
    assert fault in " ".join(caught.value.faults)
