"""DLLs made by a compiler: C source and import libraries through PyPI's ``ziglang``, as a build of torch makes them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.tiers import require

TARGET = "x86_64-windows-gnu"
MACHINE = "i386:x86-64"
OPTIONS = ("-shared", "-Os", "-s", "-nostdlib", "-fno-stack-protector", "-fno-builtin", "-Wl,-e,start")


def compile_dll(
    folder: Path, name: str, imports: Mapping[str, Sequence[str]] | None = None, exports: Sequence[str] = ()
) -> bytes:
    """Compile and link a DLL that calls every function it imports; returns its bytes."""
    require(importlib.util.find_spec("ziglang"), "there is no compiler here (pip install ziglang)")
    folder.mkdir(parents=True, exist_ok=True)
    libraries = [import_library(folder, dll, symbols) for dll, symbols in (imports or {}).items()]
    called = [symbol for symbols in (imports or {}).values() for symbol in symbols]
    lines = [f"__declspec(dllimport) int {symbol}(void);" for symbol in called]
    body = " + ".join([f"{symbol}()" for symbol in called] or ["0"])
    lines += [f"__declspec(dllexport) int {symbol}(void) {{ return {body}; }}" for symbol in exports or ("unused",)]
    lines += ["int start(void *module, unsigned reason, void *reserved) { return 1; }"]
    source = folder / f"{name}.c"
    source.write_text("\n".join(lines) + "\n", encoding="ascii")
    made = folder / name
    _zig("cc", "-target", TARGET, *OPTIONS, "-o", str(made), str(source), *map(str, libraries))
    return made.read_bytes()


def import_library(folder: Path, dll: str, symbols: Sequence[str]) -> Path:
    """Make the ``.lib`` through which a linker lets a DLL import these symbols."""
    definition = folder / f"{dll}.def"
    definition.write_text("\n".join([f"LIBRARY {dll}", "EXPORTS", *symbols]) + "\n", encoding="ascii")
    library = folder / f"{dll}.lib"
    _zig("dlltool", "-d", str(definition), "-l", str(library), "-m", MACHINE)
    return library


def _zig(*arguments: str) -> None:
    command = [sys.executable, "-m", "ziglang", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
