"""``wheelfix completion``: scripts that let a shell complete our commands, options and finding codes.

shtab makes them from the parsers; what these do not say is added here: which options take files and folders, and
values that may be joined or shortened. The one module that imports shtab.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import shtab

from wheelfix.cli.settings import choices_of, whole_parser
from wheelfix.errors import Exit
from wheelfix.rules.registry import all_rules

if TYPE_CHECKING:
    import argparse

ASSUMABLE = ("vcredist", "nvidia-driver", "vcredist-12", "vcredist-11", "vcredist-10", "vcredist-9", "conda", "cuda=")
FOLDERS = frozenset({"wheel_dir", "output_dir", "python", "env"})
FILES = frozenset({"paths", "old", "new", "file"})


def execute(args: argparse.Namespace) -> int:
    """Print the script."""
    sys.stdout.write(render(args.shell))
    return Exit.OK


def render(shell: str) -> str:
    """Return the script for a shell."""
    root, commands = whole_parser()
    codes = tuple(word for rule in all_rules() for word in (rule.code, rule.name))
    values = {
        "select": codes, "ignore": codes, "code": codes, "assume": ASSUMABLE, "no_assume": ASSUMABLE[:2],
    }  # fmt: skip
    for name, parser in commands.items():
        values["report"] = tuple(f"{kind}=" for kind in choices_of(name, "report"))
        for action in parser.actions():
            if action.dest in values and action.nargs != 0:
                action.choices = values[action.dest]
            elif action.dest in FOLDERS:
                vars(action)["complete"] = shtab.DIRECTORY
            elif action.type is Path or action.dest in FILES:
                vars(action)["complete"] = shtab.FILE
    return shtab.complete(root, shell) + "\n"
