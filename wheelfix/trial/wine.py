"""Wine: where it is, a prefix of its own, what keeps a wheel's code from this machine, and a Windows Python in it.

For hosts with another processor an x86_64 Wine is made of Debian's amd64 packages, run by qemu-user: neither multiarch
nor binfmt nor a chroot nor a display is needed. It takes a few minutes and 1.4 GB, once.
"""

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
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.base.programs import Finished, find_program, run_program, running_program
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.streams.pool import defer_interrupts
from wheelfix.trial.model import Interpreter, Note, PythonFacts, silent
from wheelfix.trial.winpython import cache_folder, locked, windows_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MEMORY = 8 << 30
"""Bytes of memory that one process may have."""
MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman mark their containers."""
WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc", "garden")
"""Words in the control group of the first process of a container."""
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


def in_container(root: Path = Path("/"), environ: Mapping[str, str] | None = None) -> bool:
    """Whether this process runs in a container, as far as its marks show."""
    environ = os.environ if environ is None else environ
    if environ.get("container") or environ.get("KUBERNETES_SERVICE_HOST"):
        return True
    if any((root / mark.lstrip("/")).exists() for mark in MARKS):
        return True
    try:
        groups = (root / "proc/1/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(word in groups for word in WORDS)


def refuse_root(allowed: bool, *, user: int | None = None, container: bool | None = None) -> None:
    """UsageError for root outside a container: a wheel's code could do anything to the machine."""
    user = (os.geteuid() if hasattr(os, "geteuid") else -1) if user is None else user
    if user or allowed or (in_container() if container is None else container):
        return
    raise UsageError(
        "wheelfix try does not run as root",
        because="it runs the code of the wheel, which could then change anything on this machine",
        hint="run it as another user or in a container; --allow-root runs it all the same",
    )


@frozen
class Confinement:
    """The words that a command is started with, and what they do not keep out."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command, confined."""
        return [*self.words, *command]


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


PACKAGES = ("wine64", "libwine", "libc6", "libgcc-s1", "libunwind8", "liblzma5", "libz-mingw-w64")
UNWANTED = ("./usr/share/doc", "./usr/share/man", "./usr/i686*", "*/i386-windows", "./usr/lib/gcc")
TOOLS = {"qemu-x86_64": "qemu-user", "patchelf": "patchelf", "apt-get": "apt", "dpkg-deb": "dpkg", "tar": "tar"}
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
ZLIB = "usr/x86_64-w64-mingw32/lib/zlib1.dll"
GENERATION = "1"
"""Goes up when the set-up changes, so that an older one is replaced."""
_LONG = 900.0


