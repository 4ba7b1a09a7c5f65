"""Untrusted text, made safe for each place where it is printed.

Names in a wheel, lines of a log and keys of a file are written by strangers. Each kind of output has something that
it obeys: a terminal escape sequences, a CI system lines that begin with ``::`` or hold ``##vso[``, Markdown and HTML
markup. Every renderer passes what it prints through the function of its kind here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wheelfix.model import Json

_SERVICE = r"##(?=[A-Za-z]{0,20}\[)"
"""``##[group]``, ``##vso[…]``, ``##teamcity[…]``: obeyed anywhere in a line."""
_COMMAND = r"^((?:[ \t]|\x1b\[[0-9;]{0,20}m)*)::"
"""The beginning of a line that GitHub Actions obeys, with our own colours before it."""
_MARKS = r"([\\`*_{}\[\]<>#|~&])"
_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Compiled when it is first used: that takes 8 ms, and only JUnit's XML needs it."""
_SURROGATE = "[\ud800-\udfff]"


def legible(text: str) -> str:
    """Return text on one line, with what cannot be seen made visible: for terminals, and within a line of a document.

    Control characters, line ends of every kind, marks that turn the direction of text, characters without width and
    halves of characters are shown as escapes.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    return re.sub(_SERVICE, "# #", text) if "##" in text else text


def _escape(char: str) -> str:
    if char in "\t\u00a0":
        return " "
    return "?" if 0xD800 <= ord(char) <= 0xDFFF else char.encode("unicode_escape").decode("ascii")


def without_commands(document: str) -> str:
    """Return a document in which no line is a command for GitHub Actions, wherever its lines were broken."""
    return re.sub(_COMMAND, r"\1: :", document, flags=re.MULTILINE) if "::" in document else document


def csv_cell(value: object) -> object:
    """Return a value as a cell of CSV: a text on one line, which no spreadsheet takes for a formula."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = legible(str(value))
    return f"'{text}" if re.match(r"\s*[=+@\-|%]", text) else text


# ---------------------------------------------------------------------------------------------------------- Markdown


def _blanks(text: str) -> str:
    return legible(" ".join(text.split()))


def markdown(text: str, *, first: bool = True) -> str:
    """Return text that Markdown shows as it stands, on one line, also inside a table; ``first`` begins the line."""
    line = re.sub(_MARKS, r"\\\1", _blanks(text))
    if not first:
        return line
    # What looks like a list or a line is one at the beginning of a paragraph.
    return f"\\{line}" if line[:1] in ("-", "+", "=", ":") else re.sub(r"^(\d{1,9})([.)])", r"\1\\\2", line)


def markdown_code(text: str) -> str:
    """Return text as inline code, also inside a table; its fence is longer than any in the text."""
    line = _blanks(text).replace("|", "\\|")
    if not line:
        return ""
    runs = {len(run) for run in re.findall("`+", line)}
    if not runs:
        return f"`{line}`"
    fence = "`" * (max(runs) + 1)
    return f"{fence} {line} {fence}"


def markdown_block(text: str) -> tuple[str, ...]:
    """Return text as the lines of a code block, with a fence that it does not contain."""
    lines = [legible(line) for line in text.split("\n")]
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return (f"{fence}text", *lines, fence)


# ------------------------------------------------------------------------------------------------- workflow commands


def workflow_data(text: str) -> str:
    """Return text as the message of a workflow command; it may have lines of our own making."""
    lines = (legible(line) for line in text.split("\n"))
    return "%0A".join(line.replace("%", "%25") for line in lines)


def workflow_property(text: str) -> str:
    """Return text as a property of a workflow command, such as its title."""
    return legible(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


# ---------------------------------------------------------------------------------------------- XML, HTML and JSON


def xml(text: str) -> str:
    """Return text that XML 1.0 can hold; the library that writes it escapes the markup."""
    return re.sub(_NOT_XML, "\ufffd", legible(text))


def html(text: str) -> str:
    """Return text that HTML can hold, with its lines; what writes it escapes the markup."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
        text = without_commands(text)
    return re.sub(_SERVICE, "# #", text) if "##" in text else text


def json(value: Json) -> Json:
    """Return values with every text as Unicode: halves of characters, which JSON readers refuse, are replaced."""
    if isinstance(value, str):
        return re.sub(_SURROGATE, "\ufffd", value)
    if isinstance(value, dict):
        return {re.sub(_SURROGATE, "\ufffd", key): json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json(item) for item in value]
    return value
