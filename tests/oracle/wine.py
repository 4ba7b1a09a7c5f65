"""Wine as a loader to ask: where it is, a prefix of its own, and one program run in it."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.oracle.emulated import EmulatedWine, emulated_wine
from tests.support.tiers import cache_folder, unavailable
from wheelfix.errors import WheelfixError
from wheelfix.model import Machine
from wheelfix.trial import pythons as trial_wine
from wheelfix.trial.pythons import find_wine, installed_wine, locked

HERE = Path(__file__).parent
OVERRIDES = "mscoree,mshtml=;winemenubuilder.exe=d"
LINGER = 60
"""Seconds the server outlives its last client; starting it again for every case would cost seconds each."""
ZIG_TARGETS = {Machine.ARM64: ("aarch64", "arm64"), Machine.AMD64: ("x86_64", "i386:x86-64")}


class Unavailable(Exception):
    """A tier cannot run here, with the reason in one line."""


@dataclass(frozen=True, slots=True)
class Wine:
    """An installed Wine with a prefix that belongs to these tests."""

    program: Path
    server: Path
    prefix: Path
    machine: Machine
    """The machine type of the programs it runs."""

    def environment(self, debug: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables of a run, without the user's settings of Wine."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WINE")}
        own = {"WINEPREFIX": str(self.prefix), "WINEDEBUG": debug, "WINEDLLOVERRIDES": OVERRIDES, "DISPLAY": ""}
        return {**kept, **own, **(more or {})}

    def start(self) -> None:
        """Make the prefix if there is none, start the server, and wake everything that a first run would wake."""
        self.prefix.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.prefix.with_suffix(".lock")):
            if not (self.prefix / "system.reg").exists():
                self._quietly([str(self.program), "wineboot", "-i"], timeout=300)
                self._quietly([str(self.server), "-w"], timeout=120)
            self._quietly([str(self.server), f"-p{LINGER}"], timeout=60)
            # Services inherit the standard handles of the process that starts them: let that be nobody.
            self._quietly([str(self.program), "cmd", "/c", "exit"], timeout=120)
        if not (self.prefix / "system.reg").exists():
            raise Unavailable(f"Wine could not make a prefix in {self.prefix}")

    def _quietly(self, command: Sequence[str], timeout: float) -> None:
        nowhere = subprocess.DEVNULL
        subprocess.run(
            command, env=self.environment("-all"), stdin=nowhere, stdout=nowhere, stderr=nowhere, timeout=timeout
        )

    def run(
        self,
        arguments: Sequence[str | Path],
        *,
        debug: str = "-all",
        more: Mapping[str, str] | None = None,
        folder: Path | None = None,
        apart: bool = False,
        timeout: float = 300,
    ) -> Ran:
        """Run a Windows program; what it and Wine write comes in the order of writing, unless ``apart``."""
        command = [str(self.program), *map(str, arguments)]
        # Pipes, because CPython under Wine does not take a plain file for its standard output.
        process = subprocess.Popen(
            command,
            env=self.environment(debug, more),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        )
        assert process.stdout is not None
        readers = [_Reader(stream) for stream in (process.stdout, process.stderr) if stream is not None]
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        texts = [reader.text() for reader in readers]
        return Ran(code, texts[0], texts[1] if apart else "")


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program."""

    code: int
    output: str
    errors: str = ""


