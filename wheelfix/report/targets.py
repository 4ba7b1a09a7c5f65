"""Why the answer for a kind of Windows is what it is, in half a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from wheelfix.model import TargetVerdict


def reason(target: TargetVerdict) -> str:
    """Return in half a sentence why the answer is what it is."""
    parts = []
    if target.absent:
        parts.append(f"without {listing(target.absent)}")
    if target.perhaps_absent:
        parts.append(f"perhaps without {listing(target.perhaps_absent)}")
    if target.unknown:
        parts.append(f"could not tell about {listing(target.unknown)}")
    return "; ".join(parts)
