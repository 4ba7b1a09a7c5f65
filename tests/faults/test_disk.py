"""Disks that are full, that fail, that write or read only part: exit 4, the input as it was, nothing half-made."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.faults.workshop import (
    REPOSITORY,
    Bench,
    digest,
    environment,
    installed,
    leftovers,
    small,
    snapshot,
    wheelfix,
    wheelfix_here,
)
from tests.support.disks import resize, root_only, tiny_disk
from tests.support.parts import every
from wheelfix.errors import Exit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="faults are injected with Linux' means"),
]

EIO, EACCES, EINVAL, ENOSPC, EROFS, EDQUOT = 5, 13, 22, 28, 30, 122


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return small(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def expected(bench: Bench) -> str:
    """The digest of the wheel that an undisturbed run makes."""
    assert wheelfix_here(*bench.command()).code == Exit.OK
    made = digest(bench.target)
    shutil.rmtree(bench.out)
    return made


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The library that makes a disk fail, compiled here."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    command = [compiler] if compiler else [sys.executable, "-m", "ziglang", "cc"]
    target = tmp_path_factory.mktemp("shim") / "failing_disk.so"
    source = REPOSITORY / "tests" / "faults" / "failing_disk.c"
    made = subprocess.run(
        [*command, "-shared", "-fPIC", "-O1", "-o", str(target), str(source), "-ldl"], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("there is no C compiler here")
    return str(target)


def faulty(shim: str, bench: Bench, fault: str, path: str = ".wheelfix-", *more: str) -> int:
    """Run a repair on a disk with one fault; the exit code."""
    variables = {"LD_PRELOAD": shim, "WHEELFIX_FAULT": fault, "WHEELFIX_FAULT_PATH": path}
    done = wheelfix(*bench.command(*more), **variables)
    if done.code:
        assert "wheelfix: error: cannot" in done.err
    return done.code


@pytest.mark.parametrize(
    "fault",
    [
        *(f"write:{error}:{nth}" for error in (EIO, ENOSPC) for nth in (1, 2)),
        *(f"copy:{error}:1" for error in (EIO, ENOSPC, EDQUOT)),
        f"fsync:{EIO}:1",
        f"rename:{EACCES}:1",
        f"open:{EROFS}:1",
    ],
)
def test_a_disk_that_fails(shim, bench, expected, fault):
    original = digest(bench.wheel)
    assert faulty(shim, bench, fault) == Exit.ENVIRONMENT
    assert digest(bench.wheel) == original
    assert snapshot(bench.out) == {}
    assert wheelfix_here(*bench.command()).code == Exit.OK
    assert snapshot(bench.out) == {bench.wheel.name: expected}
    shutil.rmtree(bench.out)


@pytest.mark.parametrize("call", ["write", "copy", "sendfile", "fsync", "rename", "read"])
@pytest.mark.parametrize("nth", every(3, range(1, 9)))
def test_the_nth_call_fails(shim, bench, expected, call, nth):
    """After any failed call: the complete new wheel, or none and exit 4."""
    code = faulty(shim, bench, f"{call}:{EIO}:{nth}")
    assert (code, snapshot(bench.out)) in ((4, {}), (0, {bench.wheel.name: expected}))
    shutil.rmtree(bench.out, ignore_errors=True)


@pytest.mark.parametrize("fault", ["write:short", "copy:short", "read:short", f"copy:{EINVAL}:1"])
def test_a_disk_that_does_only_part_of_it_or_copies_nothing_itself(shim, bench, expected, fault):
    assert faulty(shim, bench, fault, *([""] if "short" in fault else [])) == Exit.OK
    assert snapshot(bench.out) == {bench.wheel.name: expected}
    shutil.rmtree(bench.out)


@pytest.mark.parametrize("nth, file", [(1, ".whl"), (3, ".whl"), (20, ".whl"), (1, "libiomp5md.dll")])
def test_an_input_that_cannot_be_read(shim, bench, nth, file):
    name = bench.wheel.name if file == ".whl" else file
    assert faulty(shim, bench, f"read:{EIO}:{nth}", name) == Exit.ENVIRONMENT
    assert not bench.out.exists() or snapshot(bench.out) == {}


@pytest.mark.parametrize("fault", [f"write:{ENOSPC}:3", f"write:{EIO}:9", f"rename:{EACCES}:5", f"fsync:{EIO}:4"])
def test_an_environment_is_as_before_when_its_disk_fails(shim, bench, fault):
    prefix = installed(bench)
    before = snapshot(prefix)
    command = ["repair", "--env", str(prefix), "--package", "torch", *bench.root_options]
    variables = {"LD_PRELOAD": shim, "WHEELFIX_FAULT": fault, "WHEELFIX_FAULT_PATH": ".wheelfix-"}
    assert wheelfix(*command, **variables).code == Exit.ENVIRONMENT
    assert snapshot(prefix) == before


# ------------------------------------------------------------------------------------------------------- full disks


@root_only
@pytest.mark.parametrize("size", ["4k", "16k"])
def test_a_full_disk(bench, expected, tmp_path, size):
    original = digest(bench.wheel)
    with tiny_disk(tmp_path / "disk", size) as disk:
        command = ["repair", str(bench.wheel), *bench.root_options, "-w", str(disk)]
        done = wheelfix_here(*command)
        assert done.code == Exit.ENVIRONMENT
        assert "No space left on device" in done.err
        assert list(disk.iterdir()) == []
        assert digest(bench.wheel) == original
        resize(disk, "10m")
        assert wheelfix_here(*command).code == Exit.OK
        assert snapshot(disk) == {bench.wheel.name: expected}


@root_only
def test_a_full_disk_in_place(bench, expected, tmp_path):
    with tiny_disk(tmp_path / "disk", "24k") as disk:
        wheel = disk / bench.wheel.name
        shutil.copy(bench.wheel, wheel)
        done = wheelfix_here("repair", str(wheel), *bench.root_options, "--in-place")
        assert done.code == Exit.ENVIRONMENT
        assert snapshot(disk) == {wheel.name: digest(bench.wheel)}


@root_only
def test_a_full_disk_for_temporary_files_and_results(bench, tmp_path):
    with tiny_disk(tmp_path / "disk", "4k") as disk:
        done = wheelfix_here(
            "scan", str(bench.wheel), "--no-discover", "--format", "json", "-o", str(disk / "scan.json")
        )
        assert done.code == Exit.ENVIRONMENT
        assert list(disk.iterdir()) == []
        done = wheelfix_here(*bench.command("--lock", str(disk / "lock.json")))
        assert done.code == Exit.ENVIRONMENT
        assert list(disk.iterdir()) == []
    shutil.rmtree(bench.out, ignore_errors=True)


@root_only
def test_a_file_system_that_is_read_only(bench, tmp_path):
    with tiny_disk(tmp_path / "disk", "10m", "ro") as disk:
        done = wheelfix_here("repair", str(bench.wheel), *bench.root_options, "-w", str(disk / "out"))
        assert done.code == Exit.ENVIRONMENT
        assert "Read-only file system" in done.err


@pytest.mark.parametrize("limit", [0, 4096, 12_000])
def test_a_quota(bench, limit):
    """Files larger than a limit are refused by the system, as with a quota; needs no rights."""
    script = (
        "import resource, sys; from wheelfix.cli.main import main;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *bench.command()], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == Exit.ENVIRONMENT, done.stderr
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert snapshot(bench.out) == {}
    assert leftovers(bench.folder) == []


@pytest.mark.parametrize("fault", [f"write:{ENOSPC}:{nth}" for nth in (1, 3, 30)] + [f"rename:{EACCES}:1"])
def test_signing_on_a_disk_that_fails(shim, tmp_path, fault):
    """Unpacking the files or writing the wheel fails: the wheel is what it was, and no temporary file stays."""
    bench = small(tmp_path)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    script = tmp_path / "sign.py"
    script.write_text(
        f"import pathlib, sys\nsys.path.insert(0, {str(REPOSITORY)!r})\nfrom tests.support.signing import signed\n"
        "for name in sys.argv[1:]:\n    pathlib.Path(name).write_bytes(signed(pathlib.Path(name).read_bytes()))\n"
    )
    original = digest(bench.wheel)
    variables = {"LD_PRELOAD": shim, "WHEELFIX_FAULT": fault, "WHEELFIX_FAULT_PATH": ".wheelfix-"}
    command = f'"{sys.executable}" "{script}" {{files}}'
    done = wheelfix("sign", str(bench.wheel), "--with", command, TMPDIR=str(temporary), **variables)
    assert done.code == Exit.ENVIRONMENT, done.err
    assert "wheelfix: error: cannot write" in done.err
    assert digest(bench.wheel) == original
    assert leftovers(bench.wheel.parent) == []
    assert list(temporary.iterdir()) == []