@frozen
class EmulatedWine:
    """The folder in which it all is."""

    folder: Path

    @property
    def root(self) -> Path:
        """Where the packages are unpacked."""
        return self.folder / "root"

    @property
    def program(self) -> Path:
        """The script that runs Wine's loader under qemu."""
        return self.root / "usr/lib/wine/wine64"

    @property
    def server(self) -> Path:
        """The script that runs Wine's server under qemu."""
        return self.root / "usr/lib/wine/wineserver"

    @property
    def zlib(self) -> Path:
        """A DLL that Wine's user32 needs from the very first start, which makes the prefix."""
        return self.root / ZLIB

    @property
    def _stamp(self) -> Path:
        return self.folder / "ready"

    def is_ready(self) -> bool:
        """Whether it has been set up."""
        return self._stamp.exists() and self._stamp.read_text() == GENERATION and self.program.exists()

    def check_tools(self) -> None:
        """EnvironmentFailure if a program is missing that setting it up needs."""
        tools = {name: find_program(name) for name in TOOLS}
        missing = sorted({TOOLS[name] for name, path in tools.items() if path is None})
        if missing:
            raise EnvironmentFailure(
                "there is no x86_64 Wine for this machine",
                because=f"to set one up needs {', '.join(missing)}, on Debian or Ubuntu",
                hint=f"apt-get install {' '.join(missing)}; or name a Wine that runs x86_64 programs with --wine",
            )

    def make(self) -> None:
        """Fetch the packages, unpack them and make the two programs run under qemu."""
        self.check_tools()
        for old in ("root", "apt", "prefix"):
            shutil.rmtree(self.folder / old, ignore_errors=True)
        self.root.mkdir(parents=True)
        for package in self._fetch():
            self._unpack(package)
        shutil.rmtree(self.folder / "apt")
        self._gather_libraries()
        self._wrap("wine64", "export WINELOADERNOEXEC=1\n", f"-0 '{self.program}' ")
        (self.root / "usr/lib/wine/wineserver64").rename(self.server)
        self._wrap("wineserver", "", "")
        shutil.copy(self.zlib, self.root / LIBRARIES / "wine/x86_64-windows")
        self._stamp.write_text(GENERATION)

    def _fetch(self) -> list[Path]:
        """Download the amd64 packages with an apt configuration of our own, from where the host has its packages."""
        apt = self.folder / "apt"
        for name in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial", "debs"):
            (apt / name).mkdir(parents=True)
        (apt / "status").touch()
        site, release = _source()
        (apt / "etc/sources.list").write_text(f"deb [signed-by={KEYS} arch=amd64] {site} {release} main\n")
        settings = {
            "Dir::Etc": apt / "etc",
            "Dir::Etc::sourcelist": apt / "etc/sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::parts": "/etc/apt/apt.conf.d",
            "Dir::State": apt / "state",
            "Dir::State::status": apt / "status",
            "Dir::Cache": apt / "cache",
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        lines = [f'{key} "{value}";' for key, value in settings.items()]
        (apt / "apt.conf").write_text("\n".join([*lines, 'APT::Architectures {"amd64";};', ""]))
        environment = {"APT_CONFIG": str(apt / "apt.conf"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        _run(["apt-get", "-qq", "update"], environment)
        # apt-get download writes into its working folder, which is a new and empty one for every program.
        script = f'cd "$1" && shift && exec "$0" -qq download {" ".join(PACKAGES)}'
        _run(["/bin/sh", "-c", script, _program("apt-get"), str(apt / "debs")], environment)
        return sorted((apt / "debs").glob("*.deb"))

    def _unpack(self, package: Path) -> None:
        script = 'package=$1; root=$2; shift 2; "$0" --fsys-tarfile "$package" | tar -x -C "$root" "$@"'
        unwanted = [f"--exclude={pattern}" for pattern in UNWANTED]
        _run(["/bin/sh", "-c", script, _program("dpkg-deb"), str(package), str(self.root), *unwanted])

    def _gather_libraries(self) -> None:
        """Put the libraries of ``/lib`` beside those of ``/usr/lib``, where a merged system has them."""
        old, new = self.root / "lib/x86_64-linux-gnu", self.root / LIBRARIES
        if old.is_dir() and not (self.root / "lib").is_symlink():
            shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True)

    def _wrap(self, name: str, before: str, options: str) -> None:
        """Replace a program by a script that runs it under qemu, with the paths of its libraries written into it."""
        script = self.root / "usr/lib/wine" / name
        binary = script.with_name(f"{name}.bin")
        script.rename(binary)
        libraries = self.root / LIBRARIES
        loader = libraries / "ld-linux-x86-64.so.2"
        paths = ["--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(libraries)]
        _run(["patchelf", *paths, str(binary)])
        script.write_text(f"#!/bin/sh\n{before}exec qemu-x86_64 {options}'{binary}' \"$@\"\n")
        script.chmod(0o755)


_COST = "a few minutes and 1.4 GB of packages from Debian, once"


def wine_to_download(given: Path | None) -> str:
    """Return what a trial of an x64 wheel would first set up on this machine, in words; empty if nothing large."""
    place = EmulatedWine(cache_folder() / "wine-x64")
    if given is not None or sys.platform == "win32" or host_machine() is not Machine.ARM64 or place.is_ready():
        return ""
    place.check_tools()
    return f"an x86_64 Wine in {place.folder}: {_COST}"


def emulated_wine(note: Note = silent) -> EmulatedWine:
    """Return an x86_64 Wine for this host, set up if that has not been done; EnvironmentFailure if it cannot be."""
    place = EmulatedWine(cache_folder() / "wine-x64")
    with locked(place.folder / "lock"):
        if not place.is_ready():
            note(f"setting up an x86_64 Wine in {place.folder}: {_COST}")
            place.make()
    return place


def _program(name: str) -> str:
    found = find_program(name)
    if found is None:
        raise EnvironmentFailure(f"there is no {name} here", hint=f"apt-get install {TOOLS.get(name, name)}")
    return found


def _source() -> tuple[str, str]:
    """Return site and release of the host's first package source that is not an update channel."""
    listing = _run(["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages"])
    for line in listing.splitlines():
        if "security" not in line and "updates" not in line and len(line.split()) == 2:
            site, release = line.split()
            return site, release
    raise EnvironmentFailure("an x86_64 Wine cannot be set up", because="apt has no package source here")


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    words = [command[0] if Path(command[0]).is_absolute() else _program(command[0]), *command[1:]]
    done = run_program(words, timeout=_LONG, environ=environment, max_output=16 << 20)
    if done.code:
        last = (done.err.strip() or "no message").splitlines()[-1]
        raise EnvironmentFailure("an x86_64 Wine cannot be set up", because=f"{command[0]} failed: {last}")
    return done.out


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


def find_wine(given: Path | None, machine: Machine, note: Note = silent) -> WineProgram:
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
