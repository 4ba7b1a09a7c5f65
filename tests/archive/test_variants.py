"""Wheel variants (PEP 825): their file names, their description, and that every command takes them as wheels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.wheels import build_wheel
from wheelfix.archive.names import FileName, name_parts, without_variant
from wheelfix.cli.main import main
from wheelfix.cli.paths import other_system
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import Exit, InputError
from wheelfix.exam.verify import verify
from wheelfix.plan.make import output_name

TAGS = ("cp313-cp313-win_amd64",)


@pytest.mark.parametrize(
    ("name", "build", "tags", "variant"),
    [
        ("numpy-2.3.2-cp313-cp313-win_amd64-x86_64_v3.whl", "", TAGS, "x86_64_v3"),
        ("numpy-2.3.2-1-cp313-cp313-win_amd64-x86_64_v3.whl", "1", TAGS, "x86_64_v3"),
        ("numpy-2.3.2-cp313-cp313-win_amd64-null.whl", "", TAGS, "null"),
        ("torch-2.9-cp313-cp313-win_amd64-cu12.8.whl", "", TAGS, "cu12.8"),
        ("pkg-1.0-py3-none-any-null.whl", "", ("py3-none-any",), "null"),
        ("pkg-1.0-py3-none-win32-1.whl", "", ("py3-none-win32",), "1"),
        ("pkg-1.0-1-py3-none-any.whl", "1", ("py3-none-any",), ""),
    ],
)
def test_file_names(name: str, build: str, tags: tuple[str, ...], variant: str) -> None:
    found = FileName.parse(Path(name))
    assert (found.build, found.tags, found.variant) == (build, tags, variant)


@pytest.mark.parametrize(
    "name",
    [
        "pkg-1.0-py3-none-any-UPPER.whl",
        "pkg-1.0-py3-none-any-seventeen_letters.whl",
        "pkg-1.0-py3-none-any-.whl",
        "pkg-1.0-x-py3-none-any.whl",
        "pkg-1.0-1-2-py3-none-any.whl",
    ],
)
def test_what_is_no_label(name: str) -> None:
    with pytest.raises(InputError):
        FileName.parse(Path(name))
    assert name_parts(name) == {}


def test_names_made_of_names() -> None:
    name = "numpy-2.3.2-cp313-cp313-win_amd64-x86_64_v3.whl"
    assert without_variant(name) == "numpy-2.3.2-cp313-cp313-win_amd64.whl"
    assert without_variant(without_variant(name)) == without_variant(name)
    assert output_name(name, "7") == "numpy-2.3.2-7-cp313-cp313-win_amd64-x86_64_v3.whl"
    assert other_system(name) == ""
    assert other_system("numpy-2.3.2-cp313-cp313-linux_x86_64-x86_64_v3.whl") == "linux_x86_64"


def variant_wheel(folder: Path, description: str | None, imports: dict[str, list[str]] | None = None) -> Path:
    """A wheel with the label ``v3`` and this ``variant.json``."""
    files: dict[str, bytes | str] = {
        "pkg/__init__.py": "",
        "pkg/_m.cp311-win_amd64.pyd": forge_dll("_m.pyd", exports=["PyInit__m"], imports=imports or {}),
    }
    if description is not None:
        files["pkg-1.0.dist-info/variant.json"] = description
    made = build_wheel(folder / "dist", "pkg", "1.0", files=files)
    return made.rename(made.with_name(f"{made.name.removesuffix('.whl')}-v3.whl"))


DOCUMENT = {
    "$schema": "https://variants-schema.wheelnext.dev/v0.0.3.json",
    "default-priorities": {"namespace": ["x86_64"]},
    "variants": {"v3": {"x86_64": {"level": ["v3"]}}},
}
GOOD = json.dumps(DOCUMENT)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (GOOD, ["WF129"]),
        (None, ["WF129", "WF131"]),
        ("{", ["WF129", "WF131"]),
        ("[]", ["WF129", "WF131"]),
        (json.dumps({**DOCUMENT, "variants": {"v4": {}}}), ["WF129", "WF131"]),
        (json.dumps({**DOCUMENT, "variants": {"v3": {}, "v4": {}}}), ["WF129", "WF131"]),
        (json.dumps({**DOCUMENT, "variants": []}), ["WF129", "WF131"]),
        (json.dumps({"variants": DOCUMENT["variants"]}), ["WF129", "WF131"]),
    ],
)
def test_the_description(tmp_path: Path, description: str | None, expected: list[str]) -> None:
    found = verify(variant_wheel(tmp_path, description)).findings
    assert sorted(finding.code for finding in found) == expected


def test_a_variant_is_scanned_and_repaired_like_any_wheel(tmp_path: Path) -> None:
    wheel = variant_wheel(tmp_path, GOOD, {"outer.dll": ["f"]})
    assert main(["scan", str(wheel), "--no-discover", "-q"]) == Exit.FINDINGS
    root = tmp_path / "root"
    root.mkdir()
    (root / "outer.dll").write_bytes(forge_dll("outer.dll", exports=["f"]))
    lock = tmp_path / "lock.json"
    for layout in ("libs", "beside"):
        out = tmp_path / layout
        words = ["repair", str(wheel), "--no-discover", "--root", str(root), "--layout", layout, "-w", str(out), "-q"]
        assert main([*words, "--lock", str(lock), "--build-tag", "3"]) == Exit.OK
        made = out / "pkg-1.0-3-cp311-cp311-win_amd64-v3.whl"
        assert main(["scan", str(made), "--no-discover", "-q"]) == Exit.OK
        assert [finding.code for finding in verify(made).findings] == ["WF129"]
        assert main(["repair", "--locked", str(lock), "-w", str(tmp_path / "again"), "-q"]) == Exit.OK
