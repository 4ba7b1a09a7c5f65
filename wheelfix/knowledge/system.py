"""Whom a DLL name belongs to, before any file is looked for: Windows, an API set, a driver, Python, the C++ runtime."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal

from wheelfix.base.parsing import dotted_numbers, number_pair
from wheelfix.base.values import frozen, grouped
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.tables import Checker, NamePattern, Pair, Table, entries, header_field, pair, table
from wheelfix.model import Machine, Symbol, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


Kind = Literal["system", "api-set", "python", "driver", "vcredist", "ucrt", "vendor", "unknown"]

_LISTS = {Machine.X86: "x86", Machine.ARM64: "arm64", Machine.ARM64EC: "arm64", Machine.ARM: "arm64"}


@frozen
class DllClass:
    """Whose DLL a name is."""

    kind: Kind
    key: str
    """The folded name."""
    detail: str = ""
    """Who brings it or what it is, as half a sentence."""
    known: bool = True
    """False for an API set whose contract no table names: Windows answers 126 to a contract it does not know."""
    known_dll: bool = False
    """In KnownDLLs: always the one of System32, whatever lies beside the importer."""
    folder: str = ""
    """For ``python``: the folder under the base prefix; only ``""`` is searched for other packages' loads."""
    debug: bool = False
    """A debug C runtime: on machines with Visual Studio only, never redistributable."""

    @property
    def on_every_machine(self) -> bool:
        """Whether any Windows with any CPython has it where a load looks."""
        return (self.kind in ("system", "ucrt") or (self.kind == "api-set" and self.known)) or (
            self.kind == "python" and not self.folder
        )


@frozen
class PythonFile:
    """A DLL that CPython itself ships."""

    pattern: NamePattern
    what: str
    folder: str = ""
    machines: frozenset[str] = frozenset()


@frozen
class RuntimeGeneration:
    """A generation of the Visual C++ runtime and the package that installs it."""

    id: str
    package: str
    years: str
    url: str


@frozen
class RuntimeFile:
    """A DLL of the Visual C++ runtime."""

    pattern: NamePattern
    toolset: RuntimeGeneration
    runtime: Pair
    """The redistributable that first has it; what imports it was linked by at least that."""
    debug: bool = False


@frozen
class DriverFile:
    """A DLL that a device driver installs."""

    pattern: NamePattern
    vendor: str
    what: str
    source: str


@frozen
class Runtimes:
    """The content of ``runtimes.toml``."""

    drivers: tuple[DriverFile, ...]
    python: tuple[PythonFile, ...]
    vcredist: tuple[RuntimeFile, ...]
    editions: tuple[tuple[NamePattern, str], ...]


@table("runtimes.toml")
def runtimes(check: Checker) -> Runtimes:
    """Return what drivers, CPython and the C++ runtime install."""
    toolsets = {one.id: one for one in check.values("toolset", RuntimeGeneration)}
    vcredist = []
    for row in check.rows("vcredist", ["pattern", "toolset", "runtime"], ["debug"]):
        pattern, toolset = NamePattern(row["pattern"]), toolsets[row["toolset"]]
        vcredist.append(RuntimeFile(pattern, toolset, pair(row["runtime"]), row.get("debug", False)))
    absent = tuple((NamePattern(pattern), where) for pattern, where in check.columns("edition", "pattern", "absent"))
    return Runtimes(check.values("driver", DriverFile), check.values("python", PythonFile), tuple(vcredist), absent)


@functools.cache
def _names(name: str) -> frozenset[str]:
    return Table(name, Checker.names)()


def system_dlls(machine: Machine) -> frozenset[str]:
    """Return the folded names of the DLLs that Windows 10 and 11 have in System32."""
    return _names(f"system_{_LISTS.get(machine, 'amd64')}.txt")


def contract(name: str) -> str:
    """Return an API set's name without the last digit and the extension, which the loader ignores."""
    return dll_key(name).removesuffix(".dll").rpartition("-")[0]


