"""What a repair and a signing will do or have done, and where DLLs could come from, as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import TRUSTED
from wheelfix.report.canvas import Canvas
from wheelfix.report.words import TRUST, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.plan.model import Addition, Plan
    from wheelfix.repairs.sign import Signed
    from wheelfix.report.canvas import TextStyle
    from wheelfix.roots.gather import Remark, RootRow
    from wheelfix.roots.root import Skipped

STEPS = ("B", "KB", "MB", "GB")


def size_text(size: float) -> str:
    """Bytes as people say them."""
    step = 0
    while size >= 1000 and step < len(STEPS) - 1:
        size, step = size / 1000, step + 1
    return f"{size:.0f} {STEPS[step]}" if step < 2 else f"{size:.1f} {STEPS[step]}"


def render_plan(
    plan: Plan,
    outcome: str,
    target: str,
    look: TextStyle,
    *,
    faults: Sequence[str] = (),
    verbose: bool = False,
    quiet: bool = False,
) -> str:
    """Return the plan; ``outcome`` is ``planned``, ``repaired`` or ``unchanged``, ``target`` where the wheel is.

    ``faults`` are what would keep a planned wheel from being written.
    """
    canvas = Canvas(look)
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
        canvas.blank()
        canvas.labelled("Nothing would be written: ", *faults, style="bad")
        if not faults:
            what = "the wheel is written" if plan.output else "the installed package is changed"
            canvas.paragraph(f"Nothing was written. Without --dry-run {what} as shown.")
    elif target:
        if not quiet:
            canvas.blank()
        canvas.line(("-> ", "dim"), target)
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
        canvas.heading(f"Added ({len(plan.additions)}, {size_text(sum(one.size for one in plan.additions))})")
    for addition in plan.additions:
        if verbose or addition.kind != "family":
            _draw_addition(canvas, addition, verbose=verbose)
        parts = [one for one in plan.additions if one.kind == "family" and addition.name in one.serves]
        if parts and not verbose and addition.kind != "family":
            total = size_text(sum(part.size for part in parts))
            names = ", ".join(part.name for part in parts)
            canvas.paragraph(f"{names} ({total}; {parts[0].because})", indent=4, lead=("with ", "dim"))
    _draw_list(canvas, "Dropped", [f"{drop.path}: {drop.because}" for drop in plan.drops])
    fixes = [f"{rename.old} -> {rename.new or '(top)'}: {rename.because}" for rename in plan.renames]
    most = None if verbose else len(fixes) + 10
    _draw_list(canvas, "Fixes", fixes + [f"{mend.code} {mend.subject}: {mend.what}" for mend in plan.mends], most)


def _draw_addition(canvas: Canvas, addition: Addition, *, verbose: bool) -> None:
    version = f"  {addition.version}" if addition.version else ""
    canvas.line((addition.target, "good"), (f"{version}  {size_text(addition.size)}", "dim"), indent=2)
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
        canvas.paragraph("No root was found. Name one with --root, --cuda, --cudnn, --oneapi or --conda.")
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
