"""Groups of options that several commands have, and the values that may be typed for them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.base.options import PLATFORMS
from wheelfix.base.parsing import whole_number
from wheelfix.cli.commands import (
    CommaList,
    Parser,
    PathList,
    add_flag,
    add_hidden,
    add_path,
    add_words,
    did_you_mean,
    only_typed,
)
from wheelfix.report.canvas import COLOURS
from wheelfix.report.document import SCAN_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable


def positive(text: str) -> int:
    """Return a whole number from 1 on."""
    number = whole_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 on")
    return number


def size(text: str) -> int:
    """Return a number of bytes from ``512M``, ``2 GiB`` or plain digits."""
    found = re.fullmatch(r"([0-9]{1,15})\s*(?:([KMGT])(?:i?B)?|B)?", text.strip(), re.IGNORECASE)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it as 512M, 2G or in bytes")
    return int(found[1]) << (10 * " KMGT".index((found[2] or " ").upper()))


def report_request(text: str, kinds: tuple[str, ...] = SCAN_KINDS) -> tuple[str, Path]:
    """Return ``sarif=out.sarif`` as a kind and a file."""
    kind, equals, name = text.partition("=")
    suffixes = {"htm": "html", "md": "markdown", "txt": "text", "xml": "junit"}
    suffix = kind.rpartition(".")[2].lower()
    if not equals and "." in kind and suffixes.get(suffix, suffix) in kinds:
        raise argparse.ArgumentTypeError(f"{text!r} has no kind; did you mean {suffixes.get(suffix, suffix)}={text}?")
    if kind not in kinds:
        meant = did_you_mean(kind, kinds)
        raise argparse.ArgumentTypeError(
            f"{kind!r} is not a kind of report; " + (meant or f"known are {', '.join(kinds)}")
        )
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} has no file; write it as {kind}=FILE")
    return kind, Path(name)


def add_jobs_option(parser: Parser) -> None:
    """Add ``-j``."""
    parser.add_argument("-j", "--jobs", metavar="N", type=positive, help="how many cores to use (default: all)")


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
    add_path(group, "--python", "PATH", "resolve against this Python or environment: a folder, or its python.exe")


def add_root_options(parser: Parser) -> None:
    """Add the options that say where DLLs may come from."""
    group = parser.add_argument_group("where DLLs can come from")
    add_path(
        group,
        "--root",
        "PATH",
        "a CUDA, cuDNN or oneAPI folder, an environment, a folder of DLLs or of wheels, a wheel or conda package, "
        "or a pattern such as wheels/*.whl; repeatable",
        many=True,
    )
    for option in ("cuda", "cudnn", "oneapi", "conda"):  # --root recognises each of them
        action = group.add_argument(f"--{option}", action="append", default=[], type=Path, help=argparse.SUPPRESS)
        action.metavar = "PATH"
    add_hidden(group, "--search-path", action="store_true")
    add_flag(group, "--no-discover", "use only the roots named here")
    add_path(
        group,
        "--trusted-roots",
        "FILE",
        "PEM file of root certificates to trust, besides those on Microsoft's list",
        typed=True,
    )


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
    add_flag(group, "--offline", "refuse everything that needs a server")
    group.add_argument("--cache-dir", type=Path, help=argparse.SUPPRESS)
    group.add_argument("--no-cache", action="store_true", help=argparse.SUPPRESS)
    return group


def add_fetch_option(group: argparse._ArgumentGroup, what: str) -> None:
    """Add ``--fetch``."""
    add_flag(group, "--fetch", what, typed=True)
    what = "with --fetch: DLLs of this distribution may be fetched, too"
    add_words(group, "--trust-distribution", "NAME", what, typed=True)


def add_set_options(parser: Parser) -> None:
    """Add the options that say what is installed in the same place."""
    group = parser.add_argument_group("what is installed in the same place")
    add_flag(group, "--together", "the wheels are one installation and provide DLLs for each other")
    add_path(
        group,
        "--with",
        "PATH",
        "a wheel, a folder of wheels or an environment that is installed too, but not reported on; repeatable",
        many=True,
        dest="beside",
        typed=True,
    )
    add_flag(group, "--deps", "also read what the wheels require from the package index", typed=True)
    only_typed(group.add_argument(
        "-r", "--lockfile", metavar="FILE", type=Path,
        help="requirements.txt, pylock.toml or uv.lock with all that is installed; the wheels are in --with folders",
    ))  # fmt: skip
    add_hidden(group, "--extra", dest="lock_extras", action="append", default=[])
    add_hidden(group, "--group", dest="lock_groups", action="append", default=None)
    add_hidden(group, "--import-order", metavar="NAMES", action=CommaList, default=[])


LIMITS = {"members": positive, "size": size, "total": size, "ratio": positive, "path": positive}
"""What an archive may ask of us before it counts as an attack, and of Windows: how each is written."""


def limit(text: str) -> tuple[str, int]:
    """Return ``members=1000`` as a name and a number."""
    name, _, value = text.partition("=")
    if name not in LIMITS:
        known = did_you_mean(name, LIMITS) or f"known are {', '.join(LIMITS)}"
        raise argparse.ArgumentTypeError(f"{name!r} is not a limit; {known}")
    return name, LIMITS[name](value)


def add_limit_options(parser: Parser) -> None:
    """Add the options that say how much an archive may ask of us before it counts as an attack."""
    group = parser.add_argument_group("limits, against archives made to exhaust the machine")
    only_typed(group.add_argument(
        "--limit", metavar="NAME=VALUE", action="append", default=[], type=limit,
        help="refuse archives with more members (members=100000), larger ones (size=32G), that unpack to more "
        "(total=256G), or to more than 1G and so many times their size (ratio=200); path=140 makes longer paths below "
        "site-packages an error (WF133); repeatable",
    ))  # fmt: skip
    for name, kind in LIMITS.items():
        add_hidden(group, f"--max-{name}", metavar="N", type=kind)


def add_policy_options(parser: Parser) -> None:
    """Add the options that say what is vendored, dropped and refused."""
    group = parser.add_argument_group("what is added and removed")
    add_words(group, "--include", "NAME", "vendor this DLL and what it needs")
    add_words(group, "--exclude", "GLOB", "never vendor DLLs of this name")
    add_words(group, "--drop", "GLOB", "remove these members")
    add_flag(group, "--drop-test-artifacts", "remove what only BUILD_TEST=1 builds (aoti_custom_ops, ...)")
    add_flag(
        group, "--clean", "move, replace or remove DLLs that are in the wrong place, duplicated or for another machine"
    )
    group.add_argument(
        "--companions", choices=("required", "all", "none"), default="required",
        help="DLLs that are loaded by name at run time: what is required (default), all, none",
    )  # fmt: skip
    group.add_argument(
        "--via", choices=("vendor", "wheels", "toolkit"), default="vendor",
        help="how the wheel gets DLLs of NVIDIA and Intel: vendor puts them into it (default); wheels requires the "
        "distributions on the package index that have them; toolkit leaves CUDA to the installed one",
    )  # fmt: skip
    add_flag(group, "--with-vcredist", "also vendor the Visual C++ runtime")
    add_allow_missing(group)
    add_words(
        group,
        "--accept-missing",
        "FILE",
        "remove the row of this file from RECORD, which lists it although the wheel does not have it; a path or "
        "a pattern",
    )
    group.add_argument(
        "--dest", metavar="FOLDER", help="folder for new DLLs (default: beside the file that needs them)"
    )
    group.add_argument(
        "--layout", choices=("auto", "beside", "libs"), default="auto",
        help="beside: own names, next to the files that need them; libs: renamed, in <name>.libs, by delvewheel; "
        "auto: libs for DLLs of no known vendor in ordinary extension packages",
    )  # fmt: skip
    group.add_argument(
        "--gpu", metavar="CARD", help="prefer vendor DLLs with code for this card: sm_35, 3.5, K40c, 'RTX 5070'"
    )
    add_flag(group, "--require-signed", "take only DLLs whose signature leads to a trusted root")


def add_delvewheel_options(parser: Parser) -> None:
    """Add delvewheel's options, so that one word of a ``repair-wheel-command`` has to be changed; no help has them."""
    group = parser.add_argument_group("delvewheel's options")
    for name in ("--no-mangle", "--namespace-pkg"):
        group.add_argument(name, action=CommaList, default=[], help=argparse.SUPPRESS)
    for name in ("--no-mangle-all", "--custom-patch"):
        group.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    group.add_argument("-L", "--lib-sdir", default=".libs", help=argparse.SUPPRESS)
    add_hidden(group, "--add-path", dest="root", action=PathList, default=[])
    add_hidden(group, "--add-dll", dest="include", action=CommaList, default=[])
    add_hidden(group, "--no-dll", dest="exclude", action=CommaList, default=[])
    for name in ("--ignore-existing", "--ignore-in-wheel", "--analyze-existing", "--analyze-existing-exes"):
        add_hidden(group, name, dest="already", action="store_true")  # it is always so


