"""What several commands share: their options, where results go, and the exit code of many reports."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import check_text_target, will_read
from wheelfix.base.parsing import whole_number
from wheelfix.base.values import replace
from wheelfix.cli.commands import COMMANDS, add_flag, add_path, add_words, as_given, only_typed
from wheelfix.cli.commands import CommaList as CommaList  # the commands find it here
from wheelfix.errors import EnvironmentFailure, Exit, UsageError
from wheelfix.report.canvas import COLOURS, TextStyle, look_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.base.options import Limits, RootOptions
    from wheelfix.cli.commands import Parser, Subparsers
    from wheelfix.errors import WheelfixError

ENTRY = 640
"""Bytes of a directory entry with a long name; who allows more members allows a larger directory."""


def add_command(subparsers: Subparsers, name: str, description: str, examples: str) -> Parser:
    """Add a command's parser with its examples below the options."""
    summary = COMMANDS[name].summary
    return subparsers.add_parser(name, help=summary, description=description, epilog=f"examples:\n{examples}")


def style_of(args: argparse.Namespace) -> TextStyle:
    """Return how a text looks: as the terminal shows it, or in a file."""
    return look_of(sys.stdout, colour=args.color) if args.output is None else TextStyle(unicode=True)


def positive(text: str) -> int:
    """Return a whole number from 1 on."""
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 on")
    return number


def add_assumptions(parser: Parser) -> argparse._ArgumentGroup:
    """Add the options that say what is assumed of the machine on which a wheel will be imported."""
    group = parser.add_argument_group("the target machine")
    add_words(
        group, "--assume", "WHAT", "it has this: vcredist, nvidia-driver (both assumed by default), conda, cuda=11.7"
    )
    add_words(group, "--no-assume", "WHAT", "without: vcredist, nvidia-driver")
    return group


def add_target_options(parser: Parser) -> None:
    """Add the options that say what the machine has on which the wheel will be imported."""
    _add_python(add_assumptions(parser))


def add_windows_options(parser: Parser) -> None:
    """Add the options about the machine, and the one that asks about kinds of Windows."""
    group = add_assumptions(parser)
    add_words(
        group,
        "--target",
        "WINDOWS",
        "also check for this kind of Windows: windows-11, windows-10-1809, windows-n, server-core-2022, "
        "nano-server, wine, all, or a list file (tools/windows_target.ps1 writes it)",
    )
    _add_python(group)


def _add_python(group: argparse._ArgumentGroup) -> None:
    add_path(group, "--python", "PREFIX", "resolve against this real environment (a folder with python.exe)")


def target_words(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the kinds of Windows that were asked about, checked: a mistake is reported once, not for every wheel."""
    from wheelfix.knowledge.targets import chosen_targets

    chosen_targets(args.target)
    return tuple(args.target)


def refuse_contradiction(assume: Iterable[str], no_assume: Iterable[str]) -> None:
    """Refuse what is both assumed and not; the words themselves are checked where the profile is made."""
    both = sorted({word.partition("=")[0] for word in assume} & {word.partition("=")[0] for word in no_assume})
    if both:
        raise UsageError(f"{both[0]} is both assumed and not assumed", hint="drop one of --assume and --no-assume")


def add_root_options(parser: Parser) -> None:
    """Add the options that say where DLLs may come from."""
    group = parser.add_argument_group("where DLLs can come from")
    add_path(
        group,
        "--root",
        "PATH",
        "a toolkit, an environment, a folder of DLLs or of wheels, a wheel or conda package, or a pattern "
        "such as wheels/*.whl; repeatable",
        many=True,
    )
    for option, what in (
        ("cuda", "a CUDA toolkit"),
        ("cudnn", "a cuDNN folder"),
        ("oneapi", "a oneAPI folder"),
        ("conda", "a conda environment"),
    ):
        group.add_argument(f"--{option}", metavar="PATH", action="append", default=[], type=Path, help=what)
    add_flag(group, "--no-discover", "use only the roots named here")
    add_flag(group, "--search-path", "also look in the folders of PATH", typed=True)
    add_path(
        group,
        "--trusted-roots",
        "FILE",
        "PEM file of root certificates to trust, besides those on Microsoft's list",
        typed=True,
    )


def add_filter_options(parser: Parser, fail_on: str = "error") -> argparse._ArgumentGroup:
    """Add the options that choose findings and say which of them fail; ``fail_on`` is the default."""
    levels = ("error", "unsure", "warning", "info", "never")
    group = parser.add_argument_group("findings")
    add_words(group, "--select", "CODE", "only these codes, prefixes (WF3) or names")
    add_words(group, "--ignore", "CODE", "all but these")
    group.add_argument(
        "--fail-on", metavar="LEVEL", choices=levels, default=fail_on,
        help="exit with 1 for findings of this severity or worse: "
        + ", ".join(f"{level} (default)" if level == fail_on else level for level in levels),
    )  # fmt: skip
    return group


def add_allow_missing(group: argparse._ArgumentGroup) -> None:
    """Add ``--allow-missing``."""
    add_words(group, "--allow-missing", "GLOB", "this DLL may be missing: findings about it become info")


def add_output_options(parser: Parser, formats: tuple[str, ...]) -> argparse._ArgumentGroup:
    """Add the options that say what is printed and where it goes."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        metavar="KIND",
        choices=formats,
        default=formats[0],
        help=f"{', '.join(formats)} (default {formats[0]})",
    )
    group.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the result to this file, as UTF-8")
    group.add_argument(
        "--color", metavar="WHEN", choices=COLOURS, default=COLOURS[0],
        help="auto, always, never (default auto: on terminals, as NO_COLOR and FORCE_COLOR say)",
    )  # fmt: skip
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="show more (scan: every resolved edge)")
    loudness.add_argument("-q", "--quiet", action="store_true", help="print only the verdict")
    return group


