"""The section of a report that lists the missing DLLs: who needs each, what happens, and where it could come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import EdgeKind, Severity, dll_key
from wheelfix.report.missinghint import missing_hints
from wheelfix.report.words import short_path
from wheelfix.rules.allowed import missing_names
from wheelfix.rules.themes import Theme, is_about

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from wheelfix.model import Finding, MissingDll, ScanReport
    from wheelfix.report.text.canvas import Canvas, Span

    Hint = Callable[[str, int], None]

KIND_WORDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}


def listed_missing(missing: Sequence[MissingDll], findings: Sequence[Finding]) -> list[MissingDll]:
    """Return the missing DLLs that the findings are about."""
    about = [finding for finding in findings if is_about(finding, Theme.MISSING, Theme.FORWARDER)]
    names = {dll_key(name) for finding in about for name in missing_names(finding)}
    return [
        item
        for item in missing
        if dll_key(item.name) in names or any(item.name in finding.message for finding in about)
    ]


def is_listed(finding: Finding, listed: Set[str]) -> bool:
    """Whether the section says everything that a finding does; ``listed`` are the folded names of its DLLs."""
    names = {dll_key(name) for name in missing_names(finding)}
    return is_about(finding, Theme.MISSING) and bool(names) and names <= listed


def draw_missing(
    canvas: Canvas,
    report: ScanReport,
    listed: Sequence[MissingDll],
    findings: Sequence[Finding],
    hint: Hint,
    *,
    verbose: bool,
) -> None:
    """Write required DLLs in full, and optional ones by name only, unless everything is asked for."""
    if not listed:
        return
    canvas.blank()
    canvas.line((f"Missing ({len(listed)})", "head"))
    shown = [item for item in listed if item.required or verbose or item.candidates]
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    fatal = {item.name for item in listed_missing(listed, errors)}
    for items, consequence in _alike(shown, _consequences(report, findings)):
        _entry(canvas, items, consequence, loaded=items[0].name in fatal)
    others = [item.name for item in listed if not (item.required or verbose or item.candidates)]
    if others:
        names = _joined([(name, "path") for name in others])
        canvas.paragraph(*names, (" (-v shows more)", "dim"), indent=2, lead=("optional: ", "dim"))
    for how in missing_hints(listed, report.machine):
        hint(how, 2)


def _consequences(report: ScanReport, findings: Sequence[Finding]) -> dict[str, str]:
    """Return what happens without each DLL, by its folded name, except where the prediction says it."""
    found: dict[str, str] = {}
    for finding in findings:
        for name in missing_names(finding):
            found.setdefault(dll_key(name), str(finding.evidence.get("consequence") or ""))
    if report.first_failure is not None:
        found.pop(dll_key(report.first_failure.chain[-1]) if report.first_failure.chain else "", None)
    return found


def _alike(items: Sequence[MissingDll], consequences: dict[str, str]) -> list[tuple[list[MissingDll], str]]:
    """Group the DLLs that the same files need in the same way; one with candidates is a group of its own."""
    groups: dict[object, tuple[list[MissingDll], str]] = {}
    for item in items:
        consequence = consequences.get(dll_key(item.name), "")
        key = (item.kind, item.required, item.needed_by, item.providers, consequence)
        groups.setdefault(item.name if item.candidates else key, ([], consequence))[0].append(item)
    return list(groups.values())


def _entry(canvas: Canvas, items: Sequence[MissingDll], consequence: str, *, loaded: bool) -> None:
    first = items[0]
    style = "bad" if loaded else "warn"
    # Where nothing is known to load the file that needs it, it is not known whether the DLL is required.
    need = "" if first.required and not loaded else ", required" if first.required else ", optional"
    canvas.paragraph(
        *_joined([(item.name, style) for item in items]), (f"  {KIND_WORDS[first.kind]}{need}", "dim"), indent=2
    )
    canvas.paragraph(*_some(first.needed_by), indent=4, lead=("needed by  ", "dim"))
    if consequence:
        canvas.paragraph(consequence, indent=4)
    for number, candidate in enumerate(first.candidates):
        lead = "found at   " if number == 0 else "           "
        version = f" {candidate.version}" if candidate.version else ""
        canvas.line((lead, "dim"), f"{candidate.path}{version}", indent=4)
        if candidate.reason:
            canvas.paragraph((candidate.reason, "dim"), indent=15)
    if first.providers and not first.candidates:
        canvas.paragraph("; ".join(first.providers), indent=4, lead=("comes with ", "dim"))


def _some(paths: Sequence[str], most: int = 4) -> list[Span]:
    rest = len(paths) - most
    return [*_joined([(short_path(path), "path") for path in paths[:most]]), f" and {rest} more" if rest > 0 else ""]


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with commas between them."""
    return [part for number, span in enumerate(spans) for part in ((", ", span) if number else (span,))]
