"""The parser of each command: everything that may be typed behind its name.

The commands' own modules are not imported here: ``--help``, completion and configuration files need the parsers only.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.commands import (
    COMMANDS,
    Parser,
    add_flag,
    add_path,
    add_words,
    did_you_mean,
    only_typed,
    root_parser,
)
from wheelfix.cli.optiongroups import (
    add_allow_missing,
    add_assumptions,
    add_baseline_options,
    add_delvewheel_options,
    add_fetch_option,
    add_filter_options,
    add_jobs_option,
    add_limit_options,
    add_output_options,
    add_policy_options,
    add_remote_options,
    add_report_option,
    add_root_options,
    add_set_options,
    add_target_options,
    add_trial_options,
    add_typed_report_option,
    add_windows_options,
    add_writing_options,
    positive,
)
from wheelfix.errors import UsageError
from wheelfix.report.canvas import COLOURS
from wheelfix.report.document import SCAN_KINDS

if TYPE_CHECKING:
    from wheelfix.cli.commands import Subparsers


def add_command(subparsers: Subparsers, name: str, description: str, examples: str) -> Parser:
    """Add a command's parser with its examples below the options."""
    summary = COMMANDS[name].summary
    return subparsers.add_parser(name, help=summary, description=description, epilog=f"examples:\n{examples}")


SCAN_EXAMPLES = """\
  wheelfix scan dist\\*.whl                     one wheel or many; patterns may stay quoted
  wheelfix scan dist --fail-on warning         a folder of wheels, stricter
  wheelfix scan C:\\envs\\build --package torch  an installed environment
  wheelfix scan torch.whl --root C:\\CUDA\\v11.7   say what could be vendored from there
  wheelfix scan torch.whl --format json -o scan.json
  wheelfix scan torch==2.7.1 --python-version 3.11   a wheel on the package index, read in parts
"""


def _scan(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "scan",
        "Report what is missing, wrong or risky in Windows wheels, what needs it, which error the\n"
        "import will raise, and where the missing DLLs could come from. Nothing is changed.",
        SCAN_EXAMPLES,
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a wheel, a pattern, a folder of wheels, an environment, a package folder, the URL of a wheel, or a "
        "project on the package index: torch==2.7.1, or numpy for the newest (default: dist)",
    )
    add_words(parser, "--package", "NAME", "in an environment: only this distribution")
    add_set_options(parser)
    parser.add_argument("--verify", action="store_true", help=argparse.SUPPRESS)
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
    parser.add_argument("--archs", action="store_true", help=argparse.SUPPRESS)
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


REPAIR_EXAMPLES = """\
  wheelfix repair dist\\*.whl                       into the folder wheelhouse
  wheelfix repair torch.whl --dry-run              what would be done, and why
  wheelfix repair torch.whl --fetch                what is missing comes from the package index
  wheelfix repair torch.whl --root D:\\CUDA\\v11.7 --root intel_openmp-2023.2.0-...whl
  wheelfix repair torch.whl --lock plan.json       then, elsewhere or later:
  wheelfix repair --locked plan.json               the same wheel, byte for byte
  wheelfix repair --env C:\\envs\\ml --package torch  an installed package; --undo reverts it
"""
REPAIR_KINDS = ("text", "json", "html")


def _repair(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "repair",
        "Find what is missing from a wheel, choose it from the roots that are found or named, and\n"
        "rewrite the wheel: old members unchanged, a correct RECORD, then read it back and scan it again.\n"
        "The input is never touched without --in-place; nothing is written if something stays broken.",
        REPAIR_EXAMPLES,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="a wheel, a pattern, a folder of wheels (default: dist)"
    )
    _add_repair_target(parser)
    add_policy_options(parser)
    add_writing_options(parser)
    add_jobs_option(parser)
    add_windows_options(parser)
    add_root_options(parser)
    add_limit_options(parser)
    add_fetch_option(add_remote_options(parser), "take DLLs that no root has from wheels on the package index")
    add_typed_report_option(add_output_options(parser, REPAIR_KINDS), REPAIR_KINDS)
    add_delvewheel_options(parser)


