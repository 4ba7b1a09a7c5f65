"""Names of Python modules in compiled code, kept as several compilers keep them."""

from __future__ import annotations

import struct
import zlib

import pytest

from tests.support.tables import named_cases
from tests.support.wheels import extension
from tools.forge import forge_dll
from wheelfix.model import NumpyApi
from wheelfix.pe import modulenames
from wheelfix.pe.image import read_headers
from wheelfix.pe.modulenames import CompiledNames, read_numpy
from wheelfix.streams.source import MemorySource

STRINGS = [
    b"?", b"a text about cftime and others", b"pkg/_ext.pyx", b"__Pyx_PyDict_NextRef", b"__main__", b"__module__",
    b"__name__", b"__qualname__", b"__test__", b"asyncio.coroutines", b"cftime", b"cline_in_traceback", b"date2num",
    b"flux.core", b"numpy", b"numpy_backend", b"use_xarray_too", b"zmq",
]  # fmt: skip
"""The strings of a Cython module in its order: what is not a name first, then sorted."""


def packed(text: bytes) -> bytes:
    """Pack as Cython 3.3 does: groups of eight plain bytes or repeats, each with a byte that says which is which."""
    out, group, flags, at = bytearray(), bytearray(), 0, 0
    count = 0
    while at < len(text):
        length = next((size for size in range(34, 2, -1) if text.find(text[at : at + size], 0, at) >= 0), 0)
        length = length if at + length <= len(text) else 0
        start = text.rfind(text[at : at + length], 0, at) if length else -1
        distance = at - start - length
        if length and 0 <= distance < 0x80:
            group += bytes([distance, length - 3])
        elif length and 0x80 <= distance < 0x280:
            near = distance - 0x80
            group += bytes([0x80 | near & 0x7F, near >> 2 & 0x60 | length - 3])
        elif length and distance >= 0x280:
            near = distance - 0x80
            group += bytes([0x80 | near & 0x7F, 0x80 | near >> 7, length - 3])
        else:
            flags |= 1 << count
            group.append(text[at])
            length = 1
        at, count = at + length, count + 1
        if count == 8 or at >= len(text):
            out += bytes([flags]) + group
            group, flags, count = bytearray(), 0, 0
    return bytes(out)


def module(*data: bytes) -> CompiledNames:
    """An extension module with some data behind its sections, each piece where an address may be."""
    whole = extension(name="_ext")
    for piece in data:
        whole += bytes(-len(whole) % 16) + piece + bytes(16)
    return CompiledNames(MemorySource(whole))


def lengths(strings: list[bytes]) -> bytes:
    return struct.pack(f"<{len(strings)}I", *map(len, strings))


class TestNamesBetweenZeros:
    @pytest.mark.parametrize("text", [b"cftime", b"cftime._cftime"])
    def test_a_module_or_one_of_its_submodules(self, text):
        assert module(text).has("cftime")

    @pytest.mark.parametrize("text", [b"cftimes", b"use cftime here", b"cftime. It is", b"xcftime"])
    def test_other_text(self, text):
        assert not module(text).has("cftime")


JOINED = b"".join(STRINGS)
KINDS = {"plain": JOINED, "zlib": zlib.compress(JOINED, 9), "lzss": packed(JOINED)}


class TestCython:
    @pytest.mark.parametrize("kind", KINDS)
    def test_by_the_table_of_lengths(self, kind):
        """netCDF4 imports cftime in a module of Cython 3.3, where no zeros stand between the names."""
        names = module(b"_cython_3_3_0", KINDS[kind], lengths(STRINGS))
        assert all(map(names.has, ["cftime", "flux", "numpy", "zmq"]))
        assert not any(map(names.has, ["time", "xarray", "date", "text", "others", "core", "num", "tape"]))

    @pytest.mark.parametrize("kind", KINDS)
    def test_by_the_order_where_code_has_the_lengths(self, kind):
        names = module(b"_cython_3_3_0", KINDS[kind])
        assert all(map(names.has, ["cftime", "flux", "numpy"]))
        assert not any(map(names.has, ["xarray", "num", "tape"]))

    def test_long_texts_that_repeat_far_back(self):
        text = b"".join(b"entry %d of a long documentation\n" % number for number in range(60))
        strings = [text, *STRINGS[:10], *STRINGS[10:]]
        names = module(b"_cython_3_3_1", packed(text + JOINED), lengths(strings))
        assert names.has("cftime")
        assert not names.has("time")

    def test_a_first_string_of_one_zero(self):
        """netCDF4 has the text ``"\\0"``, which is sorted before all others."""
        assert module(b"_cython_3_3_0", packed(b"\0" + JOINED)).has("cftime")

    @named_cases(
        "data, expected",
        {
            "no Cython": ([b"thermo", b"PyImport_AddModule"], True),
            "pygame: a word": ([b"thermo"], False),
            "imported": ([b"thermo", b"__pyx_capi__"], False),
            "cantera: compiled into it": ([b"thermo", b"__pyx_capi__", b"PyInit_thermo\0"], True),
            "not named": ([b"__pyx_capi__", b"my_thermo.pyx", b"PyInit_thermo2\0"], False),
            "asyncpg: of its source": ([b"thermo", b"__pyx_capi__", b"cantera/thermo.pyx"], False),
        },
    )
    def test_a_module_that_it_may_make(self, data, expected):
        assert module(*data).may_make("thermo") is expected

    def test_another_module_is_not_unpacked(self):
        assert not module(packed(JOINED)).has("cftime")


