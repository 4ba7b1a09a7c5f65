"""``wheelfix cache``: what was fetched from servers and is kept, and how to get rid of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from wheelfix.base.values import as_tree
from wheelfix.errors import Exit
from wheelfix.remote.cache import Cache
from wheelfix.report.document import human_size
from wheelfix.report.json_ import dump

if TYPE_CHECKING:
    import argparse


def execute(args: argparse.Namespace) -> int:
    """Show or remove what is kept."""
    cache = Cache(args.cache_dir)
    freed = cache.clear() if args.action == "clear" else 0
    info = cache.info()
    if args.format == "json":
        sys.stdout.write(dump({**as_tree(info), "folder": str(info.folder), "freed": freed}))
    elif args.action == "clear":
        sys.stdout.write(f"removed {human_size(freed)} from {info.folder}\n")
    else:
        sys.stdout.write(f"folder  {info.folder}\n")
        sys.stdout.write(f"size    {human_size(info.size)} of at most {human_size(info.limit)}\n")
        sys.stdout.write(f"holds   parts of {info.files} files, {info.wheels} whole wheels\n")
    return Exit.OK
