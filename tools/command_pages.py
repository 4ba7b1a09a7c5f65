"""A reference page for every command, from its parser: what ``--help`` says, with links and tables."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from tools.markdown import NOTE, code, fence, sentence, table
from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.settings import command_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.cli.commands import Parser

FOLDER = "reference/commands"
_KIND = {"arguments": "argument"}


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of every page."""
    yield f"{FOLDER}/index.md", _overview()
    for name in COMMANDS:
        yield f"{FOLDER}/{name}.md", _page(name, command_parser(name))


def _overview() -> str:
    rows = [(f"[`wheelfix {name}`]({name}.md)", sentence(summary)) for name, summary in COMMANDS.items()]
    return (
        f"{NOTE}# Commands\n\n"
        + table(("command", "what it does"), rows)
        + "`wheelfix --version` prints the version, `wheelfix COMMAND --help` what a page here says. Abbreviated\n"
        "options are refused. What can be written in a file or a variable instead is described in\n"
        "[Configuration](../configuration.md), what the exit codes mean in [Exit codes](../exit-codes.md).\n"
    )


def _page(name: str, parser: Parser) -> str:
    text = f"{NOTE}# wheelfix {name}\n\n{fence(_synopsis(parser))}{(parser.description or '').strip()}\n\n"
    for group in parser._action_groups:
        rows = [(_spelling(action), _meaning(action)) for action in group._group_actions if _is_shown(action)]
        title = "arguments" if group.title == "positional arguments" else group.title or ""
        if rows:
            text += f"## {title[0].upper()}{title[1:]}\n\n{table((_KIND.get(title, 'option'), 'meaning'), rows)}"
    examples = (parser.epilog or "").partition("examples:\n")[2]
    if examples:
        text += f"## Examples\n\n{fence(re.sub(r'(?m)^  ', '', examples))}"
    return text.rstrip() + "\n"


def _synopsis(parser: Parser) -> str:
    """The usage in one line; argparse's own differs from one Python to the next."""
    words = [parser.prog, "[OPTIONS]"]
    for action in parser.actions():
        if not action.option_strings and _is_shown(action):
            name = str(action.metavar or action.dest)
            words.append(
                {"*": f"[{name} ...]", "?": f"[{name}]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name)
            )
    return " ".join(words)


def _is_shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return code(action.metavar or action.dest)
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    return ", ".join(code(option + (value if option.startswith("--") else "")) for option in action.option_strings)


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()


def _meaning(action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": "wheelfix"}
