"""What several commands share: their options, from what was typed to the things to look at, and where results go."""

from __future__ import annotations

import glob
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wheelfix.archive.names import other_system
from wheelfix.base.inputfiles import check_text_target, will_read
from wheelfix.base.options import Limits, RemoteOptions, RootOptions, ScanOptions, shell_line
from wheelfix.base.values import frozen, replace
from wheelfix.cli.commands import say
from wheelfix.errors import (
    EnvironmentFailure,
    InputError,
    NetworkFailure,
    UsageError,
    shown_url,
)
from wheelfix.exam.examination import FailedInput
from wheelfix.knowledge.targets import chosen_targets
from wheelfix.loader.profile import assumptions
from wheelfix.remote.addresses import is_remote, is_url
from wheelfix.remote.client import Client
from wheelfix.report.canvas import TextStyle, look_of
from wheelfix.report.words import human_size
from wheelfix.roots.host import card_arch
from wheelfix.streams.output import AtomicFile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from wheelfix.remote.ranges import WheelPath

ENTRY = 640
"""Bytes of a directory entry with a long name; who allows more members allows a larger directory."""


def style_of(args: argparse.Namespace) -> TextStyle:
    """Return how a text looks: as the terminal shows it, or in a file."""
    look = look_of(sys.stdout, getattr(args, "color", "auto"))
    said = {name: getattr(args, name, False) for name in ("verbose", "quiet")}
    look = replace(look, **said)
    return look.in_file if getattr(args, "output", None) is not None else look


_Options = TypeVar("_Options")


def options_of(kind: type[_Options], args: argparse.Namespace, prefix: str = "", **known: Any) -> _Options:
    """Return options of a kind: each is what was given for the argument of its name (``roots``, or ``root``).

    What was not given has its default, ``--no-cache`` sets ``cache`` to False, and ``known`` counts before all that.
    """
    found, given = dict[str, Any](), vars(args)
    for name in kind.__annotations__:
        for option in (name, name.removesuffix("s")):
            value = given.get(prefix + option)
            if value is not None and value != []:
                found[name] = tuple(value) if isinstance(value, list) else value
        if given.get(f"{prefix}no_{name}") is True:
            found[name] = False
    return kind(**{**found, **known})


def scan_options(args: argparse.Namespace, **known: Any) -> ScanOptions:
    """Return how to look at wheels, as the command line says; a mistake is reported once, not for every wheel."""
    there, absent = ({word.partition("=")[0] for word in words} for words in (args.assume, args.no_assume))
    if both := sorted(there & absent):
        raise UsageError(f"{both[0]} is both assumed and not assumed", hint="drop one of --assume and --no-assume")
    assumptions(tuple(args.assume), tuple(args.no_assume))
    chosen_targets(getattr(args, "target", ()))
    if getattr(args, "gpu", None) is not None:
        card_arch(args.gpu)
    python, remote = environment_of(getattr(args, "python", None)), remote_options(args)
    parts = options_of(ScanOptions, args, python=python, roots=root_options(args), limits=limits(args), remote=remote)
    return replace(parts, **known)


def limits(args: argparse.Namespace) -> Limits:
    """Return how much an archive may ask of us, as the command line says."""
    given = {f"max_{name}": number for name, number in getattr(args, "limit", ())}
    size = given.pop("max_size", getattr(args, "max_size", None))
    found = options_of(Limits, args, **given, **({"max_member_size": size} if size else {}))
    return replace(found, max_directory=max(found.max_directory, found.max_members * ENTRY))


