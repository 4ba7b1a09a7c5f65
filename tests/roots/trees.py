"""Small folder trees that look like a Windows machine's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.environments import lay
from tools.forge import forge_dll
from wheelfix.model import Exports, FileVersion, Image, ImageFacts, Machine, Symbol, dll_key
from wheelfix.roots.host import Host, RegistryKey
from wheelfix.roots.index import RootIndex
from wheelfix.roots.root import Root, RootFile


def grow(base: Path, files: Iterable[str] | Mapping[str, bytes | str]) -> Path:
    """Write files below a folder, given as POSIX paths; those without content get two letters of a DLL."""
    return lay(base, files if isinstance(files, Mapping) else dict.fromkeys(files, b"MZ"))


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


class MadeUp(RootIndex):
    """An index without files: what is in a file is written in its path, ``machine-symbol-version-content``."""

    def __init__(self, files: Iterable[RootFile]) -> None:
        super().__init__(())
        self.made_up = tuple(files)

    def candidates(self, name: str) -> tuple[RootFile, ...]:
        return tuple(file for file in self.made_up if file.key == dll_key(name))

    def image(self, file: RootFile) -> ImageFacts:
        machine, symbol, _, _ = file.path.split("-")
        return Image(Machine(machine), file.size, exports=Exports(names=frozenset({symbol})))

    def version(self, file: RootFile) -> FileVersion | None:
        text = file.path.split("-")[2]
        return FileVersion((6, 14, 11, 1), strings={"FileDescription": f"x, Version {text}"}) if text else None

    def sha256(self, file: RootFile) -> str:
        return file.path

    def beside(self, file: RootFile, name: str) -> RootFile | None:
        return next((other for other in self.siblings(file) if other.key == dll_key(name)), None)

    def siblings(self, file: RootFile) -> tuple[RootFile, ...]:
        return tuple(other for other in self.made_up if other.root.path == file.root.path)
