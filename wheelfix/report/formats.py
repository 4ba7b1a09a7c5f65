"""The kinds of report by name, each imported only when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.errors import failure_of
from wheelfix.model import Exports, Image, Import, Resolution, ScannedImage, ScanReport
from wheelfix.report.document import DEFAULT, Context, Document, FailedInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


KINDS = {
    "text": ("wheelfix.report.text", "render_document"),
    "json": ("wheelfix.report.json_", "render_scan"),
    "sarif": ("wheelfix.report.sarif", "render_scan"),
    "github": ("wheelfix.report.ci", "render_github"),
    "junit": ("wheelfix.report.ci", "render_junit"),
    "markdown": ("wheelfix.report.ci", "render_markdown"),
    "html": ("wheelfix.report.html.scan", "render_scan"),
    "concise": ("wheelfix.report.ci", "render_concise"),
}
"""Module and function of each kind, which make one document of all inputs; ``scan`` writes text as it goes."""

SCAN_KINDS = tuple(KINDS)


def render(
    kind: str,
    reports: Sequence[ScanReport],
    failures: Sequence[FailedInput] = (),
    context: Context = DEFAULT,
    on_failure: Callable[[FailedInput], None] = lambda failure: None,
) -> str:
    """Return the document of one kind over some reports; one that cannot be drawn becomes a failure in it."""
    module, function = KINDS[kind]
    renderer: Callable[[Document], str] = getattr(importlib.import_module(module), function)
    try:
        return renderer(Document(reports, failures, context))
    except Exception:  # one report that cannot be drawn costs itself only
        sound, spoilt = [], []
        for report in reports:
            try:
                renderer(Document([report], (), context))
            except Exception as error:
                spoilt.append(FailedInput(report.path, failure_of(error, report.path), "report"))
                on_failure(spoilt[-1])
            else:
                sound.append(report)
        if not spoilt:
            raise
        return renderer(Document(sound, [*failures, *spoilt], context))


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
