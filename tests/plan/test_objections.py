"""Terms that a candidate must meet: a signature that holds, code for the card; and what the plan says of both."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.roots.choice.test_family import with_code
from tests.support.signing import Recipe, identity, signed, trust
from tests.support.wheels import build_wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import CannotRepair, UsageError
from wheelfix.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.plan.sbom import FILE_NAME
from wheelfix.repairs.repair import Repaired, repair
from wheelfix.report.canvas import TextStyle
from wheelfix.report.repairs import render_plan
from wheelfix.roots.lazy import lazy_index

if TYPE_CHECKING:
    from pathlib import Path

NEEDED = "cudnn64_8.dll"
PLAIN = forge_dll(NEEDED, exports=["cudnnCreate"])
SIGNED = signed(PLAIN)
TAMPERED = SIGNED[:0x180] + bytes([SIGNED[0x180] ^ 1]) + SIGNED[0x181:]
SELF_MADE = signed(PLAIN, Recipe(identity("NVIDIA Corporation")))
PART = "cudnn_ops_infer64_8.dll"


def wheel(folder: Path) -> Path:
    module = forge_dll("ext.pyd", imports={NEEDED: ["cudnnCreate"]}, exports=["PyInit_ext"])
    return build_wheel(folder, "pkg", "1.0", files={"pkg/__init__.py": "", "pkg/ext.cp311-win_amd64.pyd": module})


def root(folder: Path, **files: bytes) -> Path:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / f"{name}.dll").write_bytes(data)
    return folder


def repaired(tmp_path: Path, *roots: Path, gpu: str | None = None, **more: Any) -> Repaired:
    known = RootOptions(roots=roots, discover=False, trusted_roots=trust(tmp_path))
    scan = ScanOptions(roots=known, gpu=gpu, jobs=1)
    options = RepairOptions(
        wheel_dir=tmp_path / "out", companions="none", allow_missing=("cudnn_*",), scan=scan, **more
    )
    with lazy_index(scan.roots) as index:
        return repair(wheel(tmp_path / "dist"), options, index)


@pytest.mark.parametrize(
    ("data", "signer", "answer", "warning"),
    [
        pytest.param(SIGNED, "Some Vendor", "trusted: Some Vendor", "", id="signed"),
        pytest.param(PLAIN, "unsigned", "unsigned", "", id="unsigned"),
        pytest.param(
            TAMPERED,
            "invalid",
            "invalid (the file was changed after it was signed)",
            "has an invalid signature (the file was changed",
            id="changed",
        ),
        pytest.param(
            SELF_MADE,
            "untrusted-root",
            "untrusted-root: NVIDIA Corporation (its root NVIDIA Corporation is not on the list of trusted roots)",
            "has a signature that leads to no trusted root (its root NVIDIA",
            id="self-made",
        ),
    ],
)
def test_plan_and_bill_of_materials_say_who_signed(
    tmp_path: Path, data: bytes, signer: str, answer: str, warning: str
) -> None:
    result = repaired(tmp_path, root(tmp_path / "root", cudnn64_8=data))
    (addition,) = result.plan.additions
    assert (addition.signer, addition.signature) == (signer, answer)
    assert any("signature" in note for note in result.plan.notes) is bool(warning)
    assert not warning or any(warning in note for note in result.plan.notes)
    shown = render_plan(result.plan, "repaired", "", TextStyle(300, colour=False, unicode=False))
    assert f"signature {answer}\n" in shown
    assert result.output is not None
    with zipfile.ZipFile(result.output) as archive:
        document = json.loads(archive.read(f"pkg-1.0.dist-info/sboms/{FILE_NAME}"))
        assert archive.read(f"pkg/{NEEDED}") == data
    properties = {item["name"]: item["value"] for item in document["components"][0]["properties"]}
    assert properties["wheelfix:signature"] == signer
    assert properties["wheelfix:signature-answer"] == answer


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(PLAIN, "is not signed", id="unsigned"),
        pytest.param(TAMPERED, "has an invalid signature", id="changed"),
        pytest.param(SELF_MADE, "leads to no trusted root", id="self-made"),
    ],
)
def test_require_signed_lets_nothing_else_in(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(CannotRepair):
        repaired(tmp_path, root(tmp_path / "root", cudnn64_8=data), require_signed=True)
    assert not (tmp_path / "out").exists()
    with lazy_index(RootOptions(roots=(tmp_path / "root",), discover=False)) as index:
        scan = ScanOptions(roots=RootOptions(roots=(tmp_path / "root",), discover=False))
        options = RepairOptions(wheel_dir=tmp_path / "out", require_signed=True, scan=scan)
        plan = repair(tmp_path / "dist" / "pkg-1.0-cp311-cp311-win_amd64.whl", options, index, dry_run=True).plan
    assert any(reason in item.because and "--require-signed" in item.because for item in plan.remaining)


def test_require_signed_takes_the_signed_one_of_two(tmp_path: Path) -> None:
    first, second = root(tmp_path / "a", cudnn64_8=PLAIN), root(tmp_path / "b", cudnn64_8=SIGNED)
    result = repaired(tmp_path, first, second, require_signed=True)
    (addition,) = result.plan.additions
    assert addition.source.path == str(second / NEEDED)
    assert any("is not signed" in rejected.reason for rejected in addition.rejected)


def test_require_signed_looks_at_the_family_too(tmp_path: Path) -> None:
    """The parts of cuDNN come along without being chosen; an unsigned one must not slip in behind a signed front."""
    place = root(tmp_path / "root", cudnn64_8=SIGNED, cudnn_ops_infer64_8=forge_dll(PART))
    with pytest.raises(CannotRepair):
        repaired(tmp_path, place, require_signed=True)


def test_a_card_prefers_what_has_code_for_it(tmp_path: Path) -> None:
    new = root(tmp_path / "new", cudnn64_8=PLAIN, cudnn_ops_infer64_8=with_code(PART, 50, 86))
    old = root(tmp_path / "old", cudnn64_8=PLAIN + bytes(8), cudnn_ops_infer64_8=with_code(PART, 35))
    result = repaired(tmp_path, new, old, gpu="K40c")
    assert {addition.source.root for addition in result.plan.additions} == {str(old)}
    front = next(addition for addition in result.plan.additions if addition.name == NEEDED)
    assert front.rejected[0].reason.startswith(f"{PART} has no code for sm_35, only for sm_50, sm_86; take cuDNN 8.7.0")


def test_a_card_that_nobody_knows_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--gpu Voodoo"):
        repaired(tmp_path, root(tmp_path / "root", cudnn64_8=PLAIN), gpu="Voodoo")
