"""What repair writes, scan and ci accept with the same options."""

from __future__ import annotations

import json

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll


@pytest.fixture
def dist(tmp_path, monkeypatch):
    """A wheel whose module needs two DLLs of cuDNN, and a folder that has them and what they load by name."""
    monkeypatch.chdir(tmp_path)
    imports = {"python311.dll": ["Py_Initialize"], "cudnn64_8.dll": ["f"], "a.dll": ["f"]}
    module = forge_dll("_x.pyd", imports=imports, exports=["PyInit__x"])
    build_wheel(tmp_path / "dist", "one", "1.0", files={"one/_x.cp311-win_amd64.pyd": module, "one/__init__.py": ""})
    (tmp_path / "dlls").mkdir()
    for name in ("a.dll", "cudnn64_8.dll"):
        (tmp_path / "dlls" / name).write_bytes(forge_dll(name, exports=["f"]))
    return tmp_path


OPTIONS = ["--no-discover", "--layout", "beside", "--root", "dlls"]
WHEEL = "one-1.0-cp311-cp311-win_amd64.whl"


def report(capsys):
    return json.loads(capsys.readouterr().out)["wheels"][0]


def test_what_may_be_missing_stays_allowed_when_the_result_is_scanned(dist, capsys):
    """``ci --allow-missing 'cudnn*' --exclude 'cudnn*'`` repaired the wheel and then called it broken."""
    allowed = ["--allow-missing", "cudnn*"]
    assert main(["ci", "dist", *OPTIONS, "--exclude", "cudnn*", *allowed, "--format", "json"]) == 0
    found = report(capsys)
    assert found["verdict"] == "ok"
    assert found["first_failure"] is None
    assert main(["scan", f"wheelhouse/{WHEEL}", "--no-discover", *allowed]) == 0
    assert main(["scan", f"wheelhouse/{WHEEL}", "--no-discover"]) == 1


def test_companions_that_were_left_out_are_allowed_too(dist, capsys):
    """cudnn64_8.dll loads its parts by name; who wants none of them gets what was asked for."""
    assert main(["ci", "dist", *OPTIONS, "--companions", "none", "--format", "json"]) == 0
    assert report(capsys)["verdict"] == "ok"


def test_without_consent_nothing_is_written(dist, capsys):
    assert main(["ci", "dist", *OPTIONS, "--exclude", "cudnn*", "-q"]) == 1
    assert not (dist / "wheelhouse" / WHEEL).exists()


def test_a_wheel_that_cannot_be_repaired_is_listed_once_as_what_it_is(dist, capsys):
    """GitHub, JUnit, Markdown and HTML called it "not readable" and listed it a second time."""
    kinds = ("github", "junit", "markdown", "html", "json", "sarif")
    files = [f"--report={kind}=out.{kind}" for kind in kinds]
    assert main(["ci", "dist", "--no-discover", "--format", "github", *files]) == 1
    texts = {kind: (dist / f"out.{kind}").read_text(encoding="utf-8") for kind in kinds}
    for kind, text in texts.items():
        assert "not readable" not in text, kind
        assert "cannot be read" not in text, kind
    assert texts["github"].splitlines()[-1] == f"wheelfix: broken, not repaired: {WHEEL}"
    assert texts["markdown"].count("### ") == 1
    assert texts["junit"].count("<testsuite ") == 1
    document = json.loads(texts["json"])
    assert [failure["stage"] for failure in document["failures"]] == ["repair"]
    assert (document["summary"]["inputs"], document["summary"]["not_repaired"]) == (1, 1)
