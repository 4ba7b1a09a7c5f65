"""Repair from end to end on small wheels made of forged DLLs: the two Kepler stories and what can go wrong."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.interrupts import watch_replacing
from tests.support.repairs import check_record_independently, contents, hermetic, kepler, repaired
from tests.support.tables import named_cases
from tests.support.wheels import ALONE, build_wheel, folder_of, library, needing
from tools.example import kepler_cu114, kepler_cu117, write_roots, write_wheel
from tools.forge import forge_dll
from tools.take_one_out import write_without
from wheelfix.base import workers
from wheelfix.base.options import RepairOptions
from wheelfix.cli.main import main
from wheelfix.errors import CannotRepair, Exit, UsageError
from wheelfix.exam.examination import FailedInput
from wheelfix.exam.scan import scan
from wheelfix.model import Verdict
from wheelfix.plan.model import Repaired
from wheelfix.repairs.repair import repair_all, targets_differ


@named_cases("make", {"cu117": kepler_cu117, "cu114": kepler_cu114})
def test_a_kepler_build_is_broken_before_and_loads_after(make, tmp_path):
    story = make()
    wheel = write_wheel(story, tmp_path / "dist")
    before = scan(wheel, ALONE)
    assert before.verdict is Verdict.BROKEN
    assert f'Error loading "…\\torch\\lib\\{story.blamed}"' in before.first_failure.message
    assert before.first_failure.chain[-1] in story.missing
    imported = {missing.name for missing in before.missing if missing.kind.value == "import"}
    assert imported == set(story.missing)

    original = wheel.read_bytes()
    roots = write_roots(story, tmp_path / "roots")
    result = repaired(wheel, *roots.values())
    assert result.outcome == "repaired"
    assert wheel.read_bytes() == original
    assert {addition.name for addition in result.plan.additions} >= set(story.missing)
    assert all(addition.target.startswith("torch/lib/") for addition in result.plan.additions)

    after = scan(result.output, hermetic(verify=True))
    assert after.first_failure is None
    assert not [finding for finding in after.findings if finding.severity.value == "error"]
    check_record_independently(result.output)


def test_the_same_input_gives_the_same_bytes_and_a_second_repair_changes_nothing(tmp_path):
    wheel, roots = kepler(tmp_path)
    first = repaired(wheel, *roots.values(), wheel_dir=tmp_path / "a").output.read_bytes()
    second = repaired(wheel, *roots.values(), wheel_dir=tmp_path / "b")
    assert second.output.read_bytes() == first
    again = repaired(second.output, *roots.values(), wheel_dir=tmp_path / "c")
    assert again.outcome == "unchanged"
    assert again.output.read_bytes() == first


def test_nothing_is_written_when_something_stays_missing(tmp_path):
    wheel, roots = kepler(tmp_path)
    with pytest.raises(CannotRepair, match=r"cupti64_2022\.2\.1\.dll"):
        repaired(wheel, roots["oneAPI"])
    assert not (wheel.parent / "out").exists()


def test_what_may_be_missing_does_not_stop_a_repair(tmp_path):
    wheel, roots = kepler(tmp_path)
    # cudart is in the wheel, CUPTI is not: that stays an error of its own unless it is allowed too.
    result = repaired(wheel, roots["oneAPI"], allow_missing=("cupti64_*",), dry_run=True)
    remaining = {item.name: item for item in result.plan.remaining}
    assert remaining["cupti64_2022.2.1.dll"].allowed
    assert "mkl_intel_thread.2.dll" not in remaining


def test_a_dry_run_writes_nothing_and_tells_everything(tmp_path):
    wheel, roots = kepler(tmp_path, kepler_cu114())
    result = repaired(wheel, *roots.values(), dry_run=True)
    assert result.outcome == "planned"
    assert result.output is None
    assert not (wheel.parent / "out").exists()
    by_name = {addition.name: addition for addition in result.plan.additions}
    cudnn = by_name["cudnn64_8.dll"]
    assert cudnn.because == "imported by torch_cuda.dll"
    assert len(cudnn.sha256) == 64
    assert by_name["cudnn_ops_infer64_8.dll"].kind == "family"
    tree = json.loads(json.dumps(result.plan.to_json()))
    assert tree["schema"] == "wheelfix.plan/1"


def test_test_programs_are_dropped_with_the_other_test_artefacts(tmp_path):
    """WF603 counted the programs, and --drop-test-artifacts left them in the wheel."""
    story = kepler_cu117()
    program = forge_dll("test_jit.exe")
    more = {"torch/bin/test_jit.exe": program, "torch/bin/protoc.exe": program, "torch/test/test_api.exe": program}
    wheel = write_wheel(replace(story, extra={**story.extra, **more}), tmp_path / "dist")
    roots = tuple(write_roots(story, tmp_path / "roots").values())
    counted = next(f for f in scan(wheel, ALONE).findings if f.code == "WF603")
    result = repaired(wheel, *roots, drop_test_artifacts=True)
    left = contents(result.output).keys()
    assert "torch/bin/protoc.exe" in left
    assert {drop.path for drop in result.plan.drops} == set(counted.evidence["paths"])
    assert not set(counted.evidence["paths"]) & set(left)
    assert "WF603" not in [f.code for f in scan(result.output).findings]


def test_a_drop_pattern_that_matches_nothing_is_a_usage_error(tmp_path):
    wheel = write_wheel(kepler_cu117(), tmp_path / "dist")
    with pytest.raises(UsageError, match=r"--drop nothere\.dll"):
        repaired(wheel, drop=("nothere.dll",))


def test_excluded_dlls_are_refused_and_said(tmp_path):
    wheel, roots = kepler(tmp_path, kepler_cu114())
    result = repaired(wheel, *roots.values(), exclude=("nvToolsExt*",), dry_run=True)
    assert [(refusal.name, refusal.because) for refusal in result.plan.refused] == [
        ("nvToolsExt64_1.dll", "excluded with --exclude")
    ]


def test_a_dll_that_code_may_find_is_not_copied(tmp_path):
    """Two copies of one DLL in a process are worse than a folder that could not be read from the code."""
    files = {
        "pkg/__init__.py": b"import os\nos.add_dll_directory(os.path.join(unknown(), 'libs'))\nfrom . import _x\n",
        "pkg/_x.cp311-win_amd64.pyd": "imports helper.dll",
        "pkg/libs/helper.dll": "",
    }
    wheel = build_wheel(tmp_path / "dist", files=files)
    with pytest.raises(CannotRepair, match="could not tell"):
        repaired(wheel)


def test_a_build_tag_is_in_name_and_wheel_file(tmp_path):
    wheel, roots = kepler(tmp_path, kepler_cu114())
    result = repaired(wheel, *roots.values(), build_tag="1vendored")
    assert result.output.name == "torch-1.12.0+cu114-1vendored-cp311-cp311-win_amd64.whl"
    assert b"\nBuild: 1vendored\n" in contents(result.output)["torch-1.12.0+cu114.dist-info/WHEEL"]
    assert not [f for f in scan(result.output).findings if f.code == "WF123"]


def test_the_bill_of_materials_names_what_came_in_and_no_path(tmp_path):
    wheel, roots = kepler(tmp_path)
    result = repaired(wheel, *roots.values())
    text = contents(result.output)["torch-2.7.1+cu117.dist-info/sboms/wheelfix.cdx.json"].decode()
    assert str(tmp_path) not in text
    document = json.loads(text)
    assert document["bomFormat"] == "CycloneDX"
    names = {component["name"]: component for component in document["components"]}
    assert set(names) == {addition.name for addition in result.plan.additions}
    assert names["libiomp5md.dll"]["supplier"]["name"].startswith("Intel")
    assert names["libiomp5md.dll"]["version"] == "5.0.2023.428"


def test_companions_may_be_left_out_and_family_members_that_nobody_loads_are(tmp_path):
    """MKL's folder also has layers for MPI; they are of the family, but nothing of the chosen ones loads them."""
    wheel, roots = kepler(tmp_path)
    mpi = library("mkl_blacs_intelmpi_lp64.2.dll", "impi.dll:MPI_Init")
    folder = next(roots["oneAPI"].rglob("mkl_core.2.dll")).parent
    (folder / "mkl_blacs_intelmpi_lp64.2.dll").write_bytes(mpi)
    full = repaired(wheel, *roots.values(), dry_run=True)
    names = {addition.name for addition in full.plan.additions}
    assert "mkl_def.2.dll" in names
    assert "mkl_blacs_intelmpi_lp64.2.dll" not in names
    bare = repaired(wheel, *roots.values(), companions="none")
    assert "mkl_def.2.dll" not in {addition.name for addition in bare.plan.additions}
    assert bare.outcome == "repaired"


