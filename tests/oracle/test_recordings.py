"""What a real loader prints is read back: the missing DLL, who needs it, and what was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.cases import A_WANTS_B, give, wants
from tests.oracle.graph import APPLICATION, Dll, Graph, Load, write
from tests.oracle.wine import loader_program, windows_path
from wheelfix.diagnosis.symptoms.recordings import read_recordings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine

DEBUG = "-all,err+module,warn+module,trace+loaddll"
B_WANTS_C = Dll("x/b.dll", imports=wants("c.dll"), exports=("f",))


def record(wine: Wine, graph: Graph, root: Path) -> str:
    """Perform the loads of a graph and return everything that Wine printed."""
    write(graph.files(wine.machine), graph.folders, root)
    program = root / APPLICATION / "loader.exe"
    program.write_bytes(loader_program(wine.machine).read_bytes())
    arguments: list[str | Path] = [program]
    for load in graph.loads:
        arguments += ["-f", f"{load.flags:x}", windows_path(root / load.target)]
    return wine.run(arguments, debug=DEBUG).output


@pytest.mark.wine
def test_a_missing_dll_is_named_with_its_chain(native: Wine, tmp_path: Path) -> None:
    text = record(native, Graph((A_WANTS_B, B_WANTS_C), (Load("x/a.dll"),)), tmp_path)
    (recording,) = read_recordings(text)
    (failed,) = recording.failed
    assert (failed.name, failed.code) == ("c.dll", 126)
    assert failed.needed_by.lower().endswith("\\x\\b.dll")
    assert failed.top.lower().endswith("\\x\\a.dll")


@pytest.mark.wine
def test_loaded_dlls_are_listed_with_their_paths(native: Wine, tmp_path: Path) -> None:
    text = record(native, Graph((A_WANTS_B, give("x/b.dll")), (Load("x/a.dll"),)), tmp_path)
    (recording,) = read_recordings(text)
    assert recording.failed == ()
    paths = [load.path.lower() for load in recording.loaded]
    assert any(path.endswith("\\x\\a.dll") for path in paths)
    assert any(path.endswith("\\x\\b.dll") for path in paths)
