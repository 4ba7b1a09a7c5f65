"""What a DLL says about its origin: version resources, and the tools that built it."""

from __future__ import annotations

import struct

import pytest

from tests.pe.raw import OFFSET, PE_AT, RVA, raw_pe
from tests.pe.wheels import FOLDER, WHEELS, members, wheel
from tests.support.tables import named_cases
from tests.support.wheels import library
from tools.forge import forge_dll
from wheelfix.model import FileVersion
from wheelfix.pe.version import newest_compiler, parse_version, read_version
from wheelfix.streams.source import MemorySource

WORDS = {"CompanyName": "Größe & Söhne", "FileVersion": "8.9.4.25", "ProductName": ""}


def block(
    key: str, value: bytes = b"", children: bytes = b"", *, length: int | None = None, text: bool = True
) -> bytes:
    body = key.encode("utf-16-le") + b"\0\0"
    body += bytes(-(6 + len(body)) % 4) + value
    body += bytes(-len(body) - 6 & 3) * bool(children) + children
    counted = len(value) // 2 if text else len(value)
    return struct.pack("<HHH", 6 + len(body), counted if length is None else length, text) + body


def padded(*blocks: bytes) -> bytes:
    return b"".join(part + bytes(-len(part) % 4) for part in blocks)


def string(key: str, value: str, length: int | None = None) -> bytes:
    return block(key, value.encode("utf-16-le") + b"\0\0", length=length)


def fixed(file: tuple[int, int, int, int], product: tuple[int, int, int, int]) -> bytes:
    words = [number for four in (file, product) for number in (four[1], four[0], four[3], four[2])]
    return struct.pack("<II8H", 0xFEEF04BD, 0x10000, *words) + bytes(28)


def leaf(*tables: bytes, value: bytes = fixed((1, 2, 3, 4), (5, 6, 7, 8))) -> bytes:
    info = block("StringFileInfo", children=padded(*tables))
    return block("VS_VERSION_INFO", value, padded(block("VarFileInfo"), info), text=False)


def test_a_forged_dll():
    file = forge_dll("a.dll", version=(8, 9, 4, 25), product_version=(11, 7, 0, 0), version_strings=WORDS)
    found = read_version(MemorySource(file))
    assert found.file == (8, 9, 4, 25)
    assert found.product == (11, 7, 0, 0)
    assert {key: found.strings[key] for key in WORDS} == WORDS
    assert str(found) == "8.9.4.25"


def test_numbers_and_strings():
    table = block("040904b0", children=padded(string("A", "one"), string("B", " two \0rest")))
    assert parse_version(leaf(table)) == FileVersion((1, 2, 3, 4), (5, 6, 7, 8), {"A": "one", "B": "two"})


def test_the_first_of_two_languages_wins():
    english, german = (block(code, children=padded(string("A", word))) for code, word in (("0409", "x"), ("0407", "y")))
    found = parse_version(leaf(english, german))
    assert found.strings == {"A": "x"}


@named_cases("length", {"zero": 0, "without-end": 3, "nonsense": 200})
def test_the_stated_length_of_a_string_is_not_believed(length):
    """Some compilers count bytes, some words, some leave the zero out."""
    found = parse_version(leaf(block("0409", children=padded(string("A", "one", length=length), string("B", "two")))))
    assert found.strings == {"A": "one", "B": "two"}


@named_cases(
    "data",
    {
        "ones": b"\xff" * 64,
        "another-block": block("SOMETHING_ELSE", bytes(52)),
    },
)
def test_no_version_block(data):
    assert parse_version(data) is None


def test_a_block_without_numbers():
    assert parse_version(leaf(value=b"")) == FileVersion()
    assert parse_version(leaf(value=bytes(52))) == FileVersion()


def test_cut_anywhere_is_never_a_traceback():
    whole = leaf(block("0409", children=padded(string("A", "one"))))
    for length in range(len(whole)):
        parse_version(whole[:length])


def resources(languages: dict[int, bytes]) -> bytes:
    """A tree with one version resource in several languages."""

    def directory(entries: list[tuple[int, int]]) -> bytes:
        head = struct.pack("<IIHHHH", 0, 0, 0, 0, 0, len(entries))
        return head + b"".join(struct.pack("<II", *entry) for entry in entries)

    at = 48 + 16 + 8 * len(languages)
    data_at = at + 16 * len(languages)
    rows, leaves, data = [], b"", b""
    for language, content in languages.items():
        rows.append((language, at + len(leaves)))
        leaves += struct.pack("<IIII", RVA + data_at + len(data), len(content), 0, 0)
        data += content
    tree = directory([(16, 0x80000000 | 24)]) + directory([(1, 0x80000000 | 48)]) + directory(rows)
    return tree + leaves + data


@pytest.mark.parametrize(
    "languages, expected", [((0x407, 0x409), 2), ((0x409, 0x407), 1), ((0x407, 0x411), 1)], ids=str
)
def test_english_before_others(languages, expected):
    leaves = [leaf(value=fixed((number, 0, 0, 0), (0, 0, 0, 0))) for number in (1, 2)]
    file = raw_pe(resources(dict(zip(languages, leaves, strict=True))), {2: (RVA, 0)})
    found = read_version(MemorySource(file))
    assert found.file[0] == expected


@named_cases(
    "file",
    {
        "no-pe": b"MZ" + bytes(100),
        "no-resources": raw_pe(bytes(16)),
        "resources-outside": raw_pe(bytes(16), {2: (0x7F000000, 9)}),
    },
)
def test_none_without_a_resource(file):
    assert read_version(MemorySource(file)) is None


# -------------------------------------------------------------------------------------------------------------- toolset
#


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


def test_the_newest_compiler():
    """As in cuDNN 8.9: linked by 14.20, compiled by 14.29."""
    file = with_rich(
        rich((0x105, 27508, 347), (0x105, 30151, 800), (0x104, 30151, 62), (0x101, 34808, 2), (0x102, 27508, 1))
    )
    assert newest_compiler(MemorySource(file)) == 30151


def test_a_linker_alone():
    assert newest_compiler(MemorySource(with_rich(rich((0x102, 35207, 1))))) == 0


@named_cases(
    "file",
    {
        "no-pe": b"MZ" + bytes(200),
        "no-rich-header": library("a.dll"),
        "too-short": with_rich(b"DanSRich" + bytes(4)),
        "another-key": with_rich(rich((0x102, 35207, 1))[:-4] + b"\0\0\0\0"),
    },
)
def test_no_compiler_without_a_rich_header(file):
    assert newest_compiler(MemorySource(file)) == 0


@pytest.mark.real
@pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")
@pytest.mark.parametrize(
    "which, member, compiler",
    [
        ("nvidia_cudnn_cu11-8.9.4", "cudnn_cnn_infer64_8.dll", 30151),
        ("msvc_runtime-14.44", "msvcp140.dll", 35207),
        ("torch-2.7.1", "c10.dll", 30158),
    ],
)
def test_real_libraries(which, member, compiler):
    for _, source in members(wheel(which), f"/{member}"):
        assert newest_compiler(source) == compiler
