"""Frozen facts that several rooms share; imports nothing of ours but :mod:`wheelfix.base.values`.

Bytes become these facts in ``archive/`` and ``pe/``; ``loader/`` turns them into a resolution, ``rules/`` into
findings, ``plan`` into intended changes. Paths inside a wheel are POSIX strings, DLL names print as spelled in
the file and compare by :func:`dll_key`.
"""

from __future__ import annotations

import enum
import functools
import importlib
import re
from typing import TYPE_CHECKING, Protocol, TypeAlias

from wheelfix.base.values import field, frozen, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
JsonObject: TypeAlias = "dict[str, Json]"
Symbol: TypeAlias = str | int
"""An imported or exported name, or an ordinal."""


def spelled(symbol: Symbol) -> str:
    """Return a symbol as a sentence has it: its name, or ``ordinal 12``."""
    return f"ordinal {symbol}" if isinstance(symbol, int) else symbol


def fold(name: str) -> str:
    """Return the form in which names of files compare on Windows: without case, letter by letter.

    NTFS and the loader use one table that pairs letters of 16 bits; "ß" is not "ss" there, and "é" in one letter is not
    "é" in two. ``tests/test_model.py`` compares this with the table that Wine ships for Windows' functions.
    """
    return name.lower() if name.isascii() else "".join(map(_lower, name))


_SINCE_UNICODE_14 = {"\u2c2f": "\u2c5f", "\ua7c0": "\ua7c1", "\ua7d0": "\ua7d1", "\ua7d6": "\ua7d7", "\ua7d8": "\ua7d9"}
"""Pairs of the table that Python 3.10 does not know."""


@functools.lru_cache(maxsize=4096)
def _lower(letter: str) -> str:
    """Return the small letter of a capital one, where each of the two is the other's only partner."""
    if letter in _SINCE_UNICODE_14:
        return _SINCE_UNICODE_14[letter]
    small = letter.lower()
    capital = small.upper() if len(small.upper()) == 1 else small.title()
    return small if letter == capital <= "\uffff" and len(small) == 1 else letter


@functools.lru_cache(maxsize=1 << 14)
def dll_key(name: str) -> str:
    """Return the form in which DLL names compare: folded, with the ``.dll`` that the loader appends itself."""
    key = fold(name)
    return key if "." in key else key + ".dll"


def canonical(name: str) -> str:
    """Return a distribution's name, or a pattern of such names, in the form in which names compare (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Word(str, enum.Enum):
    """One of a few words; printed as it is."""

    def __str__(self) -> str:
        return str(self.value)


class Machine(Word):
    """The processor a PE image is for."""

    AMD64 = "amd64"
    X86 = "x86"
    ARM64 = "arm64"
    ARM64EC = "arm64ec"
    ARM = "arm"
    UNKNOWN = "unknown"

    @property
    def platform(self) -> str:
        """The platform tag of its wheels; that of most machines where there is none."""
        return next((tag for tag, machine in PLATFORM_MACHINES.items() if machine is self), "win_amd64")


PLATFORM_MACHINES = {"win_amd64": Machine.AMD64, "win32": Machine.X86, "win_arm64": Machine.ARM64}
"""What wheels for Windows are for, by their platform tags."""


class ByteSource(Protocol):
    """Bytes that can be read at any place: a file on disk, or a member that is inflated as far as needed."""

    @property
    def size(self) -> int:
        """How many bytes there are."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``; fewer at the end, none behind it."""
        ...


@frozen
class Import:
    """One DLL in an import table and what is wanted from it."""

    dll: str
    """The name as spelled in the table."""
    symbols: tuple[Symbol, ...] = ()
    """Names and ordinals, in table order."""


@frozen
class Exports:
    """What a DLL offers."""

    names: frozenset[str] = frozenset()
    ordinals: frozenset[int] = frozenset()
    forwarders: Mapping[Symbol, str] = field(default_factory=dict)
    """Symbols that live in another DLL, with the target as spelled (``libomp.dll.KMP_CALLOC``, ``NTDLL.#12``)."""

    def offers(self, symbol: Symbol) -> bool:
        """Whether the name or ordinal is exported (a forwarder counts)."""
        return symbol in self.names or symbol in self.ordinals


