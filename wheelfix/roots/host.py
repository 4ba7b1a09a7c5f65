"""The machine as discovery sees it, and who else can put DLLs into its folders.

It is a value that tests can make up and :func:`this_machine` reads for real.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import site
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import ACCESS_LIST, security_descriptor
from wheelfix.base.parsing import close_words
from wheelfix.base.values import distinct, field, frozen, replace
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.knowledge.cards import (
    capability_of_arch,
    close_names,
    known_archs,
    named_cards,
    namesakes_of,
    other_arch,
)
from wheelfix.roots import root as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wheelfix.roots.root import Root


@frozen
class RegistryKey:
    """What one key of the Windows registry holds."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Text values by name."""
    subkeys: tuple[str, ...] = ()
    """Names of the keys below it."""


@frozen
class Host:
    """Where a machine keeps what discovery asks for; nothing in it is looked up again."""

    env: Mapping[str, str] = field(default_factory=dict)
    """The environment variables."""
    os_name: str = "posix"
    """``nt`` or ``posix``, as :data:`os.name` has it."""
    program_files: tuple[Path, ...] = ()
    """``Program Files`` and ``Program Files (x86)``, in this order."""
    program_data: Path | None = None
    """``C:\\ProgramData``."""
    home: Path | None = None
    """The user's own folder."""
    drives: tuple[Path, ...] = ()
    """Other disks of this machine than that of Windows: ``D:\\``."""
    prefixes: tuple[tuple[Path, str], ...] = ()
    """Python environments of this machine, each with how it was found."""
    registry: Callable[[str], RegistryKey | None] = lambda _path: None
    """Reads a key such as ``HKLM\\SOFTWARE\\NVIDIA Corporation``."""
    descriptor: Callable[[Path], str] = lambda _path: ""
    """Reads the access list of a folder as SDDL text; empty where there is none."""
    conda_info: Callable[[], str] = lambda: ""
    """Asks conda where its environments and package caches are, as JSON; empty where it does not answer."""

    @property
    def scoop(self) -> tuple[Path, ...]:
        """The folders in which scoop installs, for the user and for all."""
        own = self.variable("SCOOP") or (self.home / "scoop" if self.home is not None else "")
        everybody = self.variable("SCOOP_GLOBAL") or (self.program_data / "scoop" if self.program_data else "")
        return tuple(Path(folder) for folder in (own, everybody) if folder)

    def variable(self, name: str) -> str:
        """Return an environment variable without quotes and spaces around it; empty when it is not set."""
        value = self.env.get(name)
        if value is None:
            wanted = name.upper()
            value = next((text for key, text in self.env.items() if key.upper() == wanted), "")
        return value.strip().strip('"').strip()


def this_machine() -> Host:
    """Return the machine we run on."""
    env = dict(os.environ)
    host = Host(env=env, os_name=os.name, home=_home(), prefixes=tuple(_prefixes(env)), conda_info=_ask_conda)
    if os.name != "nt":
        return host
    # The variable W6432 names the 64-bit folder even for a 32-bit Python.
    names = ("ProgramW6432", "ProgramFiles", "ProgramFiles(x86)")
    folders = dict.fromkeys(Path(text) for text in map(host.variable, names) if text)
    data = host.variable("ProgramData")
    return replace(
        host,
        program_files=tuple(folders),
        program_data=Path(data) if data else None,
        drives=_other_drives(host.variable("SystemDrive")),
        registry=_read_registry,
        descriptor=functools.partial(security_descriptor, part=ACCESS_LIST),
    )


_CONDA_SECONDS = 10
"""For which conda is waited; it answers in about one second."""


def _ask_conda() -> str:
    """Return what ``conda info --json`` prints, for the conda that is active or on PATH."""
    own = os.environ.get("CONDA_EXE", "")
    program = own if Path(own).is_absolute() and Path(own).is_file() else "conda"
    try:
        return _answer(program, ("info", "--json"), _CONDA_SECONDS)
    except EnvironmentFailure:
        return ""


