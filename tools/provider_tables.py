"""Writes the tables of the provider index, and of the modules that distributions have."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.heading import heading
from wheelfix.knowledge.provider_index import DISTRIBUTIONS, DLLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from packaging.version import Version

    from tools.remote_wheel import Contents

MODULES = "modules.txt"


@dataclass(frozen=True)
class Looked:
    """A wheel that was looked at."""

    project: str
    version: Version
    wheel: str
    contents: Contents

    @property
    def tags(self) -> str:
        """The tags in the file name."""
        return "-".join(self.wheel.removesuffix(".whl").split("-")[-3:])


def write_tables(looked: Iterable[Looked], folder: Path, command: str, date: str = "") -> None:
    """Write the three tables; the same wheels give the same bytes."""
    by_project: dict[str, list[Looked]] = defaultdict(list)
    for one in looked:
        by_project[one.project].append(one)
    for wheels in by_project.values():
        wheels.sort(key=lambda one: one.version)
    lines, dlls = [], defaultdict(list)
    for project, wheels in sorted(by_project.items()):
        folders = sorted({path.rpartition("/")[0] for one in wheels for path in one.contents.dlls})
        lines.append("\t".join([project, _versions(wheels), "|".join(folders), _requirements(wheels)]))
        for path, numbers in _having(wheels, "dlls"):
            place, _, name = path.rpartition("/")
            dlls[name].append(f"{project}:{folders.index(place)}{numbers}")
    count = sum(map(len, by_project.values()))
    source = f"{count} wheels of {len(by_project)} distributions on PyPI"
    about = "Distributions on PyPI: the versions that were looked at, the folders of their DLLs, what they require."
    _write(folder / DISTRIBUTIONS, heading(about, source, command, date=date), lines)
    about = "DLLs with the distributions that ship them, in which folder and in which versions."
    shipped = ["\t".join([name, *owners]) for name, owners in sorted(dlls.items())]
    _write(folder / DLLS, heading(about, source, command, date=date), shipped)
    about = "Top-level modules and the distributions that have them, one module in a line."
    _write(folder / MODULES, heading(about, "the members of wheels on PyPI", command, date=date), _modules(by_project))


def _write(path: Path, heading: str, lines: Sequence[str]) -> None:
    path.write_text(heading + "".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _versions(wheels: Sequence[Looked]) -> str:
    parts, before = [], ""
    for one in wheels:
        parts.append(f"{one.version}/{'-' if one.tags == before else one.tags}")
        before = one.tags
    return " ".join(parts)


def _requirements(wheels: Sequence[Looked]) -> str:
    return " ".join(f"{text}{numbers}" for text, numbers in _having(wheels, "requires"))


def _having(wheels: Sequence[Looked], what: str) -> list[tuple[str, str]]:
    """Return each text with ``@`` and the numbers of the wheels that have it; with nothing if all have."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(wheels):
        for text in getattr(one.contents, what):
            numbers[text].append(number)
    return [(text, f"@{_spans(own)}" if len(own) < len(wheels) else "") for text, own in sorted(numbers.items())]


def _spans(numbers: Sequence[int]) -> str:
    """Return ``0-2,5`` for 0, 1, 2 and 5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans)


def _modules(by_project: dict[str, list[Looked]]) -> list[str]:
    """Return the lines of the table of modules, of the newest version of each distribution."""
    owners: dict[str, list[str]] = defaultdict(list)
    for project, wheels in sorted(by_project.items()):
        for module in wheels[-1].contents.modules:
            owners[module].append(project)
    return [f"{module} {' '.join(own)}" for module, own in sorted(owners.items())]
