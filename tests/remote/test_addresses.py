"""Addresses that no server can have are refused, without the password that stands in them."""

from __future__ import annotations

import pytest

from wheelfix.cli.main import main
from wheelfix.errors import Exit

ADDRESSES = {
    "a character that stands for others": "https://user:secret@ex\u2100mple.invalid/simple",
    "half of a character": "https://user:secret@ex\ud800mple.invalid/simple",
    "an open bracket": "https://user:secret@[x/simple",
    "a closing bracket": "https://user:secret@x]/simple",
    "no IPv6 address": "https://user:secret@[v1.x y]/simple",
}


@pytest.mark.parametrize(
    "words", [["scan", "URL"], ["scan", "a==1", "--index-url", "URL"], ["survey", "URL", "-o", "out"]]
)
@pytest.mark.parametrize("name", ADDRESSES)
def test_an_impossible_address(
    name: str, words: list[str], tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    code = main([word.replace("URL", ADDRESSES[name]) for word in words])
    said = "".join(capsys.readouterr())
    assert code in (Exit.USAGE, Exit.BAD_INPUT, Exit.ENVIRONMENT)
    assert "secret" not in said
    assert "should not have happened" not in said
    if name != "no IPv6 address":  # whether Python refuses it depends on its version
        assert code == Exit.USAGE
        assert "is not the address of a server" in said
