"""Wine: where it is, a prefix of its own, what keeps a wheel's code from this machine, and a Windows Python in it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import platform
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.base.parsing import whole_number
from wheelfix.base.programs import Finished, find_program, run_program, running_program
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.rules.wording import dotted
from wheelfix.streams.pool import defer_interrupts
from wheelfix.trial.model import Interpreter, Note, PythonFacts
from wheelfix.trial.winpython import cache_folder, locked, windows_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MEMORY = 8 << 30
"""Bytes of memory that one process may have."""
MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman mark their containers."""
GROUPS = Path("/proc/1/cgroup")
"""The control groups of the first process."""
WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc", "garden")
"""Words in them, if that is of a container."""
NOT_SEALED = "files outside of the home folder can be changed by the wheel's code where your user may: use a container"
OUTLIVES = "processes that the wheel's code starts may outlive the trial: this machine has no process namespaces for it"
TEMPORARY = Path("/tmp")
"""The folder that the work folder takes the place of."""
_PROBE = 20.0
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_LIMITS = f"ulimit -c 0; ulimit -d {MEMORY >> 10} 2>/dev/null; "
_HELD = "read -r held _ < /proc/self/stat; "
"""The number of the process as those outside know it: ``/proc`` is still theirs."""
_PROC = (
    "mount -t proc proc /proc; for point in /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus /proc/fs; do "
    '{ mount --bind "$point" "$point" && mount -o remount,bind,ro "$point"; } 2>/dev/null || :; done; '
)
"""Other processes are not seen; what root could set for the whole machine is read-only."""


def in_container() -> bool:
    """Whether this process runs in a container, as far as its marks show."""
    variables = ("container", "KUBERNETES_SERVICE_HOST")
    if any(map(os.environ.get, variables)) or any(Path(mark).exists() for mark in MARKS):
        return True
    try:
        groups = GROUPS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(word in groups for word in WORDS)


def refuse_root(allowed: bool) -> None:
    """UsageError for root outside a container: a wheel's code could do anything to the machine."""
    if allowed or not hasattr(os, "geteuid") or os.geteuid() or in_container():
        return
    raise UsageError(
        "wheelfix try does not run as root",
        because="it runs the code of the wheel, which could then change anything on this machine",
        hint="run it as another user or in a container; --allow-root runs it all the same",
    )


class Confinement(NamedTuple):
    """The words that a command is started with, and what they do not keep out."""

    words: tuple[str, ...]
    notes: tuple[str, ...]


@contextlib.contextmanager
def confined(keep: Sequence[Path], stage: Path, home: Path | None = None) -> Iterator[Confinement]:
    """The strictest confinement that this machine allows; everything that was started in it is killed at the end.

    ``keep`` are the folders that stay visible although they are below the home folder or ``/tmp``; ``stage`` is an
    empty folder.
    A process that does nothing holds the namespaces, and is the first of its process namespace: when it dies, the
    kernel kills all others. Commands enter them one by one, and give up their capabilities before they run.
    """
    home = Path.home() if home is None else home
    notes = [f"the files below {home} can be read by the wheel's code: they cannot be hidden here"]
    programs = [find_program(name) for name in ("unshare", "nsenter", "setpriv")]
    if all(programs):
        unshare, nsenter, setpriv = (str(program) for program in programs)
        # Somebody who is not root may make namespaces so, and stays who it is.
        user = () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
        hidden = _hiding(home, [path for path in keep if path.is_relative_to(home)], stage)
        levels = [(hidden + _sealing(stage.parent, home, keep), []), (hidden, [NOT_SEALED])] if hidden else []
        for (script, missing), alone in itertools.product([*levels, ("", notes)], (True, False)):
            spaces = ["--mount", "--net", "--ipc", *(["--pid"] if alone else [])]
            with running_program(
                [unshare, *user, *spaces, *(["--kill-child"] if alone else []), "--", "/bin/sh", "-c",
                 f"{_HELD}set -e; {script}{_PROC if alone else ''}cd /; echo $held; exec cat >/dev/null"],
                timeout=_PROBE, environ={"PATH": _PATH}, within=stage.parent,
            ) as held:  # fmt: skip
                words = _entering(nsenter, setpriv, held, spaces)
                if whole_number(held) and _works(words, stage.parent):
                    yield Confinement(words, (*missing, *(() if alone else (OUTLIVES,))))
                    return
    notes += ["the network is not switched off: this machine does not allow it", OUTLIVES]
    plain = ("/bin/sh", "-c", f'{_LIMITS}exec "$@"', "sh")
    yield Confinement(plain if Path("/bin/sh").exists() else (), tuple(notes))