class _Reader:
    """Reads a pipe to the end of the program, which may be before the end of the pipe.

    A pipe stays open as long as any process that inherited it, and a service that Wine happens to start on the way
    outlives the program by minutes.
    """

    PAUSE = 0.02
    QUIET = 5
    """So many pauses without anything to read, after the program's end, and all of it has been read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.data = bytearray()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        while chunk := os.read(self.stream.fileno(), 1 << 16):
            self.data += chunk

    def text(self) -> str:
        """Return what has been written, once the program is known to be over."""
        quiet, before = 0, -1
        while self.thread.is_alive() and quiet < self.QUIET:
            self.thread.join(self.PAUSE)
            waiting = bool(select.select([self.stream], [], [], 0)[0])
            quiet = 0 if waiting or len(self.data) != before else quiet + 1
            before = len(self.data)
        if not self.thread.is_alive():  # here, and not in the thread, which could close what is asked for above
            self.stream.close()
        return bytes(self.data).decode("utf-8", "replace").replace("\r\n", "\n")


def windows_path(path: Path | str) -> str:
    """Return the name under which a Windows program sees a file of the host."""
    return "Z:" + str(path).replace("/", "\\")


def native_wine() -> Wine:
    """Return the host's own Wine, started; :class:`Unavailable` where there is none."""
    machine = host_machine()
    found = installed_wine()
    if found is None:
        raise Unavailable("there is no Wine here (Debian: apt-get install wine64)")
    wine = Wine(found.program, found.server, cache_folder() / "oracle" / f"prefix-{machine}", machine)
    wine.start()
    return wine


def host_machine(otherwise: Machine | None = None) -> Machine:
    """Return the machine type of Windows programs that run here without emulation."""
    machine = trial_wine.host_machine() or otherwise
    if machine is None:
        raise Unavailable("nobody has tried Wine on this processor")
    return machine


def loader_program(machine: Machine) -> Path:
    """Return ``loader.exe`` for a machine type, compiled once per version of its source."""
    sources = [HERE / "loader.c", HERE / "kernel32.def"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    target = cache_folder() / "oracle" / f"loader-{machine}-{digest}.exe"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    processor, library_machine = ZIG_TARGETS[machine]
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        library, program = Path(folder) / "kernel32.lib", Path(folder) / "loader.exe"
        zig("dlltool", "-d", HERE / "kernel32.def", "-l", library, "-m", library_machine)
        options = ["-Os", "-s", "-nostdlib", "-fno-stack-protector", "-fno-builtin", "-Wl,-e,start"]
        zig("cc", "-target", f"{processor}-windows-gnu", *options, "-o", program, HERE / "loader.c", library)
        program.replace(target)
    return target


def zig(*arguments: str | Path) -> None:
    """Run a tool of the Zig compiler; Unavailable if it fails."""
    command = [sys.executable, "-m", "ziglang", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"a program for Windows cannot be compiled (pip install ziglang): {last}")


# ------------------------------------------------------------------------------------------------------------------ x64
# An x86_64 Wine, for real vendor DLLs: the host's own on amd64, an emulated one elsewhere.
#
# ``python -m tests.oracle.wine`` sets it up and says where it is; a second call finds it ready.


def x64_wine() -> Wine:
    """Return an x86_64 Wine, set up and started; :class:`Unavailable` where that is not possible."""
    if host_machine() is Machine.AMD64:
        return native_wine()
    place = _emulated()
    wine = Wine(place.program, place.server, place.folder / "prefix", Machine.AMD64)
    wine.start()
    return wine


def wine_for_trials() -> Path | None:
    """Return what ``wheelfix try --wine`` needs for x64 wheels here; None where it finds a Wine by itself."""
    if host_machine() is Machine.ARM64:
        return _emulated().root
    try:
        find_wine(None, Machine.AMD64)
    except WheelfixError as error:
        raise Unavailable(str(error)) from error
    return None


def wine_options() -> list[str]:
    """The same as words of a command line, for a test, which is skipped where there is no such Wine."""
    try:
        given = wine_for_trials()
    except Unavailable as error:
        unavailable(str(error))
    return ["--wine", str(given)] if given is not None else []


def _emulated() -> EmulatedWine:
    try:
        return emulated_wine()
    except WheelfixError as error:
        raise Unavailable(str(error)) from error


def main() -> int:
    """Set it up and say where it is."""
    try:
        wine = x64_wine()
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    print(f"program {wine.program}\nserver  {wine.server}\nprefix  {wine.prefix}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
