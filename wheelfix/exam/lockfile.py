"""Which distributions a lock file names: pylock.toml (PEP 751), uv.lock, requirements.txt."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import load_toml
from wheelfix.errors import InputError
from wheelfix.exam.locked import LockedSet, LockParts, check_parts, one_of_each
from wheelfix.exam.pylock import read_pylock
from wheelfix.exam.requirementsfile import read_requirements
from wheelfix.exam.uvlock import read_uv_lock

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from wheelfix.loader.profile import Profile

MOST = 16 << 20
"""Bytes of a lock file."""
_HINT = "give a pylock.toml, a uv.lock or a requirements.txt"
_OTHERS = {
    "poetry.lock": "let Poetry export it as requirements.txt, which needs its plugin poetry-plugin-export",
    "pdm.lock": "let PDM export it as requirements.txt or pylock.toml",
    "pipfile.lock": "let Pipenv print it as requirements.txt",
    "conda-lock.yml": "scan the conda environment itself",
    "environment.yml": "scan the conda environment itself",
    "pyproject.toml": "make a lock file of it, with uv or pip",
}
"""Files of other tools that people take for one that is read here, with what helps."""


def read_lockfile(path: Path, profile: Profile, parts: LockParts | None = None) -> LockedSet:
    """Return what is installed on the target according to a lock file, in its order, none twice."""
    hint = _OTHERS.get(path.name.lower())
    if hint is not None:
        raise InputError(str(path), because="it is not a lock file that wheelfix reads", hint=hint)
    text = read_text(path)
    chosen = parts or LockParts()
    if path.suffix.lower() not in (".toml", ".lock"):
        check_parts(path, chosen.extras, (), "--extra")
        check_parts(path, chosen.groups or (), (), "--group")
        return read_requirements(path, text, profile, read_text)
    tree = _tree(path, text)
    if path.suffix.lower() == ".toml":
        found = read_pylock(path, tree, profile, chosen)
    else:
        found = read_uv_lock(path, tree, profile, chosen)
    return LockedSet(one_of_each(found.members))


def read_text(path: Path) -> str:
    """Return the text of a lock file: UTF-8, or UTF-16 with a byte order mark, as PowerShell's ``>`` writes it."""
    try:
        data = read_file(path, MOST)
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return data.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(str(path), because=f"it cannot be read: {exc}", hint=_HINT) from exc


def _tree(path: Path, text: str) -> dict[str, Any]:
    try:
        return load_toml(text)
    except (ValueError, RecursionError) as exc:
        raise InputError(str(path), because=f"it is not valid TOML: {exc}", hint=_HINT) from exc
