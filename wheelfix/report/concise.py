"""One line for each finding, as editors, grep and people who use linters expect: ``path: CODE severity message``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.document import DEFAULT, Context, FailedInput
from wheelfix.report.safe import legible, without_commands
from wheelfix.report.words import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import ScanReport


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
    """Return the findings that are not in the baseline, in the order of the inputs, then the inputs that failed."""
    lines = [
        f"{report.path}: {finding.code} {finding.severity} {sentence(finding)}"
        for report in reports
        for finding in report.findings
        if not context.known(report, finding)
    ]
    lines += [f"{failure.path}: error: {failure.words}: {failure.error}" for failure in failures]
    return without_commands("".join(f"{legible(line)}\n" for line in lines))
