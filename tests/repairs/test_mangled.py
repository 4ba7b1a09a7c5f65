"""What delvewheel makes depends on nothing but the wheel and the DLLs, and tells nothing of this machine."""

from __future__ import annotations

import tempfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.signing import signed, trust
from tests.support.wheels import EPOCH, build_wheel
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.demo.forge import forge_dll
from wheelfix.pe.signature import read_signature
from wheelfix.repairs.repair import repair_wheel
from wheelfix.streams.source import MemorySource

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_renamed_dlls_leave_no_trace_of_time_and_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """delvewheel writes its command line and the time of day into the wheel, unless SOURCE_DATE_EPOCH is set."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    module = forge_dll("ext.pyd", imports={"frobnicate.dll": ["frob"]}, exports=["PyInit_ext"])
    files: dict[str, bytes | str] = {"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module}
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", files=files)
    root = tmp_path / "root"
    root.mkdir()
    (root / "frobnicate.dll").write_bytes(forge_dll("frobnicate.dll", exports=["frob"]))
    options = RepairOptions(
        wheel_dir=tmp_path / "out",
        layout="libs",
        scan=ScanOptions(roots=RootOptions(roots=(root,), discover=False), jobs=1),
    )
    result = repair_wheel(wheel, options)
    assert result.output is not None
    with zipfile.ZipFile(result.output) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {EPOCH}
        for name in archive.namelist():
            data = archive.read(name)
            assert str(tmp_path).encode() not in data, name
            assert tempfile.gettempdir().encode() + b"/wheelfix" not in data, name


def test_a_signature_that_renaming_removes_is_not_claimed(tmp_path: Path) -> None:
    """delvewheel changes a DLL that imports another renamed one, and removes its signature; the plan and the bill of
    materials used to go on naming the signer.
    """
    module = forge_dll("ext.pyd", imports={"outer.dll": ["f"]}, exports=["PyInit_ext"])
    files: dict[str, bytes | str] = {"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module}
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", files=files)
    root = tmp_path / "root"
    root.mkdir()
    (root / "outer.dll").write_bytes(signed(forge_dll("outer.dll", exports=["f"], imports={"inner.dll": ["g"]})))
    (root / "inner.dll").write_bytes(signed(forge_dll("inner.dll", exports=["g"])))
    known = RootOptions(roots=(root,), discover=False, trusted_roots=trust(tmp_path))
    options = RepairOptions(wheel_dir=tmp_path / "out", layout="libs", scan=ScanOptions(roots=known, jobs=1))
    result = repair_wheel(wheel, options)
    assert result.output is not None
    answers = {addition.name: addition.signature for addition in result.plan.additions}
    with zipfile.ZipFile(result.output) as archive:
        for addition in result.plan.additions:
            data = archive.read(addition.target)
            assert addition.signature == str(read_signature(MemorySource(data), known.trusted_roots))
    assert answers["inner.dll"] == "trusted: Some Vendor"
    assert answers["outer.dll"] != "trusted: Some Vendor"
