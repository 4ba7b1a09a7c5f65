"""Forged images, read by two libraries that know nothing of how they were made."""

from __future__ import annotations

import pefile
import pytest

from tests.support.wheels import library
from tools.forge import forge_dll
from wheelfix.model import Machine

MACHINES = [Machine.AMD64, Machine.ARM64, Machine.X86, Machine.ARM]
HARMLESS = ("makes up",)
"""pefile's remark on files that are mostly zeros."""


def opened(data: bytes) -> pefile.PE:
    """Return pefile's view, after it had nothing to complain about and lief could read the file too."""
    import lief  # takes a second, which every process of the tests would spend

    image = pefile.PE(data=data)
    assert [line for line in image.get_warnings() if not any(mark in line for mark in HARMLESS)] == []
    assert lief.PE.parse(list(data)) is not None
    return image


def imported(entries: list[pefile.ImportDescData]) -> dict[str, list[str | int]]:
    return {
        entry.dll.decode(): [item.name.decode() if item.name else item.ordinal for item in entry.imports]
        for entry in entries
    }


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_everything_at_once_is_read_back(machine):
    image = opened(
        forge_dll(
            "a.dll",
            machine=machine,
            imports={"b.dll": ["f", "g", 5], "Kernel32": ["Sleep"]},
            delay_imports={"late.dll": ["q", 3], "later.dll": ["r"]},
            exports=["zeta", "Alpha", ("fixed", 7), 9],
            forwarders={"h": "c.h", 12: "c.#3"},
        )
    )
    assert imported(image.DIRECTORY_ENTRY_IMPORT) == {"b.dll": ["f", "g", 5], "Kernel32": ["Sleep"]}
    assert imported(image.DIRECTORY_ENTRY_DELAY_IMPORT) == {"late.dll": ["q", 3], "later.dll": ["r"]}
    symbols = {(item.name or b"").decode(): item.ordinal for item in image.DIRECTORY_ENTRY_EXPORT.symbols if item.name}
    assert symbols == {"Alpha": 2, "fixed": 7, "h": 3, "zeta": 1}
    assert {item.ordinal for item in image.DIRECTORY_ENTRY_EXPORT.symbols if item.address} == {1, 2, 3, 7, 9, 12}
    forwarded = {s.ordinal: s.forwarder for s in image.DIRECTORY_ENTRY_EXPORT.symbols if s.forwarder}
    assert forwarded == {3: b"c.h", 12: b"c.#3"}
    assert image.DIRECTORY_ENTRY_EXPORT.name == b"a.dll"
    assert image.is_dll()


def test_export_names_are_in_byte_order():
    """The loader halves its way through the names; an unsorted table would hide some of them."""
    image = opened(library("a.dll:b,A,_z,a,B1"))

    count = image.DIRECTORY_ENTRY_EXPORT.struct.NumberOfNames
    table = image.DIRECTORY_ENTRY_EXPORT.struct.AddressOfNames
    names = [image.get_string_at_rva(image.get_dword_at_rva(table + 4 * index)) for index in range(count)]
    assert names == sorted(names)


@pytest.mark.parametrize("length", range(5), ids=lambda n: f"text-of-{n}")
def test_version_strings_of_any_length_are_read_back(length):
    strings = {"CompanyName": "É" * length, "FileVersion": "1.2", "K" * (length + 1): "x"}
    image = opened(
        forge_dll("a.dll", version=(11, 7, 99, 4), product_version=(1, 2, 3, 65535), version_strings=strings)
    )
    fixed = image.VS_FIXEDFILEINFO[0]
    assert (fixed.FileVersionMS, fixed.FileVersionLS) == (11 << 16 | 7, 99 << 16 | 4)
    assert (fixed.ProductVersionMS, fixed.ProductVersionLS) == (1 << 16 | 2, 3 << 16 | 65535)
    (table,) = image.FileInfo[0][0].StringTable
    assert {key.decode(): value.decode() for key, value in table.entries.items()} == strings
    assert table.LangID == b"040904B0"


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_dependent_load_flags_are_where_the_format_says(machine):
    image = opened(forge_dll("a.dll", machine=machine, dependent_load_flags=0x800))
    assert image.DIRECTORY_ENTRY_LOAD_CONFIG.struct.DependentLoadFlags == 0x800


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_relocation_moves_every_pointer(machine):
    image = opened(forge_dll("a.dll", machine=machine, delay_imports={"x.dll": ["f", "g", "h"]}))
    base = image.OPTIONAL_HEADER.ImageBase
    (descriptor,) = image.DIRECTORY_ENTRY_DELAY_IMPORT
    width = 8 if image.PE_TYPE == pefile.OPTIONAL_HEADER_MAGIC_PE_PLUS else 4
    image.relocate_image(base + 0x1230000)
    for index in range(3):
        data = image.get_data(descriptor.struct.pIAT + width * index, width)
        assert int.from_bytes(data, "little") == base + 0x1230000 + image.OPTIONAL_HEADER.AddressOfEntryPoint


def test_header_facts_are_what_was_asked():
    image = opened(forge_dll("a.exe", is_dll=False, linker=(14, 44), managed=True, size=70_001))
    assert not image.is_dll()
    assert (image.OPTIONAL_HEADER.MajorLinkerVersion, image.OPTIONAL_HEADER.MinorLinkerVersion) == (14, 44)
    assert image.OPTIONAL_HEADER.DATA_DIRECTORY[14].Size == 72
    assert len(image.__data__) == 70_001
    assert image.OPTIONAL_HEADER.DllCharacteristics == 0x160


@pytest.mark.parametrize("machine", [Machine.ARM64EC, Machine.UNKNOWN], ids=str)
def test_machines_without_known_code_are_refused(machine):
    with pytest.raises(ValueError, match=r"a\.dll: images for"):
        forge_dll("a.dll", machine=machine)
