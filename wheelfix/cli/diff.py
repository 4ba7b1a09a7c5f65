"""``wheelfix diff``: what changed since the last good wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import UnfitFile, read_file
from wheelfix.base.options import RootOptions
from wheelfix.base.parsing import MAX_JSON
from wheelfix.cli.common import (
    Results,
    expand_inputs,
    made_by,
    open_client,
    say_bytes,
    scan_options,
    style_of,
    write_reports,
)
from wheelfix.errors import InputError
from wheelfix.exam.scan import scan_all
from wheelfix.report.builds import Build, Comparison, compare_all, comparison_blocks, read_document
from wheelfix.report.canvas import render_text
from wheelfix.report.ci import markdown_text
from wheelfix.report.document import LEVELS
from wheelfix.report.html.scan import render_comparison
from wheelfix.report.json_ import render

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from wheelfix.remote.client import Client


def execute(args: argparse.Namespace) -> int:
    """Compare, report, and return 1 where something vanished that must not."""
    results = Results(args)
    with open_client(args) as client:
        old, new = (_builds(word, args, client, results) for word in (args.old, args.new))
    if results.failures and not (old and new):  # one side is gone: there is nothing to compare
        return results.exit_code()
    comparison = compare_all(old, new, [failure.path for failure in results.failures])
    write_reports(args, lambda kind: _rendered(kind, comparison, args))
    return results.exit_code(failed=_failed(comparison, args))


def _rendered(kind: str, comparison: Comparison, args: argparse.Namespace) -> str:
    if kind == "json":
        return render("diff-1", comparison=comparison)
    if kind == "markdown":
        return markdown_text("wheelfix diff", comparison_blocks(comparison))
    if kind == "html":
        return render_comparison(comparison, made_by(args))
    printed = args.output is None and args.format == "text"
    look = style_of(args) if printed else style_of(args).in_file
    return render_text(comparison_blocks(comparison, quiet=look.quiet), look)


def _failed(comparison: Comparison, args: argparse.Namespace) -> bool:
    lost = bool(comparison.only_old) or any(difference.lost for difference in comparison.differences)
    arisen = [problem.severity.value for difference in comparison.differences for problem in difference.arisen]
    level = LEVELS["never" if args.fail_on == "lost" else args.fail_on]
    return (lost and (args.fail_on_lost or args.fail_on == "lost")) or any(LEVELS[one] >= level for one in arisen)


def _builds(word: str, args: argparse.Namespace, client: Client, results: Results) -> list[Build]:
    """Return the builds that an argument names: saved ones are read, wheels are scanned; failures are reported."""
    inputs = expand_inputs([word], client=client)
    if inputs.failures:
        raise inputs.failures[0].error
    saved = [path for path in inputs.files if path.suffix.lower() == ".json"]
    builds = [build for path in saved for build in read_document(_text(path), str(path))]
    options = scan_options(args, versions=not args.no_versions, roots=RootOptions(discover=False))
    found = scan_all([path for path in inputs.paths if path not in saved], options)
    builds += map(Build.from_report, results.take(found))
    say_bytes(inputs.paths, args)
    return builds


def _text(path: Path) -> str:
    try:
        return read_file(path, MAX_JSON).decode("utf-8-sig", "replace")
    except UnfitFile as error:
        raise InputError(f"{path} is not a saved scan", because=error) from error
