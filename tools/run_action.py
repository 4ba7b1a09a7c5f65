"""The body of the GitHub Action: turns its inputs, which come as variables, into one command line and runs it."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS = ("ci", "scan", "verify")


def split(text: str) -> list[str]:
    """Split options as a shell would, but leave backslashes alone: they belong to Windows paths."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def command_line(inputs: Mapping[str, str]) -> list[str]:
    """Return what follows ``wheelfix``."""
    command = inputs.get("INPUT_COMMAND") or "ci"
    if command not in COMMANDS:
        sys.exit(f"wheelfix: error: the action's command is {', '.join(COMMANDS)}, not {command!r}")
    wheels = [line.strip() for line in inputs.get("INPUT_WHEELS", "").splitlines() if line.strip()]
    words = [command, *wheels, "--format", "github"]
    if command == "ci":
        words += ["--wheel-dir", inputs.get("INPUT_WHEEL_DIR") or "wheelhouse"]
    for kind in ("sarif", "html"):
        file = inputs.get(f"INPUT_{kind.upper()}")
        words += ["--report", f"{kind}={file}"] if file else []
    return [*words, *split(inputs.get("INPUT_ARGS", ""))]


if __name__ == "__main__":
    from wheelfix.cli.main import main

    sys.exit(main(command_line(os.environ)))
