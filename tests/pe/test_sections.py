from __future__ import annotations

import collections

import pytest

from tests.pe.raw import OFFSET, PE_AT, RVA, Counting, patched, raw_pe
from wheelfix.model import Malformed
from wheelfix.pe.image import NAME_LIMIT, Exhausted, Headers, Space, read_headers, text
from wheelfix.streams.source import MemorySource

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
WHOLE = raw_pe(bytes(0x200))
SECTION_TABLE = PE_AT + 24 + 112 + 128


def headers(file: bytes) -> Headers:
    result = read_headers(MemorySource(file))
    assert isinstance(result, Headers)
    return result


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        pytest.param(b"", "empty", id="no-bytes"),
        pytest.param(LFS, "lfs-pointer", id="lfs"),
        pytest.param(b"\x7fELF" + bytes(100), "not-pe", id="elf"),
        pytest.param(b"M", "not-pe", id="one-byte"),
        pytest.param(b"MZ", "truncated", id="two-bytes"),
        pytest.param(b"MZ" + bytes(200), "not-pe", id="dos-program"),
        pytest.param(patched(WHOLE, PE_AT, "<I", 0x454E), "not-pe", id="16-bit-windows"),
        pytest.param(patched(WHOLE, 60, "<I", 0xFFFFFFF0), "truncated", id="header-far-away"),
        pytest.param(raw_pe(magic=0x107), "malformed", id="rom-image"),
        pytest.param(patched(WHOLE, PE_AT + 20, "<H", 60), "malformed", id="short-optional-header"),
        pytest.param(patched(WHOLE, PE_AT + 20, "<H", 0), "malformed", id="object-file"),
        pytest.param(patched(WHOLE, PE_AT + 20, "<H", 0xFFFF), "truncated", id="endless-optional-header"),
        pytest.param(patched(WHOLE, PE_AT + 6, "<H", 0xFFFF), "truncated", id="endless-sections"),
        pytest.param(patched(WHOLE, SECTION_TABLE + 16, "<I", 0x7FFFFFFF), "read", id="padding-beyond-the-file"),
        pytest.param(patched(WHOLE, SECTION_TABLE + 20, "<I", 0x10000), "truncated", id="section-beyond-the-file"),
    ],
)
def test_what_kind_of_file(file: bytes, kind: str) -> None:
    result = read_headers(MemorySource(file))
    if kind == "read":
        assert isinstance(result, Headers)
        assert result.oddities
    else:
        assert isinstance(result, Malformed)
        assert (result.kind, result.size) == (kind, len(file))
        assert result.reason


@pytest.mark.parametrize("wide", [True, False], ids=["pe32+", "pe32"])
def test_cut_at_every_byte_is_never_an_image(wide: bool) -> None:
    file = raw_pe(b"x" * 0x80, wide=wide)
    for length in range(len(file)):
        result = read_headers(MemorySource(file[:length]))
        assert isinstance(result, Malformed), length
        assert result.kind in ("empty", "not-pe", "truncated")


def test_missing_padding_is_only_odd() -> None:
    file = raw_pe(b"x" * 0x200, vsize=0x180)
    assert headers(file[:-0x80]).oddities == ("the padding of section .rdata is cut off",)
    assert isinstance(read_headers(MemorySource(file[:-0x81])), Malformed)


def test_facts_of_the_headers() -> None:
    found = headers(raw_pe(bytes(16), {1: (RVA, 20)}))
    assert (found.machine, found.is_dll, found.wide, found.linker) == (0x8664, True, True, (14, 44))
    assert found.directory(1) == (RVA, 20)
    assert found.directory(99) == (0, 0)
    assert [section.name for section in found.sections] == [".rdata"]


def test_more_directories_than_exist() -> None:
    found = headers(raw_pe(bytes(16), claimed_directories=0xFFFFFFFF))
    assert len(found.directories) == 16
    assert found.oddities == ("4294967295 data directories are claimed, 16 exist",)


def test_fewer_directories_than_usual() -> None:
    assert headers(raw_pe(bytes(16), {1: (RVA, 20)}, claimed_directories=1)).directory(1) == (0, 0)


