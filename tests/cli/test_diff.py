"""``wheelfix diff`` from the command line."""

from __future__ import annotations

import pytest

from tests.support.schemas import validate
from tests.support.wheels import build_wheel


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Two builds: the second forgot a DLL that its module still imports, and has a newer helper."""
    monkeypatch.chdir(tmp_path)
    old = {
        "demo/_x.cp311-win_amd64.pyd": "imports dep.dll, python311.dll:Py_Initialize",
        "demo/dep.dll": "",
        "demo/help.dll": "version 1.0.0.0",
    }
    new = {**old, "demo/help.dll": "version 1.2.0.0", "demo/more.dll": ""}
    del new["demo/dep.dll"]
    build_wheel(tmp_path / "old", "demo", files=old)
    build_wheel(tmp_path / "new", "demo", "1.1", files=new)
    return tmp_path


def test_json_fits_its_schema(wheels, run):
    document = run("diff", "old", "new", "--format", "json").document
    validate(document)
    (wheel,) = document["wheels"]
    assert [file["path"] for file in wheel["lost"]] == ["demo/dep.dll"]
    assert wheel["lost"][0]["still_needed_by"] == ["demo/_x.cp311-win_amd64.pyd"]
