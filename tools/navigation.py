"""The parts of ``mkdocs.yml`` that name every command and every finding, so that the sidebar of the site has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools.rule_pages import GROUPS
from wheelfix.cli.commands import COMMANDS
from wheelfix.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).resolve().parent.parent / "mkdocs.yml"
INDENT = " " * 10


def pages() -> Iterator[tuple[str, str]]:
    """Yield the file, seen from ``docs``, with what it should be."""
    text = FILE.read_text(encoding="utf-8")
    yield "../mkdocs.yml", _between(_between(text, "commands", _commands()), "findings", _findings())


def _commands() -> list[str]:
    return [f"{INDENT}- {name}: reference/commands/{name}.md" for name in COMMANDS]


def _findings() -> list[str]:
    lines = []
    for prefix, title in GROUPS.items():
        lines.append(f"{INDENT}- {title}:")
        lines += [
            f"{INDENT}    - {rule.code} {rule.name}: reference/rules/{rule.code}.md"
            for rule in all_rules()
            if rule.code.startswith(prefix)
        ]
    return lines


def _between(text: str, name: str, lines: list[str]) -> str:
    """Return the text with other lines between two comments."""
    begin, end = f"# {name}, made by `python dev.py generate`", f"# end of {name}"
    inner = "".join(f"{line}\n" for line in lines)
    pattern = rf"({re.escape(INDENT + begin)}\n).*?({re.escape(INDENT + end)}\n)"
    made, count = re.subn(pattern, lambda match: match[1] + inner + match[2], text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{FILE} has no place for {name}")
    return made
