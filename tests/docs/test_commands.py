"""Every ``wheelfix …`` that README and documentation show is understood by the real parser."""

from __future__ import annotations

import pytest

from tests.docs.pages import PAGES, shown_commands, split
from wheelfix.cli.commands import COMMANDS, root_parser
from wheelfix.cli.parsers import command_parser
from wheelfix.errors import Exit
from wheelfix.rules.registry import all_rules

SHOWN = sorted({words: place for page in PAGES for place, words in shown_commands(page)}.items())


def test_there_are_some():
    assert len(SHOWN) > 60


@pytest.mark.parametrize("words", [words for words, _ in SHOWN], ids=[f"{place} {words}" for words, place in SHOWN])
def test_parses(words):
    parts = split(words)
    if parts[0] in ("--version", "--help", "COMMAND"):
        assert parts[0] == "COMMAND" or root_parser().options()
        return
    assert parts[0] in COMMANDS
    if len(parts) == 1:
        return
    parser = command_parser(parts[0])
    if "--help" in parts or "-h" in parts:
        return
    parser.require_nothing()  # prose names commands with an option only, as in `wheelfix repair --drop-test-artifacts`
    parser.parse_strictly(parts[1:])


def test_codes_in_examples_exist():
    known = {rule.code for rule in all_rules()}
    asked = {word for words, _ in SHOWN for word in words.split() if word.startswith("WF") and len(word) == 5}
    assert asked <= known


def test_exit_codes():
    """The table of exit codes has every code once."""
    page = next(page for page in PAGES if page.name == "exit-codes.md")
    rows = [
        line.split("|")[1].strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    assert rows[2:] == [str(code.value) for code in Exit]
