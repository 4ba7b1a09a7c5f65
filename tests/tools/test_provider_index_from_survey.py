"""The provider index from a survey: as the tool that asks the package index writes it, and the same bytes each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.surveys import forged_wheel
from tools import provider_index_from_survey
from wheelfix.survey.engines import local_engine
from wheelfix.survey.run import run_survey
from wheelfix.survey.sources import wheel_sources
from wheelfix.survey.tables import SurveyFolder
from wheelfix.survey.wheelrows import OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_tables_of_a_survey_become_the_provider_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("beta", "alpha"):
        forged_wheel(tmp_path / "wheels", name)
    folder = SurveyFolder(tmp_path / "survey")
    folder.open({})
    run_survey(wheel_sources([str(tmp_path / "wheels")]), folder, local_engine(OPTIONS, 1), lambda text: None)
    for out in ("one", "two"):
        assert provider_index_from_survey.main([str(folder.path), "--output", str(tmp_path / out)]) == 0
    assert "2 wheels" in capsys.readouterr().err
    written = {path.name: path.read_text() for path in (tmp_path / "one").iterdir()}
    assert written == {path.name: path.read_text() for path in (tmp_path / "two").iterdir()}
    assert "helper.dll\talpha:0\tbeta:0\n" in written["provider_dlls.txt"]
    line = "alpha\t1.0/cp311-cp311-win_amd64\tLib/site-packages/alpha\tnumpy>=1.20\n"
    assert line in written["provider_distributions.txt"]
    assert "alpha alpha\n" in written["modules.txt"]
    rows = [line.split("\t") for line in written["member_hashes.tsv"].splitlines()[1:]]
    assert [(row[0], row[4], len(row[3]), len(row[5])) for row in rows] == [
        ("alpha", "alpha/helper.dll", 64, 64),
        ("beta", "beta/helper.dll", 64, 64),
    ]


def test_a_folder_that_is_not_a_survey(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert provider_index_from_survey.main([str(tmp_path), "--output", str(tmp_path / "out")]) == 3
    assert "is not a survey" in capsys.readouterr().err
