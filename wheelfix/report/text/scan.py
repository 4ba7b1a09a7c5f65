"""What a scan found, told to a person: the verdict, the error that will come, what lacks, and what else is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import EdgeKind, Finding, Machine, Malformed, MissingDll, ScanReport, Severity
from wheelfix.report.document import DEFAULT, Context
from wheelfix.report.missinghint import missing_hints
from wheelfix.report.text.abi import draw_abi
from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.text.gpu import draw_gpu
from wheelfix.report.text.signers import draw_signers
from wheelfix.report.text.summary import VERDICT_STYLES
from wheelfix.report.text.tree import draw_tree
from wheelfix.report.totals import severity_phrase
from wheelfix.report.words import count, import_statement, label, sentence, short_path
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.report.textstyle import TextStyle

HEADINGS = {
    Severity.ERROR: ("Errors", "bad"),
    Severity.UNSURE: ("Could not tell", "warn"),
    Severity.WARNING: ("Warnings", "warn"),
    Severity.INFO: ("Info", "note"),
}
SHOWN = 5
"""Findings of one code that are told in full without ``-v``."""


def render_scan(
    report: ScanReport, look: TextStyle, *, verbose: bool = False, quiet: bool = False, context: Context = DEFAULT
) -> str:
    """Return the report on one wheel; ``quiet`` leaves the verdict, ``verbose`` adds every resolved edge."""
    canvas = Canvas(look)
    verdict: Span = (report.verdict.value.upper(), VERDICT_STYLES[report.verdict])
    new = [finding for finding in report.findings if not context.known(report, finding)]
    if quiet:
        canvas.line(verdict, f"  {label(report)}", "  (nothing new)" if report.findings and not new else "")
        return canvas.text()
    canvas.ends((label(report), "name"), verdict)
    canvas.paragraph((_facts(report), "dim"))
    _prediction(canvas, report)
    fresh = {finding.subject for finding in new}
    known = {finding.subject for finding in report.findings} - fresh
    _missing(canvas, [item for item in report.missing if item.name not in known], report.machine, verbose=verbose)
    told = frozenset() if verbose else frozenset(item.name for item in report.missing if item.required)
    _findings(canvas, new, told, verbose=verbose)
    draw_gpu(canvas, report)
    _known(canvas, [finding for finding in report.findings if context.known(report, finding)])
    if verbose:
        draw_abi(canvas, report)
        draw_signers(canvas, report)
        canvas.blank()
        canvas.line(("Who loads what", "head"))
        draw_tree(canvas, report)
    canvas.blank()
    _totals(canvas, report, new)
    return canvas.text()


def _facts(report: ScanReport) -> str:
    images = [item for item in report.images if not isinstance(item.facts, Malformed)]
    modules = sum(1 for item in images if item.path.lower().endswith(".pyd"))
    tags = (
        report.tags[0]
        if len(report.tags) == 1
        else f"{report.tags[0]} and {len(report.tags) - 1} more"
        if report.tags
        else ""
    )
    known = [f"{report.name} {report.version}".strip(), tags]
    if report.machine is not Machine.UNKNOWN:  # verify does not look into DLLs
        known += [report.machine.value, f"{count(len(images) - modules, 'DLL')}, {count(modules, 'extension module')}"]
    return ", ".join(part for part in known if part)


def _prediction(canvas: Canvas, report: ScanReport) -> None:
    failure = report.first_failure
    if failure is None:
        return
    canvas.blank()
    canvas.line((import_statement(report), "name"), " will raise:")
    canvas.line((failure.message, "bad"), indent=2)
    if len(failure.chain) > 1:
        canvas.paragraph(*_chain(failure.chain), indent=2, lead=("because: ", "dim"))
    if failure.explanation:
        canvas.paragraph(failure.explanation, indent=2)


def _chain(chain: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    for number, name in enumerate(chain):
        last = number == len(chain) - 1
        spans += [" → "] if number else []
        spans.append((name, "bad" if last else "name"))
    return spans


KIND_WORDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}


def _missing(canvas: Canvas, missing: Sequence[MissingDll], machine: Machine, *, verbose: bool) -> None:
    """Tell what must be there in full; what may be there only by name, unless everything is asked for."""
    if not missing:
        return
    canvas.blank()
    canvas.line((f"Missing ({len(missing)})", "head"))
    told, untold = list[MissingDll](), list[str]()
    for item in missing:
        if item.required or verbose or item.candidates:
            told.append(item)
        else:
            untold.append(item.name)
    for item in told:
        need = "required" if item.required else "optional"
        canvas.line(
            (item.name, "bad" if item.required else "warn"), (f"  {KIND_WORDS[item.kind]}, {need}", "dim"), indent=2
        )
        canvas.paragraph(_some(item.needed_by), indent=4, lead=("needed by  ", "dim"))
        for number, candidate in enumerate(item.candidates):
            lead = "found at   " if number == 0 else "           "
            version = f" {candidate.version}" if candidate.version else ""
            canvas.line((lead, "dim"), f"{candidate.path}{version}", indent=4)
            if candidate.reason:
                canvas.paragraph((candidate.reason, "dim"), indent=15)
        if item.providers and not item.candidates:
            canvas.paragraph("; ".join(item.providers), indent=4, lead=("comes with ", "dim"))
    if untold:
        canvas.paragraph(", ".join(untold), (" (-v tells more)", "dim"), indent=2, lead=("optional: ", "dim"))
    for how in missing_hints(missing, machine):
        canvas.paragraph(how, indent=2, lead=("hint: ", "dim"))


def _some(paths: Sequence[str], most: int = 4) -> str:
    shown = [short_path(path) for path in paths[:most]]
    rest = len(paths) - most
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def _findings(canvas: Canvas, findings: Sequence[Finding], told: frozenset[str], *, verbose: bool) -> None:
    """Tell the findings by severity and code; where a DLL comes from was ``told`` with what is missing."""
    for severity, (heading, style) in HEADINGS.items():
        chosen = [finding for finding in findings if finding.severity is severity]
        if not chosen:
            continue
        canvas.blank()
        canvas.line((f"{heading} ({len(chosen)})", "head"))
        groups: dict[str, list[Finding]] = {}
        for finding in chosen:
            groups.setdefault(finding.code, []).append(finding)
        for members in groups.values():
            _group(canvas, [_unhinted(member, told) for member in members], style, verbose=verbose)


def _unhinted(finding: Finding, told: frozenset[str]) -> Finding:
    return replace(finding, hint="") if finding.subject in told else finding


def _group(canvas: Canvas, findings: Sequence[Finding], style: str, *, verbose: bool) -> None:
    """Tell the findings of one code; a hint that they share is said once."""
    first = findings[0]
    canvas.line((first.code, style), " ", (first.name, "name"), indent=2)
    shown = findings if verbose else findings[:SHOWN]
    hints = list(dict.fromkeys(finding.hint for finding in shown if finding.hint))
    for finding in shown:
        canvas.paragraph(sentence(finding), indent=4)
        if len(hints) > 1 and finding.hint:
            canvas.paragraph(finding.hint, indent=6, lead=("hint: ", "dim"))
    if len(findings) > len(shown):
        canvas.line((f"… and {len(findings) - len(shown)} more (-v shows all)", "dim"), indent=4)
    if len(hints) == 1:
        canvas.paragraph(hints[0], indent=4, lead=("hint: ", "dim"))


def _known(canvas: Canvas, findings: Sequence[Finding]) -> None:
    if findings:
        codes = list(dict.fromkeys(finding.code for finding in findings))
        canvas.blank()
        canvas.paragraph(", ".join(codes), lead=(f"Known, in the baseline ({len(findings)}): ", "dim"))


def _totals(canvas: Canvas, report: ScanReport, new: Sequence[Finding]) -> None:
    verdict: Span = (report.verdict.value, VERDICT_STYLES[report.verdict])
    fresh = "" if len(new) == len(report.findings) else f"; {len(new) or 'nothing'} new"
    canvas.line("Verdict: ", verdict, f" ({severity_phrase(report.findings)}{fresh})")
    worst = next((finding for finding in new if finding.severity is not Severity.INFO), None)
    if worst is not None:
        canvas.line((f"'wheelfix explain {worst.code}' tells more.", "dim"))
