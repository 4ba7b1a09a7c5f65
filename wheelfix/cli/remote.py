"""The options about wheels that are not on this disk, and what is said about the bytes that were read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.options import PLATFORMS, RemoteOptions
from wheelfix.cli.parser import only_typed
from wheelfix.cli.say import say
from wheelfix.report.words import human_size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from wheelfix.cli.parser import Parser
    from wheelfix.remote.client import Client
    from wheelfix.remote.ranges import WheelPath


def add_remote_options(parser: Parser) -> argparse._ArgumentGroup:
    """Add the options that say which wheels are meant by names, and from where they come."""
    group = parser.add_argument_group("wheels that are not on this disk")
    only_typed(group.add_argument(
        "--index-url", metavar="URL", default="",
        help="the package index to ask (default: as pip or uv is configured, else PyPI)",
    ))  # fmt: skip
    only_typed(group.add_argument(
        "--extra-index-url", metavar="URL", action="append", default=[], help="ask this index too; repeatable"
    ))  # fmt: skip
    group.add_argument(
        "--platform", choices=PLATFORMS, default=PLATFORMS[0],
        help=f"take wheels for {', '.join(PLATFORMS)} (default {PLATFORMS[0]}), and examine wheels without "
        "a platform in their name for it",
    )  # fmt: skip
    group.add_argument(
        "--python-version", metavar="X.Y", default="",
        help="take wheels for this Python (default: this one, else the newest that has a wheel)",
    )  # fmt: skip
    group.add_argument("--offline", action="store_true", help="refuse everything that needs a server")
    group.add_argument(
        "--cache-dir", metavar="DIR", type=Path,
        help="keep what was fetched here; `wheelfix cache info` names the default",
    )  # fmt: skip
    group.add_argument("--no-cache", action="store_true", help="do not keep what was fetched after the run")
    return group


def add_fetch_option(group: argparse._ArgumentGroup, what: str) -> None:
    """Add ``--fetch``."""
    only_typed(group.add_argument("--fetch", action="store_true", help=what))


def remote_options(args: argparse.Namespace) -> RemoteOptions:
    """Return how to reach wheels on servers, as the command line says."""
    options = RemoteOptions(
        index_url=args.index_url,
        extra_index_urls=tuple(args.extra_index_url),
        offline=args.offline,
        fetch=getattr(args, "fetch", False),
        deps=getattr(args, "deps", False),
        platform=args.platform,
        python_version=args.python_version,
        cache_dir=args.cache_dir,
        cache=not args.no_cache,
    )

    _ = options.target  # a slip is said once, before anything is asked
    return options


def open_client(args: argparse.Namespace) -> Client:
    """Return what reads wheels from servers; nothing is asked before there is something to read."""
    from wheelfix.remote.client import Client

    return Client(remote_options(args), say=lambda text: say(f"wheelfix: {text}"))


def say_bytes(paths: Iterable[WheelPath], args: argparse.Namespace) -> None:
    """Say how many bytes were read of wheels on servers."""
    for path in paths:
        if not isinstance(path, Path) and path.size and not args.quiet:
            share = 100 * path.fetched / path.size
            of = f"{human_size(path.fetched)} of {human_size(path.size)} ({share:.1f} %)"
            say(f"wheelfix: {path.name}: read {of} from the server")