def root_options(args: argparse.Namespace) -> RootOptions:
    """Return where DLLs may come from, as the command line says."""
    if getattr(args, "trusted_roots", None) is not None:
        from wheelfix.pe.authenticode.verify import check_trusted_roots  # cryptography is behind it

        check_trusted_roots(args.trusted_roots)
    return options_of(RootOptions, args, limits=limits(args))


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


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse files that cannot or may not be written, before the work is done; those that options name are read."""
    given = vars(args)
    written = [given.get("output"), given.get("lock"), given.get("baseline") if given.get("write_baseline") else None]
    written += [file for _, file in given.get("report", ())]
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
    with AtomicFile(output) as file:  # under a name that the next run knows, should this one be killed
        file.write(text.encode("utf-8", "replace"))
        file.commit()


# ---------------------------------------------------------------------- from what was typed to the things to look at


_NAME = "[A-Za-z0-9][A-Za-z0-9_-]*"
"""What may be the name of a project; with a dot it is more likely a file."""


@frozen
class Inputs:
    """The inputs of a command."""

    paths: tuple[WheelPath, ...]
    """Wheels, and folders that are not folders of wheels (an environment, a package)."""
    failures: tuple[FailedInput, ...]
    """What was typed and stands for nothing, or cannot be reached; the other inputs are used."""
    skipped: tuple[WheelPath, ...] = ()
    """Wheels for other systems, where the command is about Windows wheels."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that are on this disk."""
        return tuple(path for path in self.paths if isinstance(path, Path))


def expand_inputs(
    words: Iterable[str], *, folders: bool = True, windows_only: bool = False, client: Client | None = None
) -> Inputs:
    """Expand patterns (cmd.exe and PowerShell pass them through) and folders of wheels.

    With a ``client`` a word may also be the URL of a wheel, or a requirement such as ``torch==2.7.1``.

    ``folders`` says whether a folder without wheels makes sense to the command, as an environment or a package;
    ``windows_only`` leaves wheels for other systems out, and refuses a run in which nothing else is left.
    """
    paths: dict[str, WheelPath] = {}
    failures: list[FailedInput] = []
    for word in words:
        try:
            there = os.path.lexists(word)
            if not there and is_remote(word):
                found: list[WheelPath] = [_remote(word, client)]
            elif not there and client is not None and re.fullmatch(_NAME, word):
                found = [_newest(word, client)]
            else:
                found = [*_expand(word, folders=folders)]
            for path in found:
                paths.setdefault(_identity(path), path)
        except (InputError, NetworkFailure) as error:
            failures.append(FailedInput(shown_url(word), error))
        except OSError as error:  # no permission, a name too long, a share that is gone
            what = EnvironmentFailure(f"cannot access {shown_url(word)}", because=error)
            failures.append(FailedInput(shown_url(word), what))
    if not paths and not failures:
        raise UsageError("no input was given", hint="name a wheel, a folder, or a pattern such as dist/*.whl")
    will_read(path for path in paths.values() if isinstance(path, Path))
    skipped = tuple(path for path in paths.values() if windows_only and other_system(path.name))
    kept = tuple(path for path in paths.values() if path not in skipped)
    if skipped and not kept and not failures:
        raise UsageError(
            f"no Windows wheel among the inputs: {', '.join(path.name for path in skipped[:3])}"
            + (f" and {len(skipped) - 3} more" if len(skipped) > 3 else ""),
            hint="wheels for Windows have a platform tag such as win_amd64",
        )
    return Inputs(kept, tuple(failures), skipped)


def given_paths(paths: list[str], what: str) -> list[str]:
    """Return what was typed, or ``dist`` where nothing was and there is such a folder."""
    if paths:
        return paths
    if not Path("dist").is_dir():
        hint = "name a wheel, or a folder of wheels; dist is used if it exists"
        raise UsageError(f"wheelfix {what} needs a PATH", hint=hint)
    say("wheelfix: no PATH was given: dist is used")
    return ["dist"]


def _remote(word: str, client: Client | None) -> WheelPath:
    if client is None:
        download = shell_line(["python", "-m", "pip", "download", "--no-deps", "--platform", "win_amd64", word])
        raise InputError(
            f"{shown_url(word)} is not on this disk",
            because="this command works on files",
            hint="download the wheel first" + ("" if is_url(word) else f": {download}"),
        )
    return client.find(word)


