"""Faults of the archive and of RECORD get their code, their severity and a remedy."""

from __future__ import annotations

import inspect
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.archive.byhand import Entry, write_wheel_by_hand
from tests.archive.drafts import Draft
from tests.archive.hostile import CASES
from tests.rules.subjects import codes, run, subject
from tests.support.wheels import build_wheel
from wheelfix.archive import record
from wheelfix.archive.faults import ArchiveFault
from wheelfix.base.options import RepairOptions
from wheelfix.cli.main import main
from wheelfix.errors import WheelfixError
from wheelfix.exam.scan import scan
from wheelfix.exam.verify import verify
from wheelfix.model import Finding, Repairable, Severity
from wheelfix.repairs.repair import repair_wheel
from wheelfix.rules.archive import kinds
from wheelfix.rules.registry import all_rules

KINDS_OF_RECORD = sorted(set(re.findall(r'(?:ArchiveFault|malformed)\(\s*"([a-z-]+)"', inspect.getsource(record))))


def test_every_kind_of_fault_becomes_one_finding():
    for kind in kinds():
        (found,) = run(subject({}, archive_faults=(ArchiveFault(kind, "pkg/x.py", "it is odd"),)))
        assert (found.subject, found.message, found.evidence["kind"]) == ("pkg/x.py", "it is odd", kind)
        assert found.hint, kind
    for kind in KINDS_OF_RECORD:
        assert kinds()[kind]["code"] <= "WF108" or kind == "member-unreadable"
        (found,) = run(subject({}, record_faults=(ArchiveFault(kind, "pkg/x.py", "it is odd", (), "1", "2"),)))
        assert (found.evidence["expected"], found.evidence["found"]) == ("1", "2")


@pytest.mark.parametrize(
    "kind, rejected_by, expected",
    [
        ("data-descriptor", ("pypi",), "WF120:warning"),
        ("backslash-name", ("pypi",), "WF111:warning"),
        ("backslash-name", ("uv", "pypi"), "WF111:error"),
        ("duplicate-member", ("uv", "pypi"), "WF110:error"),
        ("unsafe-path", (), "WF113:error"),
        ("zip-bomb", ("pypi",), "WF115:error"),
        ("trailing-data", ("uv", "pypi"), "WF121:error"),
        ("comment", ("pypi",), "WF121:warning"),
        ("comment", (), "WF121:info"),
        ("dist-info-not-last", (), "WF122:info"),
        ("data-scheme", ("pip", "uv", "installer"), "WF119:error"),
        ("requires-python", (), "WF127:warning"),
        ("pycache-other", (), "WF128:warning"),
        ("name-mismatch", ("pypi", "installer"), "WF124:warning"),
        ("hash-stale", (), "WF103:error"),
    ],
)
def test_what_an_installer_refuses_is_an_error(kind, rejected_by, expected):
    assert codes(subject({}, archive_faults=(ArchiveFault(kind, "x", "odd", rejected_by),))) == [expected]


def test_the_message_says_who_refuses():
    fault = ArchiveFault("trailing-data", "", "22 bytes follow the archive", ("uv", "pypi"))
    found = run(subject({}, archive_faults=(fault,)))
    assert found[0].message == "22 bytes follow the archive (refused by uv and PyPI)"
    assert found[0].subject == "archive"


def test_data_descriptors_are_told_once():
    faults = tuple(ArchiveFault("data-descriptor", f"pkg/{n}.py", "sizes follow", ("pypi",)) for n in range(4))
    found = run(subject({}, archive_faults=faults))
    assert [item.message for item in found] == [
        "4 members (pkg/0.py, pkg/1.py, pkg/2.py and 1 more): sizes follow (refused by PyPI)"
    ]
    assert found[0].evidence["count"] == 4


@pytest.mark.parametrize("number, findings", [(10, 10), (11, 1)])
def test_many_rows_of_one_kind_become_one_finding(number, findings):
    faults = tuple(ArchiveFault("row-missing", f"pkg/{n:03}.dll", "no row") for n in range(number))
    found = run(subject({}, record_faults=faults))
    assert len(found) == findings
    assert {item.code for item in found} == {"WF101"}


