"""Packages made at random from a number: the mistakes that people make by hand, in any combination.

Modules in several folders, DLLs that are missing, in the wrong place, there twice, for another processor, damaged, of
another version or with needs of their own; Python code that adds folders, loads DLLs, imports in some order, catches
errors or cannot be read.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.environments import install, lay
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.model import Machine

NAMES = ("foo.dll", "bar.dll", "Baz.dll", "libiomp5md.dll", "cudnn64_8.dll", "cudnn_ops_infer64_8.dll", "tbb12.dll")
TORCH_INIT = """\
import ctypes, glob, os, sys, site
folder = os.path.join(os.path.dirname(__file__), "lib")
kernel32 = ctypes.WinDLL("kernel32.dll", use_last_error=True)
for path in (folder, os.path.join(sys.exec_prefix, "Library", "bin"), os.path.join(site.userbase, "Library", "bin")):
    if os.path.isdir(path):
        os.add_dll_directory(path)
for name in ("vcruntime140.dll", "msvcp140.dll", "vcruntime140_1.dll"):
    ctypes.CDLL(name)
for path in glob.glob(os.path.join(folder, "*.dll")):
    kernel32.LoadLibraryExW(path, None, 0x00001100)
"""
CODE = (
    "",
    "",
    "",
    "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'libs'))\n",
    "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs'))\n",
    "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'foo.dll'))\n",
    "import ctypes, os\ntry:\n    ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libs', 'bar.dll'))\n"
    "except OSError:\n    pass\n",
    "try:\n    from pkg.x import _m1\nexcept ImportError:\n    _m1 = None\n",
    "from pkg import y\nfrom pkg import x\n",
    "from pkg.x import _m1\n",
    "import os, sys\nos.add_dll_directory(sys.argv[1])\n",
    "exec(open('x').read())\n",
)


@dataclass
class Made:
    """One generated package."""

    files: dict[str, bytes | str] = field(default_factory=dict)
    name: str = "pkg"
    roots: dict[str, bytes] = field(default_factory=dict)
    """DLLs of a folder to repair from."""
    dropped: dict[str, bytes] = field(default_factory=dict)
    """What lies around in the environment besides, below its prefix."""

    def wheel(self, folder: Path) -> Path:
        """Write it as a wheel."""
        return build_wheel(folder, self.name, files=self.files)

    def root(self, folder: Path) -> Path:
        """Write the folder to repair from."""
        folder.mkdir(parents=True, exist_ok=True)
        return lay(folder, self.roots)

    def environment(self, folder: Path) -> Path:
        """Install it, with what lies around."""
        prefix = install(self.wheel(folder), folder / "env")
        return lay(
            prefix,
            {"python.exe": b"", "python311.dll": "exports Py_Initialize", **self.dropped},
        )


def make(seed: int) -> Made:
    """Return the package of that number."""
    rng = random.Random(seed)
    made = _torch(rng) if rng.random() < 0.25 else _package(rng)
    for name in rng.sample(NAMES, rng.randint(0, 5)):
        made.roots[name] = _dll(rng, name, perfect=rng.random() < 0.8)
    for place in ("", "Library/bin/", "DLLs/"):
        if rng.random() < 0.3:
            name = rng.choice(NAMES)
            made.dropped[place + name] = _dll(rng, name)
    return made


def _package(rng: random.Random) -> Made:
    made = Made()
    for folder in ("pkg", "pkg/x", "pkg/y"):
        made.files[f"{folder}/__init__.py"] = rng.choice(CODE)
    for number in range(rng.randint(1, 4)):
        folder = rng.choice(("pkg", "pkg/x", "pkg/y"))
        made.files[f"{folder}/_m{number}.cp311-win_amd64.pyd"] = _module(rng, f"_m{number}")
    if rng.random() < 0.2:
        made.files["pkg/api.py"] = "from pkg.y import _m0\nfrom pkg.x import _m1\n"
    _scatter(rng, made, ("pkg", "pkg/x", "pkg/y", "pkg/libs", "pkg.libs", "pkg/plugins", ""))
    return made


def _torch(rng: random.Random) -> Made:
    made = Made(name="torch")
    made.files["torch/__init__.py"] = TORCH_INIT
    made.files["torch/version.py"] = "__version__ = '2.7.1'\ncuda = None\n"
    made.files["torch/lib/c10.dll"] = ""
    made.files["torch/lib/torch_cpu.dll"] = _dll(rng, "torch_cpu.dll", perfect=True, needs=rng.sample(NAMES, 2))
    made.files["torch/_C.cp311-win_amd64.pyd"] = "imports torch_cpu.dll"
    _scatter(rng, made, ("torch/lib", "torch/lib", "torch", "torch/bin", "", "torch-1.0.data/data/Library/bin"))
    return made


def _scatter(rng: random.Random, made: Made, folders: tuple[str, ...]) -> None:
    """Put DLLs into folders, some several times."""
    for name in rng.sample(NAMES, rng.randint(0, 5)):
        for folder in rng.sample(folders, rng.choice((1, 1, 1, 2, 3))):
            made.files[f"{folder}/{name}".lstrip("/")] = _dll(rng, name)


def _module(rng: random.Random, name: str) -> bytes:
    needs = rng.sample(NAMES, rng.choice((0, 1, 1, 2, 3)))
    imports = {needed: ["f"] for needed in needs} | {"python311.dll": ["Py_Initialize"]}
    delayed = {"delayed.dll": ["f"]} if rng.random() < 0.1 else {}
    return forge_dll(f"{name}.pyd", imports=imports, delay_imports=delayed, exports=[f"PyInit_{name}", "f"])


def _dll(rng: random.Random, name: str, *, perfect: bool = False, needs: list[str] | None = None) -> bytes:
    fault = 1.0 if perfect else rng.random()
    if fault < 0.05:
        return rng.choice((b"", b"MZ", b"version https://git-lfs.github.com/spec/v1\n"))
    machine = rng.choice((Machine.X86, Machine.ARM64)) if fault < 0.12 else Machine.AMD64
    exports = ["g"] if 0.12 <= fault < 0.2 else ["f", "g"]
    forwarders = {"f": rng.choice(("bar.f", "gone.f"))} if 0.2 <= fault < 0.25 and name != "bar.dll" else {}
    if needs is None:
        others = [other for other in (*NAMES, "KERNEL32.dll", "msvcp140.dll", "gone.dll") if other != name]
        needs = rng.sample(others, rng.choice((0, 0, 1, 1, 2)))
    known = {"KERNEL32.dll": "Sleep", "msvcp140.dll": "_Mtx_lock"}
    imports = {needed: [known.get(needed, "f")] for needed in needs}
    version = (rng.choice((8, 9)), rng.randint(0, 3), 0, 1) if rng.random() < 0.5 else None
    own = [symbol for symbol in exports if symbol not in forwarders]
    return forge_dll(name, machine=machine, imports=imports, exports=own, forwarders=forwarders, version=version)
