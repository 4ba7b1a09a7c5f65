"""Lines on stderr: errors in layers, and short remarks."""

from __future__ import annotations

import contextlib
import sys


def say_error(what: str, *reasons: str, hint: str = "") -> None:
    """Print one error in layers: what happened, because of what, each reason on a line of its own, what to try."""
    from wheelfix.report.words import legible

    say(f"wheelfix: error: {legible(what)}")
    for number, reason in enumerate(reasons):
        say(f"  {'because:' if number == 0 else '        '} {legible(reason)}")
    if hint:
        say(f"  hint: {legible(hint)}")


def say(line: str) -> None:
    """Print a line on stderr, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)
