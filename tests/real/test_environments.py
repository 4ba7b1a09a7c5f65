"""Environments that pip made for Windows: verdict and reason for each, and all commands say the same.

``python -m tests.real.fetch --sets`` downloads all wheels; ``-m "real and long"`` runs those that CI does not have.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.real.commands import ALONE
from tests.real.environments import SITE, pip_environment, wheel_of
from tests.real.sets import RealEnvironment, real_environments
from wheelfix.cli.main import main
from wheelfix.model import canonical

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

pytestmark = pytest.mark.real


def environments() -> list[ParameterSet]:
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(one, id=one.name, marks=marks[one.in_ci]) for one in real_environments()]


def told(command: list[str], folder: Path) -> tuple[int, dict[str, Any]]:
    target = folder / "told.json"
    status = main([*command, *ALONE, "--format", "json", "-o", str(target)])
    return status, json.loads(target.read_text(encoding="utf-8"))


@pytest.mark.parametrize("one", environments())
def test_verdict_and_reason(one: RealEnvironment, tmp_path: Path) -> None:
    env = pip_environment(tmp_path / "env", [wheel_of(file) for file in one.wheels], one.python)
    for file in one.gone:
        (env / SITE / file).unlink()
    status, scanned = told(["scan", str(env)], tmp_path)
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
        _, alone = told(["scan", str(env), "--package", name], tmp_path)
        assert [report["verdict"] for report in alone["wheels"]] == [verdicts[name]]
    status, diagnosed = told(["diagnose", "--env", str(env)], tmp_path)
    causes = {canonical(cause["proven_by"]) for cause in diagnosed["causes"]}
    assert broken <= causes if status == 1 else not broken
