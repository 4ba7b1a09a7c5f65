"""Where a missing DLL could come from, and the command that brings it in, as the last line of a finding."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import pip_packages, who_ships
from wheelfix.knowledge.system import classify
from wheelfix.model import Machine, canonical

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject

_ROOTS = {
    "cuda": "--cuda FOLDER",
    "cudnn": "--cudnn FOLDER",
    "mkl": "--oneapi FOLDER",
    "openmp": "--oneapi FOLDER",
    "tbb": "--oneapi FOLDER",
}
"""The option of ``wheelfix repair`` that names the root of a group of families."""


_PLATFORMS = {Machine.X86: "win32", Machine.ARM64: "win_arm64"}


def where_from(name: str, subject: Subject) -> str:
    """Return what to do about a DLL that is missing: who ships it and how to bring it in."""
    cuda = subject.cuda.text or None
    shippers = [item for item in who_ships(name, cuda=cuda, machine=subject.machine) if not item.startswith("PyPI: ")]
    if not _may_be_vendored(name, subject):
        return shippers[0] if shippers else f"no wheel may carry {name}"
    steps = [f"it comes with {shippers[0]}"] if shippers else []
    steps.append(f"'wheelfix repair {_root(name)}' with a folder that has it")
    if wheels := [item for item in pip_packages(name, cuda=cuda) if not _is_own(item, subject)]:
        platform = _PLATFORMS.get(subject.machine, "win_amd64")
        download = f"pip download --no-deps --platform {platform} {_quoted(wheels[0])}"
        steps.append(f"or '{download}' and 'wheelfix repair --root FILE' with that wheel")
    return "; ".join(steps)


def providers_of(name: str, subject: Subject) -> tuple[str, ...]:
    """Return who ships a DLL of that name, except the package that it is missing from."""
    found = who_ships(name, cuda=subject.cuda.text or None, machine=subject.machine)
    return tuple(item for item in found if not _is_own(item.removeprefix("PyPI: "), subject))


def _is_own(requirement: str, subject: Subject) -> bool:
    """Whether a requirement is the distribution that is looked at."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return name is not None and subject.wheel is not None and canonical(name[0]) == canonical(subject.wheel.name)


def _root(name: str) -> str:
    member = family_of(name)
    return _ROOTS.get(member.family.group, "--root FOLDER") if member is not None else "--root FOLDER"


def _quoted(requirement: str) -> str:
    return f'"{requirement}"' if any(sign in requirement for sign in "<>=!~") else requirement


def _may_be_vendored(name: str, subject: Subject) -> bool:
    member, known = family_of(name), classify(name, subject.machine)
    if member is not None and not member.family.redistribute:
        return False
    return not known.debug and known.kind in ("vendor", "unknown", "vcredist", "python")
