"""The GPU code inside a DLL, for cards of NVIDIA, AMD and Intel: which architectures it is for."""

from __future__ import annotations

import io
import itertools
import re
import struct
import zlib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, cast

from wheelfix.base.parsing import regex
from wheelfix.base.values import dataclass, field, frozen
from wheelfix.errors import InputError
from wheelfix.pe.image import Headers, MagicSearch, Section, Space, read_headers, without_overlaps
from wheelfix.streams.codec import INSTALL, zstd_errors, zstd_reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.model import ByteSource


# ----------------------------------------------------------------------------------------------------------------- SYCL
# What the device images of SYCL inside a DLL are for, from the table that its start-up code gives to the runtime. The
# compiler makes one entry per image: a version, the kind 4 (SYCL), a format, and pointers. Version 2 has pointers to
# the target, the options of compiling and linking, two for a manifest, then beginning and end of the image, of the
# kernels and of the properties; version 3 leaves out the manifest. The target is ``spir64`` for SPIR-V, which the
# driver compiles, and ``spir64_gen`` for machine code, made for the devices that the option ``-device`` names. The
# layout is that of intel/llvm (``sycl/source/detail/compiler.hpp``); it was compared with dpnp 0.20, dpctl 0.22,
# bitsandbytes 0.50.2 and oneMKL 2026.2. An entry is found by its head and believed if its pointers lead to the name of
# a target. An image without kernels, which every DLL gets that is built with ``-fsycl``, does not count.

PLACES = frozenset({".rdata", ".data"})
"""The sections that hold the table."""
MOST_IMAGES = 50_000
"""Far beyond oneMKL and dpnp, which have some thousands in a DLL."""
STEP = 1 << 20
_HEAD = regex(rb"(?=[\x02\x03]\x00\x04[\x00-\x05]\x00{4})")
_ENTRY = struct.Struct("<8x11Q")
_SPEC = rb"(spir64(?:_[a-z0-9_]{1,20})?|nvptx64|amdgcn|native_cpu)\0"
_DEVICES = rb"-device ([A-Za-z0-9][A-Za-z0-9_.,-]{0,200})"


class _Entry(NamedTuple):
    """What is used of an entry."""

    target: int
    """Address of the text that says what the image is for."""
    options: int
    """Address of the options of compiling."""
    kernels: bool
    """Whether the image has kernels."""


def _read_sycl(source: ByteSource, headers: Headers, found: OffloadCode) -> None:
    """Add what the images with kernels are for: ``spir64`` and ``intel_pvc``, with the number of images."""
    places = [(one.offset, one.offset + one.size) for one in headers.sections if one.name in PLACES]
    entries = (entry for start, end in without_overlaps(places) for entry in _entries(source, start, end))
    images = Counter(itertools.islice(entries, MOST_IMAGES))
    space = Space(source, headers)

    def texts(addresses: Iterable[int], length: int) -> dict[int, bytes]:
        # They lie behind what was passed already: each is read once, in ascending order.
        return {one: space.read(one - headers.image_base, length) for one in sorted(set(addresses))}

    targets = texts((entry.target for entry in images), 32)
    specs = {address: match[1].decode("ascii") for address, text in targets.items() if (match := re.match(_SPEC, text))}
    known = {entry: count for entry, count in images.items() if entry.target in specs}
    with_kernels: Counter[str] = Counter()
    for entry, count in known.items():
        with_kernels[specs[entry.target]] += count if entry.kernels else 0
    if with_kernels["spir64"]:
        found.targets["spir64"] += with_kernels["spir64"]
    if with_kernels["spir64_gen"]:  # machine code
        # The compiler may note the option at another image of the same program.
        options = texts((entry.options for entry in known), 256).values()
        devices = {name.lower() for text in options for name in _devices(text.partition(b"\0")[0])}
        found.targets.update({f"intel_{name}": with_kernels["spir64_gen"] for name in devices})
        if not devices:
            found.unread = "it has machine code for Intel cards, and does not say for which"
    elif not known:
        found.unread = "it has images of SYCL, and the table that says what they are for was not found"


def _devices(options: bytes) -> list[str]:
    return [name for match in re.finditer(_DEVICES, options) for name in match[1].decode("ascii").split(",") if name]


