"""What to say and to advise when a plan leaves DLLs missing: why each file that was there was not taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.errors import CannotRepair
from wheelfix.model import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Finding
    from wheelfix.plan.model import Plan, Remaining


def in_words(finding: Finding) -> str:
    """Return a finding as a reason why a repair does not succeed."""
    text = finding.message if finding.subject in finding.message else f"{finding.subject}: {finding.message}"
    return f"{finding.code} {text}"


def cannot_repair(name: str, lasting: Sequence[Finding], plan: Plan) -> CannotRepair:
    """Return the error for a wheel or package that would still fail, or of which that could not be told."""
    unsure = all(finding.severity is Severity.UNSURE for finding in lasting)
    deleted = [finding for finding in lasting if finding.evidence.get("kind") == "row-orphan"]
    settles = next((finding.hint for finding in [*deleted, *lasting] if finding.hint), "`wheelfix scan` shows more")
    return CannotRepair(
        f"could not tell whether {name} loads" if unsure else f"{name} cannot be repaired",
        because=(*map(in_words, lasting), *why_unmet(plan)),
        hint=settles
        if deleted
        else hint(plan) or (f"{settles}; --allow-missing NAME accepts it" if unsure else settles),
    )


NOWHERE = "no root has "
"""How the reason begins when there was nothing to choose from."""


def unmet(plan: Plan) -> tuple[Remaining, ...]:
    """Return the DLLs that something fails without, and that the user did not allow to be missing."""
    return tuple(item for item in plan.remaining if item.required and not item.allowed)


def why_unmet(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each DLL that was somewhere and was not taken; those that are nowhere need none."""
    return tuple(
        f"{item.name}: {item.because}" for item in unmet(plan) if item.because and not item.because.startswith(NOWHERE)
    )


def hint(plan: Plan) -> str:
    """Return what to do about the DLLs that are still missing; empty when none is."""
    items = unmet(plan)
    if not items:
        return ""
    nowhere = [item.name for item in items if not item.because or item.because.startswith(NOWHERE)]
    included = [item.name for item in items if "--include" in item.because]
    steps = []
    if nowhere:
        steps.append(f"name the folder of {_listing(nowhere)} with --root")
    if included:
        options = " ".join(f"--include {name}" for name in included)
        steps.append(
            f"{options} adds what was refused" if len(included) < 4 else "--include NAME adds what was refused"
        )
    if len(nowhere) + len(included) < len(items):
        steps.append("name a root with a suitable file")
    return ", or ".join([*steps, "accept it with --allow-missing NAME"])


def _listing(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
