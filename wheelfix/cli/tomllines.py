"""Where keys and table headers stand in a TOML text, which the TOML reader does not report."""

from __future__ import annotations

import re

_PART = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*")


def table_header(line: str) -> tuple[str, ...]:
    """Return the keys of a table's header, ``[tool.wheelfix]``; none for any other line."""
    line = line.lstrip()
    return _key_parts(line.lstrip("["), "]") if line.startswith("[") else ()


def _key_parts(text: str, end: str) -> tuple[str, ...]:
    """Return the parts of the dotted key that a text begins with; none unless ``end`` follows it.

    Read part by part, and no character twice: the file may be of a stranger.
    """
    parts: list[str] = []
    part = _PART.match(text)
    while part:
        parts.append(part[1].strip("\"'"))
        if text.startswith(end, part.end()):
            return tuple(parts)
        part = _PART.match(text, part.end() + 1) if text.startswith(".", part.end()) else None
    return ()


class KeyLines:
    """Where keys stand in a TOML text, which the TOML reader does not report.

    Finds keys under table headers and dotted keys; a key inside an inline table is reported with the line of the table.
    """

    def __init__(self, text: str, above: tuple[str, ...]) -> None:
        self._above = above
        self._numbers: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            if header := table_header(line):
                table = header
                self._numbers.setdefault(table, number)
            elif key := _key_parts(line, "="):
                self._numbers.setdefault((*table, *key), number)

    def find(self, keys: tuple[str, ...]) -> int:
        """Return the line of a key, or of the nearest table around it; 0 when even that is not found."""
        wanted = (*self._above, *keys)
        while wanted:
            if wanted in self._numbers:
                return self._numbers[wanted]
            wanted = wanted[:-1]
        return 0