def add_jobs_option(parser: Parser) -> None:
    """Add ``-j``."""
    parser.add_argument("-j", "--jobs", metavar="N", type=positive, help="how many cores to use (default: all)")


def size(text: str) -> int:
    """Return a number of bytes from ``512M``, ``2 GiB`` or plain digits."""
    found = re.fullmatch(r"([0-9]{1,15})\s*(?:([KMGT])(?:i?B)?|B)?", text.strip(), re.IGNORECASE)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it as 512M, 2G or in bytes")
    return int(found[1]) << (10 * " KMGT".index((found[2] or " ").upper()))


def add_limit_options(parser: Parser) -> None:
    """Add the options that say how much an archive may ask of us before it counts as an attack."""
    group = parser.add_argument_group("limits, against archives made to exhaust the machine")
    only_typed(
        group.add_argument(
            "--max-members", metavar="N", type=positive, help="refuse archives with more members (default 100000)"
        )
    )
    only_typed(
        group.add_argument(
            "--max-size", metavar="SIZE", type=size, help="do not unpack members larger than this (default 32G)"
        )
    )
    only_typed(
        group.add_argument(
            "--max-total", metavar="SIZE", type=size, help="refuse archives that unpack to more (default 256G)"
        )
    )
    only_typed(group.add_argument(
        "--max-ratio", metavar="N", type=positive,
        help="refuse archives that unpack to more than 1G and N times their size (default 200)",
    ))  # fmt: skip


def limits(args: argparse.Namespace) -> Limits:
    """Return how much an archive may ask of us, as the command line says."""
    from wheelfix.base.options import Limits

    usual = Limits()
    members = args.max_members or usual.max_members
    return replace(
        usual,
        max_members=members,
        max_directory=max(usual.max_directory, members * ENTRY),
        max_member_size=args.max_size or usual.max_member_size,
        max_total=args.max_total or usual.max_total,
        max_ratio=float(args.max_ratio or usual.max_ratio),
    )


def root_options(args: argparse.Namespace) -> RootOptions:
    """Return where DLLs may come from, as the command line says."""
    from wheelfix.base.options import Limits, RootOptions

    if args.trusted_roots is not None:
        from wheelfix.pe.signature import check_trusted_roots

        check_trusted_roots(args.trusted_roots)
    return RootOptions(
        **as_given(args, "cuda cudnn oneapi conda search_path trusted_roots"),
        roots=tuple(args.root),
        discover=not args.no_discover,
        limits=limits(args) if hasattr(args, "max_ratio") else Limits(),
    )


def check_folder(folder: Path | None, option: str) -> None:
    """Refuse a folder that is not there, by the name of the option that gave it."""
    if folder is not None and not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "the folder does not exist"
        raise UsageError(f"{option} {folder}", because=what, hint="check the path for a misspelling")


def check_target_folder(folder: Path | None, option: str) -> None:
    """Refuse a folder to write to that is a file."""
    if folder is not None and folder.exists() and not folder.is_dir():
        raise UsageError(f"{option} {folder}", because="it is a file", hint="name a folder")


def exit_code(failed: bool, errors: Iterable[WheelfixError]) -> int:
    """Return the worst of all: 1 for a finding that counts, and the code of each input that could not be read."""
    return max([Exit.FINDINGS if failed else Exit.OK, *(error.exit_code for error in errors)])


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse files that cannot or may not be written, before the work is done; those that options name are read."""
    given = vars(args)
    written = [given.get("output"), given.get("lock"), given.get("baseline") if given.get("write_baseline") else None]
    written += [file for _, file in (*given.get("report", ()), *given.get("also", ()))]
    outputs = [file for file in written if file is not None and str(file) != "-"]
    for file in outputs:
        check_output(file)
    named = [one for value in given.values() for one in (value if isinstance(value, list | tuple) else [value])]
    will_read(path for path in named if isinstance(path, Path) and path not in outputs)


def check_output(output: Path) -> None:
    """Refuse a file that cannot be written, or that is an input or a package."""
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name the file to write")
    if not output.parent.is_dir():
        raise EnvironmentFailure(f"cannot write {output}", because=f"there is no folder {output.parent}")
    check_text_target(output)


_SAYS_UTF8 = ("<?xml", "<!doctype html")
"""How documents begin that say themselves that they are UTF-8."""


def write_result(text: str, output: Path | None) -> None:
    """Print a result, or put it whole into a file: a reader never meets half of it."""
    if output is None or str(output) == "-":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None and text[:20].lower().startswith(_SAYS_UTF8):
            reconfigure(encoding="utf-8", errors="replace")  # into a file, Windows writes the encoding of the system
        sys.stdout.write(text)
        return
    check_output(output)
    if output.exists() and not output.is_file():
        output.write_text(text, encoding="utf-8", errors="replace")  # a device or a pipe cannot be replaced
        return
    from wheelfix.streams.output import AtomicFile

    with AtomicFile(output) as file:  # under a name that the next run knows, should this one be killed
        file.write(text.encode("utf-8", "replace"))
        file.commit()
