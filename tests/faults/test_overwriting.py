"""No run writes to a file that it reads, whatever option names it and however it is spelled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.environments import install
from tests.support.wheels import build_wheel
from wheelfix.base.options import RepairOptions
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import UsageError
from wheelfix.repairs.repair import repair_wheel

NAME = "pkg-1.0-cp311-cp311-win_amd64.whl"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that a run may read."""
    monkeypatch.chdir(tmp_path)
    module = forge_dll("ext.pyd", imports={"libiomp5md.dll": ["omp_get_num_threads"]}, exports=["PyInit_ext"])
    files = {"pkg/__init__.py": b"", "pkg/ext.cp311-win_amd64.pyd": module}
    wheel = build_wheel(tmp_path / "oi", "pkg", "1.0", files=files)
    shutil.copy(wheel, tmp_path / "second-1.0-py3-none-any.whl")
    (tmp_path / "root").mkdir()
    dll = forge_dll("libiomp5md.dll", exports=["omp_get_num_threads"])
    (tmp_path / "root" / "libiomp5md.dll").write_bytes(dll)
    (tmp_path / "root" / "unused.dll").write_bytes(dll)
    assert main(["scan", f"oi/{NAME}", "--format", "json", "-o", "saved.json", "--no-discover"]) == 1
    assert main(["scan", f"oi/{NAME}", "--baseline", "known.json", "--write-baseline", "--no-discover"]) == 0
    assert main(["repair", f"oi/{NAME}", "--root", "root", "--no-discover", "--dry-run", "--lock", "plan.json"]) == 0
    Path("error.txt").write_text("ImportError: DLL load failed while importing ext: The specified module", "utf-8")
    Path("requirements.txt").write_text("pkg==1.0\n", "utf-8")
    Path("wheelfix.toml").write_text("[scan]\nno-discover = true\n", "utf-8")
    Path("roots.pem").write_text("no certificate\n", "utf-8")
    install(wheel, tmp_path / "env")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


