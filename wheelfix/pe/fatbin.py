"""The GPU code inside a CUDA DLL: for which architectures there is machine code (SASS), and for which PTX.

nvcc puts containers into the section ``.nv_fatb``: a header of 16 bytes (magic, version, header length, length), then
entries, each a header with kind, lengths and compute capability, and a payload that may be compressed. The headers
never are, so a walk from header to header finds everything. It crosses the whole section: on a deflated member that
costs inflating it, some seconds for a gigabyte, in bounded memory.

The layout comes from reading real CUDA DLLs. An entry with PTX says in its header which version of the language it is
written in, the one of its first line (``.version 7.8``); a driver that does not know it refuses to compile it.

Header flags mark code that is for one architecture only (0x100000, ``sm_90a``) and code that is for a family of
architectures (0x200000, ``sm_100f``); both were made with nvcc 13.0 (``fixtures/fatbins``).

cuFFT of CUDA 12.4 to 12.9 has its containers in ``.data`` and loads them with functions of the driver; in ``.nv_fatb``
it has what nvcc links into every DLL, code without a kernel. Where it has nothing else, ``.data`` is read too.

Code for AMD's and Intel's cards is read by :mod:`wheelfix.pe.offload`.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING, cast

from wheelfix.base.values import dataclass, field
from wheelfix.errors import InputError
from wheelfix.model import Malformed
from wheelfix.pe.offload import read_offload_code
from wheelfix.pe.sections import Headers, MagicSearch, Section, Space, read_headers, without_overlaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wheelfix.model import ByteSource
    from wheelfix.pe.offload import OffloadCode

MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1
CONTAINERS = ".nv_fatb"
WRAPPERS = ".nvFatBi"
"""``.nvFatBinSegment``, cut to eight letters: pointers to containers, wherever those lie."""
KINDS = {1: "ptx", 2: "sm"}
FOR_LINKERS = 8
"""The kind of entries that cuFFT gives to a linker at run time: no code by itself."""
DATA = ".data"
SPECIFIC = 0x100000
"""Code for this architecture and no other."""
FAMILY = 0x200000
"""Code for this architecture and later ones of its family."""
MAX_ENTRIES = 500_000
"""Far beyond torch_cuda.dll, which has some thousands."""
ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
"""Kind, version, header length, payload length; minor and major of the format at 24, capability at 28, flags at 40."""
STEP = 64 << 10
LEFT_OVER = 4 << 10
"""Bytes; what nvcc links into every DLL is smaller."""
KERNEL = b".text."
"""How the names of kernels' sections begin in machine code; compression leaves the first occurrence readable."""


@dataclass(frozen=True, slots=True)
class GpuCode:
    """The GPU code of one DLL."""

    entries: Mapping[str, int] = field(default_factory=dict)
    """Architectures with how often each occurs: ``sm_86``, ``sm_90a`` and ``sm_100f`` are machine code, ``ptx_86`` is
    PTX, ``gfx1100`` code for AMD's cards; ``spir64`` and ``intel_pvc`` are for Intel's."""
    oddities: tuple[str, ...] = ()
    ptx: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For ``ptx_86`` and its like the newest version of the PTX language among the entries: 7.8 came with CUDA 11.8."""
    unread: str = ""
    """Why some of the code was not read; empty when all was."""
    kernels: bool = True
    """Whether there is more than what nvcc links into every DLL, code without a kernel."""

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures, machine code before PTX, old before new."""
        return tuple(self.entries)


def read_archs(source: ByteSource) -> tuple[str, ...] | None:
    """Return the architectures such as ``sm_86`` and ``ptx_86``, or None for a DLL without GPU code."""
    code = read_gpu_code(source)
    return code.archs if code else None


def read_gpu_code(source: ByteSource, most: int | None = None) -> GpuCode | None:
    """Return what GPU code a DLL has, or None if it has no place for any (or is not a PE image).

    After ``most`` entries the rest is not read; the answer may then be incomplete.
    """
    try:
        headers = read_headers(source)
        if isinstance(headers, Malformed):
            return None
        return _merged(_Walk(source, headers, most).code(), read_offload_code(source, headers))
    except InputError:
        return None


def _merged(nvidia: GpuCode | None, others: OffloadCode | None) -> GpuCode | None:
    if others is None:
        return nvidia
    own = nvidia or GpuCode()
    entries = {**own.entries, **dict(sorted(others.targets.items()))}
    return GpuCode(entries, own.oddities, own.ptx, others.unread, kernels=own.kernels or bool(others.targets))


