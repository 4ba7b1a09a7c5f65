"""Turning a plan into bytes: what is written, read back, and refused before it gets its name."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RepairOptions, ScanOptions
from wheelfix.base.values import replace
from wheelfix.errors import EnvironmentFailure
from wheelfix.exam.verify import verify
from wheelfix.plan.model import Drop, Plan, WheelRef
from wheelfix.repairs.rewrite import keep, kept_rows, rewrite, write_checked
from wheelfix.streams.codec import Compressor

if TYPE_CHECKING:
    from pathlib import Path

ONE = ScanOptions(jobs=1)
DIST_INFO = "pkg-1.0.dist-info"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_wheel(tmp_path, "pkg", "1.0", files={"pkg/__init__.py": "x = 1\n", "pkg/old.dll": b"old" * 100})


def plan_for(wheel: Path, **more: object) -> Plan:
    return replace(Plan(WheelRef(str(wheel), "pkg", "1.0", 0, ""), wheel.name, "beside", sbom=False), **more)


def rewritten(wheel: Path, target: Path, plan: Plan, *added: NewMember, stale: set[str] | None = None) -> Path:
    with Archive.open(wheel) as archive:
        info = WheelInfo.from_archive(archive)
        rewrite(archive, info, plan, added, stale or set(), target, RepairOptions(scan=ONE))
    return target


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_members_are_added_and_dropped_and_record_is_correct(wheel: Path, tmp_path: Path) -> None:
    plan = plan_for(wheel, drops=(Drop("pkg/old.dll", "not needed"),))
    target = rewritten(wheel, tmp_path / "out" / wheel.name, plan, NewMember("pkg/new.dll", data=b"new"))
    found = contents(target)
    assert found["pkg/new.dll"] == b"new"
    assert "pkg/old.dll" not in found
    assert found["pkg/__init__.py"] == b"x = 1\n"
    assert verify(target).findings == ()


def test_another_build_tag_goes_into_the_wheel_file(wheel: Path, tmp_path: Path) -> None:
    plan = plan_for(wheel, output=wheel.name.replace("-1.0-", "-1.0-7fixed-"))
    target = rewritten(wheel, tmp_path / "out" / plan.output, plan)
    assert b"Build: 7fixed\n" in contents(target)[f"{DIST_INFO}/WHEEL"]
    assert verify(target).findings == ()


def test_a_row_that_is_known_to_be_wrong_is_made_again(wheel: Path, tmp_path: Path) -> None:
    with Archive.open(wheel) as archive:
        assert {row.path for row in kept_rows(archive, {"pkg/old.dll"})}.isdisjoint({"pkg/old.dll"})
    target = rewritten(wheel, tmp_path / "out" / wheel.name, plan_for(wheel), stale={"pkg/old.dll"})
    assert verify(target).findings == ()


def test_bytes_that_are_not_those_of_the_plan_leave_nothing_behind(wheel: Path, tmp_path: Path) -> None:
    other = NewMember("pkg/new.dll", data=b"new", sha256="0" * 64)
    with pytest.raises(EnvironmentFailure, match="not the file that was planned"):
        rewritten(wheel, tmp_path / "out" / wheel.name, plan_for(wheel), other)
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_waited_for_last_can_still_stop_it(wheel: Path, tmp_path: Path) -> None:
    def wrong() -> None:
        raise EnvironmentFailure("RECORD is wrong")

    target = tmp_path / "out" / wheel.name
    with Archive.open(wheel) as archive:
        changes = WheelChanges(DIST_INFO, rows=tuple(kept_rows(archive, set())))
        with pytest.raises(EnvironmentFailure, match="RECORD is wrong"):
            write_checked(archive, changes, target, ONE, Compressor.choose(), wrong)
    assert list(target.parent.iterdir()) == []


def test_a_wheel_that_needs_nothing_is_copied_byte_by_byte(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / wheel.name
    with Archive.open(wheel) as archive:
        assert keep(archive, target) == target
        assert keep(archive, wheel) == wheel  # in place there is nothing to do
    assert target.read_bytes() == wheel.read_bytes()


def test_a_second_copy_of_a_member_is_dropped_where_it_is_the_same(tmp_path: Path) -> None:
    path = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/a.txt": b"same"})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("pkg/a.txt", b"same")
    target = rewritten(path, tmp_path / "out" / path.name, plan_for(path))
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist().count("pkg/a.txt") == 1
