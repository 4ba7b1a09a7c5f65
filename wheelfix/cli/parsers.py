"""The parser of each command, made from ``options.txt``: everything that may be typed behind its name.

The commands' own modules are not imported here: ``--help``, completion and configuration files need the parsers only.
"""

from __future__ import annotations

import argparse
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.base.options import PLATFORMS
from wheelfix.base.parsing import size_in_bytes, whole_number
from wheelfix.cli.commands import COMMANDS, Parser, block, comma_list, did_you_mean, path_list, root_parser
from wheelfix.errors import UsageError
from wheelfix.report.canvas import COLOURS
from wheelfix.report.document import SCAN_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from wheelfix.cli.commands import Subparsers


def positive(text: str) -> int:
    """Return a whole number from 1 on."""
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 on")
    return number


def size(text: str) -> int:
    """Return a number of bytes from ``512M``, ``2 GiB`` or plain digits."""
    found = size_in_bytes(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it as 512M, 2G or in bytes")
    return found


def report_request(text: str, kinds: tuple[str, ...] = SCAN_KINDS) -> tuple[str, Path]:
    """Return ``sarif=out.sarif`` as a kind and a file."""
    kind, equals, name = text.partition("=")
    suffixes = {"htm": "html", "md": "markdown", "txt": "text", "xml": "junit"}
    suffix = kind.rpartition(".")[2].lower()
    if not equals and "." in kind and suffixes.get(suffix, suffix) in kinds:
        raise argparse.ArgumentTypeError(f"{text!r} has no kind; did you mean {suffixes.get(suffix, suffix)}={text}?")
    if kind not in kinds:
        meant = did_you_mean(kind, kinds)
        raise argparse.ArgumentTypeError(
            f"{kind!r} is not a kind of report; " + (meant or f"known are {', '.join(kinds)}")
        )
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} has no file; write it as {kind}=FILE")
    return kind, Path(name)


LIMITS = {"members": positive, "size": size, "total": size, "ratio": positive, "path": positive}
"""What an archive may ask of us before it counts as an attack, and of Windows: how each is written."""


def limit(text: str) -> tuple[str, int]:
    """Return ``members=1000`` as a name and a number."""
    name, _, value = text.partition("=")
    if name not in LIMITS:
        known = did_you_mean(name, LIMITS) or f"known are {', '.join(LIMITS)}"
        raise argparse.ArgumentTypeError(f"{name!r} is not a limit; {known}")
    return name, LIMITS[name](value)


KINDS: dict[str, dict[str, Any]] = {
    "text": {},
    "flag": {"action": "store_true"},
    "unflag": {"action": "store_false"},
    "number": {"type": positive},
    "size": {"type": size},
    "path": {"type": Path},
    "words": {"action": "extend", "type": comma_list},
    "texts": {"action": "append"},
    "paths": {"action": "append", "type": Path},
    "search": {"action": "extend", "type": path_list},
    "limits": {"action": "append", "type": limit},
    "report": {"action": "append"},
}
"""What an option takes, and how argparse is told so."""
SEVERAL = frozenset({"words", "texts", "paths", "search", "limits", "report"})
CHOICES = {"kinds": SCAN_KINDS, "platforms": PLATFORMS, "colours": COLOURS}
"""Lists of choices that are made elsewhere."""


OTHER_WORDS = {"check": "scan", "show": "scan", "lint": "scan", "inspect": "scan", "audit": "scan", "fix": "repair"}
"""What commands of other tools are called, with ours."""


def command_parser(name: str) -> Parser:
    """Return the parser of one command; a slip in its name is answered with the likely one."""
    if name not in COMMANDS:
        meant = f"did you mean '{OTHER_WORDS[name]}'?" if name in OTHER_WORDS else did_you_mean(name, COMMANDS)
        hint = meant or "'wheelfix --help' lists the commands"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    return _made(functools.partial(Parser, prog=f"wheelfix {name}"), name)


