"""Every command that a report prints can be typed: our own parser takes it, and it keeps what the user said."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.invariants.generate import make
from tests.support.environments import install
from wheelfix.cli.commands import command_parser, load_command
from wheelfix.cli.common import root_options
from wheelfix.demo.example import kepler_cu114, kepler_cu117, write_roots, write_wheel
from wheelfix.diagnosis.diagnose import diagnose
from wheelfix.exam.scan import scan
from wheelfix.options import RootOptions, ScanOptions
from wheelfix.report.canvas import TextStyle
from wheelfix.report.formats import MACHINE_KINDS, render
from wheelfix.report.text import render_scan
from wheelfix.report.words import missing_hints
from wheelfix.rules.registry import all_rules, page

COMMAND = re.compile(r"'(wheelfix (?:scan|repair|diagnose|verify|ci|explain|roots)[^']*)'")


def parsed(command: str):
    """What our own parser makes of a command; the placeholders in it are words like any other."""
    _, name, *words = shlex.split(command)
    return command_parser(name, load_command(name)).parse_args(words)


def printed(text: str) -> set[str]:
    return {re.sub(r"\s+", " ", found).replace('\\"', '"') for found in COMMAND.findall(text)}


@pytest.mark.parametrize("story", [kepler_cu117, kepler_cu114], ids=["cuda-11.7", "cuda-11.4"])
def test_what_diagnose_proposes_keeps_every_option(story, tmp_path) -> None:
    """It dropped --cuda and --assume, so that the repair which was pasted planned something else."""
    example = story()
    wheel = write_wheel(example, tmp_path)
    named = tuple(write_roots(example, tmp_path / "roots of mine").values())
    toolkits = tuple(path for path in named if "CUDA" in path.parts)
    others = tuple(path for path in named if path not in toolkits)
    options = ScanOptions(
        assume=("nvidia-driver", "vcredist"),
        no_assume=("conda",),
        roots=RootOptions(roots=others, cuda=toolkits, discover=False, search_path=True),
    )
    prefix = install(wheel, tmp_path / "env")
    for target in ({"wheel": wheel}, {"environment": prefix}):
        remedies = diagnose(options=options, **target).remedies
        commands = [part for remedy in remedies for part in remedy.command.split(" && ") if "wheelfix repair" in part]
        assert commands
        for command in commands:
            args = parsed(command)
            assert (args.assume, args.no_assume) == (["nvidia-driver", "vcredist"], ["conda"])
            kept = root_options(args)
            assert (kept.roots, kept.cuda) == (others, toolkits)
            assert kept.search_path
            assert args.paths == [str(wheel)] or args.env == prefix


def test_what_a_scan_proposes_names_the_roots_that_it_was_given(tmp_path) -> None:
    example = kepler_cu117()
    roots = tuple(write_roots(example, tmp_path / "roots").values())
    toolkits = tuple(path for path in roots if "CUDA" in path.parts)
    others = tuple(path for path in roots if path not in toolkits)
    chosen = RootOptions(roots=others, cuda=toolkits, discover=False)
    report = scan(write_wheel(example, tmp_path), ScanOptions(roots=chosen))
    commands = set().union(*map(printed, missing_hints(report.missing, report.machine)))
    named = [path for command in commands for path in (*parsed(command).root, *parsed(command).cuda)]
    assert named
    assert set(named) <= set(roots)
    assert all(set(parsed(command).cuda) <= set(toolkits) for command in commands)


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_every_command_in_every_report_can_be_parsed(seed, tmp_path) -> None:
    report = scan(make(seed).wheel(tmp_path), ScanOptions(jobs=1, roots=RootOptions(discover=False)))
    texts = [
        render_scan(report, TextStyle(), verbose=True),
        *(render(kind, [report]) for kind in ("markdown", "github")),
    ]
    texts += [finding.hint for finding in report.findings]
    for command in set().union(*map(printed, texts)):
        parsed(command)
    assert set(MACHINE_KINDS) >= {"markdown", "github"}


def test_every_command_on_the_pages_of_findings_can_be_parsed() -> None:
    for rule in all_rules():
        for command in re.findall(r"`(wheelfix (?:scan|repair|verify|diagnose) [^`]*)`", page(rule.code)):
            left_out = "" if re.search(r" WHEEL| ENV|\.whl", command) else " one.whl"  # pages may leave the wheel out
            parsed(command.replace("\\", "/").replace("…", "x") + left_out)
