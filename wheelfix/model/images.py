"""Facts about one PE image: what its tables, resources and signature say."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from wheelfix.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.model.folding import Symbol


class Machine(str, enum.Enum):
    """The processor a PE image is for."""

    AMD64 = "amd64"
    X86 = "x86"
    ARM64 = "arm64"
    ARM64EC = "arm64ec"
    ARM = "arm"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class ByteSource(Protocol):
    """Bytes that can be read at any place: a file on disk, or a member that is inflated as far as needed."""

    @property
    def size(self) -> int:
        """How many bytes there are."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``; fewer at the end, none behind it."""
        ...


@dataclass(frozen=True, slots=True)
class Import:
    """One DLL in an import table and what is wanted from it."""

    dll: str
    """The name as spelled in the table."""
    symbols: tuple[Symbol, ...] = ()
    """Names and ordinals, in table order."""


@dataclass(frozen=True, slots=True)
class Exports:
    """What a DLL offers."""

    names: frozenset[str] = frozenset()
    ordinals: frozenset[int] = frozenset()
    forwarders: Mapping[Symbol, str] = field(default_factory=dict)
    """Symbols that live in another DLL, with the target as spelled (``libomp.dll.KMP_CALLOC``, ``NTDLL.#12``)."""

    def offers(self, symbol: Symbol) -> bool:
        """Whether the name or ordinal is exported (a forwarder counts)."""
        return symbol in self.names or symbol in self.ordinals


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Malformed:
    """Bytes that call themselves a DLL and are none, with the reason."""

    kind: str
    """``empty``, ``lfs-pointer``, ``not-pe``, ``truncated`` or ``malformed``."""
    reason: str
    size: int = 0


ImageFacts: TypeAlias = "Image | Malformed"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What a version resource says."""

    file: tuple[int, int, int, int] = (0, 0, 0, 0)
    product: tuple[int, int, int, int] = (0, 0, 0, 0)
    strings: Mapping[str, str] = field(default_factory=dict)
    """CompanyName, ProductName, FileVersion, … as spelled."""

    def __str__(self) -> str:
        return ".".join(map(str, self.file))


@dataclass(frozen=True, slots=True)
class GpuFit:
    """How the GPU code of one image fits the card that was asked about."""

    card: str
    """As it was asked: ``RTX 5070``, ``sm_35``, ``native``."""
    arch: str
    """What that stands for: ``sm_120``."""
    fit: str
    """``native``, ``same-major``, ``ptx``, ``none`` or ``left-over``."""


@dataclass(frozen=True, slots=True)
class NumpyApi:
    """Which NumPy an extension module was built for."""

    headers: int
    """The generation of the headers, 1 or 2; modules built with those of NumPy 2 run on NumPy 1 as well."""
    oldest: str = ""
    """The oldest NumPy that it runs with, as ``1.23``; empty when the module does not show it."""


TRUSTED = "trusted"
"""The one status that counts as signed."""


@dataclass(frozen=True, slots=True)
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
