"""The names of Python modules in the data of compiled extension modules: what they may import.

Compilers of Python code keep names in different ways, and none of them in the import table:

- C and C++ (pybind11, nanobind), and Cython before 3.2: each between zeros.
- Cython 3.2 and later: all strings of a module joined, with a table of their lengths apart. 3.2 packs the text with
  zlib, 3.3 with an LZSS of its own; both leave short text as it is.
- mypyc: each with its length before it.
- Rust (PyO3): joined without lengths; code that uses a text has its address and its length.
"""

from __future__ import annotations

import functools
import itertools
import re
import struct
import zlib
from array import array
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.model import ByteSource, Image, NumpyApi
from wheelfix.pe.image import NotAnImage, Section, read_headers

if TYPE_CHECKING:
    from collections.abc import Iterator


LARGEST = 32 << 20
"""Bytes of an extension module in which names are looked for."""
LARGEST_ASKED = 128 << 20
"""The same where a module is missing that it may make, which few wheels have; that of opendal has 50 MB."""
_LARGEST_TABLE = 4 << 20
"""Bytes of the strings of one Cython module; those of the largest known have 300 kB."""
_WORDS = (b"__main__", b"__name__", b"__test__")
"""Strings that every Cython module has; each has eight bytes."""
_EIGHT = b"\x08\0\0\0"
_LONGEST_WAY = 20_000
"""Bytes between two of these strings."""
_FIRST = 64
"""Bytes that are unpacked to see whether they are text at all."""
_CONTROLS = bytes({*range(1, 32)} - {*b"\t\n\r\x1b"})
_FIRST_BYTES = bytes({*range(1, 127)} - {*_CONTROLS})
"""What is at the beginning of joined strings, which are sorted; one of them may be a zero."""
_PACKED = regex(b"[" + bytes(range(7, 256, 8)) + b"]")
"""The first byte of what Cython packs: at least three bytes behind it are text."""
_ENDS = regex(rb"(?:\.\w{1,99}){0,9}\0")
"""What follows the name of a module: submodules, and the zero at the end."""
_GROUP = regex(rb"(?<![\w.])(?!PyInit_)[\w.]{1,200}__mypyc(?=\0)")
LARGEST_SHIM = 64 << 10
"""Bytes of a module that only asks another one for its content."""
_MAKE_MODULES = frozenset(("PyModule_Create2", "PyModuleDef_Init"))
"""One of these is called by modules with code of their own."""
_ADDING = (b"PyImport_AddModule", b"PyImport_GetModuleDict", b"PyModule_New", b"pyo3")
"""One of these is in modules in C, C++ or Rust that make others, and add them to those that are imported."""
_RUST_SOURCES = ("\\mod.rs", "/mod.rs", ".rs")
_MANY = 10_000
"""Places of a name in one file that are looked at."""
_LEA = regex(rb"[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
"""The instruction that loads an address on x64, before its distance."""
_NEAR = 48
"""Bytes of code around it in which the length of the text is loaded."""


@frozen
class CythonStrings:
    """The strings of a Cython module, joined."""

    text: bytes
    starts: dict[int, int] | None
    """Where each string begins, with its length; None where the table of lengths was not found."""

    def has(self, name: bytes) -> bool:
        """Whether one of the strings is a module or one of its submodules."""
        at = self.text.find(name)
        while at >= 0:
            after = self.text[at + len(name) : at + len(name) + 2]
            length = self.starts.get(at, 0) if self.starts is not None else _length_by_order(name, after)
            if length == len(name) or (length > len(name) and after[:1] == b"."):
                return True
            at = self.text.find(name, at + 1)
        return False


def _length_by_order(name: bytes, after: bytes) -> int:
    """The length of a name among sorted strings, by what follows it: the next string, which is not before it."""
    if len(name) < _SHORTEST_ALONE:
        return 0
    if after[:1] == b".":
        return len(name) + 1
    return len(name) if not after or after == b"__" or after[:1].lower() >= name[:1].lower() else 0


_SHORTEST_ALONE = 4
"""Characters of a name that is looked for in joined strings whose lengths are not known."""


class CompiledNames:
    """What an extension module says about the modules that it may import."""

    def __init__(self, source: ByteSource, most: int = LARGEST) -> None:
        self._source = source
        self._data = source.read_at(0, min(source.size, most))

    @functools.cached_property
    def _cython(self) -> CythonStrings | None:
        return _cython_strings(self._data)

    def has(self, module: str) -> bool:
        """Whether a module, or one of its submodules, is named in a way that an import needs."""
        name, data = module.encode(), self._data
        if any(_begins(data, at) and _ENDS.match(data, at + len(name)) for at in _places(data, name, _MANY)):
            return True
        if self._cython is not None and self._cython.has(name):
            return True
        if len(name) < 0x80 and b"mypyc" in data and bytes([len(name)]) + name in data:
            return True
        return b"pyo3" in data and self._is_rust_text(name)

    def may_make(self, module: str) -> bool:
        """Whether it may make a module instead of importing it: it has the name, and what makes or adds modules.

        Cantera has all of its modules in one file; asyncpg's names the source of another one, and imports that. Rust
        keeps short names in its instructions, and the paths of its sources in its data: fastwarc's has
        ``src\\warc\\mod.rs``.
        """
        if b"pyo3" in self._data and any(f"{module}{end}".encode() in self._data for end in _RUST_SOURCES):
            return True
        if b"__pyx_" in self._data or b".pyx\0" in self._data:
            return f"PyInit_{module}\0".encode() in self._data and self.has(module)
        return any(function in self._data for function in _ADDING) and self.has(module)

    def _is_rust_text(self, name: bytes) -> bool:
        """Whether some address of the name is used together with its length."""
        try:
            headers = read_headers(self._source)
        except NotAnImage:
            return False
        places = {
            section.rva + at
            for section in headers.sections
            for at in _places(self._data[section.offset : section.offset + section.size], name, _MANY)
        }
        pairs = (struct.pack("<QQ", headers.image_base + rva, len(name)) for rva in places)
        return any(pair in self._data for pair in pairs) or any(
            _loads(self._data, section, places, len(name))
            for section in headers.sections
            if places and section.name == ".text"
        )


def may_make(source: ByteSource, module: str) -> bool:
    """Whether an extension module may make a module; of one that is too large to be searched nothing else is known."""
    return source.size > LARGEST_ASKED or CompiledNames(source, LARGEST_ASKED).may_make(module)


def group_of(image: Image, source: ByteSource) -> str:
    """The module that has the code of a module of mypyc, which itself has none; empty for any other module.

    Importing charset_normalizer.md imports charset_normalizer.md__mypyc, and fails where that is not there.
    """
    symbols = {symbol for needed in image.imports for symbol in needed.symbols}
    if source.size > LARGEST_SHIM or not symbols.isdisjoint(_MAKE_MODULES):
        return ""
    found = _GROUP.search(source.read_at(0, LARGEST_SHIM))
    return found[0].decode() if found else ""


def _begins(data: bytes, at: int) -> bool:
    """Whether a text may begin at a place: after the zero of another one, or aligned after what is not text.

    cffi's modules have ``_cffi_backend`` after a table of numbers that ends with -1.
    """
    before = data[at - 1] if at else 0
    return before == 0 or (at % 4 == 0 and not 0x20 <= before < 0x7F)


def _loads(data: bytes, code: Section, places: set[int], length: int) -> bool:
    """Whether x64 code loads one of some addresses, and the length of the text there near by."""
    for match in _LEA.finditer(data, code.offset, max(code.offset, code.offset + code.size - 4)):
        after = match.end() + 4
        distance = int.from_bytes(data[match.end() : after], "little", signed=True)
        if after + code.rva - code.offset + distance in places:
            near = data[max(code.offset, match.start() - _NEAR) : after + _NEAR]
            if struct.pack("<I", length) in near or bytes([0x6A, length & 0x7F]) in near:
                return True
    return False


def _cython_strings(data: bytes) -> CythonStrings | None:
    """The joined strings of the Cython module in a file."""
    if b"_cython_3_" not in data:
        return None
    text = next(itertools.chain(_plain(data), _packed_with_zlib(data), _packed_with_lzss(data)), None)
    return CythonStrings(text, _starts(data, text)) if text is not None else None


def _is_table(text: bytes) -> bool:
    return all(word in text for word in _WORDS)


def _plain(data: bytes) -> Iterator[bytes]:
    """Joined strings that are not packed: a text between zeros that has what every module has."""
    for match in re.finditer(rb"__main__", data):
        start = data.rfind(b"\0", 0, match.start()) + 1
        end = data.find(b"\0", match.end())
        text = data[start : end if end >= 0 else len(data)]
        if len(text) <= _LARGEST_TABLE and _is_table(text):
            yield text


def _packed_with_zlib(data: bytes) -> Iterator[bytes]:
    """Joined strings of Cython 3.2, which packs with the highest level."""
    for match in re.finditer(rb"\x78\xda", data):
        try:
            text = zlib.decompressobj().decompress(data[match.start() : match.start() + _LARGEST_TABLE], _LARGEST_TABLE)
        except zlib.error:
            continue
        if _is_table(text):
            yield text


def _packed_with_lzss(data: bytes) -> Iterator[bytes]:
    """Joined strings of Cython 3.3: nothing marks where they begin, but other data soon repeats what is not there."""
    for match in _PACKED.finditer(data[: len(data) - 8 : 8]):
        at = match.start() * 8
        odd = data[at + 1 : at + 4].translate(None, _FIRST_BYTES)
        if len(odd) <= 1 and _is_text(_unpacked_lzss(data, at, _FIRST)):
            text = _unpacked_lzss(data, at, _LARGEST_TABLE)
            if _is_table(text):
                yield text


def _is_text(sample: bytes) -> bool:
    """Whether some bytes may be the first of joined strings: hardly any of them are not printed."""
    return len(sample) >= _FIRST and sample.count(0) <= 2 and len(sample.translate(None, _CONTROLS)) > len(sample) - 8


def _unpacked_lzss(data: bytes, at: int, most: int) -> bytes:
    """What Cython's LZSS makes of packed bytes, up to the first thing that it cannot contain."""
    out = bytearray()
    end = len(data) - 3
    while at < end and len(out) < most and data[at : at + 5] != bytes(5):
        flags = data[at]
        at += 1
        for bit in range(8):
            if at >= end:
                break
            if flags >> bit & 1:
                out.append(data[at])
                at += 1
                continue
            low, high = data[at], data[at + 1]
            at += 2
            if not low & 0x80:
                distance, length = low, high
            elif not high & 0x80:
                distance, length = 0x80 + (high << 2 & 0x180 | low & 0x7F), high & 0x1F
            else:
                distance, length = 0x80 + ((high & 0x7F) << 7 | low & 0x7F), data[at]
                at += 1
            start = len(out) - distance - length - 3
            if start < 0:
                return bytes(out)
            out += out[start : start + length + 3]
    return bytes(out)


def _starts(data: bytes, text: bytes) -> dict[int, int] | None:
    """Where each of some joined strings begins, by the table of lengths: one number of four bytes for each.

    The table is where the numbers lead from the beginning of one string that is known to that of another.
    """
    others = [*_places(text, _WORDS[2])]
    known = [(at, other) for at in _places(text, _WORDS[1]) for other in others]
    ways = {abs(other - at): (min(at, other), max(at, other)) for at, other in known if abs(other - at) < _LONGEST_WAY}
    numbers = array("I", data[: len(data) // 4 * 4])
    at = data.find(_EIGHT)
    while at >= 0 and ways:
        if at % 4 == 0:
            total, step = 8, at // 4 + 1
            while step < len(numbers) and 0 <= total <= _LONGEST_WAY:
                if total in ways and numbers[step] == 8:
                    found = _walk(numbers, at // 4, ways[total][0], len(text))
                    if all(any(place in found for place in _places(text, word)) for word in _WORDS):
                        return found
                total += numbers[step]
                step += 1
        at = data.find(_EIGHT, at + 1)
    return None


def _places(text: bytes, word: bytes, most: int = 16) -> Iterator[int]:
    """Where a word is in a text, the first of them."""
    at = text.find(word)
    while at >= 0 and most:
        yield at
        at, most = text.find(word, at + 1), most - 1


def _walk(numbers: array[int], step: int, at: int, size: int) -> dict[int, int]:
    """Where each string begins, from one whose place in text and table is known, in both directions."""
    found = {}
    forward, place = step, at
    while forward < len(numbers) and place + numbers[forward] <= size:
        found[place] = numbers[forward]
        place += numbers[forward]
        forward += 1
    place = at
    while step > 0 and numbers[step - 1] <= place and place > 0:
        step -= 1
        place -= numbers[step]
        found.setdefault(place, numbers[step])
    return found


# ------------------------------------------------------------------------------------------------------------- numpyapi
# Which NumPy an extension module was built for, read from the marks that NumPy's headers leave in it.
# One is the name under which the module imports NumPy's C API: ``numpy.core`` in NumPy 1, ``numpy._core`` and then
# ``numpy.core`` in NumPy 2. The other, from NumPy 2 on, is the oldest NumPy that has all the module was allowed to use,
# as part of the sentence that the module says where NumPy is older. Seen in some hundred modules of wheels from PyPI.


NUMPY_1 = b"numpy.core._multiarray_umath"
NUMPY_2 = b"numpy._core._multiarray_umath"
_MODULE = b"._multiarray_umath"
_SENTENCE = b"NumPy C-API version 0x%x (NumPy "
OLDEST = regex(re.escape(_SENTENCE) + rb"(\d{1,2}\.\d{1,3})\)")
LIMIT = 512 << 20
"""Modules above this size are not searched; opencv-python's has 74 MB, the largest on PyPI some hundred."""
CHUNK = 1 << 20
TAIL = 64
"""Longer than any mark, so that none is lost between two chunks."""


def read_numpy(source: ByteSource) -> NumpyApi | None:
    """Return which NumPy a module was built for; None for one that does not use NumPy's C API, or is too large."""
    if source.size > LIMIT:
        return None
    old = new = False
    oldest = b""
    try:
        for data in _chunks(source):
            if _MODULE in data:
                old, new = old or NUMPY_1 in data, new or NUMPY_2 in data
            if not oldest and (match := OLDEST.match(data, max(data.find(_SENTENCE), 0))):
                oldest = match[1]
            if new and oldest:
                break
    except InputError:
        return None
    return NumpyApi(2 if new else 1, oldest.decode()) if old or new else None


def _chunks(source: ByteSource) -> Iterator[bytes]:
    """The bytes of a file one piece after the other, each with the end of the one before it."""
    tail = b""
    for offset in range(0, source.size, CHUNK):
        data = tail + source.read_at(offset, CHUNK)
        yield data
        tail = data[-TAIL:]


# -------------------------------------------------------------------------------------------------------------- cython
# A module of Cython that uses functions of another one in C (``cimport``) imports that module by its whole name before
# any code of its own runs, and then asks it for ``__pyx_capi__``. Seen in scikit-learn, h5py, pyogrio and statsmodels.


LARGEST_CIMPORTING = 8 << 20
"""Larger modules are not searched: what they were inflated to is not remembered."""
_CAPI = b"__pyx_capi__"
_PRIVATE = regex(rb"\._[a-z][a-z0-9_]{0,60}(?=\0)")
_LONGEST_NAME = 100
"""Bytes of a module's whole name."""


def read_cimports(source: ByteSource) -> frozenset[str]:
    """Return the private modules, by their whole names, that a module of Cython asks for C functions."""
    found = set[bytes]()
    try:
        for section in read_headers(source).sections if source.size <= LARGEST_CIMPORTING else ():
            data = source.read_at(section.offset, section.size) if section.name == ".rdata" else b""
            for match in _PRIVATE.finditer(data) if _CAPI in data else ():
                start = data.rfind(b"\0", max(match.end() - _LONGEST_NAME, 0), match.start()) + 1
                found |= {data[start : match.end()]} if start else set()
    except InputError:
        return frozenset()
    names = (name.decode("ascii", "replace") for name in found)
    return frozenset(name for name in names if all(map(str.isidentifier, name.split("."))))
