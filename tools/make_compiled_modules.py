"""Writes the list of compiled modules that packages on PyPI have for Windows.

    python -m tools.make_compiled_modules FOLDER...

The wheels in the folders are listed. Modules of wheels that are not there stay, since names move between releases
(numpy.core became numpy._core) and older releases are in use.
"""

from __future__ import annotations

import datetime
import re
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.knowledge.providers import COMPILED_HEADER as HEADER
from wheelfix.knowledge.providers import COMPILED_TABLE as TABLE
from wheelfix.knowledge.providers import parse_compiled_modules

if TYPE_CHECKING:
    from collections.abc import Iterable

OUTPUT = Path(wheelfix.__file__).parent / "knowledge" / TABLE
_MODULE = re.compile(r"((?:[A-Za-z_]\w*/)*)([A-Za-z_]\w*)(?:\.(?:cp\d+[\w-]*|abi3|pypy[\w-]*|win_\w+|win32))?\.pyd")
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")


def compiled_modules(members: Iterable[str]) -> set[str]:
    """Return the dotted names of the extension modules among the members of a wheel; those at the top are left out."""
    found = (_MODULE.fullmatch(_DATA.sub("", member, count=1)) for member in members)
    return {match[1].replace("/", ".") + match[2] for match in found if match and match[1]}


def table(modules: Iterable[str], date: str) -> str:
    """Return the table: a top-level package in a line, with what is compiled below it."""
    below: dict[str, list[str]] = defaultdict(list)
    for module in sorted(modules):
        top, _, rest = module.partition(".")
        below[top].append(rest)
    lines = (f"{top} {' '.join(names)}\n" for top, names in sorted(below.items()))
    return HEADER.format(date=date) + "".join(lines)


def main(folders: list[str]) -> int:
    """List the wheels and write the table."""
    known = parse_compiled_modules(OUTPUT.read_text(encoding="utf-8")) if OUTPUT.exists() else {}
    found = {f"{top}.{name}" for top, names in known.items() for name in names}
    for wheel in sorted(path for folder in folders for path in Path(folder).glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            found |= compiled_modules(archive.namelist())
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    OUTPUT.write_text(table(found, date), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
