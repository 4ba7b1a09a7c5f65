"""What brings in the DLLs that are missing: the options of ``wheelfix repair`` that each of them needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import Machine, MissingDll

FOLDER = "a folder, wheel or conda package that has them"


def missing_hints(missing: Iterable[MissingDll], machine: Machine) -> tuple[str, ...]:
    """Return a sentence for each way in which the required DLLs can be brought in, or that they cannot."""
    ways: dict[str, list[MissingDll]] = {}
    for item in missing:
        if item.required:
            ways.setdefault(_way(item.name, machine), []).append(item)
    everything = len(ways) == 1
    return tuple(_sentence(way, ways[way], everything=everything) for way in _WAYS if way in ways)


_WAYS = ("root", "include", "vcredist", "never")


def _way(name: str, machine: Machine) -> str:
    known, member = classify(name, machine), family_of(name)
    if (
        known.debug
        or known.kind in ("driver", "system", "api-set", "ucrt")
        or (known.kind == "python" and not known.folder)
    ):
        return "never"
    if known.kind == "vcredist":
        return "vcredist"
    return "include" if member is not None and not member.family.redistribute else "root"


def _sentence(way: str, items: Sequence[MissingDll], *, everything: bool) -> str:
    names = [item.name for item in items]
    what = "them" if everything else ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    found = all(item.candidates for item in items)
    place = _named_roots(items) if found else " --root PATH"
    source = "where they were found, if they are suitable" if found else FOLDER
    if way == "include":
        asked = " ".join(f"--include {name}" for name in names)
        command = f"'wheelfix repair WHEEL {asked}{place}'"
        return f"{command} vendors {what} from {source}; their vendor does not allow redistribution"
    if way == "vcredist":
        return f"'wheelfix repair WHEEL --with-vcredist{place}' vendors {what} from {source}"
    if way == "never":
        return f"{', '.join(names)}: no wheel may contain them"
    return f"'wheelfix repair WHEEL{place}' vendors {what} from {source}"


def _named_roots(items: Sequence[MissingDll]) -> str:
    """The options with which the user named the roots in which DLLs were found; the repair has to hear them again."""
    named: dict[str, None] = {}
    for item in items:
        option = re.search(r"--[a-z]+$", item.candidates[0].reason)
        if option:
            named[f' {option[0]} "{item.candidates[0].root}"'] = None
    return "".join(named)
