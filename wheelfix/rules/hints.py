"""Hints of findings: where a missing DLL could come from, and the commands that fix what was found."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import pip_packages, who_ships
from wheelfix.knowledge.system import classify
from wheelfix.model import Machine, canonical
from wheelfix.rules.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.rules.context import Subject


def repair_command(subject: Subject, options: str = "") -> str:
    """Return the command that repairs the wheel, or the installed package, in quotes; ``options`` are added to it."""
    target = f"--env PREFIX --package {quoted(subject.name)}" if subject.installed else ""
    return f"'{' '.join(filter(None, ('wheelfix repair', options, target)))}'"


def reinstall(subject: Subject, of_wheel: str) -> str:
    """Return the command that replaces an installed distribution; of a wheel ``of_wheel`` says what to do instead."""
    if not subject.installed:
        return of_wheel
    pinned = f"{subject.name}=={subject.distribution.version}" if subject.distribution.version else subject.name
    return f"'python -m pip install --force-reinstall --no-deps {quoted(pinned)}' with the environment's own Python"


def install(requirement: str) -> str:
    """Return the command that installs what an environment does not have, or has in another version."""
    return f"'python -m pip install {quoted(requirement)}' with the environment's own Python"


def drop_option(subject: Subject, paths: Iterable[str], glob: str = "") -> str:
    """Return the option that removes members; a ``glob`` stands for the names of all in a folder that it matches."""
    members = subject.origins(paths)
    globs = [
        posixpath.join(posixpath.dirname(member), glob)
        if glob and fnmatch.fnmatchcase(posixpath.basename(member).lower(), glob)
        else member
        for member in members
    ]
    return f'--drop "{",".join(dict.fromkeys(globs))}"'


def where_from(name: str, subject: Subject, options: str = "", deleted: str = "") -> str:
    """Return what to do about a DLL that is missing: who ships it and how to add it to the wheel.

    ``options`` are further options that the repair needs, ``deleted`` is where RECORD lists it.
    """
    if deleted:
        return (
            f"it was deleted after the wheel was built: {repair_command(subject, '--root ORIGINAL.whl')} takes it from "
            "the original wheel; or build the wheel again"
        )
    cuda = subject.cuda.text or None
    shippers = [item for item in who_ships(name, cuda=cuda, machine=subject.machine) if not item.startswith("PyPI: ")]
    if not may_be_vendored(name, subject.machine):
        return shippers[0] if shippers else f"no wheel may contain {name}"
    if classify(name, subject.machine).kind == "vcredist":
        options = f"{options} --with-vcredist".strip()
    steps = [f"it comes with {shippers[0]}"] if shippers else []
    steps.append(f"{repair_command(subject, f'{options} --root FOLDER'.strip())} with a folder that has it")
    if wheels := [item for item in pip_packages(name, cuda=cuda) if not _is_own(item, subject)]:
        download = f"pip download --no-deps --platform {subject.machine.platform} {quoted(wheels[0])}"
        repair = repair_command(subject, f"{options} --root FILE".strip())
        steps.append(f"or '{download}' and {repair} with that wheel")
    return "; ".join(steps)


def providers_of(name: str, subject: Subject) -> tuple[str, ...]:
    """Return who ships a DLL of that name, except the package that it is missing from."""
    found = who_ships(name, cuda=subject.cuda.text or None, machine=subject.machine)
    return tuple(item for item in found if not _is_own(item.removeprefix("PyPI: "), subject))


def _is_own(requirement: str, subject: Subject) -> bool:
    """Whether a requirement is the distribution that is looked at."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return name is not None and canonical(name[0]) == canonical(subject.name)


def may_be_vendored(name: str, machine: Machine) -> bool:
    """Whether a wheel may contain a DLL of that name: nothing of Windows or a driver, nor what its vendor forbids."""
    known = classify(name, machine)
    return (
        family_of(name).redistribute and not known.debug and known.kind in ("vendor", "unknown", "vcredist", "python")
    )
