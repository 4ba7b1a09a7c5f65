"""What a repair and a signing will do or have done, and where DLLs could come from, as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import TRUSTED
from wheelfix.report.canvas import SEVERITY_STYLES, Canvas
from wheelfix.report.words import TRUST, count, human_size, sentence, way_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.plan.model import Addition, Plan
    from wheelfix.repairs.sign import Signed
    from wheelfix.report.canvas import Span, TextStyle
    from wheelfix.report.document import FailedInput, PlanReport
    from wheelfix.roots.gather import Remark, RootRow
    from wheelfix.roots.root import Skipped


def render_plan(report: PlanReport, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return what was done, or would be done; at its end how much it fixed, and what remains."""
    canvas, plan, outcome = Canvas(look), report.plan, report.outcome
    name = plan.wheel.path.replace("\\", "/").rpartition("/")[2]
    style = {"repaired": "good", "unchanged": "good", "planned": "warn"}.get(outcome, "bad")
    canvas.ends((name, "name"), (outcome.upper(), style))
    if not quiet:
        _draw_releases(canvas, plan)
        _draw_changes(canvas, plan, verbose=verbose)
        _draw_rest(canvas, plan)
    else:
        others = [f"{taken.toolkit} {taken.release}: {taken.because}" for taken in plan.releases if taken.other]
        canvas.labelled("warning ", *others, style="warn")
    if outcome == "planned":
        if not quiet:
            _draw_list(canvas, "Ways to have the DLLs of NVIDIA and Intel", [*map(way_words, plan.ways)])
        canvas.blank()
        canvas.labelled("Nothing would be written: ", *report.faults, style="bad")
        if not report.faults:
            what = "the wheel is written" if report.plan.output else "the installed package is changed"
            canvas.paragraph(f"Nothing was written. Without --dry-run {what} as shown.")
    elif report.target:
        if not quiet:
            canvas.blank()
        canvas.line(("-> ", "dim"), report.target)
    if not quiet:
        _draw_balance(canvas, report)
    return canvas.text()


def _draw_balance(canvas: Canvas, report: PlanReport) -> None:
    """Write how many findings the repair fixed, and those that remain; nothing where there were none."""
    fixed, remaining = len(report.fixed), report.remaining
    if (fixed or remaining) and report.outcome == "planned":
        canvas.line(f"{fixed} would be fixed, {len(remaining) or 'none'} would remain")
    elif fixed or remaining:
        canvas.line(f"{fixed} fixed, {len(remaining) or 'none'} remain{'s' if len(remaining) == 1 else ''}")
    for finding in remaining:
        severity = finding.severity.value
        canvas.paragraph((f"{finding.code} ", SEVERITY_STYLES[severity]), f"{severity}: {sentence(finding)}", indent=2)


def render_balance(reports: Sequence[PlanReport], failures: Sequence[FailedInput], look: TextStyle) -> str:
    """Return what became of several wheels: those with something left to do, and the figures."""
    canvas = Canvas(look)
    canvas.line(("Summary", "head"))
    rows: list[list[Span]] = [[("FAILED", "bad"), failure.words, (failure.path, "path")] for failure in failures]
    rows += [
        [(report.outcome.upper(), "warn"), f"{len(report.remaining)} remain", (report.plan.wheel.path, "path")]
        for report in reports
        if report.remaining
    ]
    canvas.table(rows, indent=2)
    outcomes = [*(report.outcome for report in reports), *(failure.words for failure in failures)]
    numbers = ", ".join(f"{outcomes.count(word)} {word}" for word in dict.fromkeys(outcomes))
    fixed, remaining = (sum(len(getattr(one, name)) for one in reports) for name in ("fixed", "remaining"))
    canvas.line(f"{count(len(outcomes), 'wheel')}: {numbers}; {fixed} fixed, {remaining} remain")
    return canvas.text()


def _draw_list(canvas: Canvas, title: str, lines: Sequence[str], most: int | None = None) -> None:
    """Write a section with its number of entries; nothing where there are none."""
    if lines:
        canvas.heading(f"{title} ({len(lines)})")
    for line in lines[:most]:
        canvas.paragraph(line, indent=2)
    if most is not None and len(lines) > most:
        canvas.line((f"and {len(lines) - most} more; -v shows all", "dim"), indent=2)


def _draw_releases(canvas: Canvas, plan: Plan) -> None:
    """The one release of each toolkit, and what was refused for it."""
    if plan.releases:
        canvas.heading(f"Releases ({len(plan.releases)})")
    for taken in plan.releases:
        if taken.release:
            canvas.paragraph(f"{taken.toolkit} {taken.release}: {taken.because}", indent=2)
        canvas.labelled("not ", *taken.refused, indent=4)


def _draw_changes(canvas: Canvas, plan: Plan, *, verbose: bool) -> None:
    if plan.additions:
        canvas.heading(f"Added ({len(plan.additions)}, {human_size(sum(one.size for one in plan.additions))})")
    for addition in plan.additions:
        if verbose or addition.kind != "family":
            _draw_addition(canvas, addition, verbose=verbose)
        parts = [one for one in plan.additions if one.kind == "family" and addition.name in one.serves]
        if parts and not verbose and addition.kind != "family":
            total = human_size(sum(part.size for part in parts))
            names = ", ".join(part.name for part in parts)
            canvas.paragraph(f"{names} ({total}; {parts[0].because})", indent=4, lead=("with ", "dim"))
    supplied = [f"{one.requirement}: {', '.join(one.names)} ({human_size(one.size)})" for one in plan.supplied]
    _draw_list(canvas, "Required instead", supplied)
    _draw_list(canvas, "Loads them first", plan.patched)
    _draw_list(canvas, "Dropped", [f"{drop.path}: {drop.because}" for drop in plan.drops])
    fixes = [f"{rename.old} -> {rename.new or '(top)'}: {rename.because}" for rename in plan.renames]
    most = None if verbose else len(fixes) + 10
    _draw_list(canvas, "Fixes", fixes + [f"{mend.code} {mend.subject}: {mend.what}" for mend in plan.mends], most)


