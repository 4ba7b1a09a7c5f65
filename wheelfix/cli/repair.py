"""``wheelfix repair``: vendor what is missing and write a correct wheel."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.common import (
    add_command,
    add_jobs_option,
    add_limit_options,
    add_output_options,
    add_root_options,
    add_windows_options,
    check_output,
    write_result,
)
from wheelfix.cli.output import add_typed_report_option, made_by, write_reports
from wheelfix.cli.parser import only_typed
from wheelfix.cli.paths import expand_inputs
from wheelfix.cli.remote import add_fetch_option, add_remote_options
from wheelfix.cli.repairoptions import add_policy_options, add_writing_options, repair_options
from wheelfix.cli.repairoutput import RepairOutput
from wheelfix.cli.say import say
from wheelfix.cli.settings import group_inputs
from wheelfix.errors import Exit
from wheelfix.report.canvas import TextStyle, look_of
from wheelfix.report.document import PlanReport
from wheelfix.report.progress import ProgressBar
from wheelfix.report.safe import legible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from wheelfix.cli.commands import Subparsers
    from wheelfix.cli.parser import Parser
    from wheelfix.model import Json
    from wheelfix.options import RepairOptions
    from wheelfix.plan.model import Plan
    from wheelfix.repairs.installed import InstalledRepair

EXAMPLES = """\
  wheelfix repair dist\\*.whl                       into the folder wheelhouse
  wheelfix repair torch.whl --dry-run              what would be done, and why
  wheelfix repair torch.whl --cuda D:\\CUDA\\v11.7 --root intel_openmp-2023.2.0-...whl
  wheelfix repair torch.whl --lock plan.json       then, elsewhere or later:
  wheelfix repair --locked plan.json               the same wheel, byte for byte
  wheelfix repair --env C:\\envs\\ml --package torch  an installed package; --undo reverts it
