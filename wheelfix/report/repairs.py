"""What a repair and a signing will do or have done, and where DLLs could come from, as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import TRUSTED
from wheelfix.report.canvas import Canvas, Span
from wheelfix.report.words import TRUST, count
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.plan.model import Addition, Plan, Remaining
    from wheelfix.repairs.sign import Signed, SignedFile
    from wheelfix.report.canvas import TextStyle
    from wheelfix.roots.describe import RootRow
    from wheelfix.roots.gather import Remark
    from wheelfix.roots.rootfile import Skipped

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
        _releases(canvas, plan)
        _changes(canvas, plan, verbose=verbose)
        _leftovers(canvas, plan)
    if outcome == "planned":
        canvas.blank()
        for fault in faults:
            canvas.paragraph(fault, lead=("Nothing would be written: ", "bad"))
        if not faults:
            canvas.paragraph("Nothing was written. Without --dry-run the wheel is written as shown.")
    elif target:
        if not quiet:
            canvas.blank()
        canvas.line(("-> ", "dim"), target)
    return canvas.text()


def _releases(canvas: Canvas, plan: Plan) -> None:
    """The one release of each toolkit, and what was refused for it."""
    if plan.releases:
        canvas.blank()
        canvas.line((f"Releases ({len(plan.releases)})", "head"))
    for taken in plan.releases:
        if taken.release:
            canvas.paragraph(f"{taken.toolkit} {taken.release}: {taken.because}", indent=2)
        for refused in taken.refused:
            canvas.paragraph(refused, indent=4, lead=("not ", "dim"))


def _changes(canvas: Canvas, plan: Plan, *, verbose: bool) -> None:
    if plan.additions:
        total = size_text(sum(addition.size for addition in plan.additions))
        canvas.blank()
        canvas.line((f"Added ({len(plan.additions)}, {total})", "head"))
        for addition in plan.additions:
            if verbose or addition.kind != "family":
                _addition(canvas, addition, verbose=verbose)
                if not verbose:
                    _family(canvas, addition, plan)
    if plan.drops:
        canvas.blank()
        canvas.line((f"Dropped ({len(plan.drops)})", "head"))
        for drop in plan.drops:
            canvas.paragraph(f"{drop.path}: {drop.because}", indent=2)
    if plan.mends or plan.renames:
        canvas.blank()
        canvas.line((f"Fixes ({len(plan.mends) + len(plan.renames)})", "head"))
        for rename in plan.renames:
            canvas.paragraph(f"{rename.old} -> {rename.new or '(top)'}: {rename.because}", indent=2)
        shown = plan.mends if verbose else plan.mends[:10]
        for mend in shown:
            canvas.paragraph(f"{mend.code} {mend.subject}: {mend.what}", indent=2)
        if len(plan.mends) > len(shown):
            canvas.line((f"and {len(plan.mends) - len(shown)} more; -v shows all", "dim"), indent=2)


def _addition(canvas: Canvas, addition: Addition, *, verbose: bool) -> None:
    version = f"  {addition.version}" if addition.version else ""
    canvas.line((addition.target, "good"), (f"{version}  {size_text(addition.size)}", "dim"), indent=2)
    canvas.paragraph(addition.because, indent=4)
    where = addition.source.path + (f"!{addition.source.member}" if addition.source.member else "")
    canvas.paragraph(f"{where} ({addition.chosen})", indent=4, lead=("from ", "dim"))
    if addition.source.trust:
        canvas.paragraph(TRUST.get(addition.source.trust, addition.source.trust), indent=4, lead=("trusted ", "dim"))
    for warning in addition.warnings:
        canvas.paragraph(warning, indent=4, lead=("warning ", "warn"))
    if addition.signer:  # a lock of an earlier version has no answer, because that checked less
        answer = addition.signature or "not-checked (planned by an earlier version)"
        canvas.paragraph(answer, indent=4, lead=("signature ", "dim"))
    if verbose:
        for rejected in addition.rejected:
            canvas.paragraph(f"{rejected.path}: {rejected.reason}", indent=4, lead=("not ", "dim"))
        canvas.line((f"sha256 {addition.sha256 or 'not known before it is fetched'}", "dim"), indent=4)


def _family(canvas: Canvas, leader: Addition, plan: Plan) -> None:
    """The parts that came along with a DLL, on one line."""
    parts = [a for a in plan.additions if a.kind == "family" and leader.name in a.serves]
    if parts:
        total = size_text(sum(part.size for part in parts))
        names = ", ".join(part.name for part in parts)
        canvas.paragraph(f"{names} ({total}; {parts[0].because})", indent=4, lead=("with ", "dim"))


def _leftovers(canvas: Canvas, plan: Plan) -> None:
    if plan.refused:
        canvas.blank()
        canvas.line((f"Refused ({len(plan.refused)})", "head"))
        for refusal in plan.refused:
            canvas.paragraph(f"{refusal.name}: {refusal.because}", indent=2)
    required = [item for item in plan.remaining if item.required]
    if required:
        canvas.blank()
        canvas.line((f"Still missing ({len(required)})", "head"))
        for item in required:
            _remaining(canvas, item)
    optional = [item.name for item in plan.remaining if not item.required]
    if optional:
        canvas.blank()
        canvas.paragraph(f"{count(len(optional), 'optional DLL')} left out: {', '.join(optional)}")
    for note in plan.notes:
        canvas.paragraph(note, lead=("note ", "warn"))


def _remaining(canvas: Canvas, item: Remaining) -> None:
    allowed = "  (allowed)" if item.allowed else ""
    canvas.line((item.name, "bad"), (allowed, "dim"), indent=2)
    canvas.paragraph(item.because, indent=4)
    for provider in item.providers[:3]:
        canvas.paragraph(provider, indent=4, lead=("comes with ", "dim"))


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
            _signed_group(canvas, title, [file for file in result.files if file.action == action])
        if not result.files:
            canvas.line("It has no PE file.", indent=2)
        for note in result.notes:
            canvas.paragraph(note, lead=("note ", "dim"))
        canvas.blank()
    if result.outcome == "planned":
        canvas.line("Nothing was started or written.")
    else:
        canvas.line(("-> ", "dim"), str(result.output))
    return canvas.text()


def _signed_group(canvas: Canvas, title: str, files: list[SignedFile]) -> None:
    if not files:
        return
    canvas.blank()
    canvas.line((f"{title} ({len(files)})", "head"))
    for file in files:
        canvas.line(file.path, indent=2)
        if file.signature is not None and file.signature.status != "unsigned":
            style = "dim" if file.signature.status == TRUSTED else "warn"
            canvas.paragraph((str(file.signature), style), indent=4)


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
        title: list[Span] = [(f"{row.kind} {row.version}".strip(), "name"), f"  {row.path}"]
        canvas.line(*title)
        if quiet:
            continue
        canvas.line(("learned  ", "dim"), row.learned, indent=2)
        canvas.paragraph(", ".join(row.folders), indent=2, lead=("folders  ", "dim"))
        for warning in row.warnings:
            canvas.paragraph(warning, indent=2, lead=("warning  ", "warn"))
        for note in row.notes:
            canvas.paragraph(note, indent=2, lead=("note     ", "dim"))
    if not report.rows:
        canvas.paragraph("No root was found. Name one with --root, --cuda, --cudnn, --oneapi or --conda.")
    if report.remarks and not quiet:
        canvas.blank()
        canvas.line(("Named, but not a root", "head"))
        for remark in report.remarks:
            canvas.paragraph(f"{remark.path}: {remark.reason}, {remark.learned}", indent=2)
    if report.skipped and verbose:
        canvas.blank()
        canvas.line(("Left out", "head"))
        for item in report.skipped:
            canvas.paragraph(f"{item.path}: {item.reason}", indent=2)
    if report.asked:
        _found_dlls(canvas, report)
    return canvas.text()


def _found_dlls(canvas: Canvas, report: RootsReport) -> None:
    canvas.blank()
    canvas.line((f"{', '.join(report.asked)}: {count(len(report.found), 'file')}", "head"))
    for path, version, origin in report.found:
        canvas.line((path, "good"), f"  {version}".rstrip(), indent=2)
        canvas.line((origin, "dim"), indent=4)