@frozen
class Image:
    """The facts of one PE image that the loader and the rules ask for."""

    machine: Machine
    size: int
    """Size of the file in bytes."""
    is_dll: bool = True
    imports: tuple[Import, ...] = ()
    delay_imports: tuple[Import, ...] = ()
    exports: Exports = field(default_factory=Exports)
    linker: tuple[int, int] = (0, 0)
    """Linker version: 14.x is the MSVC toolset."""
    dependent_load_flags: int = 0
    """LOAD_LIBRARY_SEARCH flags the image wants for its own imports; 0 means the caller's."""
    managed: bool = False
    """A .NET assembly."""
    sections: tuple[str, ...] = ()
    signed: bool = False
    """A certificate table is present; says nothing about its validity."""
    oddities: tuple[str, ...] = ()
    """What was irregular but did not stop the reading."""

    def symbols_from(self, dll: str) -> tuple[Symbol, ...]:
        """Return what it imports from a DLL."""
        key = dll_key(dll)
        return tuple(symbol for item in self.imports if dll_key(item.dll) == key for symbol in item.symbols)


@frozen
class Malformed:
    """Bytes that call themselves a DLL and are none, with the reason."""

    kind: str
    """``empty``, ``lfs-pointer``, ``not-pe``, ``truncated`` or ``malformed``."""
    reason: str
    size: int = 0


ImageFacts: TypeAlias = "Image | Malformed"


@frozen
class FileVersion:
    """What a version resource says."""

    file: tuple[int, int, int, int] = (0, 0, 0, 0)
    product: tuple[int, int, int, int] = (0, 0, 0, 0)
    strings: Mapping[str, str] = field(default_factory=dict)
    """CompanyName, ProductName, FileVersion, … as spelled."""

    def __str__(self) -> str:
        return ".".join(map(str, self.file))


@frozen
class GpuFit:
    """How the GPU code of one image fits the card that was asked about."""

    card: str
    """As it was asked: ``RTX 5070``, ``sm_35``, ``native``."""
    arch: str
    """What that stands for: ``sm_120``."""
    fit: str
    """``native``, ``same-major``, ``ptx``, ``none`` or ``left-over``."""


@frozen
class NumpyApi:
    """Which NumPy an extension module was built for."""

    headers: int
    """The generation of the headers, 1 or 2; modules built with those of NumPy 2 run on NumPy 1 as well."""
    oldest: str = ""
    """The oldest NumPy that it runs with, as ``1.23``; empty when the module does not show it."""


TRUSTED = "trusted"
"""The one status that counts as signed."""


@frozen
class Signature:
    """What the Authenticode signature of an image is worth."""

    status: str
    """``unsigned``, or one of four answers that never blur: ``trusted`` (genuine, up to a root that Windows trusts),
    ``untrusted-root`` (genuine, up to a root that is not trusted: the signer may call himself anything), ``invalid``,
    ``not-checked``."""
    signer: str = ""
    """The name in the signer's certificate, such as ``NVIDIA Corporation``. Only ``trusted`` makes it true."""
    reason: str = ""
    """Why it is not trusted."""
    issuer: str = ""
    chain: tuple[str, ...] = ()
    """Names from the signer's issuer up to the root, as far as they are known."""
    timestamp: str = ""
    """When it was signed, by a trusted timestamp: ``2023-08-01T12:00:00Z``."""
    algorithm: str = ""
    """Of the file's digest: ``sha256``."""
    digest: str = ""
    """The file's Authenticode digest, in hexadecimal."""

    def __str__(self) -> str:
        name = f": {self.signer}" if self.signer else ""
        return f"{self.status}{name}" + (f" ({self.reason})" if self.reason else "")

    @property
    def trusted_signer(self) -> str:
        """The signer's name if it is true, else the status."""
        return self.signer if self.status == TRUSTED and self.signer else self.status


@frozen
class InView:
    """A file of the wheel, environment or plan under examination."""

    path: str


@frozen
class System:
    """A DLL or API set of Windows itself."""

    name: str