"""
KINDS = ("text", "json", "html")


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "repair",
        "vendor what is missing and write a correct wheel",
        "Find what is missing from a wheel, choose it from the roots that are found or named, and\n"
        "rewrite the wheel: old members unchanged, a correct RECORD, then read it back and scan it again.\n"
        "The input is never touched without --in-place; nothing is written if something stays broken.",
        EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a wheel, a pattern, a folder of wheels")
    _add_target(parser)
    add_policy_options(parser)
    add_writing_options(parser)
    add_jobs_option(parser)
    add_windows_options(parser)
    add_root_options(parser)
    add_limit_options(parser)
    add_fetch_option(add_remote_options(parser), "take DLLs that no root has from wheels on the package index")
    add_typed_report_option(add_output_options(parser, KINDS), KINDS)


def _add_target(parser: Parser) -> None:
    group = parser.add_argument_group("what is made")
    group.add_argument(
        "-w", "--wheel-dir", metavar="DIR", type=Path, help="folder for the repaired wheels (default: wheelhouse)"
    )
    only_typed(
        group.add_argument(
            "--in-place", action="store_true", help="replace the wheel itself, in one step at the very end"
        )
    )
    group.add_argument(
        "--dry-run", action="store_true",
        help="print the plan and write nothing; with --fetch, DLLs are read as far as needed to choose, but not"
        " downloaded (with --lock they are: a lock has their hashes)",
    )  # fmt: skip
    group.add_argument("--lock", metavar="FILE", type=Path, help="also write the plan, with hashes, to this file")
    only_typed(
        group.add_argument(
            "--locked", metavar="FILE", type=Path, help="carry out this plan; fails if the wheel or any source differs"
        )
    )
    only_typed(group.add_argument("--env", metavar="PREFIX", type=Path, help="repair a package that is installed here"))
    group.add_argument("--package", metavar="NAME", help="with --env: which one")
    only_typed(group.add_argument("--undo", action="store_true", help="with --env: revert the last repair"))


def execute(args: argparse.Namespace) -> int:
    """Repair every input and return the worst exit code."""
    options = repair_options(args)
    if args.env is not None:
        return _execute_installed(args, options)
    output = RepairOutput(args)
    if args.locked is not None:
        from wheelfix.plan.lock import read_lock

        plans = read_lock(args.locked)
        for plan in plans:
            with output.attempt(plan.wheel.path):
                from wheelfix.repairs.replay import replay

                output.add(replay(plan, options, str(args.locked)))
        return output.finish()
    inputs = expand_inputs(args.paths, folders=False, windows_only=True)
    for path in inputs.skipped:
        say(f"wheelfix: skipped: {path.name} is not a Windows wheel")
    for error in inputs.failures:
        output.fail(error.what, error)
    done = list(_repair_all(inputs.files, args, output))
    if args.lock is not None:
        from wheelfix.plan.lock import write_lock

        check_output(args.lock)  # again: a wheel may have been written there
        write_lock(done, args.lock)
    return output.finish()


def _repair_all(paths: tuple[Path, ...], args: argparse.Namespace, output: RepairOutput) -> Iterator[Plan]:
    groups = [(repair_options(own), group) for own, group in group_inputs(args, paths)]
    with ProgressBar(sys.stderr, paths, "repairing", enabled=_wanted(args)) as progress:
        output.progress = progress
        for options, group in groups:
            yield from _repair_group(group, options, args, output, progress)


def _repair_group(
    paths: list[Path], options: RepairOptions, args: argparse.Namespace, output: RepairOutput, progress: ProgressBar
) -> Iterator[Plan]:
    from wheelfix.repairs.outcome import FailedRepair
    from wheelfix.repairs.several import repair_all

    with contextlib.closing(repair_all(paths, options, dry_run=args.dry_run, progress=progress.part)) as results:
        for result in results:
            if isinstance(result, FailedRepair):
                output.fail(result.path, result.error)
            else:
                with output.attempt(result.plan.wheel.path):
                    output.add(result)
                yield result.plan
            progress.step()


def _wanted(args: argparse.Namespace) -> bool | None:
    return False if args.quiet else None


def _execute_installed(args: argparse.Namespace, options: RepairOptions) -> int:
    from wheelfix.repairs.installed import repair_installed, undo
    from wheelfix.roots.lazy import lazy_index

    look = look_of(sys.stdout, colour=args.color) if args.output is None else TextStyle(unicode=True)
    if args.undo:
        undone = undo(args.env, args.package)
        lines = [f"removed {path}" for path in undone.removed] + [f"restored {path}" for path in undone.restored]
        lines += [f"left alone, because it was changed since: {path}" for path in undone.kept]
        write_result("".join(f"{legible(line)}\n" for line in [*lines, "RECORD is as it was"]), args.output)
        return Exit.OK
    with lazy_index(options.scan.roots, options.scan.remote) as index:
        result = repair_installed(args.env, args.package, options, index, dry_run=args.dry_run)
    write_reports(args, lambda kind: _rendered_installed(kind, result, args, look))
    return Exit.OK


def _rendered_installed(kind: str, result: InstalledRepair, args: argparse.Namespace, look: TextStyle) -> str:
    outcome = "planned" if args.dry_run else "repaired" if result.changed else "unchanged"
    if kind == "json":
        from wheelfix.report.json_ import dump

        return dump(_installed_json(result))
    if kind == "html":
        from wheelfix.report.html.builds import render_repairs

        return render_repairs([PlanReport(result.plan, outcome)], (), made_by(args))
    from wheelfix.report.repairs import render_plan

    return render_plan(result.plan, outcome, "", look, verbose=args.verbose, quiet=args.quiet)


def _installed_json(result: InstalledRepair) -> dict[str, Json]:
    plan = result.plan.to_json()
    return {**plan, "outcome": "repaired" if result.changed else "unchanged", "added": list(result.added)}
