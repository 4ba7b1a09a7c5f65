"""What device images of SYCL are for, from the table of the DLL."""

from __future__ import annotations

import struct

import pytest

from tests.pe.wheels import members, wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.pe.image import Headers, read_headers
from wheelfix.streams.source import MemorySource

SyclImage = tuple[str, str, bool]
"""What an image is for, the options that it was compiled with, and whether it has kernels."""


def section(address: int, version: int, images: list[SyclImage]) -> bytes:
    """The texts of some images, and the table of them, for a section that is mapped at an address."""
    texts, places = b"z", []  # a linker puts anything before the first text
    for target, options, _ in images:
        places.append((address + len(texts), address + len(texts) + len(target) + 1))
        texts += f"{target}\0{options}\0".encode()
    texts = texts.ljust(-(-len(texts) // 8) * 8, b"\0")
    table = b""
    for (target_at, options_at), (_, _, kernels) in zip(places, images, strict=True):
        manifest = (0, 0) if version == 2 else ()
        entries = (address, address + 24) if kernels else (address, address)
        pointers = (target_at, options_at, 0, *manifest, address, address + 64, *entries, address, address)
        table += struct.pack("<HBB4x", version, 4, 0) + struct.pack(f"<{len(pointers)}Q", *pointers)
    return texts + table + bytes(96)


def dll(images: list[SyclImage], version: int = 3) -> bytes:
    """A DLL whose section ``.data`` has the table."""
    content = data = section(0, version, images)
    for _ in range(2):  # the second time at the address that the section has
        data = forge_dll("x.dll", exports=["f"], sections={".tgtimg": bytes(16), ".data": content})
        headers = read_headers(MemorySource(data))
        assert isinstance(headers, Headers)
        place = next(one for one in headers.sections if one.name == ".data")
        content = section(headers.image_base + place.rva, version, images)
    return data


def code(data: bytes) -> GpuCode:
    found = read_gpu_code(MemorySource(data))
    assert found is not None
    return found


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_of_the_table(version: int) -> None:
    images = [("spir64", "", True), ("spir64", "-O2", True), ("spir64_gen", "-device PVC,bmg-g21 -options x", True)]
    found = code(dll(images, version))
    assert found.entries == {"intel_bmg-g21": 1, "intel_pvc": 1, "spir64": 2}
    assert not found.unread


def test_an_image_without_kernels_does_not_count() -> None:
    found = code(dll([("spir64", "", False)]))
    assert (found.archs, found.unread) == ((), "")


def test_the_option_may_be_noted_at_another_image() -> None:
    """As in bitsandbytes 0.50.2, whose images of SPIR-V have the options of both."""
    found = code(dll([("spir64_gen", "", True), ("spir64", "-device pvc,ats-m150 -options -x", True)]))
    assert set(found.archs) == {"intel_pvc", "intel_ats-m150", "spir64"}


def test_machine_code_that_names_no_device() -> None:
    found = code(dll([("spir64_gen", "", True)]))
    assert found.archs == ()
    assert "does not say for which" in found.unread


def test_code_for_processors_is_no_code_for_cards() -> None:
    assert code(dll([("spir64_x86_64", "", True)])).archs == ()


@pytest.mark.parametrize("content", [b"", b"\x03\0\x04\0\0\0\0\0" * 40, b"\0spir64\0"])
def test_a_table_that_is_not_found_is_said(content: bytes) -> None:
    data = forge_dll("x.dll", exports=["f"], sections={".tgtimg": bytes(16), ".data": content.ljust(16, b"\0")})
    found = code(data)
    assert found.archs == ()
    assert "was not found" in found.unread


@pytest.mark.real
def test_real_dlls_of_sycl() -> None:
    found = [read_gpu_code(source) for name, source in members(wheel("bitsandbytes")) if "_xpu" in name]
    assert found
    for one in found:
        assert one is not None
        assert set(one.archs) == {"intel_pvc", "intel_xe-lpg", "intel_ats-m150", "spir64"}
