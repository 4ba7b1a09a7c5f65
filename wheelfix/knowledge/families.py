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

    def __bool__(self) -> bool:
        return bool(self.id)

    def version(self, name: str) -> str:
        """Return what a name says about the release: ``8`` for cudnn64_8.dll, ``2022.2.1`` for CUPTI; may be empty."""
        match = self.pattern.fullmatch(demangle(dll_key(name)))
        return (match.groupdict().get("version") if match else "") or ""

    def major(self, name: str) -> int | None:
        """Return the first number of that version, or None."""
        return next(iter(dotted_numbers(self.version(name))), None)

    def belong_together(self, name: str, other: str) -> bool:
        """Whether a second file must, where it is used, come from the same folder as one of the family."""
        key = dll_key(other)
        globs = (glob.replace("{version}", self.version(name)) for glob in self.together)
        return key != dll_key(name) and any(fnmatch.fnmatchcase(key, glob) for glob in globs)


UNKNOWN = Family("", "", "", "", NamePattern(""))
"""That of all DLLs of which no vendor is known; it is false."""


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
def family_of(name: str) -> Family:
    """Return the family that a DLL name belongs to."""
    plain = demangle(dll_key(name))
    return next((family for family in families() if family.pattern.fullmatch(plain)), UNKNOWN)


def is_test_artifact(name: str) -> bool:
    """Whether the DLL is one that only ``BUILD_TEST=1`` makes."""
    return family_of(name).group == "torch-tests"


def is_openmp(name: str) -> bool:
    """Whether the DLL is an OpenMP runtime that clashes with another one in the same process.

    Stubs and the offload libraries of Intel's family start no threads of their own.
    """
    own = ("libiompstubs", "libomptarget", "omptarget")
    return family_of(name).group == "openmp" and not demangle(dll_key(name)).startswith(own)


def is_of_nvidia(name: str) -> bool:
    """Whether NVIDIA makes a DLL of that name: the tables of CUDA's releases and libraries know no others."""
    return family_of(name).vendor == "NVIDIA"


def is_released_whole(name: str, distribution: str) -> bool:
    """Whether a DLL's release must be that of its family's other files, which only version resources tell.

    NVIDIA's own wheels of cuDNN are not asked: their files are of one release, and reading it from each would mean to
    inflate a gigabyte.
    """
    family = family_of(name).id
    return family == "mkl" or (family == "cudnn" and not canonical(distribution).startswith("nvidia-cudnn"))
