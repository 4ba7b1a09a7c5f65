"""The PowerShell script that lists a Windows machine: it cannot run here, what it would write is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wheelfix.knowledge.targets import (
    BASES,
    FIRST_LINE,
    KEYS,
    SECTIONS,
    State,
    chosen_targets,
    missing_exports,
    presence,
)
from wheelfix.model import Machine

SCRIPT = Path(__file__).parents[2] / "tools" / "windows_target.ps1"
TEXT = SCRIPT.read_text(encoding="ascii")
SOURCE = "tools/windows_target.ps1 on build 20348.2700, ServerStandard"
VARIABLES = {
    "$Name": "serverstandard-20348",
    "$build": "20348",
    "$update": "2700",
    "$edition": "ServerStandard",
    "$kind": "Server Core",
    "$date": "2026-11-16",
    "$machine": "amd64",
    "$source": SOURCE,
}
DLLS = """\
advapi32.dll 10.0.20348.2700
 AbortSystemShutdownA ?what@@YAXXZ _old@4
 @1000-1002 @1005
kernel32.dll 10.0.20348.2700
winspool.drv
"""


def written() -> list[str]:
    """The texts that the script writes as whole lines."""
    return [found[2] for found in re.finditer(r"WriteLine\((['\"])([^'\"]*)\1", TEXT)]


def output() -> str:
    """What the script would write on a server: its texts with values of variables, DLLs and API sets between them."""
    lines = []
    for line in written():
        filled = re.sub(r"\$[A-Za-z]+", lambda found: VARIABLES[found[0]], line)
        if filled.startswith("[api sets]"):
            lines += [*DLLS.splitlines(), ""]
        lines.append(filled)
    return "\n".join([*lines, "api-ms-win-core-file-l1-2-4.dll"]) + "\n"


def test_it_writes_the_keys_and_sections_that_are_read():
    lines = written()
    assert lines[0] == FIRST_LINE
    keys = [line.partition(":")[0] for line in lines if ":" in line]
    assert set(keys) <= {*KEYS, "source"}
    assert {"name", "title", "build", "date", "base", "machine", "source"} <= set(keys)
    assert {line for line in lines if line.startswith("[")} == {"[has]", "[api sets]"}
    assert {"has", "api sets"} <= set(SECTIONS)
    assert next(line for line in lines if line.startswith("base:")).removeprefix("base: ") in BASES


def test_each_section_begins_with_source_and_date():
    lines = written()
    for number, line in enumerate(lines):
        if line.startswith("["):
            assert [following.partition(":")[0] for following in lines[number + 1 : number + 3]] == ["source", "date"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_what_it_writes_is_a_target(tmp_path, encoding, line_end):
    """Its own bytes are UTF-8; Notepad and ``Out-File`` of Windows PowerShell 5.1 make the others of them."""
    path = tmp_path / "server.txt"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path.write_bytes((mark + output()).replace("\n", line_end).encode(encoding))
    (target,) = chosen_targets([str(path)])
    assert (target.name, target.build, target.machine) == ("serverstandard-20348", 20348, Machine.AMD64)
    assert target.title == "Windows build 20348.2700, ServerStandard Server Core"
    assert target.source == SOURCE
    assert presence(target, "WINSPOOL.DRV").state is State.HAS
    assert presence(target, "opengl32.dll").state is State.ABSENT
    assert presence(target, "api-ms-win-core-file-l1-2-0.dll").state is State.HAS
    wanted = ["AbortSystemShutdownA", "?what@@YAXXZ", "_old@4", "Gone", 1002, 1003]
    assert list(missing_exports(target, "advapi32.dll", wanted, Machine.AMD64)) == ["Gone", 1003]


def test_a_list_gets_its_name_when_it_is_whole():
    """A list that was cut short would call every DLL after the cut absent."""
    assert "IO.StreamWriter($unfinished," in TEXT
    assert TEXT.index("$writer.Close()") < TEXT.index("Move-Item -LiteralPath $unfinished -Destination $path -Force")


def test_it_says_why_it_cannot_run_in_constrained_language_before_it_does_anything():
    assert TEXT.index("SessionState.LanguageMode -ne 'FullLanguage'") < TEXT.index("[BitConverter]")
