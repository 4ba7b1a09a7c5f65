"""What the fixture ``run`` is, and the parsers that commands of one process share."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:  # conftest imports this module, and should import nothing of ours
    from wheelfix.cli.commands import Parser


class Printed(NamedTuple):
    """What a command wrote."""

    out: str
    err: str

    @property
    def said(self) -> str:
        """All of it in one line."""
        return " ".join((self.out + self.err).split())

    @property
    def document(self) -> Any:
        """The JSON document that it printed."""
        return json.loads(self.out)


class Run(Protocol):
    """Run a command of ours that has to end with a code, or with any, if that is None."""

    def __call__(self, *words: object, code: int | None = 0) -> Printed: ...


def shared_parsers(make: Callable[[str], Parser]) -> Callable[[str], Parser]:
    """Make the parser of a command once, and give it as it was made each time: a command changes its actions."""

    @functools.cache
    def made(name: str) -> tuple[Parser, list[dict[str, Any]]]:
        parser = make(name)
        return parser, [{**vars(action)} for action in parser.actions()]

    def command_parser(name: str) -> Parser:
        parser, states = made(name)
        for action, state in zip(parser.actions(), states, strict=True):
            vars(action).update(state, default=copy.copy(state["default"]))
        return parser

    return command_parser
