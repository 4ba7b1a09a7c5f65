"""A loader case as a value: which DLLs lie where, who wants what from whom, and what is loaded in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.forge import Export, forge_dll
from wheelfix.model import Machine, Symbol

APPLICATION = "app"
"""The folder of the program that loads, which Windows calls the application directory."""
AS_TORCH_DOES = 0x1100

Wants = tuple[tuple[str, tuple["Symbol", ...]], ...]


@dataclass(frozen=True, slots=True)
class Dll:
    """A file of a case."""

    path: str
    """Folder and name, with ``/``."""
    imports: Wants = ()
    delay_imports: Wants = ()
    exports: tuple[Export, ...] = ()
    forwarders: tuple[tuple[Symbol, str], ...] = ()
    machine: Machine | None = None
    """None is that of the process."""
    dll_main: bool | None = True
    dependent_load_flags: int | None = None
    content: bytes | None = None
    """These bytes instead of an image."""

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def forge(self, process: Machine) -> bytes:
        """Return the file's bytes, for a process of the given machine type."""
        if self.content is not None:
            return self.content
        return forge_dll(
            self.name,
            machine=self.machine or process,
            imports=self.imports,
            delay_imports=self.delay_imports,
            exports=self.exports,
            forwarders=dict(self.forwarders),
            dll_main=self.dll_main,
            dependent_load_flags=self.dependent_load_flags,
        )

    def __str__(self) -> str:
        if self.content is not None:
            return f"{self.path}: {self.content!r}"
        parts = [f"for {self.machine}"] if self.machine else []
        parts += [f"imports {dll} {list(symbols)}" for dll, symbols in self.imports]
        parts += [f"delays {dll} {list(symbols)}" for dll, symbols in self.delay_imports]
        parts += [f"exports {list(self.exports)}"] if self.exports else []
        parts += [f"forwards {symbol} to {target}" for symbol, target in self.forwarders]
        parts += [f"DllMain is {self.dll_main}"] if self.dll_main is not True else []
        parts += [f"wants flags {self.dependent_load_flags:#x}"] if self.dependent_load_flags is not None else []
        return f"{self.path}: {'; '.join(parts) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Load:
    """One call of LoadLibraryExW."""

    target: str
    """A file of the case, or a bare name."""
    flags: int = AS_TORCH_DOES
    by_name: bool = False
    adds: tuple[str, ...] = ()
    """Folders given to AddDllDirectory just before it."""

    def __str__(self) -> str:
        added = "".join(f"add {folder}, " for folder in self.adds)
        return f"{added}load {'the name ' if self.by_name else ''}{self.target} with {self.flags:#x}"


@dataclass(frozen=True, slots=True)
class Graph:
    """A case."""

    dlls: tuple[Dll, ...]
    loads: tuple[Load, ...]
    added: tuple[str, ...] = ()
    """Folders given to AddDllDirectory, in order."""
    on_path: tuple[str, ...] = ()
    """Folders on PATH, in order."""

    def __str__(self) -> str:
        lines = [f"  {dll}" for dll in self.dlls]
        lines += [f"  folder {folder} is added" for folder in self.added]
        lines += [f"  folder {folder} is on PATH" for folder in self.on_path]
        return "\n".join([*lines, *(f"  {load}" for load in self.loads)])

    @property
    def folders(self) -> tuple[str, ...]:
        """Every folder that is mentioned."""
        later = (folder for load in self.loads for folder in load.adds)
        names = [APPLICATION, *self.added, *later, *self.on_path, *(dll.folder for dll in self.dlls)]
        return tuple(dict.fromkeys(names))

    def files(self, process: Machine) -> dict[str, bytes]:
        """Return path and bytes of every file."""
        return {dll.path: dll.forge(process) for dll in self.dlls}


def write(files: Mapping[str, bytes], folders: tuple[str, ...], root: Path) -> None:
    """Put a case on disk."""
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        (root / path).write_bytes(data)
