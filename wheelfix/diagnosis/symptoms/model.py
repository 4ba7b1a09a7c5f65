"""What a text or a recording says about loads, free of the language and the form in which it says it."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, TypeVar

from wheelfix.base.parsing import regex
from wheelfix.base.values import field, frozen
from wheelfix.knowledge.tables import Checker
from wheelfix.model import Word, dll_key, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_Row = TypeVar("_Row")


class Confidence(Word):
    """How far a statement can be trusted; the order is the order of trust."""

    SURE = "sure"
    LIKELY = "likely"
    GUESS = "guess"


@frozen
class TextLimits:
    """How much of a log is read before the reader stops; the defaults serve any log a person would keep."""

    max_bytes: int = 1 << 30
    """Bytes read at most; the rest is not read, and ``Log.stopped`` says so."""
    max_line: int = 4096
    """Characters of a line that are looked at in one piece; longer ones come in overlapping pieces."""
    max_symptoms: int = 200
    """Different symptoms kept at most."""
    max_work: int = 50_000
    """Forms tried on different lines at most, so that a hostile log cannot take for ever."""


@frozen
class Symptom:
    """One error that a text reports."""

    kind: str
    """``torch-load``, ``dll-load-failed``, ``could-not-locate``, …: the form it was printed in."""
    code: int | None = None
    """The Windows error code, NTSTATUS or exception code; None when neither printed nor known from the sentence."""
    path: str | None = None
    """The file that the text says failed to load, as a Windows path or a bare name."""
    dlls: tuple[str, ...] = ()
    """DLLs that the text itself names as absent or at fault, besides ``path``."""
    module: str = ""
    """The Python module whose import failed, as printed."""
    package: str = ""
    """The top-level package in whose files it happened, from the path or the traceback."""
    language: str = ""
    """The display language, such as ``de``; empty when the text does not say."""
    line: int = 0
    """Where in the text it begins, counted from 1."""
    excerpt: str = ""
    """The line as it stood there, without colours and prefixes."""
    confidence: Confidence = Confidence.SURE
    """How sure it is that the text says this."""
    details: Mapping[str, str] = field(default_factory=dict)
    """What only some kinds have: ``symbol``, ``capability``, ``supported``, ``built``, ``running``, …"""
    count: int = 1
    """How often the text says it."""
    survived: bool = False
    """Whether it was printed as a warning, after which the program went on."""
    raised: bool = False
    """Whether it is the exception of a traceback; other lines are printed by libraries."""

    @property
    def file(self) -> str:
        """The base name of ``path``, or nothing."""
        return PureWindowsPath(self.path).name if self.path else ""

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two symptoms the same one."""
        names = tuple(sorted(fold(name) for name in self.dlls))
        said = next((self.details[name] for name in ("message", "cause", "program") if name in self.details), "")
        return (self.kind, self.code, fold(self.path or ""), names, self.module, self.details.get("symbol", ""), said)


@frozen
class Ending:
    """The last exception of a text: what ended the program, where nothing comes after it."""

    start: int
    """The line in which its traceback begins, with those of the exceptions that it was raised from."""
    line: int
    text: str
    """The exception, as it was printed."""
    packages: frozenset[str] = frozenset()
    """The packages whose files the traceback goes through."""

    def has(self, symptom: Symptom) -> bool:
        """Whether a symptom is a part of it: in its traceback, or in the lines that its message goes on with."""
        return self.start <= symptom.line

    def is_about(self, symptom: Symptom) -> bool:
        """Whether it can follow from a symptom before it: the package of the symptom has a part in it."""
        package = symptom.package or symptom.module.partition(".")[0]
        return bool(package) and (package in self.packages or package.lower() in self.text.lower())


@frozen
class ErrorLine:
    """The line with the error that ended a program or a build, whatever it says."""

    line: int
    text: str
    """The line, with those that its message goes on in."""
    installed: bool = False
    """Whether the traceback goes through the files of an installed package."""
    part: str = ""
    """``output`` for the last line of what a build script printed, without a word that it is an error; ``cut`` for the
    last frame of a traceback whose end, with the error, is not in the text; ``warned`` for a warning, where there is no
    error, and ``said`` for a line that only sounds like one."""
    above: str = ""
    """The lines above it: the step of a build that it ended, or the frame of its traceback."""


