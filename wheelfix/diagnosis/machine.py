"""The block to paste into an issue: what is installed where, read from files and a few quick questions to tools.

Nothing is imported and no DLL is loaded to find out. Whatever asks the machine comes in from outside, so that tests can
be any machine; names of users are masked in all of it.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.base.parsing import regex
from wheelfix.base.programs import find_program, run_program
from wheelfix.base.values import field, frozen, replace
from wheelfix.errors import EnvironmentFailure
from wheelfix.knowledge.families import family_of, is_openmp
from wheelfix.knowledge.system import classify
from wheelfix.loader.view import SITE_PACKAGES, ViewFile, base_name, parent
from wheelfix.pe.version import read_version
from wheelfix.streams.source import FileSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wheelfix.loader.places import Environment
    from wheelfix.model import FileVersion
    from wheelfix.roots.root import Root

MASK = "<user>"
# Folders below Users that do not belong to one user.
_NOBODY = r"(?:Public|Default(?: User)?|All Users|Shared|runneradmin|ContainerAdministrator|%\w+%|<user>)"
_HOMES = regex(
    r"(?P<home>(?:^|(?<=[\s\"'=;,(\[<:]))(?:[A-Za-z]:|\\\\\?\\[A-Za-z]:)?"
    r"(?P<slash>[\\/]{1,2})(?:Users|home|Documents and Settings)(?P=slash))"
    rf"(?!{_NOBODY}(?:[\\/]|\s|$|[\"';,]))"
    # A name may have blanks, but it can be told apart from the sentence around it only where a slash follows.
    r"(?:[^\\/\"'<>|:*?;\r\n]{1,64}(?=[\\/])|[^\\/\s\"'<>|:*?;,)]{1,64})",
    re.IGNORECASE,
)


def mask_users(text: str, names: tuple[str, ...] = ()) -> str:
    """Return a text with ``<user>`` for the user whose folder a path lies in.

    ``names`` are user names that are masked wherever they are a whole part of a path.
    """
    text = _HOMES.sub(lambda found: found["home"] + MASK, text)
    for name in names:
        text = re.sub(rf"(?i)(?<=[\\/]){re.escape(name)}(?=[\\/\s\"']|$)", MASK, text)
    return text


def user_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names under which the user is known to the system; very short ones would mask ordinary folders."""
    found = (environ.get(name, "") for name in ("USERNAME", "USER", "LOGNAME"))
    return tuple(dict.fromkeys(name for name in found if len(name) > 2 and name.lower() not in ("root", "user")))


_SHOWN = 40
ASSIGNMENT = r"^{name}\s*(?::[^=\n]*)?=\s*(?:['\"]([^'\"\n]+)['\"]|(True|False))"
TOOLS = {
    "python": (("python", "--version"), r"Python ([\w.+]+)"),
    "cl": (("cl",), r"(?<!\d)(\d{1,6}\.\d{1,6}\.\d{1,6}(?:\.\d{1,6})?)"),
    "nvcc": (("nvcc", "--version"), r"\bV(\d+\.\d+\.\d+)"),
}
"""How a tool is asked for its version, and where the answer has it."""


@frozen
class InstalledDll:
    """A DLL of the environment or the wheel."""

    name: str
    folder: str
    """As a person would name it: ``Lib\\site-packages\\torch\\lib``."""
    size: int
    version: Callable[[], FileVersion | None]
    """Reads its version resource."""


