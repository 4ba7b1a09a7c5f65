"""The script that writes the lists of Windows' own DLLs."""

from __future__ import annotations

from pathlib import Path

from tools import make_system_dlls as maker
from wheelfix.knowledge.system import classify
from wheelfix.knowledge.tables import entries, read_text
from wheelfix.model import Machine


def wine_tree(folder: Path, builtins: list[str]) -> Path:
    """A tree with as much of Wine's source as the script looks at."""
    for name in builtins:
        (folder / "dlls" / name).mkdir(parents=True)
    return folder


def test_known_dlls_bring_their_companions():
    inf = 'HKLM,%Control%\\Session Manager\\KnownDLLs,"ole32",,"Ole32.dll"\nHKLM,Other,"x",,"other.dll"\n'
    names = maker.known_dlls(inf)
    assert {"ole32.dll", "ucrtbase.dll", "ntdll.dll"} <= names
    assert "other.dll" not in names


def test_a_builtin_of_wine_alone_does_not_count(tmp_path):
    names = maker.system_names(wine_tree(tmp_path, ["combase", "winex11.drv", "msvcp140", "d3dx9_43"]))
    assert "combase.dll" in names["x86"]
    assert not {"winex11.drv", "msvcp140.dll", "d3dx9_43.dll"} & (names["amd64"] | names["x86"] | names["arm64"])


def test_the_committed_lists_are_what_the_script_writes(tmp_path):
    """x64 and arm64 depend on delvewheel and on the additions alone, so that a forgotten run shows here.

    A newer delvewheel may know more names; it never knows fewer of those that count.
    """
    names = maker.system_names(wine_tree(tmp_path, ["combase"]))
    for machine in ("amd64", "arm64"):
        committed = set(entries(read_text(f"system_{machine}.txt")))
        assert set(maker.ADDED["all"]) | set(maker.ADDED[machine]) <= committed
        assert len(committed & names[machine]) > 0.95 * len(committed)
        assert not maker.DROPPED & committed


def test_nothing_in_the_lists_is_somebody_elses():
    """A name in the list of Windows that another table claims would be hidden or would hide that table."""
    for machine, table in ((Machine.AMD64, "amd64"), (Machine.X86, "x86"), (Machine.ARM64, "arm64")):
        kinds = {classify(name, machine).kind for name in entries(read_text(f"system_{table}.txt"))}
        assert kinds == {"system", "ucrt"}
