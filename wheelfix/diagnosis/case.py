"""A distribution whose files were examined for a diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.base.values import dataclass, field
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.exam.examination import Examination
    from wheelfix.model import MissingDll, Resolution


@dataclass(frozen=True, slots=True)
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
    def missing(self) -> dict[str, MissingDll]:
        """The DLLs without a provider, by folded name."""
        return {dll_key(item.name): item for item in self.exam.report.missing}
