"""Functions that an interrupt must not cut short: they create or remove what would be left behind otherwise.

A request to stop that arrives while such a function runs is delivered when it has returned, milliseconds later. The
function is recognised by its code: it has begun as soon as its frame exists, and is over when its frame is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_DEFERRING: set[CodeType] = set()


def defer_interrupts(function: _Function) -> _Function:
    """Mark a function as one that interrupts wait for; calls of it cost nothing more."""
    _DEFERRING.add(function.__code__)
    return function


def defers_interrupts(frame: FrameType | None) -> bool:
    """Whether this frame is that of a marked function, or was called by one; signal handlers ask.

    Or it is one of Python's import system: an exception between its taking the lock of all imports and the ``try``
    behind that leaves it locked for ever, and a thread that imports something never ends.
    """
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    while frame is not None:
        if frame.f_code in _DEFERRING:
            return True
        frame = frame.f_back
    return False
