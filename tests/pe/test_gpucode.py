"""GPU code in DLLs: containers of NVIDIA, bundles of AMD, images of Intel."""

from __future__ import annotations

import csv
import io
import re
import struct
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pe.raw import OFFSET, RVA, raw_pe
from tests.pe.wheels import FOLDER, WHEELS, members, wheel
from tests.support.hostilebundles import PIECES, hostile_dll
from tests.support.patience import patience
from tests.support.tables import named_cases
from tools.forge import forge_dll
from wheelfix.model import ByteSource
from wheelfix.pe import gpucode
from wheelfix.pe.gpucode import GpuCode, read_archs, read_gpu_code
from wheelfix.pe.image import read_headers
from wheelfix.rules.gpufit import fit
from wheelfix.streams.source import MemorySource

PTX, SASS = 1, 2


def entry(
    kind: int, arch: int, payload: bytes = b"", *, flags: int = 0x41, length: int = 64, form: tuple[int, int] = (1, 7)
) -> bytes:
    major, minor = form
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 257, length, len(payload), 0, 0, minor, major, arch, 0, 0, flags, 0, 0)
    return head.ljust(length, b"\0") + payload


def container(*entries: bytes, version: int = 1) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, version, 16, len(body)) + body


def read(data: bytes) -> GpuCode:
    found = read_gpu_code(MemorySource(data))
    assert found is not None
    return found


def code(sections: dict[str, bytes]) -> GpuCode:
    return read(forge_dll("x.dll", exports=["f"], sections=sections))


def cuda(*containers: bytes) -> GpuCode:
    return code({".nv_fatb": b"".join(containers)})


def test_machine_code_before_ptx_and_old_before_new():
    found = cuda(container(entry(PTX, 90), entry(SASS, 120, b"x" * 99), entry(SASS, 35)), container(entry(SASS, 35)))
    assert found.archs == ("sm_35", "sm_120", "ptx_90")
    assert found.entries["sm_35"] == 2


def test_the_newest_language_of_each_ptx():
    entries = [entry(PTX, 80, form=(7, 4)), entry(PTX, 80, form=(7, 8)), entry(PTX, 90, form=(8, 0)), entry(SASS, 80)]
    assert cuda(container(*entries)).ptx == {"ptx_80": (7, 8), "ptx_90": (8, 0)}


def test_zeros_between_containers():
    one, two = container(entry(SASS, 70)), container(entry(SASS, 80))
    assert cuda(one, bytes(8), two, bytes(200_000), one).archs == ("sm_70", "sm_80")


def test_the_magic_straddles_a_block(monkeypatch):
    monkeypatch.setattr(gpucode, "_FATBIN_STEP", 64)
    for pad in range(1, 140):
        assert cuda(container(entry(SASS, 70)), bytes(pad), container(entry(SASS, 80))).archs == ("sm_70", "sm_80")


def test_longer_headers_of_newer_toolkits():
    found = cuda(container(entry(SASS, 100, b"p" * 7, length=112), entry(SASS, 120, length=104)))
    assert found.archs == ("sm_100", "sm_120")


def test_the_magic_within_a_payload_is_no_container():
    inner = container(entry(SASS, 20))
    assert cuda(container(entry(SASS, 80, inner), entry(PTX, 80))).archs == ("sm_80", "ptx_80")


def test_wrappers_lead_to_containers_in_other_sections():
    body = container(entry(SASS, 61)).ljust(0x200, b"\0")
    wrapper = struct.pack("<IIQQ", 0x466243B1, 1, 0x10000000 + RVA, 0)
    file = bytearray(raw_pe(body + wrapper, sections=2, vsize=0x200))
    table = file.index(b".rdata")
    struct.pack_into("<8s4I", file, table + 40, b".nvFatBi", 24, 2 * RVA, 24, OFFSET + 0x200)
    assert read(bytes(file)).archs == ("sm_61",)


@named_cases(
    "file",
    {
        "empty": b"",
        "no-pe": b"no pe",
        "no-section": forge_dll("a.dll", exports=["f"], sections={".data": b"\0spir64\0"}),
    },
)
def test_none_without_a_place_for_gpu_code(file):
    assert read_gpu_code(MemorySource(file)) is None
    assert read_archs(MemorySource(file)) is None


