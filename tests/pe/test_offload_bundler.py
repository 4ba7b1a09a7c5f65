"""Bundles that Clang's own tool has made are read as it reads them (fixtures/bundles)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from wheelfix.demo.forge import forge_dll
from wheelfix.pe import gpucode
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.streams.source import MemorySource

BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
NAMES = ("plain", "aligned", "compressed")


def code(section: bytes) -> GpuCode:
    found = read_gpu_code(MemorySource(forge_dll("x.dll", exports=["f"], sections={".hip_fat": section})))
    assert found is not None
    return found


def listed(name: str) -> Counter[str]:
    """What the bundler lists, without the host and without features of a target."""
    lines = (BUNDLES / f"{name}.txt").read_text(encoding="ascii").split()
    return Counter(re.sub(r"^.*--|:.*$", "", line) for line in lines if not line.startswith("host"))


def padded(name: str) -> bytes:
    data = (BUNDLES / f"{name}.hipfb").read_bytes()
    return data.ljust(-(-len(data) // 4096) * 4096, b"\0")


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle(name: str) -> None:
    if name == "compressed" and gpucode.zstd_reader() is None:
        pytest.skip("this Python has no zstd")
    found = code(padded(name))
    assert found.entries == listed(name)
    assert sum(listed(name).values()) == 3
    assert not found.unread


def test_bundles_one_after_the_other() -> None:
    """Story: the letters CCOB inside code were taken for a bundle of an unknown version, and the answer was unsure."""
    found = code(padded("plain") + padded("aligned") + padded("plain"))
    assert found.entries == listed("plain") + listed("aligned") + listed("plain")
    assert not found.unread


def test_a_bundle_that_is_cut_short_ends_the_reading() -> None:
    data = (BUNDLES / "plain.hipfb").read_bytes()
    assert set(code(data[:-10]).entries) <= set(listed("plain"))
    assert code(data[:60]).entries == {}
