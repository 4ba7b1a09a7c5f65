"""Wine: where it is, a prefix of its own, and a Windows Python that runs in it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.programs import Finished, find_program, run_program
from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.streams.pool import defer_interrupts
from wheelfix.trial.cache import cache_folder, locked
from wheelfix.trial.confine import confined
from wheelfix.trial.emulated import emulated_wine
from wheelfix.trial.model import PythonFacts
from wheelfix.trial.winpython import windows_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PLACES = (
    Path("/usr/lib/wine"),
    Path("/usr/lib64/wine"),
    Path("/opt/wine-stable/bin"),
    Path("/opt/wine-devel/bin"),
    Path("/opt/wine-staging/bin"),
    Path("/opt/homebrew/bin"),
    Path("/usr/local/bin"),
    Path("/Applications/Wine Stable.app/Contents/Resources/wine/bin"),
)
"""Where Wine is installed besides the folders of PATH."""
PROGRAMS, SERVERS = ("wine64", "wine"), ("wineserver64", "wineserver")
OVERRIDES = "mscoree,mshtml=;winemenubuilder.exe=d"
DEBUG = "-all,err+module,warn+module,trace+loaddll"
"""What of Wine's log is needed: files that were loaded, were not found, or were loaded against the rules of Windows."""
LINGER = 60
"""Seconds the server outlives its last client; to start it for every import would cost seconds each."""
DRIVE = "t:"
"""The drive letter under which a Windows program sees the files of the trial, and nothing else of this machine."""
HINT = "install Wine (Debian and Ubuntu: apt-get install wine64; macOS: brew install --cask wine-stable), or use --wine"
_START, _BOOT = 180.0, 600.0
_MOST_OUTPUT = 32 << 20


@dataclass(frozen=True, slots=True)
class WineProgram:
    """An installed Wine."""

    program: Path
    server: Path
    machine: Machine
    """The machine type of the programs that it runs."""
    keep: tuple[Path, ...] = ()
    """Folders that it needs, wherever they are."""
    seeds: tuple[Path, ...] = ()
    """Files that must be in system32 before a prefix is made."""


def host_machine() -> Machine | None:
    """Return the machine type of Windows programs that run here without emulation; None if there is none."""
    name = platform.machine().lower()
    if sys.platform == "darwin":
        return Machine.AMD64  # Wine for macOS is an x86_64 program, also on Apple's processors
    known = {"aarch64": Machine.ARM64, "arm64": Machine.ARM64, "x86_64": Machine.AMD64, "amd64": Machine.AMD64}
    return known.get(name)


def find_wine(given: Path | None, machine: Machine, note: Callable[[str], None] | None = None) -> WineProgram:
    """Return a Wine that runs programs of a machine type: the one that is named, an installed or an emulated one."""
    if given is not None:
        program, server = _named_wine(given)
        return WineProgram(program, server, machine, (program.parent,))
    host = host_machine()
    if host is Machine.ARM64 and machine in (Machine.AMD64, Machine.X86):
        made = emulated_wine(note)
        return WineProgram(made.program, made.server, Machine.AMD64, (made.root,), (made.zlib,))
    found = installed_wine()
    if found is None:
        raise EnvironmentFailure(
            "there is no Wine here", because="only Windows' loader or Wine's can import", hint=HINT
        )
    if host is None or (machine is not host and machine is not Machine.X86):
        raise EnvironmentFailure(
            f"the Wine of this machine does not run {machine} programs",
            because=f"the processor is {platform.machine()}",
            hint="name a Wine that does with --wine",
        )
    return WineProgram(*found, host, (found[0].parent,))


def installed_wine() -> tuple[Path, Path] | None:
    """Return program and server of the Wine that is installed here, if any."""
    program, server = _found(PROGRAMS, PLACES), _found(SERVERS, PLACES)
    return (program, server) if program is not None and server is not None else None


def _found(names: Sequence[str], places: Sequence[Path]) -> Path | None:
    for name in names:
        on_path = find_program(name)
        if on_path:
            return Path(on_path)
        for place in places:
            if (place / name).is_file():
                return place / name
    return None