@pytest.mark.parametrize(
    "name, expected",
    [
        ("pkg-1.0.dist-info/wheelfix-journal.json", True),
        ("pkg-1.0.data/data/Lib/site-packages/other-1.0.dist-info/wheelfix-journal.json", True),
        ("pkg/x.dll.wheelfix-dropped", True),
        ("pkg/.wheelfix-1234.tmp", True),
        ("pkg-1.0.dist-info/sboms/wheelfix.cdx.json", False),
        ("pkg/my-wheelfix-journal.json", False),
    ],
)
def test_a_file_that_poses_as_ours_is_found_and_left_out_by_a_repair(tmp_path, name, expected):
    """A wheel shipped the journal of a repair that never was; verify and scan were silent."""
    wheel = build_wheel(tmp_path, files={"pkg/__init__.py": "", name: "{}"})
    found = [finding for finding in verify(wheel).findings if finding.code == "WF132"]
    assert [finding.subject for finding in found] == ([name] if expected else [])
    assert [finding.code for finding in scan(wheel).findings if finding.code == "WF132"] == ["WF132"] * expected
    made = repair_wheel(wheel, RepairOptions(wheel_dir=tmp_path / "out")).output
    with zipfile.ZipFile(made) as archive:
        assert (name in archive.namelist()) is not expected
    assert not [finding for finding in verify(made).findings if finding.severity is Severity.ERROR]


Rows = list[list[str]]
ABC = "sha256=" + "A" * 43


def _changed(at: int, field: int, value: str) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        rows[at][field] = value
        return rows

    return change


RECORDS = {
    "row-missing": lambda rows: rows[1:],
    "row-orphan": lambda rows: [*rows, ["pkg/gone.dll", ABC, "7"]],
    "row-twice": lambda rows: [rows[0], *rows],
    "row-twice-other": lambda rows: [*rows, [rows[0][0], ABC, "7"]],
    "hash-stale": _changed(0, 1, ABC),
    "hash-missing": _changed(0, 1, ""),
    "hash-weak": _changed(0, 1, "md5=rL0Y20zC-Fzt72VPzMSk2A"),
    "hash-garbage": _changed(0, 1, "nothing"),
    "hash-padded": lambda rows: [[rows[0][0], rows[0][1] + "=", rows[0][2]], *rows[1:]],
    "size-stale": _changed(0, 2, "7"),
    "size-missing": _changed(0, 2, ""),
    "size-garbage": _changed(0, 2, "seven"),
    "own-hash": _changed(-1, 1, ABC),
    "backslash": _changed(0, 0, "pkg\\__init__.py"),
    "empty-line": lambda rows: [rows[0], [""], *rows[1:]],
    "fields": lambda rows: [[*rows[0], "more"], *rows[1:]],
    "unsafe": lambda rows: [*rows, ["../x", "", ""]],
}


