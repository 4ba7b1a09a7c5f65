"""Configuration files that strangers made: every command reads them in time in proportion to their size."""

from __future__ import annotations

import time

import pytest

from tests.support.patience import patience
from wheelfix.cli.main import main

FILES = {
    "blank lines": lambda size: "\n" * size + "# wheelfix\n",
    "blanks": lambda size: " " * size + "\n# wheelfix\n",
    "blank lines in a header": lambda size: "[tool" + " " * size + "\n.wheelfix",
    "brackets": lambda size: "[" * size + "wheelfix",
    "dots": lambda size: "a" + ".a" * (size // 2) + "=1",
    "quotes": lambda size: "wheelfix '\"" * (size // 11),
    "keys": lambda size: "[tool.wheelfix]\n" + "".join(f"k{number}=1\n" for number in range(size // 9)),
    "tables": lambda size: "".join(f"[tool.wheelfix.t{number}]\n" for number in range(size // 24)),
    "long key": lambda size: "[tool.wheelfix]\n" + "k" * size + "=1",
    "nested": lambda size: "[tool.wheelfix]\na=" + "[" * size,
}
COMMANDS = (
    ["scan", "x.whl"],
    ["verify", "x.whl"],
    ["repair", "x.whl"],
    ["ci", "x.whl"],
    ["diff", "x.whl", "y.whl"],
    ["roots"],
    ["diagnose", "--text", "x"],
    ["scan", "--show-config"],
)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["pyproject.toml", "wheelfix.toml"])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind == "blank lines" else kind for kind in FILES]
)
def test_no_file_stops_a_command(kind, name, tmp_path, monkeypatch, capsys):
    (tmp_path / name).write_text(FILES[kind](200_000), "utf-8")
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS if kind == "blank lines" else COMMANDS[:1]:
        start = time.process_time()
        assert main(list(command)) in (0, 1, 2, 3, 5)
        assert time.process_time() - start < patience(5), command
        assert len(capsys.readouterr().err) < 250_000
