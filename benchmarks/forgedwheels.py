"""Wheels that cost what real ones cost: two dozen images with many imports and exports, code, Python files, data.

Every wheel has contents of its own and the same bytes on every machine. Nothing has to be downloaded.
"""

from __future__ import annotations

import base64
import hashlib
import multiprocessing
import os
import random
import zipfile
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from tools.forge import forge_dll

if TYPE_CHECKING:
    from pathlib import Path

IMAGES = 24
"""One DLL that all others import from, and extension modules."""
SYMBOLS = 600
"""Names that the DLL exports, of which every extension module imports a part."""
MODULES = 40
"""Python files."""
PACKED = 0.5
"""What deflate makes of a byte of the forged code, about as of machine code."""
INCLUDED = "added.dll"
"""A DLL for ``repair --include``, in a folder of its own."""


class Order(NamedTuple):
    """A wheel to be made."""

    folder: Path
    number: int
    megabytes: float


def make_wheels(folder: Path, count: int, megabytes: float) -> list[Path]:
    """Write so many wheels, with all processors."""
    folder.mkdir(parents=True, exist_ok=True)
    orders = [Order(folder, number, megabytes) for number in range(count)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, count), mp_context=context) as pool:
        return list(pool.map(make_wheel, orders))


def make_wheel(order: Order) -> Path:
    """Write a wheel of about so many megabytes, packed."""
    name, noise = f"forged{order.number:04}", random.Random(order.number)
    return write_wheel(order.folder, name, _files(name, noise, int(order.megabytes * 1e6 / PACKED)))


def write_wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    """Write a wheel with these members, METADATA, WHEEL and RECORD."""
    info = f"{name}-1.0.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n"
    rows = [f"{member},{_digest(data)},{len(data)}\n" for member, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    path = folder / f"{name}-1.0-cp311-cp311-win_amd64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in files.items():
            archive.writestr(zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 1)
    return path


def make_included(folder: Path) -> Path:
    """Write the DLL that a repair adds to every wheel, and return its folder."""
    folder.mkdir()
    data = forge_dll(INCLUDED, exports=[f"added_{index}" for index in range(200)], sections={".code": bytes(1 << 20)})
    (folder / INCLUDED).write_bytes(data)
    return folder


def _files(name: str, noise: random.Random, size: int) -> dict[str, bytes]:
    """Return the members by name: a package with extension modules that need a DLL beside them."""
    exports = [f"{name}_{noise.getrandbits(64):x}_{index}" for index in range(SYMBOLS)]
    code, block = _code(noise), size // IMAGES
    modules = [f"_ext{index:02}" for index in range(1, IMAGES)]
    files = {f"{name}/__init__.py": "".join(f"from . import {module}\n" for module in modules).encode()}
    for index in range(MODULES):
        files[f"{name}/module{index:02}.py"] = _python(noise, exports)
    core = f"{name}_core.dll"
    system = {"kernel32.dll": ["Sleep", "CloseHandle", "GetLastError"], "user32.dll": ["MessageBoxW"]}
    sections = {".code": _shuffled(code, noise, block)}
    files[f"{name}/{core}"] = forge_dll(core, imports=system, exports=exports, version=(1, 0, 0, 0), sections=sections)
    for module in modules:
        imports = {
            "python311.dll": ["Py_IncRef", "PyModule_Create2"],
            **system,
            core: noise.sample(exports, SYMBOLS // 2),
        }
        sections = {".code": _shuffled(code, noise, block)}
        made = forge_dll(f"{module}.pyd", imports=imports, exports=[f"PyInit_{module}"], sections=sections)
        files[f"{name}/{module}.cp311-win_amd64.pyd"] = made
    return files


def _code(noise: random.Random) -> bytes:
    """Return bytes that repeat as machine code does: instructions of a few bytes, some of them often."""
    instructions = [noise.randbytes(noise.randint(2, 7)) for _ in range(2000)]
    weights = [1 / (rank + 1) for rank in range(len(instructions))]
    return b"".join(noise.choices(instructions, weights, k=60_000))


def _shuffled(code: bytes, noise: random.Random, size: int) -> bytes:
    """Return so many bytes of code, different for every call: each block has its bytes renamed."""
    blocks = []
    for _ in range(-(-size // len(code))):
        renamed = list(range(256))
        noise.shuffle(renamed)
        blocks.append(code.translate(bytes(renamed)))
    return b"".join(blocks)[:size]


def _python(noise: random.Random, names: list[str]) -> bytes:
    lines = [f"def {name}(x, y):\n    return x * {noise.getrandbits(16)} + y\n\n" for name in noise.sample(names, 60)]
    return ("import math\nimport os\n\n" + "".join(lines)).encode()


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
