"""The report of a scan for people: the verdict, the error that will come, what is missing, and what else is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, Machine, Malformed, ScanReport, Severity, dll_key
from wheelfix.report.document import DEFAULT, Context
from wheelfix.report.text.abi import draw_abi
from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.text.gpu import draw_gpu
from wheelfix.report.text.missing import draw_missing, is_listed, listed_missing
from wheelfix.report.text.signers import draw_signers
from wheelfix.report.text.styles import VERDICT_STYLES
from wheelfix.report.text.targets import draw_targets
from wheelfix.report.text.tree import draw_tree
from wheelfix.report.totals import severity_phrase
from wheelfix.report.words import count, import_statement, label, sentence
from wheelfix.rules.allowed import missing_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wheelfix.report.textstyle import TextStyle

HEADINGS = {
    Severity.ERROR: ("Errors", "bad"),
    Severity.UNSURE: ("Unsure", "warn"),
    Severity.WARNING: ("Warnings", "warn"),
    Severity.INFO: ("Info", "note"),
}
SHOWN = 5
"""Findings of one code that are shown in full without ``-v``."""


class Hints:
    """The hints of a run: each is printed once, however many wheels it is for."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def is_new(self, text: str) -> bool:
        """Whether a hint was not printed before; from now on it counts as printed."""
        if not text or text in self._printed:
            return False
        self._printed.add(text)
        return True


def render_scan(
    report: ScanReport,
    look: TextStyle,
    *,
    verbose: bool = False,
    quiet: bool = False,
    context: Context = DEFAULT,
    hints: Hints | None = None,
) -> str:
    """Return the report on one wheel; ``quiet`` leaves the verdict, ``verbose`` adds every resolved edge.

    A clean wheel is one line. ``hints`` are those of earlier reports, which are not repeated.
    """
    canvas = Canvas(look)
    verdict: Span = (report.verdict.value.upper(), VERDICT_STYLES[report.verdict])
    new = [finding for finding in report.findings if not context.known(report, finding)]
    if quiet:
        canvas.line(verdict, f"  {label(report)}", "  (nothing new)" if report.findings and not new else "")
        return canvas.text()
    canvas.ends((label(report), "name"), verdict)
    clean = not (verbose or report.findings or report.archs is not None or report.targets)
    if not clean:
        canvas.paragraph((_facts(report), "dim"))
    if new or not report.findings:
        _prediction(canvas, report)
    hints = hints or Hints()
    _findings(canvas, report, new, hints, verbose=verbose)
    draw_targets(canvas, report)
    draw_gpu(canvas, report)
    _known(canvas, [finding for finding in report.findings if context.known(report, finding)])
    if verbose:
        draw_abi(canvas, report)
        draw_signers(canvas, report)
        canvas.blank()
        canvas.line(("Who loads what", "head"))
        draw_tree(canvas, report)
    if not clean:
        canvas.blank()
        _totals(canvas, report, new, hints)
    return canvas.text()


def _facts(report: ScanReport) -> str:
    images = [item for item in report.images if not isinstance(item.facts, Malformed)]
    modules, programs = (sum(item.path.lower().endswith(end) for item in images) for end in (".pyd", ".exe"))
    tags = (
        report.tags[0]
        if len(report.tags) == 1
        else f"{report.tags[0]} and {len(report.tags) - 1} more"
        if report.tags
        else ""
    )
    known = [f"{report.name} {report.version}".strip(), tags]
    if report.machine is not Machine.UNKNOWN:  # verify does not look into DLLs
        known += [report.machine.value, count(len(images) - modules - programs, "DLL")]
        known += [count(modules, "extension module"), count(programs, "program") if programs else ""]
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


def _findings(canvas: Canvas, report: ScanReport, findings: Sequence[Finding], hints: Hints, *, verbose: bool) -> None:
    """Write what is missing, then the other findings by severity and code."""

    def hint(text: str, indent: int) -> None:
        if hints.is_new(text):
            canvas.paragraph(text, indent=indent, lead=("hint: ", "dim"))

    listed = listed_missing(report.missing, findings)
    draw_missing(canvas, report, listed, findings, hint, verbose=verbose)
    names = {dll_key(item.name) for item in listed}
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
            canvas.line((members[0].code, style), " ", (members[0].name, "name"), indent=2)
            _named(canvas, [member for member in members if is_listed(member, names)], verbose=verbose)
            _group(canvas, [member for member in members if not is_listed(member, names)], hint, verbose=verbose)


def _named(canvas: Canvas, findings: Sequence[Finding], *, verbose: bool) -> None:
    """Name the DLLs of findings that the list of missing DLLs shows in full."""
    names = list(dict.fromkeys(name for finding in findings for name in missing_names(finding)))
    if names:
        shown = names if verbose else names[:SHOWN]
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        canvas.paragraph(f"{', '.join(shown)}{more} (see Missing)", indent=4)


def _group(canvas: Canvas, findings: Sequence[Finding], hint: Callable[[str, int], None], *, verbose: bool) -> None:
    """Write the findings of one code; a hint that they share is written once, below them."""
    shown = findings if verbose else findings[:SHOWN]
    hints = list(dict.fromkeys(finding.hint for finding in shown if finding.hint))
    for finding in shown:
        canvas.paragraph(sentence(finding), indent=4)
        if len(hints) > 1:
            hint(finding.hint, 6)
    if len(findings) > len(shown):
        canvas.line((f"… and {len(findings) - len(shown)} more (-v shows all)", "dim"), indent=4)
    if len(hints) == 1:
        hint(hints[0], 4)


def _known(canvas: Canvas, findings: Sequence[Finding]) -> None:
    if findings:
        codes = list(dict.fromkeys(finding.code for finding in findings))
        canvas.blank()
        canvas.paragraph(", ".join(codes), lead=(f"Known, in the baseline ({len(findings)}): ", "dim"))


def _totals(canvas: Canvas, report: ScanReport, new: Sequence[Finding], hints: Hints) -> None:
    verdict: Span = (report.verdict.value, VERDICT_STYLES[report.verdict])
    fresh = "" if len(new) == len(report.findings) else f"; {len(new) or 'nothing'} new"
    canvas.line("Verdict: ", verdict, f" ({severity_phrase(report.findings)}{fresh})")
    worst = next((finding for finding in new if finding.severity is not Severity.INFO), None)
    if worst is not None and hints.is_new(worst.code):
        canvas.line((f"'wheelfix explain {worst.code}' says more.", "dim"))
