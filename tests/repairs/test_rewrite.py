"""Turning a plan into bytes: what is written, read back, and refused before it gets its name."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import pytest

from tests.support.repairs import check_record_independently, contents, repaired
from tests.support.wheels import ALONE, build_wheel
from tools import example
from tools.example import kepler_cu117, write_roots
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.archive.writer import write_wheel
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.base.values import replace
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.exam.scan import scan
from wheelfix.exam.verify import verify
from wheelfix.model import Verdict
from wheelfix.plan.model import Plan, WheelRef
from wheelfix.repairs.rewrite import kept_rows, rewrite

ONE = ScanOptions(jobs=1)
DIST_INFO = "pkg-1.0.dist-info"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_wheel(tmp_path, files={"pkg/__init__.py": "x = 1\n", "pkg/old.dll": b"old" * 100})


def plan_for(wheel: Path, **more: object) -> Plan:
    return replace(Plan(WheelRef(str(wheel), "pkg", "1.0", 0, ""), wheel.name, "beside", sbom=False), **more)


def rewritten(wheel: Path, target: Path, plan: Plan, *added: NewMember, stale: set[str] | None = None) -> Path:
    with Archive.open(wheel) as archive:
        info = WheelInfo.from_archive(archive)
        rewrite(archive, info, plan, added, stale or set(), target, RepairOptions(scan=ONE))
    return target


def test_a_row_that_is_known_to_be_wrong_is_made_again(wheel, tmp_path):
    with Archive.open(wheel) as archive:
        assert {row.path for row in kept_rows(archive, {"pkg/old.dll"})}.isdisjoint({"pkg/old.dll"})
    target = rewritten(wheel, tmp_path / "out" / wheel.name, plan_for(wheel), stale={"pkg/old.dll"})
    assert verify(target).findings == ()


def test_what_is_waited_for_last_can_still_stop_it(wheel, tmp_path):
    def wrong() -> None:
        raise EnvironmentFailure("RECORD is wrong")

    target = tmp_path / "out" / wheel.name
    with Archive.open(wheel) as archive:
        changes = WheelChanges(DIST_INFO, rows=tuple(kept_rows(archive, set())))
        with pytest.raises(EnvironmentFailure, match="RECORD is wrong"):
            write_wheel(archive, target, changes, check=wrong)
    assert list(target.parent.iterdir()) == []


def test_a_second_copy_of_a_member_is_dropped_where_it_is_the_same(tmp_path):
    path = build_wheel(tmp_path, files={"pkg/a.txt": b"same"})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("pkg/a.txt", b"same")
    target = rewritten(path, tmp_path / "out" / path.name, plan_for(path))
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist().count("pkg/a.txt") == 1


FILES = {"pkg/__init__.py": b"x = 1\n", "pkg/data.txt": b"some text\n" * 50}
INFO = "pkg-1.0.dist-info"


@pytest.fixture
def faulty_wheel(tmp_path):
    return build_wheel(tmp_path / "dist", "pkg", "1.0", "py3-none-any", FILES, purelib=True)


def repack(faulty_wheel, change):
    """Write the wheel again by hand: ``change`` gets the list of (name, bytes) and returns another."""
    with zipfile.ZipFile(faulty_wheel) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with warnings.catch_warnings(), zipfile.ZipFile(faulty_wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # zipfile warns about the second copies that we want
        for name, data in change(members):
            entry = zipfile.ZipInfo("placeholder", (2024, 1, 1, 0, 0, 0))
            entry.filename = name  # the constructor would change backslashes on Windows
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return faulty_wheel


CASES = {
    "pasted-file": lambda members: [*members, ("pkg/pasted.dll", b"MZ nothing much")],
    "changed-file": lambda members: [(n, b"changed" if n.endswith("data.txt") else d) for n, d in members],
    "one-folder-too-deep": lambda members: [(f"unpacked/{n}", d) for n, d in members],
    "signed-record": lambda members: [*members, (f"{INFO}/RECORD.jws", b"{}"), ("pkg/new.txt", b"x")],
    "dist-info-first": lambda members: sorted(members, key=lambda m: INFO not in m[0]),
}


@pytest.mark.parametrize("case", [name for name in CASES if name != "dist-info-first"])
def test_a_wheel_repacked_by_hand_is_put_right(case, faulty_wheel, tmp_path):
    repack(faulty_wheel, CASES[case])
    before = verify(faulty_wheel)
    assert before.findings, case
    result = repaired(faulty_wheel)
    assert result.outcome == "repaired"
    assert result.plan.mends or result.plan.renames
    check_record_independently(result.output)
    after = verify(result.output)
    assert not after.findings
    assert contents(result.output)["pkg/__init__.py"] == FILES["pkg/__init__.py"]


def test_what_harms_nobody_is_left_as_it_is(faulty_wheel, tmp_path):
    repack(faulty_wheel, CASES["dist-info-first"])
    assert [finding.code for finding in verify(faulty_wheel).findings] == ["WF122"]
    result = repaired(faulty_wheel)
    assert result.outcome == "unchanged"
    assert result.output.read_bytes() == faulty_wheel.read_bytes()


def damage(faulty_wheel, member):
    """Turn a byte of a member's packed data."""
    with zipfile.ZipFile(faulty_wheel) as archive:
        entry = archive.getinfo(member)
        offset = entry.header_offset + 30 + len(entry.filename) + 3
    data = bytearray(faulty_wheel.read_bytes())
    data[offset] ^= 0xFF
    faulty_wheel.write_bytes(bytes(data))


