"""The installers themselves, run on one wheel after another: what each of them puts where, or why it refuses.

pip and installer run in this process, uv as a program; starting pip once per wheel would take a second each time.
``tests/archive/test_agreement.py`` compares pip in this process with ``python -m pip`` on some of the same wheels.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import io
import itertools
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.clients import find
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import windows_key
from wheelfix.archive.reader import Archive
from wheelfix.errors import WheelfixError
from wheelfix.exam.verify import verify
from wheelfix.loader.places import view_of_wheel
from wheelfix.model import Severity

SITE, SCRIPTS, HEADERS = "Lib/site-packages", "Scripts", "Include"
OWN_FILES = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"})
"""What installers write into the dist-info folder themselves."""


@dataclass(frozen=True)
class Installed:
    """What an installer made of a wheel."""

    refusal: str = ""
    """Why it was not installed; empty when it was."""
    files: Mapping[str, str] | None = None
    """The sha256 of each file, by its place in a prefix with the folders of Windows."""


def install_with(client: str, path: Path, folder: Path) -> Installed:
    """Install a wheel with one installer into an empty folder, and remove the folder again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    refusal = INSTALLERS[client](path, folder)
    files = None if refusal else {_windows(name): digest for name, digest in _digests(folder)}
    shutil.rmtree(folder)
    return Installed(refusal, files)


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for where, _, names in os.walk(folder):
        for name in names:
            file = Path(where, name)
            place = file.relative_to(folder).as_posix()
            if not (name in OWN_FILES and where.endswith(".dist-info")) and place != ".lock":
                yield place, hashlib.sha256(file.read_bytes()).hexdigest()


def _windows(place: str) -> str:
    """Return a path in a prefix as Windows has it: uv uses the layout of the Python that it installs for."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for ours, theirs in ((f"lib/{python}/site-packages", SITE), ("bin", SCRIPTS), (f"include/site/{python}", HEADERS)):
        if place.startswith(ours + "/"):
            return theirs + place[len(ours) :]
    return place


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings and prints of a library that is used as a program."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


# ------------------------------------------------------------------------------------------------- the installers


def pip_here(path: Path, prefix: Path) -> str:
    """pip, by the functions that ``pip install`` calls for one wheel without dependencies."""
    from pip._internal.metadata import get_wheel_distribution
    from pip._internal.metadata.base import FilesystemWheel
    from pip._internal.models.scheme import Scheme
    from pip._internal.models.wheel import Wheel
    from pip._internal.operations.install.wheel import install_wheel
    from pip._vendor.packaging.requirements import Requirement
    from pip._vendor.packaging.utils import canonicalize_name
    from pip._vendor.packaging.version import Version

    try:
        with _quietly():
            wheel = Wheel(path.name)
            Requirement(f"{wheel.name}=={wheel.version}")  # what pip makes of a file that it is given
            name = canonicalize_name(wheel.name)
            dist = get_wheel_distribution(FilesystemWheel(str(path)), name)
            if name != dist.canonical_name:
                return f"the name is {dist.canonical_name} in the metadata"
            if Version(wheel.version) != dist.version:
                return f"the version is {dist.version} in the metadata"
            list(dist.iter_dependencies(list(dist.iter_provided_extras())))
            _ = dist.requires_python
            scheme = Scheme(**_scheme(prefix, dist.raw_name))
            install_wheel(name, str(path), scheme, str(path), pycompile=False, warn_script_location=False)
    except Exception as error:  # each of them is a refusal
        return _in_words(error)
    return ""


def pip_program(path: Path, prefix: Path) -> str:
    """pip as a program, which takes a second."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--ignore-installed", "--prefix", str(prefix)]
    return _run([*command, str(path)])


def installer_here(path: Path, prefix: Path) -> str:
    """The library installer, which is told to check RECORD as well, as distributions of Linux do."""
    from installer import install
    from installer.destinations import SchemeDictionaryDestination
    from installer.sources import WheelFile

    written = set[str]()

    class OnWindows(SchemeDictionaryDestination):
        """Where two names that differ in case are one file; installer writes no file over another one."""

        def write_to_fs(self, scheme: Any, path: str, stream: Any, is_executable: bool) -> Any:
            target = windows_key(os.path.normpath(Path(self.scheme_dict[scheme], path)))
            if target in written:
                raise FileExistsError(f"File already exists: {path}")
            written.add(target)
            return super().write_to_fs(scheme, path, stream, is_executable)

    try:
        with _quietly(), WheelFile.open(path) as source:
            if any(
                name.rstrip("/") == source.data_dir for name in zipfile.ZipFile(path).namelist() if name[-1:] != "/"
            ):
                return "installer 1.1 never ends for a file that is named like the .data folder"
            source.validate_record(validate_contents=True)
            schemes = _scheme(prefix, source.distribution)
            destination = OnWindows(schemes, interpreter="python", script_kind="win-amd64")
            install(source, destination, additional_metadata={})
    except Exception as error:  # each of them is a refusal
        return _in_words(error)
    return ""


def _scheme(prefix: Path, name: str) -> dict[str, str]:
    site = str(prefix / SITE)
    return {
        "purelib": site,
        "platlib": site,
        "data": str(prefix),
        "scripts": str(prefix / SCRIPTS),
        "headers": str(prefix / HEADERS / name),
    }


def wheel_unpack(path: Path, folder: Path) -> str:
    """``wheel unpack``, which checks every file against RECORD."""
    from wheel._commands.unpack import unpack

    try:
        with _quietly():
            unpack(str(path), str(folder))
    except Exception as error:  # each of them is a refusal
        return _in_words(error)
    return ""


def uv_from_disk(path: Path, prefix: Path) -> str:
    """uv with a file."""
    return _uv(prefix, "--offline", str(path))


