"""The measurement of several wheels on several cores: it ends with a table, and notices commands that fail."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks import linear, scaling
from benchmarks.linear import Growth
from benchmarks.scaling import Measured, main, report, tree_memory


@pytest.mark.slow
def test_commands_are_measured(tmp_path, capsys):
    words = ["--cores", "1", "--wheels", "2", "--megabytes", "0.2", "--commands", "scan,repair"]
    words += ["--folder", str(tmp_path)]
    assert main([*words, "--svg", str(tmp_path / "plot.svg")]) == 0, capsys.readouterr().err
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row[0].strip("| ") for row in rows[2:]] == ["scan", "repair"]
    assert all(row[1:3] == ["2", "1"] and row[5:7] == ["1.00 ×", "100%"] for row in rows[2:])
    if sys.platform == "linux":
        assert all(float(row[9].split()[0]) > 10 for row in rows[2:])
    assert ET.parse(tmp_path / "plot.svg").getroot().get("role") == "img"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plot.svg"]


def test_a_command_that_fails_ends_the_measurement(tmp_path, capsys, monkeypatch):
    def damaged(folder: Path, count: int, megabytes: float) -> list[Path]:
        folder.mkdir()
        wheel = folder / "bad-1.0-cp311-cp311-win_amd64.whl"
        wheel.write_bytes(b"not a wheel")
        return [wheel]

    monkeypatch.setattr(scaling, "make_wheels", damaged)
    assert main(["--wheels", "1", "--cores", "1", "--commands", "scan", "--folder", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "ended with 3" in said
    assert "bad-1.0" in said


@pytest.mark.slow
def test_growth_is_measured(tmp_path, capsys):
    assert linear.main(["--quick", "--svg", str(tmp_path / "plot.svg")]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.strip().splitlines()[2:]]
    assert [" ".join(row[:2]) for row in rows] == ["scan wheels", "scan members", "verify members", "scan modules"]
    assert ET.parse(tmp_path / "plot.svg").getroot().get("role") == "img"


def test_a_further_unit_may_not_cost_more_than_one_before():
    even = Growth("members", "scan", ((100, 0.3), (1000, 0.39), (10_000, 1.29)))
    steep = Growth("members", "scan", ((100, 0.3), (1000, 0.39), (10_000, 2.19)))
    assert (round(even.ratio, 3), round(steep.ratio, 3)) == (1.0, 2.0)
    assert "100 µs, 200 µs | 2.00 ×" in linear.report([steep])


def test_gains_are_against_one_core_with_as_many_wheels():
    found = [
        Measured("scan", 10, 1, 8.0, 8.0, 0),
        Measured("scan", 10, 4, 2.5, 9.0, 0),
        Measured("scan", 20, 4, 5, 18, 0),
    ]
    lines = report(found).splitlines()
    assert "3.20 × | 80%" in lines[3]
    assert lines[4].split(" | ")[5:7] == ["", ""]
    assert [line.split(" | ")[8] for line in lines[3:5]] == ["900 ms", "900 ms"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_all_processes():
    child = "x = bytes([1]) * (80 << 20); print(1); input()"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert tree_memory(process.pid) > 80 << 20
        process.communicate(b"\n")
    assert tree_memory(process.pid) == 0