def _newest(word: str, client: Client) -> WheelPath:
    """Return the newest wheel of a project on the package index; a slip in the name of a file is one, too."""
    try:
        return client.find(word)
    except (InputError, EnvironmentFailure) as error:
        raise (InputError if isinstance(error, InputError) else NetworkFailure)(
            f"{word} is neither a file or folder here nor a project on the package index",
            because=[reason for reason in (_nearest(Path(word)), str(error)) if reason],
            hint=error.hint,
        ) from error


def _expand(word: str, *, folders: bool) -> list[Path]:
    if not word:
        raise InputError("an empty path was given", hint="check the variable that should hold it")
    path = Path(word)
    if "://" in word and not os.path.lexists(path):
        because = "an address has to begin with http:// or https://"
        raise InputError(f"{shown_url(word)} is neither a file nor a wheel on a server", because=because)
    if path.is_dir():
        return _open_folder(path, folders=folders)
    if path.exists() or not glob.has_magic(word):
        if not os.path.lexists(path):
            raise InputError(f"{word} does not exist", hint=_nearest(path))
        return [path]
    # Path.glob takes no absolute pattern. sorted() makes the order ours: the file system's differs from disk to disk.
    matches = sorted(Path(match) for match in glob.glob(word, recursive=True))  # noqa: PTH207
    if not matches:
        raise InputError(
            f"the pattern {word} matches nothing",
            because=_nearest(Path(word)),
            hint="was the wheel built, and is this the right folder?",
        )
    found: list[Path] = []
    for match in matches:
        found += _open_folder(match, folders=folders) if match.is_dir() else [match]
    return found


def _open_folder(folder: Path, *, folders: bool) -> list[Path]:
    wheels = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".whl" and path.is_file())
    # scipy 1.17.1 installs an empty file with the name of its wheel, so a folder of installed files may have one.
    if wheels and not (folders and any(folder.glob("*.dist-info"))):
        return wheels
    if folders and any(folder.iterdir()):
        return [folder]
    raise InputError(f"the folder {folder} holds no wheel", hint="name the wheel itself, or the folder that holds it")


def _nearest(path: Path) -> str:
    """Say how much of the path exists, which shows where the mistake is."""
    for parent in path.parents:
        if glob.has_magic(str(parent)):
            continue
        if parent.is_dir():
            wheels = sum(1 for item in parent.iterdir() if item.suffix.lower() == ".whl")
            where = "this folder" if str(parent) == "." else str(parent)
            return f"{where} holds {wheels or 'no'} wheel{'' if wheels == 1 else 's'}"
        if str(parent) not in (".", parent.anchor):
            return f"there is no folder {parent}"
    return ""


def _identity(path: WheelPath) -> str:
    """Two spellings of one file are one input."""
    if not isinstance(path, Path):
        return path.url
    return os.path.normcase(os.path.realpath(path))


def remote_options(args: argparse.Namespace) -> RemoteOptions:
    """Return how to reach wheels on servers, as the command line says."""
    options = options_of(RemoteOptions, args, trusted=tuple(getattr(args, "trust_distribution", ())))
    _ = options.target  # a slip is said once, before anything is asked
    return options


def open_client(args: argparse.Namespace) -> Client:
    """Return what reads wheels from servers; nothing is asked before there is something to read."""
    return Client(remote_options(args), say=lambda text: say(f"wheelfix: {text}"))


def say_bytes(paths: Iterable[WheelPath], args: argparse.Namespace) -> None:
    """Say how many bytes were read of wheels on servers."""
    for path in paths:
        if not isinstance(path, Path) and path.size and not args.quiet:
            share = 100 * path.fetched / path.size
            of = f"{human_size(path.fetched)} of {human_size(path.size)} ({share:.1f} %)"
            say(f"wheelfix: {path.name}: read {of} from the server")


def say_skipped(inputs: Inputs) -> None:
    """Say which wheels are not looked at."""
    for path in inputs.skipped:
        say(f"wheelfix: skipped: {path.name} is not a Windows wheel")
