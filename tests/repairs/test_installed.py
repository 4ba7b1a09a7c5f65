"""Repairing a package where it is installed, and taking that back."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from wheelfix.archive.record import Record
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel
from wheelfix.errors import CannotRepair, InputError
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport, Verdict
from wheelfix.repairs.installed import repair_installed, undo
from wheelfix.roots.lazy import lazy_index

INFO = "Lib/site-packages/torch-2.7.1+cu117.dist-info"


@pytest.fixture
def prefix(tmp_path):
    """A Windows-like environment with the Kepler wheel unpacked into it."""
    wheel = write_wheel(kepler_cu117(), tmp_path / "dist")
    prefix = tmp_path / "env with ümlaut"
    site = prefix / "Lib" / "site-packages"
    site.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (prefix / "python.exe").write_bytes(b"MZ")
    return prefix


def snapshot(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def roots_of(tmp_path):
    return RootOptions(roots=tuple(write_roots(kepler_cu117(), tmp_path / "roots").values()), discover=False)


def scan_environment(prefix):
    options = ScanOptions(roots=RootOptions(discover=False), packages=("torch",))
    (report,) = scan_all([prefix], options)
    assert isinstance(report, ScanReport)
    return report


def test_an_installed_package_is_made_whole_and_undone(prefix, tmp_path):
    before = snapshot(prefix)
    assert scan_environment(prefix).verdict is Verdict.BROKEN
    roots = roots_of(tmp_path)
    with lazy_index(roots) as index:
        result = repair_installed(prefix, "torch", RepairOptions(scan=ScanOptions(roots=roots)), index)
    assert result.changed
    assert (prefix / "Lib/site-packages/torch/lib/cupti64_2022.2.1.dll").is_file()
    report = scan_environment(prefix)
    assert report.first_failure is None

    rows = {row.path for row in Record.parse((prefix / INFO / "RECORD").read_bytes()).rows}
    on_disk = {
        path.relative_to(prefix / "Lib/site-packages").as_posix() for path in prefix.rglob("Lib/**/*") if path.is_file()
    }
    assert on_disk == rows

    taken_back = undo(prefix, "torch")
    assert not taken_back.kept
    assert snapshot(prefix) == before


def test_a_second_repair_asks_to_undo_the_first(prefix, tmp_path):
    roots = roots_of(tmp_path)
    options = RepairOptions(scan=ScanOptions(roots=roots))
    with lazy_index(roots) as index:
        repair_installed(prefix, "torch", options, index)
        with pytest.raises(CannotRepair, match="repaired before"):
            repair_installed(prefix, "torch", options, index)


def test_a_dry_run_touches_nothing(prefix, tmp_path):
    before = snapshot(prefix)
    roots = roots_of(tmp_path)
    with lazy_index(roots) as index:
        result = repair_installed(prefix, "torch", RepairOptions(scan=ScanOptions(roots=roots)), index, dry_run=True)
    assert not result.changed
    assert result.added
    assert snapshot(prefix) == before


def test_undo_leaves_files_alone_that_were_changed_since(prefix, tmp_path):
    roots = roots_of(tmp_path)
    with lazy_index(roots) as index:
        repair_installed(prefix, "torch", RepairOptions(scan=ScanOptions(roots=roots)), index)
    changed = prefix / "Lib/site-packages/torch/lib/libiomp5md.dll"
    changed.write_bytes(b"mine")
    assert undo(prefix, "torch").kept == (str(changed),)
    assert changed.read_bytes() == b"mine"


def test_nothing_to_undo_is_said(prefix):
    with pytest.raises(InputError, match="nothing to undo"):
        undo(prefix, "torch")


def test_a_journal_that_a_wheel_has_installed_means_nothing(prefix, tmp_path):
    """A repair was refused because of it, with the advice to undo, which removed python.exe."""
    stranger = prefix / "Lib/site-packages/other/o.dll"
    stranger.parent.mkdir()
    stranger.write_bytes(b"MZ")
    digest = hashlib.sha256(b"MZ").hexdigest()
    names = [{"path": path, "sha256": digest} for path in ("other/o.dll", "../../python.exe")]
    document = {"schema": "wheelfix.journal/1", "record": "", "added": names, "dropped": []}
    (prefix / INFO / "wheelfix-journal.json").write_text(json.dumps(document))
    before = snapshot(prefix)
    with pytest.raises(InputError, match="nothing to undo"):
        undo(prefix, "torch")
    assert snapshot(prefix) == before
    roots = roots_of(tmp_path)
    with lazy_index(roots) as index:
        assert repair_installed(prefix, "torch", RepairOptions(scan=ScanOptions(roots=roots)), index).changed
    undo(prefix, "torch")
    assert snapshot(prefix) == before


def test_a_package_that_was_installed_again_is_repaired_again(prefix, tmp_path):
    """The journal of the first repair is no reason to refuse the second one."""
    roots = roots_of(tmp_path)
    options = RepairOptions(scan=ScanOptions(roots=roots))
    record = (prefix / INFO / "RECORD").read_bytes()
    with lazy_index(roots) as index:
        result = repair_installed(prefix, "torch", options, index)
        for path in result.added:
            Path(path).unlink()
        (prefix / INFO / "RECORD").write_bytes(record + b"torch/new.py,,\n")
        (prefix / "Lib/site-packages/torch/new.py").write_bytes(b"")
        with pytest.raises(InputError, match="installed again"):
            undo(prefix, "torch")
        assert repair_installed(prefix, "torch", options, index).changed
    undo(prefix, "torch")


def test_a_package_that_is_not_there_is_named(prefix, tmp_path):
    with lazy_index(roots_of(tmp_path)) as index, pytest.raises(InputError, match="numpy is not installed"):
        repair_installed(prefix, "numpy", RepairOptions(), index)
