"""Writes the list of the stable ABI's symbols on Windows; run by hand when CPython adds some.

    pip install abi3info
    python -m tools.make_stable_abi

The names and the versions come from CPython's ``Misc/stable_abi.toml``, by way of the ``abi3info`` package that is
generated from it. Nothing else is taken. Functions that exist on other systems only are left out.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path

TABLE = Path(__file__).parent.parent / "wheelfix" / "knowledge" / "stable_abi.txt"
HEADER = """\
# Functions and data of CPython's stable ABI on Windows, with the version that added them.
# source: python/cpython Misc/stable_abi.toml, by way of abi3info {version}
# made by `python -m tools.make_stable_abi`; do not edit by hand
"""


def main() -> None:
    """Write the list."""
    abi3info = import_module("abi3info")  # only this script needs it, so no type checker has to find it
    items = [*abi3info.FUNCTIONS.values(), *abi3info.DATAS.values()]
    lines = sorted(
        f"{item.symbol.name} {item.added.major}.{item.added.minor}"
        for item in items
        if item.ifdef is None or item.ifdef.windows
    )
    text = HEADER.format(version=version("abi3info")) + "\n".join(lines) + "\n"
    TABLE.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