@frozen
class PythonRuntime:
    """A DLL that CPython brings: ``python311.dll``, ``vcruntime140.dll``, ``libffi-8.dll``, …"""

    name: str


@frozen
class Driver:
    """A DLL that a device driver installs."""

    name: str


@frozen
class VcRedist:
    """A DLL of the Visual C++ runtime, assumed on the target by the profile."""

    name: str


@frozen
class Assumed:
    """A DLL that the profile says is there: ``--assume cuda=11.7``, ``--assume conda``."""

    name: str
    by: str


@frozen
class OwnedBy:
    """A DLL that another distribution provides, which the wheel requires or its code imports."""

    name: str
    distribution: str
    reachable: bool
    """Whether its folder is on the search path, or the DLL already loaded, when the load happens."""
    because: str
    """Why it is or is not reachable."""
    specifier: str = ""
    """The versions that are asked for, as Requires-Dist has them; empty for any."""
    via: tuple[str, ...] = ()
    """The distributions through which it is required, the nearest to the wheel first."""
    versions: tuple[str, ...] = ()
    """Versions that fit the specifier and are known to have the DLL, from old to new."""
    only: str = ""
    """The builds of the distribution that have it, when those on PyPI do not."""

    @property
    def requirement(self) -> str:
        """The distribution with its specifier: ``mkl (<=2021.4.0,>=2021.1.1)``."""
        return f"{self.distribution} ({self.specifier})" if self.specifier else self.distribution


@frozen
class MayComeFrom:
    """A DLL that another distribution may provide; whether it does is not known."""

    name: str
    distributions: tuple[str, ...]
    """Those that may, the likeliest first."""
    because: str
    """Why it is not known."""


@frozen
class Missing:
    """A DLL without a provider."""

    searched: tuple[str, ...] = ()
    """The folders and other places that were searched, in order."""
    present_at: tuple[str, ...] = ()
    """Files of that name which are in the view, but where the loader does not look."""
    required: tuple[str, ...] = ()
    """Why distributions that are required do not provide it, one sentence for each."""
    absent: tuple[str, ...] = ()
    """Distributions that have it, or may have it, and are required, but not installed."""
    optional: tuple[str, ...] = ()
    """Distributions that have it, but that only an extra asks for, and that are not installed."""
    deleted: str = ""
    """The path in RECORD of a file of that name which the wheel does not have."""


Provider: TypeAlias = "InView | System | PythonRuntime | Driver | VcRedist | Assumed | OwnedBy | MayComeFrom | Missing"


def is_unmet(provider: Provider) -> bool:
    """Whether a DLL is missing where it is looked for, also if it is known who has it."""
    return isinstance(provider, Missing) or (isinstance(provider, OwnedBy) and not provider.reachable)


class EdgeKind(Word):
    """How one image asks for another."""

    IMPORT = "import"
    DELAY = "delay"
    COMPANION = "companion"
    FORWARDER = "forwarder"


@frozen
class Edge:
    """One image's need for another, and who meets it."""

    importer: str
    """Path in the view."""
    name: str
    """The DLL as spelled by the importer or the companion table."""
    kind: EdgeKind
    provider: Provider
    required: bool = True
    """False for optional companions and for delay loads that no family needs in practice."""
    strength: str = ""
    """For companions: ``required``, ``expected`` or ``optional``, as the table has it."""
    because: str = ""
    """For companions: what happens without it."""
    source: str = ""
    """For companions: where the table has it from."""
    unexported: tuple[Symbol, ...] = ()
    """Imported symbols that the provider, a file of the view, does not export."""

    @property
    def file(self) -> str:
        """The file of the view that answers; empty for every other provider."""
        return self.provider.path if isinstance(self.provider, InView) else ""

    @property
    def is_import(self) -> bool:
        """Whether the image has it in its import table."""
        return self.kind is EdgeKind.IMPORT

    @property
    def is_missing(self) -> bool:
        """Whether nothing provides it."""
        return isinstance(self.provider, Missing)

    @property
    def broken(self) -> bool:
        """Whether a load that has this need fails."""
        return is_unmet(self.provider) or bool(self.unexported)


