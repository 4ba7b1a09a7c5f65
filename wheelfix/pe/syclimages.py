"""What the device images of SYCL inside a DLL are for, from the table that its start-up code gives to the runtime.

The compiler makes one entry per image: a version, the kind 4 (SYCL), a format, and pointers. Version 2 has pointers to
the target, the options of compiling and linking, two for a manifest, then beginning and end of the image, of the
kernels and of the properties; version 3 leaves out the manifest. The target is ``spir64`` for SPIR-V, which the driver
compiles, and ``spir64_gen`` for machine code, made for the devices that the option ``-device`` names.

The layout is that of intel/llvm (``sycl/source/detail/compiler.hpp``); it was compared with dpnp 0.20, dpctl 0.22,
bitsandbytes 0.50.2 and oneMKL 2026.2. An entry is found by its head and believed if its pointers lead to the name of a
target. An image without kernels, which every DLL gets that is built with ``-fsycl``, does not count.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.base.values import dataclass
from wheelfix.pe.sections import Space, without_overlaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.model import ByteSource
    from wheelfix.pe.sections import Headers

PLACES = frozenset({".rdata", ".data"})
"""The sections that hold the table."""
MOST_IMAGES = 50_000
"""Far beyond oneMKL and dpnp, which have some thousands in a DLL."""
STEP = 1 << 20
_HEAD = re.compile(rb"(?=[\x02\x03]\x00\x04[\x00-\x05]\x00{4})")
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


@dataclass(frozen=True, slots=True)
class SyclImages:
    """What was found."""

    targets: Mapping[str, int]
    """``spir64`` and ``intel_pvc`` with the number of images."""
    images: int
    """All images, also those without kernels."""
    nameless: bool
    """Whether some machine code does not say which devices it is for."""


def read_sycl_images(source: ByteSource, headers: Headers) -> SyclImages:
    """Return what the images with kernels are for."""
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
    found = {"spir64": with_kernels["spir64"]} if with_kernels["spir64"] else {}
    devices: set[str] = set()
    if with_kernels["spir64_gen"]:  # machine code
        # The compiler may note the option at another image of the same program.
        options = texts((entry.options for entry in known), 256).values()
        devices = {name.lower() for text in options for name in _devices(text.partition(b"\0")[0])}
        found |= {f"intel_{name}": with_kernels["spir64_gen"] for name in devices}
    return SyclImages(found, sum(known.values()), nameless=bool(with_kernels["spir64_gen"]) and not devices)


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
