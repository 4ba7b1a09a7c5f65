"""The lines of a text that decide, in its own words: the error, where it happened, and what belongs to it."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import frozen
from wheelfix.diagnosis.symptoms.causes import line_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@frozen
class Quote:
    """A line of the text."""

    line: int
    text: str


FRAME = regex(
    r"File [\"“]([^\"“”]{1,500})[\"”], line \d"
    r"|(?<!\w)((?:[A-Za-z]:|~)[\\/][^:\"\r\n]{1,300}?\.py)(?::\d{1,6}| in [\w<>]{1,80}(?:\(|$))"
)
"""A file in a traceback: Python's, pytest's, those of IPython."""
_OF_PYTHON = regex(
    r"^<|PyInstaller[\\/]|[\\/]lib[\\/](?!site-packages)[\w\\/]+\.py$|imp\.py$|pydev_|^\.", re.IGNORECASE
)
_SAYS_NOTHING = ("__init__.py", "__main__.py", "core.py")
_REACH = 40
_BELOW = 4
"""Lines at most between a frame and what follows it: its code, the marks below that, and what pytest puts there."""
_NEAR = 12
_MOST = 4
_USUAL = 3
"""Lines at most where some only belong to an error."""
_GOES_ON = 12
LONGEST = 400
"""Characters of a line that are looked at."""
_LONGEST = 200
_BESIDE = 130
"""Characters that are shown of the error, and of the lines that belong to it."""
_TOO_LONG = 600
_BEFORE = 60
"""Characters at most that stand before an error in its own sentence."""
_SENTENCE = regex(r"[.!?]\s+(?=\W{0,2}[A-Z])")
_LONG_PATH = regex(
    r"((?:[A-Za-z]:[\\/]{1,2})?[\w. -]{1,60}[\\/]{1,2})(?=[^\"'`<>|*?:;,\r\n]{40})"
    r"(?:[^\\/\"'`<>|*?:;,\r\n]{1,80}[\\/]{1,2}){2,30}(?=[^\\/\"'`<>|*?:;,\s]{1,80}[\\/]{1,2}[\w.+-])"
)
"""A path up to its last two parts."""
_UNENDED = regex(r"\b(?:requires?|using|compile|compiled|with|of|the|to|and|for|by|that|than|from)$")
"""The words after which a sentence goes on in the next line."""
_ONLY_A_PATH = regex(r"['\"][A-Za-z]:\\[^'\"]{3,300}['\"]?$")
_OPEN = regex(r"CMake Error at .{1,400}\(\w{1,60}\):?$")
_CALLS = "Call Stack"
_CALLED = regex(r"^(?!.*[\\/]share[\\/]cmake-)\S{1,200}:\d{1,6} \(\w+\)$")
"""A line of CMake's stack that is in the project's own files."""
_FOLDERS = regex(r"[A-Za-z]:[\\/][^\"'<>|*?:;,\r\n]{8,240}?(?=[\\/]{1,2}site-packages[\\/])", re.IGNORECASE)
_BECAUSE = regex(
    r"\b(?:because|expect(?:s|ed)|got|(?:built|compiled) (?:for|with|using|against)"
    r"|requires?|required|needed|you have|original error|reason|caused by|fault(?:ing)?|exception code"
    r"|supports?|but (?:this|it|found|is|was))\b|is not the correct",
    re.IGNORECASE,
)
"""Words of lines that say why another line failed."""
_TELLS = regex(
    r"\b(?:but|needs?|supported|(?:in)?compatible|missing|version|architecture|could ?n[o'’]t|can(?:not|['’]t)|unable"
    r"|not (?:be )?(?:found|exist|available|the|installed|valid|loaded|located)|fail(?:s|ed|ing|ure)|unresolved"
    r"|undefined|denied|refused|no such|unknown|unsupported|depend\w*)\b",
    re.IGNORECASE,
)
"""Words of lines that say that something failed."""
_NAMES = regex(
    r"[\w-]\.(?:dll|pyd|lib|exe|whl|so|h|hpp)\b|\b\d{1,4}\.\d{1,4}|[A-Za-z]:[\\/]|\bsm_\d|\b(?:0x)?[0-9a-f]{8}\b"
    r"|['\"]\w",
    re.IGNORECASE,
)
"""What such a line names: a file, a version, an architecture."""
_FAILED = regex(r"error|exception|fatal|fault|crash|\bfail|not found|cannot|unable|missing|denied", re.IGNORECASE)
_CODE = regex(r"\[(?:WinError|Errno) \d{1,5}\]")
_NOT_OURS = regex(
    r"^(?:[#>]|(?:\[?WARN|Warn)|\*\*|Traceback|During handling|The above exception|\S+\.md\b|.{0,20}(?i:timestamp|offset):)|https?://\S{30}|^\W*$"
)


def decisive_lines(lines: Sequence[str], first: int, anchors: Iterable[int]) -> tuple[Quote, ...]:
    """Return the lines with the errors, given by their numbers, and what belongs to them; without any, what looks so.

    ``first`` is the number of the first of the lines.
    """
    known = (number - first for number in anchors)
    places = list(dict.fromkeys(at for at in known if 0 <= at < len(lines) and lines[at]))[:_MOST]
    places = places or failed_lines(lines)[:2]
    found = {at: whole_message(lines, at) for at in places}
    for at, one in list(found.items()):
        # A line that is a part of another one's message is said with it.
        if any(one in other and (one != other or number < at) for number, other in found.items() if number != at):
            del found[at]
    places = [at for at in places if at in found]
    for at in places[:2]:
        found = {**_frame(lines, at), **found}
        near = range(max(at - _NEAR, 0), min(at + _NEAR, len(lines)))
        told = sorted((more for more in near if _weight(lines[more]) > 1), key=lambda more: abs(more - at))
        for more in told:
            most = _USUAL if _BECAUSE.search(lines[more]) else _USUAL - 1
            if len(found) < most and not any(lines[more] in text for text in found.values()):
                found[more] = lines[more]
    ordered = sorted(found.items(), key=lambda item: (item[0] not in places[:1], item[0]))
    return tuple(
        Quote(first + at, cut(text, _BESIDE if number else _LONGEST)) for number, (at, text) in enumerate(ordered)
    )


def failed_lines(lines: Sequence[str], least: int = 1) -> list[int]:
    """Return the places of lines that sound like an error, those first that also say what it is about."""
    places = (at for at, line in enumerate(lines) if _FAILED.search(line) and _weight(line) >= least)
    return sorted(places, key=lambda at: -_weight(lines[at]))


def _weight(line: str) -> int:
    """How much a line says about why something failed: 1 for its words, 1 for a name or a version."""
    if len(line) > _TOO_LONG or FRAME.search(line) or _NOT_OURS.search(line) or line_pattern("repeats").search(line):
        return 0
    return bool(_BECAUSE.search(line) or _TELLS.search(line)) + bool(_NAMES.search(line))


def whole_message(lines: Sequence[str], at: int) -> str:
    """Return a line with the rest of its message, where that stands in the lines below it."""
    bare = line_pattern("raised").search(lines[at])
    parts = [lines[at][bare.start() :] if bare else lines[at]]
    following = (line for line in lines[at + 1 : at + _GOES_ON] if line.strip(" !*=-"))
    for line in islice(following, _BELOW):
        goes_on = parts[-1].endswith((":", ",")) or _UNENDED.search(parts[-1]) or _ONLY_A_PATH.match(line)
        if line.startswith(_CALLS) or not (goes_on or _OPEN.match(parts[0])):
            break
        parts.append(line)
    # In Python's words for a path, and between the marks of a text, each backslash stands twice.
    return " ".join(parts).replace("\\\\", "\\")[:LONGEST]


def _frame(lines: Sequence[str], at: int) -> dict[int, str]:
    """Return the innermost frame of the traceback around a line that is not one of Python's own loading functions.

    CMake's stack stands below its message.
    """
    if _OPEN.match(lines[at]):
        calls = range(at + 1, min(at + _REACH, len(lines)))
        own = next((one for one in calls if _CALLED.match(lines[one])), None)
        return {} if own is None or "share/cmake-" not in lines[at] else {own: lines[own]}
    below = any("most recent call first" in line for line in lines[at : at + _BELOW])
    after = range(at, min(at + _REACH, len(lines)))
    above = list(_traceback(lines, range(at - 1, max(at - _REACH, -1), -1)))
    # Without one above the error, what was pasted below it is the traceback.
    for one, file in list(_traceback(lines, after)) if below else above or reversed(list(_traceback(lines, after))):
        if not _OF_PYTHON.search(file):
            code = lines[one + 1] if one + 1 < len(lines) and one + 1 != at and not below else ""
            return {one: _in_package(file) + (f": {code}" if code and not FRAME.search(code) else "")}
    return {}


def _traceback(lines: Sequence[str], places: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the frames of the nearest traceback among some lines, with their files."""
    last = None
    for at in places:
        found = FRAME.search(lines[at])
        if found is not None:
            last = at
            yield at, found[1] or found[2]
        elif last is not None and abs(at - last) > _BELOW:
            return


