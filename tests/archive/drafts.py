"""Wheels made at random: a sound one, and up to four variations of its names, headers, folders, metadata and RECORD."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.archive.byhand import Entry, build_zip


@dataclass
class Draft:
    """A wheel before it is written; variations change what they like."""

    name: str = "pkg"
    version: str = "1.0"
    build: str = ""
    tag: str = "py3-none-any"
    dist_info: str = "pkg-1.0.dist-info"
    data: str = "pkg-1.0.data"
    files: list[Entry] = field(default_factory=list)
    metadata: bytes | None = b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n"
    wheel: bytes | None = b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    late: list[Entry] = field(default_factory=list)
    """Further files of the dist-info folder."""
    rows: Callable[[list[list[str]]], list[list[str]]] | None = None
    """Changes the rows of RECORD."""
    record: Callable[[bytes], bytes | None] | None = None
    """Changes the bytes of RECORD, or leaves it out."""
    zip: dict[str, Any] = field(default_factory=dict)
    """Options of :func:`build_zip`."""
    entries: Callable[[list[Entry]], list[Entry]] | None = None
    """Changes the list of all entries, RECORD included, just before they are written."""
    said: list[str] = field(default_factory=list)
    """The variations, by name."""

    @property
    def file_name(self) -> str:
        build = f"-{self.build}" if self.build else ""
        return f"{self.name}-{self.version}{build}-{self.tag}.whl"

    def write(self, folder: Path) -> Path:
        """Write the wheel and return its path."""
        entries = [*self.files]
        for base, data in (("METADATA", self.metadata), ("WHEEL", self.wheel)):
            if data is not None:
                entries.append(Entry(f"{self.dist_info}/{base}", data))
        entries += self.late
        rows = [_row(entry) for entry in entries if not entry.raw_name.endswith(b"/") and not entry.hidden]
        rows.append([f"{self.dist_info}/RECORD", "", ""])
        if self.rows is not None:
            rows = self.rows(rows)
        text = "".join(",".join(map(_field, row)) + "\n" for row in rows).encode("utf-8", "replace")
        if self.record is not None:
            assert text is not None
            text = self.record(text)
        if text is not None:
            entries.append(Entry(f"{self.dist_info}/RECORD", text))
        if self.entries is not None:
            entries = self.entries(entries)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.file_name
        path.write_bytes(build_zip(entries, **self.zip))
        return path


def _row(entry: Entry) -> list[str]:
    digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
    return [entry.raw_name.decode("utf-8", "replace"), f"sha256={digest}", str(len(entry.data))]


def _field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def draft(seed: int | bytes) -> Draft:
    """Return the wheel of that number, or of these bytes: the same each time."""
    from tests.archive.metavariations import VARIATIONS

    dice = random.Random(seed if isinstance(seed, bytes) else f"wheel {seed}")
    made = Draft()
    made.files = [
        Entry("pkg/__init__.py", b"answer = 42\n" * dice.randint(1, 30), dice.choice((0, 8))),
        Entry("pkg/lib.dll", b"MZ root " + dice.randbytes(40), dice.choice((0, 8))),
    ]
    if dice.random() < 0.3:
        made.files.append(Entry("pkg/sub/data.bin", dice.randbytes(20), dice.choice((0, 8))))
    for variation in dice.sample(VARIATIONS, dice.choice((0, 1, 1, 1, 1, 2, 2, 3, 4))):
        variation(dice, made)
        made.said.append(variation.__name__)
    return made
