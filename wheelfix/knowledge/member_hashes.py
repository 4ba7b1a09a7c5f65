"""The sha256 of DLLs in wheels of vendors, from whole wheels whose own hash was checked.

``member_hashes.txt`` is written by ``tools/make_member_hashes.py``: one sorted line for each DLL, with its sha256, the
wheel and the path in it.
"""

from __future__ import annotations

import functools
import re

from wheelfix.knowledge.provider_entries import find_line
from wheelfix.knowledge.tables import read_text

TABLE = "member_hashes.txt"


@functools.cache
def _lines() -> str:
    text = read_text(TABLE).replace("\r\n", "\n")
    while text.startswith("#"):
        text = text.partition("\n")[2]
    return text


@functools.cache
def _by_place() -> dict[tuple[str, str], str]:
    rows = (line.split("\t") for line in _lines().splitlines())
    return {(wheel, member): sha256 for sha256, wheel, member in rows}


def known_sha256(wheel: str, member: str) -> str:
    """Return the sha256 of a DLL of a wheel, by the wheel's file name; empty where it is not in the table."""
    return _by_place().get((wheel, member), "")


def is_known_member(sha256: str) -> bool:
    """Whether a DLL with that hash is in a wheel that was looked at."""
    return re.fullmatch("[0-9a-f]{64}", sha256) is not None and bool(find_line(_lines(), sha256))
