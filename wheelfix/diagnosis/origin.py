"""DLLs in an environment that no RECORD lists, or without the signature that their vendor gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import Image
from wheelfix.pe.signature import read_signature

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.knowledge.families import FamilyMember
    from wheelfix.loader.places import Environment

_MOST = 20
# Vendors who sign every release of these; CUDA's own DLLs before 13 are often unsigned, so they prove nothing.
_SIGNED = {
    "mkl": "Intel",
    "openmp-intel": "Intel",
    "tbb": "Intel",
    "cudnn": "NVIDIA",
}
# conda-forge rebuilds these itself and signs nothing.
_REBUILT = frozenset({"openmp-intel", "tbb"})


def doubtful_dlls(environment: Environment, trusted_roots: Path | None = None) -> tuple[str, ...]:
    """Return a warning for each vendor DLL of unknown origin and each one without its vendor's signature."""
    owned = {path for distribution in environment.distributions for path in distribution.paths}
    strangers, unsigned = [], []
    for file in environment.view.files:
        name = base_name(file.path)
        member = family_of(name) if name.lower().endswith(".dll") else None
        if member is None or not file.path.startswith(SITE_PACKAGES + "/"):
            continue
        if environment.distributions and file.path not in owned:
            strangers.append((file.path, member))
        elif _without_signature(environment, file.path, member):
            unsigned.append((file.path, member))
    warnings = [_stranger(environment, path, trusted_roots) for path, _ in strangers[:_MOST]]
    warnings += [
        f"{_where(path)} is not signed, although {_SIGNED[member.family.id]} signs its releases."
        for path, member in unsigned[:_MOST]
    ]
    return tuple(warnings)


def _without_signature(environment: Environment, path: str, member: FamilyMember) -> bool:
    if member.family.id not in _SIGNED or (member.family.id == "cudnn" and (member.major or 0) < 9):
        return False
    if member.family.id in _REBUILT and "/Library/" in f"/{path}":
        return False
    facts = environment.view.image(path)
    return isinstance(facts, Image) and not facts.signed


def _stranger(environment: Environment, path: str, trusted_roots: Path | None) -> str:
    """A file that belongs to no package: its signature is the only evidence of where it is from."""
    signature = read_signature(environment.view.source(path), trusted_roots)
    signed = "it is not signed" if signature.status == "unsigned" else f"signature {signature}"
    return f"{_where(path)} does not belong to any installed package: it was put there by hand; {signed}."


def _where(path: str) -> str:
    return f"{base_name(path)} in {parent(path).removeprefix(SITE_PACKAGES + '/')}"
