"""A survey from its sources to its tables: what is done is skipped, what failed temporarily is tried again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.survey.filesystems import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wheelfix.survey.engines import Engine
    from wheelfix.survey.sources import WheelSource
    from wheelfix.survey.tables import SurveyFolder
    from wheelfix.survey.wheelrows import WheelRows

PART_WHEELS, PART_ROWS, PART_SECONDS = 200, 300_000, 20.0
"""A part is written when it has so many wheels or rows, or is so old: what a kill costs."""
PAUSE = 10.0
"""Seconds between two lines about progress."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did."""

    skipped: int
    """Wheels that were done before."""
    scanned: int
    failed: int
    """Wheels that could not be read, those included that the next run tries again."""
    passing: int
    """Of these: how many the next run tries again."""
    seconds: float

    @property
    def rate(self) -> float:
        """Wheels per second."""
        return (self.scanned + self.failed) / max(self.seconds, 0.001)


def run_survey(
    sources: Iterable[WheelSource],
    folder: SurveyFolder,
    engine: Engine,
    say: Callable[[str], None],
    unlisted: Iterable[WheelRows] = (),
) -> Summary:
    """Bring a survey to its end, from wherever it is; ``unlisted`` are rows of names that have no wheel."""
    listed = list(sources)
    done = folder.done()
    known = {(row["source"], row["size"], row["modified"]) for row in done}
    known |= {(row["source"], 0, row["modified"]) for row in done}  # an index may not say how large its files are
    todo = [source for source in listed if (named(source.place), source.size, source.modified) not in known]
    run = _SurveyRun(folder, len(todo), {str(row["sha256"]) for row in done if row["status"] == "scanned"}, say)
    say(f"survey: {len(todo)} wheels to read, {len(listed) - len(todo)} done before")
    try:
        run.add_unlisted(rows for rows in unlisted if (rows.wheel["source"], 0, "") not in known)
        again = run.take(todo, engine, last=False)
        lost = run.take(again, engine, last=True) if again else []
        run.flush()
    except KeyboardInterrupt:
        run.flush()
        raise
    folder.replace_retries(run.retries)
    return Summary(len(listed) - len(todo), run.scanned, run.failed, len(lost) or len(run.retries), run.seconds)


@dataclass
class _SurveyRun:
    """Rows on their way into the tables."""

    folder: SurveyFolder
    total: int
    known: set[str]
    """Wheels whose rows are in the tables, by their hash."""
    say: Callable[[str], None]
    scanned: int = 0
    failed: int = 0
    retries: list[WheelRows] = field(default_factory=list)
    """Failures that may pass, also in a second try."""
    _pending: list[WheelRows] = field(default_factory=list)
    _rows: int = 0
    _unlisted: int = 0
    _began: float = field(default_factory=time.monotonic)
    _flushed: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def take(self, sources: Sequence[WheelSource], engine: Engine, *, last: bool) -> list[WheelSource]:
        """Read wheels; return those that failed for a reason that may pass, of which the ``last`` try keeps rows."""
        by_place = {named(source.place): source for source in sources}
        again = []
        for rows in engine(sources):
            if rows.failed_in_passing:
                again.append(by_place[str(rows.wheel["source"])])
                if last:
                    self.failed += 1
                    self.retries.append(rows)
            else:
                self._add(rows)
            self._report(len(again))
        return again

    def add_unlisted(self, unlisted: Iterable[WheelRows]) -> None:
        """Take rows of names for which there is nothing to read."""
        for rows in unlisted:
            self._unlisted += 1
            if rows.failed_in_passing:
                self.failed += 1
                self.retries.append(rows)
            else:
                self._add(rows)

    def _add(self, rows: WheelRows) -> None:
        if rows.wheel["status"] == "failed":
            self.failed += 1
        else:
            self.scanned += 1
        sha256 = str(rows.wheel["sha256"])
        if rows.tables and sha256 in self.known:
            rows = type(rows)(rows.wheel)  # a copy: the rows of the first stand for both
        elif rows.tables:
            self.known.add(sha256)
        self._pending.append(rows)
        self._rows += sum(map(len, rows.tables.values()))
        old = time.monotonic() - self._flushed > PART_SECONDS
        if old or len(self._pending) >= PART_WHEELS or self._rows >= PART_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was read since the last part."""
        if self._pending:
            self.folder.add_part(self._pending)
        self._pending, self._rows, self._flushed = [], 0, time.monotonic()

    def _report(self, again: int) -> None:
        now = time.monotonic()
        if now - self._said < PAUSE:
            return
        self._said = now
        done = self.scanned + self.failed - self._unlisted
        rate = done / max(self.seconds, 0.001)
        left = f", about {(self.total - done) / rate / 60:.0f} min left" if done else ""
        failed = f", {self.failed} failed" if self.failed else ""
        failed += f", {again} to try again" if again else ""
        self.say(f"survey: {done} of {self.total} wheels, {rate:.1f} per second{failed}{left}")