def deleted(tmp_path, *, row=True):
    """A wheel from which somebody deleted a DLL, with or without its row in RECORD, and the original."""
    files = {
        "pkg/__init__.py": "import os\nos.add_dll_directory(os.path.dirname(__file__) + '/bin')\nfrom . import _core\n",
        "pkg/_core.cp311-win_amd64.pyd": "imports flux.dll",
        "pkg/bin/flux.dll": "",
    }
    original = build_wheel(tmp_path / "original", files=files)
    damaged = tmp_path / original.name
    write_without(original, "pkg/bin/flux.dll", damaged, row_left=row)
    return damaged, original


@named_cases("row", {"row left": True, "row gone": False})
def test_a_deleted_dll_is_never_repaired_by_forgetting_it(row, tmp_path):
    damaged, _ = deleted(tmp_path, row=row)
    assert scan(damaged, ALONE).verdict is Verdict.BROKEN
    with pytest.raises(CannotRepair) as raised:
        repaired(damaged)
    assert ("--root ORIGINAL.whl" in (raised.value.hint or "")) is row
    with pytest.raises(CannotRepair, match="WF301"):  # its row may go, but something still needs it
        repaired(damaged, accept_missing=("pkg/bin/*",))
    assert not (damaged.parent / "out").exists()


def test_a_deleted_dll_goes_back_to_where_record_has_it(tmp_path):
    """h5py without hdf5.dll, and the original as --root: under another name in h5py.libs it would not be the same."""
    damaged, original = deleted(tmp_path)
    result = repaired(damaged, original)
    assert [addition.target for addition in result.plan.additions] == ["pkg/bin/flux.dll"]
    check_record_independently(result.output)
    assert scan(result.output, ALONE).verdict is Verdict.OK
    with zipfile.ZipFile(original) as old, zipfile.ZipFile(result.output) as new:
        assert new.read("pkg/bin/flux.dll") == old.read("pkg/bin/flux.dll")


