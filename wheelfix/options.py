"""What the user may choose, as values that the verbs take; the command line and the configuration fill them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Limits

if TYPE_CHECKING:
    from pathlib import Path


def all_cores() -> int:
    """How many threads work side by side when nobody says otherwise."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class RootOptions:
    """Where DLLs may come from."""

    roots: tuple[Path, ...] = ()
    cuda: tuple[Path, ...] = ()
    cudnn: tuple[Path, ...] = ()
    oneapi: tuple[Path, ...] = ()
    conda: tuple[Path, ...] = ()
    discover: bool = True
    """Also look where vendors install by default and where environment variables point."""
    search_path: bool = False
    """Also search the folders on PATH."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How to look at a wheel."""

    assume: tuple[str, ...] = ()
    no_assume: tuple[str, ...] = ()
    python: Path | None = None
    """An environment to resolve against."""
    packages: tuple[str, ...] = ()
    """For environments: only these distributions."""
    select: tuple[str, ...] = ()
    """Codes or prefixes of codes to report; empty means all."""
    ignore: tuple[str, ...] = ()
    verify: bool = False
    """Check RECORD's hashes, which takes every byte."""
    jobs: int = field(default_factory=all_cores)
    gpu: str | None = None
    """A card or architecture to look for code for."""
    archs: bool = False
    """Read which GPU code the DLLs hold."""
    versions: bool = False
    """Read version resources of every image, not only where a rule asks."""
    signatures: bool = False
    """Check who signed the images."""
    roots: RootOptions = field(default_factory=RootOptions)
    limits: Limits = field(default_factory=Limits)
