"""Take screenshots of the HTML report for the documentation: real scans of small wheels, shown by Chromium.

python -m tools.make_screenshots    writes docs/assets/report*.png; pictures of the page as it is now are left alone
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from wheel.wheelfile import WheelFile

from tools import example
from tools.browser import Browser, find_browser
from tools.forge import forge_dll

ASSETS = Path(__file__).resolve().parent.parent / "docs" / "assets"
LOOKS = Path(__file__).resolve().parent.parent / "wheelfix" / "report" / "html"
KEY = b"wheelfix-page"
"""Under this key a picture has the digest of what it shows."""
PYTHON = {"python311.dll": ["Py_Initialize"]}


@dataclass(frozen=True, slots=True)
class Screenshot:
    """One picture of the page."""

    name: str
    width: int
    height: int
    scheme: str = "light"


SCREENSHOTS = (
    Screenshot("report", 1200, 1130),
    Screenshot("report-dark", 1200, 1130, "dark"),
    Screenshot("report-phone", 400, 860),
)


def make_page(folder: Path) -> str:
    """Return the page over a handful of wheels, some of them broken."""
    dist = folder / "dist"
    dist.mkdir()
    example.write_wheel(example.kepler_cu117(), dist)
    _write(
        dist, "tidepool-0.9.2", {"tidepool/_wave.pyd": forge_dll("_wave.pyd", imports={**PYTHON, "fftw3.dll": ["f"]})}
    )
    for name, version in (("basalt", "2.1.0"), ("cartograph", "1.4.7"), ("quarry_io", "3.0.1"), ("lattice", "0.12.0")):
        module = forge_dll("_core.pyd", imports={**PYTHON, f"{name}.dll": ["f"]})
        library = forge_dll(f"{name}.dll", exports=["f"])
        _write(dist, f"{name}-{version}", {f"{name}/_core.pyd": module, f"{name}/{name}.dll": library})
    (dist / "orbit-1.0-cp311-cp311-win_amd64.whl").write_bytes(b"the upload was cut off")
    command = ["-m", "wheelfix", "scan", "dist", "--report", "html=report.html", "--no-discover", "--no-config"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1763200000"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    if not (folder / "report.html").exists():
        raise RuntimeError(f"the report was not written:\n{done.stderr}")
    return (folder / "report.html").read_text(encoding="utf-8").replace(" --no-discover --no-config", "")


def _write(folder: Path, stem: str, files: dict[str, bytes]) -> None:
    name, _, version = stem.partition("-")
    wheel = "Wheel-Version: 1.0\nGenerator: demo\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with WheelFile(str(folder / f"{stem}-cp311-cp311-win_amd64.whl"), "w") as archive:
        for path, data in {f"{name}/__init__.py": b"", **files}.items():
            archive.writestr(path, data)
        archive.writestr(f"{stem}.dist-info/METADATA", metadata)
        archive.writestr(f"{stem}.dist-info/WHEEL", wheel)


def digest() -> str:
    """Return the digest of what decides how the page looks: its styles and scripts, not its words."""
    files = sorted(path for path in LOOKS.iterdir() if path.suffix in (".css", ".js"))
    return hashlib.sha256(b"".join(path.read_bytes().replace(b"\r\n", b"\n") for path in files)).hexdigest()


def shown(png: bytes) -> str:
    """Return the digest that a picture has, or nothing."""
    found = re.search(KEY + rb"\0([0-9a-f]{64})", png)
    return found[1].decode() if found else ""


def stamped(png: bytes, text: str) -> bytes:
    """Return a picture with a digest, as a text chunk behind its header."""
    body = b"tEXt" + KEY + b"\0" + text.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:33] + chunk + png[33:]


def stale() -> list[Screenshot]:
    """Return the pictures that show another page than the one of today."""
    now = digest()
    files = {shot: ASSETS / f"{shot.name}.png" for shot in SCREENSHOTS}
    return [shot for shot, file in files.items() if not file.exists() or shown(file.read_bytes()) != now]


def main() -> int:
    """Take the pictures that are not current."""
    wanted = stale()
    if not wanted:
        return 0
    if find_browser() is None:
        print("no Chromium is installed: the screenshots stay as they are", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="wheelfix-pictures-") as folder, Browser() as browser:
        page = make_page(Path(folder))
        for shot in wanted:
            browser.open(page, shot.width, shot.height, scheme=shot.scheme)
            (ASSETS / f"{shot.name}.png").write_bytes(stamped(browser.picture(shot.height), digest()))
            print(f"{shot.name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