def _in_package(file: str) -> str:
    """A file as its package names it, or its last name, with the folder where that alone tells whose it is."""
    parts = PureWindowsPath(file).parts
    lowered = [part.lower() for part in parts]
    own = -2 if lowered[-1] in _SAYS_NOTHING else -1
    return "\\".join(parts[lowered.index("site-packages") + 1 :] if "site-packages" in lowered else parts[own:])


def cut(text: str, most: int = _LONGEST) -> str:
    """Return a line without the folders of long paths; of a long one its error, with the sentence that it begins in."""
    text = " ".join(_FOLDERS.sub("…", text).split())
    text = text if len(text) <= most else _LONG_PATH.sub(r"\1…\\", text)
    if len(text) <= most:
        return text
    patterns = (_CODE, line_pattern("raised"), line_pattern("tool"), _FAILED)
    error = next(filter(None, (one.search(text) for one in patterns)), None)
    at = error.start() if error else 0
    begins = max((found.end() for found in _SENTENCE.finditer(text, 0, at)), default=0)
    if at - begins > _BEFORE:
        begins = text.find(" ", at - _BEFORE) + 1
    rest = text[begins : begins + most]
    if begins + most < len(text):
        rest = f"{rest[: max(rest.rfind(' '), most - _BEFORE)]} …"
    return f"… {rest}" if begins else rest
