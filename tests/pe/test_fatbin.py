from __future__ import annotations

import re
import struct
import zlib
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pe.raw import OFFSET, RVA, raw_pe
from tests.pe.wheels import FOLDER, WHEELS, members, wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.pe import gpucode
from wheelfix.pe.gpucode import read_archs, read_gpu_code
from wheelfix.pe.image import Headers, read_headers
from wheelfix.streams.source import InflatedSource, MemorySource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.model import ByteSource

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


def source(*containers: bytes) -> MemorySource:
    return MemorySource(forge_dll("a.dll", sections={".nv_fatb": b"".join(containers)}))


def test_machine_code_before_ptx_and_old_before_new() -> None:
    found = read_gpu_code(
        source(container(entry(PTX, 90), entry(SASS, 120, b"x" * 99), entry(SASS, 35)), container(entry(SASS, 35)))
    )
    assert found is not None
    assert found.archs == ("sm_35", "sm_120", "ptx_90")
    assert found.entries["sm_35"] == 2
    assert found.oddities == ()


def test_code_for_one_architecture_alone() -> None:
    assert read_archs(source(container(entry(SASS, 90), entry(SASS, 90, flags=0x102041)))) == ("sm_90", "sm_90a")


def test_the_newest_language_of_each_ptx() -> None:
    entries = [entry(PTX, 80, form=(7, 4)), entry(PTX, 80, form=(7, 8)), entry(PTX, 90, form=(8, 0)), entry(SASS, 80)]
    found = read_gpu_code(source(container(*entries)))
    assert found is not None
    assert found.ptx == {"ptx_80": (7, 8), "ptx_90": (8, 0)}


def test_zeros_between_containers() -> None:
    one, two = container(entry(SASS, 70)), container(entry(SASS, 80))
    assert read_archs(source(one, bytes(8), two, bytes(200_000), one)) == ("sm_70", "sm_80")


def test_the_magic_straddles_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpucode, "_FATBIN_STEP", 64)
    for pad in range(1, 140):
        assert read_archs(source(container(entry(SASS, 70)), bytes(pad), container(entry(SASS, 80)))) == (
            "sm_70",
            "sm_80",
        )


def test_longer_headers_of_newer_toolkits() -> None:
    assert read_archs(source(container(entry(SASS, 100, b"p" * 7, length=112), entry(SASS, 120, length=104)))) == (
        "sm_100",
        "sm_120",
    )


def test_the_magic_within_a_payload_is_no_container() -> None:
    inner = container(entry(SASS, 20))
    assert read_archs(source(container(entry(SASS, 80, inner), entry(PTX, 80)))) == ("sm_80", "ptx_80")


def test_wrappers_lead_to_containers_in_other_sections() -> None:
    body = container(entry(SASS, 61)).ljust(0x200, b"\0")
    wrapper = struct.pack("<IIQQ", 0x466243B1, 1, 0x10000000 + RVA, 0)
    file = bytearray(raw_pe(body + wrapper, sections=2, vsize=0x200))
    table = file.index(b".rdata")
    struct.pack_into("<8s4I", file, table + 40, b".nvFatBi", 24, 2 * RVA, 24, OFFSET + 0x200)
    assert read_archs(MemorySource(bytes(file))) == ("sm_61",)


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no pe", id="no-pe"),
        pytest.param(forge_dll("a.dll", exports=["f"]), id="no-section"),
    ],
)
def test_none_without_a_place_for_gpu_code(file: bytes) -> None:
    assert read_gpu_code(MemorySource(file)) is None
    assert read_archs(MemorySource(file)) is None


@pytest.mark.parametrize(
    ("content", "archs", "odd"),
    [
        pytest.param(b"\0" * 64, (), "", id="zeros"),
        pytest.param(container(version=9), (), "version 9", id="another-version"),
        pytest.param(container(entry(SASS, 80), entry(9, 80)), ("sm_80",), "unknown kind 9", id="another-kind"),
        pytest.param(container(entry(SASS, 80), entry(SASS, 70)[:-60]), ("sm_80",), "", id="cut-entry"),
        pytest.param(container(entry(SASS, 80), bytes(64)), ("sm_80",), "makes no sense", id="no-entry"),
        pytest.param(container(entry(SASS, 80), entry(SASS, 5)), ("sm_80",), "makes no sense", id="no-such-card"),
        pytest.param(
            struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 60) + entry(SASS, 80), ("sm_80",), "beyond", id="endless"
        ),
    ],
)
def test_what_is_odd_does_not_stop_the_reading(content: bytes, archs: tuple[str, ...], odd: str) -> None:
    found = read_gpu_code(MemorySource(raw_pe(content).replace(b".rdata\0\0", b".nv_fatb")))
    assert found is not None
    assert found.archs == archs
    assert odd in "".join(found.oddities)