@named_cases(
    "content, archs, unread",
    {
        "another-version": (container(version=9), (), "version 9"),
        "another-kind": (container(entry(SASS, 80), entry(9, 80)), ("sm_80",), ""),
        "cut-entry": (container(entry(SASS, 80), entry(SASS, 70)[:-60]), ("sm_80",), ""),
        "no-entry": (container(entry(SASS, 80), bytes(64)), ("sm_80",), ""),
        "endless": (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 60) + entry(SASS, 80), ("sm_80",), ""),
    },
)
def test_what_is_odd_does_not_stop_the_reading(content, archs, unread):
    found = read(raw_pe(content).replace(b".rdata\0\0", b".nv_fatb"))
    assert found.archs == archs
    assert unread in found.unread
    assert bool(unread) is bool(found.unread)


def test_too_many_entries(monkeypatch):
    monkeypatch.setattr(gpucode, "MAX_ENTRIES", 10)
    found = cuda(container(*[entry(SASS, 80)] * 20))
    assert found.entries == {"sm_80": 10}
    assert "more than 10" in found.unread


def ptx_versions(source: ByteSource) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield capability, version in the header and version in the text of every PTX entry that is plain or LZ4."""
    headers = read_headers(source)
    (section,) = (section for section in headers.sections if section.name == ".nv_fatb")
    for base in range(section.offset, section.offset + section.size, 1 << 20):
        window = source.read_at(base, (1 << 20) + 4096)
        at = window.find(b"\x01\x00\x01\x01")
        while 0 <= at < 1 << 20:
            _, _, length, _, _, _, minor, major, arch = struct.unpack_from("<HHIQIIHHI", window, at)
            text = re.match(rb".{0,16}?\.version (\d+\.\d+)", window[at + length : at + length + 64], re.DOTALL)
            if 64 <= length < 1024 and text:
                yield arch, f"{major}.{minor}".encode(), text[1]
            at = window.find(b"\x01\x00\x01\x01", at + 1)


@pytest.mark.parametrize(
    "name, member, expected",
    [
        ("nvidia_cublas_cu11-11.10", "cublas64_11.dll", {"ptx_80": (7, 7)}),
        ("nvidia_cusparse_cu11", "cusparse64_11.dll", {"ptx_80": (7, 8), "ptx_90": (7, 8)}),
        ("cupy_cuda11x-11.6.0", "thrust.cp311-win_amd64.pyd", {"ptx_90": (7, 8)}),
    ],
)
@pytest.mark.real
@pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")
def test_the_ptx_says_the_same(name, member, expected):
    """The version in the header of an entry is the one in the first line of its text."""
    for _, real in members(wheel(name), member):
        found = read_gpu_code(real)
        assert found.ptx == expected
        reported = list(ptx_versions(real))
        assert len(reported) == sum(count for arch, count in found.entries.items() if arch.startswith("ptx"))
        assert [head for _, head, _ in reported] == [text for _, _, text in reported]


CUBIN = b"\x7fELF" + bytes(60) + b".shstrtab\0.nv.info\0"
KERNEL = CUBIN + b".text._Z4workv\0"


def test_code_without_a_kernel_is_what_nvcc_leaves_behind():
    left_over = cuda(container(entry(SASS, 52, CUBIN)))
    packed = cuda(container(entry(SASS, 75, b"\xa2" + CUBIN[:40], flags=0x2041)))
    work = cuda(container(entry(SASS, 52, CUBIN), entry(SASS, 52, KERNEL)))
    assert [left_over.kernels, packed.kernels, work.kernels] == [False, False, True]
    assert left_over.archs == work.archs == ("sm_52",)


def test_containers_in_the_data_count_where_the_section_has_no_kernel():
    """Story: cuFFT of CUDA 12.4 to 12.9 was called broken on every card; its kernels are in ``.data``."""
    data = (
        b"words" * 9
        + container(entry(PTX, 90), entry(8, 70, b"link"))
        + b"\0" * 20
        + container(entry(SASS, 86, KERNEL))
    )
    sections = {".nv_fatb": container(entry(SASS, 52, CUBIN)), ".data": data}
    found = code(sections)
    assert found.entries == {"sm_86": 1, "ptx_90": 1}
    assert found.kernels
    own = {**sections, ".nv_fatb": container(entry(SASS, 80, KERNEL))}
    assert code(own).archs == ("sm_80",)


# -------------------------------------------------------------------------------------------------------------- offload
# GPU code for AMD's and Intel's cards, and NVIDIA's code for one architecture and for a family.


FATBINS = Path(__file__).parents[2] / "fixtures" / "fatbins"
HOST = "host-x86_64-pc-windows-msvc--"


def bundle(*targets: str) -> bytes:
    """A bundle of Clang with an empty entry for each target."""
    table = b""
    for name in (HOST, *(f"hipv4-amdgcn-amd-amdhsa--{target}" for target in targets)):
        table += struct.pack("<QQQ", 4096, 0, len(name)) + name.encode()
    return gpucode.BUNDLE + struct.pack("<Q", len(targets) + 1) + table


def packed(data: bytes, version: int = 3, method: int = gpucode.ZLIB, body: bytes | None = None) -> bytes:
    """A compressed bundle in one of the versions of its header."""
    body = zlib.compress(data) if body is None else body
    sizes = {
        1: lambda: struct.pack("<I", len(data)),
        2: lambda: struct.pack("<II", 24 + len(body), len(data)),
        3: lambda: struct.pack("<QQ", 32 + len(body), len(data)),
    }
    size = sizes[min(version, 3)]()
    return gpucode.COMPRESSED + struct.pack("<HH", version, method) + size + bytes(8) + body


def test_the_targets_of_all_bundles_are_counted():
    section = bundle("gfx1100", "gfx906:sramecc+:xnack-").ljust(4096, b"\0") + bundle("gfx1100", "gfx11-generic")
    assert code({".hip_fat": section}).entries == {"gfx1100": 2, "gfx11-generic": 1, "gfx906": 1}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles_are_unpacked(version):
    section = packed(bundle("gfx1201"), version).ljust(4096, b"\0") + packed(bundle("gfx1030", "amdgcnspirv"), version)
    assert set(code({".hip_fat": section}).archs) == {"gfx1201", "gfx1030", "amdgcnspirv"}


def test_zstd_is_unpacked_where_it_is_there(monkeypatch):
    zstandard = pytest.importorskip("zstandard")
    data = bundle("gfx1151")
    section = packed(data, 3, gpucode.ZSTD, zstandard.ZstdCompressor().compress(data))
    assert code({".hip_fat": section}).archs == ("gfx1151",)
    monkeypatch.setattr(gpucode, "zstd_reader", lambda: None)
    without = code({".hip_fat": section})
    assert without.archs == ()
    assert "cannot unpack" in without.unread


@named_cases(
    "section, said",
    {
        "damaged": (packed(bundle("gfx1100"), 3, gpucode.ZLIB, b"nothing"), "damaged"),
        "version": (packed(bundle("gfx1100"), 9), "version 9"),
        "method": (packed(bundle("gfx1100"), 3, 7), "unknown method 7"),
        "cut": (gpucode.COMPRESSED, ""),
        "huge": (gpucode.BUNDLE + b"\xff" * 40, ""),
    },
)
def test_what_cannot_be_read_is_said(section, said):
    found = code({".hip_fat": section})
    assert said in found.unread
    assert found.archs == ()


@pytest.mark.real
def test_real_dlls():
    """bitsandbytes has DLLs for three vendors side by side."""
    found = {kind: [] for kind in ("_rocm", "_xpu")}
    for name, source in members(wheel("bitsandbytes")):
        for kind in found:
            if kind in name:
                found[kind].append(read_gpu_code(source))
    assert all(found.values())
    assert all(one is not None and "gfx1100" in one.archs and not one.unread for one in found["_rocm"])
    intel = {"intel_pvc", "intel_xe-lpg", "intel_ats-m150", "spir64"}
    assert all(one is not None and set(one.archs) == intel for one in found["_xpu"])


# ------------------------------------------------------------------------------------------------------- NVIDIA's own

ROWS = list(csv.reader(io.StringIO((FATBINS / "loads.tsv").read_text(encoding="utf-8")), delimiter="\t"))[1:]


@pytest.mark.parametrize("name, answer", ROWS, ids=[name for name, _ in ROWS])
def test_the_letter_and_the_answer_of_a_real_driver(name, answer):
    """The letter of each file is read from its header, and a card of 9.0 runs what its driver took."""
    found = code({".nv_fatb": (FATBINS / name).read_bytes()})
    (arch,) = found.archs
    assert arch == name.removesuffix(".fatbin").partition("-")[0]
    assert fit(found.archs, "sm_90", found.ptx).runs is (answer == "CUDA_SUCCESS")


@pytest.mark.slow
@pytest.mark.parametrize("name", PIECES)
def test_hostile_code_is_read_within_one_budget_for_the_file(name):
    """19 KB of a wheel took 39 s: each magic searched a megabyte again, and each section had a budget of its own."""
    started = time.process_time()
    for size, sections in ((1 << 18, 1), (1 << 20, 12)):
        read_gpu_code(MemorySource(hostile_dll(name, size, sections)))
    assert time.process_time() - started < patience(10)


def test_too_many_bundles_are_not_called_read():
    found = read(hostile_dll("magics of bundles", 1 << 20, 12))
    assert "it has more than 20000 bundles" in found.unread


def test_sections_at_the_same_place_are_counted_once():
    once, often = (read(hostile_dll("containers of entries", 6400, n)) for n in (1, 12))
    assert once == often
    assert once.entries["sm_86"] == 6400 // 64


# ------------------------------------------------------------------------------------------------------ offload_bundler
# Bundles that Clang's own tool has made are read as it reads them (fixtures/bundles).


BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
NAMES = ("plain", "aligned", "compressed")


def bundled_code(section: bytes) -> GpuCode:
    return code({".hip_fat": section})


def listed(name: str) -> Counter[str]:
    """What the bundler lists, without the host and without features of a target."""
    lines = (BUNDLES / f"{name}.txt").read_text(encoding="ascii").split()
    return Counter(re.sub(r"^.*--|:.*$", "", line) for line in lines if not line.startswith("host"))


def padded(name: str) -> bytes:
    data = (BUNDLES / f"{name}.hipfb").read_bytes()
    return data.ljust(-(-len(data) // 4096) * 4096, b"\0")


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle(name):
    if name == "compressed" and gpucode.zstd_reader() is None:
        pytest.skip("this Python has no zstd")
    found = bundled_code(padded(name))
    assert found.entries == listed(name)
    assert sum(listed(name).values()) == 3
    assert not found.unread


def test_bundles_one_after_the_other():
    """Story: the letters CCOB inside code were taken for a bundle of an unknown version, and the answer was unsure."""
    found = bundled_code(padded("plain") + padded("aligned") + padded("plain"))
    assert found.entries == listed("plain") + listed("aligned") + listed("plain")
    assert not found.unread


def test_a_bundle_that_is_cut_short_ends_the_reading():
    data = (BUNDLES / "plain.hipfb").read_bytes()
    assert set(bundled_code(data[:-10]).entries) <= set(listed("plain"))
    assert bundled_code(data[:60]).entries == {}


# ----------------------------------------------------------------------------------------------------------- syclimages
# What device images of SYCL are for, from the table of the DLL.


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
        place = next(one for one in headers.sections if one.name == ".data")
        content = section(headers.image_base + place.rva, version, images)
    return data


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_of_the_table(version):
    images = [("spir64", "", True), ("spir64", "-O2", True), ("spir64_gen", "-device PVC,bmg-g21 -options x", True)]
    found = read(dll(images, version))
    assert found.entries == {"intel_bmg-g21": 1, "intel_pvc": 1, "spir64": 2}
    assert not found.unread


def test_an_image_without_kernels_does_not_count():
    found = read(dll([("spir64", "", False)]))
    assert (found.archs, found.unread) == ((), "")


def test_the_option_may_be_noted_at_another_image():
    """As in bitsandbytes 0.50.2, whose images of SPIR-V have the options of both."""
    found = read(dll([("spir64_gen", "", True), ("spir64", "-device pvc,ats-m150 -options -x", True)]))
    assert set(found.archs) == {"intel_pvc", "intel_ats-m150", "spir64"}


def test_machine_code_that_names_no_device():
    found = read(dll([("spir64_gen", "", True)]))
    assert found.archs == ()
    assert "does not say for which" in found.unread


def test_code_for_processors_is_no_code_for_cards():
    assert read(dll([("spir64_x86_64", "", True)])).archs == ()


@pytest.mark.parametrize("content", [b"", b"\x03\0\x04\0\0\0\0\0" * 40, b"\0spir64\0"])
def test_a_table_that_is_not_found_is_said(content):
    data = forge_dll("x.dll", exports=["f"], sections={".tgtimg": bytes(16), ".data": content.ljust(16, b"\0")})
    found = read(data)
    assert found.archs == ()
    assert "was not found" in found.unread
