"""Images that nobody's linker made: every pointer may lie, and nothing may run in circles or out of memory."""

from __future__ import annotations

import itertools
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pe.raw import OFFSET, PE_AT, RVA, Counting, patched, raw_pe
from tests.support.tables import named_cases
from tools.forge import forge_dll
from wheelfix.model import Image, Machine, Malformed
from wheelfix.pe.image import MAX_DLLS, MAX_ODDITIES, MAX_SYMBOLS, SLACK, read_image
from wheelfix.pe.version import read_version

EXPORTS, IMPORTS, RESOURCES, LOAD_CONFIG, DELAY = 0, 1, 2, 10, 13


def checked(file: bytes) -> Image | Malformed:
    """Read, and hold the work against its bounds."""
    source = Counting(file)
    facts = read_image(source)
    assert source.total <= 3 * len(file) + SLACK + (64 << 10)
    if isinstance(facts, Image):
        assert len(facts.imports) <= MAX_DLLS
        assert len(facts.delay_imports) <= MAX_DLLS
        assert len(facts.oddities) <= MAX_ODDITIES
        symbols = [symbol for row in facts.imports + facts.delay_imports for symbol in row.symbols]
        assert len(symbols) <= MAX_SYMBOLS
        distinct = {id(symbol): symbol for symbol in [*symbols, *facts.exports.names] if isinstance(symbol, str)}
        assert sum(map(len, distinct.values())) <= 2 * len(file)
    return facts


def image(file: bytes) -> Image:
    facts = checked(file)
    assert isinstance(facts, Image), facts
    return facts


@named_cases(
    "rva",
    {
        "far-outside": 0xFFFFFFFF,
        "last-bytes": RVA + 0x200 - 2,
        "in-the-headers": 1,
        "in-the-pe-header": PE_AT,
        "in-text": RVA,
    },
)
def test_a_directory_that_points_at_rubbish(rva):
    for index, fill in itertools.product((EXPORTS, IMPORTS, DELAY, LOAD_CONFIG), (b"A", b"\xff", b"\x01", b"\0")):
        image(raw_pe(fill * 0x200, {index: (rva, 0xFFFFFFFF)}))


def test_all_directories_at_one_place():
    body = struct.pack("<IIIII", RVA, 0, 0, RVA, RVA) * 100
    image(raw_pe(body, dict.fromkeys(range(16), (RVA, len(body)))))


def test_a_table_whose_rows_never_end():
    name = RVA + 20 * 200_000
    row = struct.pack("<IIIII", name + 8, 0, 0, name, name + 8)
    found = image(raw_pe(row * 200_000 + b"a.dll\0\0\0" + bytes(16), {IMPORTS: (RVA, 0)}))
    assert len(found.imports) == MAX_DLLS
    assert any(f"more than {MAX_DLLS}" in odd for odd in found.oddities)


THUNKS = RVA + 64


def one_dll(*thunks: int, names: bytes = b"") -> Image:
    """An image that imports one DLL; its thunks lie at ``THUNKS``, with the names behind them."""
    body = struct.pack("<IIIII", THUNKS, 0, 0, RVA + 48, THUNKS).ljust(48, b"\0") + b"a.dll\0".ljust(16, b"\0")
    found = image(raw_pe(body + struct.pack(f"<{len(thunks) + 1}Q", *thunks, 0) + names, {IMPORTS: (RVA, 0)}))
    assert [row.dll for row in found.imports] == ["a.dll"]
    return found


def test_ten_million_imports():
    """One array of ten million thunks, all at the same name."""
    body = struct.pack("<IIIII", THUNKS, 0, 0, RVA + 40, THUNKS).ljust(40, b"\0") + b"a.dll\0".ljust(24, b"\0")
    found = image(raw_pe(body + struct.pack("<Q", RVA + 38) * 10_000_000 + bytes(8), {IMPORTS: (RVA, 0)}))
    assert [row.dll for row in found.imports] == ["a.dll"]
    assert any(f"more than {MAX_SYMBOLS}" in odd for odd in found.oddities)


def test_every_dll_shares_one_long_array():
    """4000 rows times 500 symbols from a few kilobytes."""
    rows = 4000
    thunks = RVA + 20 * (rows + 1)
    names = thunks + 8 * 501
    body = struct.pack("<IIIII", thunks, 0, 0, names + 2, thunks) * rows + bytes(20)
    body += struct.pack("<Q", names) * 500 + bytes(8) + b"\0\0a.dll\0"
    found = image(raw_pe(body, {IMPORTS: (RVA, 0)}))
    assert any(f"more than {MAX_SYMBOLS}" in odd for odd in found.oddities)