def whole_parser() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser that has all commands, and those of the commands."""
    root = root_parser()
    subparsers: Subparsers = root.add_subparsers(dest="command", prog="wheelfix", parser_class=Parser)
    made = {name: functools.partial(subparsers.add_parser, name, help=COMMANDS[name]) for name in COMMANDS}
    return root, {name: _made(make, name) for name, make in made.items()}


def _made(make: Callable[..., Parser], name: str) -> Parser:
    command = block(f"wheelfix {name}")
    parser = make(description=command["description"], epilog=f"examples:\n{command['examples']}\n")
    for title, options in _groups(name):
        group = parser.add_argument_group(title) if title else parser
        for words in options.split():
            place = group.add_mutually_exclusive_group() if "|" in words else group
            for word in words.split("|"):
                add_option(place, _row(name, word))
    parser.usage = parser.shown_usage()
    return parser


def _groups(command: str) -> Iterator[tuple[str, str]]:
    """Give the titles of a command's groups, each with its options; the first has none."""
    for line in (*block(f"wheelfix {command}")["options"].splitlines(), "<configuration>"):
        shared = re.match(r"<(\w+)>", line)
        title, _, options = (block("groups")[shared[1]] + line[shared.end() :] if shared else line).rpartition(": ")
        yield title, options


@functools.cache
def option_rows(command: str) -> dict[str, dict[str, str]]:
    """Return what ``options.txt`` says about the options of a command, by the keys that files have for them."""
    found: dict[str, dict[str, str]] = {}
    for _, options in _groups(command):
        for name in options.replace("|", " ").split():
            row = _row(command, name)
            if "dest" in row and not row.get("unnamed"):
                found.setdefault(row["dest"].replace("_", "-"), row)
    return found


def add_option(group: argparse._ActionsContainer, row: Mapping[str, str]) -> None:
    """Add an option to a parser, by what ``options.txt`` says about it."""
    choices, kind, default = tuple(row["choices"].split()), row["kind"], row.get("default")
    settings = KINDS[kind] | {field: row[field] for field in ("dest", "metavar", "nargs") if field in row}
    if kind in SEVERAL:
        settings["default"] = []
    elif default is not None:
        settings["default"] = whole_number(default) if kind == "number" else default
    if kind == "report":
        settings["type"] = functools.partial(report_request, kinds=choices)
    elif choices:
        settings["choices"] = choices
    if row.get("required"):
        settings["required"] = True
    shown = {
        "{choices}": ", ".join(choices),
        "{marked}": ", ".join(f"{choice} (default)" if choice == default else choice for choice in choices),
        "{default}": default or "",
        "\n": " ",
    }
    text = row.get("help") or argparse.SUPPRESS
    for mark, words in shown.items():
        text = text.replace(mark, words)
    group.add_argument(*row["names"].split(), help=text, **settings)


@functools.cache
def _row(command: str, name: str) -> dict[str, str]:
    """Return what is said about an option, for all commands and for one."""
    row = {"kind": "text", "names": f"--{name}", **block(name), **block(f"wheelfix {command} {name}")}
    if command == "ci" and name.startswith("trial-"):
        row |= {"names": f"--try-{name[6:]}", "help": ""}
    if command in WITHOUT_CONFIGURATION and name in ("config", "show-config"):
        row["help"] = ""
    if row["names"].startswith("-"):
        row.setdefault("dest", long_name(row)[2:].replace("-", "_"))
    words = (_row(command, "format") if name == "report" else row).get("choices", "")  # a report has every format
    row["choices"] = " ".join(CHOICES[words]) if words in CHOICES else words
    return row


def long_name(row: Mapping[str, str]) -> str:
    """Return how an option is typed: its long name."""
    return next(name for name in row["names"].split() if name.startswith("--"))


def choices_of(command: str, name: str) -> tuple[str, ...]:
    """Return what may be given for an option, where that is a list."""
    return tuple(_row(command, name)["choices"].split())


WITHOUT_CONFIGURATION = frozenset({"cache", "explain", "demo", "completion"})
"""Commands that no file configures."""


def current_spelling(name: str, argv: list[str]) -> list[str]:
    """Return the words with ``diagnose --issue`` for ``--report`` without ``KIND=FILE``, its name until 0.1.

    What follows ``--`` on the command line of ``ci`` are options of ``try``, which ``ci`` knows with a prefix.
    """
    if name == "ci" and "--" in argv:
        at = argv.index("--")
        own = [f"--try-{word[2:]}" if word.startswith("--") else word for word in argv[at + 1 :]]
        if own and "--try" not in argv[:at]:
            raise UsageError("what follows -- are options of 'wheelfix try'", hint="add --try before --")
        return [*argv[:at], *own]
    return [
        "--issue"
        if name == "diagnose" and word == "--report" and not re.match(r"\w+=", "".join(argv[number : number + 1]))
        else word
        for number, word in enumerate(argv, 1)
    ]
