"""What a plan says about the wheel that it will make: its name, what is added and why, and what stays missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import UsageError
from wheelfix.exam.wheel import examine_wheel
from wheelfix.plan.make import Planned, allowed_names, make_plan, output_name, reference, still_broken
from wheelfix.roots.lazy import lazy_index

if TYPE_CHECKING:
    from pathlib import Path

MODULE = forge_dll("_m.pyd", imports={"flux.dll": ["solve"], "gone.dll": ["f"]}, exports=["PyInit__m"])
FLUX = forge_dll("flux.dll", exports=["solve"])


def planned(tmp_path: Path, **options: object) -> Planned:
    """The plan for a package that needs flux.dll, which a root has, and gone.dll, which none has."""
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    (root / "flux.dll").write_bytes(FLUX)
    wheel = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/__init__.py": "", "pkg/_m.cp311-win_amd64.pyd": MODULE})
    scan = ScanOptions(roots=RootOptions(roots=(root,), discover=False), jobs=1)
    repair = RepairOptions(scan=scan, layout="beside", **options)  # type: ignore[arg-type]
    with Archive.open(wheel) as archive, lazy_index(scan.roots) as index:
        return make_plan(examine_wheel(archive, scan), index, repair, archive)


@pytest.mark.parametrize(
    ("name", "tag", "expected"),
    [
        ("pkg-1.0-cp311-cp311-win_amd64.whl", None, "pkg-1.0-cp311-cp311-win_amd64.whl"),
        ("pkg-1.0-cp311-cp311-win_amd64.whl", "1fixed", "pkg-1.0-1fixed-cp311-cp311-win_amd64.whl"),
        ("pkg-1.0-3-cp311-cp311-win_amd64.whl", "4", "pkg-1.0-4-cp311-cp311-win_amd64.whl"),
    ],
)
def test_the_name_has_the_build_tag_that_was_asked_for(name: str, tag: str | None, expected: str) -> None:
    assert output_name(name, tag) == expected


@pytest.mark.parametrize("tag", ["", "fixed", "1-2", "1 2", "../1"])
def test_a_build_tag_that_installers_would_refuse(tag: str) -> None:
    with pytest.raises(UsageError, match="--build-tag"):
        output_name("pkg-1.0-cp311-cp311-win_amd64.whl", tag)


def test_what_is_added_and_what_stays_missing(tmp_path: Path) -> None:
    made = planned(tmp_path)
    (addition,) = made.plan.additions
    assert (addition.target, addition.because) == ("pkg/flux.dll", "imported by _m.cp311-win_amd64.pyd")
    assert (addition.source.kind, addition.size) == ("file", len(FLUX))
    (left,) = made.plan.remaining
    assert (left.name, left.required, left.allowed) == ("gone.dll", True, False)
    assert [finding.code for finding in still_broken(made, RepairOptions())] == ["WF301"]


def test_what_may_be_missing_does_not_break_the_result(tmp_path: Path) -> None:
    made = planned(tmp_path, allow_missing=("gone*",))
    assert allowed_names(made.plan) == ("gone.dll",)
    assert still_broken(made, RepairOptions()) == ()


def test_the_wheel_is_identified_by_its_directory_and_on_request_by_all_bytes(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/__init__.py": ""})
    with Archive.open(wheel) as archive:
        exam = examine_wheel(archive, ScanOptions(jobs=1))
        quick, whole = (reference(archive, exam, hash_file=hashed) for hashed in (False, True))
    assert quick.sha256 == ""
    assert (len(whole.sha256), whole.size) == (64, wheel.stat().st_size)
    assert quick.directory_sha256 == whole.directory_sha256 != ""
    assert reference(None, exam).directory_sha256 == ""
