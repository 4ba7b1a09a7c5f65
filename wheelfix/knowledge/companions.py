"""What DLLs need that no import table shows: what they load by name, the C++ runtime, programs that users install."""

from __future__ import annotations

import fnmatch
import functools
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from wheelfix.base.parsing import as_specifiers, as_version
from wheelfix.base.values import frozen
from wheelfix.knowledge.cuda import cuda_versions_for, expected_name, release
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.tables import Checker, NamePattern, entries, table
from wheelfix.model import Severity, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.version import Version


@frozen
class CompanionRule:
    """One entry of ``companions.toml``: what every parent that matches the pattern asks for."""

    parent: NamePattern
    strength: str
    """``required``, ``expected``, ``beside`` or ``optional``."""
    because: str
    without: str
    source: str
    each: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    versions: str = ""
    """Of the parent, if the rule is about some only: ``>=8.3``."""
    builtins: bool = False
    """The names are those of NVRTC's built-ins in the toolkits that have the parent."""


@frozen
class CompanionNeed:
    """Something that a DLL will look for by name."""

    names: tuple[str, ...]
    """Any of them meets the need; the best first. Empty for ``beside`` needs, which are globs only."""
    strength: str
    because: str
    without: str
    """What happens without it."""
    source: str
    globs: tuple[str, ...] = ()
    """Folded globs of further names that meet the need, or of files that are vendored too."""

    @property
    def required(self) -> bool:
        """Whether what the parent is for fails without it."""
        return self.strength == "required"

    @property
    def severity(self) -> Severity | None:
        """How much its absence matters; None when it says nothing."""
        grades = {"required": Severity.ERROR, "expected": Severity.WARNING, "optional": Severity.INFO}
        return grades.get(self.strength)

    @property
    def vendored_by_default(self) -> bool:
        """Whether ``--companions required`` brings it along: everything but what the parent merely looks for."""
        return self.strength != "optional"

    @property
    def name(self) -> str:
        """The name to show: the best one, or the glob."""
        return self.names[0] if self.names else self.globs[0]

    def matches(self, name: str) -> bool:
        """Whether a file of that name meets the need."""
        key = dll_key(name)
        return any(dll_key(own) == key for own in self.names) or any(
            fnmatch.fnmatchcase(key, glob) for glob in self.globs
        )

    def met_by(self, present: Iterable[str]) -> str | None:
        """Return the best of the names that are there, or None."""
        by_key = {dll_key(name): name for name in present}
        for name in self.names:
            if dll_key(name) in by_key:
                return by_key[dll_key(name)]
        return next((by_key[key] for key in sorted(by_key) if self.matches(key)), None)


@table("companions.toml")
def companion_rules(check: Checker) -> tuple[CompanionRule, ...]:
    """Return every rule, in the order of the table."""
    return check.values("companion", CompanionRule)


@functools.lru_cache(maxsize=2048)
def companions_of(name: str, *, cuda: str | None = None, version: str | None = None) -> tuple[CompanionNeed, ...]:
    """Return what a DLL of that name will look for at run time, in the order of the table.

    ``cuda`` is the toolkit the wheel is for, which decides the order of NVRTC's built-ins; ``version`` the file version
    of the DLL itself, where it was read.
    """
    return tuple(need for rule in companion_rules() for need in _needs(rule, dll_key(name), cuda, version))


def depends_on_version(name: str) -> bool:
    """Whether what a DLL of that name looks for depends on its release, so that reading its version is worthwhile."""
    key = dll_key(name)
    return any(rule.versions and rule.parent.fullmatch(key) for rule in companion_rules())


def _needs(rule: CompanionRule, key: str, cuda: str | None, version: str | None) -> Iterator[CompanionNeed]:
    match = rule.parent.fullmatch(key)
    strength = _strength(rule, key, version) if match else None
    if not match or not strength:
        return
    groups = match.groupdict()

    def fill(templates: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(template.format(**groups) for template in templates)

    globs = fill(rule.globs)
    choices: list[tuple[str, ...]] = [(name,) for name in fill(rule.each)]
    if rule.any_of:
        choices.append(fill(rule.any_of))
    if rule.builtins:
        choices.append(_builtins(key, cuda))
    for names in choices or [()]:
        shown = {**groups, "name": names[0] if names else globs[0]}
        without = rule.without.format(**shown)
        yield CompanionNeed(names, strength, rule.because, without, rule.source, globs)


def _strength(rule: CompanionRule, key: str, version: str | None) -> str | None:
    """Return the rule's strength for that release of the parent; None when it is not about it."""
    if not rule.versions:
        return rule.strength
    known = _release(key, version)
    if known is None:
        return "expected" if rule.strength == "required" else rule.strength
    return rule.strength if as_specifiers(rule.versions).contains(known, prereleases=True) else None


def _release(key: str, version: str | None) -> Version | None:
    """Return the version if it can be the release: some NVIDIA DLLs carry a driver-like number such as 6.14.11.8020."""
    if not version:
        return None
    try:
        known = as_version(version)
    except ValueError:  # InvalidVersion, or a number with more digits than Python reads
        return None
    major = family_of(key).major(key)
    if major is not None and known.major != major:
        return None
    return known


def _builtins(nvrtc: str, cuda: str | None) -> tuple[str, ...]:
    """Return the built-ins of the toolkits that have this NVRTC: the wheel's own first, then the newest."""
    toolkits = sorted(cuda_versions_for(nvrtc), key=release, reverse=True)
    if cuda and (own := "{}.{}".format(*release(cuda))) in toolkits:
        toolkits = [own, *(toolkit for toolkit in toolkits if toolkit != own)]
    names = (expected_name("nvrtc-builtins", toolkit) for toolkit in toolkits)
    return tuple(name for name in names if name)


def needs_in_practice(importer: str, imported: str) -> CompanionNeed | None:
    """Return the need that makes a delay import required in practice, or None for one that may stay unmet."""
    needs = companions_of(importer)
    return next((need for need in needs if need.required and need.matches(imported)), None)


RUNTIME_NEEDS = "runtime_needs.txt"


@table(RUNTIME_NEEDS)
def runtime_needs(check: Checker) -> Mapping[tuple[str, str], str]:
    """Return the runtime for a package and the name of a module or DLL in it, both in lower case.

    Names that one package alone has are there without the package as well.
    """
    rows = [line.split() for line in entries(check.text)]
    alone = {("", name): runtime for _, name, runtime, *flags in rows if flags}
    return alone | {(package, name): runtime for package, name, runtime, *_ in rows}


def runtime_need(package: str, name: str) -> str:
    """Return the runtime that a module or DLL of a package needs: ``140``, ``120``, ``100``; empty where not known.

    The name is that of an error text: a module with or without its packages, or the name of a DLL.
    """
    leaf = name.lower() if PureWindowsPath(name).suffix.lower() == ".dll" else name.lower().rpartition(".")[2]
    return runtime_needs().get((package.lower(), leaf), "")


@frozen
class Program:
    """A program that is not a distribution, and whose DLLs packages use."""

    name: str
    pattern: NamePattern
    words: tuple[str, ...] = ()
    """Environment variables that it sets: code that has one of them looks for the program."""
    feature: bool = False
    """Whether it is a part of Windows that users turn on."""


@table("userprograms.toml")
def programs(check: Checker) -> tuple[Program, ...]:
    """Return every entry, in the order of the table."""
    return check.values("program", Program)


def program_of(name: str) -> Program | None:
    """Return the program that has a DLL of that name, or None."""
    key = dll_key(name)
    return next((program for program in programs() if program.pattern.fullmatch(key)), None)
