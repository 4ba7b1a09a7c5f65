"""Real sets, installed together: none that works is called broken, and what is left out is missed by its name.

``python -m tests.real.fetch --sets`` downloads all of them; ``-m "real and long"`` runs those that CI does not have.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from tests.real.commands import ALONE
from tests.real.environments import (
    SITE,
    environment,
    pip_environment,
    real_environments,
    real_sets,
    unpack,
    wheel_of,
)
from tests.support.tables import named_cases
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport, Severity, Verdict, canonical


def complete_sets() -> list[ParameterSet]:
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(one, id=one.name, marks=marks[one.in_ci]) for one in real_sets()]


def incomplete_sets() -> list[ParameterSet]:
    marks = {True: (), False: (pytest.mark.long,)}
    return [
        pytest.param(one, gone, id=f"{one.name}-without-{gone}", marks=marks[one.in_ci])
        for one in real_sets()
        for gone in one.without
    ]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unpacked")


def scanned(files: list[str], place: Path, unpacked: Path) -> dict[str, ScanReport]:
    env = environment(place / "env", [unpack(wheel_of(file), unpacked) for file in files])
    found = list(scan_all([env], ScanOptions(roots=RootOptions(discover=False))))
    assert all(isinstance(one, ScanReport) for one in found), found
    return {canonical(one.name): one for one in found if isinstance(one, ScanReport)}


def named(verdict: Verdict, reports: dict[str, ScanReport]) -> set[str]:
    return {name for name, report in reports.items() if report.verdict is verdict}


@pytest.mark.real
@pytest.mark.parametrize("one", complete_sets())
def test_a_complete_set_works(one, tmp_path, unpacked):
    reports = scanned([*one.wheels], tmp_path, unpacked)
    assert named(Verdict.BROKEN, reports) == set(one.broken), one.why
    assert named(Verdict.UNSURE, reports) == set(one.unsure), one.why


@pytest.mark.real
@pytest.mark.parametrize("one, gone", incomplete_sets())
def test_what_is_left_out_is_missed(one, gone, tmp_path, unpacked):
    left = [file for file in one.wheels if canonical(file.split("-")[0]) != gone]
    assert len(left) == len(one.wheels) - 1
    reports = scanned(left, tmp_path, unpacked)
    fails = named(Verdict.BROKEN, reports) | named(Verdict.UNSURE, reports)
    assert set(one.without[gone]) <= fails
    for name in one.without[gone]:
        report = reports[name]
        reported = " ".join([*(item.message + item.hint for item in report.findings), str(report.missing)])
        assert gone in canonical(reported), f"{name}: {reported}"


# --------------------------------------------------------------------------------------------------------- environments
# Environments that pip made for Windows: verdict and reason for each, and all commands say the same.
#
# ``python -m tests.real.fetch --sets`` downloads all wheels; ``-m "real and long"`` runs those that CI does not have.


def environments() -> list[ParameterSet]:
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(one, id=one.name, marks=marks[one.in_ci]) for one in real_environments()]


def reported(command: list[str], folder: Path) -> tuple[int, dict[str, Any]]:
    target = folder / "told.json"
    status = main([*command, *ALONE, "--format", "json", "-o", str(target)])
    return status, json.loads(target.read_text(encoding="utf-8"))


@pytest.mark.real
@pytest.mark.parametrize("one", environments())
def test_verdict_and_reason(one, tmp_path):
    env = pip_environment(tmp_path / "env", [wheel_of(file) for file in one.wheels], one.python)
    for file in one.gone:
        (env / SITE / file).unlink()
    status, scanned = reported(["scan", str(env)], tmp_path)
    reports = {canonical(report["name"]): report for report in scanned["wheels"]}
    verdicts = {name: report["verdict"] for name, report in reports.items() if report["verdict"] != "ok"}
    assert verdicts == {name: expected[0] for name, expected in one.expect.items()}, one.why
    for name, (_, code, words) in one.expect.items():
        found = [item["message"] for item in reports[name]["findings"] if item["code"] == code]
        assert any(words in message for message in found), f"{name}: {found}"
    # Each distribution by itself, and the diagnosis of the whole, come to the same.
    broken = {name for name, verdict in verdicts.items() if verdict == "broken"}
    assert status == (1 if broken else 0)
    for name in one.expect:
        _, alone = reported(["scan", str(env), "--package", name], tmp_path)
        assert [report["verdict"] for report in alone["wheels"]] == [verdicts[name]]
    status, diagnosed = reported(["diagnose", "--env", str(env)], tmp_path)
    causes = {canonical(cause["proven_by"]) for cause in diagnosed["causes"]}
    assert broken <= causes if status == 1 else not broken


# --------------------------------------------------------------------------------------------------------- conda layout
# A conda environment made of real files: the DLLs of mkl and OpenMP in ``Library/bin``, listed in ``conda-meta``.
#
# conda's channels are not used: the files are those of the wheels, laid out and recorded as conda does.

MKL_2021 = ("mkl-2021.4.0-py2.py3-none-win_amd64.whl", "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl")
MKL_2026 = ("mkl-2026.2.0-py2.py3-none-win_amd64.whl", "intel_openmp-2026.2.0-py2.py3-none-win_amd64.whl")
TORCH = ("torch-2.3.0-cp311-cp311-win_amd64.whl", *MKL_2021, "tbb-2021.13.1-py3-none-win_amd64.whl")
FFT = (
    *("mkl_fft-2.3.2-0-cp311-cp311-win_amd64.whl", "numpy-2.4.6-cp311-cp311-win_amd64.whl", *MKL_2026),
    "tbb-2023.2.0-py3-none-win_amd64.whl",
)


def conda_environment(prefix: Path, wheels: tuple[str, ...], unpacked: Path) -> Path:
    """Lay the files of wheels out as conda does; packages that have DLLs only are known by ``conda-meta`` alone."""
    for wheel in wheels:
        part = unpack(wheel_of(wheel), unpacked)
        environment(prefix, [part])
        files = [file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file()]
        name, version = wheel.split("-")[:2]
        if not any(file.endswith(".pyd") for file in files):
            shutil.rmtree(prefix / f"Lib/site-packages/{name}-{version}.dist-info")
        _record(prefix, name, version, files)
    _record(prefix, "python", "3.11.7", ["python.exe"])
    (prefix / "python.exe").write_bytes(b"MZ")
    return prefix


def _record(prefix: Path, name: str, version: str, files: list[str]) -> None:
    meta = prefix / "conda-meta"
    meta.mkdir(exist_ok=True)
    about = {"name": name.replace("_", "-"), "version": version, "build": "0", "files": files}
    (meta / f"{name}-{version}-0.json").write_text(json.dumps(about), encoding="utf-8")


@pytest.mark.real
@pytest.mark.long
@named_cases(
    "wheels, subject, gone",
    {
        "torch": (TORCH, "torch", "mkl_intel_thread.1.dll"),
        "torch, delay-loaded": (TORCH, "torch", "mkl_core.1.dll"),
        "mkl_fft": (FFT, "mkl_fft", "mkl_rt.3.dll"),
    },
)
def test_dlls_in_library_bin(tmp_path, wheels, subject, gone):
    prefix = conda_environment(tmp_path / "env", wheels, tmp_path)
    whole = scanned_folder(prefix)
    assert {report.verdict for report in whole.values()} == {Verdict.OK}
    (prefix / "Library/bin" / gone).unlink()
    report = scanned_folder(prefix)[subject]
    assert report.verdict is Verdict.BROKEN
    assert {item.subject for item in report.findings if item.severity is Severity.ERROR} == {gone}


def scanned_folder(prefix: Path) -> dict[str, ScanReport]:
    found = scan_all([prefix], ScanOptions(roots=RootOptions(discover=False)))
    return {one.name: one for one in found if isinstance(one, ScanReport)}
