"""``wheelfix roots``: where DLLs could come from on this machine, and why each place counts."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from wheelfix.cli.common import root_options, style_of, write_result
from wheelfix.errors import Exit
from wheelfix.report.json_ import dump
from wheelfix.report.repairs import render_roots, roots_value
from wheelfix.roots.gather import explore
from wheelfix.roots.host import this_machine
from wheelfix.roots.index import open_index
from wheelfix.roots.release import shown_version

if TYPE_CHECKING:
    import argparse

    from wheelfix.model import Json
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import RootFile


def execute(args: argparse.Namespace) -> int:
    """List the roots."""
    host = this_machine()
    options = root_options(args)
    remarks = explore(host)[1] if options.discover else ()
    with open_index(options, host=host) as index:
        matches = [file for file in index.files() if any(_matches(file.name, text) for text in args.names)]
        if args.format == "json":
            document = roots_value(index, remarks)
            if args.names:
                document["matches"] = [_match(file, index) for file in matches]
            write_result(dump(document), args.output)
            return Exit.OK
        found = [(file.location, shown_version(file, index), file.origin) for file in matches]
        asked = {", ".join(args.names): found} if args.names else {}
        text = render_roots(index, remarks, asked, style_of(args), verbose=args.verbose, quiet=args.quiet)
        write_result(text, args.output)
    return Exit.OK


def _match(file: RootFile, index: RootIndex) -> dict[str, Json]:
    return {
        "name": file.name,
        "path": file.location,
        "root": str(file.root.path),
        "version": shown_version(file, index),
        "origin": file.origin,
        "size": file.size,
    }


def _matches(name: str, pattern: str) -> bool:
    pattern = pattern.lower() if "." in pattern or "*" in pattern else f"{pattern.lower()}.dll"
    return fnmatch.fnmatchcase(name.lower(), pattern)
