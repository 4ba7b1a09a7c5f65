"""The builder's story in its order, with the vendors' own DLLs: build log, scan, repair, install, undo, ci, lock.

Each row is a command that a person would type, with the exit code and words that must be in its output; the table is
printed (``-s`` shows it). Folders have spaces and umlauts, as on many machines.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.real.builder import CUDART_118
from tests.real.vendors import CUDART, CUPTI, OPENMP, Unpacked, lay_out
from tests.support.environments import install
from tests.support.tiers import wheel as real_wheel
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.cli.main import main
from wheelfix.errors import Exit

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.long]

IMPORTS = {
    "cudart64_110.dll": ["cudaMalloc", "cudaFree"],
    "cupti64_2022.2.1.dll": ["cuptiGetVersion"],
    "libiomp5md.dll": ["omp_get_max_threads"],
}
LOG = (
    "Building wheel torch-2.0.1+cu117\n-- Found CUDA: C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.7\n"
    "Traceback (most recent call last):\n"
    'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\env\\Lib\\site-packages\\'
    'torch\\lib\\torch_cuda.dll" or one of its dependencies.\n'
)


class Story:
    """Commands, what is expected of each, and what it did."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.rows: list[tuple[str, Exit, int, str]] = []

    def plays(self, scenario: str, expected: Exit, *words: object, says: str = "") -> None:
        """Run a command; ``says`` has to be in what it prints, without regard to line breaks."""
        self.capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = self.capsys.readouterr()
        reported = re.sub(r"\s+", " ", out + err)
        self.rows.append(
            (scenario, expected, code, "" if says in reported else f"does not say {says!r}: {reported[-600:]}")
        )

    def table(self) -> str:
        lines = [f"{name:<58} {want:>8} {code:>5}  {fault or 'as told'}" for name, want, code, fault in self.rows]
        return "\n".join([f"{'scenario':<58} {'expected':>8} {'found':>5}", *lines])

    @property
    def failed(self) -> list[str]:
        return [name for name, want, code, fault in self.rows if want != code or fault]


def machine(folder: Path, unpacked: Unpacked) -> dict[str, Path]:
    """The toolkits of the builder, as their installers lay them out."""
    cuda = folder / "Program Files" / "NVIDIA GPU Computing Toolkit" / "CUDA"
    runtime, profiler = unpacked.take(CUDART.file), unpacked.take(CUPTI.file)
    inside = {f"bin/{name}": path for name, path in runtime.items()}
    parts = {f"extras/CUPTI/lib64/{name}": path for name, path in profiler.items()}
    redist = "compiler/2023.2.0/windows/redist/intel64_win/compiler"
    newer = {f"bin/{name}": path for name, path in unpacked.take(CUDART_118.file).items()}
    return {
        "cuda": lay_out(cuda / "v11.7", {**inside, **parts}),
        "newer": lay_out(cuda / "v11.8", newer),
        "oneapi": lay_out(
            folder / "Bücher & Köche" / "oneAPI", {f"{redist}/{n}": p for n, p in unpacked.take(OPENMP.file).items()}
        ),
    }


def built(folder: Path, cuda: str = "11.7", imports: Mapping[str, list[str]] = IMPORTS) -> Path:
    label = f"2.0.1+cu{cuda.replace('.', '')}"
    files = {
        "torch/__init__.py": "import os\n",
        "torch/version.py": f"__version__ = '{label}'\ncuda = '{cuda}'\n",
        "torch/lib/torch_cuda.dll": forge_dll("torch_cuda.dll", imports=[*imports.items()]),
    }
    return build_wheel(folder, "torch", label, files=files)


