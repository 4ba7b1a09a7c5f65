"""Headers, sections and addresses of a DLL, and the tables that decide whether it loads."""

from __future__ import annotations

import collections
import struct
import zlib

import pytest

from tests.pe.raw import OFFSET, PE_AT, RVA, Counting, patched, raw_pe
from tests.support.tables import named_cases
from tests.support.wheels import library
from tools.forge import forge_dll
from wheelfix.model import Image, Import, Machine, Malformed, Symbol
from wheelfix.pe.image import Exhausted, Headers, Space, read_headers, read_image, text
from wheelfix.pe.modulenames import read_numpy
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import newest_compiler, read_version
from wheelfix.streams.source import InflatedSource, MemorySource

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
WHOLE = raw_pe(bytes(0x200))
SECTION_TABLE = PE_AT + 24 + 112 + 128


def headers(file: bytes) -> Headers:
    return read_headers(MemorySource(file))


@named_cases(
    "file, kind",
    {
        "no-bytes": (b"", "empty"),
        "lfs": (LFS, "lfs-pointer"),
        "elf": (b"\x7fELF" + bytes(100), "not-pe"),
        "two-bytes": (b"MZ", "truncated"),
        "dos-program": (b"MZ" + bytes(200), "not-pe"),
        "16-bit-windows": (patched(WHOLE, PE_AT, "<I", 0x454E), "not-pe"),
        "header-far-away": (patched(WHOLE, 60, "<I", 0xFFFFFFF0), "truncated"),
        "rom-image": (raw_pe(magic=0x107), "malformed"),
        "short-optional-header": (patched(WHOLE, PE_AT + 20, "<H", 60), "malformed"),
        "endless-optional-header": (patched(WHOLE, PE_AT + 20, "<H", 0xFFFF), "truncated"),
        "endless-sections": (patched(WHOLE, PE_AT + 6, "<H", 0xFFFF), "truncated"),
        "padding-beyond-the-file": (patched(WHOLE, SECTION_TABLE + 16, "<I", 0x7FFFFFFF), "read"),
        "section-beyond-the-file": (patched(WHOLE, SECTION_TABLE + 20, "<I", 0x10000), "truncated"),
    },
)
def test_what_kind_of_file(file, kind):
    result = read_image(MemorySource(file))
    if kind == "read":
        assert result.oddities
    else:
        assert isinstance(result, Malformed)
        assert (result.kind, result.size) == (kind, len(file))
        assert result.reason


@named_cases("wide", {"pe32+": True, "pe32": False})
def test_cut_at_every_byte_is_never_an_image(wide):
    file = raw_pe(b"x" * 0x80, wide=wide)
    for length in range(len(file)):
        result = read_image(MemorySource(file[:length]))
        assert isinstance(result, Malformed), length
        assert result.kind in ("empty", "not-pe", "truncated")


def test_missing_padding_is_only_odd():
    file = raw_pe(b"x" * 0x200, vsize=0x180)
    assert headers(file[:-0x80]).oddities == ("the padding of section .rdata is cut off",)
    assert isinstance(read_image(MemorySource(file[:-0x81])), Malformed)


def test_more_directories_than_exist():
    found = headers(raw_pe(bytes(16), claimed_directories=0xFFFFFFFF))
    assert len(found.directories) == 16
    assert found.oddities == ("4294967295 data directories are claimed, 16 exist",)


def test_fewer_directories_than_usual():
    assert headers(raw_pe(bytes(16), {1: (RVA, 20)}, claimed_directories=1)).directory(1) == (0, 0)


def test_header_far_behind_the_first_page():
    file = patched(WHOLE, 60, "<I", 0x5000)[:0x80].ljust(0x5000, b"\0") + WHOLE[PE_AT:OFFSET]
    assert headers(file.ljust(0x6000, b"\0")).linker == (14, 44)


