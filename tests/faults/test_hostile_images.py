"""Broken DLLs in a wheel with good ones, through the command line: each is a finding, and the others are still read."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.archive.byhand import Entry, build_zip, wheel_entries
from tests.faults.attacks import NAME, crc_of_zeros, zeros
from tests.pe.raw import PE_AT, RVA, patched, raw_pe
from tests.support.wheels import extension, library
from tools.forge import forge_dll
from wheelfix.errors import Exit
from wheelfix.model import Machine

if sys.platform == "win32":
    pytest.skip("time and memory are measured with POSIX' means", allow_module_level=True)

from tests.faults.confined import Helper

IMPORTS, RESOURCES, CERTIFICATES, BOUND, COM = 1, 2, 4, 11, 14
pytestmark = pytest.mark.slow
GOOD = forge_dll(
    "good.dll",
    imports={"KERNEL32.dll": ["Sleep"]},
    delay_imports={"late.dll": ["f"]},
    exports=["f"],
    version=(1, 2, 3, 4),
)
MODULE = extension("good.dll", "absent.dll:g", name="ext")


def _fatbin() -> bytes:
    """Millions of entries of GPU code, none of which is any."""
    entry = struct.pack("<HHIQ12xI8xQ", 2, 0, 48, 0, 86, 0)
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) * 700_000) + entry * 700_000
    return forge_dll("gpu.dll", sections={".nv_fatb": container})


def _certificate() -> bytes:
    """A certificate table of nested nothing."""
    return forge_dll("signed.dll", certificate=b"\x30\x84\x7f\xff\xff\xff" * 30_000)


BROKEN = {
    "empty": b"",
    "no-pe": b"MZ" + bytes(510),
    "lfs-pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    "html-page": b"<!DOCTYPE html><title>404</title>",
    "cut-in-coff": GOOD[: PE_AT + 10],
    "cut-in-sections": GOOD[: PE_AT + 24 + 240 + 20],
}
# Tables that point anywhere, never end or run in circles: tests/pe/test_hostile.py has them, and is fast.
ODD = {
    "sections-beyond-the-file": patched(GOOD, PE_AT + 24 + 240 + 16, "<II", 0x7FFFFFFF, 0x7FFFFFFF),
    "sections-on-each-other": raw_pe(bytes(600), {IMPORTS: (RVA, 40)}, sections=96),
    "bound-imports": raw_pe(struct.pack("<IHH", 1, 8, 1) * 500, {BOUND: (RVA, 4000)}),
    "resource-only": raw_pe(bytes(512), {RESOURCES: (RVA, 16)}),
    "arm64ec": patched(GOOD, PE_AT + 4, "<H", 0xA641),
    "arm64x": patched(GOOD, PE_AT + 4, "<H", 0xA64E),
    "chpe": forge_dll("chpe.dll", dependent_load_flags=0x800, exports=["f"], machine=Machine.X86),
    "machine-unknown": patched(GOOD, PE_AT + 4, "<H", 0x1234),
    "dotnet": forge_dll("net.dll", managed=True),
    "packed": raw_pe(bytes(64), {IMPORTS: (RVA, 40)}, vsize=0x7FFFFFFF),
    "com-rubbish": raw_pe(b"\xff" * 64, {COM: (0xFFFFFFF0, 72)}),
    "gpu-code-without-end": _fatbin(),
    "certificates-within-certificates": _certificate(),
    "certificate-beyond": patched(GOOD, PE_AT + 24 + 112 + 8 * CERTIFICATES, "<II", 0x7FFFFFFF, 0xFFFFFFFF),
    "imports-itself": library("bad.dll", "bad.dll"),
    "forwards-in-circles": forge_dll("bad.dll", forwarders={"f": "bad.f", "g": "good.g", "h": "bad.#1"}),
    "imports-paths": forge_dll(
        "bad.dll", imports={"..\\..\\evil.dll": ["f"], "C:\\evil.dll": ["f"], "": ["f"], ".": [1]}
    ),
    "imports-devices": forge_dll("bad.dll", imports={"NUL": ["f"], "CON.dll": ["f"], "a.dll:x": ["f"]}),
}


REGULAR = {
    *("bound-imports", "resource-only", "arm64ec", "arm64x", "chpe", "dotnet", "com-rubbish", "packed"),
    *("gpu-code-without-end", "certificates-within-certificates"),
    *("imports-itself", "forwards-in-circles", "imports-devices"),
}
"""Images that are odd, and whose tables can be read nevertheless."""


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    with Helper() as started:
        yield started


def scan(helper: Helper, tmp_path: Path, entries: list[Entry], *more: str) -> dict[str, Any]:
    """Scan a wheel in bounds, and return what is said of it."""
    wheel = tmp_path / NAME
    wheel.write_bytes(build_zip(wheel_entries(entries)))
    target = tmp_path / "scan.json"
    options = ["--no-discover", "--no-config", "--format", "json", "-o", str(target), *more]
    run = helper.run("scan", str(wheel), *options, cwd=tmp_path)
    assert run.code in (Exit.OK, Exit.FINDINGS), run
    assert run.megabytes < 250
    assert run.seconds < 25
    (report,) = json.loads(target.read_text(encoding="utf-8"))["wheels"]
    return report


def others_are_read(report: dict[str, Any]) -> None:
    """The good DLL is there, and what the module lacks is found."""
    paths = [image["path"] for image in report["images"]]
    assert "pkg/good.dll" in paths
    assert "absent.dll" in [missing["name"] for missing in report["missing"]]


def members(data: bytes) -> list[Entry]:
    return [
        Entry("pkg/bad.dll", data),
        Entry("pkg/good.dll", GOOD),
        Entry("pkg/ext.cp311-win_amd64.pyd", MODULE),
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_image_is_a_finding(helper, name, tmp_path):
    report = scan(helper, tmp_path, members(BROKEN[name]), "-v")
    found = {finding["code"] for finding in report["findings"] if "bad.dll" in finding["subject"]}
    assert found & {"WF201", "WF202", "WF203"}
    others_are_read(report)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_image_does_not_stop_the_others(helper, name, tmp_path):
    report = scan(helper, tmp_path, members(ODD[name]), "-v", "--gpu", "sm_86")
    others_are_read(report)
    reported = {finding["code"] for finding in report["findings"] if "bad.dll" in finding["subject"]}
    assert bool(reported & {"WF201", "WF206"}) == (name not in REGULAR)


def test_a_dll_that_unpacks_to_a_gigabyte(helper, tmp_path):
    """A header, then zeros: the ratio stays below the limit because the wheel is padded."""
    size = 900 << 20
    bomb = Entry("pkg/bad.dll", b"", packed=zeros(size), both={"usize": size, "crc": crc_of_zeros(size)})
    report = scan(helper, tmp_path, [bomb, *members(b"")[1:]])
    assert {f["code"] for f in report["findings"] if "bad.dll" in f["subject"]} & {"WF201", "WF115", "WF116"}
    others_are_read(report)


def test_a_hundred_and_fifty_dlls_that_all_import_each_other(helper, tmp_path):
    names = [f"d{number:03}.dll" for number in range(150)]
    entries = [
        Entry(f"pkg/{name}", forge_dll(name, imports={other: ["f"] for other in names}, exports=["f"]))
        for name in names
    ]
    entries += members(b"")[1:]
    report = scan(helper, tmp_path, entries)
    others_are_read(report)
    drawn = helper.run("scan", "-v", str(tmp_path / NAME), "--no-discover", "--no-config", cwd=tmp_path)
    assert drawn.megabytes < 250
    assert drawn.seconds < 40


def test_a_chain_of_three_thousand_dlls(helper, tmp_path):
    """Each needs the next; the last needs what nobody has."""
    entries = [
        Entry(f"pkg/c{n}.dll", forge_dll(f"c{n}.dll", imports={f"c{n + 1}.dll": ["f"]}, exports=["f"]))
        for n in range(3000)
    ]
    module = extension("c0.dll", name="m")
    entries += [Entry("pkg/m.cp311-win_amd64.pyd", module), *members(b"")[1:]]
    report = scan(helper, tmp_path, entries)
    others_are_read(report)
    assert "c3000.dll" in [missing["name"] for missing in report["missing"]]


def test_a_folder_of_torch_in_which_every_load_fails_at_the_end_of_a_long_chain(helper, tmp_path):
    """Each of five thousand loads walks through all the others; the work is bounded, and the bound is told."""
    entries = [
        Entry(f"torch/lib/c{n:05}.dll", forge_dll(f"c{n:05}.dll", imports={f"c{n + 1:05}.dll": ["f"]}, exports=["f"]))
        for n in range(5_000)
    ]
    wheel = tmp_path / NAME
    wheel.write_bytes(build_zip(wheel_entries([*entries, Entry("torch/__init__.py", b"import os\n")])))
    run = helper.run("scan", str(wheel), "--no-discover", "--no-config", cwd=tmp_path)
    assert run.code == Exit.BAD_INPUT
    assert "the DLLs ask for too much" in run.err
    assert run.megabytes < 250
    assert run.seconds < 40


def test_forwarders_from_dll_to_dll(helper, tmp_path):
    """Two DLLs that forward to each other, and a chain of a thousand forwarders."""
    entries = [
        Entry("pkg/x.dll", forge_dll("x.dll", forwarders={"f": "y.f"})),
        Entry("pkg/y.dll", forge_dll("y.dll", forwarders={"f": "x.f"})),
        *(Entry(f"pkg/f{n}.dll", forge_dll(f"f{n}.dll", forwarders={"f": f"f{n + 1}.f"})) for n in range(1000)),
        Entry("pkg/u.cp311-win_amd64.pyd", forge_dll("u.pyd", imports={"x.dll": ["f"], "f0.dll": ["f"]})),
        *members(b"")[1:],
    ]
    others_are_read(scan(helper, tmp_path, entries))
