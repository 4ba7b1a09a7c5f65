"""Runs a command, and turns errors into a message and an exit code."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import sys

from wheelfix.base.inputfiles import begin_run, end_run
from wheelfix.cli.commands import give_up_stdout, load_command, root_parser, say, say_error
from wheelfix.errors import Exit, UsageError, WheelfixError, reason_of, unexpected_text, was_interrupted
from wheelfix.streams.pool import interruptible, tune


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
    from wheelfix.cli.settings import arguments_of

    begin_run()
    args = arguments_of(argv)
    return load_command(argv[0])(args) if args is not None else Exit.OK


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
        except BaseException as error:  # the last place where any exception is caught
            interrupts.ignore()
            if os.environ.get("WHEELFIX_DEBUG"):
                raise
            return report_error(error)
        finally:
            end_run()
    return code


def report_error(error: BaseException) -> int:
    """Print the error on stderr, in layers, and return its exit code."""
    if isinstance(error, WheelfixError):
        say_error(error.what, *error.reasons, hint=error.hint)
        return error.exit_code
    if was_interrupted(error):
        say("wheelfix: interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.errno == errno.EPIPE):
        give_up_stdout()
        return Exit.ENVIRONMENT
    if isinstance(error, OSError):
        names = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
        hint = OS_HINTS.get(error.errno or 0, "")
        say_error(names or "the system refused", reason_of(error), hint=hint)
        return Exit.ENVIRONMENT
    if isinstance(error, MemoryError):
        say_error("out of memory", hint="try fewer jobs: -j 1")
        return Exit.ENVIRONMENT
    if isinstance(error, Exception):
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


def make_streams_forgiving() -> None:
    """Let a character that the console cannot show become ``?``, and a closed stream swallow everything."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Opened before anything else, it also takes the closed descriptor, which a wheel would get otherwise.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with contextlib.suppress(OSError, ValueError):
                reconfigure(errors="replace")


def entry() -> None:
    """The console script."""
    tune()
    code = main(last=True)
    atexit._run_exitfuncs()  # temporary folders are removed there
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)  # freeing ten thousand values one by one takes time, and the process ends anyway
