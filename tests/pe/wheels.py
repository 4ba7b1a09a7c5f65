"""The real wheels that the tests of this room read, and their PE members as byte sources.

Opened with zipfile and not with our own archive reader: what is compared here is the PE reader alone.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.real.listing import listed
from tests.support import tiers
from wheelfix.streams.source import FileSource, InflatedSource, StoredSource

FOLDER = tiers.wheels_folder()
WHEELS = sorted(FOLDER.glob("*.whl"))


def wheel(beginning: str) -> Path:
    """Return the wheel whose name begins so; without it the test is skipped, or fails where CI downloads it."""
    found = [path for path in WHEELS if path.name.startswith(beginning)]
    known = [entry.file for entry in listed() if entry.file.startswith(beginning)]
    return found[0] if found else tiers.wheel(known[0])


def members(path: Path, ending: str = "") -> Iterator[tuple[str, InflatedSource | StoredSource]]:
    """Yield every .dll, .pyd and .exe of a wheel whose name ends so."""
    with zipfile.ZipFile(path) as archive, FileSource(path) as file:
        for info in archive.infolist():
            if not info.filename.lower().endswith((".dll", ".pyd", ".exe")) or not info.filename.endswith(ending):
                continue
            lengths = struct.unpack("<HH", file.read_at(info.header_offset + 26, 4))
            begin = info.header_offset + 30 + sum(lengths)

            def read(at: int, length: int, begin: int = begin) -> bytes:
                return file.read_at(begin + at, length)

            if info.compress_type == zipfile.ZIP_STORED:
                yield info.filename, StoredSource(read, info.file_size)
            else:
                yield info.filename, InflatedSource(read, info.compress_size, info.file_size)
