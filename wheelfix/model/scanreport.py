"""What a scan reports: findings, missing and provided DLLs, the predicted error, and the verdict."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wheelfix.model.folding import Json
    from wheelfix.model.images import FileVersion, GpuFit, ImageFacts, Machine, NumpyApi, Signature
    from wheelfix.model.resolution import EdgeKind, Resolution


class Severity(str, enum.Enum):
    """How much a finding matters; the order is the order of harm."""

    ERROR = "error"
    UNSURE = "unsure"
    """Would be an error, but the evidence does not decide whether it is one."""
    WARNING = "warning"
    INFO = "info"

    def __str__(self) -> str:
        return self.value


class Repairable(str, enum.Enum):
    """Whether ``wheelfix repair`` can fix what a finding names."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"
    NEVER = "never"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that could be vendored."""

    path: str
    root: str
    version: str
    reason: str


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


class Verdict(str, enum.Enum):
    """The answer in one word."""

    OK = "ok"
    RISKY = "risky"
    UNSURE = "unsure"
    """Whether it works depends on something that could not be read."""
    BROKEN = "broken"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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

    @property
    def verdict(self) -> Verdict:
        """Broken with an error, unsure where that could not be decided, risky with a warning, else ok."""
        return verdict_of(self.findings)