def _draw_addition(canvas: Canvas, addition: Addition, *, verbose: bool) -> None:
    version = f"  {addition.version}" if addition.version else ""
    canvas.line((addition.target, "good"), (f"{version}  {human_size(addition.size)}", "dim"), indent=2)
    canvas.paragraph(addition.because, indent=4)
    source = addition.source
    rows = [("from ", f"{source.path}{f'!{source.member}' if source.member else ''} ({addition.chosen})")]
    rows += [("trusted ", TRUST.get(source.trust, source.trust))] if source.trust else []
    rows += [("warning ", warning) for warning in addition.warnings]
    if addition.signer:  # a lock of an earlier version has no answer, because that checked less
        rows.append(("signature ", addition.signature or "not-checked (planned by an earlier version)"))
    rows += [("not ", f"{rejected.path}: {rejected.reason}") for rejected in addition.rejected if verbose]
    for lead, text in rows:
        canvas.paragraph(text, indent=4, lead=(lead, "warn" if lead == "warning " else "dim"))
    if verbose:
        canvas.line((f"sha256 {addition.sha256 or 'not known before it is fetched'}", "dim"), indent=4)


def _draw_rest(canvas: Canvas, plan: Plan) -> None:
    """What was refused, what is still missing, and notes."""
    _draw_list(canvas, "Refused", [f"{refusal.name}: {refusal.because}" for refusal in plan.refused])
    required = [item for item in plan.remaining if item.required]
    if required:
        canvas.heading(f"Still missing ({len(required)})")
    for item in required:
        canvas.line((item.name, "bad"), ("  (allowed)" if item.allowed else "", "dim"), indent=2)
        canvas.paragraph(item.because, indent=4)
        canvas.labelled("comes with ", *item.providers[:3], indent=4)
    optional = [item.name for item in plan.remaining if not item.required]
    if optional:
        canvas.blank()
        canvas.paragraph(f"{count(len(optional), 'optional DLL')} left out: {', '.join(optional)}")
    canvas.labelled("note ", *plan.notes, style="warn")


# ------------------------------------------------------------------------------------------------------------- signing


HEADINGS = {
    "signed": "Signed",
    "to-sign": "To be signed",
    "kept": "Kept: they have a valid signature; --resign replaces it",
    "excluded": "Left out by --include or --exclude",
}


def render_signed(result: Signed, look: TextStyle, *, quiet: bool = False) -> str:
    """Return what became of each PE file of one wheel."""
    canvas = Canvas(look)
    name = result.path.replace("\\", "/").rpartition("/")[2]
    canvas.ends((name, "name"), (result.outcome.upper(), "warn" if result.outcome == "planned" else "good"))
    if not quiet:
        for action, title in HEADINGS.items():
            files = [file for file in result.files if file.action == action]
            if files:
                canvas.heading(f"{title} ({len(files)})")
            for file in files:
                canvas.line(file.path, indent=2)
                if file.signature is not None and file.signature.status != "unsigned":
                    style = "dim" if file.signature.status == TRUSTED else "warn"
                    canvas.paragraph((str(file.signature), style), indent=4)
        if not result.files:
            canvas.line("It has no PE file.", indent=2)
        canvas.labelled("note ", *result.notes)
        canvas.blank()
    if result.outcome == "planned":
        canvas.line("Nothing was started or written.")
    else:
        canvas.line(("-> ", "dim"), str(result.output))
    return canvas.text()


# --------------------------------------------------------------------------------------------------------------- roots


@dataclass(frozen=True, slots=True)
class RootsReport:
    """What ``wheelfix roots`` has to say."""

    rows: tuple[RootRow, ...]
    remarks: tuple[Remark, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    asked: tuple[str, ...] = ()
    """Names of DLLs that were asked for."""
    found: tuple[tuple[str, str, str], ...] = ()
    """Where they are: path, version, whose it is."""


def render_roots(report: RootsReport, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return the list; ``quiet`` leaves one line per root, ``verbose`` adds what was left out."""
    canvas = Canvas(look)
    for row in report.rows:
        canvas.line((f"{row.kind} {row.version}".strip(), "name"), f"  {row.path}")
        if quiet:
            continue
        canvas.line(("learned  ", "dim"), row.learned, indent=2)
        canvas.paragraph(", ".join(row.folders), indent=2, lead=("folders  ", "dim"))
        canvas.labelled("warning  ", *row.warnings, indent=2, style="warn")
        canvas.labelled("note     ", *row.notes, indent=2)
    if not report.rows:
        canvas.paragraph("No root was found. Name one with --root.")
    if report.remarks and not quiet:
        canvas.heading("Named, but not a root")
        for remark in report.remarks:
            canvas.paragraph(f"{remark.path}: {remark.reason}, {remark.learned}", indent=2)
    if report.skipped and verbose:
        canvas.heading("Left out")
        for item in report.skipped:
            canvas.paragraph(f"{item.path}: {item.reason}", indent=2)
    if report.asked:
        canvas.heading(f"{', '.join(report.asked)}: {count(len(report.found), 'file')}")
    for path, version, origin in report.found:
        canvas.line((path, "good"), f"  {version}".rstrip(), indent=2)
        canvas.line((origin, "dim"), indent=4)
    return canvas.text()
