"""WF504: whether a wheel's own GPU code and that of the libraries in it have a card in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import card_table
from wheelfix.knowledge.families import family_of
from wheelfix.model import Finding, Repairable, Severity
from wheelfix.pe.gpucode import CONTAINERS, WRAPPERS, GpuCode, read_gpu_code
from wheelfix.rules.context import Subject, base
from wheelfix.rules.gpufit import Fit, fit_of_image, in_order
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Code = Callable[[str], GpuCode | None]

_FIRST = 64
"""Entries of a DLL that nearly always show a card in common; reading on takes the whole file."""


@rule(
    "WF504",
    "gpu-code-disjoint",
    Severity.WARNING,
    Repairable.NEVER,
    "The wheel's own GPU code and that of a library in it run on no card in common.",
)
def gpu_code_disjoint(subject: Subject) -> Iterator[Finding]:
    """Compare the cards that the wheel's own code runs on with those of each NVIDIA library in it."""
    with_code = [path for path, image in subject.images.items() if {CONTAINERS, WRAPPERS} & set(image.sections)]
    libraries = [path for path in with_code if _is_library(path)]
    own = [path for path in with_code if not _is_library(path)]
    if not own or not libraries:
        return

    def first(path: str) -> GpuCode | None:
        return read_gpu_code(subject.view.source(path), _FIRST)

    # More code only adds cards: where the first entries have one in common, the rest need not be read.
    begun = _cards(subject, own, first)
    doubtful = [path for path in libraries if not begun & _cards(subject, [path], first)]
    if not doubtful:
        return
    cards = _cards(subject, own, subject.code_of)
    for path in doubtful if cards else ():
        code = subject.code_of(path)
        theirs = _cards(subject, [path], subject.code_of)
        if code is not None and theirs and not cards & theirs:
            yield _finding(subject, path, code, own)


def _finding(subject: Subject, path: str, code: GpuCode, own: list[str]) -> Finding:
    codes = {one: found for one in own if (found := subject.code_of(one)) and found.archs}
    archs = in_order({arch for found in codes.values() for arch in found.archs})
    return finding(
        "WF504",
        subject.origin(path),
        f"{base(path)} has code for {listing(in_order(code.archs), 14)}, {listing([*map(base, codes)])} for "
        f"{listing(archs, 14)}: no card runs both, and what calls {base(path)} fails with 'no kernel image is "
        "available for execution on the device'",
        hint=f"take a release of {base(path)} with code for the wheel's cards, or build the wheel for those of "
        f"{base(path)}",
        evidence={
            "library": [*code.archs],
            "own": {subject.origin(one): [*found.archs] for one, found in codes.items()},
        },
    )


def _is_library(path: str) -> bool:
    member = family_of(base(path))
    return member is not None and member.family.vendor == "NVIDIA"


def _cards(subject: Subject, paths: Iterable[str], read: Code) -> frozenset[str]:
    """Return the architectures of known cards on which the code of some image runs."""
    known = [architecture.name for architecture in card_table().architectures.values()]
    found: set[str] = set()
    for path in paths:
        code = read(path)
        if code is None or not code.archs:
            continue
        size = subject.images[path].size
        if fit_of_image(code, size, known[0]) is Fit.LEFT_OVER:
            continue
        # A card that is newer than all tables has the architecture that the code names itself.
        cards = {*known, *(arch for arch in code.archs if arch.startswith("sm_") and arch[-1].isdigit())}
        found.update(card for card in cards if fit_of_image(code, size, card).runs)
    return frozenset(found)
