"""``wheelfix scan`` from the command line to the last byte: small wheels in, verdicts, documents and codes out."""

from __future__ import annotations

import functools
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.gpucode import gpu_dll
from tests.support.patience import wall_patience
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main


@pytest.fixture
def dist(tmp_path, monkeypatch):
    """A folder with a whole wheel, one whose module lacks a DLL, and a file that is no wheel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    folder = tmp_path / "dist"
    build_wheel(
        folder,
        "good",
        files={"good/__init__.py": "", "good/_x.cp311-win_amd64.pyd": "imports python311.dll:Py_Initialize"},
    )
    build_wheel(
        folder,
        "bad",
        "2.0",
        files={"bad/__init__.py": "", "bad/_x.cp311-win_amd64.pyd": "imports python311.dll:Py_Initialize, gone.dll"},
    )
    (tmp_path / "junk-1.0-py3-none-any.whl").write_bytes(b"this is no archive")
    return folder


@pytest.fixture
def scan(run):
    return functools.partial(run, "scan")


def test_a_github_job_gets_a_summary(dist, scan, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    out = scan("dist", "--format", "github", code=1).out
    assert out.startswith("::error file=dist/bad-2.0-cp311-cp311-win_amd64.whl,title=WF301 missing-dependency")
    assert summary.read_text(encoding="utf-8").startswith("before\n## wheelfix\n")


def printed(encoding, monkeypatch, *words):
    """The exit code of a scan on a console with an encoding, and the bytes that it prints."""
    console = io.TextIOWrapper(io.BytesIO(), encoding)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", console)
        code = main(["scan", *words])
    console.flush()
    return code, console.buffer.getvalue()


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp932", "utf-8"])
@pytest.mark.parametrize("force", ["", "1"])
def test_any_console_shows_any_name(dist, encoding, force, monkeypatch, capsys):
    build_wheel(dist, "odd", files={"odd/gr\u00fcn-\u5305-\U0001f3a1.pyd": "imports missing-ü.dll"})
    monkeypatch.setenv("FORCE_COLOR", force)
    code, out = printed(encoding, monkeypatch, "-v", "dist")
    assert code == 1
    assert capsys.readouterr().err == ""
    assert (b"\x1b[" in out) is bool(force)
    assert "missing-" in out.decode(encoding)


@pytest.mark.parametrize("kind", ["text", "json", "html", "junit"])
def test_the_table_of_targets_on_a_console_of_western_europe(tmp_path, kind, monkeypatch):
    """Story: ``--format html > report.html`` wrote cp1252 into a document that says it is UTF-8, and so for JUnit."""
    for name, dll, function in (("one", "mfplat.dll", "MFStartup"), ("two", "kernel32.dll", "CloseHandle")):
        build_wheel(tmp_path, name, files={f"{name}/gr\u00fcn.pyd": f"imports {dll}:{function}"})
    monkeypatch.setenv("NO_COLOR", "1")
    words = [str(tmp_path), "--no-discover", "--target", "all", "--format", kind]
    code, out = printed("cp1252", monkeypatch, *words)
    assert code == 1
    text = out.decode("cp1252" if kind == "text" else "utf-8")
    assert all(name in text for name in ("windows-11", "windows-10-1809", "windows-n", "server-core-2022", "wine"))
    if kind == "text":
        row = next(line for line in text.splitlines() if line.strip().startswith("one-1.0") and "ok " in line)
        assert row.split()[1:] == ["ok", "ok", "broken", "broken", "risky", "ok"]
    elif kind == "json":
        document = json.loads(text)
        assert [target["verdict"] for target in document["wheels"][0]["targets"]][2] == "broken"
    else:
        assert "gr\u00fcn" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_an_environment_failure(dist, scan):
    err = scan("dist", "-o", "/dev/full", code=4).err
    assert "No space left" in err


class TestLockfile:
    """Options that name a lock file, with and without wheels beside it on the command line."""

    def test_everything_that_is_locked(self, dist, tmp_path, scan):
        lock = tmp_path / "requirements.txt"
        lock.write_text("".join(f"{path.name.split('-')[0]}\n" for path in dist.glob("*.whl")))
        out = scan("--lockfile", lock, "--with", dist, "--format", "json", code=1).out
        assert {wheel["name"] for wheel in json.loads(out)["wheels"]} == set(lock.read_text().split())


PART = "cudnn_ops_infer64_8.dll"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A wheel with a cuDNN part that begins with Maxwell, and kernels for Ampere and Ada."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    files = {
        f"pkg/{PART}": gpu_dll(PART, "sm_50", "sm_86", "ptx_90"),
        "pkg/kernels.dll": gpu_dll("kernels.dll", "sm_86", "sm_89"),
    }
    return str(build_wheel(tmp_path, "pkg", "1.0", "py3-none-win_amd64", files))


@pytest.mark.parametrize(
    "card, code, said",
    [
        ("sm_86", 0, "native      cudnn_ops_infer64_8.dll"),
        ("sm_89", 0, "same major  cudnn_ops_infer64_8.dll"),
        ("K40c", 1, "nothing     cudnn_ops_infer64_8.dll"),
        ("RTX 5070", 0, "PTX only    cudnn_ops_infer64_8.dll"),
    ],
)
def test_the_answer_for_a_card(wheel, run, card, code, said):
    assert " ".join(said.split()) in run("scan", "--gpu", card, wheel, code=code).said


def test_what_there_is(wheel, run):
    said = run("scan", "--archs", wheel).out
    assert "cudnn_ops_infer64_8.dll  SASS 50 86, PTX 90" in said
    assert "all together: SASS 50 86 89, PTX 90" in said


@pytest.mark.parametrize("command", ["scan", "repair"])
def test_a_card_that_nobody_knows_is_said_once(wheel, run, command):
    said = run(command, "--gpu", "RTX 5071", wheel, wheel, code=2).err
    assert said.count("no table knows that card") == 1
    assert "RTX 5070" in said


@pytest.fixture
def targeted_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(
        build_wheel(
            tmp_path, "media", "1", files={"media.pyd": "imports python311.dll:PyModule_Create2, MFPlat.DLL:MFStartup"}
        )
    )


def test_sarif_junit_and_html_have_it(targeted_wheel, tmp_path, run):
    reports = [f"--report={kind}={kind}.out" for kind in ("sarif", "junit", "html")]
    run("scan", targeted_wheel, "--no-discover", "--target", "windows-n,windows-11", *reports, code=None)
    (result,) = json.loads((tmp_path / "sarif.out").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert (result["ruleId"], result["properties"]["evidence"]["target"]) == ("WF323", "windows-n")
    suite = ET.parse(tmp_path / "junit.out").getroot()
    properties = {item.get("name"): item.get("value") for item in suite.iter("property")}
    assert properties["target windows-n"] == "broken"
    assert properties["target windows-11"] == "ok"
    html = (tmp_path / "html.out").read_text(encoding="utf-8")
    assert "windows-11" in html
    assert "without MFPlat.DLL" in html


# -------------------------------------------------------------------------------------------------------------- several
# Commands on several wheels in worker processes: Ctrl-C, a killed worker, the same output as one process.


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels that take a while to verify: 40 MB each, of which each packs to 6 MB."""
    made = tmp_path_factory.mktemp("wheels")
    piece = random.Random(1).randbytes(150_000) + bytes(850_000)
    first = build_wheel(made, "pkg00", files={"pkg/data.bin": piece * 40})
    for number in range(1, 12):
        first.with_name(first.name.replace("pkg00", f"pkg{number:02}")).write_bytes(first.read_bytes())
    return made


