"""The roots that the options ask for, gathered into one index of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.options import as_paths
from wheelfix.roots.discover import discover, search_path_roots
from wheelfix.roots.host import this_machine
from wheelfix.roots.index import RootIndex
from wheelfix.roots.named import named_root, named_roots

if TYPE_CHECKING:
    from wheelfix.options import RootOptions
    from wheelfix.roots.host import Host
    from wheelfix.roots.root import Root


def open_index(options: RootOptions, host: Host | None = None) -> RootIndex:
    """The index of everything that may be vendored; nothing is read before a name is asked for."""
    return RootIndex(gather_roots(options, host or this_machine()), options.trusted_roots, options.limits)


def gather_roots(options: RootOptions, host: Host) -> tuple[Root, ...]:
    """Named roots first, then discovered ones, then PATH if asked for."""
    limits = options.limits
    named = [root for path in as_paths(options.roots) for root in named_roots(path, host, limits=limits)]
    for kind in ("cuda", "cudnn", "oneapi", "conda"):
        folders = as_paths(getattr(options, kind))
        named += [named_root(path, host, kind=kind, option=f"--{kind}", limits=limits) for path in folders]
    discovered = discover(host) if options.discover else ()
    path = search_path_roots(host) if options.search_path else ()
    return (*named, *discovered, *path)
