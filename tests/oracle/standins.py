"""Wheels in which the Python code is the package's own and each image is a stand-in with the same import table.

A stand-in does nothing, so that importing a whole package under an emulator takes seconds; which DLLs are found, where
and in which order is decided by the package's code and by the import tables, and these are real. The init functions of
extension modules give modules that have every name (``standin_module.py``), so that the code goes on behind them.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import wheelfix
from tests.oracle.wine import zig
from tests.support.tiers import cache_folder
from tests.support.wheels import ALONE, build_wheel
from tools.forge import forge_dll
from wheelfix.model import Image, Machine, Symbol, dll_key

HERE = Path(__file__).parent
HELPER = "wheelfix_standin"
INIT = "PyInit_standin"
KEPT = (".py", ".pth", ".txt", ".json", ".toml", ".cfg")
IMAGES = (".dll", ".pyd")
ABSENT_IN_WINE = ("dxcore.dll", "icuuc.dll", "nvcuda.dll", "nvml.dll")
"""DLLs of Windows, and of NVIDIA's driver, that Wine does not have; they get stand-ins beside ``python.exe``."""
PYTHON = "cp311"
"""The Python that is run: modules of wheels for another one get its tag, and import its DLL."""
_PYTHON_TAG = re.compile(r"\bcp3\d+(?=-(?:cp3\d+-)?win_amd64)")
_PYTHON_DLL = re.compile(r"python3\d+\.dll", re.IGNORECASE)
PLAIN_CODE = {
    "certifi": "def where():\n    return 'cacert.pem'\n",
    "pkg_resources": """
import os, sys


def resource_filename(package, name):
    return os.path.join(os.path.dirname(sys.modules[package].__file__), name)
""",
}
"""Packages whose answers decide what is loaded."""


@dataclass(frozen=True)
class Skeleton:
    """The members of one wheel, images replaced."""

    file: str
    members: Mapping[str, bytes]
    of_system: frozenset[tuple[str, str]] = frozenset()
    """What the images import by name from DLLs that Windows has and Wine does not."""

    @property
    def dlls(self) -> list[str]:
        """The DLLs in it that can be taken out."""
        return sorted(name for name in self.members if name.lower().endswith(".dll"))

    def write(self, folder: Path, without: str = "") -> Path:
        """Write the wheel, without one of its members."""
        name, version, *tags = self.file.removesuffix(".whl").split("-")
        tags = tags[-3:]  # without a build number: PySide2 has one
        info = next(path for path in self.members if path.endswith(".dist-info/METADATA")).partition("/")[0]
        members = {path.replace(info, f"{name}-{version}.dist-info", 1): data for path, data in self.members.items()}
        members.pop(without, None)
        return build_wheel(folder, name, version, "-".join(tags), members, stored=True)


def skeletons(wheels: Iterable[Path], *, exports: bool = False) -> list[Skeleton]:
    """Make stand-ins of wheels that are installed together, with all that the images export if that is asked for."""
    wheels = [*wheels]
    images = {wheel: _images(wheel) for wheel in wheels}
    wanted = defaultdict(set)
    for facts in images.values():
        for image in facts.values():
            for need in image.imports:
                wanted[dll_key(need.dll)].update(need.symbols[:1])
    if exports:
        for facts in images.values():
            for path, image in facts.items():
                wanted[dll_key(PurePosixPath(path).name)].update(image.exports.names)
    return [_skeleton(wheel, images[wheel], wanted) for wheel in wheels]


def _images(wheel: Path) -> dict[str, Image]:
    report = wheelfix.scan(wheel, options=ALONE)
    return {image.path: image.facts for image in report.images if isinstance(image.facts, Image)}


def _skeleton(wheel: Path, images: Mapping[str, Image], wanted: Mapping[str, set[Symbol]]) -> Skeleton:
    members = {}
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            name = info.filename
            if name in images and name.lower().endswith(IMAGES):
                here = _PYTHON_TAG.sub(PYTHON, name)
                members[here] = stand_in(PurePosixPath(here).name, images[name], wanted)
            elif (
                not info.is_dir()
                and (name.endswith(KEPT) or ".load-order-" in name or ".dist-info/" in name)
                and not name.endswith("RECORD")
            ):
                members[name] = archive.read(info)
    of_system = {
        (dll_key(need.dll), symbol)
        for image in images.values()
        for need in image.imports
        if dll_key(need.dll) in ABSENT_IN_WINE
        for symbol in need.symbols[:1]
        if isinstance(symbol, str)
    }
    return Skeleton(_PYTHON_TAG.sub(PYTHON, wheel.name), members, frozenset(of_system))


