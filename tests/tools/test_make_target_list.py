"""The tool that lists a System32 folder, whose output is what ``--target FILE`` reads."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from tests.support.tables import named_cases
from tests.support.wheels import library
from tools import make_target_list as maker
from tools.forge import forge_dll
from wheelfix.knowledge.targets import State, chosen_targets, missing_exports, presence
from wheelfix.model import Machine


def schema(*sets: tuple[str, bool]) -> bytes:
    """The section ``.apiset`` of version 6, with API sets that have a host or not."""
    entries, values, names = b"", b"", b""
    first_value = 28 + 24 * len(sets)
    first_name = first_value + 20 * len(sets)
    for number, (name, hosted) in enumerate(sets):
        text = name.encode("utf-16-le")
        at = first_name + len(names)
        entries += struct.pack("<6I", 0, at, len(text), len(text) - 4, first_value + 20 * number, 1)
        values += struct.pack("<5I", 0, 0, 0, at, 2 if hosted else 0)
        names += text
    return struct.pack("<7I", 6, 0, 0, len(sets), 28, 0, 31) + entries + values + names


def system32(folder: Path) -> Path:
    folder.mkdir()
    kernel = forge_dll("KERNEL32.dll", exports=["ReadFile", "CreateFileW"], version=(10, 0, 20348, 1))
    (folder / "KERNEL32.dll").write_bytes(kernel)
    (folder / "user32.dll").write_bytes(library("user32.dll:MessageBoxW"))
    (folder / "old.dll").write_bytes(forge_dll("old.dll", machine=Machine.X86))
    (folder / "notes.txt").write_text("no DLL", encoding="utf-8")
    (folder / "broken.dll").write_bytes(b"no DLL either")
    sets = schema(("api-ms-win-core-file-l1-2-1", True), ("api-ms-win-gone-l1-1-0", False))
    (folder / "apisetschema.dll").write_bytes(forge_dll("apisetschema.dll", sections={".apiset": sets}))
    return folder


def test_what_it_writes_is_read(tmp_path):
    output = tmp_path / "mine.txt"
    arguments = ["--name", "mine", "--title", "A test", "--build", "20348", "-o", str(output)]
    assert maker.main([str(system32(tmp_path / "System32")), *arguments]) == 0
    assert "kernel32.dll 10.0.20348.1\n CreateFileW ReadFile @1-2\n" in output.read_text(encoding="utf-8")
    (target,) = chosen_targets([str(output)])
    assert (target.name, target.build, target.machine) == ("mine", 20348, Machine.AMD64)
    assert set(target.dlls) == {"apisetschema.dll", "kernel32.dll", "user32.dll"}
    assert presence(target, "old.dll").state is State.ABSENT
    assert presence(target, "api-ms-win-core-file-l1-2-0.dll").state is State.HAS
    assert presence(target, "api-ms-win-gone-l1-1-0.dll").state is State.ABSENT
    assert list(missing_exports(target, "kernel32.dll", ["ReadFile", "WriteFile"], Machine.AMD64)) == ["WriteFile"]


def test_a_windows_describes_itself():
    values = {
        "CurrentBuildNumber": "20348",
        "EditionID": "ServerStandard",
        "InstallationType": "Server Core",
        "UBR": 2700,
    }
    assert maker.describe(values) == {
        "name": "serverstandard-20348",
        "title": "Windows build 20348.2700, ServerStandard Server Core",
        "build": "20348",
        "source": "tools/make_target_list.py on build 20348.2700, ServerStandard",
    }
    assert maker.describe({})["title"] == "Windows build 0.0, unknown"


def test_the_processor_is_that_of_the_folder(tmp_path):
    folder, output = tmp_path / "SysWOW64", tmp_path / "mine.txt"
    folder.mkdir()
    (folder / "kernel32.dll").write_bytes(forge_dll("kernel32.dll", machine=Machine.X86))
    maker.main([str(folder), "--name", "m", "--title", "t", "-o", str(output)])
    (target,) = chosen_targets([str(output)])
    assert (target.machine, set(target.dlls)) == (Machine.X86, {"kernel32.dll"})


@named_cases(
    "arguments, says",
    {
        "no folder": ([], "this is not Windows: name a folder"),
        "no name": (["nowhere"], "a folder needs --name and --title"),
        "no such folder": (["nowhere", "--name", "n", "--title", "t"], "nowhere is not a folder"),
    },
)
def test_what_is_missing_is_said(arguments, says, capsys):
    if not arguments and sys.platform == "win32":
        pytest.skip("a Windows lists itself")
    with pytest.raises(SystemExit):
        maker.main(arguments)
    assert says in capsys.readouterr().err


def test_what_programs_import_is_a_section(tmp_path, capsys):
    program = tmp_path / "a.dll"
    imports = {"KERNEL32.dll": ["ReadFile", "CreateFileW"], "WSOCK32.dll": [57], "own.dll": ["f"]}
    program.write_bytes(forge_dll("a.dll", imports={**imports, "api-ms-win-crt-heap-l1-1-0.dll": ["free"]}))
    assert maker.main(["--imports", str(program), "--source", "it runs there", "--date", "2026-11-16"]) == 0
    said = capsys.readouterr().out
    assert said == (
        "[has some]\nsource: it runs there\ndate: 2026-11-16\nkernel32.dll\n CreateFileW ReadFile\nwsock32.dll\n @57\n"
    )
    (tmp_path / "b.dll").write_bytes(b"no DLL")
    with pytest.raises(SystemExit, match=r"b\.dll is not a program or DLL of Windows"):
        maker.main(["--imports", str(tmp_path / "b.dll"), "--source", "none"])
