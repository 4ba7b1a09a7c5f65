"""Small helpers for sentences: lists that do not run on, counts that read well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def listing(items: Sequence[str], limit: int = 3) -> str:
    """Return ``a``, ``a and b``, ``a, b and c``, or ``a, b, c and 4 more``."""
    if len(items) > limit:
        return and_more(items, limit)
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def and_more(names: Sequence[str], most: int = 3) -> str:
    """Return ``a, b``, or ``a, b and 4 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def count(number: int, what: str) -> str:
    """Return ``1 file`` or ``3 files``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def arrow(chain: Sequence[str]) -> str:
    """Return a chain as people read it: ``fbgemm.dll -> libomp140.x86_64.dll``."""
    return " -> ".join(chain)


def dotted(version: Sequence[int]) -> str:
    """Return a version as people write it: ``12.4``."""
    return ".".join(map(str, version))


def last_part(path: str) -> str:
    """Return the last part of a path, whichever way its folders are separated."""
    return path.replace("\\", "/").rpartition("/")[2]


def quoted(requirement: str) -> str:
    """Return a requirement as a shell takes it: in quotation marks where it has signs that a shell reads."""
    return f'"{requirement}"' if set(requirement) & set("<>=!~*,") else requirement
