"""Who signed the DLLs of a wheel, for a person who asked for everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.words import count, short_path

if TYPE_CHECKING:
    from wheelfix.model import ScanReport
    from wheelfix.report.text.canvas import Canvas

_WORDS = {
    "unsigned": ("unsigned", "dim"),
    "bad-digest": ("changed since they were signed", "bad"),
    "unreadable": ("with a signature that cannot be read", "warn"),
}
"""How to say what is no name, and its style."""


def draw_signers(canvas: Canvas, report: ScanReport) -> None:
    """List every image under whoever signed it, unchanged since; nothing if nobody looked."""
    groups: dict[str, list[str]] = {}
    for image in report.images:
        if image.signer is not None:
            groups.setdefault(image.signer, []).append(short_path(image.path))
    if not groups:
        return
    canvas.blank()
    canvas.line(("Signed by", "head"))
    for signer in sorted(groups, key=lambda signer: (signer in _WORDS, signer.casefold())):
        words, style = _WORDS.get(signer, (signer, "name"))
        canvas.line((words, style), (f"  {count(len(groups[signer]), 'file')}", "dim"), indent=2)
        canvas.paragraph(", ".join(groups[signer]), indent=4)