def test_thunks_that_point_at_themselves():
    one_dll(*range(THUNKS, THUNKS + 800, 8))


def test_names_that_overlap():
    """A staircase of 100 000 names in one run of letters would be gigabytes."""
    count = 100_000
    names = THUNKS + 8 * (count + 1)
    found = one_dll(*range(names, names + count), names=b"n" * (count + 100) + b"\0")
    assert any("overlap" in odd for odd in found.oddities)


def test_names_that_never_end():
    found = one_dll(THUNKS + 16, names=b"x" * 2_000_000)
    assert found.imports[0].symbols == ()
    assert found.oddities


@pytest.mark.parametrize("count", [0x7FFFFFFF, 0xFFFFFFFF, 300_001], ids=hex)
def test_export_counts_beyond_reason(count):
    head = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, count, count, RVA + 40, RVA + 40, RVA + 40)
    found = image(raw_pe(head + b"\x01\x10\0\0" * 1000, {EXPORTS: (RVA, 0xFFFFFFFF)}))
    assert found.oddities
    assert len(found.exports.ordinals) <= 1000


@named_cases("functions", {"beyond-the-table": 0, "zero": 8})
def test_names_of_exports_without_functions(functions):
    """GetProcAddress finds a name in the table, then no function of its number, and fails."""
    names = RVA + 40
    head = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, 0, 1, functions, 2, names + 32, names, names + 8)
    found = image(
        raw_pe(head + struct.pack("<IIHH", names + 12, names + 12, 7, 7) + b"f\0" + bytes(64), {EXPORTS: (RVA, 99)})
    )
    assert found.exports.names == frozenset()
    assert found.exports.forwarders == {}
    assert found.oddities == ("some exported names belong to no function",)


def test_sections_without_number_over_one_place():
    file = raw_pe(bytes(0x200), {IMPORTS: (RVA, 0)}, sections=1)
    table = PE_AT + 24 + 112 + 128
    row = file[table : table + 40]
    many = patched(file[:table], PE_AT + 6, "<H", 65535) + row * 65535
    found = checked(many.ljust(len(many) + OFFSET, b"\0"))
    assert len(found.sections) == 65535


def test_resources_that_loop():
    directory = struct.pack("<IIHHHH", 0, 0, 0, 0, 0, 1)
    loop = directory + struct.pack("<II", 16, 0x80000000)
    source = Counting(raw_pe(loop, {RESOURCES: (RVA, 0)}))
    assert read_version(source) is None
    assert source.calls < 20


def test_a_resource_that_claims_everything():
    tree = b"".join(
        struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, number, 0x80000000 | 24 * (level + 1) if level < 2 else 72)
        for level, number in enumerate((16, 1, 0x409))
    )
    source = Counting(
        raw_pe(tree + struct.pack("<IIII", RVA, 0xFFFFFFFF, 0, 0) + b"\xff" * 300_000, {RESOURCES: (RVA, 0)})
    )
    assert read_version(source) is None
    assert source.total < 128 << 10


SEED = forge_dll(
    "seed.dll",
    imports={"kernel32.dll": ["LoadLibraryW", 12], "b.dll": ["f"]},
    delay_imports={"late.dll": ["g", 3]},
    exports=["one", "two", 9],
    forwarders={"three": "c.three"},
    version=(1, 2, 3, 4),
    version_strings={"CompanyName": "Somebody"},
    dependent_load_flags=0x800,
)
SEED32 = forge_dll(
    "seed.dll", machine=Machine.X86, imports={"a.dll": ["f"]}, delay_imports={"b.dll": ["g"]}, exports=["h"]
)


@named_cases("seed", {"pe32+": SEED, "pe32": SEED32})
def test_cut_at_every_length(seed):
    for length in range(0, len(seed), 7):
        checked(seed[:length])
        read_version(Counting(seed[:length]))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600))
def test_any_bytes_never_raise(data):
    checked(data)
    checked(b"MZ" + data)
    checked(raw_pe(data, {index: (RVA + 8 * index, 64) for index in range(16)}))


@pytest.mark.slow
def test_numbers_at_every_place_of_the_headers():
    """Each 32-bit field of the headers in turn becomes each of the numbers that break arithmetic."""
    for at in range(0, OFFSET, 2):
        for value in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(SEED), RVA):
            checked(patched(SEED, at, "<I", value))


def test_random_tables():
    """Tables of plausible addresses: they point at each other all the time."""
    dice = random.Random(20)
    for _ in range(200):
        body = b"".join(
            struct.pack("<I", RVA + dice.randrange(0x800) if dice.random() < 0.8 else 0) for _ in range(512)
        )
        checked(raw_pe(body, {index: (RVA + 4 * dice.randrange(500), 0x800) for index in range(16)}))