Edges: TypeAlias = "dict[tuple[str, str, EdgeKind], Edge]"
"""Needs by their importer, the folded name and the kind: each counts once."""


@frozen
class LoadEvent:
    """A load that the package performs by itself: torch's glob, an extension module, a DLL named in its code."""

    path: str
    cause: str
    """``torch-glob``, ``extension``, ``code`` or ``cffi``; ``folder`` for one that code adds, ``listing`` for one whose
    files it lists, ``raise`` for code that gives up because it cannot have a DLL, ``module`` for a file that Python
    does not take for the module."""
    module: str = ""
    """For an extension: the dotted module name; for ``raise`` the class of the exception."""
    guarded: bool = False
    """The code catches the failure of this load wherever it performs it, and goes on without."""
    text: str = ""
    """For ``raise``: what the exception says, as far as that is known. For an extension: the line that the package
    raises instead of the ImportError that it has caught."""

    @property
    def package(self) -> str:
        """The package whose import performs it with code that is modelled as a whole, as ``torch``; else empty."""
        return self.cause.rpartition("-")[0]


@frozen
class Alone:
    """How a module fails when it is imported by its own name, before anything else of its package."""

    code: int
    chain: tuple[str, ...]
    """From the module to the true cause, as base names."""
    sure: bool
    """Whether the package's own code is known to import first what the module needs; False if that is not known."""
    after: str = ""
    """The other top-level package of the wheel that has to be imported first, where that helps."""


@frozen
class LoadOutcome:
    """What the loader answers to one event."""

    event: LoadEvent
    code: int = 0
    """0, or the Windows error code."""
    chain: tuple[str, ...] = ()
    """From the file named in the event to the true cause, as base names."""
    detail: str = ""
    """The symbol that is missing, the machine that does not fit, …"""
    alone: Alone | None = None
    """For a load that succeeds only after other imports of the package: how it fails without them."""


@frozen
class CodeFolder:
    """A folder that Python code gives to ``os.add_dll_directory``, whether or not anything is in it."""

    folder: str
    """Relative to the prefix, as paths of a view are: ``Library/bin``, ``Lib/site-packages/vtk.libs``."""
    file: str
    """The Python file, as a path of the view."""
    line: int


@frozen
class UnreadCall:
    """A call in Python code that loads a DLL or adds a folder, but which one could not be read."""

    file: str
    """The Python file, as a path of the view."""
    line: int
    function: str
    """``add_dll_directory``, ``CDLL``, ``dlopen``, …"""
    argument: str
    """As the code spells it, shortened."""
    at_import: bool = True
    """Whether importing its file gets to it, or may do so; False for functions that are only called later."""
    reached: bool = False
    """Whether importing the package runs that file, or may do so."""
    guarded: bool = False
    """Whether the code catches its failure and goes on without."""


@frozen
class CodeFault:
    """Something in Python code that fails, or may fail, when its file is imported."""

    cause: str
    """``load``, ``cffi`` or ``folder`` for what is not there, ``listing`` for a folder whose files are listed,
    ``order`` for a load that does not find a DLL of the package at that point, ``raise`` for code that gives up after
    it looked for DLLs, ``end`` for any other exception, ``unread`` for a load that could not be read."""
    root: str
    """The Python file whose import fails, as a path of the view."""
    file: str
    """The Python file that has the call, which may be one that the other calls."""
    line: int
    names: tuple[str, ...]
    """The DLLs or the folder, as paths of the view or bare names; for ``unread`` the call as it is spelled."""
    error: str
    """The class of the exception."""
    sure: bool
    """Whether it fails for certain on a machine on which nothing else is installed."""
    reached: bool = False
    """Whether importing the package runs that file for certain, and catches no failure of it."""
    chain: tuple[str, ...] = ()
    """For a file that is there: the way from it to the DLL that is not found, as base names."""
    text: str = ""
    """For ``raise`` and ``end``: the first line of what the exception says, with ``…`` for what is not known."""
    searched: tuple[str, ...] = ()
    """The folders below site-packages in which bare names were looked for at that point."""
    missed: tuple[str, ...] = ()
    """What was looked for in vain before it, in this order."""


