"""Which kinds of builds of torch PyTorch's own index has for Windows."""

from __future__ import annotations

import functools
import re

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, parse_toml, read_text

INDEX = "https://download.pytorch.org/whl"
FAMILY = ("torch", "torchvision", "torchaudio")
"""Distributions that the index has for each kind of build."""
_MINOR = re.compile(r"(?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,3})(?:\.[0-9]{1,3})?(?:\.post[0-9]{1,2})?")
_CUDA = re.compile(r"cu(?P<major>[0-9]{2})(?P<minor>[0-9])")

Release = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """Which torch is installed."""

    version: str
    """Without its label: ``2.4.0``."""
    label: str
    """``cu121``, ``cpu``, ``xpu``; empty for the build of PyPI, which is one for CPUs."""

    @classmethod
    def parse(cls, version: str) -> TorchBuild:
        """Read a version as the metadata has it: ``2.4.0+cu121``."""
        plain, _, label = version.partition("+")
        return cls(plain, label)

    @property
    def is_published(self) -> bool:
        """Whether an index is known to have it; builds with other labels were made elsewhere."""
        minor = _release(self.version)
        if minor is None:
            return False
        return self.label in ("", "cpu") or self.label in published_builds().get(minor, ())

    @property
    def index_option(self) -> str:
        """The option that names the index which has this kind of build; empty for PyPI's own."""
        return f" --index-url {INDEX}/{self.label}" if self.label else ""


def parse_builds(table: str, text: str) -> dict[Release, tuple[str, ...]]:
    """Turn the table's text into the labels of each minor version."""
    check = Checker(table)
    rows = check.rows(parse_toml(table, text), "build", ("torch", "labels"))
    check.unique("torch", (row["torch"] for row in rows))
    check.finish()
    found = {_release(row["torch"]): tuple(row["labels"]) for row in rows}
    return {release: labels for release, labels in found.items() if release is not None}


@functools.lru_cache(maxsize=1)
def published_builds() -> dict[Release, tuple[str, ...]]:
    """Return the labels that the index has for each minor version of torch."""
    return parse_builds("torch_builds.toml", read_text("torch_builds.toml"))


def parse_pairs(table: str, text: str) -> dict[str, dict[str, str]]:
    """Turn the table's text into the releases of torch's extensions, by release of torch."""
    check = Checker(table)
    rows = check.rows(parse_toml(table, text), "pair", FAMILY)
    check.unique("torch", (row["torch"] for row in rows))
    check.finish()
    return {row["torch"]: {name: row[name] for name in FAMILY} for row in rows}


@functools.lru_cache(maxsize=1)
def _pairs() -> dict[str, dict[str, str]]:
    return parse_pairs("torch_builds.toml", read_text("torch_builds.toml"))


def release_for(torch: str, distribution: str) -> str:
    """Return the release of one of torch's own extensions that belongs to a release of torch; empty if not known."""
    return _pairs().get(torch, {}).get(distribution, "")


def cuda_labels() -> tuple[str, ...]:
    """Return every label for CUDA, the oldest CUDA version first."""
    labels = {label for row in published_builds().values() for label in row if _CUDA.fullmatch(label)}
    return tuple(sorted(labels, key=cuda_release))


def cuda_release(label: str) -> Release:
    """Return the CUDA version of a label: ``cu121`` is 12.1."""
    found = _CUDA.fullmatch(label)
    assert found is not None, label
    return int(found["major"]), int(found["minor"])


def _release(version: str) -> Release | None:
    found = _MINOR.fullmatch(version)
    return (int(found["major"]), int(found["minor"])) if found else None
