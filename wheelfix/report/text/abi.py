"""Which Python and which NumPy the modules of a wheel were built for, for ``--verbose``."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.model import Image

if TYPE_CHECKING:
    from wheelfix.model import ScannedImage, ScanReport
    from wheelfix.report.text.canvas import Canvas, Span

_PYTHON = re.compile(r"python3\d*t?\.dll")


def draw_abi(canvas: Canvas, report: ScanReport) -> None:
    """Print one line for modules that are alike; nothing for a wheel without extension modules."""
    groups: dict[str, list[ScannedImage]] = {}
    for image in report.images:
        if image.path.lower().endswith(".pyd") and isinstance(image.facts, Image):
            built_for = [*_pythons(image.facts), *_numpy(image)]
            if built_for:
                groups.setdefault(", ".join(built_for), []).append(image)
    if not groups:
        return
    canvas.blank()
    canvas.line(("Built for", "head"))
    rows: list[list[Span]] = [[(what, "name"), _names(images)] for what, images in groups.items()]
    canvas.table(rows, indent=2)


def _pythons(image: Image) -> list[str]:
    return sorted({item.dll.lower() for item in image.imports if _PYTHON.fullmatch(item.dll.lower())})


def _numpy(image: ScannedImage) -> list[str]:
    if image.numpy is None:
        return []
    return [f"NumPy {image.numpy.oldest} or later" if image.numpy.oldest else f"NumPy {image.numpy.headers}"]


def _names(images: list[ScannedImage]) -> str:
    first = posixpath.basename(images[0].path)
    return first if len(images) == 1 else f"{first} and {len(images) - 1} more"
