"""``wheelfix man``: the manual page, or the same as Markdown, made from the parsers and so never out of date."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.cli.common import add_command, write_result
from wheelfix.errors import Exit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from wheelfix.cli.commands import Subparsers
    from wheelfix.cli.grammar import CommandGrammar, Word

EXAMPLES = """\
  wheelfix man > wheelfix.1                    the page for man(1)
  wheelfix man --format markdown               every command and option, for documentation
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "man",
        "print the manual page",
        "Print the manual page of all commands, made from what the commands really take.",
        EXAMPLES,
    )
    parser.add_argument("--format", metavar="KIND", choices=("man", "markdown"), default="man", help="man, markdown")


def execute(args: argparse.Namespace) -> int:
    """Print the page."""
    write_result(render_markdown() if args.format == "markdown" else render_man(), None)
    sys.stdout.flush()
    return Exit.OK


def render_man() -> str:
    """Return the page in the language of man(1)."""
    from wheelfix.cli.commands import DESCRIPTION, EXIT_CODES
    from wheelfix.cli.grammar import read_grammar

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


def render_markdown() -> str:
    """Return every command and option as Markdown."""
    from wheelfix.cli.commands import EXIT_CODES
    from wheelfix.cli.grammar import read_grammar

    lines = ["# Commands", ""]
    commands = read_grammar()
    lines += ["| command | does |", "| --- | --- |"]
    lines += [f"| [`wheelfix {command.name}`](#wheelfix-{command.name}) | {command.summary} |" for command in commands]
    for command in commands:
        lines += ["", f"## wheelfix {command.name}", "", " ".join(command.description.split()), ""]
        lines += ["```text", command.usage, "```"]
        lines += _markdown_tables(command)
        lines += ["", "Examples:", "", "```text", *(line[2:] for line in command.examples.splitlines()), "```"]
    lines += ["", "## Exit codes", "", "```text", *(line[2:] for line in EXIT_CODES.splitlines()[1:]), "```"]
    return "\n".join(lines) + "\n"


def _markdown_tables(command: CommandGrammar) -> list[str]:
    groups: dict[str, list[Word]] = {}
    for word in (*command.arguments, *command.options):
        groups.setdefault(word.group, []).append(word)
    lines = []
    for group, words in groups.items():
        title = {"positional arguments": "arguments"}.get(group, group)
        lines += ["", f"**{title.capitalize()}**", "", "| | |", "| --- | --- |", *_rows(words)]
    return lines


def _rows(words: Sequence[Word]) -> list[str]:
    rows = []
    for word in words:
        value = f" {word.metavar}" if word.metavar and word.names else ""
        names = ", ".join(f"`{name}{value}`" for name in word.names) or f"`{word.metavar}`"
        rows.append(f"| {names} | {word.help.replace('|', chr(92) + '|')} |")
    return rows
