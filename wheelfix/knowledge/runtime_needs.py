"""Which published modules and DLLs expect a Visual C++ runtime on the machine, because their wheels do not have it."""

from __future__ import annotations

import functools
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import TableFault, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "runtime_needs.txt"
HEADER = """\
# Modules and DLLs in published wheels whose imports end at a Visual C++ runtime that the wheel does not have.
# In a line: top-level package, name, runtime (140: Visual C++ 2015 to 2022; 120: 2013; 100: 2010), and "unique" where
# the name alone identifies the package.
# source: the import tables of wheels on PyPI for win_amd64, 2026-11-15
# made by `python -m tools.make_runtime_needs FOLDER`; do not edit by hand
"""
RUNTIMES = ("140", "120", "100")


@dataclass(frozen=True, slots=True)
class RuntimeNeeds:
    """The content of the table."""

    of_package: Mapping[tuple[str, str], str]
    """The runtime for a package and the name of a module or DLL in it, both in lower case."""
    unique: Mapping[str, str]
    """The same for names that one package alone has."""


def parse_runtime_needs(text: str) -> RuntimeNeeds:
    """Turn the table's text into values; a line with a runtime that does not exist is refused."""
    of_package: dict[tuple[str, str], str] = {}
    unique: dict[str, str] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        package, name, runtime, *flags = line.split()
        if runtime not in RUNTIMES or flags not in ([], ["unique"]):
            raise TableFault(TABLE, [f"{line!r} is not a package, a name, a runtime and perhaps 'unique'"])
        of_package[package, name] = runtime
        if flags:
            unique[name] = runtime
    return RuntimeNeeds(of_package, unique)


@functools.lru_cache(maxsize=1)
def runtime_needs() -> RuntimeNeeds:
    """Return the table of this package."""
    return parse_runtime_needs(read_text(TABLE))


def runtime_need(package: str, name: str) -> str:
    """Return the runtime that a module or DLL of a package needs: ``140``, ``120``, ``100``; empty where not known.

    The name is that of an error text: a module with or without its packages, or the name of a DLL.
    """
    if not name:
        return ""
    needs = runtime_needs()
    leaf = name.lower() if PureWindowsPath(name).suffix.lower() == ".dll" else name.lower().rpartition(".")[2]
    if package:
        return needs.of_package.get((package.lower(), leaf), "")
    return needs.unique.get(leaf, "")
