"""``wheelfix roots``: where DLLs could come from on this machine, and why each place counts."""

from __future__ import annotations

import fnmatch
import sys
from typing import TYPE_CHECKING

from wheelfix.cli.common import add_command, add_output_options, add_root_options, root_options, write_result
from wheelfix.errors import Exit
from wheelfix.report.canvas import TextStyle, look_of

if TYPE_CHECKING:
    import argparse

    from wheelfix.cli.commands import Subparsers
    from wheelfix.model import Json
    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.rootfile import RootFile

EXAMPLES = """\
  wheelfix roots                          all roots, with versions, and how they were found
  wheelfix roots cudnn64_8.dll            which of them have this DLL
  wheelfix roots "mkl_*.dll" --no-discover --oneapi D:\\oneAPI
  wheelfix roots --format json
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "roots",
        "list the places that DLLs could come from",
        "List the CUDA, cuDNN, oneAPI, conda, pip and Visual C++ folders that are found, with their\n"
        "versions, how they were found, and which of their folders are searched.",
        EXAMPLES,
    )
    parser.add_argument("names", metavar="DLL", nargs="*", help="also show which roots have this DLL; may be a pattern")
    add_root_options(parser)
    add_output_options(parser, ("text", "json"))


def execute(args: argparse.Namespace) -> int:
    """List the roots."""
    from wheelfix.roots import describe
    from wheelfix.roots.gather import explore, open_index
    from wheelfix.roots.host import this_machine

    host = this_machine()
    options = root_options(args)
    remarks = explore(host).remarks if options.discover else ()
    with open_index(options, host) as index:
        matches = [file for file in index.files() if any(_matches(file.name, text) for text in args.names)]
        if args.format == "json":
            from wheelfix.report.json_ import dump, tool

            document = describe.document(index, remarks)
            document = {"schema": document.pop("schema"), "tool": tool(), **document}
            if args.names:
                document["matches"] = [_match(file, index) for file in matches]
            write_result(dump(document), args.output)
            return Exit.OK
        from wheelfix.report.repairs import RootsReport, render_roots

        found = tuple((file.location, _version(file, index), file.origin) for file in matches)
        report = RootsReport(describe.rows(index), remarks, index.skipped, tuple(args.names), found)
        look = look_of(sys.stdout, colour=args.color) if args.output is None else TextStyle(unicode=True)
        write_result(render_roots(report, look, verbose=args.verbose, quiet=args.quiet), args.output)
    return Exit.OK


def _match(file: RootFile, index: RootIndex) -> dict[str, Json]:
    return {
        "name": file.name,
        "path": file.location,
        "root": str(file.root.path),
        "version": _version(file, index),
        "origin": file.origin,
        "size": file.size,
    }


def _version(file: RootFile, index: RootIndex) -> str:
    from wheelfix.roots.choice.release import shown_version

    return shown_version(file, index)


def _matches(name: str, pattern: str) -> bool:
    pattern = pattern.lower() if "." in pattern or "*" in pattern else f"{pattern.lower()}.dll"
    return fnmatch.fnmatchcase(name.lower(), pattern)
