"""What the fixture ``run`` is."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Printed(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


class Run(Protocol):
    """Run a command of ours that has to end with a code, or with any, if that is None."""

    def __call__(self, *words: object, code: int | None = 0) -> Printed: ...
