"""Files and folders that change between two steps of one repair, and outputs that are inputs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.workshop import Bench, digest, leftovers, single, small, snapshot
from tests.support.environments import install
from tests.support.tiers import program
from tests.support.wheels import folder_of, needing
from wheelfix.archive.writer import Assembly
from wheelfix.base.options import RepairOptions
from wheelfix.cli.main import main
from wheelfix.errors import Exit, UsageError
from wheelfix.repairs import repair as writing
from wheelfix.repairs.repair import repair_wheel
from wheelfix.streams.codec import Deflating
from wheelfix.streams.output import AtomicFile

DLL = "libiomp5md.dll"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return single(tmp_path, DLL)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[type | object, str, Callable[[], object]], None]:
    """Let something happen right before a function is called for the first time."""

    def arrange(owner: type | object, name: str, happens: Callable[[], object]) -> None:
        function = getattr(owner, name)
        once = threading.Lock()

        def wrapped(*arguments: object, **options: object) -> object:
            if once.acquire(blocking=False):
                happens()
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, wrapped)

    return arrange


def find(bench: Bench, name: str) -> Path:
    return next(path for root in bench.roots for path in root.rglob(name))


def spoil(path: Path) -> None:
    """Change one byte without changing the size."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


MOMENTS = [
    pytest.param((writing, "rewrite"), id="after-planning"),
    pytest.param((Assembly, "copy"), id="before-copying"),
    pytest.param((Deflating, "begin"), id="before-adding"),
    pytest.param((Assembly, "close"), id="before-the-end"),
]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", ["append", "truncate", "overwrite"])
def test_the_input_changes(tmp_path, meanwhile, capsys, moment, change):
    bench = small(tmp_path) if change == "truncate" else single(tmp_path, DLL)  # what is cut off has to be copied

    def happens() -> None:
        if change == "append":
            with bench.wheel.open("ab") as file:
                file.write(b"more")
        elif change == "truncate":
            os.truncate(bench.wheel, 100)
        else:
            spoil(bench.wheel)

    meanwhile(*moment, happens)
    assert main(bench.command()) in (Exit.ENVIRONMENT, Exit.FINDINGS, Exit.BAD_INPUT)
    said = capsys.readouterr().err
    assert "wheelfix: error:" in said
    assert "should not have happened" not in said
    assert not bench.out.exists() or snapshot(bench.out) == {}


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files from being removed")
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_input_is_removed(bench, meanwhile, capsys, moment, run):
    """It is still open, so that its bytes are there to the end; nothing may be half-made either way."""
    run(*bench.command())
    expected = digest(bench.target)
    shutil.rmtree(bench.out)
    meanwhile(*moment, bench.wheel.unlink)
    code = main(bench.command())
    assert (code, snapshot(bench.out)) in ((0, {bench.wheel.name: expected}), (4, {}))
    assert "should not have happened" not in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files from being replaced")
def test_a_newer_build_is_not_overwritten_in_place(bench, meanwhile, capsys):
    """A build that finishes during a repair in place replaces the wheel; ours must not replace it again."""
    newer = bench.folder / "newer.whl"
    newer.write_bytes(b"a newer build")
    meanwhile(Assembly, "close", lambda: newer.replace(bench.wheel))
    code = main(["repair", str(bench.wheel), *bench.root_options, "--in-place"])
    assert code == Exit.ENVIRONMENT
    assert bench.wheel.read_bytes() == b"a newer build"
    assert "was replaced" in capsys.readouterr().err
    assert leftovers(bench.folder) == []


@pytest.mark.parametrize("moment", MOMENTS[:3])
def test_a_source_that_is_not_the_planned_one_is_not_copied(bench, meanwhile, run, moment):
    """Hashed when planned, and again when copied: what is exchanged in between does not get in."""
    meanwhile(*moment, lambda: spoil(find(bench, DLL)))
    assert "is not the file that was planned" in run(*bench.command(), code=Exit.ENVIRONMENT).err
    assert snapshot(bench.out) == {}


def test_a_source_is_removed(tmp_path, meanwhile, run):
    bench = small(tmp_path)
    meanwhile(writing, "rewrite", lambda: find(bench, DLL).unlink())
    assert DLL in run(*bench.command(), code=Exit.ENVIRONMENT).err
    assert snapshot(bench.out) == {}


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_source_becomes_a_link_out_of_its_root(bench, meanwhile, run):
    dll = find(bench, DLL)
    outside = bench.folder / "outside.dll"
    shutil.copy(dll, outside)

    def happens() -> None:
        dll.unlink()
        dll.symlink_to(outside)

    meanwhile(writing, "new_members", happens)
    assert "leads out of" in run(*bench.command(), code=Exit.ENVIRONMENT).err
    assert not bench.out.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps folders of open files from being removed")
