"""Zip archives made field by field, so that any field can lie; and wheels that are right except for one thing."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STAMP = (2020 - 1980) << 25 | 1 << 21 | 1 << 16
WHEEL_NAME = "pkg-1.0-py3-none-any.whl"
DIST_INFO = "pkg-1.0.dist-info"


def deflate(data: bytes, level: int = 6) -> bytes:
    """Return a raw deflate stream."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def extra_field(tag: int, body: bytes) -> bytes:
    """Return one extra field."""
    return struct.pack("<HH", tag, len(body)) + body


@dataclass
class Entry:
    """One member; what is in ``local`` or ``central`` replaces the true field there."""

    name: str | bytes
    data: bytes = b""
    method: int = 8
    packed: bytes | None = None
    """Packed bytes, where they are not those of ``data``."""
    attributes: int = 0o100644 << 16
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)
    both: dict[str, Any] = field(default_factory=dict)
    before: bytes = b""
    """Bytes that stand before the local header and belong to nobody."""
    after: bytes = b""
    """Bytes that stand after the data, such as a data descriptor."""
    hidden: bool = False
    """Has a local header but no directory entry."""
    reuse: int | None = None
    """Write no local header and no data, but point to those of the entry with this number."""

    @property
    def raw_name(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode()

    def fields(self) -> dict[str, Any]:
        """Return all true fields."""
        if self.packed is None:
            self.packed = deflate(self.data) if self.method == 8 else self.data
        flags = 0 if self.raw_name.isascii() else 0x800
        return {
            "signature": None,
            "made": 3 << 8 | 20,
            "needed": 20,
            "flags": flags,
            "method": self.method,
            "stamp": STAMP,
            "crc": zlib.crc32(self.data),
            "csize": len(self.packed),
            "usize": len(self.data),
            "name": self.raw_name,
            "extra": b"",
            "comment": b"",
            "disk": 0,
            "internal": 0,
            "attributes": self.attributes,
            **self.both,
        }


def _shared(f: dict[str, Any]) -> bytes:
    """What both headers of an entry have in their middle."""
    lengths = f.get("name_length", len(f["name"])), f.get("extra_length", len(f["extra"]))
    numbers = (f[name] for name in ("needed", "flags", "method", "stamp", "crc", "csize", "usize"))
    return struct.pack("<HHHIIIIHH", *numbers, *lengths)


def _signature(f: dict[str, Any], usual: int) -> bytes:
    return struct.pack("<I", usual if f["signature"] is None else f["signature"])


def local_header(entry: Entry) -> bytes:
    """Return the local header of an entry, with its lies."""
    f = {**entry.fields(), **entry.local}
    return _signature(f, 0x04034B50) + _shared(f) + f["name"] + f["extra"]


def central_entry(entry: Entry, offset: int) -> bytes:
    """Return the directory entry of an entry, with its lies."""
    f = {"offset": offset, **entry.fields(), **entry.central}
    comment = f.get("comment_length", len(f["comment"]))
    end = struct.pack("<HHHII", comment, f["disk"], f["internal"], f["attributes"], f["offset"])
    head = _signature(f, 0x02014B50) + struct.pack("<H", f["made"])
    return head + _shared(f) + end + f["name"] + f["extra"] + f["comment"]


def build_zip(
    entries: Sequence[Entry],
    *,
    prefix: bytes = b"",
    prefix_counts: bool = False,
    gap: bytes = b"",
    before_end: bytes = b"",
    trailing: bytes = b"",
    comment: bytes = b"",
    end: dict[str, int] | None = None,
    zip64: dict[str, Any] | None = None,
    shuffle: bool = False,
) -> bytes:
    """Return an archive. ``end`` replaces fields of the end record, ``zip64`` adds a ZIP64 one with its own lies."""
    out = bytearray(prefix)
    start = 0 if prefix_counts else len(prefix)
    offsets = []
    for entry in entries:
        if entry.reuse is not None:
            offsets.append(offsets[entry.reuse])
            continue
        out += entry.before
        offsets.append(len(out) - start)
        out += local_header(entry)
        out += entry.packed or b""
        out += entry.after
    out += gap
    at = len(out)
    listed = [(entry, offset) for entry, offset in zip(entries, offsets, strict=True) if not entry.hidden]
    for entry, offset in reversed(listed) if shuffle else listed:
        out += central_entry(entry, offset)
    size = len(out) - at
    out += before_end
    f = {"disk": 0, "first": 0, "here": len(listed), "entries": len(listed), "size": size, "offset": at - start}
    if zip64 is not None:
        g = {"record_size": 44, "disk": 0, "disks": 1, "at": len(out) - start, "extensible": b"", **f, **zip64}
        out += struct.pack(
            "<IQHHIIQQQQ", 0x06064B50, g["record_size"], 45, 45, 0, 0, g["here"], g["entries"], g["size"], g["offset"]
        )
        out += g["extensible"]
        out += struct.pack("<IIQI", 0x07064B50, g["disk"], g["at"], g["disks"])
    f = {**f, "comment_length": len(comment), **(end or {})}
    out += struct.pack(
        "<IHHHHIIH",
        0x06054B50,
        f["disk"],
        f["first"],
        f["here"],
        f["entries"],
        f["size"],
        f["offset"],
        f["comment_length"],
    )
    return bytes(out + comment + trailing)


def hash_bytes(data: bytes) -> str:
    """Return the sha256 of bytes as RECORD spells it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def record_row(name: str, data: bytes) -> str:
    """Return RECORD's row for a file."""
    path = f'"{name}"' if "," in name else name
    return f"{path},sha256={hash_bytes(data)},{len(data)}\n"


def wheel_entries(entries: Iterable[Entry] = ()) -> list[Entry]:
    """Return the entries of a wheel ``pkg 1.0`` with a right RECORD, after some of one's own."""
    own = list(entries)
    own.append(Entry("pkg/__init__.py", b"answer = 42\n" * 20))
    own.append(Entry(f"{DIST_INFO}/METADATA", b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n"))
    own.append(
        Entry(f"{DIST_INFO}/WHEEL", b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    )
    rows = [
        record_row(entry.raw_name.decode("utf-8", "replace"), entry.data)
        for entry in own
        if not entry.raw_name.endswith(b"/") and not entry.hidden
    ]
    record = "".join(dict.fromkeys(rows)) + f"{DIST_INFO}/RECORD,,\n"
    own.append(Entry(f"{DIST_INFO}/RECORD", record.encode()))
    return own


def write_wheel_by_hand(folder: Path, entries: Iterable[Entry] = (), **options: Any) -> Path:
    """Write such a wheel and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / WHEEL_NAME
    path.write_bytes(build_zip(wheel_entries(entries), **options))
    return path
