"""GPU code for AMD's and Intel's cards, and NVIDIA's code for one architecture and for a family."""

from __future__ import annotations

import csv
import io
import struct
import time
import zlib
from pathlib import Path

import pytest

from tests.pe.wheels import members, wheel
from tests.support.hostilebundles import PIECES, hostile_dll
from tests.support.patience import patience
from wheelfix.demo.forge import forge_dll
from wheelfix.pe import gpucode
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.rules.gpufit import Fit, fit
from wheelfix.streams.source import MemorySource

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


def code(sections: dict[str, bytes]) -> GpuCode:
    found = read_gpu_code(MemorySource(forge_dll("x.dll", exports=["f"], sections=sections)))
    assert found is not None
    return found


def test_the_targets_of_all_bundles_are_counted() -> None:
    section = bundle("gfx1100", "gfx906:sramecc+:xnack-").ljust(4096, b"\0") + bundle("gfx1100", "gfx11-generic")
    assert code({".hip_fat": section}).entries == {"gfx1100": 2, "gfx11-generic": 1, "gfx906": 1}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles_are_unpacked(version: int) -> None:
    section = packed(bundle("gfx1201"), version).ljust(4096, b"\0") + packed(bundle("gfx1030", "amdgcnspirv"), version)
    assert set(code({".hip_fat": section}).archs) == {"gfx1201", "gfx1030", "amdgcnspirv"}


def test_zstd_is_unpacked_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = bundle("gfx1151")
    section = packed(data, 3, gpucode.ZSTD, zstandard.ZstdCompressor().compress(data))
    assert code({".hip_fat": section}).archs == ("gfx1151",)
    monkeypatch.setattr(gpucode, "zstd_reader", lambda: None)
    without = code({".hip_fat": section})
    assert without.archs == ()
    assert "cannot unpack" in without.unread


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (packed(bundle("gfx1100"), 3, gpucode.ZLIB, b"nothing"), "damaged"),
        (packed(bundle("gfx1100"), 9), "version 9"),
        (packed(bundle("gfx1100"), 3, 7), "unknown method 7"),
        (gpucode.COMPRESSED, ""),
        (gpucode.BUNDLE + b"\xff" * 40, ""),
        (gpucode.BUNDLE * 50, ""),
    ],
    ids=["damaged", "version", "method", "cut", "huge", "repeated"],
)
def test_what_cannot_be_read_is_said(section: bytes, said: str) -> None:
    found = code({".hip_fat": section})
    assert said in found.unread
    assert found.archs == ()


def test_a_dll_without_such_sections_has_none() -> None:
    data = forge_dll("x.dll", exports=["f"], sections={".data": b"\0spir64\0"})
    assert read_gpu_code(MemorySource(data)) is None


@pytest.mark.real
def test_real_dlls() -> None:
    """bitsandbytes has DLLs for three vendors side by side."""
    path = wheel("bitsandbytes")
    found = {
        Path(name).name: read_gpu_code(source) for name, source in members(path) if "_rocm" in name or "_xpu" in name
    }
    assert found
    rocm = [one for name, one in found.items() if "_rocm" in name and one is not None]
    assert all("gfx1100" in one.archs and not one.unread for one in rocm)
    assert all("spir64" in one.archs for name, one in found.items() if "_xpu" in name and one is not None)


# ------------------------------------------------------------------------------------------------------- NVIDIA's own

ROWS = list(csv.reader(io.StringIO((FATBINS / "loads.tsv").read_text(encoding="utf-8")), delimiter="\t"))[1:]


@pytest.mark.parametrize(("name", "answer"), ROWS, ids=[name for name, _ in ROWS])
def test_the_letter_and_the_answer_of_a_real_driver(name: str, answer: str) -> None:
    """The letter of each file is read from its header, and a card of 9.0 runs what its driver took."""
    found = code({".nv_fatb": (FATBINS / name).read_bytes()})
    (arch,) = found.archs
    assert arch == name.removesuffix(".fatbin").partition("-")[0]
    assert fit(found.archs, "sm_90", found.ptx).runs is (answer == "CUDA_SUCCESS")


@pytest.mark.parametrize(
    ("arch", "card", "expected"),
    [
        ("sm_100f", "sm_100", Fit.NATIVE),
        ("sm_100f", "sm_103", Fit.SAME_MAJOR),
        ("sm_103f", "sm_100", Fit.NONE),
        ("sm_100f", "sm_120", Fit.NONE),
        ("sm_120f", "sm_121", Fit.SAME_MAJOR),
        ("ptx_120f", "sm_121", Fit.PTX),
        ("ptx_100f", "sm_120", Fit.NONE),
        ("sm_100a", "sm_103", Fit.NONE),
        ("ptx_90a", "sm_100", Fit.NONE),
        ("gfx1100", "gfx1100", Fit.NATIVE),
        ("gfx1100", "gfx1101", Fit.NONE),
        ("gfx11-generic", "gfx1151", Fit.SAME_MAJOR),
        ("gfx11-generic", "gfx1201", Fit.NONE),
        ("amdgcnspirv", "gfx1201", Fit.PTX),
        ("spir64", "intel_bmg-g21", Fit.PTX),
        ("intel_ats-m150", "intel_acm-g10", Fit.SAME_MAJOR),
        ("intel_pvc", "intel_acm-g10", Fit.NONE),
        ("sm_86", "gfx1100", Fit.NONE),
        ("gfx1100", "sm_86", Fit.NONE),
    ],
)
def test_what_runs_where(arch: str, card: str, expected: Fit) -> None:
    assert fit([arch], card) is expected


@pytest.mark.slow
@pytest.mark.parametrize("name", PIECES)
def test_hostile_code_is_read_within_one_budget_for_the_file(name: str) -> None:
    """19 KB of a wheel took 39 s: each magic searched a megabyte again, and each section had a budget of its own."""
    started = time.process_time()
    for size, sections in ((1 << 18, 1), (1 << 20, 12)):
        read_gpu_code(MemorySource(hostile_dll(name, size, sections)))
    assert time.process_time() - started < patience(10)


def test_too_many_bundles_are_not_called_read() -> None:
    found = read_gpu_code(MemorySource(hostile_dll("magics of bundles", 1 << 20, 12)))
    assert found is not None
    assert "it has more than 20000 bundles" in found.unread


def test_sections_at_the_same_place_are_counted_once() -> None:
    once, often = (read_gpu_code(MemorySource(hostile_dll("containers of entries", 6400, n))) for n in (1, 12))
    assert once is not None
    assert once == often
    assert once.entries["sm_86"] == 6400 // 64
