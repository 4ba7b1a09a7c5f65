"""What a plan says about the wheel that it will make: its name, what is added and why, and what stays missing."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.support.environments import lay
from tests.support.repairs import contents, repaired
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, library
from tools.forge import forge_dll
from wheelfix.archive.reader import Archive
from wheelfix.base.options import ScanOptions
from wheelfix.errors import CannotRepair, UsageError
from wheelfix.exam.scan import scan
from wheelfix.exam.wheel import examine_wheel
from wheelfix.model import Verdict
from wheelfix.plan.make import output_name, reference
from wheelfix.repairs.mangled import run_delvewheel


@pytest.mark.parametrize("tag", ["", "fixed", "1-2", "1 2", "../1"])
def test_a_build_tag_that_installers_would_refuse(tag):
    with pytest.raises(UsageError, match="--build-tag"):
        output_name("pkg-1.0-cp311-cp311-win_amd64.whl", tag)


def test_the_wheel_is_identified_by_its_directory_and_on_request_by_all_bytes(tmp_path):
    wheel = build_wheel(tmp_path, files={"pkg/__init__.py": ""})
    with Archive.open(wheel) as archive:
        exam = examine_wheel(archive, ScanOptions(jobs=1))
        quick, whole = (reference(archive, exam, hash_file=hashed) for hashed in (False, True))
    assert quick.sha256 == ""
    assert (len(whole.sha256), whole.size) == (64, wheel.stat().st_size)
    assert quick.directory_sha256 == whole.directory_sha256 != ""
    assert reference(None, exam).directory_sha256 == ""


PYZBAR = """
from ctypes import cdll
from pathlib import Path
dependencies = ['libiconv.dll']
deps = [cdll.LoadLibrary(str(Path(__file__).parent.joinpath(dep))) for dep in dependencies]
"""


def build(folder: Path, code: str = "", more: dict[str, bytes | str] | None = None) -> Path:
    files = {"pkg/__init__.py": code, "pkg/_x.cp311-win_amd64.pyd": "imports libiconv.dll:iconv"}
    return build_wheel(folder / "dist", files={**files, **(more or {})})


def root_of(folder: Path) -> Path:
    return lay(folder / "root", {"libiconv.dll": forge_dll("libiconv.dll", exports=["iconv"], size=8192)})


@pytest.mark.parametrize("layout", ["libs", "auto"])
def test_what_python_code_names_is_not_renamed(layout, tmp_path):
    """pyzbar loads libiconv.dll by name; renamed, its first import raised FileNotFoundError."""
    result = repaired(build(tmp_path, PYZBAR), root_of(tmp_path), layout=layout)
    assert "pkg/libiconv.dll" in contents(result)
    assert scan(result.output or "").verdict is Verdict.OK
    reported = "libiconv.dll keeps its name: the package's Python code names it"
    assert (reported in result.plan.notes) is (layout == "libs")


def test_what_nobody_names_is_renamed(tmp_path):
    result = repaired(build(tmp_path, "value = 'something else'\n"), root_of(tmp_path), layout="libs")
    assert any(name.startswith("pkg.libs/libiconv-") for name in contents(result))


def test_what_a_program_imports_is_not_renamed(tmp_path):
    """delvewheel leaves programs as they are, and they would look for the old name."""
    result = repaired(
        build(tmp_path, more={"pkg/tool.exe": "imports libiconv.dll:iconv"}), root_of(tmp_path), layout="libs"
    )
    assert "pkg/libiconv.dll" in contents(result)


def test_what_was_asked_for_by_name_is_in_the_wheel(tmp_path):
    """delvewheel only takes what import tables name, and would have left it out."""
    root = root_of(tmp_path)
    (root / "plugin.dll").write_bytes(library("plugin.dll:run"))
    result = repaired(build(tmp_path), root, layout="libs", include=("plugin.dll",))
    assert "pkg/plugin.dll" in contents(result)


def test_one_renamed_dll_serves_several_folders(tmp_path):
    more = {"pkg/sub/__init__.py": "", "pkg/sub/_y.cp311-win_amd64.pyd": "imports libiconv.dll:iconv"}
    result = repaired(build(tmp_path, more=more), root_of(tmp_path), layout="libs")
    (addition,) = result.plan.additions
    assert addition.serves == ("pkg/_x.cp311-win_amd64.pyd", "pkg/sub/_y.cp311-win_amd64.pyd")
    assert [name for name in contents(result) if "iconv" in name] == [addition.target]


@named_cases("marked", {"marked": True, "patched-only": False})
@pytest.mark.parametrize("layout", ["libs", "auto", "beside"])
def test_a_wheel_that_delvewheel_has_processed_is_repaired_without_it(layout, marked, tmp_path):
    """The second time delvewheel exits with 0 and writes nothing, and we said that its file "does not exist"."""
    first = repaired(build(tmp_path), root_of(tmp_path), layout="libs").output
    (renamed,) = (name for name in contents(first) if "libiconv-" in name)
    broken = tmp_path / "broken" / first.name
    broken.parent.mkdir()
    root = tmp_path / "second" / "root"
    root.mkdir(parents=True)
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(broken, "w") as new:
        (root / renamed.rpartition("/")[2]).write_bytes(old.read(renamed))
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("RECORD"):
                data = b"".join(line for line in data.splitlines(keepends=True) if renamed.encode() not in line)
                if not marked:
                    data = b"".join(line for line in data.splitlines(keepends=True) if b"/DELVEWHEEL," not in line)
            if name != renamed and (marked or not name.endswith("/DELVEWHEEL")):
                new.writestr(name, data)
    result = repaired(broken, root, layout=layout)
    assert renamed in contents(result)
    assert scan(result.output or "").verdict is Verdict.OK
    assert any("has processed this wheel" in note for note in result.plan.notes) is (layout == "libs")


def test_delvewheel_that_writes_nothing_is_a_refusal(tmp_path):
    wheel = build(tmp_path, more={"pkg-1.0.dist-info/DELVEWHEEL": "Version: 1.9.0\n"})
    with pytest.raises(CannotRepair) as caught:
        run_delvewheel(wheel, root_of(tmp_path), (), tmp_path / "second", 0x21 << 16)
    assert "already repaired" in str(caught.value)
    assert "--layout beside" in caught.value.hint


def test_a_module_that_only_compiled_ones_need_stops_a_repair(tmp_path, run):
    """gevent 26.9.0 without _gevent_cevent was copied with exit code 0: the plan's scan knew no imports of Cython."""
    using = "names pkg._b, __pyx_capi__"
    wheel = build_wheel(tmp_path, files={"pkg/__init__.py": "", "pkg/a.pyd": using, "pkg/c.pyd": using})
    assert "no file of pkg is that module" in run("repair", wheel, "-w", tmp_path / "out", code=1).err
    assert not (tmp_path / "out").exists()