class TestSpace:
    def space(self, body: bytes, **options: int) -> Space:
        source = MemorySource(raw_pe(body, **options))
        return Space(source, read_headers(source))

    @named_cases(
        "rva, expected",
        {
            "begin": (RVA, b"abcdef"),
            "clipped-at-the-end": (RVA + 4, b"ef"),
            "null": (0, b""),
            "headers-are-mapped-too": (PE_AT, b"PE\0\0d\x86"),
            "between-headers-and-section": (OFFSET, b""),
        },
    )
    def test_read(self, rva, expected):
        assert self.space(b"abcdef").read(rva, 6) == expected

    def test_addresses_are_offsets_below_a_page_of_alignment(self):
        assert self.space(b"abcdef", alignment=0x20).read(OFFSET, 3) == b"abc"

    def test_the_file_holds_less_than_memory(self):
        assert self.space(b"abc", vsize=0x10000).read(RVA, 10) == b"abc"

    def test_names(self):
        space = self.space(b"one\0two\0\0drei\xc3\xa9\0vier\xe9\0open")
        base = RVA
        wanted = [base + 4, base, base + 8, base + 9, base + 16, base + 22, base + 5, 0xFFFFFF]
        assert space.names(wanted) == {
            base: "one",
            base + 4: "two",
            base + 5: "wo",
            base + 9: "dreié",
            base + 16: "vieré",
        }

    def test_names_behind_a_section_that_ends_between(self):
        """delvewheel puts a mangled DLL name into another section's padding; the block of names ends before it."""
        file = bytearray(raw_pe(b"first\0".ljust(0x200, b"\0") + b"second\0".ljust(0x200, b"\0"), sections=2))
        file = bytearray(patched(bytes(file), SECTION_TABLE + 16, "<I", 0x200))
        file = bytearray(patched(bytes(file), SECTION_TABLE + 40 + 12, "<III", 2 * RVA, 0x200, OFFSET + 0x200))
        source = MemorySource(bytes(file))
        assert Space(source, read_headers(source)).names([RVA, 2 * RVA]) == {RVA: "first", 2 * RVA: "second"}

    def test_overlapping_names_run_into_the_budget(self):
        with pytest.raises(Exhausted, match="overlap"):
            self.space(b"n" * 8000 + b"\0").names(range(RVA, RVA + 8000))

    def test_reading_runs_into_the_budget(self):
        source = Counting(raw_pe(bytes(1 << 20)))
        space = Space(source, read_headers(source))
        with pytest.raises(Exhausted, match="three times"):
            collections.deque(space.read(RVA, 1 << 20) for _ in range(1000))
        assert source.total < 40 << 20


@pytest.mark.parametrize("raw, expected", [("é".encode(), "é"), (b"\xe9", "é"), (b"\x93\xfa\x96\x7b", "\x93ú\x96{")])
def test_text_of_a_name(raw, expected):
    assert text(raw) == expected


# ---------------------------------------------------------------------------------------------------------------- image
#


EXPORTS, IMPORTS, CERTIFICATES, LOAD_CONFIG, DELAY, DOTNET = 0, 1, 4, 10, 13, 14
BASE = 0x10000000


def image(file: bytes) -> Image:
    facts = read_image(MemorySource(file))
    assert isinstance(facts, Image), facts
    return facts


