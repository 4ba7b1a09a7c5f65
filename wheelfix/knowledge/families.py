"""Vendors' DLLs by their names: which family, which release, what has to be vendored too, what may be redistributed."""

from __future__ import annotations

import fnmatch
import functools

from wheelfix.base.parsing import dotted_numbers, regex
from wheelfix.base.values import frozen
from wheelfix.knowledge.tables import Checker, NamePattern, table
from wheelfix.model import canonical, dll_key

# delvewheel puts 32 hexadecimal digits before the first dot: msvcp140-0f2ea95580b32bcfc81c235d5751ce78.dll
_MANGLED = regex(r"-[0-9a-f]{32}(?=\.)")


@frozen
class Family:
    """DLLs of one vendor that belong together."""

    id: str
    group: str
    """Families of one group are alternatives or parts of one thing: ``openmp``, ``cuda``, ``mkl``, …"""
    title: str
    vendor: str
    pattern: NamePattern
    together: tuple[str, ...] = ()
    """Globs, with ``{version}`` to be filled in, of files that must not be mixed from several folders."""
    redistribute: bool = True
    """Whether a wheel may carry it."""
    note: str = ""


@frozen
class FamilyMember:
    """A DLL name recognised as part of a family."""

    name: str
    """As spelled."""
    family: Family
    version: str
    """What the name says about the release: ``8`` for cudnn64_8.dll, ``2022.2.1`` for CUPTI; may be empty."""

    @property
    def major(self) -> int | None:
        """The first number of the version, or None."""
        return next(iter(dotted_numbers(self.version)), None)

    def together(self) -> tuple[str, ...]:
        """Return folded globs of the files that, where used, must come from the same folder as this one."""
        return tuple(glob.replace("{version}", self.version) for glob in self.family.together)

    def belongs_with(self, name: str) -> bool:
        """Whether another file of that name must come from the same folder as this one."""
        key = dll_key(name)
        return key != dll_key(self.name) and any(fnmatch.fnmatchcase(key, glob) for glob in self.together())


@table("families.toml")
def families(check: Checker) -> tuple[Family, ...]:
    """Return every family, in the order of the table."""
    return check.values("family", Family)


def demangle(name: str) -> str:
    """Return the name without the hash that delvewheel puts into it."""
    return _MANGLED.sub("", name, count=1)


def is_mangled(name: str) -> bool:
    """Whether delvewheel gave a DLL this name: only the wheel that it is in has it."""
    key = dll_key(name)
    return demangle(key) != key


@functools.lru_cache(maxsize=4096)
def family_of(name: str) -> FamilyMember | None:
    """Return the family that a DLL name belongs to, or None for an unknown name."""
    key = dll_key(name)
    plain = demangle(key)
    for family in families():
        if match := family.pattern.fullmatch(plain):
            return FamilyMember(name, family, match.groupdict().get("version") or "")
    return None


def family_group(name: str) -> str:
    """Return the group of the family that a DLL name belongs to; empty for an unknown name."""
    member = family_of(name)
    return member.family.group if member is not None else ""


def is_test_artifact(name: str) -> bool:
    """Whether the DLL is one that only ``BUILD_TEST=1`` makes."""
    return family_group(name) == "torch-tests"


def is_openmp(name: str) -> bool:
    """Whether the DLL is an OpenMP runtime that clashes with another one in the same process.

    Stubs and the offload libraries of Intel's family start no threads of their own.
    """
    own = ("libiompstubs", "libomptarget", "omptarget")
    return family_group(name) == "openmp" and not demangle(dll_key(name)).startswith(own)


def is_of_nvidia(name: str) -> bool:
    """Whether NVIDIA makes a DLL of that name: the tables of CUDA's releases and libraries know no others."""
    member = family_of(name)
    return member is not None and member.family.vendor == "NVIDIA"


def is_released_whole(name: str, distribution: str) -> bool:
    """Whether a DLL's release must be that of its family's other files, which only version resources tell.

    NVIDIA's own wheels of cuDNN are not asked: their files are of one release, and reading it from each would mean to
    inflate a gigabyte.
    """
    member = family_of(name)
    family = member.family.id if member is not None else ""
    return family == "mkl" or (family == "cudnn" and not canonical(distribution).startswith("nvidia-cudnn"))