def add_writing_options(parser: Parser) -> None:
    """Add the options that say how the new wheel is written."""
    group = parser.add_argument_group("how it is written")
    group.add_argument("--build-tag", metavar="TAG", help=argparse.SUPPRESS)
    group.add_argument("--compression", metavar="LEVEL", default="auto", help=argparse.SUPPRESS)
    group.add_argument(
        "--compressor", choices=("auto", "mixed", "zlib-ng", "zlib"), default="auto", help=argparse.SUPPRESS
    )
    group.add_argument("--recompress", action="store_true", help=argparse.SUPPRESS)
    add_flag(
        group,
        "--trust-record",
        "trust RECORD instead of checking every byte; a locked wheel is then identified by its directory (faster)",
        typed=True,
    )
    group.add_argument("--no-sbom", dest="sbom", action="store_false", help=argparse.SUPPRESS)
    group.add_argument("--sbom", dest="sbom", action="store_true", help=argparse.SUPPRESS)


def add_trial_options(parser: Parser, prefix: str = "") -> None:
    """Add the options that say what is imported, with what, and where; only the command line may set them."""
    group = parser.add_argument_group("what is installed and imported" if not prefix else "the import with --try")

    def add(name: str, dest: str, **settings: Any) -> None:
        if prefix or name in ("find-links", "python-home", "wine", "timeout", "allow-root"):
            settings["help"] = argparse.SUPPRESS
        only_typed(group.add_argument(f"--{prefix}{name}", dest=f"trial_{dest}", **settings))

    add(
        "with",
        "with",
        metavar="PATH",
        action="append",
        default=[],
        type=Path,
        help="a wheel that is installed too, or a folder of wheels that requirements are taken from; repeatable",
    )
    add(
        "find-links",
        "find_links",
        metavar="DIR",
        action="append",
        default=[],
        type=Path,
    )
    add(
        "index-url",
        "index_url",
        metavar="URL",
        default="",
        help="also take requirements from this package index (default: from no index)",
    )
    add("no-deps", "no_deps", action="store_true", help="install the wheel without its requirements")
    add(
        "module",
        "module",
        metavar="NAME",
        action=CommaList,
        default=[],
        help="import these modules only (default: top-level modules and extension modules)",
    )
    if not prefix:
        group = parser.add_argument_group("where it is imported")
    add("python-home", "python_home", type=Path)
    add("wine", "wine", type=Path)
    add(
        "python",
        "python",
        metavar="PATH",
        type=Path,
        help="the Python to use, as a folder or its python.exe (default: this one); under Wine a folder, or the zip of "
        "the embeddable package of python.org or of nuget.org (default: a Python 3.11 from the package index)",
    )
    add("timeout", "timeout", type=positive, default=120)
    add("allow-root", "allow_root", action="store_true")
    if not prefix:
        group.add_argument("--yes", action="store_true", help="do not ask before a large download (Wine on arm64)")


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