class TestMypyc:
    def test_a_name_with_its_length(self):
        names = module(b"mypyc", b"\x03\x05flux2\x06cftime\x0asome_thing")
        assert names.has("cftime")
        assert not names.has("thing")


class TestRust:
    """PyO3: texts are joined, and an address with a length says where one begins and ends."""

    TEXT = b"cannot borrowcftimepanicked at"

    def place(self, whole: bytes, text: bytes) -> int:
        headers = read_headers(MemorySource(whole))
        section = next(one for one in headers.sections if one.offset <= whole.find(text) < one.offset + one.size)
        return section.rva + whole.find(text) - section.offset

    def whole(self) -> bytes:
        return forge_dll("_ext.pyd", exports=["PyInit__ext", self.TEXT.decode(), "pyo3_" + "x" * 64])

    def test_an_address_and_a_length_in_data(self):
        whole = self.whole()
        base = read_headers(MemorySource(whole)).image_base
        pair = struct.pack("<QQ", base + self.place(whole, b"cftime"), 6)
        assert not CompiledNames(MemorySource(whole)).has("cftime")
        assert CompiledNames(MemorySource(whole + pair)).has("cftime")

    def test_an_address_and_a_length_in_code(self):
        whole = self.whole()
        text = next(one for one in read_headers(MemorySource(whole)).sections if one.name == ".text")
        distance = self.place(whole, b"cftime") - (text.rva + 7)
        for length, found in ((6, True), (5, False)):
            code = b"\x48\x8d\x15" + struct.pack("<i", distance) + b"\x41\xb8" + struct.pack("<I", length)
            changed = whole[: text.offset] + code + whole[text.offset + len(code) :]
            assert CompiledNames(MemorySource(changed)).has("cftime") is found


@pytest.mark.parametrize(
    "before, expected",
    [(b"\xff" * 16, True), (b"\x07\x06\x05\x04", True), (b"a text, ", False), (b"\xff" * 15, False)],
)
def test_a_text_after_numbers(before, expected):
    """cffi's modules have it after a table that ends with -1; pact-python-ffi without cffi was called ok."""
    assert module(before + b"_cffi_backend\0").has("_cffi_backend") is expected


# ------------------------------------------------------------------------------------------------------------- numpyapi
#


SENTENCE = b"module was compiled against NumPy C-API version 0x%x (NumPy 1.23) but the running NumPy"


@named_cases(
    "content, expected",
    {
        "empty": (b"", None),
        "without": (b"nothing of the kind", None),
        "numpy-1": (modulenames.NUMPY_1, NumpyApi(1)),
        "numpy-2": (modulenames.NUMPY_2 + b"\0" + modulenames.NUMPY_1, NumpyApi(2)),
        "numpy-2-for-1.23": (modulenames.NUMPY_2 + SENTENCE, NumpyApi(2, "1.23")),
        "the-sentence-alone": (SENTENCE, None),
        "no-such-version": (modulenames.NUMPY_2 + SENTENCE.replace(b"23", b"9" * 50), NumpyApi(2)),
    },
)
@pytest.mark.parametrize("chunk", [16, 33, 1 << 20])
def test_marks_of_the_headers(content, expected, chunk, monkeypatch):
    monkeypatch.setattr(modulenames, "CHUNK", chunk)
    assert read_numpy(MemorySource(b"x" * 10 + content + b"y" * 90)) == expected


def test_large_modules_are_not_searched(monkeypatch):
    monkeypatch.setattr(modulenames, "LIMIT", 10)
    assert read_numpy(MemorySource(modulenames.NUMPY_1)) is None
