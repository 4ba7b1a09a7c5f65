"""The comparison of two surveys: equal tables are equal, and a row that differs is shown."""

import pytest

from tests.support.surveys import forged_wheel
from tools.survey_kills import compare, main, report
from wheelfix.cli.main import main as wheelfix


@pytest.mark.slow
def test_rows_of_only_one_survey_are_shown(tmp_path, capsys):
    folder = forged_wheel(tmp_path / "wheels", "one").parent
    for name in ("killed", "whole"):
        assert wheelfix(["survey", str(folder), "-o", str(tmp_path / name), "-q", "-j", "1"]) == 0
        if name == "killed":
            assert compare(tmp_path / name, tmp_path / name)[0].rows == 1
            forged_wheel(folder, "two")
    assert main([str(tmp_path), "--compare-only"]) == 1
    said = capsys.readouterr().out
    assert "wheels             1 rows, 1 differ" in said
    assert "only in the second: " in said
    assert "two-1.0-cp311-cp311-win_amd64.whl" in said
    assert wheelfix(["survey", str(folder), "-o", str(tmp_path / "killed"), "-q", "-j", "1"]) == 0
    assert main([str(tmp_path), "--compare-only"]) == 0
    assert "differ" in report(compare(tmp_path / "killed", tmp_path / "whole"))
