"""Small wheels whose import ends in a known way on Windows: the demo's, and one for each rule of the loader.

Each DLL is forged here. The modules have no init function: the test is whether Windows loads them, and Python then
reports that function as missing. None of their code runs.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools import example
from tools.forge import forge_dll
from wheelfix.model import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TAG = "cp311-cp311-win_amd64"
MODULE = "_m.cp311-win_amd64.pyd"
ADD_FOLDER = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))\n"
LOAD_FIRST = (
    "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib', 'helper.dll'))\n"
)


@dataclass(frozen=True)
class Case:
    """One wheel to import."""

    name: str
    about: str
    files: Mapping[str, bytes | str]
    """The members, without dist-info."""
    module: str = "pkg._m"
    roots: Mapping[str, bytes] = field(default_factory=dict)
    """DLLs that a repair may take; the wheel is repaired first if there are some."""
    not_under_wine: str = ""
    """What Wine does otherwise, where it does."""


def module(*needs: str, delayed: tuple[str, ...] = ()) -> bytes:
    """A module that imports one function from each DLL."""
    own = {"KERNEL32.dll": ["Sleep"], **{name: ["call"] for name in needs}}
    return forge_dll("_m.pyd", imports=own, delay_imports={name: ["call"] for name in delayed}, exports=["call"])


def library(name: str, *needs: str, **more: object) -> bytes:
    """A DLL with the function that modules import."""
    settings: dict[str, object] = {"exports": ["call"], "imports": {need: ["call"] for need in needs}, **more}
    return forge_dll(name, **settings)  # type: ignore[arg-type]


def package(module_bytes: bytes, others: Mapping[str, bytes] | None = None, code: str = "") -> dict[str, bytes | str]:
    """The members of a package with one module."""
    return {"pkg/__init__.py": code, f"pkg/{MODULE}": module_bytes, **(others or {})}


def cases() -> list[Case]:
    """Return the small packages."""
    needs_helper = module("helper.dll")
    helper, beside = library("helper.dll"), "pkg/helper.dll"
    deep = library("helper.dll", "deeper.dll")
    return [
        Case("nothing-needed", "a module that needs Windows only", package(module())),
        Case("missing", "a DLL is missing", package(needs_helper)),
        Case("beside", "the DLL lies beside the module", package(needs_helper, {beside: helper})),
        Case("missing-second", "the DLL of a DLL is missing", package(needs_helper, {beside: deep})),
        Case("other-folder", "the DLL lies in a folder that is not searched",
             package(needs_helper, {"pkg/lib/helper.dll": helper})),
        Case("added-folder", "the package adds that folder",
             package(needs_helper, {"pkg/lib/helper.dll": helper}, ADD_FOLDER)),
        Case("loaded-first", "the package loads the DLL before",
             package(needs_helper, {"pkg/lib/helper.dll": helper}, LOAD_FIRST)),
        Case("delay-loaded", "a DLL that is loaded on first use is missing", package(module(delayed=("helper.dll",)))),
        Case("function-missing", "the DLL does not have the function",
             package(needs_helper, {beside: library("helper.dll", exports=["other"])}), not_under_wine="loads it"),
        Case("other-machine", "the DLL is for 32-bit Windows",
             package(needs_helper, {beside: library("helper.dll", machine=Machine.X86)}), not_under_wine="says 126"),
        Case("not-a-dll", "a text has the name of the DLL",
             package(needs_helper, {beside: b"oops"}), not_under_wine="says 126"),
        Case("module-truncated", "the module itself is cut off", package(needs_helper[:300]),
             not_under_wine="gives another code"),
        Case("repaired", "the missing DLLs were vendored by wheelfix",
             package(needs_helper), roots={"helper.dll": deep, "deeper.dll": library("deeper.dll")}),
        Case("repaired-vendor", "OpenMP was vendored beside the module",
             package(module("libiomp5md.dll")), roots={"libiomp5md.dll": library("libiomp5md.dll")}),
    ]  # fmt: skip


def write_case(case: Case, folder: Path) -> Path:
    """Write the wheel of a case, repaired if it has roots, and return it."""
    wheel = _write_wheel(f"case_{case.name.replace('-', '_')}", case.files, folder / "made")
    return _repaired(wheel, _write_roots(case, folder / "roots"), folder / "repaired") if case.roots else wheel


def write_demo(folder: Path) -> dict[str, Path]:
    """Write the wheels of ``wheelfix demo``, each as it is and repaired, by name."""
    found = {}
    for name, story in (("demo-cu117", example.kepler_cu117()), ("demo-cu114", example.kepler_cu114())):
        wheel = example.write_wheel(story, folder / name)
        found[name] = wheel
        roots = tuple(example.write_roots(story, folder / name / "roots").values())
        found[f"{name}-repaired"] = _repaired(wheel, roots, folder / name / "repaired")
    return found


def _write_roots(case: Case, folder: Path) -> tuple[Path, ...]:
    own = folder / case.name
    own.mkdir(parents=True)
    for name, data in case.roots.items():
        (own / name).write_bytes(data)
    return (own,)


def _repaired(wheel: Path, roots: tuple[Path, ...], folder: Path) -> Path:
    import wheelfix

    found = wheelfix.RootOptions(roots=roots, discover=False)
    options = wheelfix.RepairOptions(wheel_dir=folder, scan=wheelfix.ScanOptions(roots=found))
    result = wheelfix.repair(wheel, options)
    assert result.output is not None
    return result.output


def _write_wheel(name: str, files: Mapping[str, bytes | str], folder: Path) -> Path:
    """Write a wheel with a correct RECORD."""
    info = f"{name}-1.0.dist-info"
    members = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
    members[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: wheelfix\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    rows = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}-1.0-{TAG}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in members.items():
            archive.writestr(path, data)
    return target


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
