"""Wheels that we wrote in the hands of those who will read them: pip, installer, wheel, uv, unzip, 7-Zip, zipfile."""

from __future__ import annotations

import functools
import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.archive.byhand import DIST_INFO, Entry, deflate, write_wheel_by_hand
from tests.archive.hostile import CASES
from tests.support.chance import random_bytes
from tests.support.clients import check_with_clients
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.reader import Archive
from wheelfix.archive.writer import write_wheel

TEXT = b"text that is compressed, text that is compressed\n" * 30


@functools.cache
def dense() -> bytes:
    """Parts in which hardly anything repeats, which libdeflate packs, and parts for zlib-ng, in several blocks."""
    return b"".join(random_bytes(n, 300_000, seed=n) for n in (250, 20, 256, 180, 5, 256, 200, 210, 9))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made of a bad one: data descriptors, backslashes, gaps, Unicode, and new members of every kind."""
    folder = tmp_path_factory.mktemp("wheel")
    entries = [
        *CASES["descriptor"].entries,
        Entry("pkg\\sub\\b.txt", TEXT, before=b"gap"),
        Entry("pkg/\u00fc.txt", TEXT, both={"flags": 0}),
        Entry("pkg/script.sh", b"#!/bin/sh\n", attributes=0o100755 << 16),
        Entry("folder/", method=0),
    ]
    source = write_wheel_by_hand(folder / "in", entries, trailing=b"junk")
    root = folder / "root.whl"
    root.write_bytes(write_wheel_by_hand(folder / "root", [Entry("x.dll", TEXT, packed=deflate(TEXT, 1))]).read_bytes())
    target = folder / "out" / source.name
    with Archive.open(source) as archive, Archive.open(root) as other:
        packed = other.find("x.dll")
        assert packed is not None
        add = (
            NewMember("pkg/lib/big.dll", data=bytes(range(256)) * 12_000),
            NewMember("pkg/lib/dense.dll", data=dense()),
            NewMember("pkg/lib/packed.dll", packed=(other, packed), sha256=hashlib.sha256(TEXT).hexdigest()),
            NewMember("pkg/lib/empty.dll", data=b""),
            NewMember(f"{DIST_INFO}/sboms/x.cdx.json", data=b"{}"),
        )
        write_wheel(archive, target, WheelChanges(DIST_INFO, add=add))
    return target


@pytest.mark.slow
def test_everybody_reads_it(wheel, tmp_path):
    check_with_clients(wheel, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("pkg/lib/big.dll") == bytes(range(256)) * 12_000
        assert archive.read("pkg/lib/dense.dll") == dense()
        assert archive.read("pkg/lib/packed.dll") == TEXT
        assert {"a.txt", "pkg/sub/b.txt", "pkg/\u00fc.txt", "pkg/lib/empty.dll"} <= {*archive.namelist()}
        assert archive.getinfo("pkg/script.sh").external_attr >> 16 & 0o111 == 0o111
        assert not any(info.flag_bits & 8 for info in archive.infolist())
