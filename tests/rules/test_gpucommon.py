"""GPU code of a wheel and of the libraries in it, without any card being named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.gpucode import gpu_dll
from tests.support.wheels import build_wheel
from wheelfix.exam.scan import scan

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.model import Finding

LIB = "torch/lib"
MANY = tuple(f"sm_{number}" for number in (50, 60, 70, 75, 80, 86, 90))


def findings(
    folder: Path, own: tuple[str, ...], library: tuple[str, ...], name: str = "cudnn64_8.dll"
) -> list[Finding]:
    files: dict[str, bytes | str] = {
        "torch/__init__.py": "",
        f"{LIB}/torch_cuda.dll": gpu_dll("torch_cuda.dll", *own),
        f"{LIB}/{name}": gpu_dll(name, *library),
    }
    wheel = build_wheel(folder, "torch", "2.0.0", files=files)
    return [finding for finding in scan(wheel).findings if finding.code == "WF504"]


def test_torch_for_an_old_card_with_a_cudnn_that_dropped_it(tmp_path: Path) -> None:
    """sm_35-only torch_cuda with a cuDNN without sm_35 was only noticed with --gpu."""
    (found,) = findings(tmp_path, ("sm_35",), MANY)
    assert found.subject == f"{LIB}/cudnn64_8.dll"
    assert "torch_cuda.dll for sm_35: no card runs both" in found.message
    assert found.severity.value == "warning"


@pytest.mark.parametrize(
    ("own", "library"),
    [
        pytest.param(("sm_35", "sm_86"), MANY, id="a card in common"),
        pytest.param(("sm_89",), ("sm_86",), id="machine code that runs on later minors"),
        pytest.param(("sm_120",), ("sm_80", "ptx_90"), id="PTX that the driver compiles"),
        pytest.param(("sm_35",), (*["sm_50"] * 100, "sm_35"), id="code behind the first entries"),
        pytest.param(("sm_35",), (), id="a library without code"),
    ],
)
def test_no_finding_where_some_card_runs_both(own: tuple[str, ...], library: tuple[str, ...], tmp_path: Path) -> None:
    assert findings(tmp_path, own, library) == []


def test_a_dll_of_nobody_is_the_wheels_own(tmp_path: Path) -> None:
    assert findings(tmp_path, ("sm_35",), MANY, "kernels.dll") == []
