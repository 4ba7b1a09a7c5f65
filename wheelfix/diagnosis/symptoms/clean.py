"""A console or CI line without what terminals, build servers and copying put around it."""

from __future__ import annotations

import html
import re

_ANSI = re.compile(
    r"\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, erase
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Colours whose escape character was lost on the way or printed as text. ``[0K`` is what GitLab's sections leave behind.
_LOST_ANSI = re.compile(r"(?:\^\[|\u241b|\\x1b|\\u001b|\\033|\\e)?\[(?:\d{1,3}(?:;\d{1,3}){0,4}m|0K)")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")

_PREFIXES = re.compile(
    r"""\s*(?:
      \[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?  # ISO
        (?:[ ]0\d[OE][ +])?                                               # and GitLab's stream mark
      | \[?\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?\]?(?=[ \t\]])                 # a time of day
      | \#\#\[(?:error|warning|debug|group|section|command)\]           # Azure, GitHub
      | ::(?:error|warning|notice|debug)(?:[ ][^:]{0,300})?::            # GitHub workflow commands
      | section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?                 # GitLab
      | \#\d{1,4}[ ]\d+\.\d+(?=[ ])                                      # BuildKit
      | \[(?!WinError|Errno|E:onnx)[A-Za-z][\w .:/\#()-]{0,39}\](?=[ \t]) # [build], [stage 2/3]
      | [\w.-]{1,40}[ ]*\|(?=[ ])                                        # docker compose
      | >                                                                # quotes
      | [|\u2502\u2503\u2551](?=[ \t]|$)                                 # tables, boxes
      | E[ ]{2,}(?=\S)                                                   # pytest
    )""",
    re.VERBOSE,
)
_BOX = "\u2502\u2503\u2551"


def strip_colours(text: str) -> str:
    """Return the text without terminal sequences and invisible characters."""
    if "\x1b" in text or "\x9b" in text:
        text = _ANSI.sub("", text)
    if "[" in text:
        text = _LOST_ANSI.sub("", text)
    return text if text.isprintable() else _INVISIBLE.sub("", text)


def clean_line(text: str) -> str:
    """Return what the program itself printed: no colours, no time stamps, no build-server marks.

    Leading and trailing blanks stay: they tell how a wrapped line has to be joined again.
    """
    text = strip_colours(text)
    for _ in range(6):
        found = _PREFIXES.match(text)
        if not found or not found.end():
            break
        text = text[found.end() :]
        if text.startswith(" "):
            text = text[1:]
    ended = text.rstrip(" \t")
    if ended and ended[-1] in _BOX:
        text = ended[:-1].rstrip(" \t")
    if "&" in text and ("&quot;" in text or "&#" in text or "&gt;" in text):
        text = html.unescape(text)
    return text


# ------------------------------------------------------------------------------------------- wrapped lines

_WIDTHS = frozenset({72, 76, 78, 79, 80, 90, 100, 110, 118, 119, 120, 130, 132, 140, 150, 160, 170, 180, 200})
_LONGEST_PATH = 400
_OPEN_PATH = re.compile(r"[\"'“„«]\s*(?:[A-Za-z]:|\\\\|%\w+%|\.)[\\/][^\"'”“„«»]*$")
# First words of folder names that contain a blank, where a word wrap may fall inside a path.
_FIRST_WORDS = re.compile(
    r"[\\/](?:Program|NVIDIA|NVIDIA GPU|NVIDIA GPU Computing|Microsoft|Microsoft Visual|Windows)$"
)


def join_wrapped(lines: tuple[str, ...]) -> str:
    """Return the one line that a console of fixed width broke into these.

    A break inside a quoted path is a hard one, unless the line ends with the first word of a well-known folder
    with a blank in it; outside quotes only the width says whether a word was cut.
    """
    whole = lines[0] if lines else ""
    last = whole
    for line in lines[1:]:
        in_path = _OPEN_PATH.search(whole[-_LONGEST_PATH:]) is not None
        indent = len(line) - len(line.lstrip())
        if whole.endswith(" ") or indent == 1 or (indent and not in_path):
            whole = f"{whole.rstrip()} {line.lstrip()}"
        else:
            whole += _seam(whole, last, in_path=in_path) + line.lstrip()
        last = line
    return whole


def _seam(whole: str, last: str, *, in_path: bool) -> str:
    """What stood between two pieces of a broken line: nothing or a blank."""
    if in_path:
        return " " if _FIRST_WORDS.search(whole) else ""
    return "" if len(last) in _WIDTHS else " "
