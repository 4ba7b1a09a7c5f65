"""The places that DLLs could come from, as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.words import count
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from wheelfix.report.textstyle import TextStyle
    from wheelfix.roots.gather import Remark, RootRow
    from wheelfix.roots.root import Skipped


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
        _found(canvas, report)
    return canvas.text()


def _found(canvas: Canvas, report: RootsReport) -> None:
    canvas.blank()
    canvas.line((f"{', '.join(report.asked)}: {count(len(report.found), 'file')}", "head"))
    for path, version, origin in report.found:
        canvas.line((path, "good"), f"  {version}".rstrip(), indent=2)
        canvas.line((origin, "dim"), indent=4)
