"""Logs of any size and encoding as numbered lines, a block at a time, without what terminals put around them.

Most blocks of a long log hold nothing of interest; they are dropped whole after a few substring searches, which is
what makes a hundred megabytes affordable. Bytes that are not UTF-8 survive as surrogates until a line matters.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from collections import Counter, deque
from functools import cache
from typing import IO, TYPE_CHECKING, Generic, TypeVar, Union

from wheelfix.base.parsing import regex
from wheelfix.base.values import dataclass, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.diagnosis.symptoms.model import TextLimits

_Row = TypeVar("_Row")
BLOCK = 1 << 18
_GRAM = 4
"""Letters, or bytes, by which words are looked up."""
EARLY = 1 << 24
_OVERLAP = 1024
_TAIL = 1 << 15
_LEAD_LINES = 40
_TRAIL_LINES = 8

Text = Union[str, bytes, "IO[bytes]", "IO[str]"]


@frozen
class Line:
    """One line of the text; a gap in the numbers means that lines without interest were left out."""

    number: int
    text: str
    hot: bool = False
    """Whether a trigger is in it; the others are context of those that have one."""


@dataclass
class TextProgress:
    """How far reading has come; filled while the lines are read."""

    encoding: str = "utf-8"
    size: int = 0
    lines: int = 0
    stopped: str = ""
    tail: str = ""
    """The last part of what was read: how a program ended stands there."""


def sniff_encoding(head: bytes) -> str:
    """Return the encoding that the first bytes show: a byte order mark, or the zeros of UTF-16."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    sample = head[:4096]
    if len(sample) >= 8:
        half = len(sample) // 2
        if not sample[1] and sample[1::2].count(0) > half * 0.7 and sample[0::2].count(0) < half * 0.1:
            return "utf-16-le"
        if not sample[0] and sample[0::2].count(0) > half * 0.7 and sample[1::2].count(0) < half * 0.1:
            return "utf-16-be"
    return "utf-8"


_COPIED = (
    ("\x00", ""),
    ("\xa0", " "),
    ("\u202f", " "),
    ("\u2018", "'"),
    ("\u2019", "'"),
    ("&nbsp;", " "),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&amp;", "&"),
)
"""What copying from a page or a chat puts in place of blanks and quotation marks. Appending to a UTF-8 file from
PowerShell leaves UTF-16 in its midst: without its zeros it reads as ASCII."""


_ESCAPED = regex(r"(?:\\r)?\\n(?=\s*(?:Traceback \(|File |\w{3,60}(?:Error|Exception)\b)| {2})")
"""The end of a line in a text that was printed as a string of Python or JSON."""


_TYPED_API_SET = regex(r"-?\|1(?=-\d-\d\.dll)", re.IGNORECASE)
"""The l of api-ms-win-core-path-l1-1-0.dll, as those type it who read it in a dialog box."""


def _plain(text: str) -> str:
    """Return a text with the signs that the program printed; most blocks have none of the others."""
    if "\\n" in text:
        text = _ESCAPED.sub("\n", text)
    if "|1-" in text:
        text = _TYPED_API_SET.sub("-l1", text)
    if text.isascii() and "&" not in text and "\x00" not in text:
        return text
    for sign, printed in _COPIED:
        if sign in text:
            text = text.replace(sign, printed)
    return text


_ALIKE = (
    *((sign, "'") for sign in '"`'),
    *((word.replace("'", ""), word) for word in ("couldn't", "isn't", "wasn't")),
    ("couldn't", "cannot"),
    ("could not", "cannot"),
    ("can't", "cannot"),
    ("can not", "cannot"),
    ("unable to", "cannot"),
    ("failed to", "cannot"),
    ("fails to", "cannot"),
    ("isn't", "is not"),
    ("wasn't", "was not"),
    ("cannot locate", "cannot find"),
    ("cannot be located", "not found"),
    ("cannot be found", "not found"),
    ("is not found", "not found"),
    ("was not found", "not found"),
    ("is not installed", "not installed"),
    ("was not installed", "not installed"),
)
"""Other words for the same, in the order in which they are replaced."""
_QUOTATION = "\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u300c\u300d"


