"""The only module that starts other programs: by absolute path, in an empty folder, for a bounded time.

wheelfix is often run in a folder of files from strangers. So a program is never looked for in the current
folder, which Windows itself would search first; its working folder is new and empty; Python runs isolated (``-I``),
so that neither the current folder nor ``PYTHONPATH`` decides what is imported.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import ntpath
import os
import posixpath
import select
import shlex
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    Worker: TypeAlias = "subprocess.Popen[bytes] | ForkedWorker"

MAX_OUTPUT = 1 << 20
"""Bytes of each stream that are kept; what a program prints beyond that is read and dropped."""
WINDOWS_SUFFIXES = (".com", ".exe")
_OPEN_FILES = "/proc/self/fd"
"""The numbers of open files; all that there may be are a billion in some containers."""
_GRACE = 2.0
"""Seconds to wait for the last output of a program that has ended or was killed."""


@frozen
class Finished:
    """How a program ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams, the results first."""
        return self.out + self.err

    @property
    def last_line(self) -> str:
        """The last thing that it printed, which says most about a failure; else its exit code."""
        return (self.text.strip() or f"exit code {self.code}").splitlines()[-1]


# --------------------------------------------------------------------------------------------------- finding programs


def quoted_words(text: str) -> list[str]:
    """Return the words of a command line: quotes keep blanks together, and backslashes stay."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def find_program(name: str) -> str | None:
    """Return the absolute path of a program on PATH, or None; the current folder is never searched."""
    places = program_places(name, os.environ.get("PATH", ""), str(Path.cwd()), windows=os.name == "nt")
    return next(filter(_can_be_run, places), None)


def program_places(name: str, path: str, current: str, *, windows: bool) -> Iterator[str]:
    """Yield the absolute paths that a program on PATH may have on a system, those that count first.

    Folders of PATH that are relative, or are the current folder, are passed over.
    """
    flavour = ntpath if windows else posixpath
    if not name or any(mark in name for mark in "/\\:\0"):
        return
    # Windows itself starts only these. Batch files go through cmd.exe, which has quoting rules of its own.
    suffixes = ("",) if not windows or name.lower().endswith(WINDOWS_SUFFIXES) else WINDOWS_SUFFIXES
    for text in path.split(flavour.pathsep):
        folder = text.strip().strip('"') if windows else text
        if _is_absolute(folder, windows) and _plain(folder, windows) != _plain(current, windows):
            yield from (flavour.join(folder, name + suffix) for suffix in suffixes)


def _is_absolute(folder: str, windows: bool) -> bool:
    """Whether a folder is the same one from everywhere; ``C:bin`` and ``\\bin`` depend on where one is."""
    if not windows:
        return posixpath.isabs(folder)
    drive, rest = ntpath.splitdrive(folder)
    return bool(drive) and rest[:1] in ("\\", "/")


def _plain(folder: str, windows: bool) -> str:
    """Return a folder in the one spelling by which two are compared; links are followed where they can be."""
    real = os.path.realpath(folder) if windows == (os.name == "nt") else folder
    return ntpath.normcase(ntpath.normpath(real)) if windows else real


def _can_be_run(path: str) -> bool:
    # Not Path.is_file, which raises PermissionError for a folder of PATH that may not be entered (before Python 3.14).
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113


# --------------------------------------------------------------------------------------------------- running programs


def run_program(
    command: Sequence[str],
    *,
    timeout: float,
    environ: Mapping[str, str] | None = None,
    max_output: int = MAX_OUTPUT,
    within: Path | None = None,
) -> Finished:
    """Run a program, given by its absolute path, in an empty folder and wait for it.

    The folder is made ``within`` another one: in a work folder no parallel run takes it for a leftover.
    EnvironmentFailure if it cannot be started or takes too long; its exit code is for the caller to judge.
    """
    program = command[0]
    if not Path(program).is_absolute():
        raise EnvironmentFailure(f"{program} is not started", because="its path is not absolute")
    try:
        # A name by which the next run knows an empty folder that a killed one left behind (streams/output.py).
        with tempfile.TemporaryDirectory(prefix="wheelfix-", dir=within, ignore_cleanup_errors=True) as folder:
            return _run(list(command), folder, timeout, dict(os.environ if environ is None else environ), max_output)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailure(f"{program} was stopped", because=f"it took more than {timeout:g} s") from error
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise EnvironmentFailure(f"{program} cannot be run", because=str(error)) from error


def _run(command: list[str], folder: str, timeout: float, environ: dict[str, str], max_output: int) -> Finished:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    streams = (_KeptOutput(process.stdout, max_output), _KeptOutput(process.stderr, max_output))
    try:
        code = process.wait(timeout)
    finally:  # also when we are interrupted
        if process.poll() is None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
        texts = [stream.finish() for stream in streams]
    return Finished(code, *texts)


