"""Writes the list of published modules that need a Visual C++ runtime from the machine.

    python -m tools.make_runtime_needs FOLDER...

The wheels in the folders are scanned as on a machine without the runtime; what is missing then is what they expect.
Rows of wheels that are not in the folders stay. torch and what is built for it are left out: their builds for CUDA,
ROCm and XPU need more than those on PyPI.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import wheelfix
from tools.heading import heading
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.errors import WheelfixError
from wheelfix.knowledge.companions import RUNTIME_NEEDS, runtime_needs
from wheelfix.model import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wheelfix.model import ScannedImage

ABOUT = """\
Modules and DLLs in published wheels whose imports end at a Visual C++ runtime that the wheel does not have.
In a line: top-level package, name, runtime (140: Visual C++ 2015 to 2022; 120: 2013; 100: 2010), and "unique" where
the name alone identifies the package.
"""
OUTPUT = Path(wheelfix.__file__).parent / "knowledge" / RUNTIME_NEEDS
_RUNTIME = re.compile(r"(?:msvcp|msvcr|vcruntime|concrt|vcomp|vccorlib|mfc)(\d{3})\w*\.dll", re.IGNORECASE)
_LEFT_OUT = frozenset({"torch", "functorch", "torchvision", "torchaudio", "torchcodec", "xformers"})
_LEAF = re.compile(r"\.(?:cp\d+|abi3|pypy\w*)[^.]*(?=\.pyd$)")


def leaf(path: str) -> str:
    """The name by which an error text knows a file: the module's own name, or the DLL's."""
    name = _LEAF.sub("", PurePosixPath(path).name).lower()
    return name.removesuffix(".pyd")


def top(path: str) -> str:
    """The top-level package that a member lies in; a module at the top is its own."""
    parts = PurePosixPath(path).parts
    return parts[0].lower() if len(parts) > 1 else leaf(path)


def needs_of(wheel: Path) -> tuple[set[tuple[str, str]], dict[tuple[str, str], str]]:
    """Return every file of a wheel, and the runtime that those need in whose closure nothing else is missing."""
    options = ScanOptions(roots=RootOptions(discover=False), no_assume=("vcredist",))
    report = wheelfix.scan(wheel, options=options)
    files = {(top(image.path), leaf(image.path)) for image in report.images}
    absent: dict[str, set[str]] = defaultdict(set)
    for item in report.missing:
        if item.kind is not EdgeKind.IMPORT:
            continue  # a delayed import, as that of concrt140.dll in a vendored msvcp140.dll, does not stop a load
        for user in item.needed_by:
            absent[user].add(item.name)
    needed = {image.path: _only(_closure(image.path, report.images, absent)) for image in report.images}
    return files, {(top(path), leaf(path)): runtime for path, runtime in needed.items() if runtime}


def _closure(path: str, images: Sequence[ScannedImage], absent: Mapping[str, set[str]]) -> set[str]:
    """Everything that is absent for a file and for the files of the wheel that it imports."""
    by_name = {PurePosixPath(image.path).name.lower(): image for image in images}
    found: set[str] = set()
    queue, seen = [path], {path}
    while queue:
        current = queue.pop()
        found |= absent.get(current, set())
        image = by_name[PurePosixPath(current).name.lower()]
        inside = {by_name[name].path for name in _imported(image) if name in by_name}
        queue += inside - seen
        seen |= inside
    return found


def _imported(image: ScannedImage) -> list[str]:
    """The names in an import table, in lower case; none for what could not be read."""
    return [item.dll.lower() for item in getattr(image.facts, "imports", ())]


def is_telling(package: str, name: str) -> bool:
    """Whether a name alone tells the package: a DLL's, or a module's that contains the name of its package.

    Names such as ``_ext`` and ``_core`` are those of many packages, of which the folders have only some.
    """
    stem = re.sub(r"[^a-z0-9]", "", package).removeprefix("py")
    return name.endswith(".dll") or (len(stem) > 3 and stem in re.sub(r"[^a-z0-9]", "", name))


def _only(names: Iterable[str]) -> str:
    """The runtime that all of the names belong to, or nothing."""
    found = {match[1] if (match := _RUNTIME.fullmatch(name)) else "" for name in names}
    return found.pop() if len(found) == 1 else ""


def main(folders: list[str]) -> int:
    """Scan the wheels and write the table."""
    owners: dict[str, set[str]] = defaultdict(set)
    needs = dict(runtime_needs().of_package)
    for package, name in needs:
        owners[name].add(package)
    for wheel in sorted(path for folder in folders for path in Path(folder).glob("*-win_amd64.whl")):
        try:
            files, needed = needs_of(wheel)
        except WheelfixError as exc:
            print(f"{wheel.name}: {exc}", file=sys.stderr)
            continue
        for package, name in files:
            owners[name].add(package)
        needs.update(needed)
    rows = [
        f"{package} {name} {runtime}{' unique' if len(owners[name]) == 1 and is_telling(package, name) else ''}"
        for (package, name), runtime in sorted(needs.items())
        if runtime in ("140", "120", "100") and package not in _LEFT_OUT and not package.endswith(".data")
    ]
    source = "the import tables of wheels on PyPI for win_amd64"
    head = heading(ABOUT, source, "python -m tools.make_runtime_needs FOLDER")
    OUTPUT.write_text(head + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
