"""What several commands share: their options, where results go, and the exit code of many reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import check_text_target, will_read
from wheelfix.base.options import Limits, RootOptions
from wheelfix.base.values import replace
from wheelfix.cli.commands import CommaList as CommaList  # the commands find it here
from wheelfix.cli.commands import as_given
from wheelfix.errors import EnvironmentFailure, Exit, UsageError
from wheelfix.knowledge.targets import chosen_targets
from wheelfix.report.canvas import TextStyle, look_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from wheelfix.errors import WheelfixError

ENTRY = 640
"""Bytes of a directory entry with a long name; who allows more members allows a larger directory."""


def style_of(args: argparse.Namespace) -> TextStyle:
    """Return how a text looks: as the terminal shows it, or in a file."""
    return look_of(sys.stdout, colour=args.color) if args.output is None else TextStyle(unicode=True)


def target_words(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the kinds of Windows that were asked about, checked: a mistake is reported once, not for every wheel."""
    chosen_targets(args.target)
    return tuple(args.target)


def refuse_contradiction(assume: Iterable[str], no_assume: Iterable[str]) -> None:
    """Refuse what is both assumed and not; the words themselves are checked where the profile is made."""
    both = sorted({word.partition("=")[0] for word in assume} & {word.partition("=")[0] for word in no_assume})
    if both:
        raise UsageError(f"{both[0]} is both assumed and not assumed", hint="drop one of --assume and --no-assume")


def limits(args: argparse.Namespace) -> Limits:
    """Return how much an archive may ask of us, as the command line says."""
    usual, given = Limits(), dict(args.limit)

    def chosen(name: str) -> int | None:
        number: int | None = given.get(name) or getattr(args, f"max_{name}")
        return number

    members = chosen("members") or usual.max_members
    return replace(
        usual,
        max_members=members,
        max_directory=max(usual.max_directory, members * ENTRY),
        max_member_size=chosen("size") or usual.max_member_size,
        max_total=chosen("total") or usual.max_total,
        max_ratio=float(chosen("ratio") or usual.max_ratio),
        max_path=args.max_path or usual.max_path,
    )


def root_options(args: argparse.Namespace) -> RootOptions:
    """Return where DLLs may come from, as the command line says."""
    if args.trusted_roots is not None:
        from wheelfix.pe.authenticode.verify import check_trusted_roots

        check_trusted_roots(args.trusted_roots)
    return RootOptions(
        **as_given(args, "cuda cudnn oneapi conda search_path trusted_roots"),
        roots=tuple(args.root),
        discover=not args.no_discover,
        limits=limits(args) if hasattr(args, "limit") else Limits(),
    )


def environment_of(python: Path | None) -> Path | None:
    """Return the folder that ``--python`` names, by itself or by the python.exe in it or in its Scripts."""
    if python is not None and python.is_file() and python.name.lower() == "python.exe":
        return python.parent.parent if python.parent.name.lower() == "scripts" else python.parent
    check_folder(python, "--python")
    return python


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