WHEEL = f"oi/{NAME}"
COMMANDS = [
    f"repair {WHEEL} --root root -w oi",
    f"repair {WHEEL} --root root -w oi/../oi",
    f"repair {WHEEL} --root root -w oi --dry-run",
    "repair oi --root root -w oi",
    "ci oi --root root -w oi",
    f"ci {WHEEL} --root root -w ./oi",
    "repair --locked plan.json -w oi",
    f"scan {WHEEL} -o {WHEEL} --format json",
    f"scan oi -o {WHEEL}",
    f"scan oi/*.whl -o {WHEEL} --format sarif",
    f"scan {WHEEL} --report html={WHEEL}",
    f"scan {WHEEL} --report json=fine.json --report junit={WHEEL}",
    f"scan {WHEEL} --baseline {WHEEL} --write-baseline",
    f"scan {WHEEL} --baseline known.json -o known.json --format json",
    f"scan {WHEEL} --lockfile requirements.txt --with oi -o requirements.txt",
    f"scan {WHEEL} --with second-1.0-py3-none-any.whl -o second-1.0-py3-none-any.whl",
    f"scan {WHEEL} --root root -o root/libiomp5md.dll",
    f"scan {WHEEL} --root root -o root/unused.dll",
    f"scan {WHEEL} --config wheelfix.toml -o wheelfix.toml",
    f"scan {WHEEL} -o wheelfix.toml",
    "scan env -o env/Lib/site-packages/pkg/__init__.py",
    "scan env -o env/Lib/site-packages/pkg-1.0.dist-info/RECORD",
    f"verify {WHEEL} -o {WHEEL}",
    f"verify {WHEEL} --report markdown={WHEEL}",
    f"repair {WHEEL} --root root -w out --lock root/libiomp5md.dll",
    f"repair {WHEEL} --root root -w out --lock root/unused.dll",
    f"repair {WHEEL} --root root -w out --lock {WHEEL}",
    f"repair {WHEEL} --root root -w out -o {WHEEL} --format json",
    f"repair {WHEEL} --root root -w out --report html=root/libiomp5md.dll",
    "repair --locked plan.json -w out -o plan.json --format json",
    f"ci {WHEEL} --root root -w out -o {WHEEL} --format json",
    f"diff saved.json {WHEEL} -o saved.json --format json",
    f"diff saved.json {WHEEL} --report markdown={WHEEL}",
    "diagnose error.txt -o error.txt",
    "diagnose error.txt --report json=error.txt",
    f"diagnose error.txt --wheel {WHEEL} -o {WHEEL}",
    "roots --root root -o root/libiomp5md.dll",
    "explain WF301 -o root/libiomp5md.dll",
    f"try {WHEEL} -o {WHEEL}",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_file_that_is_read_is_not_written(line: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(place)
    code = main([*line.split(), *(["--no-discover"] if line.split()[0] in ("scan", "repair", "ci", "roots") else [])])
    after = contents(place)
    assert code == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert {name: data for name, data in after.items() if name in before} == before
    assert [name for name in after if name.endswith(".tmp")] == []


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize("kind", ["folder", "file", "hard"])
def test_links_are_seen_through(kind: str, place: Path) -> None:
    target = place / "elsewhere"
    if kind == "folder":
        target.symlink_to(place / "oi")
    else:
        target.mkdir()
        (target / NAME).symlink_to(place / WHEEL) if kind == "file" else (target / NAME).hardlink_to(place / WHEEL)
    before = contents(place)
    assert main(["repair", WHEEL, "--root", "root", "--no-discover", "-w", "elsewhere"]) == 2
    assert main(["ci", "oi", "--root", "root", "--no-discover", "-w", "elsewhere"]) == 2
    assert main(["scan", WHEEL, "--no-discover", "-o", f"elsewhere/{NAME}"]) == 2
    assert main(["repair", f"elsewhere/{NAME}", "--root", "root", "--no-discover", "-w", "oi"]) == 2
    assert contents(place) == before


def test_a_mount_is_seen_through(place: Path) -> None:
    other = place / "mounted"
    other.mkdir()
    mounted = subprocess.run(["mount", "--bind", "oi", "mounted"], check=False, capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("mounting is not allowed here")
    try:
        before = (place / WHEEL).read_bytes()
        assert main(["repair", WHEEL, "--root", "root", "--no-discover", "-w", "mounted"]) == 2
        assert (place / WHEEL).read_bytes() == before
    finally:
        subprocess.run(["umount", "mounted"], check=True)


def test_another_input_is_not_the_target_of_a_repair(place: Path) -> None:
    """Of two wheels of one name the first would be written over the second, also where processes share the work."""
    (place / "b").mkdir()
    shutil.copy(place / WHEEL, place / "b" / NAME)
    before = (place / "b" / NAME).read_bytes()
    assert main(["repair", WHEEL, f"b/{NAME}", "--root", "root", "--no-discover", "-w", "b"]) == 2
    assert (place / "b" / NAME).read_bytes() == before


def test_python_callers_are_refused_too(place: Path) -> None:
    before = contents(place)
    with pytest.raises(UsageError, match="is not overwritten"):
        repair_wheel(place / WHEEL, RepairOptions(wheel_dir=place / "oi"))
    assert contents(place) == before


def test_what_may_be_written_is_written(place: Path) -> None:
    """The same files twice, in place, and reports over earlier reports."""
    for _ in range(2):
        assert main(["repair", WHEEL, "--root", "root", "--no-discover", "-w", "out", "--lock", "new.json"]) == 0
        assert main(["scan", "oi", "--no-discover", "-o", "oi/report.json", "--format", "json"]) == 1
        assert main(["scan", WHEEL, "--no-discover", "--baseline", "known.json", "--write-baseline"]) == 0
        assert main(["scan", "env", "--no-discover", "-o", "env/report.txt"]) == 1
    assert json.loads((place / "oi" / "report.json").read_text("utf-8"))
    before = (place / WHEEL).read_bytes()
    assert main(["repair", WHEEL, "--root", "root", "--no-discover", "--in-place"]) == 0
    assert (place / WHEEL).read_bytes() != before
    assert main(["ci", WHEEL, "--no-discover", "-w", "out"]) == 0
    assert main(["repair", "--env", "env", "--package", "pkg", "--root", "root", "--no-discover"]) == 0
    assert main(["repair", "--env", "env", "--package", "pkg", "--undo"]) == 0
