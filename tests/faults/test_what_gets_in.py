"""What may be vendored: only what lies in roots that were named or that discovery explains, as it was planned."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.archive.byhand import Entry, build_zip
from tests.faults.workshop import Bench, Run, leftovers, small
from tests.faults.workshop import wheelfix_here as wheelfix
from tests.support.tables import named_cases
from tools.forge import forge_dll
from wheelfix.errors import Exit

pytestmark = pytest.mark.slow
posix = pytest.mark.skipif(os.name == "nt", reason="links and permission bits are POSIX's")
DLL = "libiomp5md.dll"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return small(tmp_path)


def openmp(bench: Bench) -> Path:
    """The one root file that the wheel needs and that only oneAPI has."""
    return next(path for root in bench.roots for path in root.rglob(DLL))


def bait(folder: Path) -> Path:
    """A folder full of everything that the wheel lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (DLL, "mkl_intel_thread.2.dll", "cupti64_2022.2.1.dll"):
        exports = ["omp_get_max_threads", "mkl_blas_sgemm", "cuptiActivityEnable", "__kmpc_fork_call"]
        (folder / name).write_bytes(forge_dll(name, exports=exports))
    return folder


def repair(bench: Bench, *more: str, cwd: Path | None = None, **variables: str) -> Run:
    command = ["repair", str(bench.wheel), "-w", str(bench.out), "--no-config", *more]
    return wheelfix(*command, cwd=cwd, **variables)


def nothing_came_in(bench: Bench, done: Run) -> None:
    assert done.code == Exit.FINDINGS, done.out + done.err
    assert not bench.out.exists()
    assert leftovers(bench.folder) == []


@named_cases("discover", {"discovery": (), "no-discovery": ("--no-discover",)})
def test_not_from_the_current_folder_or_from_beside_the_wheel(bench, discover):
    here = bait(bench.folder / "here")
    bait(bench.wheel.parent)
    bait(bench.folder / "here" / "bin")
    nothing_came_in(bench, repair(bench, *discover, cwd=here))


def test_not_from_path_unless_asked(bench):
    folder = bait(bench.folder / "on path")
    path = os.pathsep.join([str(folder), os.environ.get("PATH", "")])
    nothing_came_in(bench, repair(bench, PATH=path))
    done = repair(bench, "--search-path", "--allow-missing", "mkl_*", PATH=path)
    assert done.code == Exit.OK
    assert str(folder).replace(" ", "") in "".join(done.out.split())  # long paths are wrapped


@pytest.mark.parametrize("variable", ["CUDA_PATH", "ONEAPI_ROOT", "MKLROOT", "CONDA_PREFIX", "CUDNN_PATH", "PATH"])
def test_a_variable_with_a_relative_path_means_nothing(bench, variable):
    """Otherwise the current folder would decide what is vendored."""
    bait(bench.folder / "here" / "bin")
    bait(bench.folder / "here")
    for value in (".", "bin", ""):
        more = ("--search-path",) if variable == "PATH" else ()
        nothing_came_in(bench, repair(bench, *more, cwd=bench.folder / "here", **{variable: value}))


@posix
def test_a_root_that_others_can_write_to_is_warned_about(bench):
    openmp(bench).parent.chmod(0o777)
    done = wheelfix(*[word for word in bench.command() if word != "-q"])
    assert done.code == Exit.OK
    assert "any user of this machine can write to" in " ".join(done.out.split())


@posix
@pytest.mark.parametrize("kind", ["file", "folder", "hops", "relative", "loop", "dangling"])
def test_links_that_lead_out_of_a_root_are_not_followed(bench, kind):
    outside = bait(bench.folder / "outside")
    dll = openmp(bench)
    if kind == "folder":
        shutil.rmtree(dll.parent)
        dll.parent.symlink_to(outside, target_is_directory=True)
    else:
        dll.unlink()
        target = outside / DLL
        if kind == "hops":
            (dll.parent / "hop").symlink_to(outside / DLL)
            target = "hop"
        elif kind == "relative":
            target = os.path.relpath(outside / DLL, dll.parent)
        elif kind == "loop":
            target = DLL
        elif kind == "dangling":
            target = "nowhere.dll"
        dll.symlink_to(target)
    done = wheelfix(*bench.command())
    assert done.code == Exit.FINDINGS
    assert not bench.out.exists()


def test_a_wheel_as_a_root_gives_only_what_can_be_trusted_in_it(bench):
    """Members that installers would disagree about, or that lie about themselves, are no candidates."""
    other = bench.folder / "other-1.0-py3-none-win_amd64.whl"
    good = openmp(bench).read_bytes()
    openmp(bench).unlink()
    metadata = Entry("other-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    name = f"other/bin/{DLL}"
    other.write_bytes(build_zip([Entry(name, good), Entry(name, good + b"!"), metadata]))
    done = wheelfix(*bench.command("--root", str(other)))
    assert done.code == Exit.FINDINGS
    assert not bench.out.exists()


def test_with_a_lock_nothing_else_gets_in(bench):
    lock = bench.folder / "lock.json"
    assert wheelfix(*bench.command("--lock", str(lock))).code == Exit.OK
    made = bench.target.read_bytes()
    again = ["repair", "--locked", str(lock), "-w", str(bench.folder / "again"), "--no-config", "-q"]
    assert wheelfix(*again, cwd=bait(bench.folder / "here")).code == Exit.OK
    assert (bench.folder / "again" / bench.wheel.name).read_bytes() == made
    shutil.rmtree(bench.folder / "again")
    data = bytearray(openmp(bench).read_bytes())
    data[-1] ^= 1
    openmp(bench).write_bytes(data)
    done = wheelfix(*again)
    assert done.code == Exit.ENVIRONMENT
    assert "is not the file that was planned" in done.err
    assert not list((bench.folder / "again").glob("*"))
