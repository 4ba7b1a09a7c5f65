"""Prints how many texts of each held-out sample got the right cause first, when it was collected and now.

    python -m tools.diagnosis_samples

A sample is a number of public threads that were collected after the code was done: the true cause was written down
first, then each text was given to ``wheelfix diagnose``. ``fixtures/errors/expected.toml`` has the texts with
``sample``; ``at_first`` is the wrong cause that was reported at that time. "Could not tell" counts as right where the
text does not tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli

import wheelfix
from tools.markdown import table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CORPUS = Path(__file__).parents[1] / "fixtures" / "errors"


class SampleFigures(NamedTuple):
    """What one sample came to."""

    sample: str
    texts: int
    at_first: int
    """Texts with the right cause first when the sample was collected."""
    now: int

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The figures as a row of a table."""
        return (
            self.sample,
            str(self.texts),
            f"{self.at_first} ({self.at_first / self.texts:.0%})",
            f"{self.now} ({self.now / self.texts:.0%})",
        )


def rows() -> list[dict[str, Any]]:
    """Return the texts that belong to a sample."""
    text = (CORPUS / "expected.toml").read_text(encoding="utf-8")
    return [row for row in tomli.loads(text)["text"] if "sample" in row]


def answer(row: dict[str, Any]) -> str:
    """Return the cause that comes first for a text now, or ``none``."""
    found = wheelfix.diagnose((CORPUS / row["file"]).read_text(encoding="utf-8"))
    return found.explained[0].cause.id if found.explained else "none"


def figures(texts: Sequence[dict[str, Any]], answer: Callable[[dict[str, Any]], str] = answer) -> list[SampleFigures]:
    """Return the figures of each sample, oldest first, by the cause that an answer has for a text."""
    found = []
    for name in sorted({row["sample"] for row in texts}):
        own = [row for row in texts if row["sample"] == name]
        right = sum(answer(row) == row["truth"] for row in own)
        found.append(SampleFigures(name, len(own), sum("at_first" not in row for row in own), right))
    return found


def main() -> int:
    """Print the table."""
    print(table(["sample", "texts", "right at first", "right now"], [one.row for one in figures(rows())]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