def test_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpucode, "MAX_ENTRIES", 10)
    found = read_gpu_code(source(container(*[entry(SASS, 80)] * 20)))
    assert found is not None
    assert found.entries == {"sm_80": 10}
    assert "more than 10" in found.oddities[0]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 200))
def test_any_bytes_never_raise(noise: bytes, at: int) -> None:
    good = container(entry(SASS, 80), entry(PTX, 80, b"x" * 20))
    spoiled = good[:at] + noise + good[at + len(noise) :]
    read_gpu_code(MemorySource(raw_pe(spoiled + good).replace(b".rdata\0\0", b".nv_fatb")))


def test_a_deflated_member() -> None:
    file = forge_dll("a.dll", sections={".nv_fatb": container(entry(SASS, 86, bytes(3 << 20)), entry(PTX, 86))})
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(file) + packer.flush()
    assert read_archs(InflatedSource(lambda at, length: packed[at : at + length], len(packed), len(file))) == (
        "sm_86",
        "ptx_86",
    )


def cubin_heads(source: ByteSource) -> Iterator[tuple[int, bool, bytes]]:
    """Yield compute capability, header flag and first bytes of every SASS payload that is plain or LZ4.

    Found by searching for headers of that shape, not by walking the containers: a second way to the same facts.
    """
    headers = read_headers(source)
    assert isinstance(headers, Headers)
    (section,) = (section for section in headers.sections if section.name == ".nv_fatb")
    window, base, end = b"", section.offset, section.offset + section.size
    while base < end:
        window = source.read_at(base, 1 << 20)
        at = window.find(b"\x02\x00\x01\x01")
        while 0 <= at < (1 << 20) - 2048:
            _, _, length, _, packed, _, minor, major, arch = struct.unpack_from("<HHIQIIHHI", window, at)
            (flags,) = struct.unpack_from("<Q", window, at + 40)
            if 64 <= length < 1024 and length % 8 == 0 and flags & 0x41 == 0x41 and major == 1 and minor in (7, 8):
                payload = window[at + length : at + length + 512]
                yield arch, bool(flags & 0x100000), lz4_head(payload) if packed else payload[:64]
            at = window.find(b"\x02\x00\x01\x01", at + 1)
        base += (1 << 20) - 2048


def lz4_head(data: bytes, wanted: int = 64) -> bytes:
    """Return the first bytes of an LZ4 block."""

    def run(length: int, at: int) -> tuple[int, int]:
        while length % 255 == 15 % 255 or length > 15:
            length, at, more = length + data[at], at + 1, data[at] == 255
            if not more:
                break
        return length, at

    out, at = bytearray(), 0
    while len(out) < wanted:
        token = data[at]
        literals, at = run(token >> 4, at + 1) if token >> 4 == 15 else (token >> 4, at + 1)
        out += data[at : at + literals]
        at += literals
        back = int.from_bytes(data[at : at + 2], "little")
        copies, at = run(15, at + 2) if token & 15 == 15 else (token & 15, at + 2)
        for _ in range(copies + 4):
            out.append(out[-back])
    return bytes(out[:wanted])


KEPLER_ON = "sm_35 sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 ptx_80"


