"""What a wheel has for others: the DLLs that it installs, and the names that it makes importable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.archive.placement import installed_path
from wheelfix.model import fold

if TYPE_CHECKING:
    from collections.abc import Iterable

_IMAGE = re.compile(r"(?:\.dll|^[^.]+\.pyd)$")
"""DLLs, and extension modules without a tag, which others may import by name."""
_NOT_MODULES = frozenset({"tests", "test", "docs", "examples", "share", "bin", "lib", "scripts", "include"})


def dll_places(members: Iterable[str], data_folder: str) -> dict[str, str]:
    """Return the DLLs of a wheel by the place where they are installed, names folded, with their members."""
    found: dict[str, str] = {}
    for member in members:
        folder, _, base = installed_path(member, data_folder).rpartition("/")
        key = fold(base)
        if _IMAGE.search(key) and not set(member) & set("\t\n\r|"):
            found.setdefault(f"{folder}/{key}" if folder else key, member)
    return dict(sorted(found.items()))


def modules_of(members: Iterable[str]) -> tuple[str, ...]:
    """Return the names that installing a wheel makes importable."""
    names = set()
    for member in members:
        top, _, rest = member.partition("/")
        if top.endswith(".data"):
            scheme, _, rest = rest.partition("/")
            if scheme not in ("purelib", "platlib"):
                continue
            top, _, rest = rest.partition("/")
        name = top.partition(".")[0]
        importable = rest.endswith((".py", ".pyd")) if rest else top.endswith((".py", ".pyd"))
        if importable and name.isidentifier() and name not in _NOT_MODULES:
            names.add(name)
    return tuple(sorted(names))
