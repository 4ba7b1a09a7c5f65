"""Discovery as a whole: PATH only on request, nothing from the current folder, and the machine that runs the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.roots.trees import folders, grow, link, windows
from wheelfix.roots.gather import discover, recognise, search_path_roots
from wheelfix.roots.host import Host, this_machine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_an_empty_machine_has_no_roots() -> None:
    assert discover(Host()) == ()


def test_path_is_searched_only_when_asked(tmp_path: Path) -> None:
    tools = grow(tmp_path / "tools", ["uv.dll"])
    host = windows(tmp_path, {"Path": str(tools)})
    assert discover(host) == ()
    (root,) = search_path_roots(host)
    assert (root.kind, root.learned, root.last_resort, root.explicit) == ("folder", "PATH", True, False)


def test_path_leaves_out_windows_relative_missing_and_repeated_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = grow(tmp_path / "Windows", ["System32/kernel32.dll"])
    other = grow(tmp_path / "WindowsTools", ["a.dll"])
    grow(tmp_path, ["here/b.dll", "empty/readme.txt"])
    link(tmp_path / "again", other)
    monkeypatch.chdir(tmp_path)
    entries = [
        "",
        ".",
        "here",
        f'"{other}"',
        tmp_path / "again",
        system / "System32",
        tmp_path / "empty",
        tmp_path / "no",
    ]
    env = {"PATH": ";".join(map(str, entries)), "SystemRoot": str(system)}
    assert [root.path for root in search_path_roots(windows(tmp_path, env))] == [other]


def test_path_of_a_posix_machine(tmp_path: Path) -> None:
    first, second = grow(tmp_path / "a", ["x.dll"]), grow(tmp_path / "b", ["y.dll"])
    roots = search_path_roots(Host(env={"PATH": f"{first}:{second}"}))
    assert [root.path for root in roots] == [first, second]


def test_any_kind_is_recognised(tmp_path: Path) -> None:
    cases = {
        "cuda": ["bin/cudart64_110.dll", "bin/cudnn64_8.dll"],
        "cudnn": ["bin/cudnn64_8.dll"],
        "nvtoolsext": ["bin/x64/nvToolsExt64_1.dll"],
        "msvc": ["14.44.35112/x64/Microsoft.VC143.CRT/msvcp140.dll"],
        "oneapi": ["bin/mkl_core.2.dll"],
        "conda": ["conda-meta/history", "Library/bin/mkl_core.2.dll", "bin/cudart64_12.dll"],
        "pip": ["Lib/site-packages/nvidia/cudnn/bin/cudnn64_8.dll"],
    }
    found = {kind: recognise(grow(tmp_path / kind, files)) for kind, files in cases.items()}
    assert {kind: root.kind if root else None for kind, root in found.items()} == {kind: kind for kind in cases}


def test_a_link_that_leads_out_of_the_installation_is_not_one_of_its_folders(tmp_path: Path) -> None:
    outside = grow(tmp_path / "elsewhere", ["bin/mkl_core.2.dll"])
    base = grow(tmp_path / "oneAPI", ["compiler/2023.2.0/windows/redist/intel64_win/compiler/libiomp5md.dll"])
    link(base / "mkl" / "latest", outside)
    root = recognise(base)
    assert folders(root) == ["compiler/2023.2.0/windows/redist/intel64_win/compiler"]


def test_this_machine_can_be_explored() -> None:
    host = this_machine()
    assert host.prefixes
    assert host.variable("a variable that nobody sets") == ""
    for root in discover(host):
        assert root.learned
        assert root.folders