@frozen
class MachineFacts:
    """Everything that the block is made from."""

    tool: str = ""
    """Our own name and version."""
    python: str = ""
    platform: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    """The prefix in question, with what it is."""
    read_text: Callable[[str], str | None] = lambda name: None
    """Reads a file below site-packages: ``torch/version.py``."""
    dlls: tuple[InstalledDll, ...] = ()
    roots: tuple[str, ...] = ()
    """The toolkits on the machine, each with its folder and how it is known."""
    runtime: tuple[InstalledDll, ...] = ()
    """The Visual C++ runtime's files that the machine and the environment have."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """Installed distributions with their versions."""
    which: Callable[[str], str | None] = lambda name: None
    """Finds a program on PATH."""
    run: Callable[[tuple[str, ...]], str | None] = lambda command: None
    """Runs a program and returns what it printed; None when it is not there or does not answer."""


@frozen
class ReportBlock:
    """The rows of the block, masked."""

    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "\n".join(self.lines()) + "\n"

    def lines(self) -> list[str]:
        """Return a line for each row."""
        width = max((len(label) for label, _ in self.rows), default=0)
        lines = []
        before = ""
        for label, text in self.rows:
            lines.append(f"{'' if label == before else label:<{width}}  {text}".rstrip())
            before = label
        return lines


def collect(machine: MachineFacts, names: Iterable[str] = (), more: Iterable[tuple[str, str]] = ()) -> ReportBlock:
    """Return the block; ``names`` are the DLLs in question, whose whole families are listed.

    ``more`` are rows of others to put at the end, such as the error and its cause.
    """
    rows: list[tuple[str, str]] = [
        ("wheelfix", machine.tool),
        ("Python", machine.python),
        ("platform", machine.platform),
        ("environment", machine.environment),
        *_torch(machine),
        *_tools(machine),
        *_cuda(machine),
        *(("VC++ runtime", _dll(dll)) for dll in machine.runtime),
        *_gpu(machine),
        *(("DLL", _dll(dll)) for dll in _family(machine, tuple(names))),
        *more,
    ]
    users = user_names(machine.environ)
    return ReportBlock(tuple((label, mask_users(text, users)) for label, text in rows if text))


# ------------------------------------------------------------------------------------------------------------- torch


def _torch(machine: MachineFacts) -> list[tuple[str, str]]:
    """torch's version and what it was built for, from its own version.py, and its relatives."""
    text = machine.read_text("torch/version.py")
    if text is None:
        return []
    version = _value(text, "__version__") or machine.distributions.get("torch", "unknown version")
    cuda = _value(text, "cuda")
    hip = _value(text, "hip")
    built = f"CUDA {cuda}" if cuda else f"ROCm {hip}" if hip else "CPU only"
    words = [version, f"built for {built}"]
    cudnn = sorted({dll.name for dll in machine.dlls if re.fullmatch(r"cudnn64_\d+\.dll", dll.name.lower())})
    words += [f"cuDNN {name[8:-4]} ({name})" for name in cudnn]
    debug = _value(text, "debug")
    words += ["debug build"] if debug == "True" else []
    relatives = ("torchvision", "torchaudio", "numpy", "mkl", "intel-openmp", "xformers", "onnxruntime-gpu")
    beside = [f"{name} {machine.distributions[name]}" for name in relatives if name in machine.distributions]
    return [("torch", ", ".join(words)), *([("beside it", ", ".join(beside))] if beside else [])]


def _value(text: str, name: str) -> str:
    """The value of an assignment in a version file; empty for None and for what is not there."""
    found = re.search(ASSIGNMENT.format(name=name), text, re.MULTILINE)
    return (found[1] or found[2]) if found else ""


# ------------------------------------------------------------------------------------------------------------- tools


def _tools(machine: MachineFacts) -> list[tuple[str, str]]:
    """Where python, cl and nvcc come from, and their versions."""
    rows = []
    for name, (command, pattern) in TOOLS.items():
        where = machine.which(name)
        if where is None:
            rows.append((name, "not on PATH"))
            continue
        found = re.search(pattern, machine.run(command) or "")
        rows.append((name, f"{found[1]}, {where}" if found else where))
    return rows


def _cuda(machine: MachineFacts) -> list[tuple[str, str]]:
    """The toolkits and which of them wins, for builds and for torch."""
    rows = [("root", root) for root in machine.roots]
    nvcc = machine.which("nvcc")
    text = machine.read_text("torch/version.py") or ""
    cuda = _value(text, "cuda")
    if nvcc:
        flavour = PureWindowsPath if "\\" in nvcc else PurePosixPath
        rows.append(("CUDA that wins", f"{flavour(nvcc).parent.parent} for builds (nvcc on PATH)"))
    if cuda:
        variable = f"CUDA_PATH_V{cuda.replace('.', '_')}"
        vendored = [dll for dll in machine.dlls if dll.name.lower().startswith("cudart64")]
        if vendored:
            more = f"none for torch: it has {vendored[0].name} in {vendored[0].folder}"
        elif variable in machine.environ:
            more = f"{machine.environ[variable]} for torch ({variable})"
        else:
            more = f"the default folder of CUDA {cuda} for torch ({variable} is not set)"
        rows.append(("CUDA that wins", more))
    return rows


