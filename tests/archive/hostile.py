"""Wheels with one irregularity each, by name; the tables of several tests."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

from tests.archive.byhand import Entry, deflate, extra_field
from tests.support.tables import read_table

TEXT = b"some text, some text, some text\n" * 9


@dataclass(frozen=True)
class Case:
    """How to build the wheel, and the fault that must be found."""

    kind: str
    """The fault's kind, or ``error`` if the archive must be refused as a whole; empty: nothing is wrong."""
    entries: list[Entry]
    options: dict[str, Any] = field(default_factory=dict)


def _one(kind: str, **how: Any) -> Case:
    """A wheel in which one member is odd."""
    return Case(kind, [Entry("a.txt", TEXT, **how)])


def _descriptor(wide: bool = False, signature: bool = True) -> Entry:
    packed = deflate(TEXT)
    shape = "<IQQ" if wide else "<III"
    after = (b"PK\x07\x08" if signature else b"") + struct.pack(shape, zlib.crc32(TEXT), len(packed), len(TEXT))
    return Entry("a.txt", TEXT, both={"flags": 8}, local={"crc": 0, "csize": 0, "usize": 0}, after=after)


def _zip64(*values: int) -> bytes:
    return extra_field(1, struct.pack(f"<{len(values)}Q", *values))


def _lzma(data: bytes) -> bytes:
    """Return data as zip's method 14 has them: version, properties, raw LZMA."""
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16, "lc": 3, "lp": 0, "pb": 2}]
    properties = bytes([3 + 9 * (0 + 5 * 2)]) + struct.pack("<I", 1 << 16)
    return (
        struct.pack("<BBH", 9, 4, len(properties)) + properties + lzma.compress(data, lzma.FORMAT_RAW, filters=filters)
    )


def _zstd(data: bytes) -> bytes:
    """Return data of 256 bytes or more as a zstd frame with one raw block."""
    block = (len(data) << 3 | 1).to_bytes(3, "little") + data
    return b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(data) - 256) + block


_PACKED = len(deflate(TEXT))
_WIDE = {"csize": 0xFFFFFFFF, "usize": 0xFFFFFFFF}
_UNICODE = extra_field(0x7075, struct.pack("<BI", 1, zlib.crc32(b"a.txt")) + b"b.txt")

UNSAFE_NAMES = {
    **read_table(__file__, "unsafe_names.toml"),
    "long-step": "pkg/" + "x" * 256 + ".py",
    "long-name": "/".join(["x" * 100] * 20),
}

