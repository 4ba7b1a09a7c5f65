"""Draw what wheelfix prints: runs real commands on the embedded example and writes their output as SVG.

python -m tools.make_pictures       writes docs/assets/*.svg; a picture whose words are current is left alone
"""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tools import example

ASSETS = Path(__file__).resolve().parent.parent / "docs" / "assets"
ROOTS = ("--root", "roots/CUDA/v11.7", "--root", "roots/oneAPI")


@dataclass(frozen=True, slots=True)
class Shot:
    """One command of a picture."""

    words: tuple[str, ...]
    """What follows ``wheelfix``; ``--no-discover`` is added unseen, so that this machine does not show."""
    head: int = 0
    """Show only so many lines, then ``…`` and the last two lines; 0 shows all."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Some commands, run one after the other in the example's folder."""

    name: str
    title: str
    shots: tuple[Shot, ...]
    width: int = 94


PICTURES = (
    Picture(
        "scan",
        "scan, repair, scan again",
        (
            Shot(("scan", "dist"), head=20),
            Shot(("repair", "dist", *ROOTS, "--drop-test-artifacts", "-q")),
            Shot(("scan", "wheelhouse", "-q")),
        ),
    ),
)


def draw(picture: Picture) -> str:
    """Return the SVG of a picture."""
    console = Console(record=True, width=picture.width, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    with tempfile.TemporaryDirectory(prefix="wheelfix-picture-") as name:
        folder = Path(name)
        story = example.kepler_cu117()
        example.write_wheel(story, folder / "dist")
        example.write_roots(story, folder / "roots")
        for number, shot in enumerate(picture.shots):
            console.print(Text(("\n" if number else "") + "$ wheelfix " + " ".join(shot.words), style="bold"))
            console.print(Text.from_ansi(_shorten(_run(shot, folder), shot.head)))
    svg = console.export_svg(title=f"wheelfix: {picture.title}", unique_id=f"wheelfix-{picture.name}")
    # rich names a font on another host; pictures here load nothing.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _run(shot: Shot, folder: Path) -> str:
    environment = {**os.environ, "FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8", "NO_COLOR": ""}
    command = [sys.executable, "-m", "wheelfix", *shot.words, "--no-discover", "--no-config"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout.rstrip("\n")


def _shorten(text: str, head: int) -> str:
    lines = text.split("\n")
    return text if not head or len(lines) <= head + 2 else "\n".join([*lines[:head], "  …", "", *lines[-2:]])


def words(svg: str) -> str:
    """Return the text of a picture, to tell whether it is current; the drawing may differ between releases of rich."""
    rows: dict[str, str] = {}
    for row, text in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows[row] = rows.get(row, "") + html.unescape(text).replace("\xa0", " ")
    return "\n".join(line.rstrip() for line in rows.values()).rstrip()


def main() -> int:
    """Write every picture whose words have changed."""
    ASSETS.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        file, svg = ASSETS / f"{picture.name}.svg", draw(picture)
        if not file.exists() or words(file.read_text(encoding="utf-8")) != words(svg):
            file.write_text(svg, encoding="utf-8", newline="\n")
            print(file.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