def stand_in(name: str, image: Image, wanted: Mapping[str, set[Symbol]]) -> bytes:
    """Return an image with the import table of another, whose init function is the helper's."""
    imports = [(_PYTHON_DLL.sub("python311.dll", need.dll), need.symbols[:1]) for need in image.imports]
    delayed = [(need.dll, need.symbols[:1]) for need in image.delay_imports]
    forwarders = {}
    module = name.lower().endswith(".pyd")
    if module:
        imports.append((f"{HELPER}.dll", (INIT,)))
        forwarders[f"PyInit_{name.partition('.')[0]}"] = f"{HELPER}.{INIT}"
    flags = image.dependent_load_flags or None
    return forge_dll(
        name,
        machine=Machine.AMD64 if image.machine is Machine.ARM64EC else image.machine,  # an x64 process loads both
        imports=imports,
        delay_imports=delayed,
        exports=sorted({"f", *wanted.get(dll_key(name), ())}, key=str),
        forwarders=forwarders,
        dependent_load_flags=flags,
    )


def helper_wheel(
    folder: Path,
    plain: Mapping[str, str],
    parts: Iterable[Skeleton] = (),
    values: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Path]:
    """Return the wheels of the helper and of packages that are imported for their names only."""
    text = (HERE / "standin_module.py").read_text(encoding="utf-8")
    text = text.replace("PLAIN = []", f"PLAIN = {sorted(plain.values())!r}")
    rows = {
        module: ", ".join(f"{name!r}: {code}" for name, code in own.items()) for module, own in (values or {}).items()
    }
    text = text.replace(
        "VALUES = {}", f"VALUES = {{{', '.join(f'{name!r}: {{{row}}}' for name, row in rows.items())}}}"
    )
    files = {f"{HELPER}.py": text}
    files[f"{HELPER}-1.0.data/data/{HELPER}.dll"] = helper_dll().read_bytes()
    wanted = {symbol for part in parts for symbol in part.of_system}
    for name in ABSENT_IN_WINE:
        symbols = sorted(symbol for dll, symbol in wanted if dll == name)
        if symbols:
            files[f"{HELPER}-1.0.data/data/{name}"] = forge_dll(name, exports=symbols)
    found = [build_wheel(folder, HELPER, files=files)]
    for name, top in plain.items():
        code = PLAIN_CODE.get(top) or f'from {HELPER} import attribute as __getattr__\n__version__ = "99.0.0"\n'
        if name:
            found.append(build_wheel(folder, name, "99.0", "py3-none-any", {f"{top}/__init__.py": code}))
    return found


def helper_dll() -> Path:
    """Return the DLL that all stand-in modules forward to, compiled once per version of its source."""
    source = HERE / "standin.c"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    target = cache_folder() / "oracle" / f"standin-{digest}.dll"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        folder = Path(name)
        functions = ("PyModuleDef_Init", "PyImport_ImportModule", "PyObject_CallMethod")
        (folder / "python.def").write_text("LIBRARY python311.dll\nEXPORTS\n" + "\n".join(functions) + "\n")
        zig("dlltool", "-d", folder / "python.def", "-l", folder / "python.lib", "-m", "i386:x86-64")
        options = ["-shared", "-Os", "-s", "-nostdlib", "-fno-stack-protector", "-fno-builtin", "-Wl,-e,start"]
        made = folder / f"{HELPER}.dll"
        zig("cc", "-target", "x86_64-windows-gnu", *options, "-o", made, source, folder / "python.lib")
        made.replace(target)
    return target


def chosen(skeletons: Iterable[Skeleton], patterns: Iterable[str]) -> list[str]:
    """Return the DLLs of some wheels whose names match one of some patterns."""
    every = [dll for one in skeletons for dll in one.dlls]
    return [dll for dll in every if any(fnmatch.fnmatch(PurePosixPath(dll).name.lower(), item) for item in patterns)]