CASES: dict[str, Case] = {
    "regular": Case("", [Entry("a.txt", TEXT), Entry("b.txt", TEXT, method=0), Entry("d/", method=0)]),
    "descriptor": Case("data-descriptor", [_descriptor()]),
    "descriptor-bare": Case("data-descriptor", [_descriptor(signature=False)]),
    "descriptor-wide": Case("data-descriptor", [_descriptor(wide=True)]),
    "descriptor-local-only": _one("data-descriptor", local={"flags": 8}),
    "duplicate": Case("duplicate-member", [Entry("a.txt", TEXT), Entry("a.txt", TEXT)]),
    "duplicate-other": Case("duplicate-member", [Entry("a.txt", TEXT), Entry("a.txt", b"other")]),
    "duplicate-entry": Case("duplicate-member", [Entry("a.txt", TEXT), Entry("a.txt", TEXT, reuse=0)]),
    "up-and-down": Case("upward-name", [Entry("pkg-1.0.dist-info/licenses/../LICENSE.txt", TEXT)]),
    "backslash": Case("backslash-name", [Entry("pkg\\sub\\a.txt", TEXT)]),
    "case": Case("case-collision", [Entry("pkg/A.txt", TEXT), Entry("pkg/a.txt", TEXT)]),
    "nfc": Case("", [Entry("pkg/\u00e9.txt", TEXT), Entry("pkg/e\u0301.txt", TEXT)]),
    "file-as-folder": Case("file-as-folder", [Entry("x", TEXT), Entry("x/y/z.txt", TEXT)]),
    "symlink": Case("symlink", [Entry("link", b"../../etc/passwd", attributes=0o120777 << 16)]),
    "fifo": Case("special-file", [Entry("pipe", b"", attributes=0o010644 << 16)]),
    "encrypted": _one("encrypted", both={"flags": 1}),
    "strong-encryption": _one("encrypted", both={"flags": 0x41}),
    "bzip2": _one("unknown-method", method=12, packed=bz2.compress(TEXT)),
    "lzma": _one("unknown-method", method=14, packed=_lzma(TEXT)),
    "zstd": _one("unknown-method", method=93, packed=_zstd(TEXT)),
    "method-77": _one("unknown-method", method=77),
    "version-6.4": _one("unknown-method", central={"needed": 64}),
    "version-everywhere": _one("unknown-method", both={"needed": 0xFFFF}),
    "version-upper-byte": _one("", both={"needed": 0x0114}),
    "local-version": _one("local-mismatch", local={"needed": 0xFFFF}),
    "comment": _one("comment", central={"comment": b"hello"}),
    "archive-comment": Case("archive-comment", [], {"comment": b"hello"}),
    "archive-comment-short": Case("archive-comment", [], {"comment": b"he", "end": {"comment_length": 50}}),
    "end-in-comment": Case("trailing-data", [], {"comment": struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0, 0, 0, 0, 0)}),
    "trailing": Case("trailing-data", [], {"trailing": b"x" * 100}),
    "prefix": Case("prefix-data", [], {"prefix": b"MZ" + bytes(98)}),
    "prefix-counted": Case("hidden-data", [], {"prefix": b"MZ" + bytes(98), "prefix_counts": True}),
    "gap": _one("hidden-data", before=bytes(100)),
    "gap-at-end": Case("hidden-data", [], {"gap": bytes(100)}),
    "gap-before-end-record": Case("hidden-data", [], {"before_end": bytes(100)}),
    "ghost": Case("hidden-data", [Entry("ghost.py", TEXT, hidden=True)]),
    "count-low": Case("entry-count", [], {"end": {"here": 1, "entries": 1}}),
    "count-high": Case("entry-count", [], {"end": {"here": 99, "entries": 99}}),
    "disks": Case("multi-disk", [], {"end": {"disk": 1}}),
    "disk-of-member": _one("multi-disk", central={"disk": 3}),
    "bad-utf8": Case("bad-utf8", [Entry(b"pkg/\xff\xfe.txt", TEXT, both={"flags": 0x800})]),
    "cp437": Case("bad-utf8", [Entry(b"pkg/\x81.txt", TEXT, both={"flags": 0})]),
    "utf8-unflagged": Case("utf8-flag-missing", [Entry("pkg/\u00fc.txt", TEXT, both={"flags": 0})]),
    "utf8": Case("", [Entry("pkg/\u00fc.txt", TEXT)]),
    "unicode-path-central": _one("unicode-path", central={"extra": _UNICODE}),
    "unicode-path-local": _one("unicode-path", local={"extra": _UNICODE}),
    "extra-cut": _one("extra-malformed", both={"extra": b"\x99\x99\xff\x00x"}),
    "extra-twice": _one("extra-malformed", both={"extra": _zip64() * 2}),
    "extra-timestamps": _one("", both={"extra": extra_field(0x5455, b"\x01abcd")}),
    "local-name": _one("local-mismatch", local={"name": b"b.txt"}),
    "local-name-longer": _one("local-mismatch", local={"name": b"longer.txt"}),
    "local-crc": _one("local-mismatch", local={"crc": 1}),
    "local-csize": _one("local-mismatch", local={"csize": _PACKED - 1}),
    "local-usize": _one("local-mismatch", local={"usize": 1}),
    "local-method": _one("local-mismatch", local={"method": 0}),
    "local-flags": _one("local-mismatch", local={"flags": 2}),
    "local-encrypted": _one("local-mismatch", local={"flags": 1}),
    "local-date": _one("local-mismatch", local={"stamp": 0x21 << 16}),
    "local-signature": _one("local-mismatch", local={"signature": 0x04034B51}),
    "crc-lie": _one("damaged", both={"crc": 1}),
    "usize-low": _one("damaged", both={"usize": len(TEXT) - 1}),
    "usize-high": _one("damaged", both={"usize": len(TEXT) + 1}),
    "stored-size-lie": _one("size-lie", method=0, both={"usize": len(TEXT) + 1}),
    "csize-low": _one("damaged", both={"csize": _PACKED - 1}),
    "stream-cut": _one("damaged", packed=deflate(TEXT)[:-3]),
    "stream-garbage": _one("damaged", packed=b"\xff" * 20),
    "stream-trailing": _one("damaged", packed=deflate(TEXT) + b"\0\0\0"),
    "directory-data": Case("directory-data", [Entry("d/", TEXT)]),
    "overlap": Case(
        "overlap", [Entry("a.txt", TEXT, method=0, both={"csize": 400, "usize": 400}), Entry("b.txt", TEXT)]
    ),
    "same-data-two-names": Case("overlap", [Entry("a.txt", TEXT), Entry("b.txt", TEXT, reuse=0)]),
    "beyond": _one("out-of-bounds", central={"offset": 0x7000000}),
    "too-long": _one("out-of-bounds", method=0, both={"csize": 1 << 20, "usize": 1 << 20}),
    "zip64-unneeded": _one("", local={"extra": _zip64(len(TEXT), _PACKED)}),
    "zip64-forced": _one("", both={"extra": _zip64(len(TEXT), _PACKED), **_WIDE}),
    "zip64-forced-local": _one("", local={"extra": _zip64(len(TEXT), _PACKED), **_WIDE}),
    "zip64-missing": _one("zip64-malformed", both=_WIDE),
    "zip64-short": _one("zip64-malformed", both={"extra": _zip64(len(TEXT)), **_WIDE}),
    "zip64-odd-length": _one("zip64-malformed", both={"extra": extra_field(1, bytes(9))}),
    "zip64-local-lie": _one("local-mismatch", local={"extra": _zip64(len(TEXT) + 5, _PACKED), **_WIDE}),
    "zip64-local-other": _one("zip64-mismatch", local={"extra": _zip64(len(TEXT) + 5, _PACKED)}),
    "zip64-central-unneeded": _one("zip64-malformed", central={"extra": _zip64(len(TEXT), _PACKED)}),
    "zip64-central-one-too-many": _one(
        "zip64-malformed", central={"extra": _zip64(len(TEXT), _PACKED), "usize": 0xFFFFFFFF}
    ),
    "zip64-central-usize": _one("", central={"extra": _zip64(len(TEXT)), "usize": 0xFFFFFFFF}),
    "zip64-central-csize": _one("", central={"extra": _zip64(_PACKED), "csize": 0xFFFFFFFF}),
    "zip64-central-offset": _one("", central={"extra": _zip64(0), "offset": 0xFFFFFFFF}),
    "zip64-central-empty": _one("", central={"extra": _zip64()}),
    "zip64-local-empty": _one("", local={"extra": _zip64()}),
    "zip64-local-one": _one("zip64-malformed", local={"extra": _zip64(len(TEXT))}),
    "zip64-local-three": _one("zip64-malformed", local={"extra": _zip64(len(TEXT), _PACKED, 0)}),
    "zip64-local-zeros": _one("zip64-mismatch", local={"extra": _zip64(0, 0)}),
    "zip64-end": Case("", [], {"zip64": {}}),
    "zip64-end-sentinels": Case(
        "", [], {"zip64": {}, "end": {"here": 0xFFFF, "entries": 0xFFFF, "size": 0xFFFFFFFF, "offset": 0xFFFFFFFF}}
    ),
    "zip64-end-extensible": Case("zip64-malformed", [], {"zip64": {"extensible": b"x" * 12, "record_size": 56}}),
    "zip64-end-size": Case("zip64-malformed", [], {"zip64": {"record_size": 45}}),
    "zip64-end-count": Case("zip64-mismatch", [], {"zip64": {"here": 3, "entries": 3}}),
    "zip64-end-elsewhere": Case("zip64-mismatch", [], {"zip64": {"at": 1}}),
    "zip64-end-disks": Case("multi-disk", [], {"zip64": {"disks": 2}}),
    **{f"name-{key}": Case("unsafe-path", [Entry(name, TEXT)]) for key, name in UNSAFE_NAMES.items()},
}