def test_a_file_that_nothing_needs_may_be_given_up(tmp_path):
    files = {"pkg/__init__.py": "", "pkg/data.txt": "text", "pkg/spare.dll": ""}
    whole = build_wheel(tmp_path / "original", files=files)
    for gone in ("pkg/data.txt", "pkg/spare.dll"):
        damaged = tmp_path / whole.name
        write_without(whole, gone, damaged, row_left=True)
        with pytest.raises(CannotRepair, match=f"{gone}: RECORD lists it"):
            repaired(damaged)
        result = repaired(damaged, accept_missing=(gone,))
        check_record_independently(result.output)


@pytest.mark.parametrize("layout", ["beside", "libs"])
def test_the_wheel_is_closed_before_it_is_replaced(layout, tmp_path, monkeypatch, capsys):
    wheel, root = needing(tmp_path / "dist", "outer.dll"), folder_of(tmp_path / "root", "outer.dll")
    opened = watch_replacing(wheel, monkeypatch)
    words = ["repair", str(wheel), "--in-place", "--root", str(root), "--no-discover", "--layout", layout, "-q"]
    assert main(words) == Exit.OK, capsys.readouterr().err
    assert opened
    assert main(["scan", str(wheel), "--no-discover", "-q"]) == Exit.OK


def several_options(tmp_path: Path, jobs: int) -> RepairOptions:
    roots = tuple(write_roots(kepler_cu117(), tmp_path / "roots").values())
    return RepairOptions(wheel_dir=tmp_path / "out", scan=hermetic(*roots, jobs=jobs))


def wheels(tmp_path: Path) -> list[Path]:
    first = write_wheel(kepler_cu117(), tmp_path)
    second = first.with_name(first.name.replace("-cp", "-1-cp", 1))
    shutil.copy(first, second)
    bad = tmp_path / "bad-1.0-py3-none-any.whl"
    bad.write_text("no zip")
    return [first, bad, second]


@pytest.mark.slow
def test_processes_write_what_one_process_writes(tmp_path, monkeypatch):
    paths = wheels(tmp_path)
    alone = list(repair_all(paths, several_options(tmp_path, 1)))
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    shutil.rmtree(tmp_path / "out")
    monkeypatch.setattr(workers, "WORTH_SECONDS", 0.0)
    found = list(repair_all(paths, several_options(tmp_path, 2)))
    assert [type(one) for one in found] == [Repaired, FailedInput, Repaired]
    assert found[0] == alone[0]
    assert found[2] == alone[2]
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == written
    assert len(written) == 2


def test_two_wheels_of_one_name_are_repaired_one_after_the_other(tmp_path):
    paths = [tmp_path / "a" / "x-1-py3-none-any.whl", tmp_path / "b" / "X-1-py3-none-any.whl"]
    chosen = several_options(tmp_path, 2)
    assert not targets_differ(paths, chosen)
    assert targets_differ(paths, replace(chosen, wheel_dir=None))
    assert targets_differ(paths[:1], chosen)
