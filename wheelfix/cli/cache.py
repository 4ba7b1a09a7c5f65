"""``wheelfix cache``: what was fetched from servers and is kept, and how to get rid of it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from wheelfix.cli.commands import add_path
from wheelfix.cli.common import add_command
from wheelfix.errors import Exit
from wheelfix.report.words import human_size

if TYPE_CHECKING:
    import argparse

    from wheelfix.cli.commands import Subparsers

EXAMPLES = """\
  wheelfix cache info
  wheelfix cache clear
  WHEELFIX_CACHE_SIZE=1G wheelfix scan torch==2.7.1   keep less (default 5G)
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "cache",
        "Show or remove what was fetched from servers: parts of wheels, and whole wheels. What was\n"
        "not used for the longest time is removed when WHEELFIX_CACHE_SIZE is exceeded.",
        EXAMPLES,
    )
    parser.add_argument("action", choices=("info", "clear"), help="show what there is, or remove all of it")
    add_path(parser, "--cache-dir", "DIR", "the folder, if it is not the usual one")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text, json (default text)")


def execute(args: argparse.Namespace) -> int:
    """Show or remove what is kept."""
    from wheelfix.remote.cache import Cache

    cache = Cache(args.cache_dir)
    freed = cache.clear() if args.action == "clear" else 0
    info = cache.info()
    if args.format == "json":
        document = {
            "folder": str(info.folder),
            "limit": info.limit,
            "wheels": info.wheels,
            "files": info.files,
            "size": info.size,
            "freed": freed,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    elif args.action == "clear":
        sys.stdout.write(f"removed {human_size(freed)} from {info.folder}\n")
    else:
        sys.stdout.write(f"folder  {info.folder}\n")
        sys.stdout.write(f"size    {human_size(info.size)} of at most {human_size(info.limit)}\n")
        sys.stdout.write(f"holds   parts of {info.files} files, {info.wheels} whole wheels\n")
    return Exit.OK
