"""Which member names are safe to unpack on Windows and elsewhere, and which of them are one file there.

A wheel is unpacked by many programs. A name is safe when all of them put it at the same place below the target
folder: no way up, no root, no drive, no stream, no device, nothing that Windows silently trims or cannot hold.
See "Naming Files, Paths, and Namespaces" in Microsoft's Win32 documentation.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import TYPE_CHECKING

from wheelfix.model import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_DEVICE = r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)"
_DEVICE_PART = rf"{_DEVICE} *(?:\..*)?"
_DEVICE_LINE = re.compile(rf"/{_DEVICE}[ ./\n]")
_DRIVE = re.compile(r"[A-Za-z]:")
_FORBIDDEN = '<>"|?*'
_NEVER = bytes([*range(32), 127]) + b"\\:" + _FORBIDDEN.encode()
# Safe names, written as lines that begin with a slash, contain none of these; a folder's name may end in a slash.
_LINE_ENDS = ("\x85", "\u2028", "\u2029")
_TELLTALES = ("//", "./", " /", ".\n", " \n", "\n/\n", *_LINE_ENDS)
_PORTION = 20_000
MAX_PART = 255
"""NTFS holds no longer name."""
MAX_NAME = 1024
"""Far more than any wheel has; Windows without long paths stops at 260."""

ASIDE = ".wheelfix-dropped"
"""What is added to the name of a file that a repair in place sets aside."""
OLD_JOURNAL = "wheelfix-journal.json"
"""The journal of such a repair was in dist-info up to version 0.1.0, and was believed."""


def normalise(spelled: str) -> str:
    """Return the name with forward slashes."""
    return spelled.replace("\\", "/") if "\\" in spelled else spelled


def all_plain(names: Sequence[str]) -> bool:
    """Whether a quick look at all names together finds nothing that could be unsafe; False means look closer."""
    # In portions, so that the copies of all names together stay small.
    return all(_plain(names[start : start + _PORTION]) for start in range(0, len(names), _PORTION))


def _plain(names: Sequence[str]) -> bool:
    text = "\n/" + "\n/".join(names) + "\n"
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) - len(encoded.translate(None, _NEVER)) != len(names) + 1 or len(max(names, key=len)) > MAX_PART:
        return False
    if any(telltale in text for telltale in _TELLTALES):
        return False
    return _DEVICE_LINE.search(text.lower()) is None


def why_unsafe(spelled: str) -> str:
    """Return why unpacking this name would be unsafe, or nothing; ``spelled`` is as in the archive.

    A backslash alone is not unsafe: it is judged as the separator that Windows takes it for.
    """
    name = normalise(spelled)
    if not name:
        return "the name is empty"
    if "\0" in name:
        return "the name holds a NUL, where some programs cut it off"
    if name.startswith(("//?/", "//./", "/??/")):
        return "the name is a Windows device path"
    if name.startswith("//"):
        return "the name is a network path"
    if name.startswith("/"):
        return "the name is absolute"
    if _DRIVE.match(name):
        return "the name begins with a drive letter"
    if len(name) > MAX_NAME:
        return f"the name has {len(name)} characters"
    return next((reason for part in name.removesuffix("/").split("/") if (reason := _why_unsafe_part(part))), "")


def stays_inside(spelled: str) -> bool:
    """Whether nothing is unsafe about a name in dist-info but ``..`` steps that do not leave that folder.

    setuptools makes such names for licence files of a folder above the project: ``licenses/../LICENSE.txt``. Elsewhere
    they stay unsafe: a DLL would not lie where its name says.
    """
    folder, *steps = spelled.split("/")
    depth, down = 0, [folder]
    for part in steps:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return False
        down += [part] if part != ".." else []
    return folder.endswith(".dist-info") and steps[-1:] != [".."] and not why_unsafe("/".join(down))


def _why_unsafe_part(part: str) -> str:
    """Return what is wrong with one step of a path."""
    if part == "..":
        return "the name leads upwards with '..'"
    if part == "":
        return "the name has an empty step ('//')"
    if part == ".":
        return "the name has a '.' step"
    if ":" in part:
        return "the name holds a colon, which names an alternate data stream on Windows"
    if re.fullmatch(_DEVICE_PART, part, re.IGNORECASE | re.DOTALL):
        return f"{part!r} is a device on Windows"
    if part[-1] in ". ":
        return f"{part!r} ends in a dot or a space, which Windows drops"
    if any(character < " " or character == "\x7f" for character in part):
        return "the name holds control characters"
    if any(character in part for character in _LINE_ENDS):
        return "the name holds a character that ends a line, where some programs cut RECORD"
    if any(character in _FORBIDDEN for character in part):
        return "the name holds characters that Windows does not allow"
    if len(part.encode("utf-16-le", "surrogatepass")) > 2 * MAX_PART:
        return f"a step of the name has more than {MAX_PART} characters"
    return ""


def unprintable(name: str) -> str:
    """Return the first character that cannot be seen (controls, marks of direction, unassigned ones), or nothing.

    These are the general categories of Unicode that begin with C, which uv refuses in names.
    """
    return next((character for character in name if unicodedata.category(character)[0] == "C"), "")


def is_reserved(name: str) -> bool:
    """Whether a file has a name that wheelfix gives to its own files in environments, for good or for a moment."""
    if "wheelfix" not in fold(name):
        return False
    base = windows_key(normalise(name)).rpartition("/")[2].partition(":")[0]
    return (
        base == OLD_JOURNAL or base.endswith(ASIDE) or re.fullmatch(r"\.wheelfix-.*\.tmp", base, re.DOTALL) is not None
    )


def windows_key(name: str) -> str:
    """Return the form in which paths compare on Windows: without case, nor dots and spaces at the end of a step."""
    key = fold(name.removesuffix("/"))
    if "./" in key or " /" in key or key.endswith((".", " ")):
        key = "/".join(step.rstrip(". ") or step for step in key.split("/"))
    return key


def windows_keys(names: Collection[str]) -> list[str]:
    """Return :func:`windows_key` of each name; those of ordinary wheels in one step."""
    text = ("\n".join(names) + "\n").replace("/\n", "\n")
    ordinary = text.isascii() and not any(mark in text for mark in ("./", " /", ".\n", " \n"))
    if not ordinary or text.count("\n") != len(names):
        return [windows_key(name) for name in names]
    return text.lower().split("\n")[:-1]


def collisions(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of different names that are one file on Windows, in the order of the second."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(windows_key(name), name)
        if first != name:
            yield first, name


def collisions_with(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of different names that are one file on Windows, where at least the second is a new one."""
    yield from collisions(new)
    wanted = {windows_key(name): name for name in new}
    keys = windows_keys(old) if wanted else []
    if wanted.keys().isdisjoint(keys):
        return
    for key, name in zip(keys, old, strict=True):
        other = wanted.get(key)
        if other is not None and other != name:
            yield name, other


def new_files_as_folders(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of a file and a name that uses it as a folder, where at least one of them is new."""
    everyone, lines = {*old, *new}, "\n" + "\n".join([*old, *new])
    for name in new:
        folder = name.rpartition("/")[0]
        while folder:
            if folder in everyone:
                yield folder, name
            folder = folder.rpartition("/")[0]
        at = lines.find(f"\n{name}/")
        if at >= 0:
            yield name, lines[at + 1 :].partition("\n")[0]


def files_as_folders(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of a file's name and a folder's name that are the same; ``names`` had better be a set or dict."""
    # With the least of all characters between folders, whatever lies in a folder comes right behind a file of its name.
    # (To list the folders above each name would take gigabytes for names that were made to be deep.)
    text = "\n".join(names).replace("/", "\0")
    ordered = sorted(text.split("\n") if text.count("\n") < len(names) else (name.replace("/", "\0") for name in names))
    for file, below in itertools.pairwise(ordered):
        if below.startswith(file + "\0"):
            name = file.replace("\0", "/")
            yield name, name + "/"