def _add_repair_target(parser: Parser) -> None:
    group = parser.add_argument_group("what is made")
    group.add_argument(
        "-w", "--wheel-dir", metavar="DIR", type=Path, help="folder for the repaired wheels (default: wheelhouse)"
    )
    add_flag(group, "--in-place", "replace the wheel itself, in one step at the very end", typed=True)
    add_flag(
        group,
        "--dry-run",
        "print the plan and write nothing; with --fetch, DLLs are read as far as needed to choose, but not"
        " downloaded (with --lock they are: a lock has their hashes)",
    )
    add_path(group, "--lock", "FILE", "also write the plan, with hashes, to this file")
    add_path(
        group,
        "--locked",
        "FILE",
        "carry out this plan, with the same wheel and sources wherever they are now",
        typed=True,
    )
    add_path(group, "--env", "PREFIX", "repair a package that is installed here", typed=True)
    group.add_argument("--package", metavar="NAME", help="with --env: which one")
    add_flag(group, "--undo", "with --env: revert the last repair", typed=True)


DIAGNOSE_EXAMPLES = """\
  wheelfix diagnose error.txt                    a traceback or a whole log, in any language
  python app.py 2>&1 | wheelfix diagnose -       from a pipe
  wheelfix diagnose --text "OSError: [WinError 126] ..."
  wheelfix diagnose                              the active environment, without a text
  wheelfix diagnose error.txt --env C:\\envs\\ml   with the files: the true cause
  wheelfix diagnose --record                     how to record the loads of a failing import
  wheelfix diagnose loads.txt --env C:\\envs\\ml   with a recording of dlltracer, loader snaps, ...
  wheelfix diagnose error.txt --wheel torch.whl --wheel torchvision.whl    are they compatible?
  wheelfix diagnose --wheel dist\\torch.whl --issue    the block to paste into an issue
"""
DIAGNOSE_KINDS = ("text", "json")


def _diagnose(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "diagnose",
        "Read an error text or a log in any display language, compare it with an environment or a\n"
        "wheel if there is one, and print the cause, the chain that leads to it, and what to do.\n"
        "Exits with 1 when a cause was found, 0 when there is no fault, 5 when it could not tell.",
        DIAGNOSE_EXAMPLES,
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?",
        help="the error text, a log, or recorded loads (see --record); - reads the standard input",
    )  # fmt: skip
    group = parser.add_argument_group("what to diagnose")
    group.add_argument("--text", metavar="TEXT", help="the error text itself")
    add_path(group, "--env", "PREFIX", "an environment, or a copy of one on any system")
    add_path(
        group,
        "--wheel",
        "W",
        "the wheel in question, or a folder of wheels; may be repeated: several are one installation",
        many=True,
    )
    group.add_argument("--package", metavar="NAME", default="", help="in an environment: look at this distribution")
    add_flag(group, "--record", "print the commands that record the loads of a failing import on Windows, and stop")
    add_jobs_option(parser)
    add_target_options(parser)
    add_root_options(parser)
    what = "where there was no wheel: ask the package index for which Python it has one"
    add_flag(add_remote_options(parser), "--fetch", what, typed=True)
    group = add_output_options(parser, DIAGNOSE_KINDS)
    add_flag(group, "--issue", "print the block to paste into an issue; user names are masked", dest="issue_block")
    add_typed_report_option(group, DIAGNOSE_KINDS)


VERIFY_EXAMPLES = """\
  wheelfix verify wheelhouse\\*.whl
  wheelfix verify torch.whl --format json -o verify.json
"""


