"""WF330: what the metadata of a distribution requires, compared with what is installed beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.requirements import unmet_requirements
from wheelfix.model import Finding, Repairable, Severity
from wheelfix.rules.hints import install
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.rules.context import Subject


@rule(
    "WF330",
    "requirement-not-met",
    Severity.WARNING,
    Repairable.NEVER,
    "A distribution that is required is not installed, or in a version that is not allowed.",
)
def requirement_not_met(subject: Subject) -> Iterator[Finding]:
    """Find requirements that an installer would have met; where an import fails for certain, WF320 says so."""
    beside, own = subject.view.beside, subject.distribution
    known = {absent.distribution for absent in subject.resolution.absent_modules}
    who = f"{own.name} {own.version}"
    for unmet in unmet_requirements(own.requires, beside, subject.profile) if beside is not None else ():
        if unmet.name in known:
            continue
        there = f"but {unmet.name} {unmet.installed} is" if unmet.installed else "which is not"
        hint = install(unmet.requirement)
        if unmet.installed:
            hint += "; 'python -m pip check' lists everything there that does not fit together"
        yield finding(
            "WF330",
            unmet.name,
            f"{who} requires {unmet.requirement}, {there} installed",
            hint=hint,
            evidence={"distribution": unmet.name, "requirement": unmet.requirement, "installed": unmet.installed},
        )
    python = subject.environment_python
    if python is not None and not _runs_on(own.requires_python, python):
        yield finding(
            "WF330",
            "Python",
            f"{who} requires Python {own.requires_python}, but the environment has Python {dotted(python)}",
            hint=(
                f"'python -m pip install --force-reinstall {own.name}' with the environment's own Python installs a "
                "release that allows it"
            ),
            evidence={"distribution": "", "requirement": own.requires_python, "installed": dotted(python)},
        )


def _runs_on(requires_python: str, python: tuple[int, int]) -> bool:
    """Whether Requires-Python allows a Python; the last patch release decides, and what cannot be read allows all."""
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(requires_python[:2000]).contains(f"{dotted(python)}.99")
    except ValueError:
        return True
