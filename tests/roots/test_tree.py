"""Folders are found without regard to case, and versions compare as numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.roots.trees import grow
from wheelfix.roots import tree


def test_lookup_ignores_case_and_tells_the_spelling(tmp_path: Path) -> None:
    grow(tmp_path, ["Extras/cupti/Lib64/X.DLL"])
    assert tree.locate(tmp_path, "extras/CUPTI/lib64/x.dll") == tmp_path / "Extras/cupti/Lib64/X.DLL"
    assert tree.locate(tmp_path, "extras/CUPTI/lib/x.dll") is None
    assert tree.locate(tmp_path, ".") == tmp_path
    assert tree.locate_folder(tmp_path, "extras/cupti/lib64/x.dll") is None


def test_the_exact_spelling_wins_on_a_disk_that_has_both(tmp_path: Path) -> None:
    grow(tmp_path, ["BIN/a.dll", "bin/b.dll"])
    if len(tree.names(tmp_path)) == 1:
        pytest.skip("this disk does not tell BIN from bin")
    assert tree.locate(tmp_path, "bin") == tmp_path / "bin"
    assert tree.locate(tmp_path, "Bin") == tmp_path / "BIN"


def test_what_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert tree.names(tmp_path / "gone") == ()
    assert tree.dll_names(tmp_path / "gone") == ()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("v12.4.1", (12, 4, 1)),
        ("2023.2.0-1", (2023, 2, 0)),
        ("latest", ()),
        ("", ()),
        ("11.8.20220929", (11, 8, 20220929)),
    ],
)
def test_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert tree.numbers(text) == numbers


def test_ten_comes_after_nine() -> None:
    folders = tuple(Path(name) for name in ("v9.4", "v10.2", "v9.24"))
    assert [folder.name for folder in tree.newest_first(folders)] == ["v10.2", "v9.24", "v9.4"]
