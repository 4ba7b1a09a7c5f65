"""DLLs that came in parts from a server: each is trusted for itself, or its wheel is downloaded whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.errors import CannotRepair, NetworkFailure, shown_url
from wheelfix.knowledge.provider_index import known_sha256
from wheelfix.roots.fetched import trusted_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.plan.chosen import Chosen
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.lazy import LazyIndex
    from wheelfix.roots.root import Root, RootFile


def trust_fetched(chosen: Iterable[Chosen], roots: LazyIndex, path: str) -> dict[Root, str]:
    """Return why the bytes of each fetched wheel count; NetworkFailure or CannotRepair if they do not.

    The weakest reason of a wheel's DLLs is that of all: ``table``, then ``signature``, then ``wheel``.
    """
    fetched: dict[Root, dict[str, RootFile]] = {}
    for entry in chosen:
        if entry.file is not None and entry.file.root.remote is not None:
            fetched.setdefault(entry.file.root, {})[entry.file.path] = entry.file
    found = {}
    for root, files in fetched.items():
        index = roots.open()
        reasons = {trusted_by(one.package, index.sha256(one), index.signature(one)) for one in files.values()}
        if "" in reasons:
            _check_whole(root, files.values(), index, path)
            found[root] = "wheel"
        else:
            found[root] = "signature" if "signature" in reasons else "table"
    return found


def expect_fetched(chosen: Iterable[Chosen]) -> dict[Root, str]:
    """Return what is known about fetched wheels before their DLLs are downloaded: ``table`` or ``not-fetched``."""
    found: dict[Root, str] = {}
    for entry in chosen:
        if entry.file is not None and entry.file.root.remote is not None:
            known = found.get(entry.file.root) != "not-fetched" and expected_sha256(entry.file)
            found[entry.file.root] = "table" if known else "not-fetched"
    return found


def expected_sha256(file: RootFile) -> str:
    """Return the sha256 that the table has for a DLL of a wheel on the index; empty where it does not have it."""
    return known_sha256(file.root.remote.name, file.path) if file.root.remote is not None else ""


def still_to_fetch(chosen: Iterable[Chosen], roots: LazyIndex) -> list[str]:
    """Return how much a repair will download for a plan for which no DLL was downloaded."""
    files = {entry.file for entry in chosen if entry.file is not None and entry.file.root.remote is not None}
    packed = [found[1].csize for file in files if (found := roots.open().packed(file)) is not None]
    if not packed:
        return []
    size = f"{sum(packed) / 1e6:.1f} MB for {len(packed)} DLL{'s' if len(packed) > 1 else ''}"
    return [f"a repair fetches {size} from the package index, less what is in the cache"]


def _check_whole(root: Root, files: Iterable[RootFile], index: RootIndex, path: str) -> None:
    """Download the wheel, check its hash, and compare what came in parts with it."""
    assert root.remote is not None
    if not root.remote.sha256:
        raise CannotRepair(
            f"{path} cannot be repaired",
            because=f"{root.remote} has no sha256 on its index, and its DLLs are not known or signed by the vendor",
            hint="download the wheel, check it yourself, and name it with --root",
        )
    if root.remote.page:
        raise CannotRepair(
            f"{path} cannot be repaired",
            because=f"the sha256 of {root.remote} was read from {shown_url(root.remote.page)} over plain http, "
            "where anyone on the network can change it, and its DLLs are not known or signed by the vendor",
            hint="use https, or name the host in pip's trusted-host",
        )
    before = {one: index.sha256(one) for one in files}
    index.use_whole(root)
    for one, digest in before.items():
        if index.digest_again(one) != digest:
            raise NetworkFailure(
                f"{one.location} is not what was expected",
                because="the parts that the server sent differ from the whole wheel, which has the right hash",
                hint="nothing was written; use another index",
            )


def fetched_notes(chosen: Iterable[Chosen]) -> list[str]:
    """Return what the user should know about the wheels that DLLs were fetched from."""
    roots = dict.fromkeys(entry.file.root for entry in chosen if entry.file is not None)
    return [note for root in roots if root.remote is not None for note in root.notes]
