"""What a diagnosis goes by and what it consists of, as values: request, evidence, causes, remedies, verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.base.values import dataclass, field, frozen
from wheelfix.diagnosis.symptoms.model import Cause, Confidence, Log, Recording, Remedy, Symptom
from wheelfix.model import Finding, MissingDll, Resolution, Word, canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from wheelfix.diagnosis.symptoms.quotes import Quote
    from wheelfix.diagnosis.symptoms.stream import Text
    from wheelfix.exam.examination import Examination
    from wheelfix.loader.places import Environment


class DiagnosisOutcome(Word):
    """The result of a diagnosis."""

    NO_FAULT = "no-fault-found"
    CAUSE = "cause-found"
    UNKNOWN = "could-not-tell"


@frozen
class Evidence:
    """One input of a diagnosis."""

    kind: str
    """``text``, ``record``, ``environment`` or ``wheel``."""
    source: str
    """The file, folder or wheel, or how the text was given."""
    told: str
    """What it shows, in a few words."""


@frozen
class Explained:
    """A cause with everything that leads to it."""

    cause: Cause
    symptom: Symptom | None = None
    """What the text says about it; None when only the files show it."""
    chain: tuple[str, ...] = ()
    """From the file that the error names to the true cause."""
    explanation: str = ""
    """Why the file that the error names is, or is not, the cause."""
    package: str = ""
    """The distribution in whose files it was found; empty when the text is all there is."""

    @property
    def proven(self) -> bool:
        """Whether the files themselves show it."""
        return bool(self.package)


@frozen
class Diagnosis:
    """From an error text, an environment and a wheel to the cause and the remedy."""

    evidence: tuple[Evidence, ...] = ()
    quotes: tuple[Quote, ...] = ()
    """The lines of the text that decide, the error first."""
    facts: tuple[str, ...] = ()
    """What else it says about the machine and the program: versions, cards, environments, DLLs."""
    symptoms: tuple[Symptom, ...] = ()
    explained: tuple[Explained, ...] = ()
    """The causes, the one that explains the text first."""
    others: tuple[str, ...] = ()
    """Further faults that the files show, each in a sentence."""
    harmless: tuple[str, ...] = ()
    """Warnings of the text that the program survived, each with its line: not what ended it."""
    remedies: tuple[Remedy, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Where the text and the files disagree, what was left unread, what to give next time."""
    sound: bool = False
    """Whether files were looked at and no fault was found in them."""

    @property
    def outcome(self) -> DiagnosisOutcome:
        """The verdict: a guess is not a cause, and files without fault do not explain a text."""
        if any(one.cause.confidence is not Confidence.GUESS for one in self.explained):
            return DiagnosisOutcome.CAUSE
        read_text = any(one.kind == "text" for one in self.evidence)
        sound = self.sound and not self.explained and not read_text
        return DiagnosisOutcome.NO_FAULT if sound else DiagnosisOutcome.UNKNOWN

    @property
    def only_fault(self) -> bool | None:
        """Whether the first cause is the only fault; None when no files were looked at, or none of them has it."""
        if not any(one.proven and one.cause.confidence.value == "sure" for one in self.explained):
            return None
        return len(self.explained) == 1 and not self.others


@frozen
class ScannedPackage:
    """One examined distribution."""

    exam: Examination
    prefix: str
    """How the user names the environment; empty for a wheel."""
    wheel: str = ""
    known: Mapping[str, str] = field(default_factory=dict)
    """What is known about the environment, see :func:`situation`."""
    options: ScanOptions = field(default_factory=ScanOptions)
    """What the user said about the target machine and about roots; a repair needs to hear it again."""

    @property
    def resolution(self) -> Resolution:
        """What the loader model found out."""
        return self.exam.report.resolution

    @property
    def name(self) -> str:
        """The distribution."""
        return self.exam.report.name

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules found."""
        return tuple(self.exam.report.findings)

    @property
    def missing(self) -> dict[str, MissingDll]:
        """The DLLs without a provider, by folded name."""
        return {dll_key(item.name): item for item in self.exam.report.missing}


SHOWN = 6
"""Symptoms or packages that the evidence names; more are counted."""


@frozen
class DiagnoseRequest:
    """What there is to go by."""

    text: Text | None = None
    """An error text: decoded, as bytes, or an open file."""
    text_source: str = "the text"
    """How to name it: a file, ``stdin``, ``--text``."""
    environment: Path | None = None
    wheels: tuple[Path, ...] = ()
    package: str = ""
    active: Path | None = None
    """The environment that is active where we run; used when nothing better is known."""
    options: ScanOptions = field(default_factory=ScanOptions)


@dataclass
class GatheredEvidence:
    """What has been put together so far."""

    log: Log | None = None
    recordings: tuple[Recording, ...] = ()
    environment: Environment | None = None
    how: str = ""
    """How the environment came to be known, when the user did not name it."""
    cases: list[ScannedPackage] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    examine_other: Callable[[str], ScannedPackage | None] = lambda name: None
    """Examines another distribution of the environment, by its name."""

    def case_of(self, explained: Explained, case: ScannedPackage) -> ScannedPackage:
        """The case of the distribution that a cause is in, which need not be the one that the text names."""
        wanted = canonical(explained.package)
        if canonical(case.name) == wanted:
            return case
        for other in self.cases:
            if canonical(other.name) == wanted and bool(other.wheel) == bool(case.wheel):
                return other
        return self.examine_other(wanted) or case

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        return self.log.symptoms if self.log else ()
