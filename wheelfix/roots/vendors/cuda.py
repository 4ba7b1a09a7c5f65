"""CUDA toolkits, from 10.2 to 13: where they are, their version, and the folders that hold DLLs.

Layouts: DLLs in ``bin`` up to CUDA 12 and in ``bin\\x64`` from 13; CUPTI in ``extras\\CUPTI\\lib64``, later in
``extras\\CUPTI\\lib\\x64`` or beside the others; old redistributable archives have them in ``lib``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import read_json
from wheelfix.roots import tree
from wheelfix.roots.root import Kind, Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.roots.host import Host

KIND: Kind = "cuda"
EXPECTED = "a CUDA toolkit: a folder with version.json, or with cudart64_*.dll or nvcc.exe in bin or bin\\x64"

FOLDERS = (
    "bin/x64",
    "bin/arm64",
    "bin",
    "extras/CUPTI/lib/x64",
    "extras/CUPTI/lib/arm64",
    "extras/CUPTI/lib64",
    "nvvm/bin/x64",
    "nvvm/bin",
    "lib/x64",
    "lib",
)
"""Where a toolkit keeps DLLs, newest layout first; only those that do hold some count."""

REGISTRY = r"HKLM\SOFTWARE\NVIDIA Corporation\GPU Computing Toolkit\CUDA"
DEFAULT = "NVIDIA GPU Computing Toolkit/CUDA"


def places(host: Host) -> Iterator[Place]:
    """Yield the toolkits that variables, the registry and the default folder name."""
    for name in ("CUDA_PATH", "CUDA_HOME"):
        if value := host.variable(name):
            yield Place(Path(value), f"environment variable {name}")
    for name, value in host.variables("CUDA_PATH_V"):
        if value:
            yield Place(Path(value), f"environment variable {name.upper()}")
    if (versions := host.registry(REGISTRY)) is not None:
        for version in versions.subkeys:
            key = host.registry(f"{REGISTRY}\\{version}")
            if key is not None and (value := key.values.get("InstallDir", "")):
                yield Place(Path(value), "registry")
    for program_files in host.program_files:
        if (default := tree.locate_folder(program_files, DEFAULT)) is not None:
            for folder in tree.newest_first(tree.subfolders(default, r"v\d+(\.\d+)*")):
                yield Place(folder, "default path", promised=False)


def recognise(folder: Path) -> Root | None:
    """Return the toolkit that a folder is, or None."""
    stated, notes = stated_version(folder)
    if not stated and not _looks_like_toolkit(folder):
        return None
    version = stated or _version_from_names(folder)
    release = ".".join(version.split(".")[:2])
    folders = tuple(
        RootFolder(tree.relative(found, folder), version=version, cuda=release)
        for below in FOLDERS
        if (found := tree.locate_folder(folder, below)) is not None and tree.dll_names(found)
    )
    if not folders:
        return None
    copied = sorted({entry.path for entry in folders if tree.dll_names(folder / entry.path, r"cudnn\w*64_\d+\.dll")})
    notes += [f"cuDNN was copied into {path}" for path in copied]
    return Root(KIND, folder, version, folders=folders, notes=tuple(notes))


def stated_version(folder: Path) -> tuple[str, list[str]]:
    """Return what version.json or version.txt says, and notes on what could not be read there."""
    if (path := tree.locate(folder, "version.json")) is not None:
        try:
            facts = read_json(path)
            return toolkit_release(str(facts["cuda"]["version"])), []
        except (OSError, ValueError, KeyError, TypeError):
            return "", ["version.json cannot be read; the version was taken from names"]
    if (path := tree.locate(folder, "version.txt")) is not None:
        try:
            found = re.search(r"CUDA Version (\d+(?:\.\d+)+)", read_file(path, 1 << 20).decode("utf-8", "replace"))
        except OSError:
            found = None
        if found:
            return toolkit_release(found[1]), []
    return "", []


def toolkit_release(text: str) -> str:
    """Return the release in a version as NVIDIA writes it.

    ``12.4.1`` is one; in ``11.8.20220929`` and ``10.2.89`` the third number is a date or a build.
    """
    parts = tree.numbers(text)
    kept = parts[:3] if len(parts) > 2 and parts[2] < 10 else parts[:2]
    return ".".join(map(str, kept))


def _looks_like_toolkit(folder: Path) -> bool:
    for below in ("bin/x64", "bin/arm64", "bin", "lib/x64", "lib"):
        found = tree.locate_folder(folder, below)
        if found is None:
            continue
        if tree.dll_names(found, r"cudart64_\d+\.dll") or tree.locate(found, "nvcc.exe") is not None:
            return True
    return False


def _version_from_names(folder: Path) -> str:
    """Return the release that the folder's own name shows, or by nvrtc-builtins, which is named for the minor."""
    if re.fullmatch(r"v\d+\.\d+", folder.name.lower()):
        return folder.name[1:]
    for below in FOLDERS:
        found = tree.locate_folder(folder, below)
        for name in tree.dll_names(found, r"nvrtc-builtins64_\d{3}\.dll") if found else ():
            digits = name[-7:-4]
            return f"{digits[:2]}.{digits[2]}"
    return ""
