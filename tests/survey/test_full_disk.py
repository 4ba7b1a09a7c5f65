"""Many wheels onto a disk that becomes full: a clear error, nothing half-made, and the same command goes on later."""

import sys

import pytest

from tests.support.disks import resize, root_only, tiny_disk
from tests.support.surveys import forged_wheel, tables_of
from tests.support.wheels import folder_of
from wheelfix.cli.main import main
from wheelfix.errors import Exit
from wheelfix.survey import run
from wheelfix.survey.tables import ask

pytestmark = [pytest.mark.slow, root_only, pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")]


def test_a_survey(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "PART_WHEELS", 3)
    for number in range(12):
        forged_wheel(tmp_path / "wheels", f"pkg{number:02}")
    words = ["survey", str(tmp_path / "wheels"), "-j", "1"]
    assert main([*words, "-o", str(tmp_path / "whole"), "-q"]) == Exit.OK
    with tiny_disk(tmp_path / "disk", "160k") as disk:
        out = disk / "survey"
        capsys.readouterr()
        assert main([*words, "-o", str(out)]) == Exit.ENVIRONMENT
        said = capsys.readouterr().err
        assert f"cannot write {out}" in said
        assert "No space left on device" in said
        ((done,),) = ask(out, "SELECT count(*) FROM wheels").rows
        assert 0 < done < 12, "what was written before can be asked"
        assert not list(out.glob(".wheelfix*"))
        resize(disk, "10m")
        assert main([*words, "-o", str(out)]) == Exit.OK
        assert f"{12 - done} wheels to read, {done} done before" in capsys.readouterr().err
        assert tables_of(out) == tables_of(tmp_path / "whole")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_repairs(tmp_path, jobs, capsys):
    folder_of(tmp_path / "root", "added.dll")
    for number in range(16):
        forged_wheel(tmp_path / "wheels", f"pkg{number:02}", padding=6_000_000 if jobs == "2" else 0)
    words = ["repair", str(tmp_path / "wheels"), "--include", "added.dll", "--root", str(tmp_path / "root")]
    words += ["--no-discover", "--layout", "beside", "-j", jobs, "-q"]
    assert main([*words, "-w", str(tmp_path / "whole")]) == Exit.OK
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    room = sum(map(len, whole.values())) // 2
    with tiny_disk(tmp_path / "disk", str(room)) as disk:
        capsys.readouterr()
        assert main([*words, "-w", str(disk)]) == Exit.ENVIRONMENT
        assert "No space left on device" in capsys.readouterr().err
        made = {path.name: path.read_bytes() for path in disk.iterdir()}
        assert 0 < len(made) < len(whole)
        assert all(whole[name] == data for name, data in made.items()), "what is there is whole"
        resize(disk, "200m")
        assert main([*words, "-w", str(disk)]) == Exit.OK
        assert {path.name: path.read_bytes() for path in disk.iterdir()} == whole
