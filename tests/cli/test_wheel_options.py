"""Options for wheels of one name, in the commands that write wheels."""

from __future__ import annotations

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two wheels whose modules lack a DLL, and a folder that has it."""
    monkeypatch.chdir(tmp_path)
    lacking = forge_dll(
        "_x.pyd",
        imports={"python311.dll": ["Py_Initialize"], "cudart64_110.dll": ["f"]},
        exports=["PyInit__x"],
    )
    for name in ("one", "two"):
        build_wheel(
            tmp_path / "dist",
            name,
            "1.0",
            files={f"{name}/__init__.py": b"from . import _x\n", f"{name}/_x.cp311-win_amd64.pyd": lacking},
        )
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "cudart64_110.dll").write_bytes(forge_dll("cudart64_110.dll", exports=["f"]))
    (tmp_path / "wheelfix.toml").write_text('no-discover = true\n[wheels.one]\nroot = ["dlls"]\n')
    return tmp_path


@pytest.mark.parametrize("command", ["repair", "ci"])
def test_a_root_for_one_wheel(folder, capsys, command):
    assert main([command, "-q", "dist"]) == 1
    assert [path.name for path in (folder / "wheelhouse").glob("*.whl")] == ["one-1.0-cp311-cp311-win_amd64.whl"]


def test_a_wheel_that_need_not_be_clean(folder, capsys):
    (folder / "wheelfix.toml").write_text('no-discover = true\nroot = ["dlls"]\n[wheels.two]\nfail-on = "never"\n')
    assert main(["ci", "-q", "dist"]) == 0
