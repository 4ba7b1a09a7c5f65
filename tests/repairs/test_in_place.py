"""Windows refuses to replace a file that is open, also for the program that has it open itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.closing import watch_replacing
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import Exit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("layout", ["beside", "libs"])
def test_the_wheel_is_closed_before_it_is_replaced(layout: str, tmp_path: Path, monkeypatch, capsys) -> None:
    module = forge_dll("ext.pyd", imports={"outer.dll": ["f"]}, exports=["PyInit_ext"])
    files: dict[str, bytes | str] = {"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module}
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", files=files)
    root = tmp_path / "root"
    root.mkdir()
    (root / "outer.dll").write_bytes(forge_dll("outer.dll", exports=["f"]))
    opened = watch_replacing(wheel, monkeypatch)
    words = ["repair", str(wheel), "--in-place", "--root", str(root), "--no-discover", "--layout", layout, "-q"]
    assert main(words) == Exit.OK, capsys.readouterr().err
    assert opened
    assert main(["scan", str(wheel), "--no-discover", "-q"]) == Exit.OK
