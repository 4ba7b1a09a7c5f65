"""``wheelfix scan``: what is missing from a wheel, and what its import will do."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from wheelfix.cli.commands import add_flag, add_path, add_words, as_given, only_typed
from wheelfix.cli.common import (
    add_allow_missing,
    add_command,
    add_filter_options,
    add_jobs_option,
    add_limit_options,
    add_output_options,
    add_root_options,
    add_windows_options,
    check_folder,
    limits,
    refuse_contradiction,
    root_options,
    target_words,
)
from wheelfix.cli.output import Output, add_baseline_options, add_report_option
from wheelfix.cli.paths import (
    Inputs,
    add_fetch_option,
    add_remote_options,
    expand_inputs,
    open_client,
    remote_options,
    say_bytes,
)
from wheelfix.cli.settings import group_inputs
from wheelfix.errors import UsageError
from wheelfix.exam.examination import ScanFailure
from wheelfix.loader.profile import assumptions
from wheelfix.report.document import FailedInput
from wheelfix.report.formats import SCAN_KINDS, slim

if TYPE_CHECKING:
    import argparse

    from wheelfix.base.options import ScanOptions
    from wheelfix.cli.commands import Parser, Subparsers
    from wheelfix.remote.client import Client

EXAMPLES = """\
  wheelfix scan dist\\*.whl                     one wheel or many; patterns may stay quoted
  wheelfix scan dist --fail-on warning         a folder of wheels, stricter
  wheelfix scan C:\\envs\\build --package torch  an installed environment
  wheelfix scan torch.whl --root C:\\CUDA\\v11.7   say what could be vendored from there
  wheelfix scan torch.whl --format json -o scan.json
  wheelfix scan torch==2.7.1 --python-version 3.11   a wheel on the package index, read in parts
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "scan",
        "Report what is missing, wrong or risky in Windows wheels, what needs it, which error the\n"
        "import will raise, and where the missing DLLs could come from. Nothing is changed.",
        EXAMPLES,
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a wheel, a pattern, a folder of wheels, an environment, a package folder, the URL of a wheel, or a "
        "distribution on the package index with its version: torch==2.7.1",
    )
    add_words(parser, "--package", "NAME", "in an environment: only this distribution")
    add_set_options(parser)
    add_flag(parser, "--verify", "also check RECORD's hashes (reads every byte)")
    parser.add_argument(
        "--gpu", metavar="CARD",
        help="check for code for this card: sm_86, 'RTX 3060', gfx1100, 'RX 7900 XTX', 'Arc B580', native "
        "(reads whole DLLs)",
    )  # fmt: skip
    parser.add_argument(
        "--driver", metavar="VERSION", default="",
        help="check that this version of NVIDIA's driver for Windows runs the wheel's CUDA: 551.86",
    )  # fmt: skip
    add_flag(parser, "--signatures", "check the signatures of DLLs: WF605 to WF608 (reads whole DLLs)")
    add_flag(parser, "--archs", "list the GPU code in each DLL (reads whole DLLs)")
    add_jobs_option(parser)
    add_windows_options(parser)
    add_root_options(parser)
    add_limit_options(parser)
    group = add_remote_options(parser)
    add_fetch_option(group, "also say which wheels on the package index have the DLLs that no root has")
    findings = add_filter_options(parser)
    add_allow_missing(findings)
    add_baseline_options(findings)
    add_report_option(add_output_options(parser, SCAN_KINDS))


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
    add_path(
        group,
        "--lockfile",
        "FILE",
        "pylock.toml, uv.lock or requirements.txt with all that is installed; the wheels are in --with folders",
        typed=True,
    )
    only_typed(group.add_argument(
        "--extra", metavar="NAME", dest="lock_extras", action="append", default=[],
        help="an extra of the project in the lock file that is installed; repeatable",
    ))  # fmt: skip
    only_typed(group.add_argument(
        "--group", metavar="NAME", dest="lock_groups", action="append", default=None,
        help="a dependency group in the lock file that is installed; repeatable (default: as the installer chooses)",
    ))  # fmt: skip
    add_words(
        group,
        "--import-order",
        "NAMES",
        "import these distributions in this order; without it both orders of each pair are checked",
        typed=True,
    )


def scan_options(args: argparse.Namespace) -> ScanOptions:
    """Return what the command line asks for, checked."""
    from wheelfix.base.options import ScanOptions, all_cores
    from wheelfix.rules.registry import check_patterns

    refuse_contradiction(args.assume, args.no_assume)
    check_folder(args.python, "--python")
    assumptions(tuple(args.assume), tuple(args.no_assume))  # a mistake is reported once, not for every wheel
    if args.gpu is not None:
        from wheelfix.roots.card import card_arch

        card_arch(args.gpu)
    return ScanOptions(
        **as_given(
            args,
            "assume no_assume python together beside lockfile lock_extras import_order allow_missing verify gpu "
            "signatures",
        ),
        targets=target_words(args),
        packages=tuple(args.package),
        lock_groups=tuple(args.lock_groups) if args.lock_groups is not None else None,
        select=check_patterns(args.select, "--select"),
        ignore=check_patterns(args.ignore, "--ignore"),
        jobs=args.jobs or all_cores(),
        driver=_driver(args.driver),
        archs=args.archs or args.verbose,
        versions=args.verbose,
        signers=args.verbose,
        roots=root_options(args),
        limits=limits(args),
        remote=remote_options(args),
    )


def _driver(text: str) -> str:
    """Return the version of a driver, checked."""
    if text and not re.fullmatch(r"[0-9]{3,4}(\.[0-9]{1,3})?", text):
        raise UsageError(
            f"--driver {text}",
            because="it is not a version of NVIDIA's driver for Windows",
            hint="nvidia-smi prints it: --driver 551.86",
        )
    return text


def execute(args: argparse.Namespace) -> int:
    """Scan every input, print each as it comes, and return the worst exit code."""
    output = Output.from_args(args)
    if not args.paths and args.lockfile is None:
        raise UsageError("wheelfix scan needs a PATH", hint="name a wheel, a folder of wheels or an environment")
    if args.lockfile is None and (args.lock_extras or args.lock_groups):
        option = "--extra" if args.lock_extras else "--group"
        raise UsageError(f"{option} says what is installed of a lock file", hint="name that with --lockfile FILE")
    with open_client(args) as client:
        return _scan_inputs(args, output, client)


def _scan_inputs(args: argparse.Namespace, output: Output, client: Client) -> int:
    from wheelfix.exam.scan import scan_inputs

    if args.paths:
        inputs = expand_inputs(args.paths, windows_only=True, client=client)
        groups = [(scan_options(own), own.fail_on, paths) for own, paths in group_inputs(args, inputs.paths)]
    else:  # everything in the lock file
        inputs, groups = Inputs((), (), ()), [(scan_options(args), args.fail_on, [])]
    output.fail_inputs(inputs)
    with output.progress(inputs.paths, "scanning") as progress:
        for options, fail_on, paths in groups:
            with contextlib.closing(scan_inputs(paths, options, progress.part, slim, client)) as results:
                for result in results:
                    if isinstance(result, ScanFailure):
                        output.fail(FailedInput(result.path, result.error))
                    else:
                        output.add(result, fail_on)
                    progress.step(result.path)
    output.finish()
    say_bytes(inputs.paths, args)
    return output.exit_code
