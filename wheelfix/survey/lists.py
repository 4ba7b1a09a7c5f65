"""What a list stands for: wheels to read, and a row for each line that stands for none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, WheelfixError, shown_url
from wheelfix.survey.sources import WheelSource, wheel_sources
from wheelfix.survey.wheelrows import failed_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.survey.wheelrows import WheelRows


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list or a package index has."""

    sources: tuple[WheelSource, ...]
    failed: tuple[WheelRows, ...]
    """A row for each line that has no wheel, or could not be asked for."""


LARGEST_LIST = 16 << 20
"""Bytes of a list; one of all projects on PyPI has 10 MB."""


def read_list(lines: Iterable[str]) -> Listed:
    """Return the wheels of paths and URLs, one in a line; a bad line is a row that the next run retries."""
    sources: list[WheelSource] = []
    failed: list[WheelRows] = []
    for line in dict.fromkeys(text for line in lines if (text := line.strip())):
        try:
            sources += wheel_sources([line])
        except WheelfixError as error:
            failure = EnvironmentFailure(error.what, because=error.reasons)
            failed.append(failed_rows(WheelSource(shown_url(line), shown_url(line)), failure))
    return Listed(tuple(sources), tuple(failed))
