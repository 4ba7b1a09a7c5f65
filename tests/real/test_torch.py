"""torch as PyPI has it: one release that cannot be imported, and a repair that changes only what it must."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.commands import repair, scan
from tests.real.listing import named
from tests.support.clients import check_with_clients
from tests.support.tiers import program, wheel

pytestmark = pytest.mark.real

LOST = "torch/lib/libiomp5md.dll"
INFO = "torch-2.7.1.dist-info/"
SBOM = INFO + "sboms/wheelfix.cdx.json"
TORCH, OPENMP = named("torch", "2.7.1"), named("intel_openmp", "2023.2.0")


# --------------------------------------------------------------------------------------------------- as published


def test_2_4_0_misses_an_openmp_runtime_that_nobody_may_ship(tmp_path):
    """pytorch#131662: everyone was told that fbgemm.dll could not be loaded, which was whole."""
    status, report = scan(wheel(named("torch", "2.4.0").file), tmp_path)
    assert status == 1
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert [(finding["code"], finding["subject"]) for finding in errors] == [("WF301", "libomp140.x86_64.dll")]
    assert report["first_failure"]["path"] == "torch/lib/fbgemm.dll"
    assert report["first_failure"]["chain"] == ["fbgemm.dll", "libomp140.x86_64.dll"]
    assert report["first_failure"]["message"] == (
        "OSError: [WinError 126] The specified module could not be found. "
        'Error loading "…\\torch\\lib\\fbgemm.dll" or one of its dependencies.'
    )
    (missing,) = report["missing"]
    assert missing["needed_by"] == ["torch/bin/fbgemm.dll", "torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]


@pytest.mark.parametrize("version", ["1.12.1", "2.0.1", "2.4.1", "2.7.1", "2.15.0"])
def test_other_releases_can_be_imported(version, tmp_path):
    status, report = scan(wheel(named("torch", version).file), tmp_path)
    assert (status, report["first_failure"], report["missing"]) == (0, None, [])


# ------------------------------------------------------------------------------ without libiomp5md.dll, and back


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """torch 2.7.1 from which somebody has deleted a DLL with Info-ZIP, which knows nothing of RECORD."""
    path = tmp_path_factory.mktemp("broken") / TORCH.file
    shutil.copyfile(wheel(TORCH.file), path)
    subprocess.run([program("zip", "zip"), "-q", "-d", path, LOST], check=True, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="module")
def repaired(broken: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same wheel with Intel's DLL out of Intel's own wheel."""
    return repair(broken, tmp_path_factory.mktemp("repaired"), "--root", wheel(OPENMP.file)).path


def test_the_loss_is_seen_and_the_blame_put_right(broken, tmp_path):
    status, report = scan(broken, tmp_path)
    assert status == 1
    (missing,) = (item for item in report["missing"] if item["required"])
    assert missing["name"] == "libiomp5md.dll"
    assert "torch/lib/torch_cpu.dll" in missing["needed_by"]
    assert report["first_failure"]["chain"][-1] == "libiomp5md.dll"
    assert {"WF102", "WF301"} <= {finding["code"] for finding in report["findings"]}


def test_the_output_differs_from_the_original_only_where_it_must(repaired):
    original = wheel(TORCH.file)
    ours, theirs = dict(packed(repaired)), dict(packed(original))
    assert set(ours) - set(theirs) == {SBOM}
    assert set(theirs) <= set(ours)
    assert {name for name in theirs if ours[name] != theirs[name]} == {LOST, INFO + "RECORD"}
    assert list(dict(packed(repaired)))[-1] == INFO + "RECORD"
    rows = dict(record_rows(repaired))
    assert {row for row in record_rows(original) if rows.get(row[0]) != row[1]} == {
        row for row in record_rows(original) if row[0] == LOST
    }
    assert set(rows) - {row[0] for row in record_rows(original)} == {SBOM}


def test_what_came_back_is_intels_own(repaired):
    inside = "intel_openmp-2023.2.0.data/data/Library/bin/libiomp5md.dll"
    assert dict(packed(repaired))[LOST][:3] == dict(packed(wheel(OPENMP.file)))[inside][:3]


def test_it_can_be_imported_and_every_byte_is_accounted_for(repaired, tmp_path, run):
    status, report = scan(repaired, tmp_path)
    assert (status, report["verdict"], report["first_failure"]) == (0, "ok", None)
    run("verify", repaired)


@pytest.mark.long  # 1.2 GB each; every change gives the wheels of test_kepler.py and tests/repairs to all clients
def test_clients_take_it(repaired, tmp_path):
    check_with_clients(repaired, tmp_path, only=("pip", "uv"))


def test_a_second_repair_changes_no_byte(repaired, tmp_path):
    again = repair(repaired, tmp_path, "--root", wheel(OPENMP.file))
    assert again.path.read_bytes() == repaired.read_bytes()


def test_a_wheel_that_needs_nothing_is_passed_on_as_it_is(tmp_path):
    original = wheel(TORCH.file)
    assert repair(original, tmp_path, "--trust-record").path.read_bytes() == original.read_bytes()


def packed(path: Path) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every member with its CRC, its compressed bytes, what they are packed with, its date and its permissions."""
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            at = info.header_offset
            begin = (
                at
                + 30
                + int.from_bytes(data[at + 26 : at + 28], "little")
                + int.from_bytes(data[at + 28 : at + 30], "little")
            )
            span = data[begin : begin + info.compress_size]
            yield info.filename, (info.CRC, span, info.compress_type, info.date_time, info.external_attr)


def record_rows(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """RECORD as anybody reads it."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(INFO + "RECORD").decode()
    return [(row[0], tuple(row[1:])) for row in csv.reader(io.StringIO(text, newline=""))]