def add_baseline_options(group: argparse._ArgumentGroup) -> None:
    """Add ``--baseline`` and ``--write-baseline`` to the options about findings."""
    add_path(group, "--baseline", "FILE", "findings in this file do not fail the build")
    add_flag(group, "--write-baseline", "write the findings to the baseline, and exit 0", typed=True)


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


def add_report_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--report KIND=FILE`` and ``--statistics`` to the options of output."""
    _add_report(group, "report", report_request, SCAN_KINDS)
    group.add_argument("--statistics", action="store_true", help=argparse.SUPPRESS)


def add_typed_report_option(group: argparse._ArgumentGroup, kinds: tuple[str, ...]) -> None:
    """Add ``--report KIND=FILE`` with the kinds of one command.

    Its name in the namespace is ``also``: what a file says for ``report`` is about scans, which have other kinds.
    """
    _add_report(group, "also", lambda text: report_request(text, kinds), kinds)


def _add_report(
    group: argparse._ArgumentGroup, dest: str, request: Callable[[str], tuple[str, Path]], kinds: tuple[str, ...]
) -> None:
    group.add_argument(
        "--report", dest=dest, metavar="KIND=FILE", action="append", default=[], type=request,
        help=f"also write this kind of report to a file; repeatable: {', '.join(kinds)}",
    )  # fmt: skip
