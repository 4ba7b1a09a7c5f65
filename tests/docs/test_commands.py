"""Every ``wheelfix …`` that README and documentation show is understood by the real parser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import HERE, PAGES, blocks, shown_commands, split
from tools.example import kepler_cu117, write_roots, write_wheel
from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.main import main
from wheelfix.cli.settings import command_parser, current_spelling
from wheelfix.errors import Exit, UsageError
from wheelfix.rules.registry import all_rules

SHOWN = sorted({words: place for page in PAGES for place, words in shown_commands(page)}.items())


def test_there_are_some():
    assert len(SHOWN) > 60


def test_parses():
    for words, place in SHOWN:
        name, *rest = split(words)
        assert name in (*COMMANDS, "--version", "--help", "COMMAND"), place
        if name in COMMANDS and rest and not {"--help", "-h"} & {*rest}:
            parser = command_parser(name)
            parser.require_nothing()  # prose names commands with one option, as in `wheelfix repair --no-discover`
            try:
                parser.parse_strictly(current_spelling(name, rest))
            except UsageError as error:
                pytest.fail(f"{place} {words}: {error}")


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


def test_the_readme_is_short_and_begins_with_error_command_and_result():
    lines = (HERE / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    screen = "\n".join(lines[:34])
    parts = ("OSError: [WinError 126]", "$ wheelfix scan dist", "$ wheelfix repair", "OK  ")
    places = [screen.index(part) for part in parts]
    assert places == sorted(places)


def readme_commands() -> Iterator[list[str]]:
    """The commands in blocks of text, without what stands beside them after three blanks."""
    for block in blocks(HERE / "README.md"):
        for line in block.text.splitlines() if block.language == "text" else ():
            if line.startswith("wheelfix "):
                yield split(re.split(" {3}", line)[0].removeprefix("wheelfix "))


@pytest.mark.parametrize("words", list(readme_commands()), ids=" ".join)
def test_commands_of_the_readme_work_when_they_are_pasted(words, tmp_path, monkeypatch):
    """In a folder with a wheel in ``dist``; what needs a network or Windows is only understood."""
    monkeypatch.chdir(tmp_path)
    example = kepler_cu117()
    write_wheel(example, tmp_path / "dist")
    write_roots(example, tmp_path / "roots")
    (tmp_path / "error.txt").write_text("OSError: [WinError 126] The specified module could not be found.\n")
    if {"--fetch", "numpy", "try", "demo"} & set(words):
        assert command_parser(words[0]).parse_args(words[1:]) is not None
        return
    assert main(words) in (0, 1, 5)
