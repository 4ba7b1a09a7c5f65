"""Files and folders that change under our hands, between two steps of one repair."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.faults.workshop import Bench, digest, leftovers, small, snapshot
from tests.support.tiers import program
from wheelfix.archive.writer import Assembly
from wheelfix.cli.main import main
from wheelfix.errors import Exit
from wheelfix.repairs import rewrite as writing
from wheelfix.streams.deflate import Deflating
from wheelfix.streams.output import AtomicFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DLL = "libiomp5md.dll"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return small(tmp_path)


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
    pytest.param((Assembly, "copy_members"), id="before-copying"),
    pytest.param((Deflating, "begin"), id="before-adding"),
    pytest.param((Assembly, "close"), id="before-the-end"),
]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", ["append", "truncate", "overwrite"])
def test_the_input_changes(bench: Bench, meanwhile, capsys, moment, change: str) -> None:
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
def test_the_input_is_removed(bench: Bench, meanwhile, capsys, moment) -> None:
    """It is still open, so that its bytes are there to the end; nothing may be half-made either way."""
    assert main(bench.command()) == Exit.OK
    expected = digest(bench.target)
    shutil.rmtree(bench.out)
    meanwhile(*moment, bench.wheel.unlink)
    code = main(bench.command())
    assert (code, snapshot(bench.out)) in ((0, {bench.wheel.name: expected}), (4, {}))
    assert "should not have happened" not in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps open files from being replaced")
def test_a_newer_build_is_not_overwritten_in_place(bench: Bench, meanwhile, capsys) -> None:
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
def test_a_source_that_is_not_the_planned_one_is_not_copied(bench: Bench, meanwhile, capsys, moment) -> None:
    """Hashed when planned, and again when copied: what is exchanged in between does not get in."""
    meanwhile(*moment, lambda: spoil(find(bench, DLL)))
    assert main(bench.command()) == Exit.ENVIRONMENT
    assert "is not the file that was planned" in capsys.readouterr().err
    assert snapshot(bench.out) == {}


def test_a_source_is_removed(bench: Bench, meanwhile, capsys) -> None:
    meanwhile(writing, "rewrite", lambda: find(bench, DLL).unlink())
    assert main(bench.command()) == Exit.ENVIRONMENT
    assert DLL in capsys.readouterr().err
    assert snapshot(bench.out) == {}


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_source_becomes_a_link_out_of_its_root(bench: Bench, meanwhile, capsys) -> None:
    dll = find(bench, DLL)
    outside = bench.folder / "outside.dll"
    shutil.copy(dll, outside)

    def happens() -> None:
        dll.unlink()
        dll.symlink_to(outside)

    meanwhile(writing, "new_members", happens)
    assert main(bench.command()) == Exit.ENVIRONMENT
    assert "leads out of" in capsys.readouterr().err
    assert not bench.out.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps folders of open files from being removed")
@pytest.mark.parametrize("moment", [(Assembly, "add"), (Assembly, "close"), (AtomicFile, "commit")], ids=lambda m: m[1])
def test_the_target_folder_vanishes(bench: Bench, meanwhile, capsys, moment) -> None:
    meanwhile(*moment, lambda: shutil.rmtree(bench.out))
    original = digest(bench.wheel)
    assert main(bench.command()) == Exit.ENVIRONMENT
    assert "should not have happened" not in capsys.readouterr().err
    assert digest(bench.wheel) == original
    assert not bench.out.exists() or snapshot(bench.out) == {}


def test_the_folder_is_a_file(bench: Bench, capsys) -> None:
    bench.out.write_bytes(b"")
    assert main(bench.command()) == Exit.USAGE
    assert "--wheel-dir" in capsys.readouterr().err
    assert leftovers(bench.folder) == []


def test_the_wheel_is_a_folder(bench: Bench, capsys) -> None:
    bench.target.mkdir(parents=True)
    assert main(bench.command()) == Exit.ENVIRONMENT
    assert "wheelfix: error: cannot write" in capsys.readouterr().err
    assert leftovers(bench.folder) == []


@pytest.mark.skipif(os.name == "nt", reason="rights of folders do not stop anybody on Windows")
def test_a_folder_that_may_not_be_written(bench: Bench) -> None:
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
