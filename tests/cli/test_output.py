"""What the output keeps of each report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.output import Output
from wheelfix.demo.forge import forge_dll
from wheelfix.exam.scan import scan

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("kind", "others", "kept"), [("text", (), False), ("text", ("json",), True), ("json", (), True)]
)
def test_images_are_kept_only_for_documents(kind: str, others: tuple[str, ...], kept: bool, tmp_path: Path) -> None:
    """A thousand wheels took 1.6 GB, although text that has been written needs nothing but the findings."""
    module = forge_dll("_core.pyd", imports={"gone.dll": ["f"]}, exports=["PyInit__core"])
    files: dict[str, bytes | str] = {"pkg/__init__.py": "from . import _core\n", "pkg/_core.pyd": module}
    report = scan(build_wheel(tmp_path, "pkg", "1.0", files=files))
    output = Output(kind, requests=tuple((other, tmp_path / other) for other in others), quiet=True)
    output.add(report)
    assert bool(output.reports[0].images) is kept
    assert bool(output.reports[0].resolution.edges) is kept
    assert output.reports[0].verdict is report.verdict
    assert output.exit_code == 1
