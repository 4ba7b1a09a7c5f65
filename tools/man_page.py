"""The manual page for man(1), made from the parsers; wheels put it into ``share/man/man1``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.cli.commands import DESCRIPTION, EXIT_CODES
from wheelfix.cli.settings import whole_parser

if TYPE_CHECKING:
    from collections.abc import Iterator


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    yield "wheelfix.1", render_man()


def render_man() -> str:
    """Return the page in the language of man(1)."""
    commands = whole_parser()[1]
    lines = [
        f'.TH WHEELFIX 1 "" "wheelfix {wheelfix.__version__}" "User Commands"',
        ".SH NAME",
        "wheelfix \\- say why a Windows wheel will not import, and write one that does",
        ".SH SYNOPSIS",
        *(line for parser in commands.values() for line in (".br", f".B {_roff(parser.shown_usage())}")),
        ".SH DESCRIPTION",
        _roff(" ".join(DESCRIPTION.split())),
        ".SH COMMANDS",
    ]
    for name, parser in commands.items():
        lines += [f".SS {_roff(name)}", _roff(" ".join((parser.description or "").split()))]
        shown = [action for action in parser.actions() if action.help != argparse.SUPPRESS]
        for action in sorted(shown, key=lambda action: bool(action.option_strings)):
            text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
            lines += [".TP", _roff_heading(action), _roff(text)]
        examples = (parser.epilog or "").removeprefix("examples:\n").splitlines()
        lines += [".PP", "Examples:", ".PP", ".nf", *map(_roff, examples), ".fi"]
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


def _roff_heading(action: argparse.Action) -> str:
    metavar = "" if action.nargs == 0 else str(action.metavar or action.dest.upper().replace("_", "-"))
    if not action.option_strings:
        return f".I {_roff(metavar)}"
    value = f" \\fI{_roff(metavar)}\\fR" if metavar else ""
    return ", ".join(f"\\fB{_roff(name)}\\fR{value}" for name in action.option_strings)
