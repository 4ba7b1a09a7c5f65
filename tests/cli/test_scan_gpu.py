"""``wheelfix scan --gpu`` and ``--archs`` from the command line: answers, words and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from tests.support.gpucode import gpu_dll
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.schemas import load_schema

if TYPE_CHECKING:
    from pathlib import Path

PART = "cudnn_ops_infer64_8.dll"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A wheel with a cuDNN part that begins with Maxwell, and kernels for Ampere and Ada."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    files = {
        f"pkg/{PART}": gpu_dll(PART, "sm_50", "sm_86", "ptx_90"),
        "pkg/kernels.dll": gpu_dll("kernels.dll", "sm_86", "sm_89"),
    }
    return str(build_wheel(tmp_path, "pkg", "1.0", "py3-none-win_amd64", files))


@pytest.mark.parametrize(
    ("card", "code", "said"),
    [
        ("sm_86", 0, "native      cudnn_ops_infer64_8.dll"),
        ("RTX 4060", 0, "GPU code for sm_89 (RTX 4060)"),
        ("sm_89", 0, "same major  cudnn_ops_infer64_8.dll"),
        ("3.5", 1, "take cuDNN 8.7.0, the last that is known to have code for sm_35"),
        ("K40c", 1, "nothing     cudnn_ops_infer64_8.dll"),
        ("RTX 5070", 0, "PTX only    cudnn_ops_infer64_8.dll"),
        ("RTX 5070", 0, "-DCMAKE_CUDA_ARCHITECTURES=120"),
    ],
)
def test_the_answer_for_a_card(wheel: str, capsys: pytest.CaptureFixture[str], card: str, code: int, said: str) -> None:
    assert main(["scan", "--gpu", card, wheel]) == code
    assert said in capsys.readouterr().out


def test_what_there_is(wheel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--archs", wheel]) == 0
    said = capsys.readouterr().out
    assert "cudnn_ops_infer64_8.dll  SASS 50 86, PTX 90" in said
    assert "all together: SASS 50 86 89, PTX 90" in said


def test_nothing_is_read_that_nobody_asked_for(wheel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", wheel]) == 0
    assert "GPU code" not in capsys.readouterr().out


def test_the_document_for_machines(wheel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "--gpu", "K40c", "--format", "json", wheel]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, load_schema("scan-1"), cls=jsonschema.Draft202012Validator)
    (told,) = document["wheels"]
    assert [image["gpu"] for image in told["images"]] == [{"card": "K40c", "arch": "sm_35", "fit": "none"}] * 2
    assert told["archs"] == ["sm_50", "sm_86", "sm_89", "ptx_90"]


@pytest.mark.parametrize("command", ["scan", "repair"])
def test_a_card_that_nobody_knows_is_said_once(wheel: str, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--gpu", "RTX 5071", wheel, wheel]) == 2
    said = capsys.readouterr().err
    assert said.count("no table knows that card") == 1
    assert "RTX 5070" in said
