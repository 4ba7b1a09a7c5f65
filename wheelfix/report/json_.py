"""Reports for machines: what ``schemas/*.json`` describe, and the same bytes for the same input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import wheelfix
from wheelfix.report import safe
from wheelfix.schemas import written

if TYPE_CHECKING:
    from wheelfix.model import Json, JsonObject, ScanReport
    from wheelfix.report.document import Document


def dump(value: Json) -> str:
    """Return JSON text: indented, in ASCII, so that no console or pipe between us and the reader can spoil it.

    Nothing in it is a command for a CI system: ``#`` is doubled only in texts, where the second one can be escaped.
    """
    text = json.dumps(value, indent=2, ensure_ascii=True)
    if "\\ud" in text:
        text = json.dumps(safe.json(value), indent=2, ensure_ascii=True)
    return text.replace("##", "#\\u0023") + "\n"


def tool() -> JsonObject:
    """Return who wrote the document."""
    return {"name": "wheelfix", "version": wheelfix.__version__}


def render(name: str, **values: object) -> str:
    """Return a document, ``scan-1`` for ``wheelfix.scan/1``, over what its keys and their ``from`` name."""
    return dump(written({"tool": tool(), **values}, name))


def render_scan(document: Document) -> str:
    """Return the ``wheelfix.scan/1`` document; keys about failures are there only when something failed."""
    value: Any = written({"tool": tool(), "document": document}, "scan-1")
    for report, wheel in zip(document.reports, value["wheels"], strict=True):
        for finding, shown in zip(report.findings, wheel["findings"], strict=True):
            if document.context.known(report, finding):
                shown["known"] = True
    return dump(value)


def summary_value(document: Document) -> JsonObject:
    """Return the figures over all inputs."""
    return written(document, "scan-1", "summary")


def scan_value(report: ScanReport) -> JsonObject:
    """Return the report on one wheel as plain values."""
    return written(report, "scan-1", "wheel")
