"""Small folder trees that look like a Windows machine's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from tools.forge import forge_dll
from wheelfix.model import Machine, Symbol
from wheelfix.roots.host import Host, RegistryKey
from wheelfix.roots.root import Root


def grow(base: Path, files: Iterable[str] | Mapping[str, bytes | str]) -> Path:
    """Write files below a folder, given as POSIX paths; those without content get two letters of a DLL."""
    content = files if isinstance(files, Mapping) else dict.fromkeys(files, b"MZ")
    for name, data in content.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return base


def dll(
    name: str,
    *exports: str,
    machine: Machine = Machine.AMD64,
    version: tuple[int, int, int, int] | None = None,
    forwarders: Mapping[Symbol, str] | None = None,
    size: int = 0,
) -> bytes:
    """A small DLL that exports the given names."""
    return forge_dll(name, machine=machine, exports=exports, version=version, forwarders=forwarders, size=size)


def link(path: Path, target: Path) -> None:
    """Make a link; the test is skipped where that needs a right which we do not have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.symlink_to(target, target_is_directory=target.is_dir())
    except OSError as exc:
        pytest.skip(f"no symbolic links here: {exc}")


def folders(root: Root | None) -> list[str]:
    """The folders that count, as one reads them."""
    return [entry.path for entry in root.folders] if root is not None else []


def windows(
    tmp_path: Path,
    env: Mapping[str, str] | None = None,
    *,
    home: Path | None = None,
    prefixes: tuple[tuple[Path, str], ...] = (),
    registry: Callable[[str], RegistryKey | None] = lambda _path: None,
    descriptor: Callable[[Path], str] = lambda _path: "",
) -> Host:
    """A machine with its Program Files below a temporary folder."""
    program_files = (tmp_path / "Program Files", tmp_path / "Program Files (x86)")
    for folder in program_files:
        folder.mkdir(exist_ok=True)
    return Host(
        env=env or {},
        os_name="nt",
        program_files=program_files,
        home=home,
        prefixes=prefixes,
        registry=registry,
        descriptor=descriptor,
    )