@frozen
class Log:
    """A text after reading: what it says and how much of it was read."""

    symptoms: tuple[Symptom, ...] = ()
    encoding: str = "utf-8"
    """What the bytes were read as; ``str`` when the text came decoded."""
    size: int = 0
    """Bytes (or characters) read."""
    lines: int = 0
    stopped: str = ""
    """Why reading stopped before the end; empty when it did not."""
    ending: Ending | None = None
    """The last exception, whether or not it is known here; None when the text has no traceback near its end."""
    error: ErrorLine | None = None
    """What ended the program or the build; None where no line looks like it, and for texts of other systems."""
    named: tuple[str, ...] = ()
    """DLLs that the last part of the text names, in whatever words."""
    prefixes: tuple[str, ...] = ()
    """The environments that the files of its tracebacks lie in."""
    tail: tuple[str, ...] = ()
    """The last lines, cleaned; of a usual text all of them."""
    tail_start: int = 1
    """The number of the first of them."""
    facts: tuple[str, ...] = ()
    """What it says about the machine, in a few words each: ``numpy 1.19.2``, ``RTX 5070 (sm_120)``."""
    said: Mapping[str, str] = field(default_factory=dict)
    """The same for causes and remedies, by the names of the table of forms."""


@frozen
class Remedy:
    """One thing to try."""

    title: str
    command: str
    """What can be pasted into a console; empty when there is no command for it."""
    why: str
    """What it does, and why that helps."""
    danger: str = ""
    """What it can break, for the last resorts."""
    rank: int = 0
    """1 is to be tried first."""
    when: str = ""
    """What has to hold for it to help; empty when nothing beyond the cause itself."""
    needs: tuple[str, ...] = ()
    """The same for machines: names of needs in ``causes.toml``. Known not to hold, it drops the remedy."""
    id: str = ""
    """Its name in ``causes.toml``."""
    tried: str = ""
    """What a text has in it, in lower case, that shows it to have been tried: a pattern."""
    against: str = ""
    """The same for what shows that it cannot help, such as a release that is too old for it."""


@frozen
class Cause:
    """What a symptom comes from."""

    id: str
    summary: str
    what_is_known: str
    likely_missing: tuple[str, ...]
    """DLLs that are absent, most likely first; patterns where the version is not known. Empty when none is."""
    confidence: Confidence
    next_steps: tuple[Remedy, ...]


@cache
def read_table(name: str) -> Checker:
    """Return a table that lies beside this module."""
    return Checker(name, resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))


def table_rows(key: str, kind: type[_Row], *tables: str) -> tuple[_Row, ...]:
    """Return the rows under a key of such tables as values of a class; what they say is a matter for the tests."""
    found: list[_Row] = []
    for check in map(read_table, tables):
        found += check.values(key, kind, sourced="source" in kind.__annotations__) if key in check.tree else ()
        check.finish()
    return tuple(found)


_SITE = regex(
    r"(?P<prefix>.+?)[\\/]{1,2}(?:Lib[\\/]{1,2}(?:python3\.\d{1,2}[\\/]{1,2})?)?site-packages(?:[\\/]|$)", re.IGNORECASE
)


_KINDS = tuple(
    (kind, words, regex(pattern, re.IGNORECASE))
    for kind, words, pattern in (
        ("", "the user's own folder", r"\\AppData\\Roaming\\Python"),
        ("venv", "virtual environment", r"[\\/]Users[\\/][^\\/]{1,80}[\\/]envs[\\/]"),
        ("conda", "conda environment", r"conda|miniforge|mambaforge|micromamba|[\\/]envs[\\/]"),
        ("venv", "virtual environment", r"[\\/]\.?v?env$|[\\/](?:uv[\\/]tools|pipx[\\/]venvs)[\\/]"),
        ("embedded", "embedded Python", "embed"),
        ("msys2", "MSYS2", "msys64|mingw64|ucrt64"),
        ("installed", "", r"[\\/]Python3\d{1,2}(?:-32|-arm64)?$|PythonSoftwareFoundation|[\\/]Blender"),
    )
)
"""Kinds of environments, by their folders: for the needs of remedies, in words, and how they are recognised.

virtualenvwrapper keeps its environments in the folder Envs of the user.
"""


