"""The manual page for man(1), made from the parsers; wheels put it into ``share/man/man1``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wheelfix
from wheelfix.cli.commands import DESCRIPTION, EXIT_CODES
from wheelfix.cli.completion import read_grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.cli.completion import Word


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    yield "wheelfix.1", render_man()


def render_man() -> str:
    """Return the page in the language of man(1)."""
    commands = read_grammar()
    lines = [
        f'.TH WHEELFIX 1 "" "wheelfix {wheelfix.__version__}" "User Commands"',
        ".SH NAME",
        "wheelfix \\- say why a Windows wheel will not import, and write one that does",
        ".SH SYNOPSIS",
        *(line for command in commands for line in (".br", f".B {_roff(command.usage)}")),
        ".SH DESCRIPTION",
        _roff(" ".join(DESCRIPTION.split())),
        ".SH COMMANDS",
    ]
    for command in commands:
        lines += [f".SS {_roff(command.name)}", _roff(" ".join(command.description.split()))]
        for word in (*command.arguments, *command.options):
            lines += [".TP", _roff_heading(word), _roff(word.help)]
        lines += [".PP", "Examples:", ".PP", ".nf", *(_roff(line) for line in command.examples.splitlines()), ".fi"]
    lines += [".SH EXIT STATUS", ".nf", *(_roff(line) for line in EXIT_CODES.splitlines()[1:]), ".fi", *ENVIRONMENT]
    return "\n".join(lines) + "\n"


ENVIRONMENT = [
    ".SH ENVIRONMENT",
    ".TP",
    ".B WHEELFIX_OPTION",
    "sets the option of that name, as in WHEELFIX_FAIL_ON=warning; the command line goes before it.",
    ".TP",
    ".B NO_COLOR, FORCE_COLOR",
    "turn colour off or on, whatever the output is.",
    ".TP",
    ".B WHEELFIX_DEBUG",
    "shows where an error of wheelfix itself happened.",
    ".SH FILES",
    ".TP",
    ".B wheelfix.toml, pyproject.toml",
    "the nearest one at or above the current folder is read; in pyproject.toml the table [tool.wheelfix].",
]


def _roff(text: str) -> str:
    """Return text that roff shows as it stands."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _roff_heading(word: Word) -> str:
    if not word.names:
        return f".I {_roff(word.metavar)}"
    value = f" \\fI{_roff(word.metavar)}\\fR" if word.metavar else ""
    return ", ".join(f"\\fB{_roff(name)}\\fR{value}" for name in word.names)
