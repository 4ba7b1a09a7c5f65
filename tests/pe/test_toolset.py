from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pe.raw import OFFSET, PE_AT, raw_pe
from tests.pe.wheels import FOLDER, WHEELS, members, wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.pe.version import Toolset, read_toolset
from wheelfix.streams.source import InflatedSource, MemorySource

KEY = 0xA1B2C3D4


def rich(*rows: tuple[int, int, int]) -> bytes:
    """A Rich header: every word masked with the key."""
    words = [0x536E6144, 0, 0, 0]
    for product, build, count in rows:
        words += [product << 16 | build, count]
    return struct.pack(f"<{len(words)}I", *(word ^ KEY for word in words)) + b"Rich" + struct.pack("<I", KEY)


def with_rich(header: bytes) -> bytes:
    """A PE file with that header between the DOS stub and the PE header."""
    file = raw_pe(bytes(64))
    moved = PE_AT + len(header) + (-len(header) % 8)
    head = file[:60] + struct.pack("<I", moved) + file[64:PE_AT] + header.ljust(moved - PE_AT, b"\0")
    return (head + file[PE_AT : OFFSET - moved + PE_AT]).ljust(OFFSET, b"\0") + file[OFFSET:]


def test_the_newest_compiler_and_the_linker() -> None:
    """As in cuDNN 8.9: linked by 14.20, compiled by 14.29."""
    file = with_rich(
        rich((0x105, 27508, 347), (0x105, 30151, 800), (0x104, 30151, 62), (0x101, 34808, 2), (0x102, 27508, 1))
    )
    assert read_toolset(MemorySource(file)) == Toolset(compiler=30151, linker=27508, objects=862)


def test_a_linker_alone() -> None:
    assert read_toolset(MemorySource(with_rich(rich((0x102, 35207, 1))))) == Toolset(linker=35207)


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"MZ" + bytes(200), id="no-pe"),
        pytest.param(forge_dll("a.dll", exports=["f"]), id="no-rich-header"),
        pytest.param(with_rich(rich()), id="no-rows"),
    ],
)
def test_none_without_a_rich_header(file: bytes) -> None:
    assert read_toolset(MemorySource(file)) is None


def test_none_from_a_damaged_stream() -> None:
    assert read_toolset(InflatedSource(lambda at, length: b"\xff" * length, 1000, 50_000)) is None


WHOLE = with_rich(rich((0x105, 30151, 800), (0x102, 27508, 1)))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, OFFSET), st.binary(min_size=1, max_size=6)), min_size=1, max_size=8))
def test_flipped_bytes_never_raise(flips: list[tuple[int, bytes]]) -> None:
    file = bytearray(WHOLE)
    for at, data in flips:
        file[at : at + len(data)] = data
    read_toolset(MemorySource(bytes(file)))


@pytest.mark.real
@pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")
@pytest.mark.parametrize(
    ("which", "member", "compiler", "linker"),
    [
        ("nvidia_cudnn_cu11-8.9.4", "cudnn_cnn_infer64_8.dll", 30151, 27508),
        ("msvc_runtime-14.44", "msvcp140.dll", 35207, 35207),
        ("torch-2.7.1", "c10.dll", 30158, 30158),
    ],
)
def test_real_libraries(which: str, member: str, compiler: int, linker: int) -> None:
    for _, source in members(wheel(which), f"/{member}"):
        found = read_toolset(source)
        assert found is not None
        assert (found.compiler, found.linker) == (compiler, linker)
