"""The jobs that are measured: wheelfix's command first, then what it is compared with, and the targets."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import material as m

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.material import Material
    from benchmarks.peers import Tools

FLOORS = str(Path(__file__).with_name("floors.py"))


@dataclass(frozen=True)
class Contender:
    """One way to do a job, or a part of it that every way needs."""

    title: str
    """As the table shows it."""
    command: tuple[str, ...]
    peer: bool = False
    """A slow one, which runs once."""
    accepted: tuple[int, ...] = (0,)
    result: str = ""
    """The file that it leaves, if its size counts; a text is a number of bytes by itself."""


@dataclass(frozen=True)
class Target:
    """What must hold between wheelfix and another contender of the same job, or for wheelfix alone."""

    words: str
    other: str = ""
    """The other contender's title."""
    faster: float = 0.0
    """The other takes at least so many times our seconds."""
    within: float = 0.0
    """We take at most so many times the other's seconds."""
    plus: float = 0.0
    """Seconds that are allowed on top of that."""
    memory_mb: float = 0.0
    larger: float = 0.0
    """What we make is at most so many times as large as what the other makes."""


@dataclass(frozen=True)
class Job:
    """Something that users wait for."""

    key: str
    title: str
    contenders: tuple[Contender, ...]
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True)
class Bench:
    """What jobs are made from."""

    material: Material
    tools: Tools

    def wheelfix(self, title: str, *words: str | Path, accepted: tuple[int, ...] = (0,)) -> Contender:
        """Return a contender that is wheelfix."""
        command = (str(self.tools.find("wheelfix")), *map(str, words))
        return Contender(f"wheelfix {title}", command, accepted=accepted)

    def floor(self, title: str, job: str, file: Path) -> Contender:
        """Return a contender that does one thing and no more, in Python on all cores."""
        return Contender(title, (self.tools.python(), FLOORS, job, str(file)))

    def peers(self, title: str, tool: str, script: str) -> Iterator[Contender]:
        """Give a peer, if it can be had; ``{tool}`` in its shell script is its path."""
        path = self.tools.find(tool)
        if path is not None:
            yield Contender(title, ("sh", "-ec", script.replace("{tool}", shlex.quote(path))), peer=True)


def shell(title: str, script: str) -> Contender:
    """Return a contender that is a line of shell."""
    return Contender(title, ("sh", "-ec", script))


# ------------------------------------------------------------------------------------------------------ looking


def start(bench: Bench) -> Job:
    """Starting up."""
    python = Contender("python -c pass", (bench.tools.python(), "-c", "pass"))
    target = Target("no more than Python's own start and 60 ms", python.title, within=1, plus=0.06)
    contenders = (bench.wheelfix("--version", "--version"), bench.wheelfix("--help", "--help"), python)
    return Job("start", "Starting", contenders, (target,))


def scan(bench: Bench, key: str, name: str, what: str, memory: float) -> Job:
    """Scanning a real wheel."""
    wheel = bench.material.wheel(name)
    quoted = shlex.quote(str(wheel))
    floor = bench.floor("inflate what must be read, all cores", "prefixes", bench.material.prefixes(wheel))
    show = "delvewheel show --analyze-existing --ignore-existing"
    contenders = [
        bench.wheelfix(f"scan {name.split('-')[0]}", "scan", wheel, "-o", "report.txt"),
        floor,
        bench.floor("read the directory with zipfile", "directory", wheel),
        shell("unzip -p of every DLL", f"unzip -p {quoted} '*.dll' '*.pyd' '*.exe' > /dev/null || true"),
        *bench.peers(show, "delvewheel", f"{{tool}} show --analyze-existing --ignore-existing {quoted}"),
    ]
    targets = (
        Target("9 times as fast as delvewheel show", show, faster=9),
        Target("1.6 times the inflating of what must be read", floor.title, within=1.6 if key == "scan-torch" else 0),
        Target(f"no more than {memory:.0f} MB", memory_mb=memory),
    )
    return Job(key, f"Scan {what}", tuple(contenders), targets)


