"""A progress line on stderr for long work: what is done, how far it is, how long it takes; only on a terminal."""

from __future__ import annotations

import os
import threading
import time
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from wheelfix.report.canvas import is_terminal, terminal_width
from wheelfix.report.safe import legible
from wheelfix.report.words import human_size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from wheelfix.remote.ranges import WheelPath

BAR = 20
PATIENCE = 0.5
"""Seconds of work before the line appears: short work needs none."""
PAUSE = 0.25
"""Seconds between two drawings, so that the time is seen to move where nothing else does."""
NAME = 24
"""Columns of a name that count more than the time that is left."""
TRUSTED = 0.05
"""The part of the work after which the rest of the time is estimated."""


class ProgressBar:
    """``[####......] 3/10 scanning torch-2.7.1-….whl, 120.0 MB of 252.0 MB, 0:12, about 0:20 left``.

    Works as a context manager. :meth:`step` says that one more input is done, :meth:`part` how far the present one is.
    :meth:`hide` removes the line before anything else is printed; it appears again with the next thing that is done.
    """

    def __init__(
        self, stream: TextIO, paths: Sequence[WheelPath], verb: str = "", *, enabled: bool | None = None
    ) -> None:
        self._stream = stream
        self._verb = verb
        self._paths = [str(path) for path in paths]
        self._names = [_narrow(legible(path.name or str(path)), stream) for path in paths]
        quiet = os.environ.get("TERM") == "dumb"
        self._enabled = (is_terminal(stream) and not quiet) if enabled is None else enabled
        self._sizes = [_size(path) for path in paths] if self._enabled else [1] * len(paths)
        self._done = 0
        self._part = (0, 0)
        self._shown = self._hidden = False
        self._started = time.monotonic()
        self._resumed = self._started
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> ProgressBar:
        if self._enabled:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._ticker is not None:
            self._ticker.join()
        self.hide()

    def step(self, path: str = "") -> None:
        """Say that one more input is done; ``path`` distinguishes the distributions of one environment from inputs."""
        at = next((at for at in range(self._done, len(self._paths)) if path.startswith(self._paths[at])), self._done)
        inside = path and at < len(self._paths) and path != self._paths[at] and not path.endswith(".whl")
        self._done = at if inside else at + 1
        self._part = (0, 0)
        self._hidden = False

    def part(self, done: int, total: int) -> None:
        """Say how many bytes of the present input are done; may be called from several threads."""
        self._part = (done, total)
        self._hidden = False

    def hide(self) -> None:
        """Remove the line until something more is done."""
        with self._lock:
            self._hidden = True
            self._resumed = time.monotonic()
            if self._shown:
                self._shown = False
                self._write("\r" + " " * (terminal_width() - 1) + "\r")

    def show(self) -> None:
        """Draw the line, unless there is nothing to do or a result was printed a moment ago."""
        with self._lock:
            idle = self._hidden or self._done >= len(self._names)
            if not self._enabled or idle or time.monotonic() - self._resumed < PATIENCE:
                return
            self._shown = True
            width = terminal_width() - 1
            self._write("\r" + self.line(width).ljust(width))

    def line(self, width: int = 120) -> str:
        """Return the line as it would be drawn now, in that many columns."""
        seconds = time.monotonic() - self._started
        done = min(self._done, len(self._names) - 1)
        share = self._share(done)
        filled = int(BAR * share)
        head = f"[{'#' * filled}{'.' * (BAR - filled)}] "
        head += f"{done + 1}/{len(self._names)} " if len(self._names) > 1 else ""
        tail = f", {human_size(self._part[0])} of {human_size(self._part[1])}" if self._part[1] else ""
        tail += f", {_clock(seconds)}"
        left = f", about {_clock(seconds * (1 - share) / share)} left" if share > TRUSTED else ""
        if len(head) + NAME + len(tail) + len(left) <= width:
            tail += left
        name = f"{self._verb} {self._names[done]}".strip()
        return (head + _shortened(name, width - len(head) - len(tail)) + tail)[:width]

    def _share(self, done: int) -> float:
        """How much of all bytes is done, from 0 to 1."""
        part, total = self._part
        size = sum(self._sizes[:done]) + (self._sizes[done] * min(part, total) / total if total else 0)
        return size / max(1, sum(self._sizes))

    def _tick(self) -> None:
        while not self._ended.wait(PAUSE):
            self.show()

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._enabled = False  # there is no terminal left


def _size(path: WheelPath) -> int:
    try:
        return max(1, path.stat().st_size if isinstance(path, Path) else path.size)
    except OSError:
        return 1


def _narrow(name: str, stream: TextIO) -> str:
    """Return a name in which every character takes one column and can be shown; others become ``?``."""
    if name.isascii():
        return name
    encoding = getattr(stream, "encoding", None) or "ascii"
    known = name.encode(encoding, "replace").decode(encoding, "replace")
    return "".join("?" if unicodedata.east_asian_width(char) in "WF" else char for char in known)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"


def _shortened(name: str, room: int) -> str:
    """Return a name that fits; what is left out is left out in the middle, where wheels differ least."""
    if len(name) <= room:
        return name
    half = max(0, room - 3) // 2
    return f"{name[: max(0, room - 3) - half]}...{name[len(name) - half :]}" if room > 3 else name[: max(0, room)]
