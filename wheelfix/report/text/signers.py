"""Who signed the DLLs of a wheel, for a person who asked for everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.words import count, short_path

if TYPE_CHECKING:
    from wheelfix.model import ScanReport
    from wheelfix.report.text.canvas import Canvas

_STYLES = {"trusted": "good", "untrusted-root": "warn", "invalid": "bad", "not-checked": "warn", "unsigned": "dim"}
"""The answers in the order in which they are listed, with their styles."""


def draw_signers(canvas: Canvas, report: ScanReport) -> None:
    """List every image under the answer about its signature and the signer's name; nothing if none was checked."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for image in report.images:
        if image.signature is not None:
            found = image.signature
            groups.setdefault((found.status, found.signer, found.reason), []).append(short_path(image.path))
    if not groups:
        return
    canvas.blank()
    canvas.line(("Signatures", "head"))
    order = list(_STYLES)
    for status, signer, reason in sorted(groups, key=lambda key: (order.index(key[0]), key[1].casefold(), key[2])):
        paths = groups[status, signer, reason]
        name = (f"  {signer}", "name") if signer else ""
        canvas.line((status, _STYLES[status]), name, (f"  {count(len(paths), 'file')}", "dim"), indent=2)
        if reason:
            canvas.paragraph(reason, indent=4)
        canvas.paragraph(", ".join(paths), indent=4)
