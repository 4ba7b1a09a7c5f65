"""What repair fixes besides DLLs: wheels that were repacked by hand, stale RECORDs, second copies."""

from __future__ import annotations

import warnings
import zipfile

import pytest

from tests.repairs.test_repair import check_record_independently, options, run
from tests.support.wheels import build_wheel
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel
from wheelfix.errors import CannotRepair
from wheelfix.exam.scan import scan
from wheelfix.exam.verify import verify
from wheelfix.model import Verdict
from wheelfix.repairs.repair import RepairOutcome

FILES = {"pkg/__init__.py": b"x = 1\n", "pkg/data.txt": b"some text\n" * 50}
INFO = "pkg-1.0.dist-info"


@pytest.fixture
def wheel(tmp_path):
    return build_wheel(tmp_path / "dist", "pkg", "1.0", "py3-none-any", FILES, purelib=True)


def repack(wheel, change):
    """Write the wheel again by hand: ``change`` gets the list of (name, bytes) and returns another."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with warnings.catch_warnings(), zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # zipfile warns about the second copies that we want
        for name, data in change(members):
            entry = zipfile.ZipInfo("placeholder", (2024, 1, 1, 0, 0, 0))
            entry.filename = name  # the constructor would change backslashes on Windows
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


CASES = {
    "pasted-file": lambda members: [*members, ("pkg/pasted.dll", b"MZ nothing much")],
    "changed-file": lambda members: [(n, b"changed" if n.endswith("data.txt") else d) for n, d in members],
    "removed-file": lambda members: [(n, d) for n, d in members if not n.endswith("data.txt")],
    "backslashes": lambda members: [(n.replace("/", "\\"), d) for n, d in members],
    "one-folder-too-deep": lambda members: [(f"unpacked/{n}", d) for n, d in members],
    "without-record": lambda members: [(n, d) for n, d in members if not n.endswith("RECORD")],
    "signed-record": lambda members: [*members, (f"{INFO}/RECORD.jws", b"{}"), ("pkg/new.txt", b"x")],
    "identical-copy": lambda members: [*members, members[0]],
    "dist-info-first": lambda members: sorted(members, key=lambda m: INFO not in m[0]),
}


@pytest.mark.parametrize("case", [name for name in CASES if name != "dist-info-first"])
def test_a_wheel_repacked_by_hand_is_put_right(case, wheel, tmp_path):
    repack(wheel, CASES[case])
    before = verify(wheel)
    assert before.findings, case
    if case == "removed-file":
        with pytest.raises(CannotRepair, match=r"pkg/data.txt: RECORD lists it, but the wheel does not have it"):
            run(wheel, options(tmp_path))
        assert not list((tmp_path / "out").glob("*.whl"))
    result = run(wheel, options(tmp_path, accept_missing=("pkg/data.*",) if case == "removed-file" else ()))
    assert result.outcome is RepairOutcome.REPAIRED
    assert result.plan.mends or result.plan.renames
    check_record_independently(result.output)
    after = verify(result.output)
    assert not after.findings
    with zipfile.ZipFile(result.output) as archive:
        assert archive.read("pkg/__init__.py") == FILES["pkg/__init__.py"]


def test_what_harms_nobody_is_left_as_it_is(wheel, tmp_path):
    repack(wheel, CASES["dist-info-first"])
    assert [finding.code for finding in verify(wheel).findings] == ["WF122"]
    result = run(wheel, options(tmp_path))
    assert result.outcome is RepairOutcome.UNCHANGED
    assert result.output.read_bytes() == wheel.read_bytes()


def test_two_different_files_of_one_name_are_a_question_for_the_user(wheel, tmp_path):
    repack(wheel, lambda members: [*members, ("pkg/data.txt", b"another text")])
    with pytest.raises(CannotRepair, match=r"pkg/data\.txt"):
        run(wheel, options(tmp_path))
    assert not list((tmp_path / "out").glob("*.whl")) if (tmp_path / "out").exists() else True


def test_an_unsafe_name_is_never_written(wheel, tmp_path):
    repack(wheel, lambda members: [*members, ("../evil.dll", b"MZ")])
    with pytest.raises(CannotRepair):
        run(wheel, options(tmp_path))
    assert not (tmp_path / "evil.dll").exists()


def damage(wheel, member):
    """Turn a byte of a member's packed data."""
    with zipfile.ZipFile(wheel) as archive:
        entry = archive.getinfo(member)
        offset = entry.header_offset + 30 + len(entry.filename) + 3
    data = bytearray(wheel.read_bytes())
    data[offset] ^= 0xFF
    wheel.write_bytes(bytes(data))


def test_a_damaged_member_is_found_and_not_passed_on(wheel, tmp_path):
    damage(wheel, "pkg/data.txt")
    with pytest.raises(CannotRepair, match=r"pkg/data\.txt"):
        run(wheel, options(tmp_path))


def test_in_place_replaces_the_wheel_at_the_very_end(wheel):
    from dataclasses import replace

    repack(wheel, CASES["pasted-file"])
    chosen = replace(options(wheel.parent), wheel_dir=None)
    result = run(wheel, chosen)
    assert result.output == wheel
    check_record_independently(wheel)
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


def test_scan_tells_names_and_sizes_always_and_hashes_on_request(wheel):
    repack(wheel, lambda members: [(n, d[::-1] if n.endswith("data.txt") else d) for n, d in members])
    quiet = ScanOptions(roots=RootOptions(discover=False))
    assert scan(wheel, quiet).verdict is Verdict.OK
    found = scan(wheel, ScanOptions(roots=RootOptions(discover=False), verify=True))
    assert "WF103" in {finding.code for finding in found.findings}


def flipped(member_end):
    """Another text of the same size, which only its hash betrays."""
    return lambda members: [(n, d.swapcase() if n.endswith(member_end) else d) for n, d in members]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_hash_that_turns_out_wrong_while_the_wheel_is_written_is_put_right(dry_run, tmp_path):
    """Hashes are still made while DLLs are added; what they show late is reported and repaired as well."""
    story = kepler_cu117()
    wheel = repack(write_wheel(story, tmp_path / "dist"), flipped("torch/version.py"))
    roots = write_roots(story, tmp_path / "roots").values()
    result = run(wheel, options(tmp_path, *roots), dry_run=dry_run)
    assert [finding.code for finding in result.before.findings if finding.subject == "torch/version.py"] == ["WF103"]
    assert "torch/version.py" in [mend.subject for mend in result.plan.mends]
    assert {addition.name for addition in result.plan.additions} >= set(story.missing)
    if dry_run:
        assert not (tmp_path / "out").exists()
        return
    assert [path.name for path in (tmp_path / "out").iterdir()] == [wheel.name]
    check_record_independently(result.output)


def test_what_is_damaged_is_named_also_where_something_else_is_missing(tmp_path):
    story = kepler_cu117()
    wheel = write_wheel(story, tmp_path / "dist")
    damage(wheel, "torch/version.py")
    with pytest.raises(CannotRepair) as caught:
        run(wheel, options(tmp_path))
    assert any("torch/version.py" in reason for reason in caught.value.reasons)
    assert any(name in reason for name in story.missing for reason in caught.value.reasons)
