"""How a report should look on a given stream: width, colour, and whether arrows may be arrows."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

GLYPHS = "→└├│─✓✗•…×▸"
"""Every character beyond ASCII that a report draws with."""

PIPE_WIDTH = 80
MAX_WIDTH = 120


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The parameters of the text renderer; the default is what a pipe gets."""

    width: int = PIPE_WIDTH
    colour: bool = False
    unicode: bool = False


COLOURS = ("auto", "always", "never")


def look_of(stream: TextIO, environ: Mapping[str, str] | None = None, colour: str = "auto") -> TextStyle:
    """Return how to write on a stream: a terminal gets colour and its own width, a pipe gets plain ASCII.

    ``NO_COLOR`` and ``FORCE_COLOR`` (any non-empty value) override, ``NO_COLOR`` first, as no-color.org asks; a
    ``colour`` that was asked for with an option overrides both.
    """
    environ = os.environ if environ is None else environ
    terminal = is_terminal(stream)
    forced = colour == "always" or bool(environ.get("FORCE_COLOR"))
    coloured = (terminal and environ.get("TERM") != "dumb" and _takes_escapes(stream)) or forced
    if colour == "never" or (colour == "auto" and environ.get("NO_COLOR")):
        coloured = False
    width = PIPE_WIDTH
    if terminal:
        width = max(40, min(MAX_WIDTH, terminal_width()))
    return TextStyle(width=width, colour=coloured, unicode=(terminal or forced) and can_draw(stream))


def terminal_width() -> int:
    """Return how many characters fit on a line of the terminal."""
    import shutil  # which loads every compressor that Python has

    return shutil.get_terminal_size((PIPE_WIDTH, 24)).columns


def _takes_escapes(stream: TextIO) -> bool:
    """Whether a terminal obeys escape sequences; an old Windows console does only when asked to, if at all."""
    if sys.platform != "win32":
        return True
    import ctypes
    import msvcrt

    enable_virtual_terminal = 0x0004
    try:
        handle = msvcrt.get_osfhandle(stream.fileno())
        mode = ctypes.c_ulong()
        kernel = ctypes.windll.kernel32
        if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
            return bool(os.environ.get("TERM"))  # a terminal that is not a console: mintty and the like
        return bool(kernel.SetConsoleMode(handle, mode.value | enable_virtual_terminal))
    except (OSError, ValueError, AttributeError):
        return False


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream; a closed or odd stream is none."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError, OSError):
        return False


def can_draw(stream: TextIO) -> bool:
    """Whether the stream's encoding has our arrows and lines (cp1252 has not)."""
    try:
        GLYPHS.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
