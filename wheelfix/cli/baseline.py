"""Findings that are known: they do not fail a build, new ones do, and entries that are no longer true are reported.

A finding is known again by distribution, code and subject, and by what tells findings of one subject apart (who
imports, which symbols' target). Where one finding gathers several members, all of them must be known. Versions,
sizes and wording play no part, so that a baseline outlives releases of the wheel and of wheelfix.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.base.parsing import read_json, with_schema
from wheelfix.base.values import as_tree, field, from_tree, frozen, grouped
from wheelfix.errors import InputError, UsageError
from wheelfix.model import Finding, ScanReport, Severity, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SCHEMA = "wheelfix.baseline/1"
TELLING = ("importer", "target", "dll")
"""Evidence that tells two findings of one code and subject apart."""
_WORST_FIRST = tuple(Severity)


@frozen
class KnownFinding:
    """One known finding."""

    distribution: str
    code: str
    severity: Severity
    subject: str
    detail: str = ""
    paths: tuple[str, ...] = ()
    """The members that the finding gathers, where it gathers some."""

    @classmethod
    def from_finding(cls, report: ScanReport, finding: Finding) -> KnownFinding:
        """Return what a baseline keeps of a finding."""
        version = f"-{report.version}.dist-info"
        paths = finding.evidence.get("paths")
        gathered = tuple(sorted(_plain(str(path), version) for path in paths)) if isinstance(paths, list) else ()
        return cls(
            canonical(report.name),
            finding.code,
            finding.severity,
            "" if gathered else _plain(finding.subject, version),
            "; ".join(str(finding.evidence[key]) for key in TELLING if key in finding.evidence),
            gathered,
        )

    def covers(self, other: KnownFinding) -> bool:
        """Whether a finding of the same code is known by this one: about the same, and not worse than it was."""
        if _WORST_FIRST.index(other.severity) < _WORST_FIRST.index(self.severity):
            return False
        if other.paths:
            return set(other.paths) <= set(self.paths)
        return (self.subject, self.detail) == (other.subject, other.detail)


def _plain(subject: str, version: str) -> str:
    """Return a subject without the version that a release changes."""
    return subject.replace(version, ".dist-info")


@frozen
class Baseline:
    """The findings that are known."""

    entries: tuple[KnownFinding, ...] = ()
    _by_code: dict[tuple[str, str], list[KnownFinding]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for entry in self.entries:
            self._by_code.setdefault((entry.distribution, entry.code), []).append(entry)

    @classmethod
    def of(cls, reports: Iterable[ScanReport]) -> Baseline:
        """Return a baseline that knows everything these reports found."""
        found = {KnownFinding.from_finding(report, finding) for report in reports for finding in report.findings}
        return cls(tuple(sorted(found, key=attrgetter("distribution", "code", "subject", "detail", "paths"))))

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Return the baseline in a file; InputError when it holds none."""
        try:
            document = read_json(path)
        except FileNotFoundError as error:
            raise UsageError(f"there is no baseline {path}", hint="--write-baseline makes it") from error
        except ValueError as error:
            raise InputError(f"{path} is not a baseline", because=error) from error
        found = with_schema(document, SCHEMA, f"{path} is not a baseline")
        try:
            return cls(from_tree(tuple[KnownFinding, ...], found.get("findings"), "findings", others=True))
        except ValueError as error:
            raise InputError(f"{path} is not a baseline", because=error) from error

    def render(self) -> str:
        """Return the file's text: an entry to a line, so that a change is a change of lines."""
        rows = [
            json.dumps({key: item for key, item in as_tree(entry).items() if item or key == "subject"})
            for entry in self.entries
        ]
        body = "\n" + ",\n".join(f"    {row}" for row in rows) + "\n  " if rows else ""
        return f'{{\n  "schema": "{SCHEMA}",\n  "findings": [{body}]\n}}\n'

    def knows(self, report: ScanReport, finding: Finding) -> bool:
        """Whether a finding is in the baseline, and not worse than it was."""
        entry = KnownFinding.from_finding(report, finding)
        return any(known.covers(entry) for known in self._by_code.get((entry.distribution, entry.code), ()))

    def stale(self, reports: Sequence[ScanReport]) -> tuple[KnownFinding, ...]:
        """Return the entries about the distributions of these reports that no finding answers to any more."""
        seen = {canonical(report.name) for report in reports}
        known = (KnownFinding.from_finding(report, finding) for report in reports for finding in report.findings)
        found = grouped(((entry.distribution, entry.code), entry) for entry in known)
        return tuple(
            entry
            for entry in self.entries
            if entry.distribution in seen
            and not any(_alike(entry, other) for other in found.get((entry.distribution, entry.code), ()))
        )


def _alike(entry: KnownFinding, other: KnownFinding) -> bool:
    """Whether a finding is the one that an entry is about, with whatever severity it has by now."""
    if entry.paths or other.paths:
        return bool(set(entry.paths) & set(other.paths))
    return (entry.subject, entry.detail) == (other.subject, other.detail)
