"""cuDNN 8 and 9: unpacked archives and installers.

Layouts: archives have ``bin`` (from 9.18 ``bin\\x64``); the installer of 8 has ``v8.x\\bin``; that of 9 has one
folder per CUDA release, ``v9.4\\bin\\12.6``, lately with the machine below it, ``v9.24\\bin\\12.9\\x64``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.roots import tree
from wheelfix.roots.root import Kind, Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.roots.host import Host

KIND: Kind = "cudnn"
EXPECTED = "cuDNN: a folder with cudnn64_*.dll in bin, bin\\x64, bin\\<CUDA version> or bin\\<CUDA version>\\x64"

DEFAULT = "NVIDIA/CUDNN"
DLL = r"cudnn\w*64_\d+\.dll"
MACHINES = ("x64", "arm64")


def places(host: Host) -> Iterator[Place]:
    """Yield what variables name, then what the installer makes."""
    for name in ("CUDNN_PATH", "CUDNN_ROOT", "CUDNN_ROOT_DIR", "CUDNN_HOME"):
        if value := host.variable(name):
            yield Place(Path(value), f"environment variable {name}")
    for program_files in host.program_files:
        if (default := tree.locate_folder(program_files, DEFAULT)) is not None:
            for folder in tree.newest_first(tree.subfolders(default, r"v\d+(\.\d+)*")):
                yield Place(folder, "default path", promised=False)


def recognise(folder: Path) -> Root | None:
    """Return the cuDNN that a folder is, or None; a CUDA toolkit with cuDNN copied into it is not one."""
    found = list(_folders(folder))
    if not found:
        return None
    if any(tree.dll_names(path, r"cudart64_\d+\.dll") for path, _ in found):
        return None
    version = _version(folder)
    default_cuda = _cuda_from_name(folder.name)
    folders = tuple(
        RootFolder(tree.relative(path, folder), version=version, cuda=cuda or default_cuda) for path, cuda in found
    )
    return Root(KIND, folder, version, folders=folders)


def _folders(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders that hold cuDNN, each with the CUDA release its path names."""
    candidates: list[tuple[Path, str]] = []
    bin_folder = tree.locate_folder(folder, "bin")
    if bin_folder is not None:
        for release in tree.newest_first(tree.subfolders(bin_folder, r"\d+(\.\d+)?")):
            candidates += [(path, release.name) for path in _with_machines(release)]
        candidates += [(path, "") for path in _with_machines(bin_folder)]
    if (lib := tree.locate_folder(folder, "lib/x64")) is not None:
        candidates.append((lib, ""))
    for path, cuda in candidates:
        if tree.dll_names(path, DLL):
            yield path, cuda


def _with_machines(folder: Path) -> list[Path]:
    below = [found for machine in MACHINES if (found := tree.locate_folder(folder, machine)) is not None]
    return [*below, folder]


NAMED_VERSIONS = (
    r"x64-v(\d+(?:\.\d+)+)",
    r"(?:x86_64|arm64)-(\d+(?:\.\d+)+)",
    r"^v(\d+(?:\.\d+)*)$",
    r"cudnn-v?(\d+(?:\.\d+)+)",
)


def _version(folder: Path) -> str:
    """Return the release, from the header (which has all three numbers), else from the folder's name."""
    include = tree.locate_folder(folder, "include")
    if include is not None:
        for place in (include, *tree.newest_first(tree.subfolders(include, r"\d+(\.\d+)?"))):
            header = tree.locate(place, "cudnn_version.h")
            if header is not None and (version := header_version(header)):
                return version
    name = folder.name.lower()
    # ``cudnn-11.4-windows-x64-v8.2.4.15`` names CUDA first, so the places of the version are tried in this order.
    for pattern in NAMED_VERSIONS:
        if found := re.search(pattern, name):
            return found[1]
    return ""


DEFINED = r"#define\s+CUDNN_{name}\s+(\d+)"


def header_version(header: Path) -> str:
    """Return the release that ``cudnn_version.h`` defines; empty when it defines none."""
    try:
        text = read_file(header, 1 << 20).decode("utf-8", "replace")
    except OSError:
        return ""
    parts = [re.search(DEFINED.format(name=name), text) for name in ("MAJOR", "MINOR", "PATCHLEVEL")]
    return ".".join(part[1] for part in parts if part) if all(parts) else ""


def _cuda_from_name(name: str) -> str:
    """Return the CUDA release in an archive's name: ``…-8.9.7.29_cuda11-archive``, ``cudnn-11.4-windows-x64-…``."""
    found = re.search(r"cuda(\d+(?:\.\d+)?)", name.lower()) or re.match(r"cudnn-(\d+\.\d+)-windows", name.lower())
    return found[1] if found else ""