def _answer(program: str, words: Sequence[str], seconds: float) -> str:
    """Return what a program prints; EnvironmentFailure with the reason if it gives no answer."""
    from wheelfix.base.programs import find_program, run_program

    path = program if Path(program).is_absolute() else find_program(program)
    if path is None:
        raise EnvironmentFailure(f"{program} gives no answer (it is not on PATH)")
    done = run_program([path, *words], timeout=seconds)
    if done.code:
        raise EnvironmentFailure(f"{program} gives no answer (exit code {done.code})")
    return done.out


def _other_drives(own: str) -> tuple[Path, ...]:
    """Return the fixed disks of a Windows machine but for its own; shares and removable ones are not looked at."""
    found: list[Path] = []
    if sys.platform == "win32":
        import ctypes

        for letter in "CDEFGHIJKLMNOPQRSTUVWXYZ":
            drive = f"{letter}:\\"
            if drive[:2] != own.upper() and ctypes.windll.kernel32.GetDriveTypeW(drive) == _FIXED:
                found.append(Path(drive))
    return tuple(found)


_FIXED = 3
"""DRIVE_FIXED of GetDriveTypeW."""


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _prefixes(env: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if venv := env.get("VIRTUAL_ENV", ""):
        yield Path(venv), "environment variable VIRTUAL_ENV"
    yield Path(sys.prefix), "the running Python"
    if sys.base_prefix != sys.prefix:
        yield Path(sys.base_prefix), "the base of the running Python"
    if userbase := site.getuserbase():
        yield Path(userbase), "the user's site-packages"


def _read_registry(path: str) -> RegistryKey | None:
    """Return a key of the real registry, from its 64-bit view; None when it is absent or closed to us."""
    # Imported by name, because the module exists on Windows alone and type checkers look at every platform.
    winreg = importlib.import_module("winreg")
    hive_name, _, below = path.partition("\\")
    hives = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}
    try:
        key = winreg.OpenKey(hives[hive_name], below, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY)
    except OSError:
        return None
    with key:
        count_subkeys, count_values, _ = winreg.QueryInfoKey(key)
        subkeys = tuple(str(winreg.EnumKey(key, index)) for index in range(count_subkeys))
        rows = [winreg.EnumValue(key, index) for index in range(count_values)]
    return RegistryKey({name: text for name, text, _ in rows if isinstance(text, str)}, subkeys)


OTHERS = {
    "WD": "everyone",
    "S-1-1-0": "everyone",
    "AU": "all authenticated users",
    "S-1-5-11": "all authenticated users",
    "BU": "all users of this machine",
    "S-1-5-32-545": "all users of this machine",
    "IU": "all users of this machine",
    "S-1-5-4": "all users of this machine",
    "BG": "guests",
    "S-1-5-32-546": "guests",
    "AN": "anonymous users",
    "S-1-5-7": "anonymous users",
}
"""Trustees of an access list that stand for people other than the owner and the administrators."""

_WRITING_WORDS = frozenset({"GA", "GW", "FA", "FW", "SD", "WD", "WO", "DC", "DT"})
# Add or change files, delete children, delete, change permissions or the owner, generic all and write. The right to
# add subfolders (4) is not among them: it puts no DLL where one would be taken from.
_WRITING_BITS = 0x0002 | 0x0040 | 0x10000 | 0x40000 | 0x80000 | 0x10000000 | 0x40000000


def with_warnings(root: Root, host: Host) -> Root:
    """Return the root with a warning for each of its folders that others can write to."""
    warnings = distinct((*root.warnings, *_warnings(root, host)))
    return replace(root, warnings=warnings)


def _warnings(root: Root, host: Host) -> Iterator[str]:
    if root.is_file:
        paths = [root.path, root.path.parent]
    else:
        paths = [root.path, *(root.path / entry.path for entry in root.folders if entry.path != ".")]
    for path in paths:
        if who := writers(path, host):
            yield f"{who} can write to {path}"
    if host.os_name != "nt" and (loose := _loose_parent(root.path)) is not None:
        yield f"any user of this machine can replace it, because they can write to {loose}"


def writers(path: Path, host: Host) -> str:
    """Return who, beside owner and administrators, can write to a path; empty when no one can or that is not known."""
    if host.os_name == "nt":
        return ", ".join(writers_by_descriptor(host.descriptor(path)))
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    return "any user of this machine" if mode & stat.S_IWOTH else ""


