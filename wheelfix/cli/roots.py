"""``wheelfix roots``: where DLLs could come from on this machine, and why each place counts."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from wheelfix.cli.common import root_options, style_of, write_result
from wheelfix.errors import Exit
from wheelfix.report.repairs import render_roots, roots_json
from wheelfix.roots.gather import explore
from wheelfix.roots.host import this_machine
from wheelfix.roots.index import open_index
from wheelfix.roots.release import shown_version

if TYPE_CHECKING:
    import argparse


def execute(args: argparse.Namespace) -> int:
    """List the roots."""
    host = this_machine()
    options = root_options(args)
    remarks = explore(host)[1] if options.discover else ()
    with open_index(options, host=host) as index:
        files = (file for file in index.files() if any(_matches(file.name, text) for text in args.names))
        matches = [(file, shown_version(file, index)) for file in files]
        if args.format == "json":
            text = roots_json(index, remarks, tuple(matches) if args.names else None)
        else:
            asked = {", ".join(args.names): matches} if args.names else {}
            text = render_roots(index, remarks, asked, style_of(args))
        write_result(text, args.output)
    return Exit.OK


def _matches(name: str, pattern: str) -> bool:
    pattern = pattern.lower() if "." in pattern or "*" in pattern else f"{pattern.lower()}.dll"
    return fnmatch.fnmatchcase(name.lower(), pattern)