@functools.lru_cache(maxsize=4096)
def python_file(name: str, machine: Machine) -> PythonFile | None:
    """Return CPython's own file of that name, if any version ships it for that machine."""
    key, own = dll_key(name), _LISTS.get(machine, "amd64")
    fitting = (one for one in runtimes().python if not one.machines or own in one.machines)
    return next((one for one in fitting if one.pattern.fullmatch(key)), None)


@functools.lru_cache(maxsize=1024)
def python_of(name: str) -> tuple[int, int, bool] | None:
    """Return major, minor and whether it is free-threaded for an interpreter's DLL; None for any other name."""
    for entry in runtimes().python:
        match = entry.pattern.fullmatch(dll_key(name))
        if match and "minor" in match.groupdict():
            version = number_pair(match["major"], match["minor"])
            return (*version, bool(match["threads"])) if version else None
    return None


def is_debug_python(name: str) -> bool:
    """Whether a name is that of a debug build of the interpreter, which no normal machine has."""
    return python_of(name) is not None and dll_key(name).endswith("_d.dll")


@functools.lru_cache(maxsize=4096)
def runtime_file(name: str) -> RuntimeFile | None:
    """Return the Visual C++ runtime's file of that name."""
    key = dll_key(name)
    return next((entry for entry in runtimes().vcredist if entry.pattern.fullmatch(key)), None)


@functools.lru_cache(maxsize=4096)
def driver_file(name: str) -> DriverFile | None:
    """Return the driver's file of that name."""
    key = dll_key(name)
    return next((entry for entry in runtimes().drivers if entry.pattern.fullmatch(key)), None)


@functools.lru_cache(maxsize=4096)
def absent_on(name: str) -> str:
    """Return the editions of Windows that do not have a system DLL, or an empty string."""
    key = dll_key(name)
    return next((absent for pattern, absent in runtimes().editions if pattern.fullmatch(key)), "")


@functools.lru_cache(maxsize=4096)
def classify(name: str, machine: Machine = Machine.AMD64) -> DllClass:
    """Say whose a DLL name is on a Windows 10 or 11 machine of that type.

    ``vcruntime140.dll`` is ``python``, because CPython ships it beside ``python.exe``; :func:`runtime_file` says that
    the Visual C++ runtime has it too.
    """
    key = dll_key(name)
    if key.startswith(("api-", "ext-")):
        return _classify_api_set(key)
    if key == "ucrtbase.dll":
        return DllClass("ucrt", key, "the universal C runtime, part of Windows", known_dll=True)
    if own := python_file(key, machine):
        return DllClass("python", key, own.what, folder=own.folder)
    if runtime := runtime_file(key):
        detail = f"debug runtime of {runtime.toolset.years}" if runtime.debug else runtime.toolset.package
        return DllClass("vcredist", key, detail, debug=runtime.debug)
    if driver := driver_file(key):
        return DllClass("driver", key, f"{driver.what}, installed by the driver of {driver.vendor}")
    if key in system_dlls(machine):
        absent = absent_on(key)
        detail = "part of Windows" + (f"; absent on {absent}" if absent else "")
        return DllClass("system", key, detail, known_dll=key in _names("known_dlls.txt"))
    if family := family_of(key):
        return DllClass("vendor", key, f"{family.title}, by {family.vendor}")
    return DllClass("unknown", key)


def _classify_api_set(key: str) -> DllClass:
    if key.startswith("ext-"):
        # https://learn.microsoft.com/windows/win32/apiindex/windows-apisets: extension sets may be absent by design,
        # and code asks with IsApiSetImplemented before it calls them.
        return DllClass("api-set", key, "an extension API set, which Windows may leave out by design")
    known = contract(key) in _names("api_sets.txt")
    detail = "an API set of Windows" if known else "an API set that no table of ours names"
    return DllClass("api-set", key, detail, known=known)


@table("stable_abi.txt")
def stable_abi(check: Checker) -> dict[str, Pair]:
    """Return every symbol of the stable ABI on Windows with the version that added it."""
    return {name: pair(version) for name, version in map(str.split, entries(check.text))}


_UNLISTED = "PyUnstable_"
"""How names begin that a patch release may add; the table does not have them."""
STABLE_ABI_DLLS = ("python3.dll", "python3t.dll")
"""What modules for the stable ABI import; the second, for free-threaded Pythons, has the same functions (PEP 803)."""