def _verify(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "verify",
        "Hash every member and compare it with RECORD, compare local headers with the directory,\n"
        "and apply the rules by which PyPI, pip and uv refuse archives. DLLs are not looked into.",
        VERIFY_EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    add_jobs_option(parser)
    add_limit_options(parser)
    # Whatever RECORD disagrees about is what this command is for, and most of it does no harm to an import.
    add_filter_options(parser, fail_on="warning")
    add_report_option(add_output_options(parser, SCAN_KINDS))


CI_EXAMPLES = """\
  wheelfix ci dist\\*.whl -w wheelhouse
  wheelfix ci dist\\*.whl --format github --report sarif=wheelfix.sarif --report html=wheelfix.html
  wheelfix ci dist\\*.whl --baseline wheelfix-baseline.json --fail-on warning
  wheelfix ci dist\\*.whl --fetch --try -- --with wheelhouse --module demo
"""


def _ci(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "ci",
        "Repair every wheel into the target folder, then verify and scan the results. The exit code\n"
        "is 0 only if every resulting wheel is clean; the reports are about the resulting wheels,\n"
        "or about the original wheel if it could not be repaired.",
        CI_EXAMPLES,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="a wheel, a pattern, a folder of wheels (default: dist)"
    )
    parser.add_argument(
        "-w", "--wheel-dir", metavar="DIR", type=Path, help="folder for the repaired wheels (default: wheelhouse)"
    )
    add_policy_options(parser)
    add_writing_options(parser)
    add_jobs_option(parser)
    add_windows_options(parser)
    add_root_options(parser)
    add_limit_options(parser)
    add_flag(
        parser,
        "--try",
        "at the end, import each wheel that was written, as 'wheelfix try' does: THIS RUNS THE CODE OF THE WHEEL; "
        "options of 'try' follow at the end, after --",
        dest="trial",
        typed=True,
    )
    add_trial_options(parser, "try-")
    add_fetch_option(add_remote_options(parser), "take DLLs that no root has from wheels on the package index")
    add_baseline_options(add_filter_options(parser, fail_on="unsure"))
    add_report_option(add_output_options(parser, SCAN_KINDS))
    add_delvewheel_options(parser)


TRY_EXAMPLES = """\
  wheelfix try dist\\*.whl                           each wheel in an environment of its own
  wheelfix try a.whl --with wheelhouse              requirements from a folder of wheels
  wheelfix try a.whl --index-url https://pypi.org/simple
  wheelfix try a.whl --python-home python-3.12.8-embed-amd64.zip    under Wine
  wheelfix try a.whl --module a --format junit -o try.xml
"""
TRY_FORMATS = ("text", "json", "junit")


def _try(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "try",
        "THIS RUNS THE CODE OF THE WHEEL. Install it with pip into a clean environment, import each\n"
        "top-level module and each extension module in a fresh process, list the DLLs that were\n"
        "loaded, and compare how each import ends with what 'wheelfix scan' predicts. On Windows in\n"
        "a virtual environment; elsewhere under Wine, without network and home folder where the\n"
        "machine allows it. Everything is removed afterwards.",
        TRY_EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    add_trial_options(parser)
    add_output_options(parser, TRY_FORMATS)


SIGN_EXAMPLES = """\
  wheelfix sign wheelhouse --command "signtool sign /a /fd SHA256 {files}"
  wheelfix sign a.whl --in-place --command "osslsigncode sign -pkcs12 my.p12 -in {file} -out {out}"
  wheelfix sign a.whl --exclude "nvrtc*.dll" --dry-run --command "signtool sign /a {file}"
"""


def _sign(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "sign",
        "Run a signing command on every PE file of a wheel that has no valid signature, check each\n"
        "signature, and write the wheel with the signed files and a correct RECORD. The input is never\n"
        "touched without --in-place; if anything fails, nothing is written.",
        SIGN_EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    _add_sign_command(parser)
    _add_sign_choice(parser)
    add_limit_options(parser)
    _add_sign_output(parser)


def _add_sign_command(parser: Parser) -> None:
    group = parser.add_argument_group("the command")
    only_typed(group.add_argument(
        "--command", "--with", dest="with", metavar="COMMAND", required=True,
        help="the command that signs: {file} is one file, {files} several, {out} the name of the signed copy where the "
        "program does not sign in place, {cwd} the current folder; no shell is used",
    ))  # fmt: skip
    group.add_argument("--timeout", type=positive, default=600, help=argparse.SUPPRESS)


def _add_sign_choice(parser: Parser) -> None:
    group = parser.add_argument_group("what is signed, and where it goes")
    group.add_argument(
        "-w", "--wheel-dir", "-o", "--output-dir", dest="output_dir", metavar="DIR", type=Path,
        help="folder for the signed wheels (default: signed)",
    )  # fmt: skip
    add_flag(group, "--in-place", "replace each wheel itself, in one step at the very end", typed=True)
    add_flag(group, "--dry-run", "show what would be signed; start and write nothing")
    add_words(group, "--include", "GLOB", "only PE files whose path or name matches", dest="sign_include")
    add_words(group, "--exclude", "GLOB", "all but these", dest="sign_exclude")
    add_flag(group, "--resign", "also sign files that have a valid signature, which replaces it")
    add_flag(group, "--require-trusted", argparse.SUPPRESS)
    add_path(
        group,
        "--trusted-roots",
        "FILE",
        "PEM file of root certificates to trust, besides those on Microsoft's list",
        typed=True,
    )


def _add_sign_output(parser: Parser) -> None:
    """Add what is printed; ``-o`` is the folder of the wheels here."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format", metavar="KIND", choices=("text", "json"), default="text", help="text, json (default text)"
    )
    group.add_argument(
        "--color", metavar="WHEN", choices=COLOURS, default=COLOURS[0],
        help="auto, always, never (default auto: on terminals, as NO_COLOR and FORCE_COLOR say)",
    )  # fmt: skip
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="also show what the command prints")
    loudness.add_argument("-q", "--quiet", action="store_true", help="print one line per wheel")


SURVEY_EXAMPLES = """\
  wheelfix survey D:\\mirror -o survey              every Windows wheel of a folder, as tables
  wheelfix survey s3://bucket/wheels -o survey     of a bucket; the same command resumes
  wheelfix survey - -o survey                      of a list of paths and URLs on stdin
  wheelfix survey --names names.txt -o survey      of a package index, in parts by range requests
  wheelfix survey query -o survey                  list the named questions
  wheelfix survey query who-ships libiomp5md.dll -o survey
  wheelfix survey query "SELECT verdict, count(*) FROM wheels GROUP BY 1" -o survey
"""
SURVEY_FORMATS = ("table", "csv", "json")
ENGINES = ("local", "dask")


def _survey(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "survey",
        "Read every Windows wheel of a folder, a bucket or a list into Parquet tables: wheels, images,\n"
        "imports, edges, findings and providers. A stopped survey resumes where it was. 'survey\n"
        "query' answers questions about the tables. Needs the extra survey.",
        SURVEY_EXAMPLES,
    )
    parser.add_argument(
        "words",
        metavar="SOURCE",
        nargs="*",
        help="a folder, a wheel, a URL (s3://, gs://, https://, ...), or - for a list on stdin; "
        "or query, followed by a question or SQL",
    )
    only_typed(
        parser.add_argument(
            "-o",
            "--output",
            dest="survey_folder",
            metavar="FOLDER",
            type=Path,
            required=True,
            help="the folder with the tables",
        )
    )
    add_path(
        parser,
        "--names",
        "FILE",
        "also the wheels of these projects on the package index: one per line, numpy or torch==2.4.1",
        typed=True,
    )
    add_jobs_option(parser)
    add_remote_options(parser)
    add_assumptions(parser)
    group = parser.add_argument_group("several machines")
    group.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    only_typed(group.add_argument(
        "--scheduler", metavar="URL", help=argparse.SUPPRESS
    ))  # fmt: skip
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        metavar="KIND",
        choices=SURVEY_FORMATS,
        default="table",
        help="format of the answer: table (default), csv, json",
    )
    group.add_argument("-q", "--quiet", action="store_true", help="do not show progress")


ROOTS_EXAMPLES = """\
  wheelfix roots                          all roots, with versions, and how they were found
  wheelfix roots cudnn64_8.dll            which of them have this DLL
  wheelfix roots "mkl_*.dll" --no-discover --root D:\\oneAPI
  wheelfix roots --format json
"""


def _roots(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "roots",
        "List the CUDA, cuDNN, oneAPI, conda, pip and Visual C++ folders that are found, with their\n"
        "versions, how they were found, and which of their folders are searched.",
        ROOTS_EXAMPLES,
    )
    parser.add_argument("names", metavar="DLL", nargs="*", help="also show which roots have this DLL; may be a pattern")
    add_root_options(parser)
    add_output_options(parser, ("text", "json"))


DIFF_EXAMPLES = """\
  wheelfix diff torch-2.4.0-....whl torch-2.4.1-....whl
  wheelfix diff last-good.json dist\\*.whl --fail-on lost   in CI; the JSON is from
  wheelfix scan dist\\*.whl --format json -o last-good.json
"""
DIFF_KINDS = ("text", "json", "markdown", "html")


def _diff(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "diff",
        "Say which DLLs vanished, appeared, moved or changed version or size between two builds, and\n"
        "which findings are new or fixed. Several wheels are matched by their names.",
        DIFF_EXAMPLES,
    )
    parser.add_argument(
        "old",
        metavar="OLD",
        help="a wheel, a pattern, a folder of wheels, a saved scan (JSON), a URL, or a name such as torch==2.7.0",
    )
    parser.add_argument("new", metavar="NEW", help="the same, of the new build")
    parser.add_argument("--fail-on-lost", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--fail-on", metavar="LEVEL", choices=("error", "unsure", "warning", "info", "lost", "never"), default="never",
        help="exit with 1 for new findings of this severity or worse: error, unsure, warning, info; lost: if a DLL or "
        "a whole wheel vanished; never (default)",
    )  # fmt: skip
    parser.add_argument("--no-versions", action="store_true", help=argparse.SUPPRESS)
    add_jobs_option(parser)
    add_target_options(parser)
    add_remote_options(parser)
    add_typed_report_option(add_output_options(parser, DIFF_KINDS), DIFF_KINDS)


CACHE_EXAMPLES = """\
  wheelfix cache info
  wheelfix cache clear
  WHEELFIX_CACHE_SIZE=1G wheelfix scan torch==2.7.1   keep less (default 5G)
"""


def _cache(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "cache",
        "Show or remove what was fetched from servers: parts of wheels, and whole wheels. What was\n"
        "not used for the longest time is removed when WHEELFIX_CACHE_SIZE is exceeded.",
        CACHE_EXAMPLES,
    )
    parser.add_argument("action", choices=("info", "clear"), help="show what there is, or remove all of it")
    parser.add_argument("--cache-dir", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text, json (default text)")


EXPLAIN_EXAMPLES = """\
  wheelfix explain                     every finding in one line each
  wheelfix explain WF301               the page of one
  wheelfix explain missing-dependency  the same, by name
  wheelfix explain WF3                 all codes that begin with WF3
  wheelfix explain 126                 what WinError 126 means
"""


def _explain(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "explain",
        "Show what a finding means, why it hurts and what to do; without a code, list them all.",
        EXPLAIN_EXAMPLES,
    )
    parser.add_argument(
        "code",
        metavar="CODE",
        nargs="*",
        help="a code (WF301 or 301), a name (missing-dependency), WF3, or a WinError (126)",
    )
    add_output_options(parser, ("text", "markdown", "json"))


DEMO_EXAMPLES = """\
  wheelfix demo               needs no files and no network
  wheelfix demo --keep        keeps the folder
"""
STORIES = ("cu117", "cu114")


def _demo(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "demo",
        "Make a small torch-like wheel with missing DLLs, and small CUDA and oneAPI folders that have\n"
        "them, in a temporary folder; then scan, repair, scan again and verify.",
        DEMO_EXAMPLES,
    )
    add_flag(parser, "--keep", argparse.SUPPRESS)
    parser.add_argument(
        "--story",
        choices=STORIES,
        default="cu117",
        help=argparse.SUPPRESS,
    )


COMPLETION_EXAMPLES = """\
  wheelfix completion bash >> ~/.bashrc
  wheelfix completion zsh > ~/.zfunc/_wheelfix          a folder in $fpath
  wheelfix completion fish > ~/.config/fish/completions/wheelfix.fish
  wheelfix completion powershell >> $PROFILE
"""
SHELLS = ("bash", "zsh", "fish", "powershell")


def _completion(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "completion",
        "Print a script that completes commands, options, files and finding codes.",
        COMPLETION_EXAMPLES,
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


PARSERS = {
    "scan": _scan,
    "repair": _repair,
    "diagnose": _diagnose,
    "verify": _verify,
    "ci": _ci,
    "try": _try,
    "sign": _sign,
    "survey": _survey,
    "roots": _roots,
    "diff": _diff,
    "cache": _cache,
    "explain": _explain,
    "demo": _demo,
    "completion": _completion,
}


OTHER_WORDS = {"check": "scan", "show": "scan", "lint": "scan", "inspect": "scan", "audit": "scan", "fix": "repair"}
"""What commands of other tools are called, with ours."""


def command_parser(name: str) -> Parser:
    """Return the parser of one command; a slip in its name is answered with the likely one."""
    if name not in COMMANDS:
        meant = f"did you mean '{OTHER_WORDS[name]}'?" if name in OTHER_WORDS else did_you_mean(name, COMMANDS)
        hint = meant or "'wheelfix --help' lists the commands"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    return _added(root_parser().add_subparsers(dest="command", prog="wheelfix", parser_class=Parser), name)


def whole_parser() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser that has all commands, and those of the commands."""
    root = root_parser()
    subparsers: Subparsers = root.add_subparsers(dest="command", prog="wheelfix", parser_class=Parser)
    return root, {name: _added(subparsers, name) for name in COMMANDS}


def _added(subparsers: Subparsers, name: str) -> Parser:
    PARSERS[name](subparsers)
    parser: Parser = subparsers.choices[name]
    parser.usage = parser.shown_usage()
    group = parser.add_argument_group("configuration")
    add_path(group, "--config", "FILE", "read this file instead of the nearest one; none: read no file")
    add_flag(group, "--show-config", "print what is in force and where it came from")
    add_flag(group, "--no-config", argparse.SUPPRESS)
    if name in WITHOUT_CONFIGURATION:
        for action in parser.titled_groups()[-1][1]:
            action.help = argparse.SUPPRESS
    return parser


WITHOUT_CONFIGURATION = frozenset({"cache", "explain", "demo", "completion"})
"""Commands that no file configures."""


def current_spelling(name: str, argv: list[str]) -> list[str]:
    """Return the words with ``diagnose --issue`` for ``--report`` without ``KIND=FILE``, its name until 0.1.

    What follows ``--`` on the command line of ``ci`` are options of ``try``, which ``ci`` knows with a prefix.
    """
    if name == "ci" and "--" in argv:
        at = argv.index("--")
        own = [f"--try-{word[2:]}" if word.startswith("--") else word for word in argv[at + 1 :]]
        if own and "--try" not in argv[:at]:
            raise UsageError("what follows -- are options of 'wheelfix try'", hint="add --try before --")
        return [*argv[:at], *own]
    return [
        "--issue"
        if name == "diagnose" and word == "--report" and not re.match(r"\w+=", "".join(argv[number : number + 1]))
        else word
        for number, word in enumerate(argv, 1)
    ]