def start(several: Path, tmp: Path, *words: str) -> subprocess.Popen[str]:
    tmp.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "wheelfix", "verify", str(several), *words],
        env={**os.environ, "TMPDIR": str(tmp)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children(process: int) -> list[int]:
    """Return the worker processes, once there are two."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    for _ in range(3000):
        found = [int(word) for word in listed.read_text().split()]
        if len(found) == 2:
            return found
        time.sleep(0.02)
    raise AssertionError("no workers")


def stopped_at_work(workers: list[int]) -> int:
    """Stop the first worker that has a wheel open, and return it; while that is looked at, it cannot finish it."""
    for worker in workers * 3000:
        os.kill(worker, signal.SIGSTOP)
        opened = (link.readlink().name for link in Path(f"/proc/{worker}/fd").iterdir())
        if any(name.endswith(".whl") for name in opened):
            return worker
        os.kill(worker, signal.SIGCONT)
        time.sleep(0.001)
    raise AssertionError("no worker has a wheel open")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@named_cases("group", {"all": True, "starter": False})
def test_ctrl_c_ends_all_within_a_second_and_leaves_nothing(several, tmp_path, group):
    process = start(several, tmp_path / "tmp", "-j", "2")
    workers = children(process.pid)
    os.kill(stopped_at_work(workers), signal.SIGCONT)
    began = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < wall_patience(1.5)
    assert (process.returncode, errors) == (130, "wheelfix: interrupted\n")
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_killed_worker_costs_its_wheel(several, tmp_path):
    process = start(several, tmp_path / "tmp", "-j", "2", "-q")
    workers = children(process.pid)
    process.stdout.readline()  # at least one of the workers works
    os.kill(stopped_at_work(workers), signal.SIGKILL)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 4
    assert errors.count("its worker process was killed (signal 9)") == 1
    assert "try it alone, with -j 1" in errors
    assert len(output.splitlines()) == 10  # of the other eleven, one was read above


def test_a_pipe_gets_sentences_in_one_line(dist, scan, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = scan("dist", "-v", code=None).out
    monkeypatch.setenv("COLUMNS", "60")
    broken = scan("dist", "-v", code=None).out
    assert max(map(len, whole.splitlines())) > 120
    assert len(broken.splitlines()) > len(whole.splitlines())
    assert "".join(whole.split()) == "".join(broken.split())
