"""What the block for an issue is made from on this machine: tools asked, files read, nothing imported."""

from __future__ import annotations

import functools
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.base.programs import find_program, run_program
from wheelfix.diagnosis.symptoms.report_block import InstalledDll, MachineFacts, SeenRoot
from wheelfix.errors import EnvironmentFailure
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.pe.version import read_version
from wheelfix.streams.source import FileSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.places import Environment
    from wheelfix.model import FileVersion
    from wheelfix.roots.root import Root

_PATIENCE = 10.0
_RUNTIME = ("vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll")


def describe_machine(environment: Environment | None, roots: Iterable[Root]) -> MachineFacts:
    """Return the facts of this machine and of an environment on it."""
    view = environment.view if environment else None
    return MachineFacts(
        tool=wheelfix.__version__,
        python=_python(environment),
        platform=platform.platform(),
        environ=dict(os.environ),
        environment=_environment(environment),
        read_text=(lambda path: view.read_text(f"{SITE_PACKAGES}/{path}")) if view else lambda path: None,
        dlls=tuple(_dlls(environment)) if environment else (),
        roots=tuple(SeenRoot(root.label, str(root.path), root.learned) for root in roots if root.kind != "pip"),
        runtime=tuple(_runtime(environment)),
        distributions={one.name.lower(): one.version for one in environment.distributions} if environment else {},
        which=find_program,
        run=run_quietly,
    )


def run_quietly(command: tuple[str, ...]) -> str | None:
    """Run a tool for a moment and return what it printed on both streams; None when it cannot be run."""
    program = find_program(command[0])
    if program is None:
        return None
    try:
        return run_program([program, *command[1:]], timeout=_PATIENCE, max_output=1 << 16).text
    except EnvironmentFailure:
        return None


def _python(environment: Environment | None) -> str:
    """The Python in question: that of the environment, as far as its files tell, else the one we run on."""
    if environment is not None:
        version = ".".join(map(str, environment.python)) if environment.python else "unknown version"
        return f"{version}, {environment.prefix}"
    bits = "64 bit" if sys.maxsize > 1 << 32 else "32 bit"
    return f"{platform.python_version()}, {bits}, {sys.executable}"


def _environment(environment: Environment | None) -> str:
    if environment is None:
        return ""
    prefix = environment.prefix
    kind = (
        "conda"
        if (prefix / "conda-meta").is_dir()
        else "venv"
        if (prefix / "pyvenv.cfg").is_file()
        else "Python installation"
        if (prefix / "python.exe").is_file()
        else "folder of packages"
    )
    return f"{prefix} ({kind})"


def _dlls(environment: Environment) -> Iterator[InstalledDll]:
    """The vendors' DLLs of an environment, with where they lie."""
    for file in environment.view.files:
        name = base_name(file.path)
        if name.lower().endswith(".dll") and family_of(name) is not None:
            version = functools.partial(_version_in, environment, file.path)
            yield InstalledDll(name, parent(file.path).replace("/", "\\"), file.size, version)


def _version_in(environment: Environment, path: str) -> FileVersion | None:
    return read_version(environment.view.source(path))


def _runtime(environment: Environment | None) -> Iterator[InstalledDll]:
    """The C++ runtime in System32 and in the environment."""
    windows = os.environ.get("SYSTEMROOT", "") if os.name == "nt" else ""
    for name in _RUNTIME if windows else ():
        path = Path(windows) / "System32" / name
        if path.is_file():
            yield InstalledDll(name, str(path.parent), path.stat().st_size, functools.partial(_version_at, path))
    for file in environment.view.files if environment else ():
        name = base_name(file.path)
        if classify(name).kind == "vcredist" and not file.path.startswith(SITE_PACKAGES):
            assert environment is not None
            version = functools.partial(_version_in, environment, file.path)
            yield InstalledDll(name, parent(file.path).replace("/", "\\"), file.size, version)


def _version_at(path: Path) -> FileVersion | None:
    return read_version(FileSource(path))