def _entries(source: ByteSource, at: int, end: int) -> Iterator[_Entry]:
    """Yield whatever looks like an entry."""
    end = min(end, source.size)
    while at < end:
        block = source.read_at(at, min(STEP + _ENTRY.size, end - at))
        for match in _HEAD.finditer(block, 0, STEP + 7):
            place = match.start()
            if place >= STEP or (at + place) % 8 or place + _ENTRY.size > len(block):
                continue
            version = block[place]
            target, options, _, *rest = _ENTRY.unpack_from(block, place)
            begin, close, first, last = rest[2:6] if version == 2 else rest[:4]
            if target and begin <= close and first <= last:
                yield _Entry(target, options, last > first)
        at += STEP


# -------------------------------------------------------------------------------------------------------------- offload
# The GPU code for AMD's and Intel's cards inside a DLL.
# HIP: the compiler puts bundles into the section ``.hip_fatbin``, one per source file. A bundle begins with
# ``__CLANG_OFFLOAD_BUNDLE__``, the number of its entries, and for each its place, its length and what it is for
# (``hipv4-amdgcn-amd-amdhsa--gfx1100``). A compressed bundle begins with ``CCOB``; its head alone is unpacked. Both are
# documented in Clang's "Clang Offload Bundler"; the layout was checked with the DLLs of bitsandbytes 0.50.2 and with
# bundles that clang-offload-bundler 19 made (fixtures/bundles).
#
# SYCL: the linker puts images into a section ``__CLANG_OFFLOAD_BUNDLE__sycl-…`` and lists them in ``.tgtimg``. What
# each is for is read by :mod:`wheelfix.pe.gpucode`.


HIP_SECTION = ".hip_fat"
"""``.hip_fatbin``, cut to eight letters."""
SYCL_SECTIONS = frozenset({".tgtimg", "__CLANG_"})
SECTIONS = SYCL_SECTIONS | {HIP_SECTION}
"""The sections that show such code."""
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
ZLIB, ZSTD = 0, 1
MOST_BUNDLES = 20_000
MOST_COMPRESSED = 5_000
MOST_ENTRIES = 300_000
"""Of all bundles of a file, as the two above."""
HEAD = 64 << 10
"""Bytes of an unpacked bundle that hold the list of its entries; more are not unpacked."""
_TARGET = rb"^hip[a-z0-9]*-(?:amdgcn|spirv64)-amd-amdhsa-[^-]*-(gfx[0-9a-f]+(?:-[0-9])?(?:-generic)?|amdgcnspirv)"


@dataclass
class OffloadCode:
    """What was found."""

    targets: Counter[str] = field(default_factory=Counter)
    """``gfx1100`` with how often it occurs, ``amdgcnspirv``, ``spir64``, ``intel_pvc``."""
    unread: str = ""
    """Why some code was not read; empty when all was."""


def read_offload_code(source: ByteSource, headers: Headers) -> OffloadCode | None:
    """Return the code for AMD's and Intel's cards, or None for a DLL that has no place for any."""
    names = {section.name for section in headers.sections}
    if not names & SECTIONS:
        return None
    found = OffloadCode()
    hip = [_span(section, source.size) for section in headers.sections if section.name == HIP_SECTION]
    bundles = _Bundles(source, found)
    for start, end in without_overlaps(hip):
        bundles.read(start, end)
    if names & SYCL_SECTIONS:
        _read_sycl(source, headers, found)
    return found


def _span(section: Section, size: int) -> tuple[int, int]:
    """Return where a section's data lie in the file."""
    return section.offset, min(section.offset + min(section.size, section.vsize or section.size), size)


# --------------------------------------------------------------------------------------------------------------- HIP