class Body:
    """A section that grows; every ``add`` tells the address of what was added."""

    def __init__(self, wide: bool = True) -> None:
        self.data = bytearray()
        self.wide = wide

    def add(self, data: bytes) -> int:
        rva = RVA + len(self.data)
        self.data += data + bytes(-len(data) % 8)
        return rva

    def name(self, name: str) -> int:
        return self.add(name.encode() + b"\0")

    def thunks(self, symbols: list[Symbol], shift: int = 0) -> int:
        flag = 1 << 63 if self.wide else 1 << 31
        values = [
            flag | symbol if isinstance(symbol, int) else self.add(b"\x07\x00" + symbol.encode() + b"\0") + shift
            for symbol in symbols
        ]
        return self.add(struct.pack(f"<{len(values) + 1}{'Q' if self.wide else 'I'}", *values, 0))

    def import_table(self, wanted: dict[str, list[Symbol]], *, lookup: bool = True, stamp: int = 0) -> int:
        rows = b""
        for dll, symbols in wanted.items():
            thunks = self.thunks(symbols)
            rows += struct.pack("<IIIII", thunks if lookup else 0, stamp, 0, self.name(dll), thunks)
        return self.add(rows + bytes(20))

    def delay_table(self, wanted: dict[str, list[Symbol]], *, attributes: int = 1, base: int = 0) -> int:
        rows = b""
        for dll, symbols in wanted.items():
            lookup = self.thunks(symbols, base) + base
            rows += struct.pack("<8I", attributes, self.name(dll) + base, 0, base + RVA, lookup, 0, 0, 0)
        return self.add(rows + bytes(32))

    def file(self, directories: dict[int, tuple[int, int]], **options: int) -> bytes:
        return raw_pe(bytes(self.data), directories, wide=self.wide, **options)


WANTED = {
    "KERNEL32.dll": ["LoadLibraryW", "GetProcAddress", 17],
    "Spelled.DLL": [],
    "zlib1": [1, 65535],
}
TWO_WIDTHS = named_cases("wide", {"pe32+": True, "pe32": False})


def as_imports(wanted: dict[str, list[Symbol]]) -> tuple[Import, ...]:
    return tuple(Import(dll, tuple(symbols)) for dll, symbols in wanted.items())


class TestImports:
    @TWO_WIDTHS
    def test_names_and_ordinals_in_table_order(self, wide):
        body = Body(wide)
        found = image(body.file({IMPORTS: (body.import_table(WANTED), 0)}))
        assert found.imports == as_imports(WANTED)
        assert found.oddities == ()

    @TWO_WIDTHS
    @named_cases(
        "table, symbols, odd",
        {
            "no lookup table": ({"lookup": False}, ("f", 3), ""),
            "bound in advance": ({"lookup": False, "stamp": 0x5F000000}, (), "bound imports"),
            "bound, with a lookup table": ({"stamp": 0xFFFFFFFF}, ("f", 3), ""),
        },
    )
    def test_which_table_tells(self, wide, table, symbols, odd):
        body = Body(wide)
        found = image(body.file({IMPORTS: (body.import_table({"A.dll": ["f", 3]}, **table), 0)}))
        assert found.imports == (Import("A.dll", symbols),)
        assert odd in "".join(found.oddities)
        assert bool(found.oddities) is bool(odd)

    def test_one_dll_twice(self):
        facts = image(forge_dll("a.dll", imports=[("b.dll", ["x"]), ("b.dll", ["y"])]))
        assert facts.imports == (Import("b.dll", ("x",)), Import("b.dll", ("y",)))

    def test_a_row_without_an_address_table_ends_the_table(self):
        """So Windows reads it; LIEF and pefile list the DLL of that row and those behind it."""
        body = Body()
        table = body.import_table({"A.dll": ["f"], "B.dll": ["g"], "C.dll": ["h"]})
        file = patched(body.file({IMPORTS: (table, 0)}), table - RVA + OFFSET + 20 + 16, "<I", 0)
        found = image(file)
        assert [item.dll for item in found.imports] == ["A.dll"]
        assert "has no address table" in found.oddities[0]

    def test_no_imports_at_all(self):
        assert image(raw_pe(bytes(64))).imports == ()

    @pytest.mark.parametrize("kind", ["imports", "delay_imports"])
    def test_behind_many_symbols(self, kind):
        """pefile stops after 8192 symbols: of MKL's threading layer it shows KERNEL32 alone."""
        many = [f"function_{number}" for number in range(20_000)]
        wanted = {"first.dll": many, "second.dll": ["f"], "third.dll": [2]}
        body = Body()
        table = body.import_table(wanted) if kind == "imports" else body.delay_table(wanted)
        found = image(body.file({IMPORTS if kind == "imports" else DELAY: (table, 0)}))
        assert getattr(found, kind) == as_imports(wanted)

    def test_names_that_are_not_ascii(self):
        body = Body()
        name = body.add("größe.dll".encode() + b"\0")
        other = body.add(b"gr\xf6\xdfe.dll\0")
        thunks = body.thunks(["функция"])
        rows = b"".join(struct.pack("<IIIII", thunks, 0, 0, dll, thunks) for dll in (name, other))
        found = image(body.file({IMPORTS: (body.add(rows + bytes(20)), 0)}))
        assert [row.dll for row in found.imports] == ["größe.dll", "größe.dll"]
        assert found.imports[0].symbols == ("функция",)

    def test_an_unreadable_dll_name_is_odd_and_the_others_remain(self):
        body = Body()
        thunks = body.thunks(["f"])
        rows = [(thunks, 0, 0, name, thunks) for name in (body.name("a.dll"), 0x7F000000, body.name("b.dll"))]
        table = body.add(b"".join(struct.pack("<IIIII", *row) for row in rows) + bytes(20))
        found = image(body.file({IMPORTS: (table, 0)}))
        assert [row.dll for row in found.imports] == ["a.dll", "b.dll"]
        assert found.oddities == ("1 imports have no readable DLL name",)

    def test_an_unreadable_symbol_is_odd_and_the_others_remain(self):
        body = Body()
        good = body.add(b"\0\0good\0")
        thunks = body.add(struct.pack("<QQQQ", 0x7F000000, good, 0x7FFFFFFFFFFFFFFF, 0))
        table = body.add(struct.pack("<IIIII", thunks, 0, 0, body.name("a.dll"), thunks) + bytes(20))
        found = image(body.file({IMPORTS: (table, 0)}))
        assert found.imports == (Import("a.dll", ("good",)),)
        assert found.oddities == ("2 symbols in the import table have no readable name",)