def _entering(nsenter: str, setpriv: str, held: str, spaces: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run a command in the namespaces of a process, without capabilities.

    The current folder is looked up again inside: one of the outside would be a way out, through its parents.
    """
    user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    dropped = "--no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all"
    inner = f'cd "$1" 2>/dev/null || cd /; shift; {_LIMITS}exec {shlex.quote(setpriv)} {dropped} -- "$@"'
    enter = shlex.join([nsenter, "--target", held, *user, *spaces, "--", "/bin/sh", "-c", inner, "sh"])
    return ("/bin/sh", "-c", f'exec {enter} "$(pwd)" "$@"', "sh")


def _hiding(home: Path, keep: Sequence[Path], stage: Path) -> str:
    """Return the commands that put an empty file system over the home folder, with some of its folders in it."""
    if home == Path(home.anchor) or not home.is_dir() or stage.is_relative_to(home):
        return ""
    before, after = [], []
    for number, path in enumerate(keep):
        place = stage / str(number)
        place.mkdir(parents=True, exist_ok=True)
        old, new = shlex.quote(str(path)), shlex.quote(str(place))
        before.append(f"mount --bind {old} {new}; ")
        after.append(f"mkdir -p {old}; mount --bind {new} {old}; ")
    return "".join([*before, f"mount -t tmpfs tmpfs {shlex.quote(str(home))}; ", *after])


def _sealing(work: Path, home: Path, keep: Sequence[Path]) -> str:
    """Return the commands that make everything read-only but the work folder, which also becomes ``/tmp``.

    They come after those that put an empty file system over the home folder. Wine's server has its sockets in ``/tmp``.
    What is not a disk (``/dev``, ``/proc``) stays as it is, but for the memory that programs share; the first disk must
    be read-only for certain. A cache may be below ``/tmp``: what is needed of it stays visible there.
    """
    folder, own, above = shlex.quote(str(work)), shlex.quote(str(home / ".work")), shlex.quote(str(home))
    temporary = [path for path in keep if path.is_relative_to(TEMPORARY) and not path.is_relative_to(home)]
    places = [(shlex.quote(str(path)), shlex.quote(f"{home}/.keep{n}")) for n, path in enumerate(temporary)]
    before = "".join(f"mkdir -p {new}; mount --bind {old} {new}; " for old, new in places)
    after = "".join(f"mkdir -p {old}; mount --bind {new} {old}; " for old, new in places)
    return (
        f"mount --make-rprivate /; mkdir -p {folder}/tmp {own}; mount --bind {folder} {own}; {before}"
        f"mount -o remount,bind,ro /; mount --bind {own}/tmp /tmp; mkdir -p {folder}; mount --bind {own} {folder}; "
        f"{after}if [ -d /dev/shm ]; then mount -t tmpfs tmpfs /dev/shm; fi; "
        'while read -r _ _ _ _ point _; do point=$(printf %b "$point"); case $point in '  # it has a space as \040
        f"/|/tmp|{above}|{own}|{folder}|/dev|/dev/*|/proc|/proc/*) ;; "
        '*) mount -o remount,bind,ro "$point" 2>/dev/null || : ;; esac; done < /proc/self/mountinfo; '
    )


def _works(words: Sequence[str], within: Path) -> bool:
    try:
        return run_program([*words, "/bin/true"], timeout=_PROBE, within=within).code == 0
    except EnvironmentFailure:
        return False


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


@frozen
class WineProgram:
    """An installed Wine."""

    program: Path
    server: Path


def host_machine() -> Machine | None:
    """Return the machine type of Windows programs that run here without emulation; None if there is none."""
    name = platform.machine().lower()
    if sys.platform == "darwin":
        return Machine.AMD64  # Wine for macOS is an x86_64 program, also on Apple's processors
    known = {"aarch64": Machine.ARM64, "arm64": Machine.ARM64, "x86_64": Machine.AMD64, "amd64": Machine.AMD64}
    return known.get(name)


def find_wine(given: Path | None, machine: Machine) -> WineProgram:
    """Return a Wine that runs programs of a machine type: the one that is named, or the installed one."""
    if given is not None:
        return _named_wine(given.absolute())
    found, host = installed_wine(), host_machine()
    if found is None:
        raise EnvironmentFailure(
            "there is no Wine here", because="only Windows' loader or Wine's can import", hint=HINT
        )
    if host is None or (machine is not host and (machine is not Machine.X86 or host is Machine.ARM64)):
        raise EnvironmentFailure(
            f"the Wine of this machine does not run {machine} programs",
            because=f"the processor is {platform.machine()}",
            hint="name a Wine that does with --wine",
        )
    return found


def installed_wine() -> WineProgram | None:
    """Return the Wine that is installed here, if any."""
    found = [_found_in(PLACES, names, on_path=True) for names in (PROGRAMS, SERVERS)]
    return WineProgram(found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _named_wine(given: Path) -> WineProgram:
    program = _found_in([given], PROGRAMS) if given.is_dir() else given
    if program is None or not program.is_file():
        because = "it has no wine or wine64" if given.is_dir() else "there is no such file"
        raise UsageError(f"--wine {given}", because=because, hint="name the program wine, or the folder that it is in")
    beside = (program.parent, program.resolve().parent)
    server = _found_in(beside, SERVERS) or _found_in(PLACES, SERVERS, on_path=True)
    if server is None:
        raise UsageError(f"--wine {given}", because="there is no wineserver beside it", hint=HINT)
    return WineProgram(program, server)


def _found_in(folders: Sequence[Path], names: Sequence[str], *, on_path: bool = False) -> Path | None:
    for name in names:
        found = find_program(name) if on_path else None
        places = [Path(found)] if found else [folder / name for folder in folders if (folder / name).is_file()]
        if places:
            return places[0]
    return None


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


def _template(wine: WineProgram, version: str, note: Note) -> Path:
    """Return a fresh prefix of this Wine that is copied for each run; to make one takes seconds, or a minute."""
    key = hashlib.sha256(f"{wine.program}\0{version}".encode()).hexdigest()[:12]
    target = cache_folder() / "wine-prefix" / key
    with locked(target.with_suffix(".lock")):
        if not (target / "system.reg").exists():
            note(f"making a Wine prefix in {target}, once")
            _make_prefix(wine, target)
    return target


def _make_prefix(wine: WineProgram, target: Path) -> None:
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    (fresh / "home").mkdir(parents=True)
    prefix = fresh / "prefix"
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


class WinePython(Interpreter):
    """A Windows Python in a Wine prefix that is private to one run."""

    def __init__(self, wine: WineProgram, work: Path, facts: PythonFacts, words: Sequence[str]) -> None:
        self._wine, self._work, self._words = wine, work, tuple(words)
        self._drive = work / "drive"
        super().__init__(facts, self._drive / "Python", self._drive / "exchange")

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
def wine_python(work: Path, home: Path | None, wine: Path | None, note: Note) -> Iterator[WinePython]:
    """A Windows Python that runs under Wine in a work folder; every process of it is gone afterwards."""
    python, machine = windows_home(home, work / "drive" / "Python", note)
    found = find_wine(wine, machine)
    version = wine_version(found, work)
    stage = work / "stage"
    stage.mkdir()
    template = _template(found, version, note)
    with confined([found.program.parent], stage) as (words, notes):
        label = f"Python {dotted(python)} for Windows ({machine}), Wine {version}"
        made = WinePython(found, work, PythonFacts(python, machine, label, True, notes), words)
        try:
            made.start(template)
            yield made
        finally:
            made.stop()