def scan_small(bench: Bench) -> Job:
    """Scanning a small wheel, where starting is all there is."""
    contender = bench.wheelfix("scan handful", "scan", bench.material.small(), "-o", "report.txt", accepted=(0, 1))
    quoted = shlex.quote(str(bench.material.small()))
    peers = bench.peers("delvewheel show", "delvewheel", f"{{tool}} show {quoted}")
    return Job("scan-small", "Scan a wheel of 100 small members", (contender, *peers))


def scan_code(bench: Bench) -> Job:
    """Scanning packages whose Python code has to be followed, on one core."""
    scans = []
    for wheel in map(bench.material.wheel, m.WITH_CODE):
        name = wheel.name.split("-")[0]
        report = f"{name}.txt"
        scans.append(bench.wheelfix(f"scan -j 1 {name}", "scan", "-j", "1", wheel, "-o", report, accepted=(0, 1, 2)))
    return Job("scan-code", "Scan packages with code about DLLs", tuple(scans))


def scan_ordinary(bench: Bench) -> Job:
    """Scanning small wheels in which nothing is wrong."""
    contenders: list[Contender] = []
    for wheel in map(bench.material.wheel, m.ORDINARY):
        name = wheel.name.split("-")[0]
        contenders.append(bench.wheelfix(f"scan {name}", "scan", wheel, "-o", f"{name}.txt"))
        show = f"delvewheel show {name}"
        contenders += bench.peers(show, "delvewheel", f"{{tool}} show {shlex.quote(str(wheel))}")
    return Job("scan-ordinary", "Scan small wheels in which nothing is wrong", tuple(contenders))


def scan_set(bench: Bench, key: str, names: tuple[str, ...]) -> Job:
    """Scanning wheels as one installation, on one core: what they share is read once."""
    wheels = [bench.material.wheel(name) for name in names]
    shown = ", ".join(" ".join(name.split("-")[:2]) for name in names)
    alone = bench.wheelfix(f"scan of each by itself ({key})", "scan", "-j", "1", *wheels, "-o", "alone.txt")
    words = ("scan", "--together", "-j", "1", *wheels, "-o", "set.txt")
    target = Target("1.2 times the wheels by themselves in one run", alone.title, within=1.2)
    return Job(key, f"Scan a set: {shown}", (bench.wheelfix(f"scan --together ({key})", *words), alone), (target,))


# ------------------------------------------------------------------------------------------------------ repairs


def _repair(bench: Bench, wheel: Path, *words: str | Path) -> tuple[str | Path, ...]:
    root = bench.material.wheel(m.OPENMP)
    return ("repair", wheel, "--root", root, "--no-discover", "-w", "out", "-q", *words)


def _slow_peers(bench: Bench) -> Iterator[Contender]:
    wheel = shlex.quote(str(bench.material.torch_without_openmp()))
    folder = shlex.quote(str(bench.material.openmp_folder()))
    # Elsewhere than on Windows delvewheel finds no Visual C++ runtime and stops, unless it is told to leave it out.
    runtime = "msvcp140.dll:msvcp140_1.dll:vcruntime140.dll:vcruntime140_1.dll"
    options = f"--analyze-existing --ignore-existing --add-path {folder} --exclude {runtime}"
    yield from bench.peers("delvewheel repair", "delvewheel", f"{{tool}} repair {options} -w out {wheel}")
    unpack = f"{{tool}} unpack -d x {wheel}; cp {folder}/libiomp5md.dll x/torch-2.7.1/torch/lib; mkdir out"
    yield from bench.peers("wheel unpack, wheel pack", "wheel", f"{unpack}; {{tool}} pack -d out x/torch-2.7.1")
    seven = f"{{tool}} x -bd -y -ox {wheel}; cp {folder}/libiomp5md.dll x/torch/lib; cd x"
    yield from bench.peers("7z x, 7z a -mx=5", "7z", f"{seven}; {{tool}} a -bd -tzip -mx=5 ../new.whl .")
    yield from bench.peers("repairwheel", "repairwheel", f"{{tool}} {wheel} -o out -l {folder}")