@pytest.mark.parametrize("moment", [(Assembly, "add"), (Assembly, "close"), (AtomicFile, "commit")], ids=lambda m: m[1])
def test_the_target_folder_vanishes(bench, meanwhile, run, moment):
    meanwhile(*moment, lambda: shutil.rmtree(bench.out))
    original = digest(bench.wheel)
    assert "should not have happened" not in run(*bench.command(), code=Exit.ENVIRONMENT).err
    assert digest(bench.wheel) == original
    assert not bench.out.exists() or snapshot(bench.out) == {}


def test_the_folder_is_a_file(bench, run):
    bench.out.write_bytes(b"")
    assert "--wheel-dir" in run(*bench.command(), code=Exit.USAGE).err
    assert leftovers(bench.folder) == []


def test_the_wheel_is_a_folder(bench, run):
    bench.target.mkdir(parents=True)
    assert "wheelfix: error: cannot write" in run(*bench.command(), code=Exit.ENVIRONMENT).err
    assert leftovers(bench.folder) == []


@pytest.mark.skipif(os.name == "nt", reason="rights of folders do not stop anybody on Windows")
def test_a_folder_that_may_not_be_written(bench):
    """Root may write everywhere: there the command runs without that privilege."""
    bench.out.mkdir()
    bench.out.chmod(0o555)
    unprivileged = [program("setpriv", "util-linux"), "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    command = [*unprivileged, sys.executable, "-m", "wheelfix", *bench.command()]
    try:
        ran = subprocess.run(command, cwd=bench.folder, capture_output=True, text=True, check=False)
    finally:
        bench.out.chmod(0o755)
    assert ran.returncode == Exit.ENVIRONMENT
    assert "ermission denied" in ran.stderr
    assert snapshot(bench.out) == {}


# ---------------------------------------------------------------------------------------------------------- overwriting
# No run writes to a file that it reads: no option and no spelling makes it.

NAME = "pkg-1.0-cp311-cp311-win_amd64.whl"


@pytest.fixture
def place(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that a run may read."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    # A plan names its files with their folders.
    assert main(["repair", f"oi/{NAME}", "--root", "root", "--no-discover", "--dry-run", "--lock", "plan.json"]) == 0
    return tmp_path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What :func:`place` has, made once."""
    tmp_path = tmp_path_factory.mktemp("place")
    wheel = needing(tmp_path / "oi", "libiomp5md.dll")
    shutil.copy(wheel, tmp_path / "second-1.0-py3-none-any.whl")
    folder_of(tmp_path / "root", "libiomp5md.dll", "unused.dll")
    for name, text in {
        "error.txt": "ImportError: DLL load failed while importing ext: The specified module",
        "requirements.txt": "pkg==1.0\n",
        "wheelfix.toml": "[scan]\nno-discover = true\n",
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
    saved, known = str(tmp_path / "saved.json"), str(tmp_path / "known.json")
    assert main(["scan", str(wheel), "--format", "json", "-o", saved, "--no-discover"]) == 1
    assert main(["scan", str(wheel), "--baseline", known, "--write-baseline", "--no-discover"]) == 0
    install(wheel, tmp_path / "env")
    return tmp_path


WHEEL = f"oi/{NAME}"
COMMANDS = [
    f"repair {WHEEL} --root root -w oi",
    f"repair {WHEEL} --root root -w oi/../oi",
    f"repair {WHEEL} --root root -w oi --dry-run",
    "ci oi --root root -w oi",
    "repair --locked plan.json -w oi",
    f"scan {WHEEL} -o {WHEEL} --format json",
    f"scan oi/*.whl -o {WHEEL} --format sarif",
    f"scan {WHEEL} --report html={WHEEL}",
    f"scan {WHEEL} --report json=fine.json --report junit={WHEEL}",
    f"scan {WHEEL} --baseline {WHEEL} --write-baseline",
    f"scan {WHEEL} --baseline known.json -o known.json --format json",
    f"scan {WHEEL} --lockfile requirements.txt --with oi -o requirements.txt",
    f"scan {WHEEL} --with second-1.0-py3-none-any.whl -o second-1.0-py3-none-any.whl",
    f"scan {WHEEL} --root root -o root/libiomp5md.dll",
    f"scan {WHEEL} --config wheelfix.toml -o wheelfix.toml",
    "scan env -o env/Lib/site-packages/pkg/__init__.py",
    "scan env -o env/Lib/site-packages/pkg-1.0.dist-info/RECORD",
    f"verify {WHEEL} -o {WHEEL}",
    f"repair {WHEEL} --root root -w out --lock root/libiomp5md.dll",
    f"repair {WHEEL} --root root -w out --lock {WHEEL}",
    f"repair {WHEEL} --root root -w out -o {WHEEL} --format json",
    f"repair {WHEEL} --root root -w out --report html=root/libiomp5md.dll",
    "repair --locked plan.json -w out -o plan.json --format json",
    f"ci {WHEEL} --root root -w out -o {WHEEL} --format json",
    f"diff saved.json {WHEEL} -o saved.json --format json",
    "diagnose error.txt -o error.txt",
    f"diagnose error.txt --wheel {WHEEL} -o {WHEEL}",
    "roots --root root -o root/libiomp5md.dll",
    "explain WF301 -o root/libiomp5md.dll",
    f"try {WHEEL} -o {WHEEL}",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_file_that_is_read_is_not_written(line, place, capsys):
    before = snapshot(place)
    code = main([*line.split(), *(["--no-discover"] if line.split()[0] in ("scan", "repair", "ci", "roots") else [])])
    after = snapshot(place)
    assert code == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert {name: data for name, data in after.items() if name in before} == before
    assert [name for name in after if name.endswith(".tmp")] == []


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize("kind", ["folder", "file", "hard"])
def test_links_are_seen_through(kind, place, run):
    target = place / "elsewhere"
    if kind == "folder":
        target.symlink_to(place / "oi")
    else:
        target.mkdir()
        (target / NAME).symlink_to(place / WHEEL) if kind == "file" else (target / NAME).hardlink_to(place / WHEEL)
    before = snapshot(place)
    run("repair", WHEEL, "--root", "root", "--no-discover", "-w", "elsewhere", code=2)
    run("ci", "oi", "--root", "root", "--no-discover", "-w", "elsewhere", code=2)
    run("scan", WHEEL, "--no-discover", "-o", f"elsewhere/{NAME}", code=2)
    run("repair", f"elsewhere/{NAME}", "--root", "root", "--no-discover", "-w", "oi", code=2)
    assert snapshot(place) == before


def test_a_mount_is_seen_through(place, run):
    other = place / "mounted"
    other.mkdir()
    mounted = subprocess.run(["mount", "--bind", "oi", "mounted"], check=False, capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("mounting is not allowed here")
    try:
        before = (place / WHEEL).read_bytes()
        run("repair", WHEEL, "--root", "root", "--no-discover", "-w", "mounted", code=2)
        assert (place / WHEEL).read_bytes() == before
    finally:
        subprocess.run(["umount", "mounted"], check=True)


def test_another_input_is_not_the_target_of_a_repair(place, run):
    """Of two wheels of one name the first would be written over the second, also where processes share the work."""
    (place / "b").mkdir()
    shutil.copy(place / WHEEL, place / "b" / NAME)
    before = (place / "b" / NAME).read_bytes()
    run("repair", WHEEL, f"b/{NAME}", "--root", "root", "--no-discover", "-w", "b", code=2)
    assert (place / "b" / NAME).read_bytes() == before


def test_python_callers_are_refused_too(place):
    before = snapshot(place)
    with pytest.raises(UsageError, match="is not overwritten"):
        repair_wheel(place / WHEEL, RepairOptions(wheel_dir=place / "oi"))
    assert snapshot(place) == before


def test_what_may_be_written_is_written(place, run):
    """The same files twice, in place, and reports over earlier reports."""
    for _ in range(2):
        run("repair", WHEEL, "--root", "root", "--no-discover", "-w", "out", "--lock", "new.json")
        run("scan", "oi", "--no-discover", "-o", "oi/report.json", "--format", "json", code=1)
        run("scan", WHEEL, "--no-discover", "--baseline", "known.json", "--write-baseline")
        run("scan", "env", "--no-discover", "-o", "env/report.txt", code=1)
    assert json.loads((place / "oi" / "report.json").read_text("utf-8"))
    before = (place / WHEEL).read_bytes()
    run("repair", WHEEL, "--root", "root", "--no-discover", "--in-place")
    assert (place / WHEEL).read_bytes() != before
    run("ci", WHEEL, "--no-discover", "-w", "out")
    run("repair", "--env", "env", "--package", "pkg", "--root", "root", "--no-discover")
    run("repair", "--env", "env", "--package", "pkg", "--undo")
