"""How the interpreter runs in a process that does nothing but our work."""

from __future__ import annotations

import gc
import sys
import warnings


def tune() -> None:
    """Set the interpreter up for threads that unpack, and for ten thousand values that live to the end."""
    # Ten thousand members are ten thousand tuples that live to the end: looking through them for cycles finds none.
    gc.set_threshold(200_000, 50, 50)
    # Threads that unpack need the interpreter only between two pieces, and then at once.
    sys.setswitchinterval(0.00001)
    warnings.simplefilter("ignore")  # of Python, about code that others wrote and we only read