def repair_trust(bench: Bench) -> Job:
    """Repairing torch with ``--trust-record``."""
    words = _repair(bench, bench.material.torch_without_openmp(), "--trust-record")
    targets = (Target("45 times as fast as delvewheel repair", "delvewheel repair", faster=45),)
    contenders = (bench.wheelfix("repair --trust-record", *words), *_slow_peers(bench))
    return Job("repair-trust", "Put libiomp5md.dll back into torch 2.7.1 with --trust-record", contenders, targets)


def repair_locked(bench: Bench) -> Job:
    """Repairing torch once more from a lock."""
    wheel = bench.material.torch_without_openmp()
    lock = bench.material.lock("torch.lock", wheel, bench.material.wheel(m.OPENMP), str(bench.tools.find("wheelfix")))
    quoted, folder = shlex.quote(str(wheel)), shlex.quote(str(bench.material.openmp_folder()))
    append = shell(
        "cp, zip to append",
        f"cp {quoted} new.whl; mkdir -p torch/lib; cp {folder}/libiomp5md.dll torch/lib; zip -q new.whl torch/lib/*",
    )
    words = ("repair", "--locked", lock, "--trust-record", "-w", "out", "-q")
    targets = (
        Target("100 times as fast as delvewheel repair", "delvewheel repair", faster=100),
        Target("twice cp and zip", append.title, within=2),
    )
    contenders = (
        bench.wheelfix("repair --locked --trust-record", *words),
        shell("cp", f"cp {quoted} new.whl"),
        append,
        *(peer for peer in _slow_peers(bench) if peer.title == "delvewheel repair"),
    )
    return Job("repair-locked", "The same, replayed from a lock", contenders, targets)


def repair_full(bench: Bench) -> Job:
    """Repairing torch with every byte checked."""
    wheel = bench.material.torch_without_openmp()
    floor = bench.floor("inflate and hash everything, all cores", "everything", wheel)
    targets = (
        Target("22 times as fast as delvewheel repair", "delvewheel repair", faster=22),
        Target("1.3 times inflating and hashing everything", floor.title, within=1.3),
        Target("no more than 120 MB", memory_mb=120),
    )
    delvewheel = (peer for peer in _slow_peers(bench) if peer.title == "delvewheel repair")
    contenders = (bench.wheelfix("repair", *_repair(bench, wheel)), floor, *delvewheel)
    return Job("repair-full", "The same, every byte checked", contenders, targets)


def repair_small(bench: Bench) -> Job:
    """Repairing a small wheel."""
    wheel, folder = bench.material.small(), bench.material.openmp_folder()
    script = f"{{tool}} repair --add-path {shlex.quote(str(folder))} -w out {shlex.quote(str(wheel))}"
    contenders = (
        bench.wheelfix("repair", *_repair(bench, wheel)),
        *bench.peers("delvewheel repair of handful", "delvewheel", script),
    )
    return Job("repair-small", "Put libiomp5md.dll into a wheel of 100 small members", contenders)


def repair_big(bench: Bench) -> Job:
    """Repairing a wheel of three gigabytes from a lock."""
    wheel = bench.material.big()
    lock = bench.material.lock("big.lock", wheel, bench.material.wheel(m.OPENMP), str(bench.tools.find("wheelfix")))
    quoted = shlex.quote(str(wheel))
    copy, safe = shell("cp", f"cp {quoted} new.whl"), shell("cp, sync", f"cp {quoted} new.whl; sync new.whl")
    words = ("repair", "--locked", lock, "--trust-record", "-w", "out", "-q")
    targets = (
        Target("1.5 times cp", copy.title, within=1.5),
        Target("1.5 times cp with the same safety", safe.title, within=1.5),
        Target("no more than 120 MB", memory_mb=120),
    )
    contenders = (bench.wheelfix("repair --locked --trust-record", *words), copy, safe)
    return Job("repair-big", "A wheel of 3 GB, replayed from a lock", contenders, targets)


# ------------------------------------------------------------------------------------------------------- adding


