"""Tables of cases: each row has its name first."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from wheelfix.base.parsing import load_toml


def named_cases(arguments: str, rows: Mapping[str, object]) -> pytest.MarkDecorator:
    """Run a test with each of the rows; their keys are the names of its cases, ``arguments`` those of its arguments."""
    return pytest.mark.parametrize(arguments, rows.values(), ids=rows)


def read_table(beside: str, name: str) -> dict[str, Any]:
    """Read a TOML file that lies beside a module."""
    return load_toml(Path(beside).with_name(name).read_text("utf-8"))


def grouped(table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Give each row of a table of groups: its name, what ``all`` of its group share, and the row."""
    for group, rows in table.items():
        for name, row in rows.items():
            if name != "all":
                yield f"{group}: {name}", rows.get("all", {}), row


def answers(question: Callable[..., Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    """Ask a function what a table asks: words with commas between them."""
    return {asked: _plain(question(*asked.split(", "))) for asked in rows}


def _plain(answer: Any) -> Any:
    """An answer as TOML has it: sets in order, and an empty text for None."""
    if isinstance(answer, (set, frozenset)):
        return sorted(answer)
    if isinstance(answer, enum.Enum):
        return answer.value
    return "" if answer is None else [*answer] if isinstance(answer, (tuple, list)) else answer