class TestDelayImports:
    @TWO_WIDTHS
    def test_relative_addresses(self, wide):
        body = Body(wide)
        found = image(body.file({DELAY: (body.delay_table(WANTED), 0)}))
        assert found.delay_imports == as_imports(WANTED)
        assert found.imports == ()

    def test_virtual_addresses_of_old_linkers(self):
        body = Body(wide=False)
        table = body.delay_table({"OLE32.dll": ["CoInit", 9]}, attributes=0, base=BASE)
        found = image(body.file({DELAY: (table, 0)}, image_base=BASE))
        assert found.delay_imports == (Import("OLE32.dll", ("CoInit", 9)),)

    def test_relative_but_not_marked_so(self):
        body = Body()
        found = image(body.file({DELAY: (body.delay_table({"A.dll": ["f"]}, attributes=0), 0)}, image_base=BASE))
        assert found.delay_imports == (Import("A.dll", ("f",)),)
        assert found.oddities


class TestExports:
    def test_names_ordinals_and_forwarders(self):
        found = image(
            forge_dll(
                "a.dll", exports=["beta", "alpha", 7], forwarders={"gone": "libomp.dll.KMP_CALLOC", 9: "NTDLL.#12"}
            )
        ).exports
        assert found.names == {"alpha", "beta", "gone"}
        assert found.offers("alpha")
        assert found.offers(7)
        assert found.offers(9)
        assert not found.offers("delta")
        assert found.forwarders["gone"] == "libomp.dll.KMP_CALLOC"
        assert found.forwarders[9] == "NTDLL.#12"

    def test_a_named_forwarder_is_found_by_ordinal_too(self):
        found = image(forge_dll("a.dll", forwarders={"only": "b.only"})).exports
        (ordinal,) = found.ordinals
        assert found.forwarders == {"only": "b.only", ordinal: "b.only"}

    def test_gaps_are_no_exports(self):
        body = Body()
        functions = body.add(struct.pack("<4I", 0x1000, 0, 0, 0x1010))
        table = body.add(struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, 0, 100, 4, 0, functions, 0, 0))
        assert image(body.file({EXPORTS: (table, 40)})).exports.ordinals == {100, 103}

    def test_sixty_thousand(self):
        names = [f"?symbol@{number:05}@@YAXXZ" for number in range(60_000)]
        assert image(forge_dll("a.dll", exports=names)).exports.names == set(names)


