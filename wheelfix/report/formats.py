"""The kinds of report by name, each imported only when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol

from wheelfix.failures import failure_of
from wheelfix.model import Exports, Image, Import, ScannedImage, ScanReport
from wheelfix.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wheelfix.errors import WheelfixError
    from wheelfix.model import Finding


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be looked at, and why."""

    path: str
    error: WheelfixError


LEVELS = {"error": 3, "warning": 2, "info": 1, "never": 4}
"""From which severity on a finding fails the build: ``LEVELS[severity] >= LEVELS[fail_on]``."""


def nothing_known(report: ScanReport, finding: Finding) -> bool:
    """There is no baseline."""
    return False


@dataclass(frozen=True, slots=True)
class Context:
    """What a document should know beyond the reports: which findings count."""

    fail_on: str = "error"
    fail_on_of: Mapping[str, str] = field(default_factory=dict)
    """Where it is another for some inputs, by their paths."""
    known: Callable[[ScanReport, Finding], bool] = nothing_known
    """Whether a finding is in the baseline."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where vendored members came from, by their names in the wheel."""

    def fails(self, report: ScanReport, finding: Finding) -> bool:
        """Whether the finding makes the build fail."""
        level = self.fail_on_of.get(report.path, self.fail_on)
        return LEVELS[finding.severity.value] >= LEVELS[level] and not self.known(report, finding)


DEFAULT = Context()


class Renderer(Protocol):
    """What ``report/<kind>.py`` has as ``render_scan``."""

    def __call__(self, reports: Sequence[ScanReport], failures: Sequence[Failure], context: Context) -> str:
        """Return the whole document."""


MACHINE_KINDS = {
    "json": "wheelfix.report.json_",
    "sarif": "wheelfix.report.sarif",
    "github": "wheelfix.report.github",
    "junit": "wheelfix.report.junit",
    "markdown": "wheelfix.report.markdown",
    "html": "wheelfix.report.html",
}
"""Kinds that are one document over all inputs; ``text`` is written as the scan goes."""

SCAN_KINDS = ("text", *MACHINE_KINDS)


def _nobody(failure: Failure) -> None:
    """Nobody asked which reports cannot be drawn."""


def render(
    kind: str,
    reports: Sequence[ScanReport],
    failures: Sequence[Failure] = (),
    context: Context = DEFAULT,
    on_failure: Callable[[Failure], None] = _nobody,
) -> str:
    """Return the document of one kind over some reports; one that cannot be drawn becomes a failure in it."""
    if kind == "text":
        return _render_text(reports, failures)
    renderer: Renderer = importlib.import_module(MACHINE_KINDS[kind]).render_scan
    try:
        return renderer(reports, failures, context)
    except Exception:  # one report that cannot be drawn costs itself only
        sound, spoilt = _drawable(renderer, reports, context)
        if not spoilt:
            raise
        for failure in spoilt:
            on_failure(failure)
        return renderer(sound, [*failures, *spoilt], context)


def _drawable(
    renderer: Renderer, reports: Sequence[ScanReport], context: Context
) -> tuple[list[ScanReport], list[Failure]]:
    """Return the reports that a renderer can draw, and the failures of the others."""
    sound, spoilt = [], []
    for report in reports:
        try:
            renderer([report], (), context)
        except Exception as error:
            spoilt.append(Failure(report.path, failure_of(error, report.path)))
        else:
            sound.append(report)
    return sound, spoilt


def _render_text(reports: Sequence[ScanReport], failures: Sequence[Failure]) -> str:
    """Return the report for people as a file keeps it: Unicode, without colour."""
    from wheelfix.report.look import Look
    from wheelfix.report.text import render_scan, render_summary

    look = Look(unicode=True)
    parts = [render_scan(report, look) for report in reports]
    if len(reports) + len(failures) > 1:
        parts.append(render_summary(reports, len(failures), look))
    return "\n".join(parts)


def slim(report: ScanReport) -> ScanReport:
    """Return a report without symbol tables: what every renderer needs, small enough to keep a thousand of."""
    return replace(report, images=tuple(_slim_image(image) for image in report.images))


def _slim_image(image: ScannedImage) -> ScannedImage:
    facts = image.facts
    if not isinstance(facts, Image):
        return image
    facts = replace(
        facts,
        imports=tuple(Import(item.dll) for item in facts.imports),
        delay_imports=tuple(Import(item.dll) for item in facts.delay_imports),
        exports=Exports(),
    )
    return replace(image, facts=facts)