class _Walk:
    """Goes from header to header, and counts."""

    def __init__(self, source: ByteSource, headers: Headers, most: int | None = None) -> None:
        self.most = MAX_ENTRIES if most is None else most
        self.source = source
        self.headers = headers
        self.found: Counter[tuple[str, int, str]] = Counter()
        self.languages: dict[str, tuple[int, int]] = {}
        self.seen = self.containers = 0
        self.search = MagicSearch(source, (struct.pack("<I", MAGIC),), STEP)
        self.kernels = False
        self.oddities: list[str] = []

    def code(self) -> GpuCode | None:
        sections = [section for section in self.headers.sections if section.name == CONTAINERS]
        wrappers = [section for section in self.headers.sections if section.name == WRAPPERS]
        if not sections and not wrappers:
            return None
        self._sections(CONTAINERS)
        if not sections:
            for at, end in self._wrapped(wrappers):
                self._container(at, end)
        if self.seen and not self.kernels:
            before = self.found.copy()
            self._sections(DATA)
            if self.kernels:
                self.found -= before
        order = sorted(self.found, key=lambda key: (key[0] == "ptx", key[0], key[1], key[2]))
        entries = {_name(*key): self.found[key] for key in order}
        languages = dict(sorted(self.languages.items()))
        return GpuCode(entries, tuple(self.oddities), languages, kernels=self.kernels or not self.seen)

    def _sections(self, name: str) -> None:
        """Read the containers in the sections of a name: they follow one another, some with zeros in between."""
        spans = [_span(section, self.source.size) for section in self.headers.sections if section.name == name]
        for start, end in without_overlaps(spans):
            at: int | None = start
            while at is not None and at < end and self.seen < self.most:
                at = self._container(at, end) or self.search.next(at + 1, end)

    def _container(self, at: int, end: int) -> int:
        """Read one container; return where it ends, or 0 if there is none at this place."""
        head = self.source.read_at(at, 16)
        if len(head) < 16:
            return 0
        magic, version, length, size = struct.unpack("<IHHQ", head)
        if magic != MAGIC:
            return 0
        self.containers += 1
        if self.containers > MAX_ENTRIES:
            self._odd(f"more than {MAX_ENTRIES} containers; the rest was not read")
            self.seen = self.most
        if length < 16 or self.seen >= self.most:
            return 0
        if version != 1:
            self._odd(f"a container of version {version}, only version 1 is known")
            return 0
        if at + length + size > end:
            self._odd("a container reaches beyond its section")
        close: int = min(at + length + size, end)
        at += length
        while at + ENTRY.size <= close:
            step = self._entry(at)
            if not step:
                break
            at += step
        return close

    def _entry(self, at: int) -> int:
        """Count one entry; return its length, or 0 if it makes no sense."""
        head = self.source.read_at(at, ENTRY.size)
        if len(head) < ENTRY.size or self.seen >= self.most:
            self._odd(f"more than {self.most} entries; the rest was not read" if head else "an entry is cut off")
            return 0
        kind, _, length, size, minor, major, arch, flags = cast("tuple[int, ...]", ENTRY.unpack(head))
        if length < ENTRY.size or not 10 <= arch < 10_000:
            self._odd("an entry makes no sense; the rest of its container was not read")
            return 0
        self.seen += 1
        if kind in KINDS:
            own = "a" if flags & SPECIFIC else "f" if flags & FAMILY else ""
            self.found[KINDS[kind], arch, own] += 1
            if KINDS[kind] == "ptx":
                name = _name("ptx", arch, own)
                self.languages[name] = max(self.languages.get(name, (0, 0)), (major, minor))
            self.kernels = self.kernels or not self._is_left_over(KINDS[kind], at + length, size)
        elif kind != FOR_LINKERS:
            self._odd(f"entries of unknown kind {kind}")
        return length + size

    def _is_left_over(self, kind: str, at: int, size: int) -> bool:
        """Whether an entry is machine code without a kernel; compressed code has ELF's first bytes, too."""
        if kind != "sm" or size > LEFT_OVER:
            return False
        payload = self.source.read_at(at, size)
        return b"\x7fELF" in payload[:32] and KERNEL not in payload

    def _wrapped(self, sections: list[Section]) -> Iterator[tuple[int, int]]:
        """Follow the pointers of the wrappers: magic, version, address of the container, unused."""
        space = Space(self.source, self.headers)
        for section in sections:
            table = space.read(section.rva, min(section.size, STEP))
            for magic, _, address, _ in struct.iter_unpack("<IIQQ", table[: len(table) - len(table) % 24]):
                at, left = space.locate(address - self.headers.image_base)
                if magic == WRAPPER_MAGIC and left:
                    yield at, at + left

    def _odd(self, what: str) -> None:
        if len(self.oddities) < 8 and what not in self.oddities:
            self.oddities.append(what)


def _name(kind: str, arch: int, variant: str) -> str:
    return f"{kind}_{arch}{variant}"


def _span(section: Section, size: int) -> tuple[int, int]:
    """Return where a section's data lie in the file."""
    return section.offset, min(section.offset + min(section.size, section.vsize or section.size), size)