@frozen
class AbsentModule:
    """A module that is imported for certain, and that no file has."""

    module: str
    distribution: str
    """The distribution that has it, a required one if there is one; empty for a module of the package itself."""
    requirement: str
    """With its specifier; empty if METADATA has none, and the distribution is only one that has the module."""
    file: str
    """The file that imports it, as a path of the view."""
    sure: bool = True
    """False where an extension module has its name in its data, and where it is not known which way the code takes."""
    specifier: str = ""
    """The versions that are allowed; empty for any."""
    raised: str = ""
    """What the package raises instead of ModuleNotFoundError; empty if that is what users see."""
    below: str = ""
    """The package or module below the one at the top whose import fails; empty if that of the top does."""
    made: bool = False
    """Whether code makes modules on the way, or has them looked for elsewhere, and may do so with this one."""


@frozen
class Resolution:
    """Everything the loader model found out about one view."""

    edges: tuple[Edge, ...] = ()
    outcomes: tuple[LoadOutcome, ...] = ()
    reached: frozenset[str] = frozenset()
    """Files that some event loads, directly or through imports and companions; not those of guarded loads that fail."""
    search_dirs: tuple[str, ...] = ()
    """Folders that the package adds to the DLL search before each of its extension modules is loaded, in order."""
    unread_calls: tuple[UnreadCall, ...] = ()
    """Loads and folders that could not be read, in the package's Python code and in that of others which it imports."""
    absent_modules: tuple[AbsentModule, ...] = ()
    """Modules without which importing the package raises ``ModuleNotFoundError``."""
    code_faults: tuple[CodeFault, ...] = ()
    """What fails, or may fail, in the package's Python code itself."""

    @property
    def first_failure(self) -> LoadOutcome | None:
        """The first event that fails and that no code catches, which is the one the user sees."""
        return next((outcome for outcome in self.outcomes if outcome.code and not outcome.event.guarded), None)


class Severity(Word):
    """How much a finding matters; the order is the order of harm."""

    ERROR = "error"
    UNSURE = "unsure"
    """Would be an error, but the evidence does not decide whether it is one."""
    WARNING = "warning"
    INFO = "info"


class Repairable(Word):
    """Whether ``wheelfix repair`` can fix what a finding names."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"
    NEVER = "never"


@frozen
class Finding:
    """A fact about a wheel."""

    code: str
    name: str
    severity: Severity
    subject: str
    """The member, DLL or row it is about."""
    message: str
    hint: str = ""
    evidence: Mapping[str, Json] = field(default_factory=dict)
    repairable: Repairable = Repairable.NEVER

    def texts(self, key: str) -> list[str]:
        """Return a list of its evidence as texts; empty where it has none."""
        found = self.evidence.get(key)
        return [*map(str, found)] if isinstance(found, list) else []


@frozen
class Candidate:
    """A file that could be vendored."""

    path: str
    root: str
    version: str
    reason: str


@frozen
class MissingDll:
    """A DLL without a provider, with every file that needs it."""

    name: str
    kind: EdgeKind
    required: bool
    needed_by: tuple[str, ...]
    chain: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    providers: tuple[str, ...] = ()
    """Who ships it, from the tables, when no candidate was found."""
    deleted: str = ""
    """Where RECORD lists it, although the wheel does not have it: it was deleted after the build."""
    fetch: str = ""
    """A release of a vendor on the package index that has it, as the tables know: ``intel-openmp==2023.2.0``."""


@frozen
class ProvidedDll:
    """A DLL that another distribution provides, or may provide."""

    name: str
    how: str
    """``file`` (it is in the set), ``requirement`` (by the index), ``out-of-reach`` or ``unsure``."""
    distributions: tuple[str, ...]
    """One, or those that may have it."""
    needed_by: tuple[str, ...]
    specifier: str = ""
    path: str = ""
    """Where the file is installed; empty where it is not there to be read."""
    because: str = ""


@frozen
class Prediction:
    """The error that importing the package will raise."""

    path: str
    code: int
    message: str
    """The exact line that Python prints."""
    chain: tuple[str, ...]
    """From the file that the error names to the true cause."""
    explanation: str = ""
    """Why the named file is not the cause."""


class Verdict(Word):
    """The answer in one word."""

    OK = "ok"
    RISKY = "risky"
    UNSURE = "unsure"
    """Whether it works depends on something that could not be read."""
    BROKEN = "broken"


@frozen
class ScannedImage:
    """A PE image of the scanned thing, by its path there."""

    path: str
    facts: ImageFacts
    version: FileVersion | None = None
    """Read only when a rule or an option asked for it."""
    archs: tuple[str, ...] | None = None
    """GPU code inside, such as ``sm_86`` and ``ptx_86``; None when it was not asked for."""
    gpu: GpuFit | None = None
    """Whether that runs on the card asked about; None when it was not asked for, or there is no GPU code."""
    numpy: NumpyApi | None = None
    """Which NumPy it was built for; None when it was not asked for, or it does not use NumPy's C API."""
    signature: Signature | None = None
    """The result of checking its signature; None when it was not asked for."""
    place: str = ""
    """Where it is installed, as loads and edges name it: ``Lib/site-packages/x/a.dll``."""