@named_cases(
    "wide, machine, size, expected, odd",
    {
        "arm64ec": (True, 0x8664, 0x118, Machine.ARM64EC, False),
        "arm64x": (True, 0xAA64, 0x118, Machine.ARM64, True),
        "chpe": (False, 0x014C, 0xC0, Machine.X86, True),
        "old-and-short": (True, 0x8664, 0x70, Machine.AMD64, False),
    },
)
def test_hybrid_images(wide, machine, size, expected, odd):
    config = bytearray(0x140)
    struct.pack_into("<I", config, 0, size)
    struct.pack_into("<H", config, 78 if wide else 54, 0x800)
    struct.pack_into("<I", config, 200 if wide else 124, 0x1234)
    body = Body(wide)
    found = image(body.file({LOAD_CONFIG: (body.add(bytes(config)), 0x40)}, machine=machine))
    assert found.machine is expected
    assert bool(found.oddities) is odd
    assert found.dependent_load_flags == 0x800


@pytest.mark.parametrize(
    "code, expected",
    [
        (0x8664, Machine.AMD64),
        (0xAA64, Machine.ARM64),
        (0x01C4, Machine.ARM),
        (0x5064, Machine.UNKNOWN),
    ],
)
def test_machines(code, expected):
    assert image(raw_pe(bytes(8), machine=code)).machine is expected


def test_small_facts():
    found = image(raw_pe(bytes(8), {DOTNET: (RVA, 72), CERTIFICATES: (0x100, 0x80)}))
    assert (found.managed, found.signed, found.is_dll, found.linker) == (True, True, True, (14, 44))
    assert found.sections == (".rdata",)
    assert found.size == 0x408
    plain = image(raw_pe(bytes(8), characteristics=0x0022))
    assert (plain.managed, plain.signed, plain.is_dll) == (False, False, False)


def test_a_certificate_table_outside_the_file_is_odd():
    assert image(raw_pe(bytes(8), {CERTIFICATES: (0x10000, 8)})).oddities


def test_sections_that_overlap_are_odd():
    assert "overlaps" in image(raw_pe(bytes(64), sections=3)).oddities[0]


def test_only_the_needed_part_is_inflated():
    """GPU code lies behind the tables, and most of a CUDA DLL is GPU code."""
    file = library("a.dll:g", "b.dll") + bytes(40 << 20)
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(file) + packer.flush()
    source = InflatedSource(lambda at, length: packed[at : at + length], len(packed), len(file))
    facts = read_image(source)
    assert facts.imports == (Import("b.dll", ("f",)),)
    assert source._frontier.reached <= 1 << 20


def test_a_damaged_stream_is_an_answer_of_every_reader():
    source = InflatedSource(lambda at, length: b"\xff" * length, 1000, 50_000)
    facts = read_image(source)
    assert isinstance(facts, Malformed)
    assert facts.kind == "malformed"
    assert "damaged" in facts.reason
    assert "damaged" in read_signature(source).reason
    assert (read_version(source), newest_compiler(source), read_numpy(source)) == (None, 0, None)


def test_few_reads_suffice():
    source = Counting(forge_dll("a.dll", imports={f"d{number}.dll": ["f", "g"] for number in range(30)}, exports=["x"]))
    read_image(source)
    assert source.calls < 60
