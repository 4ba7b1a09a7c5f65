"""Steps that an interrupt must not tear apart: making and removing what would be left behind otherwise.

A request to stop that falls into such a step is put off until it is over, which is a matter of milliseconds. A step is
a function, known by its code: it has begun when its frame is there, and is over when its frame is gone, without a
moment between the two at which it is neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    _Step = TypeVar("_Step", bound=Callable[..., Any])

_STEPS: set[CodeType] = set()


def undisturbed(step: _Step) -> _Step:
    """Mark a function as such a step; it costs its calls nothing."""
    _STEPS.add(step.__code__)
    return step


def is_undisturbed(frame: FrameType | None) -> bool:
    """Whether what runs in this frame is, or was called by, such a step; asked by whoever handles signals."""
    while frame is not None:
        if frame.f_code in _STEPS:
            return True
        frame = frame.f_back
    return False