def _named_wine(given: Path) -> tuple[Path, Path]:
    given = given.absolute()
    program = _found_in(given, PROGRAMS) if given.is_dir() else given
    if program is None or not program.is_file():
        because = "it has no wine or wine64" if given.is_dir() else "there is no such file"
        raise UsageError(f"--wine {given}", because=because, hint="name the program wine, or the folder that it is in")
    places = dict.fromkeys([program.parent, program.resolve().parent])
    server = next((found for place in places if (found := _found_in(place, SERVERS))), None) or _found(SERVERS, PLACES)
    if server is None:
        raise UsageError(f"--wine {given}", because="there is no wineserver beside it", hint=HINT)
    return program, server


def _found_in(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def environment(prefix: Path, home: Path, debug: str = "-all") -> dict[str, str]:
    """Return the variables of a run: none of the user's own, which a wheel's code could read."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "DISPLAY": "",
        "WINEPREFIX": str(prefix),
        "WINEDEBUG": debug,
        "WINEDLLOVERRIDES": OVERRIDES,
    }


# ------------------------------------------------------------------------------------------------ a prefix to copy


def wine_version(wine: WineProgram, work: Path) -> str:
    """Return ``8.0`` of ``Wine 8.0 (Debian 8.0~repack-4)``; the server says it without making a prefix."""
    nowhere = environment(Path("/nonexistent"), Path("/nonexistent"))
    done = run_program([str(wine.server), "--version"], timeout=_START, environ=nowhere, within=work)
    found = re.search(r"[Ww]ine[ -](\d\S*)", done.text)
    if done.code or found is None:
        last = (done.text.strip() or f"exit code {done.code}").splitlines()[-1]
        raise EnvironmentFailure(f"{wine.server} does not run", because=last, hint=HINT)
    return found[1]


def _template(wine: WineProgram, version: str, note: Callable[[str], None] | None) -> Path:
    """Return a fresh prefix of this Wine that is copied for each run; to make one takes seconds, or a minute."""
    key = hashlib.sha256(f"{wine.program}\0{version}".encode()).hexdigest()[:12]
    target = cache_folder() / "wine-prefix" / key
    with locked(target.with_suffix(".lock")):
        if not (target / "system.reg").exists():
            if note is not None:
                note(f"making a Wine prefix in {target}, once")
            _make_prefix(wine, target)
    return target


def _make_prefix(wine: WineProgram, target: Path) -> None:
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    (fresh / "home").mkdir(parents=True)
    prefix = fresh / "prefix"
    system = prefix / "drive_c/windows/system32"
    for seed in wine.seeds:
        system.mkdir(parents=True, exist_ok=True)
        shutil.copy(seed, system)
    variables = environment(prefix, fresh / "home")
    try:
        run_program([str(wine.program), "wineboot", "-i"], timeout=_BOOT, environ=variables, within=fresh)
        run_program([str(wine.server), "-w"], timeout=_BOOT, environ=variables, within=fresh)
        if not (prefix / "system.reg").exists():
            raise EnvironmentFailure(f"Wine could not make a prefix in {target}", hint=HINT)
        prefix.rename(target)
    finally:
        _stop(wine, prefix if prefix.exists() else target, variables)
        shutil.rmtree(fresh, ignore_errors=True)


def _stop(wine: WineProgram, prefix: Path, variables: Mapping[str, str], words: Sequence[str] = ()) -> None:
    """End every process of a prefix, and remove what its server leaves in the folder for temporary files."""
    with contextlib.suppress(EnvironmentFailure):
        variables = {**variables, "WINEPREFIX": str(prefix)}
        run_program([*words, str(wine.server), "-k"], timeout=30, environ=variables, within=prefix.parent)
    with contextlib.suppress(OSError):
        status = prefix.stat()
        sockets = Path(f"/tmp/.wine-{os.getuid()}")
        shutil.rmtree(sockets / f"server-{status.st_dev:x}-{status.st_ino:x}", ignore_errors=True)
        sockets.rmdir()  # stays if another Wine runs


# ------------------------------------------------------------------------------------------------- a private Wine


class WinePython:
    """A Windows Python in a Wine prefix that is private to one run."""

    def __init__(self, wine: WineProgram, work: Path, facts: PythonFacts, words: Sequence[str]) -> None:
        self._wine, self._work, self._facts, self._words = wine, work, facts, tuple(words)
        self._drive = work / "drive"

    @property
    def facts(self) -> PythonFacts:
        """What is known about it."""
        return self._facts

    @property
    def prefix(self) -> Path:
        """The folder with python.exe."""
        return self._drive / "Python"

    @property
    def site(self) -> Path:
        """Where packages are installed."""
        return self.prefix / "Lib" / "site-packages"

    @property
    def exchange(self) -> Path:
        """A folder that both sides can write."""
        return self._drive / "exchange"

    def path(self, path: Path) -> str:
        """Return the name under which Windows programs see a file of the drive."""
        return f"{DRIVE}\\".upper() + str(path.relative_to(self._drive)).replace("/", "\\")

    def run(self, arguments: Sequence[str], *, timeout: float) -> Finished:
        """Run python.exe; Wine's log is in the errors."""
        return self._start([self.path(self.prefix / "python.exe"), *arguments], timeout, DEBUG)

    def _start(self, arguments: Sequence[str], timeout: float, debug: str = "-all") -> Finished:
        command = [*self._words, str(self._wine.program), *arguments]
        # Below the drive, because a Windows program has no name for any other folder.
        return run_program(
            command, timeout=timeout, environ=self._variables(debug), max_output=_MOST_OUTPUT, within=self._drive
        )

    def _variables(self, debug: str = "-all") -> dict[str, str]:
        return environment(self._work / "prefix", self._work / "home", debug)

    def start(self, template: Path) -> None:
        """Copy the prefix, take the host's files out of it, start the server and what every first program starts."""
        prefix = self._work / "prefix"
        shutil.copytree(template, prefix, symlinks=True)
        _unlink_host(prefix)
        devices = prefix / "dosdevices"
        for link in devices.iterdir():
            if link.name.lower() != "c:":
                link.unlink()
        (devices / DRIVE).symlink_to(self._drive)
        for folder in (self._work / "home", self.exchange):
            folder.mkdir(parents=True, exist_ok=True)
        run_program(
            [*self._words, str(self._wine.server), f"-p{LINGER}"],
            timeout=_START,
            environ=self._variables(),
            within=self._work,
        )
        self._start(["cmd", "/c", "exit"], _START)

    @defer_interrupts
    def stop(self) -> None:
        """End every process of the prefix."""
        _stop(self._wine, self._work / "prefix", self._variables(), self._words)


def _unlink_host(prefix: Path) -> None:
    """Replace the links to Documents, Desktop and so on of the user's home by empty folders."""
    for link in (prefix / "drive_c/users").rglob("*"):
        if link.is_symlink():
            link.unlink()
            link.mkdir()


@contextlib.contextmanager
def wine_python(
    work: Path, home: Path | None, wine: Path | None, note: Callable[[str], None] | None = None
) -> Iterator[WinePython]:
    """A Windows Python that runs under Wine in a work folder; every process of it is gone afterwards."""
    python = windows_home(home, work / "drive" / "Python", note)
    found = find_wine(wine, python.machine, note)
    version = wine_version(found, work)
    stage = work / "stage"
    stage.mkdir()
    template = _template(found, version, note)
    with confined([*found.keep], stage) as confinement:
        number = ".".join(map(str, python.version))
        label = f"Python {number} for Windows ({python.machine}), Wine {version}"
        notes = (*confinement.notes, *(("this Wine runs under an emulator",) if found.seeds else ()))
        facts = PythonFacts(python.version, python.machine, label, True, notes)
        made = WinePython(found, work, facts, confinement.words)
        try:
            made.start(template)
            yield made
        finally:
            made.stop()
