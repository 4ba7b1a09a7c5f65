"""Interrupts: Ctrl-C, Ctrl-Break and SIGTERM leave a clean folder and give exit code 130.

Python raises KeyboardInterrupt on Ctrl-C, so that temporary files vanish on the way out, and dies of SIGTERM where it
stands; here both go the first way. An interrupt that falls into a destructor would be printed and lost, and one that
falls into a step which must stay whole may not tear it apart: both are sent again a moment later.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from wheelfix.streams.interrupts import defers_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP")
"""What a console, a service manager or a CI system sends to make a program stop."""
AGAIN = 0.02
"""Seconds until an interrupt is sent again."""


_last: int = signal.SIGINT
"""The request that came last: it is the one that is sent again, since another may be ignored."""


class Interrupts:
    """The handlers of this process; outside the main thread, where Python allows none, it does nothing."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._ours = threading.current_thread() is threading.main_thread()

    def unwind(self) -> None:
        """Let every request to stop raise KeyboardInterrupt; what was ignored before (nohup) stays ignored."""
        for number in self._numbers():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, _interrupt)

    def ignore(self) -> None:
        """Let nothing disturb the last steps."""
        for number in self._numbers():
            signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        """Put back what was there."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _numbers(self) -> list[int]:
        return [getattr(signal, name) for name in NAMES if self._ours and hasattr(signal, name)]


@contextlib.contextmanager
def interruptible(*, last: bool = False) -> Iterator[Interrupts]:
    """Let every request to stop unwind the work in this block; ``last`` if nothing comes after it."""
    interrupts, hook = Interrupts(), sys.unraisablehook
    interrupts.unwind()
    sys.unraisablehook = _sending_again(hook)
    try:
        yield interrupts
    finally:
        sys.unraisablehook = hook
        if last:
            interrupts.ignore()  # the work is done, or reported as failed
        else:
            interrupts.restore()


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _last
    _last = number
    if not defers_interrupts(frame):
        raise KeyboardInterrupt
    _send_again()


def _sending_again(hook: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], None]:
    def raised(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            _send_again()
        else:
            hook(lost)

    return raised


def stop_this_process() -> None:
    """Have the main thread unwind as on SIGTERM; for other threads, which Python raises no interrupt in."""
    global _last
    _last = signal.SIGTERM
    _raise_in_main_thread()


def _send_again() -> None:
    _thread.start_new_thread(_send, ())  # the interrupted thread may hold a lock that threading.Thread needs


def _send() -> None:
    time.sleep(AGAIN)
    _raise_in_main_thread()


def _raise_in_main_thread() -> None:
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        signal.raise_signal(_last)
    else:  # to the one that handles it, which may be waiting for something else
        signal.pthread_kill(main, _last)
