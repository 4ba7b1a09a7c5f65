"""What a diagnosis consists of, as values: evidence, explained causes, remedies, and the verdict they add up to."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.diagnosis.symptoms.symptom import Confidence

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.causetable import Cause, Remedy
    from wheelfix.diagnosis.symptoms.symptom import Symptom


class DiagnosisOutcome(str, enum.Enum):
    """The result of a diagnosis."""

    NO_FAULT = "no-fault-found"
    CAUSE = "cause-found"
    UNKNOWN = "could-not-tell"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Evidence:
    """One input of a diagnosis."""

    kind: str
    """``text``, ``record``, ``environment`` or ``wheel``."""
    source: str
    """The file, folder or wheel, or how the text was given."""
    told: str
    """What it shows, in a few words."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """From an error text, an environment and a wheel to the cause and the remedy."""

    evidence: tuple[Evidence, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    explained: tuple[Explained, ...] = ()
    """The causes, the one that explains the text first."""
    others: tuple[str, ...] = ()
    """Further faults that the files show, each in a sentence."""
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
        return (
            DiagnosisOutcome.NO_FAULT
            if self.sound and not self.explained and not read_text
            else DiagnosisOutcome.UNKNOWN
        )

    @property
    def only_fault(self) -> bool | None:
        """Whether the first cause is the only fault; None when no files were looked at."""
        if not any(one.proven for one in self.explained):
            return None
        return len(self.explained) == 1 and not self.others