def test_in_place_replaces_the_wheel_at_the_very_end(faulty_wheel):
    repack(faulty_wheel, CASES["pasted-file"])
    result = repaired(faulty_wheel, wheel_dir=None)
    assert result.output == faulty_wheel
    check_record_independently(faulty_wheel)
    assert [path.name for path in faulty_wheel.parent.iterdir()] == [faulty_wheel.name]


def test_scan_tells_names_and_sizes_always_and_hashes_on_request(faulty_wheel):
    repack(faulty_wheel, lambda members: [(n, d[::-1] if n.endswith("data.txt") else d) for n, d in members])
    quiet = ALONE
    assert scan(faulty_wheel, quiet).verdict is Verdict.OK
    found = scan(faulty_wheel, ScanOptions(roots=RootOptions(discover=False), verify=True))
    assert "WF103" in {finding.code for finding in found.findings}


def flipped(member_end):
    """Another text of the same size, which only its hash betrays."""
    return lambda members: [(n, d.swapcase() if n.endswith(member_end) else d) for n, d in members]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_hash_that_turns_out_wrong_while_the_wheel_is_written_is_put_right(dry_run, tmp_path):
    """Hashes are still made while DLLs are added; what they show late is reported and repaired as well."""
    story = kepler_cu117()
    faulty_wheel = repack(example.write_wheel(story, tmp_path / "dist"), flipped("torch/version.py"))
    roots = write_roots(story, tmp_path / "roots").values()
    result = repaired(faulty_wheel, *roots, dry_run=dry_run)
    assert [finding.code for finding in result.before.findings if finding.subject == "torch/version.py"] == ["WF103"]
    assert "torch/version.py" in [mend.subject for mend in result.plan.mends]
    assert {addition.name for addition in result.plan.additions} >= set(story.missing)
    if dry_run:
        assert not (faulty_wheel.parent / "out").exists()
        return
    assert [path.name for path in (faulty_wheel.parent / "out").iterdir()] == [faulty_wheel.name]
    check_record_independently(result.output)


def test_what_is_damaged_is_named_also_where_something_else_is_missing(tmp_path):
    story = kepler_cu117()
    faulty_wheel = example.write_wheel(story, tmp_path / "dist")
    damage(faulty_wheel, "torch/version.py")
    with pytest.raises(CannotRepair) as caught:
        repaired(faulty_wheel)
    assert any("torch/version.py" in reason for reason in caught.value.reasons)
    assert any(name in reason for name in story.missing for reason in caught.value.reasons)


def test_what_rewriting_does_not_fix_remains(tmp_path):
    """xgboost 0.90: the tags of WHEEL are not those of the file name, and the report said that nothing remains."""
    files = {"pkg/__init__.py": "", "pkg-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n"}
    wheel = build_wheel(tmp_path, "pkg", "1.0", "py3-none-win_amd64", files=files)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("pkg/more.py", "")  # without a row in RECORD, and behind the dist-info folder
    made = repaired(wheel)
    assert made.output is not None
    assert (
        [item.code for item in made.after.findings] == ["WF123"] == [item.code for item in scan(made.output).findings]
    )
