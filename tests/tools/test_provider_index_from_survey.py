"""The provider index and the hashes of members from a survey: one command, the same bytes each time."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.remote.indexes import index_of
from tests.support.surveys import forged_wheel
from tools.provider_index_from_survey import known_names, main
from wheelfix.cli.main import main as wheelfix


def dll_hash(wheel: Path, member: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return hashlib.sha256(archive.read(member)).hexdigest()


@pytest.mark.slow
def test_one_command_makes_the_tables_of_a_served_index(tmp_path, capsys):
    plain, vendor = (forged_wheel(tmp_path / "wheels", name) for name in ("alpha", "nvidia_beta"))
    names = tmp_path / "names.txt"
    names.write_text("alpha==1.0\nnvidia-beta\n")
    with index_of([plain, vendor]) as server:
        for out in ("one", "two"):
            words = [str(tmp_path / "survey"), "--output", str(tmp_path / out), "--names", str(names), "-j", "1"]
            assert main([*words, "--index-url", f"{server.url}/simple"]) == 0
    said = capsys.readouterr().err
    assert "2 wheels to read, 0 done before" in said
    assert "0 wheels to read, 2 done before" in said
    written = {path.name: path.read_text() for path in (tmp_path / "one").iterdir()}
    assert written == {path.name: path.read_text() for path in (tmp_path / "two").iterdir()}
    assert "helper.dll\talpha:0\tnvidia-beta:0\n" in written["provider_dlls.txt"]
    line = "alpha\t1.0/cp311-cp311-win_amd64\tLib/site-packages/alpha\tnumpy>=1.20\n"
    assert line in written["provider_distributions.txt"]
    assert "alpha alpha\n" in written["modules.txt"]
    rows = [line for line in written["member_hashes.txt"].splitlines() if not line.startswith("#")]
    assert rows == [f"{dll_hash(vendor, 'nvidia_beta/helper.dll')}\t{vendor.name}\tnvidia_beta/helper.dll"], (
        "of vendors whose DLLs are fetched only"
    )


@pytest.mark.slow
def test_a_wheel_that_is_not_the_one_on_the_index_gives_no_hashes(tmp_path, capsys):
    ours, theirs = (forged_wheel(tmp_path / name, "nvidia_beta", needs=f"{name}.dll") for name in ("ours", "theirs"))
    other = forged_wheel(tmp_path / "ours", "intel_gone")
    assert ours.name == theirs.name
    assert wheelfix(["survey", str(ours.parent), "-o", str(tmp_path / "survey"), "-q", "-j", "1"]) == 0
    capsys.readouterr()
    with index_of([theirs]) as server:
        words = [str(tmp_path / "survey"), "--output", str(tmp_path / "out"), "--index-url", f"{server.url}/simple"]
        assert main(words) == 1
    said = capsys.readouterr().err
    assert f"{ours.name}: left out: its hash in the survey is not that on the index" in said
    assert f"{other.name}: left out: the index does not have it" in said
    assert "helper.dll" not in (tmp_path / "out" / "member_hashes.txt").read_text()
    assert "helper.dll" in (tmp_path / "out" / "provider_dlls.txt").read_text()


@pytest.mark.slow
def test_wheels_of_the_table_are_not_downloaded_again(tmp_path):
    wheel = forged_wheel(tmp_path / "wheels", "nvidia_beta")
    assert wheelfix(["survey", str(wheel), "-o", str(tmp_path / "survey"), "-q", "-j", "1"]) == 0
    out = tmp_path / "out"
    out.mkdir()
    row = f"{'0' * 64}\t{wheel.name}\tx.dll\n"
    (out / "member_hashes.txt").write_text(f"# old\n{row}")
    words = [str(tmp_path / "survey"), "--output", str(out), "--index-url", "http://127.0.0.1:9/simple"]
    assert main(words) == 0
    assert (out / "member_hashes.txt").read_text().endswith(row)


def test_a_folder_that_is_not_a_survey(tmp_path, capsys):
    assert main([str(tmp_path), "--output", str(tmp_path / "out")]) == 3
    assert "is not a survey" in capsys.readouterr().err


@pytest.mark.slow
def test_known_versions_are_pins():
    lines = known_names().splitlines()
    assert any(line.startswith("numpy==") for line in lines)
    assert len(lines) == len(set(lines)) > 10_000
