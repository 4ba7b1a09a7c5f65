"""``--target`` on the command line, in settings, and in every report."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll

if TYPE_CHECKING:
    from pathlib import Path

OWN = """\
wheelfix target 1
name: mine
title: My machine
date: 2026-11-16
base: none

[has]
source: a test
date: 2026-11-16
kernel32.dll
 CreateFileW
"""


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    media = forge_dll(
        "media.pyd",
        imports={"python311.dll": ["PyModule_Create2"], "MFPlat.DLL": ["MFStartup"]},
        exports=["PyInit_media"],
    )
    return str(build_wheel(tmp_path, "media", "1", "cp311-cp311-win_amd64", files={"media.pyd": media}))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["windows-11"], 0),
        (["windows-n"], 1),
        (["windows-11,windows-n"], 1),
        (["windows-11", "--target", "windows-n"], 1),
        (["nano-server"], 0),
        (["nano-server", "--fail-on", "warning"], 1),
        (["all"], 1),
    ],
)
def test_the_exit_code(wheel: str, capsys: pytest.CaptureFixture[str], words: list[str], code: int) -> None:
    assert main(["scan", wheel, "--no-discover", "--target", *words]) == code
    assert "Targets" in capsys.readouterr().out


def test_two_wheels_give_a_table(wheel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = forge_dll("plain.pyd", imports={"python311.dll": ["PyModule_Create2"]}, exports=["PyInit_plain"])
    other = build_wheel(tmp_path, "plain", "1", "cp311-cp311-win_amd64", files={"plain.pyd": plain})
    main(["scan", wheel, str(other), "--no-discover", "--target", "windows-n,windows-11"])
    rows = [line.split() for line in capsys.readouterr().out.rpartition("Targets\n")[2].splitlines()[:3]]
    assert rows == [
        ["wheel", "windows-n", "windows-11"],
        ["media-1-cp311-cp311-win_amd64.whl", "broken", "ok"],
        ["plain-1-cp311-cp311-win_amd64.whl", "ok", "ok"],
    ]


def test_a_users_own_list(wheel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text(OWN, encoding="utf-8")
    assert main(["scan", wheel, "--no-discover", "--target", "mine.txt"]) == 1
    assert "MFPlat.DLL on mine is absent" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [(None, 2, "neither a known target nor a file"), ("hello\n", 3, "does not begin with 'wheelfix target 1'")],
)
def test_a_slip_is_said_once(
    wheel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, code: int, said: str
) -> None:
    if text is not None:
        (tmp_path / "mine.txt").write_text(text, encoding="utf-8")
    assert main(["scan", wheel, wheel, "--target", "mine.txt"]) == code
    assert " ".join(capsys.readouterr().err.split()).count(said) == 1


def test_settings_have_it(wheel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wheelfix.toml").write_text('target = ["windows-n"]\n', encoding="utf-8")
    assert main(["scan", wheel, "--no-discover"]) == 1
    assert "windows-n" in capsys.readouterr().out


def test_the_document_for_machines(wheel: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["scan", wheel, "--no-discover", "--target", "windows-n", "--format", "json"])
    (target,) = json.loads(capsys.readouterr().out)["wheels"][0]["targets"]
    assert target["verdict"] == "broken"
    assert target["absent"] == ["MFPlat.DLL"]
    assert target["first_failure"]["code"] == 126


def test_sarif_junit_and_html_have_it(wheel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = [f"--report={kind}={kind}.out" for kind in ("sarif", "junit", "html")]
    main(["scan", wheel, "--no-discover", "--target", "windows-n,windows-11", *reports])
    capsys.readouterr()
    (result,) = json.loads((tmp_path / "sarif.out").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert (result["ruleId"], result["properties"]["evidence"]["target"]) == ("WF323", "windows-n")
    suite = ET.parse(tmp_path / "junit.out").getroot()
    properties = {item.get("name"): item.get("value") for item in suite.iter("property")}
    assert properties["target windows-n"] == "broken"
    assert properties["target windows-11"] == "ok"
    html = (tmp_path / "html.out").read_text(encoding="utf-8")
    assert "windows-11" in html
    assert "without MFPlat.DLL" in html


def test_repair_writes_no_wheel_that_does_not_load_on_the_target(
    wheel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", wheel, "--no-discover", "-w", "out", "--target", "windows-n"]) == 1
    assert "MFPlat.DLL on windows-n is absent" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("out/*.whl"))
    assert main(["repair", wheel, "--no-discover", "-w", "out", "--target", "windows-11"]) == 0


def test_ci_has_it(wheel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ci", wheel, "--no-discover", "-w", "out", "--target", "windows-n"]) == 1
    assert "windows-n" in capsys.readouterr().out
