"""Writes what the tables know as one JSON document, for programs of others; it belongs to each release.

    python -m tools.export_tables wheelfix-tables.json

docs/reference/data.md describes the document, and says what may change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import wheelfix
from wheelfix.knowledge.provider_index import DLLS, provider_index
from wheelfix.knowledge.system import python_exports, stable_abi
from wheelfix.knowledge.tables import entries, header_field, read_text, table_date


def document() -> dict[str, Any]:
    """Return the document."""
    index = provider_index()
    names = [line.partition("\t")[0] for line in entries(read_text(DLLS))]
    return {
        "schema": "wheelfix-tables-1",
        "wheelfix": wheelfix.__version__,
        "tables": {
            key: {"date": table_date(table), "source": header_field(read_text(table), "source")}
            for key, table in (
                ("python_exports", "python_exports.txt"),
                ("stable_abi", "stable_abi.txt"),
                ("dlls", DLLS),
            )
        },
        "python_exports": {_dotted(version): sorted(names) for version, names in sorted(python_exports().items())},
        "stable_abi": {name: _dotted(version) for name, version in sorted(stable_abi().items())},
        "dlls": {
            name: [
                {"distribution": dll.distribution, "folder": dll.folder, "versions": [*dll.versions]}
                for dll in index.shipped(name)
            ]
            for name in names
        },
    }


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def main(argv: list[str]) -> int:
    """Write the document."""
    if len(argv) != 1:
        print("usage: python -m tools.export_tables FILE", file=sys.stderr)
        return 2
    Path(argv[0]).write_text(json.dumps(document(), indent=1) + "\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