def _gpu(machine: MachineFacts) -> list[tuple[str, str]]:
    query = ("nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader")
    text = machine.run(query) if machine.which("nvidia-smi") else None
    rows = []
    for line in (text or "").splitlines()[:8]:
        parts = [part.strip() for part in line.split(",")]
        if len(parts) >= 2 and re.match(r"\d+\.\d+", parts[1]):
            capability = f", compute capability {parts[2]}" if len(parts) > 2 and parts[2] else ""
            rows.append(("GPU", f"{parts[0]}, driver {parts[1]}{capability}"))
    return rows or [("GPU", "nvidia-smi does not answer")]


# -------------------------------------------------------------------------------------------------------------- DLLs


def _family(machine: MachineFacts, names: tuple[str, ...]) -> list[InstalledDll]:
    """The DLLs of the environment that belong to the families in question."""
    wanted = {family.group for name in names if (family := family_of(name))}
    openmp = any(is_openmp(name) for name in names)
    exact = {name.lower() for name in names}
    found = []
    for dll in machine.dlls:
        group = family_of(dll.name).group
        if dll.name.lower() in exact or group in wanted or (openmp and is_openmp(dll.name)):
            found.append(dll)
    return sorted(found, key=lambda dll: (dll.name.lower(), dll.folder))[:_SHOWN]


def _dll(dll: InstalledDll) -> str:
    version = dll.version()
    more = f" {version}" if version is not None else ""
    return f"{dll.name}{more}, {dll.size} bytes, {dll.folder or '.'}"


# -------------------------------------------------------------------------------------------------------- this machine


_PATIENCE = 10.0


def describe_machine(environment: Environment | None, roots: Iterable[Root]) -> MachineFacts:
    """Return the facts of this machine and of an environment on it."""
    bits = "64 bit" if sys.maxsize > 1 << 32 else "32 bit"
    facts = MachineFacts(
        tool=wheelfix.__version__,
        python=f"{platform.python_version()}, {bits}, {sys.executable}",
        platform=platform.platform(),
        environ=dict(os.environ),
        roots=tuple(f"{root.label}, {root.path} ({root.learned})" for root in roots if root.kind != "pip"),
        runtime=tuple(_system_runtime()),
        which=find_program,
        run=run_quietly,
    )
    if environment is None:
        return facts
    view, prefix = environment.view, environment.prefix
    found = [(file, base_name(file.path)) for file in view.files]
    own = [file for file, name in found if name.lower().endswith(".dll") and family_of(name)]
    outside = [(file, name) for file, name in found if not file.path.startswith(SITE_PACKAGES)]
    runtime = [file for file, name in outside if classify(name).kind == "vcredist"]
    version = ".".join(map(str, environment.python)) if environment.python else "unknown version"
    kinds = {"conda-meta": "conda", "pyvenv.cfg": "venv", "python.exe": "Python installation"}
    kind = next((kind for name, kind in kinds.items() if (prefix / name).exists()), "folder of packages")
    return replace(
        facts,
        python=f"{version}, {prefix}",
        environment=f"{prefix} ({kind})",
        read_text=lambda path: view.read_text(f"{SITE_PACKAGES}/{path}"),
        dlls=tuple(_installed(environment, file) for file in own),
        runtime=(*facts.runtime, *(_installed(environment, file) for file in runtime)),
        distributions={one.name.lower(): one.version for one in environment.distributions},
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


def _installed(environment: Environment, file: ViewFile) -> InstalledDll:
    folder = parent(file.path).replace("/", "\\")
    version = functools.partial(lambda path: read_version(environment.view.source(path)), file.path)
    return InstalledDll(base_name(file.path), folder, file.size, version)


def _system_runtime() -> Iterator[InstalledDll]:
    """The C++ runtime in System32."""
    windows = os.environ.get("SYSTEMROOT", "") if os.name == "nt" else ""
    for name in ("vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll") if windows else ():
        path = Path(windows) / "System32" / name
        if path.is_file():
            version = functools.partial(lambda path: read_version(FileSource(path)), path)
            yield InstalledDll(name, str(path.parent), path.stat().st_size, version)
