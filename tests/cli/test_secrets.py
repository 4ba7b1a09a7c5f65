"""What was typed with a password in it: no command prints it, whatever is wrong with the address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from wheelfix.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = "demo-1.0-py3-none-any.whl"
ADDRESSES = [
    f"ftp://me:s3cret@h.invalid/{WHEEL}",
    f"file://me:s3cret@h.invalid/{WHEEL}",
    f" https://me:s3cret@h.invalid/{WHEEL}",
    f"https://me:s3/cret@h.invalid/{WHEEL}",
    f"https://me:s3#cret@h.invalid/{WHEEL}",
    f"https://me:s3?cret@h.invalid/{WHEEL}",
    f"sftp://me:s3/cret@h.invalid/{WHEEL}",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "command",
    [
        ["scan", "WORD", "--no-discover", "--offline"],
        ["scan", "WORD", "--no-discover", "--offline", "--format", "json"],
        ["scan", "WORD", "--no-discover", "--offline", "--format", "junit"],
        ["scan", "demo==1.0", "--no-discover", "--offline", "--index-url", "WORD"],
        ["scan", "WHEEL", "--no-discover", "--root", "WORD"],
        ["verify", "WORD"],
        ["repair", "WORD", "--no-discover"],
        ["repair", "--locked", "WORD"],
        ["diff", "WORD", "WORD"],
        ["diagnose", "error.txt", "--wheel", "WORD"],
        ["sign", "WORD", "--command", "sign {}"],
        ["ci", "WORD", "--no-discover"],
        ["roots", "--root", "WORD"],
    ],
    ids=" ".join,
)
def test_no_command_prints_a_password(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    address: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "error.txt").write_text("ImportError: DLL load failed while importing x")
    (tmp_path / WHEEL).write_bytes(b"PK")
    main([{"WORD": address, "WHEEL": WHEEL}.get(word, word) for word in command])
    printed = "".join(capsys.readouterr())
    assert printed
    assert "s3" not in printed
    assert "cret" not in printed
