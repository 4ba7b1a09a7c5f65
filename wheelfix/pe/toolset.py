"""Which Visual C++ compilers made a DLL: the Rich header that Microsoft's linker leaves behind the DOS stub.

The linker version in the PE header names the last tool alone. cuDNN 8.9 was linked by 14.20 from objects that 14.29
compiled, and it is the compilers that decide how new a C++ runtime must be. Their build numbers are the third part of
the runtime's file version (msvcp140.dll 14.44.35211), so the two compare without a table.

This is the one door to pefile: it knows the header's masking and its malformed variants, and needs the first page of
the file only. Tables and resources are read by our own modules, because pefile stops at 8192 imported symbols and
wants the whole file in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.model import Malformed
from wheelfix.pe.sections import read_headers

if TYPE_CHECKING:
    from wheelfix.model import ByteSource

PAGE = 4096
LINKER = 0x102
COMPILERS = frozenset(range(0x104, 0x10F))
"""Products of Visual Studio 2015 and later: C, C++, and both after whole-program or profile-guided optimisation."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools that made a DLL, by build number."""

    compiler: int = 0
    """The newest C or C++ compiler among the objects: 35207 belongs to 14.44. Zero if none is named."""
    linker: int = 0
    objects: int = 0
    """How many objects the newest compiler made."""


def read_toolset(source: ByteSource) -> Toolset | None:
    """Return the compilers named in the Rich header; None without one, as other linkers leave none."""
    try:
        if isinstance(read_headers(source), Malformed):
            return None
        head = source.read_at(0, PAGE)
    except InputError:
        return None
    builds: dict[int, dict[int, int]] = {}
    for product, build, count in _rich(head):
        counts = builds.setdefault(product, {})
        counts[build] = counts.get(build, 0) + count
    if not builds:
        return None
    compiled: dict[int, int] = {}
    for product in COMPILERS & builds.keys():
        for build, count in builds[product].items():
            compiled[build] = compiled.get(build, 0) + count
    newest = max(compiled, default=0)
    return Toolset(newest, max(builds.get(LINKER, {}), default=0), compiled.get(newest, 0))


def _rich(head: bytes) -> list[tuple[int, int, int]]:
    """Return product, build and number of objects of each row of the Rich header."""
    import pefile  # a tenth of a second, for a question that few runs ask

    try:
        found = pefile.PE(data=head, fast_load=True).parse_rich_header()
    except pefile.PEFormatError:
        return []
    values: list[int] = found["values"] if found else []
    return [(row >> 16, row & 0xFFFF, count) for row, count in zip(values[::2], values[1::2], strict=False)]
