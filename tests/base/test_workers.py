"""Worker processes: results in order, a process that dies costs one input, and nothing stays when they are stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.patience import wall_patience
from tests.support.tables import named_cases
from tests.support.workerjobs import never_working, working
from wheelfix.base import workers
from wheelfix.base.programs import end_worker, python_command
from wheelfix.base.workers import in_processes, worth_processes
from wheelfix.errors import EnvironmentFailure

MB = 1 << 20


@pytest.fixture(autouse=True)
def new_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No copies of the process that runs the tests, whether it has one thread or several."""
    monkeypatch.setattr(threading, "active_count", lambda: 2)


def run(*words: str, jobs: int = 2, sizes: tuple[int, ...] = (), **more: object) -> list[object]:
    sizes = sizes or (1,) * len(words)
    return list(in_processes(working, words, sizes, jobs=jobs, lost=lambda word, why: (word, why), **more))


@named_cases(
    "sizes, jobs, worth",
    {
        "two large": ([500 * MB, 400 * MB], 2, True),
        "one job": ([500 * MB, 400 * MB], 1, False),
        "one": ([500 * MB], 2, False),
        "two small": ([1 * MB, 1 * MB], 2, False),
        "many": ([1 * MB] * 24, 2, True),
        "very many tiny": ([10_000] * 1000, 2, True),
        "one giant": ([900 * MB, 1 * MB], 2, False),
        "none": ([], 2, False),
    },
)
def test_processes_are_used_where_they_pay(sizes, jobs, worth):
    assert worth_processes(sizes, jobs) is worth


def test_results_come_in_order_and_a_dead_process_costs_its_input_only():
    words = ["a", "b", "die", "c", "exit 3", "d", "e", "f"]
    found = run(*words, sizes=(1, 5, 3, 9, 2, 4, 8, 7))
    assert found[:2] + found[3:4] + found[5:] == ["A", "B", "C", "D", "E", "F"]
    assert found[4] == ("exit 3", "its worker process ended with exit code 3")
    if os.name == "posix":
        assert found[2] == (
            "die",
            "its worker process was killed (signal 9), which systems do when memory is short",
        )


def test_an_input_that_takes_too_much_memory_is_lost_and_its_process_goes_on():
    reason = "it took more memory than there is"
    found = run("a", "memory", "large", "b")
    assert found == ["A", ("memory", reason), ("large", reason), "B"]


def test_a_worker_whose_starter_is_gone_before_it_begins_says_nothing():
    command = python_command(workers.MODULE, ())
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_system_that_allows_no_further_thread(allowed, monkeypatch):
    start, started, ended = threading.Thread.start, list[object](), list[int]()

    def limited(thread: threading.Thread) -> None:
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    def noted(process: subprocess.Popen[bytes], seconds: float) -> int:
        ended.append(end_worker(process, seconds))
        return ended[-1]

    monkeypatch.setattr(threading.Thread, "start", limited)
    monkeypatch.setattr(workers, "end_worker", noted)
    if allowed:
        assert run("a", "b", "c") == ["A", "B", "C"]
    else:
        with pytest.raises(EnvironmentFailure, match="can't start new thread"):
            run("a", "b")
        assert len(ended) == 2, "the processes that were started are gone"


def test_what_an_input_raises_is_raised_here_with_its_place():
    with pytest.raises(LookupError, match="gone") as caught:
        run("a", "raise gone")
    assert "in do" in str(caught.value.__cause__)


def test_an_answer_that_cannot_be_sent_is_an_error_and_not_a_hang():
    with pytest.raises(RuntimeError, match="TypeError: an odd answer"):
        run("odd", "a")


def test_the_last_inputs_share_all_processors_and_progress_arrives():
    parts = []
    found = run("part", "threads", jobs=6, progress=lambda *part: parts.append(part))
    assert found[0] == "PART"
    assert found[1] in (3, 6)  # half of them, or all if the other was done before it began
    assert parts == [("part", 1, 2)]


def test_processes_that_cannot_begin_end_the_run_with_the_reason(monkeypatch):
    monkeypatch.setattr(workers, "FALSE_STARTS", 1)
    with pytest.raises(EnvironmentFailure, match="exit code 7"):
        list(in_processes(never_working, ["a", "b"], [1, 1], jobs=1, lost=lambda word, why: word))


def test_a_module_in_the_current_folder_is_not_run(tmp_path, monkeypatch):
    for name in ("pickle", "runpy", "site", "wheelfix", "tests"):
        (tmp_path / f"{name}.py").write_text("import os; open('planted', 'w'); os._exit(1)")
    monkeypatch.chdir(tmp_path)
    assert run("a", "b") == ["A", "B"]
    assert not (tmp_path / "planted").exists()


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def waiting_worker(note: Path) -> tuple[int, Path]:
    """Wait until a worker is busy; return its process and its temporary folder."""
    for _ in range(1200):
        if note.exists() and note.read_text():
            process, _, folder = note.read_text().partition(" ")
            return int(process), Path(folder)
        time.sleep(0.05)
    raise AssertionError("no worker began")


@pytest.mark.skipif(os.name != "posix", reason="asks for processes by their number")
def test_closing_ends_the_processes_within_a_second_and_leaves_no_folder(tmp_path):
    note = tmp_path / "note"
    results = in_processes(working, ["a", f"wait {note}"], [2, 1], jobs=2, lost=lambda word, why: word)
    assert next(results) == "A"
    process, folder = waiting_worker(note)
    assert folder.exists()
    began = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < wall_patience(1.5)
    assert not is_running(process)
    assert not folder.exists()


SCRIPT = """\
import atexit
from tests.support.workerjobs import working
from wheelfix.base.workers import in_processes
atexit.register(print, "end")
print("begin")
words = {words!r}
found = in_processes(working, words, [1] * len(words), jobs=2, lost=lambda word, why: (word, why))
print(list(found))
"""


def script_with(folder: Path, *words: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(SCRIPT.format(words=words))
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    return subprocess.Popen([sys.executable, str(script)], env=environ, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform != "linux", reason="no copies of processes elsewhere")
def test_a_program_with_one_thread_is_copied_and_its_copies_do_nothing_but_their_work(tmp_path):
    said, _ = script_with(tmp_path, "program", "program", "die", "exit 3", *"abcdef").communicate()
    killed = ("die", "its worker process was killed (signal 9), which systems do when memory is short")
    ended = ("exit 3", "its worker process ended with exit code 3")
    assert said == f"begin\n{['script.py', 'script.py', killed, ended, *'ABCDEF']}\nend\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="asks for processes by their number")
def test_processes_end_when_their_starter_is_killed_and_its_script_needs_no_guard(tmp_path):
    note = tmp_path / "note"
    starter = script_with(tmp_path, "a", f"wait {note}")
    process, folder = waiting_worker(note)
    starter.kill()
    starter.wait()
    for _ in range(1200):
        if not is_running(process):
            break
        time.sleep(0.05)
    assert not is_running(process)
    assert not folder.exists()