REFUSED_BY = {
    "pip": """
        name-up name-up-inside name-absolute name-unc
    """.split(),
    "pip pypi": "zstd zip64-end-disks".split(),
    "pip uv": """
        file-as-folder encrypted strong-encryption crc-lie usize-low stream-cut stream-garbage beyond name-up-last
        name-long-step
    """.split(),
    "pip uv pypi": """
        version-6.4 version-everywhere method-77 end-in-comment gap-before-end-record bad-utf8 extra-cut local-name
        local-name-longer local-signature csize-low overlap same-data-two-names too-long zip64-short
        zip64-end-extensible
    """.split(),
    "pypi": "descriptor descriptor-bare comment".split(),
    "pypi installer": "duplicate".split(),
    "uv": """
        disks local-version unicode-path-central unicode-path-local local-crc local-method local-encrypted
        usize-high stored-size-lie stream-trailing directory-data zip64-local-other zip64-central-unneeded
        zip64-central-one-too-many zip64-local-three zip64-end-elsewhere
    """.split(),
    "uv pypi": """
        descriptor-wide descriptor-local-only duplicate-other duplicate-entry bzip2 lzma archive-comment-short
        trailing prefix prefix-counted gap gap-at-end ghost count-low count-high cp437 utf8-unflagged extra-twice
        local-csize local-usize zip64-missing zip64-odd-length zip64-local-lie zip64-local-one zip64-local-zeros
        zip64-end-size zip64-end-count name-nul-byte name-newline name-delete
    """.split(),
}
"""Who really refuses which case: pip and uv (from disk or over HTTP) as run, PyPI as its check of uploads says;
installer only where it alone is as strict as PyPI (``test_agreement.py`` runs it)."""


def refused_by(key: str) -> set[str]:
    """Return who really refuses a case."""
    return next((set(who.split()) for who, keys in REFUSED_BY.items() if key in keys), set())