@table("python_exports.txt")
def python_exports(check: Checker) -> dict[Pair, frozenset[str]]:
    """Return the public exports of ``python37.dll`` and its successors, by version."""
    columns = header_field(check.text, "columns").split()
    places = {column: place for place, column in enumerate(columns)}
    found: dict[str, set[str]] = {column: set() for column in columns}
    together = grouped(
        (versions, names) for versions, _, names in (line.partition(" ") for line in entries(check.text))
    )
    for versions, several in together.items():
        names = " ".join(several).split()
        for first, _, last in (part.partition("-") for part in versions.split(",")):
            for column in columns[places[first] : places[last or first] + 1]:
                found[column].update(names)
    return {(int(column[0]), int(column[1:])): frozenset(names) for column, names in found.items()}


def missing_from_python(dll: str, symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Return those of some imported symbols that an interpreter's DLL does not export, as far as a table knows it.

    Free-threaded builds export the same public names: no public declaration in the headers depends on that.
    """
    version, known = python_of(dll), None
    if version is not None:
        known = python_exports().get(version[:2])
    elif dll_key(dll) in STABLE_ABI_DLLS:
        known = frozenset(stable_abi())
    return () if known is None else tuple(_public(one for one in symbols if one not in known))


def undecided_in_python(dll: str, symbols: Iterable[Symbol]) -> tuple[str, ...]:
    """Return those of some symbols of which no table knows whether an interpreter's DLL exports them.

    What the stable ABI has by then stays in every later Python 3. A Python that is older than those of the table was
    linked long ago: what the next one has counts as there.
    """
    version, known = python_of(dll), python_exports()
    if version is None or version[:2] in known:
        return ()
    stable = stable_abi() if version[0] == 3 else {}
    later = min((one for one in known if one > version[:2]), default=None)
    has = known[later] if later is not None and later[0] == version[0] else frozenset()
    return tuple(one for one in _public(symbols) if one not in has and stable.get(one, (9, 9)) > version[:2])


def _public(symbols: Iterable[Symbol]) -> Iterator[str]:
    """Yield the names that a patch release does not add or remove."""
    for symbol in symbols:
        if isinstance(symbol, str) and symbol.startswith("Py") and not symbol.startswith(_UNLISTED):
            yield symbol


@frozen
class Toolchains:
    """The content of ``toolchains.toml``."""

    python: dict[tuple[int, ...], Pair]
    """Python release to the vcruntime140 that lies beside its ``python.exe``."""
    compilers: tuple[tuple[int, Pair], ...]
    """The first build of each toolset's compilers, oldest first."""


@table("toolchains.toml")
def toolchains(check: Checker) -> Toolchains:
    """Return what is known about compilers and runtimes."""
    python = {dotted_numbers(own): pair(runtime) for own, runtime in check.columns("python", "release", "vcruntime")}
    return Toolchains(python, tuple((build, pair(of)) for of, build in check.columns("compiler", "toolset", "build")))


def runtime_needed(version: Pair) -> Pair | None:
    """Return the oldest Visual C++ runtime that may serve a DLL with that linker version; None if it says nothing.

    It is at least as new as the toolset (https://learn.microsoft.com/cpp/porting/binary-compat-2015-2017). 14.0 is that
    of Visual Studio 2015 and of LLVM's lld, which says nothing about the runtime.
    """
    return version if (14, 10) <= version < (15, 0) else None


def toolset_of_build(build: int) -> Pair | None:
    """Return the toolset of a compiler by its build, or an earlier one where that is not known; None before 2015."""
    return next((toolset for first, toolset in reversed(toolchains().compilers) if first <= build), None)


def python_runtime(release: tuple[int, ...]) -> tuple[str, Pair] | None:
    """Return the newest Python of a release (3.11) whose vcruntime140 is known, and the version of that."""
    known = {found: runtime for found, runtime in toolchains().python.items() if found[: len(release)] == release}
    return (".".join(map(str, max(known))), known[max(known)]) if known else None
