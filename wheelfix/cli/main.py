"""The door to every command: finds its module, runs it, and turns what stops us into a message and an exit code.

A command lives in ``cli/<name>.py`` with ``configure_parser(subparsers)`` and ``execute(args) -> int``, and is
imported only when it is called, so that ``--version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import importlib
import os
import sys
import warnings
from typing import TYPE_CHECKING, NamedTuple, Protocol

import wheelfix
from wheelfix.cli.parser import Parser, did_you_mean
from wheelfix.cli.signals import interruptible
from wheelfix.errors import Exit, UsageError, WheelfixError

if TYPE_CHECKING:
    import argparse
    from typing import TypeAlias

    Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"


class Command(NamedTuple):
    """What the list of commands says before the command's own module is read."""

    module: str
    summary: str


class CommandModule(Protocol):
    """What ``cli/<name>.py`` has."""

    def configure_parser(self, subparsers: Subparsers) -> None:
        """Add the command's parser."""

    def execute(self, args: argparse.Namespace) -> int:
        """Do the work, print the result and return the exit code."""


COMMANDS = {
    "scan": Command("wheelfix.cli.scan", "say what a Windows wheel lacks, and what its import will do"),
    "repair": Command("wheelfix.cli.repair", "vendor what is missing and write a wheel that is right"),
    "diagnose": Command("wheelfix.cli.diagnose", "say what is behind an error text, and what to do"),
    "verify": Command("wheelfix.cli.verify", "check RECORD and the archive against every byte"),
    "ci": Command("wheelfix.cli.ci", "the whole last stage of CI: scan, repair, verify, scan again, report"),
    "roots": Command("wheelfix.cli.roots", "list the places that DLLs could come from"),
    "diff": Command("wheelfix.cli.diff", "say what changed between two builds of a wheel"),
    "explain": Command("wheelfix.cli.explain", "show the page of a finding, or list all findings"),
    "demo": Command("wheelfix.cli.demo", "make a small broken wheel and mend it before your eyes"),
    "completion": Command("wheelfix.cli.completion", "print a completion script for your shell"),
    "man": Command("wheelfix.cli.man", "print the manual page"),
}

DESCRIPTION = """\
Says why a Windows wheel will not import, vendors the DLLs it lacks, and writes it
anew with a correct RECORD. Runs on any system: no Windows is needed to reason
about Windows.
"""

EXIT_CODES = """\
exit codes:
  0 clean   1 findings   2 usage   3 unreadable input   4 disk, permission, tools
  5 could not tell (diagnose)   130 interrupted
"""

EXAMPLES = """\
examples:
  wheelfix scan dist/*.whl            what is missing, and what the import will say
  wheelfix repair dist/*.whl          vendor it and write the wheel anew, into wheelhouse
  wheelfix diagnose error.txt         from an error text to the cause and the way out
  wheelfix roots                      where DLLs could come from
  wheelfix explain WF301              what a finding means and what to do
"""


def root_parser() -> Parser:
    """Return the parser of ``wheelfix`` itself, which knows the commands by name only."""
    listing = "\n".join(f"  {name:<11} {command.summary}" for name, command in COMMANDS.items())
    parser = Parser(
        prog="wheelfix",
        usage="wheelfix [-h] [--version] COMMAND ...",
        description=f"{DESCRIPTION}\ncommands:\n{listing}\n\n'wheelfix COMMAND --help' tells more about one of them.",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
    )
    parser.add_argument("--version", action="version", version=f"wheelfix {wheelfix.__version__}")
    return parser


def load_command(name: str) -> CommandModule:
    """Import the module of a command; a slip in the name is answered with the likely one."""
    command = COMMANDS.get(name)
    if command is None:
        hint = did_you_mean(name, COMMANDS) or "'wheelfix --help' lists the commands"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    module: CommandModule = importlib.import_module(command.module)
    return module


def command_parser(name: str, module: CommandModule) -> Parser:
    """Return the parser of one command, with the options that all commands have."""
    from pathlib import Path  # 15 ms that --version need not pay

    subparsers: Subparsers = root_parser().add_subparsers(dest="command", prog="wheelfix", parser_class=Parser)
    module.configure_parser(subparsers)
    parser: Parser = subparsers.choices[name]
    group = parser.add_argument_group("configuration")
    group.add_argument("--config", metavar="FILE", type=Path, help="read this file instead of the nearest one")
    group.add_argument("--no-config", action="store_true", help="read no file")
    group.add_argument("--show-config", action="store_true", help="print what is in force and where it came from")
    return parser


