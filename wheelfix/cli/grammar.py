"""The commands and their options as values, read from the parsers: what completion scripts and manuals are made of."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.cli.commands import COMMANDS, command_parser, load_command
from wheelfix.cli.parser import CommaList, Parser
from wheelfix.report.formats import SCAN_KINDS

if TYPE_CHECKING:
    import argparse

ASSUMABLE = ("vcredist", "nvidia-driver", "vcredist-12", "vcredist-11", "vcredist-10", "vcredist-9", "conda", "cuda=")
FOLDERS = frozenset({"wheel_dir", "output_dir", "python", "env", "cuda", "cudnn", "oneapi", "conda"})


@dataclass(frozen=True, slots=True)
class Word:
    """An option or a positional argument."""

    names: tuple[str, ...]
    """``-o`` and ``--output``; empty for a positional argument."""
    metavar: str
    """What stands for the value; empty for a flag."""
    help: str
    values: tuple[str, ...] = ()
    """The values it can have, where they are few."""
    kind: str = "text"
    """``flag``, ``text``, ``file`` or ``folder``."""
    repeatable: bool = False
    group: str = ""

    @property
    def long(self) -> str:
        """The long form, without the dashes."""
        return next((name[2:] for name in self.names if name.startswith("--")), "")

    @property
    def short(self) -> str:
        """The short form, without the dash; empty where there is none."""
        return next((name[1:] for name in self.names if not name.startswith("--")), "")


@dataclass(frozen=True, slots=True)
class CommandGrammar:
    """One command."""

    name: str
    summary: str
    description: str
    examples: str
    options: tuple[Word, ...]
    arguments: tuple[Word, ...]
    usage: str


@cache
def read_grammar() -> tuple[CommandGrammar, ...]:
    """Return every command, in the order of the help."""
    return tuple(_command(name) for name in COMMANDS)


def _command(name: str) -> CommandGrammar:
    parser = command_parser(name, load_command(name))
    groups = {id(action): group for group, actions in parser.titled_groups() for action in actions}
    words = [(action, _word(name, action, groups.get(id(action), ""))) for action in parser.actions()]
    return CommandGrammar(
        name,
        COMMANDS[name].summary,
        parser.description or "",
        (parser.epilog or "").removeprefix("examples:\n"),
        tuple(word for action, word in words if action.option_strings),
        tuple(word for action, word in words if not action.option_strings),
        _usage(parser),
    )


def _usage(parser: Parser) -> str:
    places = [action for action in parser.actions() if not action.option_strings]
    shown = " ".join(
        f"[{action.metavar} ...]"
        if action.nargs == "*"
        else f"{action.metavar} ..."
        if action.nargs == "+"
        else str(action.metavar)
        for action in places
    )
    return f"{parser.prog} [OPTION ...] {shown}".rstrip()


def _word(command: str, action: argparse.Action, group: str) -> Word:
    flag = action.nargs == 0
    metavar = "" if flag else str(action.metavar or (action.dest.upper().replace("_", "-")))
    values = tuple(map(str, action.choices or ())) or _values(command, action.dest)
    if flag:
        kind = "flag"
    elif action.dest in FOLDERS:
        kind = "folder"
    elif action.type is Path or action.dest in ("paths", "old", "new", "file", "report", "also"):
        kind = "file"
    else:
        kind = "text"
    repeatable = isinstance(action, CommaList) or type(action).__name__ == "_AppendAction"
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return Word(tuple(action.option_strings), metavar, text, values, kind, repeatable, group)


def _values(command: str, dest: str) -> tuple[str, ...]:
    """Return values that the parser does not list, because they may be joined or shortened."""
    if dest in ("select", "ignore") or (command == "explain" and dest == "code"):
        from wheelfix.rules.registry import all_rules

        return tuple(word for rule in all_rules() for word in (rule.code, rule.name))
    if dest in ("assume", "no_assume"):
        return ASSUMABLE if dest == "assume" else ASSUMABLE[:2]
    return tuple(f"{kind}=" for kind in SCAN_KINDS) if dest == "report" else ()
