"""The line of each key in a TOML text, for messages about it."""

from __future__ import annotations

import pytest

from wheelfix.cli.config import KeyLines, table_header

TEXT = """\
[project]
name = "x"

[tool.wheelfix]
ignore = ["WF605"]
scan.verbose = true

[[tool.wheelfix.wheels]]
match = "a*"
[tool."wheelfix".'repair']
in-place = { deep = 1 }
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("ignore",), 5),
        (("scan", "verbose"), 6),
        (("wheels",), 8),
        (("wheels", "match"), 9),
        (("repair", "in-place"), 11),
        (("repair", "in-place", "deep"), 11),
        (("repair", "unknown"), 10),
        (("unknown",), 4),
    ],
)
def test_a_key_has_a_line_or_that_of_the_table_around_it(keys: tuple[str, ...], line: int) -> None:
    assert KeyLines(TEXT, ("tool", "wheelfix")).find(keys) == line


def test_without_the_table_there_is_no_line() -> None:
    assert KeyLines("a = 1\n", ("tool", "wheelfix")).find(("ignore",)) == 0


@pytest.mark.parametrize("line", ["", "a = [1]", "[", "[a", "[a b]", "[a.]", "# [a]"])
def test_what_is_not_the_header_of_a_table(line: str) -> None:
    assert table_header(line) == ()
