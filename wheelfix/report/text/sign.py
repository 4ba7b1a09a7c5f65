"""What ``wheelfix sign`` has done with a wheel, or would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import TRUSTED
from wheelfix.report.text.canvas import Canvas

if TYPE_CHECKING:
    from wheelfix.repairs.sign import Signed, SignedFile
    from wheelfix.report.textstyle import TextStyle

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
            _group(canvas, title, [file for file in result.files if file.action == action])
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


def _group(canvas: Canvas, title: str, files: list[SignedFile]) -> None:
    if not files:
        return
    canvas.blank()
    canvas.line((f"{title} ({len(files)})", "head"))
    for file in files:
        canvas.line(file.path, indent=2)
        if file.signature is not None and file.signature.status != "unsigned":
            style = "dim" if file.signature.status == TRUSTED else "warn"
            canvas.paragraph((str(file.signature), style), indent=4)
