"""The DLL names and the Windows paths in a text."""

from __future__ import annotations

import re
from pathlib import PureWindowsPath

_NAME_RUN = re.compile(r"[A-Za-z0-9_.+-]+")
_NAME_END = re.compile(r"\.(?:dll|pyd)(?![A-Za-z0-9_])", re.IGNORECASE)
_LONGEST_NAME = 124
_SITE_PACKAGES = re.compile(r"[\\/](?:site|dist)-packages[\\/]([A-Za-z_][\w.-]*)", re.IGNORECASE)
_QUOTED = re.compile(
    r"""\\?["'“‘](?P<path>(?:[A-Za-z]:|\\\\|\.)[\\/][^"'“”‘’:]{1,700}(?:['‘’][^"'“”‘’:]{1,260}){0,4}?)\\?["'”’](?=\s|$|[.),:])"""
)
_BARE = re.compile(r"(?P<path>[A-Za-z]:[\\/][^\"'*?<>|:\r\n]{1,400}?\.(?:dll|pyd|exe|node))(?![\w.])", re.IGNORECASE)


def dll_names(text: str) -> tuple[str, ...]:
    """Return the DLL names in a text, each once, as first spelled."""
    seen: dict[str, str] = {}
    for run in _NAME_RUN.finditer(text):
        start = 0
        for end in _NAME_END.finditer(run[0]):
            name = run[0][start : end.end()].lstrip(".+-")
            start = end.end()
            if 4 < len(name) <= _LONGEST_NAME:
                seen.setdefault(name.lower(), name)
    return tuple(seen.values())


def named_path(text: str) -> str | None:
    """Return the first Windows path in a text, in quotation marks or with the suffix of an image."""
    found = _QUOTED.search(text) or _BARE.search(text)
    return tidy_path(found.group("path")) if found else None


def tidy_path(path: str) -> str:
    """Return a path as Windows writes it: one backslash between the parts, also where the text was escaped."""
    path = path.strip()
    if re.search(r"(?<=[^\\])\\\\", path):
        path = path.replace("\\\\", "\\")
    if path.startswith("\\\\?\\"):
        path = path[4:]
    return str(PureWindowsPath(path)) if path else path


def package_of(path: str) -> str:
    """Return the top-level package below ``site-packages`` that a path lies in, or nothing."""
    found = _SITE_PACKAGES.search(path)
    if not found:
        return ""
    return PureWindowsPath(found.group(1)).stem if "." in found.group(1) else found.group(1)
