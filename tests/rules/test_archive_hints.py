"""Hints of archive and RECORD findings are promises: the command that a hint names is run, and the finding is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.archive.byhand import Entry, write_wheel_by_hand
from tests.archive.drafts import Draft
from tests.archive.hostile import CASES
from wheelfix.cli.main import main
from wheelfix.errors import WheelfixError
from wheelfix.exam.verify import verify
from wheelfix.model import Repairable, Severity
from wheelfix.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wheelfix.model import Finding

Rows = list[list[str]]
ABC = "sha256=" + "A" * 43


def _changed(at: int, field: int, value: str) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        rows[at][field] = value
        return rows

    return change


RECORDS: dict[str, Callable[[Rows], Rows]] = {
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


def wheel(key: str, folder: Path) -> Path:
    if key in DRAFTS:
        return DRAFTS[key].write(folder)
    return write_wheel_by_hand(folder, CASES[key].entries, **CASES[key].options)


def findings(path: Path) -> tuple[Finding, ...]:
    try:
        return verify(path).findings
    except WheelfixError:
        return ()  # not a wheel at all, so that there is no hint


@pytest.mark.parametrize("key", [*DRAFTS, *CASES])
def test_the_command_in_a_hint_makes_the_finding_go(tmp_path: Path, key: str) -> None:
    path = wheel(key, tmp_path)
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
    assert main(["repair", str(path), *options, *(f"--accept-missing={one}" for one in accepted)]) == 0
    after = {(finding.code, finding.subject) for finding in verify(tmp_path / "out" / path.name).findings}
    assert not [finding for finding in named if (finding.code, finding.subject) in after]


def test_every_code_is_among_the_wheels(tmp_path: Path) -> None:
    seen = {
        finding.code for key in [*DRAFTS, *CASES] for finding in findings(wheel(key, tmp_path / key.replace("/", "-")))
    }
    # WF130 needs megabytes, and its hint an option; tests/archive has it, and the variants.
    assert {rule.code for rule in all_rules() if rule.code < "WF2"} - {"WF129", "WF130", "WF131"} <= seen


def test_several_data_descriptors_are_told_apart_by_who_refuses_them(tmp_path: Path) -> None:
    """One that uv refuses must not hide behind one that only PyPI refuses."""
    plain, stored = (Entry(f"pkg/{n}.txt", b"text" * 9, method, both={"flags": 8}) for n, method in enumerate((8, 0)))
    refused = [finding.evidence["rejected_by"] for finding in findings(write_wheel_by_hand(tmp_path, [plain, stored]))]
    assert ["pypi"] in refused
    assert ["uv", "pypi"] in refused