@contextlib.contextmanager
def running_program(
    command: Sequence[str], *, timeout: float, environ: Mapping[str, str], within: Path
) -> Iterator[str]:
    """Start a program, give the first line that it prints, and end it when the block ends.

    The line is empty if it cannot be started, or prints nothing in that time. The program has to end when its stdin
    is closed, which happens also when this process is killed; else it is killed.
    """
    try:
        process = subprocess.Popen(
            command, cwd=within, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        yield ""
        return
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], timeout)
        yield os.read(process.stdout.fileno(), 1000).decode("ascii", "replace").partition("\n")[0] if ready else ""
    finally:
        try:
            process.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class _KeptOutput:
    """Reads a stream to its end in a thread of its own, and keeps the first bytes."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._bytes = bytearray()
        # Something that the program started may keep the stream open for ever; we do not wait for that.
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream, contextlib.suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), 1 << 16):
                self._bytes += piece[: self._limit - len(self._bytes)]

    def finish(self) -> str:
        """Return what was kept, as text."""
        self._thread.join(_GRACE)
        return self._bytes.decode("utf-8", "replace")


# -------------------------------------------------------------------------------------------------------------- Python

_START = """\
import os, runpy, site, sys
folders, users, module = sys.argv[1:4]
del sys.argv[1:4]
if users and users not in sys.path:
    site.addsitedir(users)
sys.path += [folder for folder in folders.split(os.pathsep) if folder not in sys.path]
package = os.path.join(folders.split(os.pathsep)[0], "wheelfix", "__init__.py")
if module.startswith("wheelfix.") and os.path.isfile(package):
    from importlib.util import module_from_spec, spec_from_file_location
    spec = spec_from_file_location("wheelfix", package)
    sys.modules["wheelfix"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["wheelfix"])
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""``-I`` also hides the user's own site-packages, a zipapp and ``PYTHONPATH``, where our dependencies may lie: what
this process imports from is searched last, and the current folder never. Our own modules are those of this process,
also where another wheelfix is installed."""


def python_command(module: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs a module in an isolated Python, with the packages that we ourselves have."""
    if not sys.executable:
        raise EnvironmentFailure(f"{module} cannot be run", because="the path of the running Python is not known")
    beside = str(Path(__file__).absolute().parent.parent.parent)
    here = os.path.normcase(Path.cwd())
    folders = [path for path in sys.path if Path(path).is_absolute() and os.path.normcase(Path(path)) != here]
    users = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    python = str(Path(sys.executable).absolute())  # not resolved: that would leave a virtual environment
    return [python, "-I", "-X", "utf8", "-c", _START, os.pathsep.join([beside, *folders]), users, module, *arguments]


def start_worker(module: str) -> Worker:
    """Start a module in an isolated Python, in the current folder, that is given work on stdin and answers on stdout.

    Ctrl-C in a terminal does not reach it, not even while Python starts: it ends when its stdin is closed, or when
    the process that started it dies. On Linux it is a copy of this process, which has imported everything, as long as
    this one has a single thread: others might hold locks that the copy would wait for.
    """
    group: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    with _interrupts_blocked():  # which the new process inherits
        if sys.platform == "linux" and threading.active_count() == 1 and Path(_OPEN_FILES).is_dir():
            return ForkedWorker(module)
        return subprocess.Popen(
            python_command(module, ()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, creationflags=group
        )


class ForkedWorker:
    """A copy of this process that runs ``serve`` of a module; to be used as what subprocess starts."""

    def __init__(self, module: str) -> None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # what is not written yet would be written by both
                stream.flush()
        work, answers = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._serve(module, work[0], answers[1])
        os.close(work[0])
        os.close(answers[1])
        self.stdin, self.stdout = os.fdopen(work[1], "wb"), os.fdopen(answers[0], "rb")
        self.returncode: int | None = None

    @staticmethod
    def _serve(module: str, work: int, answers: int) -> NoReturn:
        try:
            atexit._clear()  # what the starter does at its end is not for the copy to do
            os.dup2(work, 0)
            os.dup2(answers, 1)
            for number in map(int, os.listdir(_OPEN_FILES)):  # noqa: PTH208
                if number > 2:  # a pipe to another copy that this one has open does not end
                    with contextlib.suppress(OSError):  # that of the list itself
                        os.close(number)
            importlib.import_module(module).serve()
        finally:
            os._exit(1)

    def poll(self) -> int | None:
        """Return its exit code once it has ended."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)


def end_worker(process: Worker, seconds: float) -> int:
    """Wait so long for the end of a worker, kill it after that, and return its exit code."""
    deadline = time.monotonic() + seconds
    while (code := process.poll()) is None:
        if time.monotonic() >= deadline:
            process.kill()
            deadline += 3600
        time.sleep(0.001)
    return code


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows has process groups for it
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
