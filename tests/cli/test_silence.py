"""Nothing passes in silence: wheels of other systems, requests that cannot be met, folders with nothing to scan."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

import wheelfix
from tests.support.wheels import build_wheel
from tools.example import kepler_cu117, write_wheel
from wheelfix.archive.names import other_system
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.errors import UsageError, WheelfixError

LINUX = "pkg-1.0-cp311-cp311-manylinux2014_x86_64.whl"
WINDOWS = "pkg-1.0-cp311-cp311-win_amd64.whl"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A Windows wheel and a Linux one."""
    folder = tmp_path / "dist"
    for tags in ("cp311-cp311-manylinux2014_x86_64", "cp311-cp311-win_amd64"):
        build_wheel(folder, "pkg", "1.0", tags, {"pkg/__init__.py": b"", "pkg/x.dll": ""})
    return folder


@pytest.mark.parametrize(
    "name, platform",
    [
        (LINUX, "manylinux2014_x86_64"),
        (WINDOWS, ""),
        ("p-1-1build-cp311-cp311-macosx_11_0_arm64.whl", "macosx_11_0_arm64"),
        ("p-1-py3-none-any.whl", ""),
        ("p-1-py3-none-win32.manylinux1_x86_64.whl", ""),
        ("odd.whl", ""),
        ("p-1-py3-none-linux_x86_64.zip", ""),
    ],
)
def test_other_systems_are_known_by_their_tags(name, platform):
    assert other_system(name) == platform


@pytest.mark.parametrize("command", ["scan", "repair", "ci"])
def test_a_run_of_nothing_but_other_systems_is_a_usage_error(dist, command, tmp_path, run):
    more = [] if command == "scan" else ["-w", str(tmp_path / "out")]
    assert "no Windows wheel among the inputs" in run(command, dist / LINUX, *more, code=2).err
    assert not (tmp_path / "out").exists()


def test_skipped_wheels_are_counted_apart(dist, run):
    out, err = run("scan", dist, "--no-discover")
    assert f"skipped: {LINUX} is not a Windows wheel" in err
    assert "2 inputs: 1 ok, 1 skipped, not for Windows" in out
    for kind in ("json", "junit", "markdown", "github", "html", "sarif"):
        text = run("scan", dist, "--no-discover", "--format", kind).out
        if kind == "json":
            document = json.loads(text)
            assert [Path(path).name for path in document["skipped"]] == [LINUX]
            assert len(document["wheels"]) == 1
        elif kind not in ("html", "sarif"):
            assert LINUX in text.replace("\\_", "_")


def test_pure_python_is_for_no_processor(tmp_path):
    wheel = build_wheel(tmp_path, "pkg", "1.0", "py3-none-any", {"pkg/__init__.py": b""})
    assert wheelfix.scan(wheel).machine.value == "unknown"


def test_an_explicit_request_that_cannot_be_met_is_an_error(dist, tmp_path, run):
    out = ["-w", str(tmp_path / "out"), "--no-discover"]
    assert "no root has foo.dll" in run("repair", dist / WINDOWS, "--include", "foo.dll", *out, code=2).err
    files = {"pkg/__init__.py": b"", "pkg/_x.cp311-win_amd64.pyd": "imports msvcp140.dll"}
    wheel = build_wheel(dist, files=files)
    assert "no root has msvcp140.dll" in run("repair", wheel, "--with-vcredist", *out, code=2).err
    assert not list((tmp_path / "out").glob("*.whl")) if (tmp_path / "out").exists() else True


def test_a_linux_environment_an_empty_folder_and_an_sdist_say_what_they_are(tmp_path, run):
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "pkg"
    site.mkdir(parents=True)
    (site / "_x.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    assert "environment of Linux or macOS" in run("scan", tmp_path / "venv", code=3).err
    (tmp_path / "empty").mkdir()
    assert "holds no wheel" in run("scan", tmp_path / "empty", code=3).err
    with tarfile.open(tmp_path / "pkg-1.0.tar.gz", "w:gz") as archive:
        archive.add(site, "pkg")
    assert "source distribution" in run("scan", tmp_path / "pkg-1.0.tar.gz", code=3).err


def test_the_interface_refuses_what_means_nothing(tmp_path):
    wheel = write_wheel(kepler_cu117(), tmp_path)
    hermetic = RootOptions(discover=False)
    with pytest.raises(UsageError, match="WF999"):
        wheelfix.scan(wheel, ScanOptions(select=("WF999",), roots=hermetic))
    assert issubclass(UsageError, wheelfix.WheelfixError)
    assert wheelfix.WheelfixError is WheelfixError
    (tmp_path / "v11.7").mkdir()
    strings = RootOptions(cuda=str(tmp_path / "v11.7"), discover=False)  # type: ignore[arg-type]  # as people write it
    with pytest.raises(UsageError, match="expected a CUDA toolkit"):
        wheelfix.scan(wheel, ScanOptions(roots=strings))