def alike(text: str) -> str:
    """Return a text in lower case, with one quotation mark for all and one wording for what could not be done.

    Words are searched for in such a text, so that a table has to have them in one wording alone.
    """
    text = text.lower()
    if not text.isascii():
        for sign in _QUOTATION:
            text = text.replace(sign, "'")
    for other, word in _ALIKE:
        text = text.replace(other, word)
    return text


class WordIndex:
    """Finds which of many words a line contains: by four letters of each, not by a search for every word."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_gram: dict[str, list[str]] = {}
        self._short: list[str] = []
        grams = {word: [word[at : at + _GRAM] for at in range(len(word) - _GRAM + 1)] for word in dict.fromkeys(words)}
        often = Counter(gram for found in grams.values() for gram in set(found))
        for word, found in grams.items():
            # The rarest letters, so that few words are looked for in a line that does not have them.
            places = self._by_gram.setdefault(min(found, key=lambda gram: often[gram]), []) if found else self._short
            places.append(word)

    def found(self, text: str) -> list[str]:
        """Return the words that are in a text."""
        grams = {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)} & self._by_gram.keys()
        words = [*self._short, *(word for gram in grams for word in self._by_gram[gram])]
        return [word for word in words if word in text]


class RowIndex(Generic[_Row]):
    """Finds the rows of a table that a line can be about: those of whose words it has one."""

    def __init__(self, rows: Iterable[tuple[_Row, Iterable[str]]]) -> None:
        self._rows: list[_Row] = []
        self._places: dict[str, list[int]] = {}
        for place, (row, words) in enumerate(rows):
            self._rows.append(row)
            for word in words:
                self._places.setdefault(word, []).append(place)
        self._words = WordIndex(self._places)

    def near(self, text: str) -> list[_Row]:
        """Return the rows for a text in lower case, in the order of the table."""
        places = {place for word in self._words.found(text) for place in self._places[word]}
        return [self._rows[place] for place in sorted(places)]


def blocks(source: Text, limits: TextLimits, progress: TextProgress) -> Iterator[str]:
    """Yield the text in decoded blocks, up to the limit of bytes."""
    stream: IO[bytes] | IO[str]
    if isinstance(source, str):
        stream = io.StringIO(source, newline="")
    elif isinstance(source, bytes):
        stream = io.BytesIO(source)
    else:
        stream = source
    decoder: codecs.IncrementalDecoder | None = None
    while True:
        piece = stream.read(min(BLOCK, limits.max_bytes - progress.size))
        if isinstance(piece, str):
            progress.encoding = "str"
            text = piece
        else:
            if decoder is None:
                progress.encoding = sniff_encoding(piece)
                wide = progress.encoding.startswith(("utf-16", "utf-32"))
                decoder = codecs.getincrementaldecoder(progress.encoding)("replace" if wide else "surrogateescape")
            text = decoder.decode(piece, final=not piece)
        progress.size += len(piece)
        text = _plain(text)
        progress.tail = (progress.tail + text)[-_TAIL:]
        yield text
        if not piece:
            return
        if progress.size >= limits.max_bytes:
            if stream.read(1):
                progress.stopped = f"only the first {limits.max_bytes} bytes were read"
            return


def suspicious_lines(
    source: Text,
    triggers: Mapping[str, tuple[str, ...]],
    early: tuple[str, ...],
    limits: TextLimits,
    progress: TextProgress,
) -> Iterator[Line]:
    """Yield the lines that contain a trigger (lower case) and one of its other words, with the lines around them.

    ``early`` are triggers that are worth their time in short texts only: they count in the first megabytes.
    """
    number, owed, carry = 1, 0, ""
    lead: deque[Line] = deque(maxlen=_LEAD_LINES + 1)
    for block in blocks(source, limits, progress):
        whole, carry = _cut(carry + block, final=not block, longest=limits.max_line)
        if not whole:
            continue
        lowered = alike(whole)
        wanted = {**triggers, **dict.fromkeys(early, ())} if progress.size <= EARLY else triggers
        words = {word: wanted[word] for word in _possible(lowered, wanted) if word in lowered}
        both = [*zip(_lines(whole), _lines(lowered), strict=True)]
        first = 0 if words or owed else max(len(both) - _LEAD_LINES, 0)
        for at, (text, low) in enumerate(both[first:], first):
            hot = any(word in low and (not more or any(map(low.__contains__, more))) for word, more in words.items())
            lead.append(Line(number + at, text, hot))
            if hot or owed:
                owed = _TRAIL_LINES if hot else owed - 1
                yield from (piece for line in lead for piece in _pieces(line, limits))
                lead.clear()
        number += whole.count("\n")
        progress.lines = number - whole.endswith("\n")


def _lines(text: str) -> list[str]:
    """Return the lines of a text, of which the last one may have no end."""
    return text.removesuffix("\n").split("\n")


_SHORT = 1 << 14
"""Characters of a text below which it takes less time to search for every word."""


@cache
def _alignments(word: str) -> tuple[frozenset[int], ...]:
    """Return the groups of four bytes of a word for each place where it can begin between two groups of a text.

    None for a word that is too short to contain a whole group wherever it begins.
    """
    data = word.encode("utf-8")
    if len(data) < 2 * _GRAM - 1:
        return ()
    return tuple(
        frozenset(
            int.from_bytes(data[at : at + _GRAM], sys.byteorder) for at in range(start, len(data) - _GRAM + 1, _GRAM)
        )
        for start in range(_GRAM)
    )


def _possible(lowered: str, words: Iterable[str]) -> list[str]:
    """Return the words that a text can contain: one pass over its groups of four bytes, not a search for each word."""
    if len(lowered) < _SHORT:
        return list(words)
    data = lowered.encode("utf-8", "surrogatepass")
    present = set(memoryview(data)[: len(data) - len(data) % _GRAM].cast("I"))
    return [word for word in words if not (groups := _alignments(word)) or any(one <= present for one in groups)]


def _cut(text: str, *, final: bool, longest: int) -> tuple[str, str]:
    """Split behind the last line end; without one, keep back a tail so that nothing is torn in two."""
    if final:
        return text, ""
    end = text.rfind("\n") + 1
    if end:
        return text[:end], text[end:]
    if len(text) > 4 * BLOCK:
        return text[: -2 * longest], text[-2 * longest :]
    return "", text


def _pieces(line: Line, limits: TextLimits) -> Iterator[Line]:
    """Yield a line, or its overlapping pieces when it is over-long; a lone carriage return ends one as well."""
    text = line.text[:-1] if line.text.endswith("\r") else line.text
    if "\r" in text:
        for part in text.split("\r"):
            yield from _pieces(Line(line.number, part, line.hot), limits)
    elif len(text) <= limits.max_line:
        yield Line(line.number, text, line.hot)
    else:
        for start in range(0, len(text), max(limits.max_line - _OVERLAP, 1)):
            yield Line(line.number, text[start : start + limits.max_line], line.hot)


# ------------------------------------------------------- lines without colours, time stamps and marks of build servers


_ANSI = regex(
    r"\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, erase
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
# Colours whose escape character was lost on the way or printed as text. ``[0K`` is what GitLab's sections leave behind.
_LOST_ANSI = regex(r"(?:\^\[|\u241b|\\x1b|\\u001b|\\033|\\e)?\[(?:\d{1,3}(?:;\d{1,3}){0,4}m|0K)")
_INVISIBLE = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")

_PREFIXES = regex(
    r"""\s*(?:
      \[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?  # ISO
        (?:[ ]0\d[OE][ +])?                                               # and GitLab's stream mark
      | (?:[^\t]{1,60}\t){2}(?=\d{4}-\d\d-\d\dT)                          # logs of a run on GitHub
      | (?:-[ ][\w.]{1,60}[ ])?-[ ](?:DEBUG|INFO|ERROR|CRITICAL)[ ]-(?=[ ])            # loggers of Python
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
    # What some pages put in place of a hyphen, so that a name is not broken.
    return text.replace("\u2010", "-").replace("\u2011", "-")


# ------------------------------------------------------------------------------------------- wrapped lines

_WIDTHS = frozenset({72, 76, 78, 79, 80, 90, 100, 110, 118, 119, 120, 130, 132, 140, 150, 160, 170, 180, 200})
_LONGEST_PATH = 400
_OPEN_PATH = regex(r"[\"'“„«]\s*(?:[A-Za-z]:|\\\\|%\w+%|\.)[\\/][^\"'”“„«»]*$")
# First words of folder names that contain a blank, where a word wrap may fall inside a path.
_FIRST_WORDS = regex(r"[\\/](?:Program|NVIDIA|NVIDIA GPU|NVIDIA GPU Computing|Microsoft|Microsoft Visual|Windows)$")


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
