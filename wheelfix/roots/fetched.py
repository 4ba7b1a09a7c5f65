"""Wheels on the package index as roots: which distribution and release could give a DLL that no root has.

The provider index says who ships a name and in which versions; the package index, whether there is such a wheel. One
release is offered at a time, the best first, so that no bytes are fetched of wheels that are not needed. The choice
among files is the same as for all roots.
"""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.base.options import InstallTarget, Limits
from wheelfix.base.parsing import as_requirement
from wheelfix.errors import InputError
from wheelfix.model import PLATFORM_MACHINES, Machine, canonical, dll_key
from wheelfix.remote.packageindex import choose_file
from wheelfix.roots.release import LEARNED, cuda_of_package, member_folders, ranked_releases, unfulfilled
from wheelfix.roots.root import Required, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wheelfix.remote.client import Client


MOST_RELEASES = 4
"""Releases that are looked at for one DLL before it counts as not to be had."""


class Fetcher:
    """Finds roots on the package index; a release is offered once."""

    def __init__(self, client: Client, limits: Limits | None) -> None:
        self._client, self._limits = client, limits
        self._trusted = frozenset(map(canonical, client.options.trusted))
        self._lock = threading.Lock()
        self._offers: dict[tuple[str, str, Required], Iterator[Root]] = {}
        """What is left to offer, by DLL, platform and what is required of it."""
        self._roots: dict[tuple[str, str, str], Root | None] = {}

    def offer(self, name: str, cuda: str, machine: Machine, releases: Iterable[str], required: Required) -> Root | None:
        """Return the next best wheel that ships a DLL of a name, or None when there are no more.

        ``cuda`` is the CUDA release of the wheel that needs it, ``releases`` are those of the toolkit that fit it,
        ``required`` is what other wheels that DLLs are taken from require.
        """
        if machine not in PLATFORM_MACHINES.values():
            return None
        platform = machine.platform
        key = dll_key(name), platform, required
        with self._lock:
            if key not in self._offers:
                ranked = ranked_releases(name, cuda, tuple(releases), self._trusted)
                ranked = [one for one in ranked if not unfulfilled(*one, required)]
                roots = filter(None, (self._root(*one, platform) for one in ranked))
                notes = ambiguity(name, cuda, ranked)
                self._offers[key] = (root.with_notes(*notes) for root in itertools.islice(roots, MOST_RELEASES))
            return next(self._offers[key], None)

    def _root(self, distribution: str, version: str, platform: str) -> Root | None:
        """Return the root that a release is; None where the index has no such wheel."""
        key = (distribution, version, platform)
        if key not in self._roots:
            self._roots[key] = self._found(distribution, version, platform)
        return self._roots[key]

    def _found(self, distribution: str, version: str, platform: str) -> Root | None:
        client = self._client
        wanted = as_requirement(f"{distribution}=={version}")
        try:
            file = choose_file(client.index.files(distribution), wanted, InstallTarget(platform), "")
        except InputError:
            return None
        wheel = client.wheel_of(file)
        with Archive.open(wheel, self._limits) as archive:
            members = [member.name for member in archive.members if not member.is_dir]
            metadata = WheelInfo.from_archive(archive).metadata
        return Root(
            "wheel",
            wheel if isinstance(wheel, Path) else Path(wheel.name),
            version,
            learned=LEARNED,
            folders=member_folders(members, distribution, version),
            last_resort=True,
            notes=(f"licence of {distribution} {version}: {licence_in(metadata.headers)}", *client.said),
            requires=metadata.requires_dist,
            remote=None if isinstance(wheel, Path) else wheel,
        )


def ambiguity(name: str, cuda: str, ranked: list[tuple[str, str]]) -> list[str]:
    """Return what to say where nothing shows the CUDA release of a wheel, and there is a DLL for several of them."""
    majors = dict.fromkeys(cuda_of_package(*release).partition(".")[0] for release in ranked)
    if cuda or len(majors) < 2:
        return []
    found = ", ".join(f"CUDA {major}" for major in sorted(filter(None, majors)))
    hint = "name the right wheel with --root if this is another"
    return [f"nothing shows which CUDA release the wheel is for, and {name} is there for {found}: {hint}"]


def licence_in(headers: Mapping[str, Sequence[str]]) -> str:
    """Return what METADATA says about the licence, in few words."""
    said = [*headers.get("license-expression", ()), *headers.get("license", ())]
    said += [one.rpartition("::")[2].strip() for one in headers.get("classifier", ()) if one.startswith("License ::")]
    return (said or ["not stated"])[0].partition("\n")[0][:100] or "not stated"
