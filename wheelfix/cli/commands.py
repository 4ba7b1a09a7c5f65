"""The commands by name, and what their parsers are made of.

A command lives in ``cli/<name>.py`` with ``execute(args) -> int``, and is imported only when it is called, so that
``--version`` and ``--help`` answer at once; its options are in ``cli/options.txt``.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import wheelfix
from wheelfix.base.inputfiles import own_data
from wheelfix.base.parsing import close_words
from wheelfix.errors import UsageError, WheelfixError
from wheelfix.report.safe import legible, without_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"


def say_error(what: str, *reasons: str, hint: str = "") -> None:
    """Print one error in layers: what happened, because of what, each reason on a line of its own, what to try."""
    say(f"wheelfix: error: {what}")
    for number, reason in enumerate(reasons):
        say(f"  {'because:' if number == 0 else '        '} {reason}")
    if hint:
        say(f"  hint: {hint}")


def say_failure(error: WheelfixError) -> None:
    """Print an error of ours, after what was printed before it."""
    sys.stdout.flush()
    say_error(error.what, *error.reasons, hint=error.hint)


def give_up_stdout() -> None:
    """Have what is still printed go nowhere, also what is buffered: nobody reads it, or there is no room for it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(line: str) -> None:
    """Print a line on stderr, if there is one; names in it may be of strangers."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(without_commands(legible(line)), file=sys.stderr, flush=True)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'scan'?`` for a word close to a known one, else nothing."""
    close = close_words(word.lower(), sorted(known), 2, cutoff=0.55)
    return "did you mean " + " or ".join(f"'{match}'" for match in close) + "?" if close else ""


def comma_list(text: str) -> list[str]:
    """Return the words of ``WF1,WF601``; ``;`` separates too, as delvewheel has it."""
    words = [word.strip() for word in text.replace(";", ",").split(",") if word.strip()]
    if not words:
        raise argparse.ArgumentTypeError("needs at least one word")
    return words


def path_list(text: str) -> list[Path]:
    """Return paths that are separated as in ``PATH``, as delvewheel takes them."""
    return [Path(word) for word in text.split(os.pathsep) if word]


HELP = functools.partial(argparse.RawDescriptionHelpFormatter, width=80, max_help_position=26)
"""Keeps examples as they are written; the same width on every terminal, so that documentation can quote it."""
FIRST = (
    "--root --fetch --wheel-dir --dry-run --env --package --text --wheel --command --try --module --with --ignore "
    "--fail-on --lockfile --together --in-place --format --output --report --verbose".split()
)
"""The options of which ``-h`` shows the first ones that a command has, where it has many."""
MOST = 10