def environment_kind(prefix: str) -> tuple[str, str]:
    """Return which kind of environment a folder is, and the same in words; nothing where it does not show."""
    return next(((kind, words) for kind, words, pattern in _KINDS if pattern.search(prefix)), ("", ""))


def environment_prefix(path: str) -> str:
    """Return the environment that a path lies in, as far as ``Lib\\site-packages`` in it says; or nothing."""
    found = _SITE.match(path)
    return str(PureWindowsPath(found.group("prefix"))) if found else ""


# ------------------------------------------------------------------------------------------- names and paths in a text


_NAME_RUN = regex(r"[A-Za-z0-9_.+-]+")
_NAME_END = regex(r"\.(?:dll|pyd)(?![A-Za-z0-9_])", re.IGNORECASE)
_LONGEST_NAME = 124
_SITE_PACKAGES = regex(
    r"[\\/](?:site|dist)-packages[\\/](?:[\w.+-]{1,120}\.egg[\\/])?([A-Za-z_][\w.-]*)(?:[\\/](\w+)(?=[\\/]))?",
    re.IGNORECASE,
)
_NAMESPACES = frozenset({"azure", "backports", "google", "mpl_toolkits", "nvidia", "ruamel", "sphinxcontrib", "zope"})
"""Packages that several distributions share."""
_QUOTED = regex(
    r"""\\?["'“‘](?P<path>(?:[A-Za-z]:|\\\\|\.)[\\/][^"'“”‘’:]{1,700}(?:['‘’][^"'“”‘’:]{1,260}){0,4}?)\\?["'”’](?=\s|$|[.),:])"""
)
_BARE = regex(r"(?P<path>[A-Za-z]:[\\/][^\"'*?<>|:\r\n]{1,400}?\.(?:dll|pyd|exe|node))(?![\w.])", re.IGNORECASE)


def dll_names(text: str) -> tuple[str, ...]:
    """Return the DLL names in a text, each once, as first spelled."""
    seen: dict[str, str] = {}
    for run in _NAME_RUN.finditer(text):
        start = 0
        for end in _NAME_END.finditer(run[0]):
            name = run[0][start : end.end()].lstrip(".+-")
            start = end.end()
            if 4 < len(name) <= _LONGEST_NAME:
                seen.setdefault(name.lower(), name)
    return tuple(seen.values())


def named_path(text: str) -> str | None:
    """Return the first Windows path in a text, in quotation marks or with the suffix of an image."""
    found = _QUOTED.search(text) or _BARE.search(text)
    return tidy_path(found.group("path")) if found else None


UNNAMED = "…"
"""A folder of a path that the text does not name."""


def tidy_path(path: str) -> str:
    """Return a path as Windows writes it: one backslash between the parts, also where the text was escaped."""
    path = path.strip()
    if re.search(r"(?<=[^\\])\\\\", path):
        path = path.replace("\\\\", "\\")
    if path.startswith("\\\\?\\"):
        path = path[4:]
    return str(PureWindowsPath(path)) if path else path


def package_of(path: str) -> str:
    """Return the top-level package below ``site-packages`` that a path lies in, or nothing."""
    found = _SITE_PACKAGES.search(path)
    if not found:
        return ""
    name = found[1]
    if name in _NAMESPACES and found[2]:
        return f"{name}.{found[2]}"
    return PureWindowsPath(name).stem if "." in name else name


# ------------------------------------------------------------------------------------------------------ recorded loads


