"""What to say and to advise when a plan leaves DLLs missing: why each file that was there was not taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.plan.model import Plan, Remaining

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
