"""DLLs whose GPU code is made to take long: a megabyte of headers, in sections that are all the same bytes."""

from __future__ import annotations

import struct
import zlib

from tools.forge import forge_dll
from wheelfix.pe.gpucode import BUNDLE, COMPRESSED, ENTRY, MAGIC

TARGET = b"hipv4-amdgcn-amd-amdhsa--gfx1100"
_ROW = struct.pack("<QQQ", 0, 0, len(TARGET)) + TARGET
_UNPACKED = BUNDLE + struct.pack("<Q", 600) + _ROW * 600 + bytes(30_000)
_PACKED = zlib.compress(_UNPACKED, 9)


def compressed(version: int = 2, method: int = 0, body: bytes = _PACKED) -> bytes:
    """A compressed bundle, all of which follow one another."""
    return COMPRESSED + struct.pack("<HHIIQ", version, method, 24 + len(body), len(_UNPACKED), 0) + body


_CONTAINER = struct.pack("<IHHQ", MAGIC, 1, 16, 0)
_ENTRY = ENTRY.pack(2, 0x101, ENTRY.size, 0, 0, 0, 86, 0)
PIECES = {
    "magics of bundles": (".hip_fat", BUNDLE),
    "magics of compressed bundles": (".hip_fat", COMPRESSED),
    "compressed bundles on each other": (".hip_fat", COMPRESSED + struct.pack("<HHIIQ", 1, 0, 0, 0, 0) + _PACKED),
    "compressed bundles": (".hip_fat", compressed()),
    "damaged bundles": (".hip_fat", compressed(body=b"\x78\xda" + bytes(20))),
    "zstd that is not": (".hip_fat", compressed(method=1, body=b"\x28\xb5\x2f\xfd\xa4" + b"\xff" * 20)),
    "bundles that count to infinity": (".hip_fat", BUNDLE + b"\xff" * 8),
    "bundles of many entries": (".hip_fat", BUNDLE + struct.pack("<Q", 512) + _ROW * 4),
    "magics of containers": (".nv_fatb", struct.pack("<I", MAGIC)),
    "containers of nothing": (".nv_fatb", _CONTAINER),
    "containers of version 7": (".nv_fatb", struct.pack("<IHHQ", MAGIC, 7, 16, 0)),
    "containers of entries": (".nv_fatb", struct.pack("<IHHQ", MAGIC, 1, 16, ENTRY.size) + _ENTRY),
    "containers that reach to the end": (".nv_fatb", struct.pack("<IHHQ", MAGIC, 1, 16, 1 << 40)),
    "images of SYCL": (".rdata", b"\x02\0\x04\0\0\0\0\0" + struct.pack("<11Q", 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1)),
}


def hostile_dll(name: str, size: int, sections: int = 1) -> bytes:
    """A DLL with such a piece, repeated, in so many sections at the same place."""
    section, piece = PIECES[name]
    extra = {".tgtimg": bytes(16)} if section == ".rdata" else {}
    data = bytearray(forge_dll("x.dll", exports=["f"], sections={**extra, "hostile": piece * (size // len(piece))}))
    return _multiplied(data, section.encode(), sections)


def _multiplied(data: bytearray, section: bytes, sections: int) -> bytes:
    """Put so many rows for the section into the table, as far as there is room."""
    pe = struct.unpack_from("<I", data, 60)[0]
    count, optional = struct.unpack_from("<H", data, pe + 6)[0], struct.unpack_from("<H", data, pe + 20)[0]
    table = pe + 24 + optional
    own = data.index(b"hostile\0", table, table + 40 * count)
    data[own : own + 8] = section.ljust(8, b"\0")
    row, end = bytes(data[own : own + 40]), table + 40 * count
    room = (struct.unpack_from("<I", data, table + 20)[0] - table) // 40  # up to where the first section begins
    more = min(sections - 1, room - count)
    data[end : end + 40 * more] = row * more
    struct.pack_into("<H", data, pe + 6, count + more)
    return bytes(data)
