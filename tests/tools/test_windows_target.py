"""The PowerShell script that lists a Windows machine: it cannot run here, its format is compared with the reader."""

from __future__ import annotations

import re
from pathlib import Path

from wheelfix.knowledge.targetlist import BASES, FIRST_LINE, KEYS, SECTIONS

SCRIPT = Path(__file__).parents[2] / "tools" / "windows_target.ps1"


def written() -> list[str]:
    """The texts that the script writes as whole lines."""
    return [found[2] for found in re.finditer(r"WriteLine\((['\"])([^'\"]*)\1", SCRIPT.read_text(encoding="ascii"))]


def test_it_writes_the_keys_and_sections_that_are_read() -> None:
    lines = written()
    assert lines[0] == FIRST_LINE
    keys = [line.partition(":")[0] for line in lines if ":" in line]
    assert set(keys) <= {*KEYS, "source"}
    assert {"name", "title", "build", "date", "base", "machine", "source"} <= set(keys)
    assert {line for line in lines if line.startswith("[")} == {"[has]", "[api sets]"}
    assert {"has", "api sets"} <= set(SECTIONS)
    assert next(line for line in lines if line.startswith("base:")).removeprefix("base: ") in BASES


def test_each_section_begins_with_source_and_date() -> None:
    lines = written()
    for number, line in enumerate(lines):
        if line.startswith("["):
            assert [following.partition(":")[0] for following in lines[number + 1 : number + 3]] == ["source", "date"]