def test_the_story_of_a_builder(tmp_path, capsys):
    unpacked, here = Unpacked(tmp_path / "unpacked"), tmp_path / "machine"
    roots = machine(here, unpacked)
    wheel, log, lock = built(here / "dist"), here / "build.log", here / "plan.json"
    log.write_text(LOG, encoding="utf-8")
    named = ("--cuda", roots["cuda"], "--oneapi", roots["oneapi"], "--no-discover")
    play = Story(capsys)
    plays = play.plays

    plays("the build log", Exit.FINDINGS, "diagnose", log, "--wheel", wheel, *named, says="Repair the wheel with what")
    plays("scan", Exit.FINDINGS, "scan", wheel, "--no-discover", says="cudart64_110.dll is missing")
    refused = ("repair", wheel, "--no-discover", "-w", here / "refused")
    plays("nothing is there", Exit.FINDINGS, *refused, says="name the folder of cudart64_110.dll")
    some = ("--oneapi", roots["oneapi"], "--allow-missing", "cupti*")
    halves = ("--root", roots["cuda"] / "bin", "--allow-missing", "cu*", *some)
    plays("half of CUDA, the rest allowed to be missing", Exit.FINDINGS, *refused, *halves, says="or none of it")
    plays("none of CUDA", Exit.OK, *refused[:-1], here / "none", *some, "--assume", "cuda=11.7", says="REPAIRED")
    other = built(here / "other", "11.8", {name: IMPORTS[name] for name in ("cudart64_110.dll", "libiomp5md.dll")})
    taken = ("repair", other, *named, "-w", here / "older", "-q")
    plays("another release than it was built for", Exit.OK, *taken, says="warning CUDA 11.7: 11.8, which the wheel")
    plays(
        "which a scan of the result says, too",
        Exit.OK,
        "scan",
        here / "older",
        says="cudart64_110.dll in it is of CUDA",
    )
    both = ("--cuda", roots["newer"], *named)
    plays("two toolkits", Exit.OK, "repair", wheel, *both, "--dry-run", says="CUDA 11.7: the wheel was built for it")
    plays("repair", Exit.OK, "repair", wheel, *named, "-w", here / "wheelhouse", "--lock", lock, says="REPAIRED")
    made = here / "wheelhouse" / wheel.name
    plays("scan of the result", Exit.OK, "scan", made, "--no-discover", says="OK")
    plays("verify", Exit.OK, "verify", made)
    vendors = [word for one in (CUDART, CUPTI, OPENMP) for word in ("--root", real_wheel(one.file))]
    instead = ("repair", made, "--via", "wheels", *vendors, "--no-discover", "-w", here / "via")
    plays("the vendors' wheels instead of copies", Exit.OK, *instead, says="Required instead (3)")
    given = [word if word != "--root" else "--with" for word in vendors]
    plays("which serve it", Exit.OK, "scan", here / "via", *given, "--no-discover", says="OK")
    toolkit = ("repair", wheel, "--via", "toolkit", *named, "-w", here / "toolkit")
    plays("a toolkit instead", Exit.OK, *toolkit, says="its users need CUDA 11.7, installed by NVIDIA's installer")
    plays("repair again", Exit.OK, "repair", made, *named, "-w", here / "again", says="UNCHANGED")

    prefix = install(wheel, tmp_path / "env")
    (prefix / "python.exe").write_bytes(b"MZ")
    before = {path: path.read_bytes() for path in prefix.rglob("*") if path.is_file()}
    env = ("--env", prefix, "--package", "torch")
    plays("repair what is installed", Exit.OK, "repair", *env, *named, says="libiomp5md.dll")
    plays("which is whole then", Exit.OK, "scan", prefix, "--no-discover")
    plays("undo", Exit.OK, "repair", *env, "--undo", says="RECORD is as it was")
    plays("ci", Exit.OK, "ci", wheel, *named, "-w", here / "ci")

    there = tmp_path / "another machine"
    for source, target in ((roots["cuda"], there / "D" / "CUDA"), (wheel.parent, there / "dist")):
        shutil.copytree(source, target)
    shutil.copytree(roots["oneapi"], there / "intel")
    here.rename(tmp_path / "gone")
    lock, made = tmp_path / "gone" / "plan.json", tmp_path / "gone" / "wheelhouse" / wheel.name
    replay = ("repair", "--locked", lock, there / "dist", "--no-discover", "-w", there / "out")
    plays(
        "a lock without its sources", Exit.BAD_INPUT, *replay, says="name the folder or wheel that has it with --root"
    )
    moved = ("--root", there / "D" / "CUDA", "--root", there / "intel")
    plays("a lock elsewhere", Exit.OK, *replay, *moved, says="REPAIRED")

    with capsys.disabled():
        print(f"\n{play.table()}")
    assert not play.failed, play.table()
    assert {path: path.read_bytes() for path in before if path.exists()} == before
    assert (there / "out" / wheel.name).read_bytes() == made.read_bytes()
    plan = json.loads(lock.read_text(encoding="utf-8"))["plans"][0]
    with zipfile.ZipFile(made) as archive:
        written = {one["name"]: hashlib.sha256(archive.read(one["target"])).hexdigest() for one in plan["additions"]}
    files = (CUDART.file, CUPTI.file, OPENMP.file)
    vendor = {name: path for file in files for name, path in unpacked.take(file).items()}
    assert set(IMPORTS) <= set(written)
    assert written == {name: hashlib.sha256(vendor[name].read_bytes()).hexdigest() for name in written}