_WIN32 = {
    0xC0000135: 126,  # STATUS_DLL_NOT_FOUND
    0xC0000034: 126,  # STATUS_OBJECT_NAME_NOT_FOUND
    0xC000003A: 126,  # STATUS_OBJECT_PATH_NOT_FOUND
    0xC0000139: 127,  # STATUS_ENTRYPOINT_NOT_FOUND
    0xC0000138: 182,  # STATUS_ORDINAL_NOT_FOUND
    0xC000007B: 193,  # STATUS_INVALID_IMAGE_FORMAT
    0xC000012F: 193,  # STATUS_INVALID_IMAGE_NOT_MZ
    0xC0000131: 193,  # STATUS_INVALID_IMAGE_WIN_16
    0xC0000359: 193,  # STATUS_INVALID_IMAGE_WIN_64
    0xC0000142: 1114,  # STATUS_DLL_INIT_FAILED
    0xC0000005: 998,  # STATUS_ACCESS_VIOLATION
    0xC0000022: 5,  # STATUS_ACCESS_DENIED
    0xC000012D: 1455,  # STATUS_COMMITMENT_LIMIT
    0xC0000428: 577,  # STATUS_INVALID_IMAGE_HASH
}
"""NTSTATUS to the code that LoadLibrary sets, as RtlNtStatusToDosError maps it."""


def win32_code(status: int) -> int:
    """Return the Windows error code of an NTSTATUS, or the status itself where no code is known."""
    return _WIN32.get(status, status)


@frozen
class RecordedLoad:
    """One DLL that a process loaded, or tried to."""

    name: str
    """The base name as recorded."""
    path: str = ""
    """The whole path, where the tool knows it."""
    code: int = 0
    """0 when it was loaded, else the Windows error code; 126 for a DLL that no searched folder has."""
    needed_by: str = ""
    """The module that imports it, where the tool knows it."""
    top: str = ""
    """The file whose load was asked for when this one failed."""
    symbol: str = ""
    """The function that was not found, for 127."""
    searched: tuple[str, ...] = ()
    """The folders that were searched."""
    line: int = 0

    @property
    def key(self) -> str:
        """The name as names are compared."""
        return dll_key(self.name)


@frozen
class Recording:
    """The loads of one recording, in order."""

    tool: str
    """Who made it: ``dlltracer``, ``loader snaps``, ``Process Monitor``, ``Wine``, ``debugger``, ``Dependencies``,
    ``dumpbin``."""
    loaded: tuple[RecordedLoad, ...] = ()
    failed: tuple[RecordedLoad, ...] = ()
    """Loads that failed, in the order in which they failed."""
    released: tuple[RecordedLoad, ...] = ()
    """Modules that were mapped and released again because something they need failed; dlltracer says no more."""
    imports: tuple[RecordedLoad, ...] = ()
    """What a listing says that a file imports, without a word on where it comes from."""
    ends_in_release: bool = False
    """Whether nothing follows the last release, so that more modules may have been released after the record ends."""
    stopped: str = ""
    """Why reading stopped before the end; empty when it did not."""

    @property
    def static(self) -> bool:
        """Whether a tool looked at files instead of watching a process."""
        return self.tool in ("Dependencies", "dumpbin")


def base_name(path: str) -> str:
    """Return the last part of a Windows path."""
    return PureWindowsPath(path).name or path


def in_windows_folder(path: str) -> bool:
    """Whether a path lies below the Windows folder, with a drive letter, a device name or Wine's drive."""
    parts = [part.lower() for part in PureWindowsPath(path).parts]
    places = [part for part in parts if part.strip("\\") and not part.endswith(":\\")]
    if places[:1] == ["device"]:
        places = places[2:]
    return places[:1] == ["windows"]


def distinct(loads: Iterable[RecordedLoad]) -> tuple[RecordedLoad, ...]:
    """Return each load once: the same file that fails for the same reason several times counts once."""
    kept: dict[tuple[str, str, int, str], RecordedLoad] = {}
    for load in loads:
        kept.setdefault((load.key, load.needed_by.lower(), load.code, load.symbol), load)
    return tuple(kept.values())
