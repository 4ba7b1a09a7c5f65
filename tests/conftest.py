"""What holds for all tests."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.commands import Printed, Run
from tests.support.tiers import REQUIRED, TOLERATED

# How long an example takes depends on the machine. A pipeline repeats the same examples, so that a change fails for
# what it does; elsewhere each run has new ones.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("any machine"), derandomize=True)
TRACED_CASES = 2
MEMORY = Path("/dev/shm")
REPEATS = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what CI says on a Python on which it repeats the tests."""
    parser.addoption("--cases", type=int, metavar="N", help="run the first N cases of each parametrized test")


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT interrupt, also where the tests were started with ``&`` or nohup and inherited that it is ignored.

    Keep the bytecode of what tests start: a command takes 0.2 s then, and 0.6 s if it compiles all modules. Text is as
    wide as its lines are, in any terminal. Temporary files go to a folder of this
    process: a run looks there for what killed runs left, which takes 0.2 s each time among thousands of them. Without
    the slow tests, which fill disks, it is in memory: removing a file takes milliseconds on some disks.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.pop("COLUMNS", None)
    fast = "not slow" in config.option.markexpr and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30
    base = str(MEMORY) if fast else tempfile.gettempdir()
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", base)  # folders of tests that fail stay there
    own = Path(tempfile.mkdtemp(prefix="wheelfix-tests-", dir=base))
    config.add_cleanup(lambda: shutil.rmtree(own, ignore_errors=True))
    os.environ.setdefault("WHEELFIX_STATE_DIR", str(own / "state"))
    tempfile.tempdir = os.environ["TMPDIR"] = str(own)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(config.rootpath / ".pytest_cache" / "bytecode"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("ci" if os.environ.get("CI") else "any machine")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a worker of xdist report how a test ended, and not that it began, was prepared and cleaned up.

    Half a millisecond for each of ten thousand tests. What fails or is skipped there is reported as ever.
    """
    sender = next((one for one in session.config.pluginmanager.get_plugins() if hasattr(one, "sendevent")), None)
    if sender is None or session.config.option.durations is not None:
        return
    send = sender.sendevent

    def sendevent(name: str, **what: Any) -> None:
        report = what.get("data", {})
        passed = name == "testreport" and report["when"] != "call" and report["outcome"] == "passed"
        if not passed and name not in ("logstart", "logfinish"):
            send(name, **what)

    sender.sendevent = sendevent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a module that is marked with a tier which ``-m`` leaves out (``not real``)."""
    left_out = re.findall(r"\bnot (\w+)", config.option.markexpr)
    if not left_out or not collection_path.name.startswith("test_"):
        return None
    mark = re.search(r"^pytestmark = .*", collection_path.read_text("utf-8"), re.MULTILINE)
    return True if mark and {*left_out} & {*re.findall(r"mark\.(\w+)", mark[0])} else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect thousands of tests without looking for garbage among them, then or later: they stay.

    Every second worker of xdist imports the modules from the last one on: in a new environment each then compiles
    half of them, and not all of them at the same time as the other one.
    """
    gc.disable()
    config = session.config
    worker = getattr(config, "workerinput", {"workerid": ""})["workerid"]
    if worker.endswith(("1", "3", "5", "7", "9")) and config.args_source is config.ArgsSource.TESTPATHS:
        for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
            if not pytest_ignore_collect(path, config):
                with contextlib.suppress(Exception, pytest.skip.Exception):  # reported when it is collected
                    importlib.import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note which cases of a test are not the first ones, and leave out those that are not wanted."""
    most = config.getoption("--cases") or len(items)
    cases = Counter()
    wanted = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        cases[name] += 1
        item.stash[REPEATS] = cases[name] > TRACED_CASES
        if cases[name] <= most:
            wanted.append(item)
    items[:] = wanted


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave out the certificates of this machine, unless a test uses its network: each session reads them, in 0.1 s.

    Fast tests run delvewheel in their own process, unless they have the fixture ``started_delvewheel``, and their
    commands share parsers: making one takes a sixth of the time of a small scan.
    """
    if "not slow" in session.config.option.markexpr:
        from tests.support.commands import shared_parsers
        from tests.support.delvewheel import run_here
        from wheelfix.cli import settings as cli
        from wheelfix.repairs import mangled

        mangled.run_program = run_here  # type: ignore[attr-defined]
        cli.command_parser = shared_parsers(cli.command_parser)  # type: ignore[attr-defined]
    if not any(item.get_closest_marker("real") for item in session.items):
        for variable in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
            os.environ.pop(variable, None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Let coverage look at the first cases of a test alone: tracing takes three times as long, and the others repeat.

    It stops once for all of them: it becomes slower each time that it starts again, as it does for ``no_cover``.
    """
    controller = getattr(item.config.pluginmanager.get_plugin("_cov"), "cov_controller", None)
    if controller is not None and item.stash.get(REPEATS, False) is bool(controller.started):
        controller.pause() if controller.started else controller.resume()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped a test where nothing may be skipped."""
    gc.unfreeze()  # else lief reports what it thinks is lost
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", ()) if reporter is not None else ()
    if os.environ.get(REQUIRED) and any(
        not any(reason in str(report.longrepr) for reason in TOLERATED) for report in skipped
    ):
        reporter.write_line(f"tests were skipped, and {REQUIRED} is set")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def started_delvewheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start delvewheel as a program, as wheelfix does."""
    from wheelfix.base.programs import run_program
    from wheelfix.repairs import mangled

    monkeypatch.setattr(mangled, "run_program", run_program)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command of ours that has to end with a code (or with any, if it is None), and give what it printed."""

    def run(*words: object, code: int | None = 0) -> Printed:
        from wheelfix.cli.main import main

        capsys.readouterr()
        ended = main([str(word) for word in words])
        printed = Printed(*capsys.readouterr())
        assert code is None or ended == code, printed.err
        return printed

    return run