class _ShortHelp(argparse.Action):
    """``-h``: what most people need; ``--help`` has all of it."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Print it and stop."""
        assert isinstance(parser, Parser)
        sys.stdout.write(parser.format_short())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Raises :class:`UsageError` where argparse would print and exit."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", HELP)
        settings["allow_abbrev"] = False  # an abbreviation in a CI file breaks with the next option
        super().__init__(**settings, add_help=False)
        self.add_argument(
            "-h",
            action=_ShortHelp,
            nargs=0,
            dest="short_help",
            default=argparse.SUPPRESS,
            help="show the usual options",
        )
        self.add_argument("--help", action="help", default=argparse.SUPPRESS, help="show all options")

    def format_short(self) -> str:
        """Return the help with the usual options."""
        options = [action for action in self._actions if action.option_strings and action.help != argparse.SUPPRESS]
        if len(options) <= 2 * MOST:
            return self.format_help()
        chosen = [action for name in FIRST for action in options if name in action.option_strings][:MOST]
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, [])
        formatter.add_text(self.description)
        formatter.start_section("options that are needed most")
        formatter.add_arguments([*(action for action in self._actions if not action.option_strings), *chosen])
        formatter.end_section()
        formatter.add_text(self.epilog)
        formatter.add_text(f"'{self.prog} --help' has all {len(options)} options.")
        return formatter.format_help()

    def shown_usage(self) -> str:
        """Return the usage in one line."""
        words = [self.prog, "[OPTION ...]"]
        for action in self._actions:
            if not action.option_strings:
                name = str(action.metavar or action.dest)
                words.append({"*": f"[{name} ...]", "?": f"[{name}]", "+": f"{name} ..."}.get(str(action.nargs), name))
        return " ".join(words)

    def error(self, message: str) -> NoReturn:
        """Turn argparse's complaint into a usage error."""
        raise UsageError(message, hint=f"'{self.prog} --help' lists what it takes")

    def options(self) -> list[str]:
        """Return every option as it can be typed."""
        return list(self._option_string_actions)

    def actions(self) -> list[argparse.Action]:
        """Return what the parser takes, options and positional arguments."""
        return self._actions

    def excluded_by(self, dest: str) -> list[str]:
        """Return the options that cannot go with one."""
        groups = [[action.dest for action in group._group_actions] for group in self._mutually_exclusive_groups]
        return [other for group in groups if dest in group for other in group if other != dest]

    def require_nothing(self) -> None:
        """Let positional arguments be left out."""
        for action in self._actions:
            if not action.option_strings:
                action.nargs = "*"
            action.required = False

    def parse_strictly(self, argv: list[str]) -> argparse.Namespace:
        """Parse, and name the likely meaning of what was not understood."""
        args, unknown = self.parse_known_args(argv)
        if not unknown:
            return args
        word = next((text for text in unknown if text.startswith("-")), unknown[0])
        option = word.split("=", 1)[0]
        hint = did_you_mean(option, self.options()) if word.startswith("-") else ""
        raise UsageError(
            f"{self.prog} does not know {option!r}", hint=hint or f"'{self.prog} --help' lists what it takes"
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        meant = did_you_mean(str(value), known)
        raise argparse.ArgumentError(
            action, f"{value!r} is not one of {', '.join(known)}" + (f"; {meant}" if meant else "")
        )


_TEXT = own_data("wheelfix.cli", "options.txt").decode().replace("\r\n", "\n")
_BLOCKS = {head.lstrip("["): lines for head, _, lines in (one.partition("]\n") for one in _TEXT.split("\n\n["))}


@functools.cache
def block(name: str) -> dict[str, str]:
    """Return what ``options.txt`` says about an option or a command, by the names of its lines; nothing of others."""
    fields, field = dict[str, str](), ""
    for line in _BLOCKS.get(name, "").splitlines():
        if line.startswith("    "):
            fields[field] += f"\n{line[4:]}" if fields[field] else line[4:]
        else:
            field, _, value = line.partition(" =")
            fields[field] = value.strip()
    return fields


COMMANDS = {
    head.removeprefix("wheelfix "): lines.partition("\n")[0].removeprefix("summary = ")
    for head, lines in _BLOCKS.items()
    if lines.startswith("summary = ")
}
"""What each command is for."""

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
    listing = "\n".join(f"  {name:<11} {summary}" for name, summary in COMMANDS.items())
    parser = Parser(
        prog="wheelfix",
        usage="wheelfix [-h] [--version] COMMAND ...",
        description=f"{DESCRIPTION}\ncommands:\n{listing}\n\n'wheelfix COMMAND --help' describes one of them.",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
    )
    parser.add_argument(
        "-V", "--version", action=_Version, nargs=0, help="print the version and the date of the tables"
    )
    return parser


class _Version(argparse.Action):
    """Prints the version; the tables are read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from wheelfix.knowledge.tables import tables_date

        print(f"wheelfix {wheelfix.__version__} (tables of {tables_date()})")
        parser.exit()


def load_command(name: str) -> Callable[[argparse.Namespace], int]:
    """Import the module of a command, and return what does the work, prints the result and gives the exit code."""
    module = importlib.import_module(f"wheelfix.cli.{'try_' if name == 'try' else name}")
    execute: Callable[[argparse.Namespace], int] = module.execute
    return execute
