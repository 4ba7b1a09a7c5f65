"""The files that Python runs or loads between its start and one load: a route and its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.pycode.exceptions import NO_MODULE, NOT_LOADED

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Step:
    """One file of the package that is run or loaded."""

    path: str
    certain: bool
    """False where a condition decides whether it is."""
    caught: frozenset[str] = frozenset()
    """The exceptions that the code that imports it catches, and goes on."""
    absent: str = ""
    """Instead of a file: the module of the package that a statement imports, and that does not exist."""

    @property
    def guarded(self) -> bool:
        """Whether the code that imports it catches a failure and goes on."""
        return (NO_MODULE if self.absent else NOT_LOADED) in self.caught


@dataclass(frozen=True, slots=True)
class Route:
    """What runs between the start of Python and one load."""

    steps: tuple[Step, ...]
    complete: bool
    """False where the code could not be followed to the end."""


class StepTrace:
    """Steps that are found when first needed, and kept."""

    def __init__(self, steps: Iterator[tuple[Step, bool]]) -> None:
        self._steps = steps
        self._known: list[tuple[Step, bool]] = []

    def __iter__(self) -> Iterator[tuple[Step, bool]]:
        at = 0
        while True:
            if at == len(self._known):
                following = next(self._steps, None)
                if following is None:
                    return
                self._known.append(following)
            yield self._known[at]
            at += 1
