"""Steps that an interrupt must not tear apart: making and removing what would be left behind otherwise.

A request to stop that falls into such a step waits until its end, which is a matter of milliseconds.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class Shield:
    """Holds interrupts of the main thread back in its ``with`` blocks; other threads get none anyway."""

    def __init__(self) -> None:
        self._depth = 0
        self._asked = False

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt, now or when the step is over; called by whoever handles signals."""
        if self._depth:
            self._asked = True
        else:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1
            if self._asked and not self._depth:
                self._asked = False
                raise KeyboardInterrupt


shielded = Shield()
"""The one of this process."""