def ptx_versions(source: ByteSource) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield capability, version in the header and version in the text of every PTX entry that is plain or LZ4."""
    headers = read_headers(source)
    assert isinstance(headers, Headers)
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
    ("name", "member", "expected"),
    [
        ("nvidia_cublas_cu11-11.10", "cublas64_11.dll", {"ptx_80": (7, 7)}),
        ("nvidia_cusparse_cu11", "cusparse64_11.dll", {"ptx_80": (7, 8), "ptx_90": (7, 8)}),
        ("cupy_cuda11x-11.6.0", "thrust.cp311-win_amd64.pyd", {"ptx_90": (7, 8)}),
    ],
)
@pytest.mark.real
@pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")
def test_the_ptx_says_the_same(name: str, member: str, expected: dict[str, tuple[int, int]]) -> None:
    """The version in the header of an entry is the one in the first line of its text."""
    for _, real in members(wheel(name), member):
        found = read_gpu_code(real)
        assert found is not None
        assert found.ptx == expected
        told = list(ptx_versions(real))
        assert len(told) == sum(count for arch, count in found.entries.items() if arch.startswith("ptx"))
        assert [head for _, head, _ in told] == [text for _, _, text in told]


@pytest.mark.parametrize(
    ("name", "member", "archs"),
    [
        ("nvidia_cublas_cu11-11.10", "cublas64_11.dll", KEPLER_ON),
        ("nvidia_cublas_cu11-11.10", "cublasLt64_11.dll", KEPLER_ON),
        (
            "nvidia_cudnn_cu11-8.9.4",
            "cudnn_cnn_infer64_8.dll",
            "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90 ptx_80 ptx_86 ptx_90",
        ),
        (
            "nvidia_cudnn_cu12-9.1.0",
            "cudnn_engines_runtime_compiled64_9.dll",
            "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90 sm_90a ptx_90",
        ),
        (
            "nvidia_cusparse_cu11",
            "cusparse64_11.dll",
            "sm_35 sm_37 sm_50 sm_52 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 ptx_80 ptx_90",
        ),
        (
            "cupy_cuda11x-11.6.0",
            "thrust.cp311-win_amd64.pyd",
            "sm_35 sm_37 sm_50 sm_52 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 ptx_90",
        ),
        ("bitsandbytes", "_cuda128.dll", "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120"),
    ],
    ids=lambda value: value.split(" ")[0] if " " not in value else "",
)
@pytest.mark.real
@pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")
def test_the_cubins_say_the_same(name: str, member: str, archs: str) -> None:
    """The architectures of real libraries; and every cubin whose ELF header can be read agrees in its e_flags."""
    for _, real in members(wheel(name), member):
        found = read_gpu_code(real)
        assert found is not None
        assert found.archs == tuple(archs.split())
        assert not found.oddities
        heads: Counter[str] = Counter()
        for arch, specific, elf in cubin_heads(real):
            if elf[:4] != b"\x7fELF":
                continue
            (flags,) = struct.unpack_from("<I", elf, 48)
            abi = elf[8]
            assert (flags & 0xFF if abi < 8 else flags >> 8 & 0xFF) == arch
            if arch >= 90:  # before Hopper the bit means something else
                assert bool(flags & (0x800 if abi < 8 else 0x8)) is specific
            heads[f"sm_{arch}{'a' if specific else ''}"] += 1
        assert heads == {arch: count for arch, count in found.entries.items() if arch.startswith("sm")}


CUBIN = b"\x7fELF" + bytes(60) + b".shstrtab\0.nv.info\0"
KERNEL = CUBIN + b".text._Z4workv\0"


def test_code_without_a_kernel_is_what_nvcc_leaves_behind() -> None:
    left_over = read_gpu_code(source(container(entry(SASS, 52, CUBIN))))
    packed = read_gpu_code(source(container(entry(SASS, 75, b"\xa2" + CUBIN[:40], flags=0x2041))))
    work = read_gpu_code(source(container(entry(SASS, 52, CUBIN), entry(SASS, 52, KERNEL))))
    assert left_over is not None
    assert packed is not None
    assert work is not None
    assert [left_over.kernels, packed.kernels, work.kernels] == [False, False, True]
    assert left_over.archs == work.archs == ("sm_52",)


def test_containers_in_the_data_count_where_the_section_has_no_kernel() -> None:
    """Story: cuFFT of CUDA 12.4 to 12.9 was called broken on every card; its kernels are in ``.data``."""
    data = (
        b"words" * 9
        + container(entry(PTX, 90), entry(8, 70, b"link"))
        + b"\0" * 20
        + container(entry(SASS, 86, KERNEL))
    )
    sections = {".nv_fatb": container(entry(SASS, 52, CUBIN)), ".data": data}
    found = read_gpu_code(MemorySource(forge_dll("cufft64_11.dll", sections=sections)))
    assert found is not None
    assert found.entries == {"sm_86": 1, "ptx_90": 1}
    assert found.kernels
    assert found.oddities == ()
    own = {**sections, ".nv_fatb": container(entry(SASS, 80, KERNEL))}
    other = read_gpu_code(MemorySource(forge_dll("a.dll", sections=own)))
    assert other is not None
    assert other.archs == ("sm_80",)
