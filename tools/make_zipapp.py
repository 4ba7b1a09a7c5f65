"""Put wheelfix and the pure-Python libraries it needs into one file that any Python from 3.10 on can run.

python -m tools.make_zipapp [FILE]     writes dist/wheelfix.pyz, or FILE

The libraries are taken from the environment that runs this script. zlib-ng and deflate are compiled and left out: the
standard zlib is used instead. The same environment gives the same bytes.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent.parent
TARGET = HERE / "dist" / "wheelfix.pyz"
COMPILED = {"zlib-ng", "deflate"}
EVERYWHERE = {"tomli"}
"""Needed on some Python only; the file is for all of them."""
BINARY = (".so", ".pyd", ".dll", ".dylib", ".pyc")
SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = """\
import sys

if sys.version_info < (3, 10):
    sys.exit("wheelfix needs Python 3.10 or newer; this is " + sys.version.split()[0])

from wheelfix.cli.main import entry

entry()
"""


def make(target: Path = TARGET) -> Path:
    """Write the zipapp and return its path."""
    members = {"__main__.py": MAIN.encode(), **dict(own_files())}
    for name in sorted(needed()):
        members.update(library_files(name))
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + ".part")
    with draft.open("wb") as file:
        file.write(SHEBANG)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path, data in sorted(members.items()):
                entry = zipfile.ZipInfo(path, _date())
                entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o100644 << 16, 3
                archive.writestr(entry, data)
    draft.chmod(0o755)
    return draft.replace(target)


def _date() -> tuple[int, int, int, int, int, int]:
    """The date of every member: ``SOURCE_DATE_EPOCH``, or the first one that zip knows."""
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), 315532800)
    moment = time.gmtime(seconds)
    return (moment.tm_year, moment.tm_mon, moment.tm_mday, moment.tm_hour, moment.tm_min, moment.tm_sec)


def own_files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package from this checkout."""
    for file in sorted((HERE / "wheelfix").rglob("*")):
        path = file.relative_to(HERE)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
        if file.is_file() and not hidden and not file.name.endswith(BINARY):
            yield path.as_posix(), file.read_bytes()
    yield "wheelfix-licenses/LICENSE", (HERE / "LICENSE").read_bytes()


def needed() -> set[str]:
    """Return the distributions that wheelfix needs, and that those need, but for compiled ones."""
    names: set[str] = set()
    waiting = [name for name in _requirements("wheelfix") if name not in COMPILED]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += _requirements(name)
    return names


def _requirements(name: str) -> list[str]:
    found = []
    for text in importlib.metadata.requires(name) or ():
        requirement = Requirement(text)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        key = canonicalize_name(requirement.name)
        if wanted or (name == "wheelfix" and key in EVERYWHERE):
            found.append(str(key))
    return found


def library_files(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an installed distribution, its licence among them."""
    distribution = importlib.metadata.distribution(name)
    for file in distribution.files or ():
        path = PurePosixPath(file.as_posix())
        if ".." in path.parts or path.name.endswith(BINARY) or path.name in ("RECORD", "INSTALLER", "REQUESTED"):
            continue
        yield path.as_posix(), Path(str(file.locate())).read_bytes()


if __name__ == "__main__":
    made = make(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
    print(f"{made} ({made.stat().st_size / 1e6:.1f} MB)")
