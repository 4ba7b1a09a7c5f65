"""Consoles that cannot show everything, outputs that go away, and paths that are long, odd or not even text."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.workshop import (
    Run,
    assert_no_traceback,
    environment,
    leftovers,
    small,
    snapshot,
    wheelfix_here,
)
from tests.support.tables import named_cases
from tests.support.wheels import folder_of, needing
from wheelfix.errors import Exit

pytestmark = pytest.mark.slow
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX file names and streams")


@pytest.mark.parametrize(
    "name",
    [
        "with spaces and ümlauts",
        "日本語 ☃ \U0001f600",
        "it's; $(rm -rf ~) & <evil> `x` %PATH% !a!" if os.name != "nt" else "it's; $(x) & `x` %PATH% !a!",
        "[brackets]* ?" if os.name != "nt" else "[brackets]",
        "-w",
        "e\u0301 decomposed",
    ],
)
def test_odd_folders(tmp_path, name):
    bench = small(tmp_path / name)
    done = wheelfix_here(*bench.command())
    assert done.code == Exit.OK, done.err
    assert list(snapshot(bench.out)) == [bench.wheel.name]
    assert wheelfix_here("verify", str(bench.target)).code == Exit.OK


@posix
def test_a_path_that_is_no_text(tmp_path):
    bench = small(tmp_path / os.fsdecode(b"caf\xe9"))
    for more in ((), ("--format", "json"), ("--lock", str(tmp_path / "lock.json"))):
        done = wheelfix_here(*bench.command(*more))
        assert done.code == Exit.OK, done.err
    assert wheelfix_here("repair", "--locked", str(tmp_path / "lock.json"), "-w", str(bench.out)).code == Exit.OK
    for kind in ("text", "json", "sarif", "junit", "markdown", "html", "github"):
        assert wheelfix_here("scan", str(bench.wheel), "--no-discover", "--format", kind).code == Exit.FINDINGS


@named_cases("length", {"component": 300, "path": 5000})
@pytest.mark.parametrize("where", ["input", "output", "root", "lock"])
def test_paths_that_are_too_long(tmp_path, length, where):
    bench = small(tmp_path)
    long = tmp_path / ("x" * length if length < 4096 else "/".join(["x" * 100] * 50))
    commands = {
        "input": ["repair", str(long / "a-1-py3-none-any.whl"), "-w", str(bench.out)],
        "output": ["repair", str(bench.wheel), *bench.root_options, "-w", str(long)],
        "root": ["repair", str(bench.wheel), "--root", str(long), "-w", str(bench.out)],
        "lock": bench.command("--lock", str(long)),
    }
    done = wheelfix_here(*commands[where])
    assert done.code in (Exit.USAGE, Exit.BAD_INPUT, Exit.ENVIRONMENT), done.err
    assert "wheelfix: error:" in done.err
    assert leftovers(tmp_path) == []


@posix
@pytest.mark.parametrize("command", ["scan", "repair", "explain"])
def test_an_output_that_is_full_or_closed(tmp_path, command):
    bench = small(tmp_path)
    commands = {
        "scan": ["scan", str(bench.wheel), "--no-discover"],
        "repair": bench.command(),
        "explain": ["explain"],
    }
    quoted = subprocess.list2cmdline([sys.executable, "-m", "wheelfix", *commands[command]])
    redirects = [">&-", "2>&-", ">&- 2>&-", "< /dev/null"]
    redirects += ["> /dev/full"] if Path("/dev/full").exists() else []
    for redirect in redirects:
        done = subprocess.run(
            ["sh", "-c", f"{quoted} {redirect}"], env=environment(), capture_output=True, text=True, check=False
        )
        assert_no_traceback(Run(done.returncode, done.stdout, done.stderr))
        assert done.returncode in (Exit.OK, Exit.FINDINGS, Exit.ENVIRONMENT)
        if redirect == "> /dev/full":
            assert done.returncode == Exit.ENVIRONMENT
    assert leftovers(tmp_path) == []


@posix
@pytest.mark.parametrize("command", ["repair", "scan"])
def test_the_work_goes_on_for_a_reader_that_has_gone(tmp_path, command):
    root = folder_of(tmp_path / "root", "a.dll")
    for name in ("one", "two"):
        needing(tmp_path / "dist", "a.dll", name=name)
    options = ["--no-discover", "--no-config", "-j", "1", "--root", str(root)]
    report = tmp_path / ("report.html" if command == "repair" else "report.xml")
    kind = "html" if command == "repair" else "junit"
    options += ["--report", f"{kind}={report}"]
    options += ["-w", str(tmp_path / "out")] if command == "repair" else []
    process = subprocess.Popen(
        [sys.executable, "-m", "wheelfix", command, str(tmp_path / "dist"), *options],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == Exit.ENVIRONMENT
    assert "error" not in said, "no wheel is to blame"
    assert report.exists()
    if command == "repair":
        assert len(list((tmp_path / "out").iterdir())) == 2
