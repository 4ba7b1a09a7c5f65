"""Small DLLs with GPU code: containers and entries as nvcc writes them, around payloads of nothing."""

from __future__ import annotations

import struct

from tools.forge import forge_dll


def container(*archs: str) -> bytes:
    """A container with an entry for each of ``sm_86``, ``ptx_86`` or, with the version of PTX, ``ptx_86@7.8``."""
    entries = b""
    for arch in archs:
        name, _, version = arch.partition("@")
        kind, _, number = name.partition("_")
        major, _, minor = (version or ("7.8" if kind == "ptx" else "1.7")).partition(".")
        head = struct.pack(
            "<HHIQIIHHIIIQ",
            1 if kind == "ptx" else 2,
            0x101,
            64,
            8,
            0,
            0,
            int(minor),
            int(major),
            int(number),
            0,
            0,
            0x41,
        )
        entries += head.ljust(64, b"\0") + bytes(8)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def gpu_dll(name: str, *archs: str, imports: dict[str, list[str]] | None = None) -> bytes:
    """A DLL with GPU code for these architectures."""
    return forge_dll(name, imports=imports or {}, sections={".nv_fatb": container(*archs)})