def run(argv: list[str]) -> int:
    """Run one command line; errors come out as exceptions."""
    if not argv:
        root_parser().print_help()
        return Exit.USAGE
    if argv[0].startswith("-"):
        root_parser().parse_strictly(argv)
        raise UsageError("a command comes first", hint="for example: wheelfix scan dist/*.whl")
    if argv[0] == "help":
        argv = [*argv[1:2], "--help"]
        return run(argv)
    from wheelfix.cli.settings import describe, read_settings

    name, rest = argv[0], argv[1:]
    module = load_command(name)
    parser = command_parser(name, module)
    if "--show-config" in rest:
        parser.require_nothing()
        sys.stdout.write(describe(read_settings(parser, name, rest)))
        return Exit.OK
    return module.execute(read_settings(parser, name, rest).namespace())


def main(argv: list[str] | None = None, *, last: bool = False) -> int:
    """Run ``wheelfix`` with these arguments and return its exit code; nothing escapes as a traceback.

    With ``last`` the process has nothing else to do, and requests to stop are ignored from the end on.
    """
    make_streams_forgiving()
    with interruptible(last=last) as interrupts:
        try:
            try:
                code = run(sys.argv[1:] if argv is None else list(argv))
            except SystemExit as stop:  # argparse after --help and --version
                code = stop.code if isinstance(stop.code, int) else Exit.OK
            sys.stdout.flush()
        except BaseException as error:  # the one place where everything ends
            interrupts.ignore()
            if os.environ.get("WHEELFIX_DEBUG"):
                raise
            return report_error(error)
    return code


def report_error(error: BaseException) -> int:
    """Say on stderr what stopped us, in layers, and return the exit code that belongs to it."""
    if isinstance(error, WheelfixError):
        say_error(error.what, *error.reasons, hint=error.hint)
        return error.exit_code
    # An interrupt that falls into the making of a class comes out as the cause of a RuntimeError.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        say("wheelfix: interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.errno == errno.EPIPE):
        # Whoever read our output has gone; give the interpreter's last flush somewhere to go.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.ENVIRONMENT
    if isinstance(error, OSError):
        names = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        hint = OS_HINTS.get(error.errno or 0, "")
        say_error(names or "the system refused", error.strerror or str(error), hint=hint)
        return Exit.ENVIRONMENT
    if isinstance(error, MemoryError):
        say_error("out of memory", hint="try fewer jobs: -j 1")
        return Exit.ENVIRONMENT
    if isinstance(error, Exception):
        from wheelfix.failures import unexpected_text

        say_error(
            "this should not have happened",
            *unexpected_text(error),
            hint="please report it, with these lines and the command line; WHEELFIX_DEBUG=1 shows more",
        )
        return Exit.ENVIRONMENT
    raise error


OS_HINTS = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EACCES: "check the permissions of the file and of its folder, and whether another program has it open",
    errno.EPERM: "check the permissions of the file and of its folder",
    errno.EROFS: "the file system is read-only; write somewhere else",
    errno.EMFILE: "too many files are open; try fewer jobs: -j 1",
}


def say_error(what: str, *reasons: str, hint: str = "") -> None:
    """Print one error in layers: what happened, because of what, each reason on a line of its own, what to try."""
    from wheelfix.report.words import legible

    say(f"wheelfix: error: {legible(what)}")
    for number, reason in enumerate(reasons):
        say(f"  {'because:' if number == 0 else '        '} {legible(reason)}")
    if hint:
        say(f"  hint: {legible(hint)}")


def say(line: str) -> None:
    """Print a line on stderr, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


def make_streams_forgiving() -> None:
    """Let a character that the console cannot show become ``?``, and a closed stream swallow everything."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Opened first thing, it also takes the closed descriptor, which a wheel would get otherwise.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with contextlib.suppress(OSError, ValueError):
                reconfigure(errors="replace")


def entry() -> None:
    """The console script."""
    # Ten thousand members are ten thousand tuples that live to the end: looking through them for cycles finds none.
    gc.set_threshold(200_000, 50, 50)
    # Threads that unpack need the interpreter only between two pieces, and then at once.
    sys.setswitchinterval(0.00001)
    warnings.simplefilter("ignore")  # of Python, about code that others wrote and we only read
    code = main(last=True)
    atexit._run_exitfuncs()  # temporary folders are removed there
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)  # to take ten thousand values apart one by one would be nobody's gain
