"""Sizes as people write them, and limits as archives feel them."""

from __future__ import annotations

import argparse
import contextlib
import json
import re

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.common import size, write_result
from wheelfix.cli.main import main
from wheelfix.errors import Exit


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("512K", 512 << 10), ("2 GiB", 2 << 30), ("3mb", 3 << 20), ("1T", 1 << 40), ("77B", 77)],
)
def test_sizes(text, expected):
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5G", "G", "1X", "1e9", "9" * 20])
def test_what_is_no_size(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size"):
        size(text)


@pytest.mark.parametrize("command", ["scan", "verify", "repair"])
@pytest.mark.parametrize(
    ("option", "value", "because"),
    [
        ("--max-members", "3", "more than 3 members"),
        ("--max-total", "1K", "would unpack to"),
    ],
)
def test_limits_can_be_lowered(command, option, value, because, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", files={"pkg/a.py": "a = 1\n" * 500, "pkg/b.py": ""})
    assert main([command, str(wheel), "--no-config"]) in (Exit.OK, Exit.FINDINGS)
    capsys.readouterr()
    assert main([command, str(wheel), "--no-config", option, value]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert because in said
    assert f"raise the limit with {option}" in said


def test_a_member_beyond_the_limit_is_a_finding(tmp_path, capsys):
    wheel = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/a.py": "a = 1\n" * 5000})
    assert main(["verify", str(wheel), "--no-config", "--max-size", "1K", "--format", "json"]) == Exit.FINDINGS
    document = json.loads(capsys.readouterr().out)
    codes = {finding["code"] for report in document["wheels"] for finding in report["findings"]}
    assert codes & {"WF115", "WF116", "WF121"}


def test_a_result_takes_the_place_of_the_old_one_whole(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("old")
    write_result("new \udcff", target)
    assert target.read_text(encoding="utf-8") == "new ?"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_the_help_of_verify_names_the_threshold_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    """It failed from warnings on and said that errors were the default."""
    shown = {}
    for command in ("scan", "verify"):
        with contextlib.suppress(SystemExit):
            main([command, "--help"])
        text = " ".join(capsys.readouterr().out.split())
        shown[command] = re.findall(r"(\w+) \(default\)", text.partition("--fail-on")[2])[0]
    assert shown == {"scan": "error", "verify": "warning"}
