"""The GPU code of a wheel and its CUDA as text: a line for DLLs that are alike, a paragraph for the rest."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import NVIDIA, vendor_of
from wheelfix.knowledge.families import family_of
from wheelfix.rules.themes import Theme, is_about

if TYPE_CHECKING:
    from wheelfix.model import GpuFit, ScannedImage, ScanReport
    from wheelfix.report.text.canvas import Canvas

FITS: dict[str, tuple[str, str]] = {
    "native": ("native", "good"),
    "same-major": ("same major", "good"),
    "ptx": ("PTX only", "warn"),
    "none": ("nothing", "bad"),
    "left-over": ("no kernels", "dim"),
}
"""How the code of a DLL fits a card, in words and with a style; best first."""
_OTHER_FITS = {"same-major": ("runs", "good"), "ptx": ("SPIR-V", "warn")}
"""The same for cards of AMD and Intel, which need other words."""


def draw_gpu(canvas: Canvas, report: ScanReport) -> None:
    """Write which GPU code there is, when asked for; and about CUDA then, or when something is wrong with it."""
    asked = report.archs is not None
    doubtful = any(is_about(finding, Theme.PARTIAL_CUDA, Theme.OTHER_CUDA) for finding in report.findings)
    if report.cuda is not None and (asked or doubtful):
        canvas.blank()
        canvas.line(("CUDA", "head"))
        canvas.paragraph(report.cuda.text, indent=2)
    if not asked:
        return
    groups = _groups(report)
    card = next((image.gpu for group in groups for image in group if image.gpu is not None), None)
    canvas.blank()
    if not groups:
        canvas.line(("GPU code", "head"), "  none of the DLLs has any")
    elif card is None:
        _listed(canvas, report, groups)
    else:
        _fitted(canvas, card, groups)


def _listed(canvas: Canvas, report: ScanReport, groups: list[list[ScannedImage]]) -> None:
    canvas.line(
        ("GPU code", "head"), ("  SASS is machine code, PTX is compiled by the driver; 86 stands for sm_86", "dim")
    )
    canvas.table([[(_label(group), "name"), spell_archs(group[0].archs or ())] for group in groups], indent=2)
    if len(groups) > 1:
        canvas.paragraph(spell_archs(report.archs or ()), indent=2, lead=("all together: ", "dim"))


def _fitted(canvas: Canvas, card: GpuFit, groups: list[list[ScannedImage]]) -> None:
    """Say for each DLL whether its code runs on the card, best first."""
    asked_as = "" if card.card == card.arch else f" ({card.card})"
    canvas.line((f"GPU code for {card.arch}{asked_as}", "head"))
    width = max(len(word) for word, _ in FITS.values()) + 2
    for fit in FITS:
        for group in groups:
            if group[0].gpu is not None and group[0].gpu.fit == fit:
                word, style = _word(group[0], card.arch)
                canvas.paragraph((", ".join(_names(group)), "name"), indent=2, lead=(word.ljust(width), style))
                canvas.paragraph((spell_archs(group[0].archs or ()), "dim"), indent=2 + width)


def _word(image: ScannedImage, card: str) -> tuple[str, str]:
    """Return how the code of a DLL fits a card, in a word, and the style for it."""
    assert image.gpu is not None
    vendor = vendor_of(card)
    if all(vendor_of(arch) != vendor for arch in image.archs or ()):
        return f"not {vendor}", "dim"
    if vendor != NVIDIA and image.gpu.fit in _OTHER_FITS:
        return _OTHER_FITS[image.gpu.fit]
    return FITS[image.gpu.fit]


def spell_archs(archs: tuple[str, ...]) -> str:
    """Return ``SASS 50 86, PTX 86`` for ``sm_50``, ``sm_86`` and ``ptx_86``; ``AMD gfx1100``, ``Intel pvc, SPIR-V``."""
    parts = []
    for word, prefix in (("SASS", "sm_"), ("PTX", "ptx_"), ("Intel", "intel_")):
        numbers = [arch.removeprefix(prefix) for arch in archs if arch.startswith(prefix)]
        if numbers:
            parts.append(f"{word} {' '.join(numbers)}")
    amd = [arch for arch in archs if arch.startswith("gfx")]
    parts += [f"AMD {' '.join(amd)}"] if amd else []
    parts += ["SPIR-V for Intel"] if "spir64" in archs else []
    parts += ["SPIR-V for AMD"] if "amdgcnspirv" in archs else []
    return ", ".join(parts)


def _groups(report: ScanReport) -> list[list[ScannedImage]]:
    """Return the images with GPU code, those of one family with the same code together."""
    groups: dict[tuple[object, ...], list[ScannedImage]] = {}
    for image in report.images:
        if image.archs:
            member = family_of(posixpath.basename(image.path))
            family = member.family.title if member else ""
            fit = image.gpu.fit if image.gpu is not None else ""
            groups.setdefault((family, image.archs, fit), []).append(image)
    return list(groups.values())


def _names(group: list[ScannedImage]) -> list[str]:
    return [posixpath.basename(image.path) for image in group]


def _label(group: list[ScannedImage]) -> str:
    """Return the name of a single DLL, the family of several, or one of them and how many more there are."""
    names = _names(group)
    if len(names) == 1:
        return names[0]
    member = family_of(names[0])
    return f"{member.family.title}, {len(names)} DLLs" if member else f"{names[0]} and {len(names) - 1} more"
