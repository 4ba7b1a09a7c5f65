"""What every fault is tried on: a broken wheel, the roots that repair it, a run of wheelfix, and what must hold."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.support.wheels import build_wheel, folder_of, needing
from tools.example import kepler_cu117, write_roots, write_wheel
from tools.forge import forge_dll
from wheelfix.cli.main import main

REPOSITORY = Path(__file__).parents[2]
TEMPORARY = ".wheelfix-*.tmp"
"""What a killed run may leave behind in a folder it writes to."""


@dataclass(frozen=True)
class Bench:
    """A folder with everything that one kind of repair needs."""

    folder: Path
    wheel: Path
    """The input, never to be changed unless in place."""
    roots: tuple[Path, ...]
    out: Path

    @property
    def target(self) -> Path:
        """Where the repaired wheel appears."""
        return self.out / self.wheel.name

    def command(self, *more: str) -> list[str]:
        """The arguments of a repair into ``out``."""
        return ["repair", str(self.wheel), *self.root_options, "-w", str(self.out), *more]

    @property
    def root_options(self) -> list[str]:
        """The options that name the roots, and nothing else."""
        options = [word for root in self.roots for word in ("--root", str(root))]
        return [*options, "--no-discover", "--no-config", "-q"]


def small(folder: Path) -> Bench:
    """The torch-like wheel of the demo: 20 small DLLs, 14 to be added."""
    story = kepler_cu117()
    wheel = write_wheel(story, folder / "dist")
    return Bench(folder, wheel, tuple(write_roots(story, folder / "roots").values()), folder / "out")


def large(folder: Path, megabytes: int = 50) -> Bench:
    """A wheel of about that size, most of it to be copied, a third as much to be added."""
    dice = random.Random(1)
    third = (megabytes << 20) // 3
    files = {"pkg/__init__.py": b"", "pkg/ext.cp311-win_amd64.pyd": "imports libiomp5md.dll:omp_get_num_threads"}
    files |= {f"pkg/data{number}.bin": dice.randbytes(third) for number in range(3)}
    files |= {f"pkg/m{number}.py": b"answer = 42\n" * number for number in range(200)}
    wheel = build_wheel(folder / "dist", files=files)
    half = b"".join(dice.randbytes(32) + bytes(32) for _ in range(third // 64))
    root = folder / "root"
    root.mkdir(parents=True)
    dll = forge_dll("libiomp5md.dll", exports=["omp_get_num_threads"], sections={".data2": half})
    (root / "libiomp5md.dll").write_bytes(dll)
    return Bench(folder, wheel, (root,), folder / "out")


def single(folder: Path, dll: str) -> Bench:
    """A wheel that needs one DLL; one of no known family is renamed by delvewheel."""
    wheel, root = needing(folder / "dist", dll), folder_of(folder / "root", dll)
    return Bench(folder, wheel, (root,), folder / "out")


def installed(bench: Bench) -> Path:
    """The wheel of a bench unpacked into a Windows-like environment; its prefix."""
    prefix = bench.folder / "env"
    shutil.rmtree(prefix, ignore_errors=True)
    site = prefix / "Lib" / "site-packages"
    site.mkdir(parents=True)
    with zipfile.ZipFile(bench.wheel) as archive:
        archive.extractall(site)
    (prefix / "python.exe").write_bytes(b"MZ")
    return prefix


@dataclass(frozen=True)
class Run:
    """What came of one run."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """The environment of a run: ours, without what would configure it or make it talk differently."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WHEELFIX_", "GITHUB_"))}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "utf-8", **more}


def wheelfix(*arguments: str, cwd: Path | None = None, timeout: float = 300, **variables: str) -> Run:
    """Run the command line in a process of its own; no traceback may come out of it."""
    done = subprocess.run(
        [sys.executable, "-m", "wheelfix", *arguments],
        env=environment(**variables),
        cwd=cwd,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    run = Run(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
    assert_no_traceback(run)
    return run


def wheelfix_here(*arguments: str, cwd: Path | None = None, **variables: str) -> Run:
    """Run the command line in this process, where a process of its own is not the point."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    with mock.patch.dict(os.environ, environment(**variables), clear=True):
        try:
            os.chdir(cwd or before)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(list(arguments))
        finally:
            os.chdir(before)
    run = Run(code, out.getvalue(), err.getvalue())
    assert_no_traceback(run)
    return run


def assert_no_traceback(run: Run) -> None:
    """Hold a run to the promise that nothing escapes as a traceback."""
    for text in (run.out, run.err):
        assert "Traceback (most recent call last)" not in text, text[-2000:]
        assert "this should not have happened" not in text, text[-2000:]


def digest(path: Path) -> str:
    """The SHA-256 of a file, or nothing where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def snapshot(folder: Path) -> dict[str, str]:
    """Every file below a folder with its digest."""
    return {path.relative_to(folder).as_posix(): digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def leftovers(folder: Path) -> list[str]:
    """Temporary files of ours anywhere below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob(TEMPORARY))
