"""The kinds of report by name, each imported only when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol

from wheelfix.failures import failure_of
from wheelfix.model import Exports, Image, Import, Resolution, ScannedImage, ScanReport
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import DEFAULT, Context, FailedInput
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Renderer(Protocol):
    """The function of a kind of report."""

    def __call__(self, reports: Sequence[ScanReport], failures: Sequence[FailedInput], context: Context) -> str:
        """Return the whole document."""


MACHINE_KINDS = {
    "json": ("wheelfix.report.json_", "render_scan"),
    "sarif": ("wheelfix.report.sarif", "render_scan"),
    "github": ("wheelfix.report.ci", "render_github"),
    "junit": ("wheelfix.report.ci", "render_junit"),
    "markdown": ("wheelfix.report.ci", "render_markdown"),
    "html": ("wheelfix.report.html.scan", "render_scan"),
    "concise": ("wheelfix.report.ci", "render_concise"),
}
"""Module and function of the kinds that are one document over all inputs; ``text`` is written as the scan goes."""

SCAN_KINDS = ("text", *MACHINE_KINDS)


def _nobody(failure: FailedInput) -> None:
    """Takes note of nothing."""


def render(
    kind: str,
    reports: Sequence[ScanReport],
    failures: Sequence[FailedInput] = (),
    context: Context = DEFAULT,
    on_failure: Callable[[FailedInput], None] = _nobody,
) -> str:
    """Return the document of one kind over some reports; one that cannot be drawn becomes a failure in it."""
    if kind == "text":
        return _render_text(reports, failures, context)
    module, function = MACHINE_KINDS[kind]
    renderer: Renderer = getattr(importlib.import_module(module), function)
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
) -> tuple[list[ScanReport], list[FailedInput]]:
    """Return the reports that a renderer can draw, and the failures of the others."""
    sound, spoilt = [], []
    for report in reports:
        try:
            renderer([report], (), context)
        except Exception as error:
            spoilt.append(FailedInput(report.path, failure_of(error, report.path), "report"))
        else:
            sound.append(report)
    return sound, spoilt


def _render_text(reports: Sequence[ScanReport], failures: Sequence[FailedInput], context: Context) -> str:
    """Return the report for people as a file keeps it: Unicode, without colour."""
    from wheelfix.report.text import render_scan, render_summary

    look = TextStyle(unicode=True)
    parts = [render_scan(report, look, context=context) for report in reports]
    if len(reports) + len(failures) + len(context.skipped) > 1:
        parts.append(render_summary(reports, failures, look, context))
    return "\n".join(parts)


def slim(report: ScanReport) -> ScanReport:
    """Return a report without symbol tables: what every renderer needs, small enough to keep a thousand of."""
    return replace(report, images=tuple(_slim_image(image) for image in report.images))


def without_images(report: ScanReport) -> ScanReport:
    """Return a report with its findings and verdicts alone, which is what a summary needs."""
    return replace(report, images=(), resolution=Resolution())


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
