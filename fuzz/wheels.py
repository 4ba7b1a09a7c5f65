"""A small wheel of which any one part can be exchanged: the first byte of an input says which, the rest is the part.

So what is fuzzed gets as far as the part is used, behind checks of CRCs and hashes that raw damage seldom passes.
"""

from __future__ import annotations

import atexit
import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.archive.byhand import Entry, build_zip, record_row
from tools.example import INIT
from tools.forge import forge_dll

NAME = "torch-2.0.1+cu117-cp311-cp311-win_amd64.whl"
INFO = "torch-2.0.1+cu117.dist-info"
LACKING = "libiomp5md.dll"
RECORD = f"{INFO}/RECORD"
WHOLE, MEMBER_NAME, SOURCE = "the whole file", "the name of a member", "the DLL in the root"

PARTS: dict[str, bytes] = {
    "torch/__init__.py": INIT.encode(),
    "torch/version.py": b"__version__ = '2.0.1+cu117'\ncuda = '11.7'\n",
    "torch/lib/c10.dll": forge_dll(
        "c10.dll", imports={"KERNEL32.dll": ["Sleep"]}, exports=["f"], version=(1, 2, 3, 4), forwarders={"g": "c10.f"}
    ),
    "torch/_C.cp311-win_amd64.pyd": forge_dll(
        "_C.pyd", imports={"c10.dll": ["f"], LACKING: ["omp_get_max_threads"]}, exports=["PyInit__C"]
    ),
    f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: torch\nVersion: 2.0.1+cu117\nRequires-Dist: numpy>=1.2\n",
    f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n",
}
DLL = forge_dll(LACKING, exports=["omp_get_max_threads"], version=(5, 0, 0, 1))
SLOTS = (WHOLE, *PARTS, RECORD, MEMBER_NAME, SOURCE)


@functools.cache
def _record() -> bytes:
    return "".join([*(record_row(name, data) for name, data in PARTS.items()), f"{RECORD},,\n"]).encode()


def _wheel(slot: str, part: bytes) -> bytes:
    if slot == WHOLE:
        return part
    files = {**PARTS, slot: part} if slot in PARTS else PARTS
    entries = [Entry(name, data) for name, data in files.items()]
    rows = [record_row(name, data) for name, data in files.items()]
    if slot == MEMBER_NAME:
        entries.insert(0, Entry(part[:4000], b"x = 1\n"))
        rows.insert(0, record_row(part[:4000].decode("utf-8", "replace"), b"x = 1\n"))
    record = part if slot == RECORD else "".join([*rows, f"{RECORD},,\n"]).encode()
    return build_zip([*entries, Entry(RECORD, record)])


@dataclass(frozen=True)
class Bench:
    """A folder with the wheel, the root that repairs it, and room for what a repair writes."""

    folder: Path
    wheel: Path
    root: Path
    out: Path
    data: bytes
    """What the wheel holds."""
    dll: bytes


def lay_out(data: bytes, where: str = "bench") -> Bench:
    """Write the wheel that an input describes, and the root, into a folder of our own with nothing else in it."""
    slot, part = SLOTS[data[0] % len(SLOTS)] if data else WHOLE, data[1:]
    folder = scratch() / where
    bench = Bench(
        folder=folder,
        wheel=folder / "dist" / NAME,
        root=folder / "root",
        out=folder / "out",
        data=_wheel(slot, part),
        dll=part if slot == SOURCE else DLL,
    )
    for each in (bench.wheel.parent, bench.root, bench.out):
        each.mkdir(parents=True, exist_ok=True)
    for left in bench.out.iterdir():
        left.unlink()
    bench.wheel.write_bytes(bench.data)
    (bench.root / LACKING).write_bytes(bench.dll)
    return bench


def seeds(*whole: bytes) -> list[bytes]:
    """Return every part as it should be, and some whole wheels."""
    sound = {**PARTS, RECORD: _record(), MEMBER_NAME: b"torch/more.py", SOURCE: DLL, WHOLE: _wheel(MEMBER_NAME, b"a")}
    made = [bytes([SLOTS.index(slot)]) + part for slot, part in sound.items()]
    return made + [bytes([SLOTS.index(WHOLE)]) + data for data in whole]


@functools.cache
def scratch() -> Path:
    """A folder of this process, gone when it ends."""
    folder = tempfile.TemporaryDirectory(prefix="wheelfix-fuzz-")
    atexit.register(folder.cleanup)
    return Path(folder.name)
