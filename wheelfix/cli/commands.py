"""The commands by name, and their parsers.

A command lives in ``cli/<name>.py`` with ``configure_parser(subparsers)`` and ``execute(args) -> int``, and is
imported only when it is called, so that ``--version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

import wheelfix
from wheelfix.cli.parser import Parser, did_you_mean
from wheelfix.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from typing import TypeAlias

    Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"


class Command(NamedTuple):
    """What the list of commands says before the command's own module is read."""

    module: str
    summary: str


class CommandModule(Protocol):
    """What ``cli/<name>.py`` has."""

    def configure_parser(self, subparsers: Subparsers) -> None:
        """Add the command's parser."""

    def execute(self, args: argparse.Namespace) -> int:
        """Do the work, print the result and return the exit code."""


COMMANDS = {
    "scan": Command("wheelfix.cli.scan", "report what is missing from a Windows wheel, and how its import will fail"),
    "repair": Command("wheelfix.cli.repair", "vendor what is missing and write a correct wheel"),
    "diagnose": Command("wheelfix.cli.diagnose", "find the cause of an error message, and what to do"),
    "verify": Command("wheelfix.cli.verify", "check RECORD and the archive against every byte"),
    "ci": Command("wheelfix.cli.ci", "the whole last stage of CI: scan, repair, verify, scan again, report"),
    "try": Command("wheelfix.cli.try_", "import a wheel for real, and compare that with the prediction"),
    "sign": Command("wheelfix.cli.sign", "sign the DLLs of a wheel with a command, and rewrite RECORD"),
    "survey": Command("wheelfix.cli.survey", "read many wheels into tables, and query them with SQL"),
    "roots": Command("wheelfix.cli.roots", "list the places that DLLs could come from"),
    "diff": Command("wheelfix.cli.diff", "say what changed between two builds of a wheel"),
    "cache": Command("wheelfix.cli.cache", "show or remove what was fetched from servers"),
    "explain": Command("wheelfix.cli.explain", "show the page of a finding, or list all findings"),
    "demo": Command("wheelfix.cli.demo", "make a small broken wheel and repair it, step by step"),
    "completion": Command("wheelfix.cli.completion", "print a completion script for your shell"),
}

DESCRIPTION = """\
Say why a Windows wheel does not import, vendor the DLLs that are missing from it, and
rewrite it with a correct RECORD. Runs on any system; Windows is not needed.
"""

EXIT_CODES = """\
exit codes:
  0 clean   1 findings   2 usage   3 unreadable input   4 disk, permission, tools
  5 could not tell (diagnose, try)   6 the prediction was wrong (try)   130 interrupted
"""

EXAMPLES = """\
examples:
  wheelfix scan dist/*.whl            what is missing, and what the import will say
  wheelfix repair dist/*.whl          vendor it and rewrite the wheel, into wheelhouse
  wheelfix diagnose error.txt         the cause of an error message, and what to do
  wheelfix roots                      where DLLs could come from
  wheelfix explain WF301              what a finding means and what to do
"""


def root_parser() -> Parser:
    """Return the parser of ``wheelfix`` itself, which knows the commands by name only."""
    listing = "\n".join(f"  {name:<11} {command.summary}" for name, command in COMMANDS.items())
    parser = Parser(
        prog="wheelfix",
        usage="wheelfix [-h] [--version] COMMAND ...",
        description=f"{DESCRIPTION}\ncommands:\n{listing}\n\n'wheelfix COMMAND --help' describes one of them.",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
    )
    parser.add_argument("-V", "--version", action="version", version=f"wheelfix {wheelfix.__version__}")
    return parser


def load_command(name: str) -> CommandModule:
    """Import the module of a command; a slip in the name is answered with the likely one."""
    command = COMMANDS.get(name)
    if command is None:
        hint = did_you_mean(name, COMMANDS) or "'wheelfix --help' lists the commands"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    module: CommandModule = importlib.import_module(command.module)
    return module


def command_parser(name: str, module: CommandModule) -> Parser:
    """Return the parser of one command, with the options that all commands have."""
    from pathlib import Path  # 15 ms that --version need not pay

    subparsers: Subparsers = root_parser().add_subparsers(dest="command", prog="wheelfix", parser_class=Parser)
    module.configure_parser(subparsers)
    parser: Parser = subparsers.choices[name]
    group = parser.add_argument_group("configuration")
    group.add_argument("--config", metavar="FILE", type=Path, help="read this file instead of the nearest one")
    group.add_argument("--no-config", action="store_true", help="read no file")
    group.add_argument("--show-config", action="store_true", help="print what is in force and where it came from")
    return parser