def _loose_parent(path: Path) -> Path | None:
    """Return the nearest folder above in which anyone may rename anything; sticky ones such as /tmp do not count."""
    for parent in tree.real(path).parents:
        try:
            mode = parent.stat().st_mode
        except OSError:
            continue
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return parent
    return None


def writers_by_descriptor(sddl: str) -> tuple[str, ...]:
    """Return the others to whom an access list in SDDL gives writing rights."""
    access = re.search(r"D:([^()]*)((?:\([^()]*\))*)", sddl)
    if access is None:
        return ()
    if "NO_ACCESS_CONTROL" in access[1]:
        return ("everyone",)
    allowed: dict[str, None] = {}
    for entry in re.findall(r"\(([^()]*)\)", access[2]):
        fields = entry.split(";")
        if len(fields) >= 6 and fields[0] in ("A", "XA") and fields[5] in OTHERS and _writes(fields[2]):
            allowed[OTHERS[fields[5]]] = None
    return tuple(allowed)


def _writes(rights: str) -> bool:
    if rights[:2].lower() == "0x":
        try:
            return bool(int(rights, 16) & _WRITING_BITS)
        except ValueError:
            return False
    return any(rights[index : index + 2] in _WRITING_WORDS for index in range(0, len(rights), 2))


_ASK_DRIVER = ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")


@functools.cache
def card_arch(text: str, ask: Callable[[], str] | None = None) -> str:
    """Return the architecture, as ``sm_86``, that ``8.6``, ``K40c``, ``RTX 5070`` or ``native`` stands for.

    AMD's are ``gfx1100`` and its like, Intel's ``intel_bmg-g21``. ``native`` asks the driver of this machine; several
    cards in it must be alike. UsageError for a word that no table knows, EnvironmentFailure where no driver answers.
    """
    word = text.strip()
    if word.lower() == "native":
        return _native((ask or _ask_driver)())
    if arch := _architecture(text, word):
        return arch
    cards = named_cards(word)
    archs = distinct(arch for card in cards for arch in card.archs)
    if not cards:
        close = close_names(word)
        hint = f"did you mean {' or '.join(close)}?" if close else "give the architecture instead: sm_86, 8.6, gfx1100"
        raise UsageError(f"--gpu {text}", because="no table knows that card", hint=hint)
    if namesakes := namesakes_of(word, cards):
        raise UsageError(
            f"--gpu {text}", because="several cards are called that", hint=f"say which: {', '.join(namesakes)}"
        )
    if len(archs) > 1:
        raise UsageError(
            f"--gpu {text}",
            because=f"that name stands for chips of several architectures ({', '.join(archs)})",
            hint=f"choose one: --gpu {archs[0]}",
        )
    return archs[0]


def _architecture(text: str, word: str) -> str:
    """Return the architecture of a word that is one; empty for other words, UsageError for one that does not exist."""
    other = other_arch(word)
    capability = capability_of_arch(word)
    name = other or ("sm_{}{}".format(*capability) if capability else "")
    if not name or name in known_archs():
        return name
    if named_cards(word):  # 580 has the form of an architecture
        return ""
    close = close_words(name, sorted(known_archs()), 5)
    hint = f"did you mean {' or '.join(close)}?" if close else "give the name of the card instead"
    raise UsageError(f"--gpu {text}", because=f"no table knows the architecture {name}", hint=hint)


def _native(answer: str) -> str:
    found = sorted({line.strip() for line in answer.splitlines() if re.fullmatch(r"\s*[0-9]{1,3}\.[0-9]\s*", line)})
    if not found:
        raise EnvironmentFailure("--gpu native", because="the driver names no card", hint="give the card: --gpu sm_86")
    if len(found) > 1:
        raise UsageError(
            "--gpu native",
            because=f"this machine has cards of different architectures ({', '.join(found)})",
            hint=f"choose one: --gpu {found[0]}",
        )
    major, _, minor = found[0].partition(".")
    return f"sm_{major}{minor}"


def _ask_driver() -> str:
    try:
        return _answer(_ASK_DRIVER[0], _ASK_DRIVER[1:], 30)
    except EnvironmentFailure as error:
        hint = "give the card: --gpu sm_86"
        raise EnvironmentFailure("--gpu native", because=str(error), hint=hint) from error
