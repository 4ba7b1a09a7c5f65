"""What a new user types wrong: each message names the thing, says why, and what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a wheel, in a folder whose name has a blank and an umlaut."""
    folder = tmp_path / "my ümläut dir"
    build_wheel(folder, "pkg", "1.0", files={"pkg/__init__.py": b"", "pkg/x.dll": forge_dll("x.dll")})
    (folder / "notes.txt").write_text("text")
    monkeypatch.chdir(folder)
    return folder


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that is refused and return what it says."""
    assert main([*words]) in (2, 3, 4)
    return capsys.readouterr().err


WHEEL = "pkg-1.0-cp311-cp311-win_amd64.whl"


@pytest.mark.parametrize("command", ["scan", "repair", "verify", "ci"])
def test_a_path_that_does_not_exist_says_what_is_there(
    dist: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    said = failed(capsys, command, "nope.whl")
    assert said == "wheelfix: error: nope.whl does not exist\n  because: this folder holds 1 wheel\n"


@pytest.mark.parametrize("command", ["scan", "repair", "ci"])
def test_an_environment_that_does_not_exist_is_named_with_its_option(
    dist: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    said = failed(capsys, command, WHEEL, "--python", "nope")
    assert said.startswith("wheelfix: error: --python nope\n  because: the folder does not exist\n")


def test_an_installed_package_needs_a_folder(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--env notes.txt\n  because: is a file, not a folder" in failed(
        capsys, "repair", "--env", "notes.txt", "--package", "x"
    )


@pytest.mark.parametrize("command", ["repair", "ci"])
def test_a_file_is_not_a_folder_for_wheels(dist: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    said = failed(capsys, command, WHEEL, "-w", "notes.txt")
    assert said.startswith("wheelfix: error: --wheel-dir notes.txt\n  because: it is a file\n")
    assert (dist / "notes.txt").read_text() == "text"


def test_no_code_is_suggested_for_another_number(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("explain", "WF999"), ("scan", WHEEL, "--select", "WF9")):
        said = failed(capsys, *words)
        assert "did you mean" not in said
        assert "'wheelfix explain' lists them all" in said
    assert "did you mean missing-symbol" in failed(capsys, "explain", "missing-symbl")


def test_blanks_and_umlauts(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(dist), "--no-discover", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["wheels"][0]["path"].endswith(WHEEL)


def test_a_dry_run_says_why_a_required_dll_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The built-ins of an NVRTC that is missing itself were called optional."""
    module = forge_dll("_x.pyd", imports={"nvrtc64_112_0.dll": ["f"], "cupti64_2022.2.1.dll": ["g"]})
    wheel = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/__init__.py": b"", "pkg/_x.cp311-win_amd64.pyd": module})
    main(["repair", str(wheel), "--dry-run", "--no-discover"])
    text = capsys.readouterr().out
    assert "nvrtc-builtins64_118.dll\n    it goes with nvrtc64_112_0.dll, which is missing too" in text
    assert "optional; --companions all adds it" not in text.partition("Still missing")[2].partition("optional DLL")[0]
