"""A progress line on stderr for long work; silent where nobody watches."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TextIO

from wheelfix.report.textstyle import is_terminal, terminal_width

if TYPE_CHECKING:
    from types import TracebackType

BAR = 24
PATIENCE = 0.5
"""Seconds of work before the line appears: short work needs none."""
PAUSE = 0.1


class Progress:
    """``[#####...] 3/10 120 of 400 DLLs`` on one line that is wiped before anything else is printed.

    Works as a context manager; :meth:`step` says that one more part is done, :meth:`hide` makes room for output.
    """

    def __init__(self, stream: TextIO, total: int, *, enabled: bool | None = None) -> None:
        self._stream = stream
        self._total = max(1, total)
        self._done = 0
        self._part = ""
        self._shown = False
        self._started = self._last = time.monotonic()
        quiet = os.environ.get("TERM") == "dumb"
        self._enabled = (is_terminal(stream) and not quiet) if enabled is None else enabled

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()

    def step(self) -> None:
        """Say that one more input is done."""
        self._done += 1
        self._part = ""
        self.show()

    def part(self, done: int, total: int) -> None:
        """Say how far the present input is; may be called from several threads."""
        self._part = f"{done} of {total} DLLs"
        self.show()

    def show(self) -> None:
        """Draw the line, unless it was drawn a moment ago."""
        now = time.monotonic()
        if not self._enabled or now - self._started < PATIENCE or (self._shown and now - self._last < PAUSE):
            return
        self._last = now
        self._shown = True
        width = terminal_width() - 1
        self._write("\r" + self.line()[:width].ljust(width))

    def line(self) -> str:
        """Return the line as it would be drawn now."""
        filled = BAR * min(self._done, self._total) // self._total
        return f"[{'#' * filled}{'.' * (BAR - filled)}] {self._done}/{self._total} {self._part}".rstrip()

    def hide(self) -> None:
        """Wipe the line, if there is one."""
        if self._shown:
            width = terminal_width() - 1
            self._write("\r" + " " * width + "\r")
            self._shown = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._enabled = False  # nobody is left to see it