def add_folder(bench: Bench, key: str, what: str, wheel: Path, folder: Path) -> Job:
    """Vendoring large DLLs from folders; packing takes nearly all of the time."""
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    floor = replace(bench.floor("zlib level 6, all cores", "deflate", folder), peer=True, result="output.txt")
    words = ("repair", wheel, "--root", folder, "--no-discover", "-w", "out", "-q", "--allow-missing", "*")
    own = bench.wheelfix("repair --root folder", *words)
    targets = (
        Target("2.5 times as fast as zlib on as many cores", floor.title, faster=2.5),
        Target("no more than 3 % larger", floor.title, larger=1.03),
    )
    return Job(key, f"Add {size:.0f} MB of {what} from a folder", (replace(own, result="out/*.whl"), floor), targets)


def add_mkl(bench: Bench) -> Job:
    """Code, as most DLLs are."""
    material = bench.material
    return add_folder(bench, "add-folder", "oneMKL", material.needs_mkl(), material.mkl_folder())


def add_cuda(bench: Bench) -> Job:
    """GPU code that is packed already, in which hardly anything repeats."""
    material = bench.material
    return add_folder(bench, "add-folder-gpu", "CUDA", material.needs_cuda(), material.cuda_folder())


def add_wheels(bench: Bench) -> Job:
    """Vendoring the same from wheels."""
    wheel = bench.material.needs_cuda()
    roots = [bench.material.wheel(name) for name in (m.CUBLAS, m.CUSPARSE)]
    words = ["repair", str(wheel), "--no-discover", "-w", "out", "-q", "--allow-missing", "*"]
    quoted = " ".join(shlex.quote(str(root)) for root in roots)
    hashing = " ; ".join(f"{bench.tools.python()} {FLOORS} everything {shlex.quote(str(root))}" for root in roots)
    floor = shell("cp of the wheels, inflate and hash", f"cp {quoted} . ; {hashing}")
    targets = (Target("twice copying and hashing", floor.title, within=2),)
    options = [word for root in roots for word in ("--root", str(root))]
    contenders = (bench.wheelfix("repair --root wheel", *words, *options), floor)
    return Job("add-wheels", "Add the same from wheels, without compressing again", contenders, targets)


def growth(bench: Bench) -> Job:
    """The same small repair on larger and larger wheels."""
    made: list[Contender] = []
    root = bench.material.wheel(m.OPENMP)
    for times in (1, 2, 4, 8):
        wheel = bench.material.needs_cuda(times)
        lock = bench.material.lock(f"growing-{times}.lock", wheel, root, str(bench.tools.find("wheelfix")))
        words = ("repair", "--locked", lock, "--trust-record", "-w", "out", "-q")
        made.append(bench.wheelfix(f"repair --locked, {times} x 64 MB", *words))
        made.append(shell(f"cp, {times} x 64 MB", f"cp {shlex.quote(str(wheel))} new.whl"))
    return Job("growth", "Add one DLL to wheels of 64, 128, 256 and 512 MB", tuple(made))


JOBS: dict[str, Callable[[Bench], Job]] = {
    "start": start,
    "scan-small": scan_small,
    "repair-small": repair_small,
    "scan-torch": lambda bench: scan(bench, "scan-torch", m.TORCH, "torch 2.7.1 (216 MB)", 120),
    "scan-cudnn": lambda bench: scan(bench, "scan-cudnn", m.CUDNN, "nvidia-cudnn-cu11 (734 MB)", 100),
    "scan-set": lambda bench: scan_set(bench, "scan-set", (m.TORCH, m.TORCHVISION, m.TORCHAUDIO)),
    "scan-set-code": lambda bench: scan_set(bench, "scan-set-code", (m.NUMPY, m.SCIPY)),
    "scan-code": scan_code,
    "scan-ordinary": scan_ordinary,
    "repair-trust": repair_trust,
    "repair-locked": repair_locked,
    "repair-full": repair_full,
    "growth": growth,
    "repair-big": repair_big,
    "add-folder": add_mkl,
    "add-folder-gpu": add_cuda,
    "add-wheels": add_wheels,
}
QUICK = ("start", "scan-small", "repair-small", "scan-torch", "repair-locked")
