"""Every kind of wheel that repair writes, read by every client; and wheels that people repacked with everyday tools."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import check_with_clients
from tests.support.environments import lay
from tests.support.repairs import contents, hermetic, kepler, repaired
from tests.support.tables import named_cases
from tests.support.tiers import program
from tests.support.wheels import ALONE, build_wheel
from tools.forge import forge_dll
from wheelfix.exam.scan import scan
from wheelfix.model import Severity

pytestmark = pytest.mark.slow
LACKS = ("cupti64_2022.2.1.dll", "libiomp5md.dll", "mkl_intel_thread.2.dll")


def checked(path: Path, folder: Path, *roots: Path, **more: Any) -> Path:
    """Repair a wheel, and let everybody read what comes out."""
    result = repaired(path, *roots, **more)
    assert result.outcome == "repaired"
    assert result.output is not None
    check_with_clients(result.output, folder / "clients")
    report = scan(result.output, hermetic(verify=True))
    assert not [finding for finding in report.findings if finding.severity is Severity.ERROR]
    return result.output


# ------------------------------------------------------------------------------------------------ what repair writes


@named_cases(
    "how",
    {
        "vendored": {},
        "dropped": {"drop_test_artifacts": True},
        "build tag": {"build_tag": "1repaired"},
        "stored, without a bill of materials": {"compression": "store", "sbom": False},
    },
)
def test_vendored(tmp_path, how):
    wheel, roots = kepler(tmp_path)
    made = checked(wheel, tmp_path, *roots.values(), **how)
    names = contents(made).keys()
    assert {f"torch/lib/{name}" for name in LACKS} <= names
    assert ("torch/lib/aoti_custom_ops.dll" in names) is ("drop_test_artifacts" not in how)
    assert ("1repaired" in made.name) is ("build_tag" in how)
    assert any("/sboms/" in name for name in names) is how.get("sbom", True)


def test_renamed_into_libs(tmp_path):
    files = {
        "pkg/__init__.py": b"from . import _x\n",
        "pkg/_x.cp311-win_amd64.pyd": "imports odd.dll, python311.dll:Py_IncRef",
    }
    wheel = build_wheel(tmp_path / "dist", files=files)
    lay(tmp_path / "root", {"odd.dll": forge_dll("odd.dll", exports=["f"], size=8192)})
    made = checked(wheel, tmp_path, tmp_path / "root")
    assert [name for name in contents(made) if name.startswith("pkg.libs/odd-")]


def test_into_the_data_scheme_nothing_is_lost(tmp_path):
    """A DLL of the data scheme lacks another; what was there stays where an installer wants it."""
    files = {
        "pkg-1.0.data/data/Library/bin/tool.dll": "imports odd.dll; exports g",
        "pkg-1.0.data/scripts/run.py": b"#!python\nprint()\n",
        "pkg/__init__.py": b"ctypes.CDLL(os.path.join(sys.prefix, 'Library', 'bin', 'tool.dll'))\n",
    }
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", "py3-none-win_amd64", files)
    lay(tmp_path / "root", {"odd.dll": forge_dll("odd.dll", exports=["f"], size=8192)})
    made = checked(wheel, tmp_path, tmp_path / "root")
    assert "pkg-1.0.data/data/Library/bin/odd.dll" in contents(made)


# ------------------------------------------------------------------- what people do: unpack, paste DLLs, zip again


def unpack_and_paste(folder: Path) -> tuple[Path, str]:
    """The manual way: everything unpacked, the missing DLLs pasted into torch/lib; RECORD knows nothing of them."""
    wheel, roots = kepler(folder)
    place = folder / "unpacked" / "torch-2.7.1+cu117"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    for root in roots.values():
        for dll in root.rglob("*.dll"):
            if dll.name in LACKS or dll.name.startswith(("mkl_", "nvperf")):
                shutil.copyfile(dll, place / "torch" / "lib" / dll.name)
    return place, wheel.name


def zip_with_7z(place: Path, target: Path) -> None:
    """Mark everything in the folder, Add to archive."""
    everything = sorted(path.name for path in place.iterdir())
    _run(place, program("7z", "p7zip-full"), "a", "-bd", "-tzip", target, *everything)


def zip_the_folder_with_7z(place: Path, target: Path) -> None:
    """Right-click on the folder itself, Add to archive: everything lies one folder too deep."""
    _run(place.parent, program("7z", "p7zip-full"), "a", "-bd", "-tzip", target, place.name)


def zip_with_info_zip(place: Path, target: Path) -> None:
    _run(place, program("zip", "zip"), "-q", "-r", target, ".")


def zip_through_a_pipe(place: Path, target: Path) -> None:
    """``zip -r - . | …`` cannot seek back, so that sizes follow the data."""
    command = [program("zip", "zip"), "-q", "-r", "-", "."]
    target.write_bytes(subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True).stdout)


def zip_with_make_archive(place: Path, target: Path) -> None:
    """The script that everybody writes: ``shutil.make_archive`` and a rename."""
    made = shutil.make_archive(str(target.with_suffix("")), "zip", place)
    Path(made).rename(target)


def zip_with_backslashes(place: Path, target: Path) -> None:
    """What some tools for Windows write, and Python turns into slashes only there."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in place.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo("x", (2024, 1, 1, 0, 0, 0))
            info.filename = str(path.relative_to(place)).replace("/", "\\")
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


def _run(folder: Path, *command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@named_cases(
    "repack, codes",
    {
        "7z": (zip_with_7z, {"WF101"}),
        "7z-folder-too-deep": (zip_the_folder_with_7z, {"WF112"}),
        "info-zip": (zip_with_info_zip, {"WF101"}),
        "info-zip-pipe": (zip_through_a_pipe, {"WF101", "WF120"}),
        "make-archive": (zip_with_make_archive, {"WF101"}),
        "backslashes": (zip_with_backslashes, {"WF111"}),
    },
)
def test_repacked_by_hand(repack, codes, tmp_path):
    """The DLLs are there, the archive is not valid; no root is needed to fix it."""
    place, name = unpack_and_paste(tmp_path)
    (tmp_path / "repacked").mkdir()
    wheel = tmp_path / "repacked" / name
    repack(place, wheel)
    assert codes <= {finding.code for finding in scan(wheel, ALONE).findings}
    with pytest.raises((AssertionError, ValueError)):
        check_with_clients(wheel, tmp_path / "before", only=("installer",))
    made = checked(wheel, tmp_path)
    members = [info for info in zipfile.ZipFile(made).infolist() if not info.is_dir()]
    assert {info.filename for info in members} == {
        path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()
    }
    assert not [info for info in members if info.flag_bits & 0x8]