def uv_from_index(path: Path, prefix: Path) -> str:
    """uv with an address, from which it unpacks while it downloads."""
    root, address = served()
    number = next(_NUMBERS)  # an address that uv has not seen, or it would take the wheel from its cache
    copy = root / str(number) / path.name
    copy.parent.mkdir()
    shutil.copyfile(path, copy)
    try:
        return _uv(prefix, f"{address}/{number}/{quote(path.name)}")
    finally:
        copy.unlink()


def _uv(prefix: Path, *arguments: str) -> str:
    # The cache has what uv knows about this Python, which takes half a second; a wheel's path must be a new one.
    cache = str(served()[0] / "cache")
    options = ["--quiet", "--no-deps", "--no-index", "--no-config", "--cache-dir", cache, "--link-mode=copy"]
    command = [find("uv") or "uv", "pip", "install", *options, "--python", sys.executable]
    return _run([*command, "--prefix", str(prefix), *arguments])


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        env=_ENVIRONMENT,
    )
    return f"exit code {done.returncode}: {done.stdout}{done.stderr}"[:800] if done.returncode else ""


@functools.cache
def served() -> tuple[Path, str]:
    """A folder and the address under which it is served to this machine, for as long as the process runs."""
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix="wheelfix-served-")
    _SERVED.append(folder)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=folder.name)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Path(folder.name), f"http://127.0.0.1:{server.server_port}"


_SERVED: list[object] = []
_ENVIRONMENT = {**os.environ, "UV_HTTP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
_NUMBERS = itertools.count()

INSTALLERS: Mapping[str, Callable[[Path, Path], str]] = {
    "pip": pip_here,
    "pip-program": pip_program,
    "uv": uv_from_disk,
    "uv-index": uv_from_index,
    "installer": installer_here,
}


# ------------------------------------------------------------------------------------------------------------ agreement
# Whether verify and the installers say the same about a wheel.
#
# Agreement means: where verify finds nothing, every installer installs the wheel, and the same bytes at the same places
# that wheelfix looks at. Where an installer refuses the wheel or installs something else, verify reports an error, or a
# finding that names this installer. And where verify says that an installer refuses the wheel, it does.

CLIENTS = ("pip", "uv", "installer")
PROGRAMS = {"pip": ("pip",), "uv": ("uv-index", "uv"), "installer": ("installer",)}
"""The ways in which each is asked; that it refuses a wheel in one of them is enough."""


@dataclass(frozen=True)
class Verdict:
    """What verify says about a wheel."""

    refused: bool
    """An error was reported, or the file could not be read at all."""
    named: frozenset[str]
    """The installers that some finding names."""
    refused_by: frozenset[str]
    """The installers that are said to refuse it."""
    text: str

    @property
    def unsure(self) -> bool:
        """Whether another fault decides how far an installer comes: damaged members, odd line ends, a second
        RECORD, headers that contradict the directory."""
        return any(mark in self.text for mark in ("WF115", "end a line", "WF126", "in the header"))

    @property
    def clean(self) -> bool:
        return not self.refused and not self.named


def verdict_of(path: Path) -> Verdict:
    """Run verify."""
    try:
        findings = verify(path).findings
    except WheelfixError as error:
        return Verdict(True, frozenset(CLIENTS), frozenset(), str(error))
    texts = [f"{finding.code} {finding.severity}: {finding.message}" for finding in findings]
    by = {str(who) for finding in findings for who in finding.evidence.get("rejected_by") or ()}  # type: ignore[union-attr]
    return Verdict(
        any(finding.severity is Severity.ERROR for finding in findings),
        frozenset(client for client in CLIENTS if any(re.search(rf"\b{client}\b", text) for text in texts)),
        frozenset(by & {*CLIENTS}),
        "\n".join(texts),
    )


def looked_at(path: Path) -> dict[str, str]:
    """Return the sha256 of each file that wheelfix analyses, by its place."""
    with Archive.open(path) as archive:
        view = view_of_wheel(archive, WheelInfo.from_archive(archive))
        return {file.path: hashlib.sha256(file.open().read_at(0, file.size)).hexdigest() for file in view.files}


def disagreements(path: Path, folder: Path, clients: Sequence[str] = CLIENTS) -> Iterator[str]:
    """Give each point in which verify and an installer differ."""
    verdict = verdict_of(path)
    for client in clients:
        if verdict.refused and client not in verdict.refused_by:
            continue  # nothing is said about this installer
        refusal, what = "", ""
        for program in PROGRAMS[client]:
            result = install_with(program, path, folder)
            refusal = refusal or result.refusal
            if result.refusal:
                what = what or f"{program} refuses: {result.refusal}"
            elif not verdict.refused:
                difference = _difference(looked_at(path), dict(result.files or {}))
                what = what or (difference and f"{program} {difference}")
            if verdict.refused and refusal:
                break
        if what and not verdict.refused and client not in verdict.named:
            yield f"{what}; verify says: {verdict.text or 'nothing'}"
        if client in verdict.refused_by and not refusal and not verdict.unsure:
            yield f"{client} installs it; verify says: {verdict.text}"


def _difference(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Return what an installer put elsewhere; scripts of entry points and changed first lines are its own business."""
    for place, digest in ours.items():
        folder, _, name = place.rpartition("/")
        if folder.endswith(".dist-info") and name in OWN_FILES:
            continue
        if place not in theirs:
            return f"does not install {place!r}"
        if theirs[place] != digest and not place.startswith(SCRIPTS + "/"):
            return f"installs other bytes as {place!r}"
    more = [place for place in theirs if place not in ours and not place.startswith(SCRIPTS + "/")]
    return f"also installs {more[0]!r}" if more else ""