class _Bundles:
    """The bundles of a file, one after the other; how many are looked at is counted for the whole file."""

    def __init__(self, source: ByteSource, found: OffloadCode) -> None:
        self._source, self._end, self._found = source, 0, found
        self._search = MagicSearch(source, (BUNDLE, COMPRESSED), STEP)
        self._bundles = self._unpacked_bundles = self._entries = 0

    def read(self, start: int, end: int) -> None:
        """Count the targets of all bundles in a span."""
        self._end = end
        while (place := self._search.next(start, end)) is not None:
            self._bundles += 1
            if self._bundles > MOST_BUNDLES or self._entries > MOST_ENTRIES:
                self._found.unread = f"it has more than {MOST_BUNDLES} bundles, or {MOST_ENTRIES} entries in them"
                return
            head = self._source.read_at(place, min(HEAD, end - place))
            if head.startswith(COMPRESSED):
                length, content = self._compressed(place, head)
                self._count(content)
            else:
                # What follows is code, in which the first letters of a bundle may occur by chance.
                length = self._count(head)
            start = place + max(min(length, end - place), len(COMPRESSED))

    def _compressed(self, place: int, head: bytes) -> tuple[int, bytes]:
        """Return the length of a compressed bundle and the beginning of its content."""
        if len(head) < 32:
            return 0, b""
        version, method = struct.unpack_from("<HH", head, 4)
        header, length = {1: (20, 0), 2: (24, _u64(head, 8) & 0xFFFFFFFF), 3: (32, _u64(head, 8))}.get(version, (0, 0))
        if not header:
            self._found.unread = f"a bundle is compressed in version {version} of the format, which is not known"
            return 0, b""
        left = min(length or self._end, self._end - place)
        return min(length, self._end - place), self._unpacked(place + header, left - header, method)

    def _unpacked(self, at: int, size: int, method: int) -> bytes:
        self._unpacked_bundles += 1
        if self._unpacked_bundles > MOST_COMPRESSED:
            self._found.unread = f"it has more than {MOST_COMPRESSED} compressed bundles"
            return b""
        packed = self._source.read_at(at, max(min(size, 4 * HEAD), 0))
        damaged: tuple[type[Exception], ...] = (zlib.error, EOFError, OSError, ValueError, *zstd_errors())
        try:
            if method == ZLIB:
                return zlib.decompressobj().decompress(packed, HEAD)
            reader = zstd_reader() if method == ZSTD else None
            if reader is None:
                self._found.unread = (
                    f"it is packed with zstd, which this Python cannot unpack ({INSTALL} helps)"
                    if method == ZSTD
                    else f"it is packed with the unknown method {method}"
                )
                return b""
            with reader(io.BytesIO(packed)) as stream:
                return stream.read(HEAD)
        except damaged:
            self._found.unread = "a compressed bundle is damaged"
            return b""

    def _count(self, content: bytes) -> int:
        """Count the entries that a bundle lists, and return where the last of them ends; 0 for a damaged list."""
        if not content.startswith(BUNDLE) or len(content) < len(BUNDLE) + 8:
            return 0
        count, at = _u64(content, len(BUNDLE)), len(BUNDLE) + 8
        end = 0
        while count and self._entries <= MOST_ENTRIES:
            count -= 1
            self._entries += 1
            if at + 24 > len(content):
                return 0
            length = _u64(content, at + 16)
            end = max(end, _u64(content, at) + _u64(content, at + 8))
            name = content[at + 24 : at + 24 + min(length, 256)]
            match = re.match(_TARGET, name)
            if match:
                self._found.targets[match[1].decode("ascii")] += 1
            at += 24 + length
        return end


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


# --------------------------------------------------------------------------------------------------------------- fatbin
# The GPU code inside a CUDA DLL: for which architectures there is machine code (SASS), and for which PTX.
# nvcc puts containers into the section ``.nv_fatb``: a header of 16 bytes (magic, version, header length, length), then
# entries, each a header with kind, lengths and compute capability, and a payload that may be compressed. The headers
# never are, so a walk from header to header finds everything. It crosses the whole section: on a deflated member that
# costs inflating it, some seconds for a gigabyte, in bounded memory.
#
# The layout comes from reading real CUDA DLLs. An entry with PTX says in its header which version of the language it is
# written in, the one of its first line (``.version 7.8``); a driver that does not know it refuses to compile it.
#
# Header flags mark code that is for one architecture only (0x100000, ``sm_90a``) and code that is for a family of
# architectures (0x200000, ``sm_100f``); both were made with nvcc 13.0 (``fixtures/fatbins``).
#
# cuFFT of CUDA 12.4 to 12.9 has its containers in ``.data`` and loads them with functions of the driver; in
# ``.nv_fatb`` it has what nvcc links into every DLL, code without a kernel. Where it has nothing else, ``.data`` is
# read too.
#
# Code for AMD's and Intel's cards is read by :mod:`wheelfix.pe.gpucode`.


MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1
CONTAINERS = ".nv_fatb"
WRAPPERS = ".nvFatBi"
"""``.nvFatBinSegment``, cut to eight letters: pointers to containers, wherever those lie."""
KINDS = {1: "ptx", 2: "sm"}
"""The kinds of entries with code; cuFFT has others (8) that it gives to a linker at run time."""
DATA = ".data"
SPECIFIC = 0x100000
"""Code for this architecture and no other."""
FAMILY = 0x200000
"""Code for this architecture and later ones of its family."""
MAX_ENTRIES = 500_000
"""Far beyond torch_cuda.dll, which has some thousands."""
ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
"""Kind, version, header length, payload length; minor and major of the format at 24, capability at 28, flags at 40."""
_FATBIN_STEP = 64 << 10
LEFT_OVER = 4 << 10
"""Bytes; what nvcc links into every DLL is smaller."""
KERNEL = b".text."
"""How the names of kernels' sections begin in machine code; compression leaves the first occurrence readable."""


@frozen
class GpuCode:
    """The GPU code of one DLL."""

    entries: Mapping[str, int] = field(default_factory=dict)
    """Architectures with how often each occurs: ``sm_86``, ``sm_90a`` and ``sm_100f`` are machine code, ``ptx_86`` is
    PTX, ``gfx1100`` code for AMD's cards; ``spir64`` and ``intel_pvc`` are for Intel's."""
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
        return _merged(_Walk(source, headers, most).code(), read_offload_code(source, headers))
    except InputError:
        return None


def _merged(nvidia: GpuCode | None, others: OffloadCode | None) -> GpuCode | None:
    if others is None:
        return nvidia
    own = nvidia or GpuCode()
    entries = {**own.entries, **dict(sorted(others.targets.items()))}
    return GpuCode(entries, own.ptx, own.unread or others.unread, kernels=own.kernels or bool(others.targets))


class _Walk:
    """Goes from header to header, and counts."""

    def __init__(self, source: ByteSource, headers: Headers, most: int | None) -> None:
        self.most = MAX_ENTRIES if most is None else most
        self.source = source
        self.headers = headers
        self.found: Counter[tuple[str, int, str]] = Counter()
        self.languages: dict[str, tuple[int, int]] = {}
        self.seen = self.containers = 0
        self.search = MagicSearch(source, (struct.pack("<I", MAGIC),), _FATBIN_STEP)
        self.kernels = False
        self.unread = ""

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
        return GpuCode(entries, languages, self.unread, kernels=self.kernels or not self.seen)

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
            self.unread = f"it has more than {MAX_ENTRIES} containers"
            self.seen = self.most
        if length < 16 or self.seen >= self.most:
            return 0
        if version != 1:
            self.unread = f"a container is in version {version} of the format, which is not known"
            return 0
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
            self.unread = f"it has more than {self.most} entries, or ends within one"
            return 0
        kind, _, length, size, minor, major, arch, flags = cast("tuple[int, ...]", ENTRY.unpack(head))
        if length < ENTRY.size or not 10 <= arch < 10_000:  # it makes no sense, nor does what follows it
            return 0
        self.seen += 1
        if kind in KINDS:
            own = "a" if flags & SPECIFIC else "f" if flags & FAMILY else ""
            self.found[KINDS[kind], arch, own] += 1
            if KINDS[kind] == "ptx":
                name = _name("ptx", arch, own)
                self.languages[name] = max(self.languages.get(name, (0, 0)), (major, minor))
            self.kernels = self.kernels or not self._is_left_over(KINDS[kind], at + length, size)
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
            table = space.read(section.rva, min(section.size, _FATBIN_STEP))
            for magic, _, address, _ in struct.iter_unpack("<IIQQ", table[: len(table) - len(table) % 24]):
                at, left = space.locate(address - self.headers.image_base)
                if magic == WRAPPER_MAGIC and left:
                    yield at, at + left


def _name(kind: str, arch: int, variant: str) -> str:
    return f"{kind}_{arch}{variant}"
