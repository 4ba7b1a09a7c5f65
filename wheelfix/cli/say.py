"""Lines on stderr: errors in layers, and short remarks."""

from __future__ import annotations

import contextlib
import sys


def say_error(what: str, *reasons: str, hint: str = "") -> None:
    """Print one error in layers: what happened, because of what, each reason on a line of its own, what to try."""
    say(f"wheelfix: error: {what}")
    for number, reason in enumerate(reasons):
        say(f"  {'because:' if number == 0 else '        '} {reason}")
    if hint:
        say(f"  hint: {hint}")


def say(line: str) -> None:
    """Print a line on stderr, if there is one; names in it may be of strangers."""
    if sys.stderr is not None:
        from wheelfix.report.safe import legible, without_commands

        with contextlib.suppress(OSError, ValueError):
            print(without_commands(legible(line)), file=sys.stderr, flush=True)
