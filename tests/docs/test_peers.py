"""What the README says of other tools, tried on the embedded examples.

delvewheel is given the place where every missing DLL lies, so that nothing fails because of a missing folder.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.wheels import ALONE, build_wheel
from tools import example
from wheelfix import RepairOptions, RootOptions, ScanOptions, repair, scan, verify

pytestmark = pytest.mark.slow  # what others do changes with their versions, and not with ours


class Place:
    """A story's files on disk, and the tools to run on them."""

    def __init__(self, folder, story):
        self.folder = folder
        self.story = story
        self.wheel = example.write_wheel(story, folder / "dist")
        self.roots = example.write_roots(story, folder / "roots")

    def delvewheel(self, *words):
        """Run delvewheel with the folders of every root on its path; returns the process and the wheel it made."""
        folders = {file.parent for root in self.roots.values() for file in root.rglob("*.dll")}
        command = [*words, "--add-path", os.pathsep.join(map(str, sorted(folders)))]
        made = self.folder / "made"
        command += ["-w", str(made)] if words[0] == "repair" else []
        return run_tool(self.folder, "delvewheel", *command, str(self.wheel)), made / self.wheel.name

    def repaired(self):
        """The same wheel, repaired by wheelfix from the same folders."""
        roots = RootOptions(roots=tuple(self.roots.values()), discover=False)
        options = RepairOptions(wheel_dir=self.folder / "wheelhouse", scan=ScanOptions(roots=roots))
        return repair(self.wheel, options).output


def run_tool(folder, *words):
    environment = {**os.environ, "PATH": "", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


def members(wheel, pattern="*"):
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if fnmatch(name, pattern) and not name.endswith("/")]


def bytes_of(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)


def verdict(wheel):
    return scan(wheel, ALONE).verdict.value


@pytest.fixture
def cu117(tmp_path):
    return Place(tmp_path, example.kepler_cu117())


@pytest.fixture
def cu114(tmp_path):
    return Place(tmp_path, example.kepler_cu114())


def test_show_exits_with_0_though_dlls_are_missing(cu117):
    done = run_tool(cu117.folder, "delvewheel", "show", str(cu117.wheel))
    assert done.returncode == 0
    assert "torch_python.dll (Error: Not Found)" in done.stdout  # it is in the wheel
    assert "mkl_intel_thread" not in done.stdout  # it is not
    assert verdict(cu117.wheel) == "broken"


def test_show_does_not_name_the_error_that_import_will_raise(cu117):
    done, _ = cu117.delvewheel("show", "--ignore-existing", "--analyze-existing")
    assert done.returncode == 0
    assert "WinError" not in done.stdout
    assert cu117.story.blamed not in done.stdout
    report = scan(cu117.wheel, ALONE)
    assert cu117.story.blamed in report.first_failure.message


def test_repair_as_it_comes_stops_with_a_traceback(cu117):
    done, made = cu117.delvewheel("repair")
    assert done.returncode != 0
    assert "Traceback" in done.stderr
    assert done.stderr.strip().endswith("FileNotFoundError: Unable to find library: torch_python.dll")
    assert not made.exists()
    assert verdict(cu117.repaired()) != "broken"


def test_ignore_existing_misses_what_no_extension_module_reaches(cu117):
    done, made = cu117.delvewheel("repair", "--ignore-existing")
    assert done.returncode == 0
    assert not members(made, "*cupti64*")  # torch_cuda.dll needs it, and import torch loads torch_cuda.dll
    assert members(cu117.repaired(), "torch/lib/cupti64_2022.2.1.dll")


def test_cudnn_comes_without_its_parts(cu114):
    done, made = cu114.delvewheel("repair", "--ignore-existing", "--analyze-existing")
    assert done.returncode == 0
    assert [name.rpartition("/")[2] for name in members(made, "*cudnn*")] == ["cudnn64_8.dll"]
    assert len(members(cu114.repaired(), "torch/lib/cudnn*.dll")) == 7


def test_mkl_comes_without_its_kernels_and_renamed_and_python_files_are_patched(cu117):
    done, made = cu117.delvewheel("repair", "--ignore-existing", "--analyze-existing")
    assert done.returncode == 0
    assert members(made, "torch.libs/mkl_core.2-*.dll")
    assert not members(made, "*mkl_def*")
    repaired = cu117.repaired()
    assert {"torch/lib/mkl_core.2.dll", "torch/lib/mkl_def.2.dll"} <= set(members(repaired))
    before = bytes_of(cu117.wheel, "torch/__init__.py")
    assert bytes_of(made, "torch/__init__.py") != before
    assert bytes_of(repaired, "torch/__init__.py") == before


def test_a_delay_loaded_driver_stops_a_repair(tmp_path):
    wheel = build_wheel(
        tmp_path,
        files={
            "pkg/__init__.py": "",
            "pkg/_x.cp311-win_amd64.pyd": "imports python311.dll:Py_Initialize; delays nvcuda.dll:cuInit",
        },
    )
    done = run_tool(tmp_path, "delvewheel", "repair", "-w", "made", str(wheel))
    assert done.returncode != 0
    assert "nvcuda.dll" in done.stderr
    assert verdict(wheel) == "ok"


def test_no_report_for_machines(tmp_path):
    done = run_tool(tmp_path, "delvewheel", "show", "--help")
    assert not any(word in done.stdout.lower() for word in ("json", "sarif", "junit"))


def test_wheel_pack_writes_record_and_knows_nothing_of_dlls(cu117):
    assert run_tool(cu117.folder, "wheel", "unpack", str(cu117.wheel)).returncode == 0
    unpacked = cu117.folder / "torch-2.7.1+cu117"
    shutil.copy(next(cu117.roots["oneAPI"].rglob("mkl_intel_thread.2.dll")), unpacked / "torch" / "lib")
    assert run_tool(cu117.folder, "wheel", "pack", str(unpacked), "-d", str(cu117.folder)).returncode == 0
    packed = cu117.folder / cu117.wheel.name
    assert verify(packed).verdict.value == "ok"
    assert verdict(packed) == "broken"


def test_zipping_by_hand_leaves_record_behind(cu117):
    unpacked = cu117.folder / "unpacked"
    with zipfile.ZipFile(cu117.wheel) as archive:
        archive.extractall(unpacked)
    shutil.copy(next(cu117.roots["oneAPI"].rglob("mkl_intel_thread.2.dll")), unpacked / "torch" / "lib")
    made = shutil.make_archive(str(cu117.folder / "again"), "zip", unpacked)
    wheel = cu117.folder / cu117.wheel.name
    Path(made).replace(wheel)
    assert [finding.code for finding in verify(wheel).findings if finding.code < "WF11"] == ["WF101"]