@frozen
class CudaSummary:
    """What there is to know about the CUDA of a wheel."""

    release: str
    """``11.7``, or the majors that the names of its DLLs show."""
    driver: str
    """The oldest driver for Windows that runs it; empty when the tables do not know."""
    text: str
    """All of it in one paragraph."""


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Broken with an error, unsure where that could not be decided, risky with a warning, else ok."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return Verdict.BROKEN
    if Severity.UNSURE in severities:
        return Verdict.UNSURE
    return Verdict.RISKY if Severity.WARNING in severities else Verdict.OK


@frozen
class TargetVerdict:
    """The answer for one kind of Windows that was asked about."""

    name: str
    title: str
    build: int
    """0 where the list has none."""
    date: str
    """When the list was made."""
    verdict: Verdict
    """With everything that was found about the wheel itself."""
    absent: tuple[str, ...] = ()
    """DLLs that are not there for certain, and functions as ``kernel32.dll!SetThreadSelectedCpuSetMasks``."""
    perhaps_absent: tuple[str, ...] = ()
    """DLLs that may be absent, or are and may not be needed."""
    unknown: tuple[str, ...] = ()
    """DLLs about which nothing is known."""
    first_failure: Prediction | None = None
    """The error that importing the package will raise there."""


@frozen
class ScanReport:
    """What ``wheelfix scan`` says about one wheel, package folder or installed distribution."""

    path: str
    name: str
    version: str
    tags: tuple[str, ...]
    machine: Machine
    images: tuple[ScannedImage, ...]
    resolution: Resolution
    missing: tuple[MissingDll, ...]
    first_failure: Prediction | None
    findings: tuple[Finding, ...]
    archs: tuple[str, ...] | None = None
    """GPU code of all images together; None when it was not asked for."""
    cuda: CudaSummary | None = None
    """None for what has nothing to do with CUDA."""
    provided: tuple[ProvidedDll, ...] = ()
    """What other distributions provide."""
    targets: tuple[TargetVerdict, ...] = ()
    """The kinds of Windows that were asked about, with the answer for each."""
    prefix: str = ""
    """The environment in which it is installed; empty for a wheel and for a folder."""

    @property
    def verdict(self) -> Verdict:
        """Broken with an error, unsure where that could not be decided, risky with a warning, else ok."""
        return verdict_of(self.findings)

    def without_images(self) -> ScanReport:
        """Return the report with its findings and verdicts alone, of which a thousand fit into memory."""
        return replace(self, images=(), resolution=Resolution())

    def to_dict(self) -> JsonObject:
        """Return the report as ``wheelfix scan --format json`` has it for one wheel."""
        # What draws reports stands above this module, and is asked for by its name.
        value: JsonObject = importlib.import_module("wheelfix.report.json_").scan_value(self)
        return value

    def to_json(self) -> str:
        """Return the same as a text."""
        return str(importlib.import_module("wheelfix.report.json_").dump(self.to_dict()))