def _drafts() -> Iterator[tuple[str, Draft]]:
    for name, rows in RECORDS.items():
        yield name, Draft(files=[Entry("pkg/__init__.py", b"x = 1\n")], rows=rows)
    yield "reserved-name", Draft(files=[Entry("pkg/__init__.py", b""), Entry("pkg/Wheelfix-Journal.json", b"{}")])
    yield "record-missing", Draft(files=[Entry("pkg/__init__.py", b"")], record=lambda _: None)
    yield "record-mark", Draft(files=[Entry("pkg/__init__.py", b"")], record=lambda data: b"\xef\xbb\xbf" + data)
    yield "dist-info-first", Draft(files=[Entry("pkg/__init__.py", b"")], entries=lambda entries: entries[::-1])
    signature = Entry("pkg-1.0.dist-info/RECORD.jws", b"{}")
    yield (
        "signature",
        Draft(files=[Entry("pkg/__init__.py", b"")], late=[signature], rows=lambda rows: rows[:-2] + rows[-1:]),
    )
    yield "signature-listed", Draft(files=[Entry("pkg/__init__.py", b"")], late=[signature])
    license_file = b"Metadata-Version: 2.4\nName: pkg\nVersion: 1.0\nLicense-File: LICENSE\n"
    yield "license", Draft(files=[Entry("pkg/__init__.py", b"")], metadata=license_file)
    yield "tag", Draft(files=[Entry("pkg/__init__.py", b"")], tag="py2.py3-none-any")
    yield "pycache", Draft(files=[Entry("pkg/__pycache__/x.pyc", b"")])
    for name in (
        "pkg-1.0.data/bogus/x",
        "pkg-1.0.data/platlib/pkg/__init__.py",
        "other-1.0.dist-info/x",
        "pkg/__INIT__.py",
    ):
        yield name, Draft(files=[Entry("pkg/__init__.py", b""), Entry(name, b"")])

    def deeper(entries: list[Entry]) -> list[Entry]:
        return [Entry(b"pkg-1.0/" + entry.raw_name, entry.data) for entry in entries]

    yield "too-deep", Draft(files=[Entry("pkg/__init__.py", b"")], entries=deeper)
    yield "requirement", Draft(metadata=b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Dist: x>>1\n")
    yield "version", Draft(metadata=b"Metadata-Version: 2.1\nName: pkg\nVersion: 2.0\n")
    yield "wheel-missing", Draft(wheel=None)


DRAFTS = dict(_drafts())


def broken_wheel(key: str, folder: Path) -> Path:
    if key in DRAFTS:
        return DRAFTS[key].write(folder)
    return write_wheel_by_hand(folder, CASES[key].entries, **CASES[key].options)


def findings(path: Path) -> tuple[Finding, ...]:
    try:
        return verify(path).findings
    except WheelfixError:
        return ()  # not a wheel at all, so that there is no hint


@pytest.mark.parametrize("key", [*DRAFTS, *CASES])
def test_the_command_in_a_hint_makes_the_finding_go(tmp_path, key, run):
    path = broken_wheel(key, tmp_path)
    before = findings(path)
    named = [finding for finding in before if "wheelfix repair" in finding.hint]
    assert all(finding.hint for finding in before)
    if not any(finding.severity is Severity.ERROR and finding.repairable is Repairable.NEVER for finding in before):
        helped = [one for one in before if one.severity is not Severity.INFO and one.repairable is not Repairable.NEVER]
        assert all(finding in named for finding in helped), "a repair that helps is named"
    if not named:
        return
    accepted = [finding.subject for finding in named if "--accept-missing FILE" in finding.hint]
    options = ["--no-discover", "-q", "-w", str(tmp_path / "out")]
    if accepted:
        assert main(["repair", str(path), *options]) == 1, "a file that was deleted is not hidden"
    run("repair", path, *options, *(f"--accept-missing={one}" for one in accepted))
    after = {(finding.code, finding.subject) for finding in verify(tmp_path / "out" / path.name).findings}
    assert not [finding for finding in named if (finding.code, finding.subject) in after]


def test_every_code_is_among_the_wheels(tmp_path):
    seen = {
        finding.code
        for key in [*DRAFTS, *CASES]
        for finding in findings(broken_wheel(key, tmp_path / key.replace("/", "-")))
    }
    # WF130 and WF134 need megabytes, and the hint of the first an option; tests/archive has them, and the variants.
    assert {rule.code for rule in all_rules() if rule.code < "WF2"} - {"WF129", "WF130", "WF131", "WF134"} <= seen


def test_several_data_descriptors_are_told_apart_by_who_refuses_them(tmp_path):
    """One that uv refuses must not hide behind one that only PyPI refuses."""
    plain, stored = (Entry(f"pkg/{n}.txt", b"text" * 9, method, both={"flags": 8}) for n, method in enumerate((8, 0)))
    refused = [finding.evidence["rejected_by"] for finding in findings(write_wheel_by_hand(tmp_path, [plain, stored]))]
    assert ["pypi"] in refused
    assert ["uv", "pypi"] in refused