def test_header_far_behind_the_first_page() -> None:
    file = patched(WHOLE, 60, "<I", 0x5000)[:0x80].ljust(0x5000, b"\0") + WHOLE[PE_AT:OFFSET]
    assert headers(file.ljust(0x6000, b"\0")).linker == (14, 44)


class TestSpace:
    def space(self, body: bytes, **options: int) -> Space:
        source = MemorySource(raw_pe(body, **options))
        found = read_headers(source)
        assert isinstance(found, Headers)
        return Space(source, found)

    @pytest.mark.parametrize(
        ("rva", "expected"),
        [
            pytest.param(RVA, b"abcdef", id="begin"),
            pytest.param(RVA + 4, b"ef", id="clipped-at-the-end"),
            pytest.param(RVA + 6, b"", id="behind"),
            pytest.param(0, b"", id="null"),
            pytest.param(-5, b"", id="negative"),
            pytest.param(0xFFFFFFFF, b"", id="far-away"),
            pytest.param(PE_AT, b"PE\0\0d\x86", id="headers-are-mapped-too"),
            pytest.param(OFFSET, b"", id="between-headers-and-section"),
        ],
    )
    def test_read(self, rva: int, expected: bytes) -> None:
        assert self.space(b"abcdef").read(rva, 6) == expected

    def test_addresses_are_offsets_below_a_page_of_alignment(self) -> None:
        assert self.space(b"abcdef", alignment=0x20).read(OFFSET, 3) == b"abc"

    def test_the_file_holds_less_than_memory(self) -> None:
        assert self.space(b"abc", vsize=0x10000).read(RVA, 10) == b"abc"

    def test_names(self) -> None:
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

    def test_adjacent_names_are_cut_as_one(self) -> None:
        names = [f"symbol_{number:05}" for number in range(50_000)]
        block = "\0".join(names).encode() + b"\0"
        found = self.space(block).names(RVA + 13 * index for index in range(50_000))
        assert list(found.values()) == names

    def test_names_in_the_last_bytes_of_a_window_are_whole(self) -> None:
        body = (b"a" * 1000 + b"\0") * 3000
        found = self.space(body).names(RVA + 1001 * index for index in range(3000))
        assert set(found.values()) == {"a" * 1000}
        assert len(found) == 3000

    def test_names_behind_a_section_that_ends_between(self) -> None:
        """delvewheel puts a mangled DLL name into another section's padding; the block of names ends before it."""
        file = bytearray(raw_pe(b"first\0".ljust(0x200, b"\0") + b"second\0".ljust(0x200, b"\0"), sections=2))
        file = bytearray(patched(bytes(file), SECTION_TABLE + 16, "<I", 0x200))
        file = bytearray(patched(bytes(file), SECTION_TABLE + 40 + 12, "<III", 2 * RVA, 0x200, OFFSET + 0x200))
        source = MemorySource(bytes(file))
        found = read_headers(source)
        assert isinstance(found, Headers)
        assert Space(source, found).names([RVA, 2 * RVA]) == {RVA: "first", 2 * RVA: "second"}

    def test_a_name_without_end_is_left_out(self) -> None:
        space = self.space(b"n" * (NAME_LIMIT + 10) + b"\0")
        assert space.names([RVA, RVA + 20]) == {RVA + 20: "n" * (NAME_LIMIT - 10)}

    def test_overlapping_names_run_into_the_budget(self) -> None:
        with pytest.raises(Exhausted, match="overlap"):
            self.space(b"n" * 8000 + b"\0").names(range(RVA, RVA + 8000))

    def test_reading_runs_into_the_budget(self) -> None:
        source = Counting(raw_pe(bytes(1 << 20)))
        found = read_headers(source)
        assert isinstance(found, Headers)
        space = Space(source, found)
        with pytest.raises(Exhausted, match="three times"):
            collections.deque(space.read(RVA, 1 << 20) for _ in range(1000))
        assert source.total < 40 << 20


@pytest.mark.parametrize(
    ("raw", "expected"), [(b"plain", "plain"), ("é".encode(), "é"), (b"\xe9", "é"), (b"\x93\xfa\x96\x7b", "\x93ú\x96{")]
)
def test_text_of_a_name(raw: bytes, expected: str) -> None:
    assert text(raw) == expected
