"""How several wheels use several processors: wheels per second and memory, for so many cores and so many wheels.

python -m benchmarks.scaling --cores 1,2 --wheels 10,100,1000

Makes wheels of forged DLLs with distinct contents (about 2 MB packed, 4 MB unpacked each), runs ``scan``, ``verify``
and ``survey`` on them and prints a table as Markdown; ``--svg FILE`` also draws it. Seconds are those of the clock, so
the machine should have nothing else to do; ``busy`` is the time of all processors, children included.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

from wheelfix.demo.forge import forge_dll

COMMANDS = ("scan", "verify", "survey")


class Measured(NamedTuple):
    """One run."""

    command: str
    wheels: int
    cores: int
    seconds: float
    busy: float
    memory: int
    """The largest process, in bytes."""

    @property
    def rate(self) -> float:
        return self.wheels / self.seconds


def make_wheel(folder: Path, number: int, megabytes: float = 4.0) -> Path:
    """Write a wheel whose DLL has contents that no other has."""
    name = f"forged{number:04}"
    noise = random.Random(number)
    exports = [f"{name}_{index}" for index in range(2000)]
    dll = forge_dll("core.dll", imports={"kernel32.dll": ["Sleep"]}, exports=exports)
    half = int(megabytes * (1 << 19))
    files = {
        f"{name}/__init__.py": b"from . import _x\n",
        f"{name}/_x.cp311-win_amd64.pyd": forge_dll(
            "_x.pyd", imports={"python311.dll": ["Py_IncRef"], "core.dll": exports[:200]}, exports=["PyInit__x"]
        ),
        f"{name}/core.dll": dll,
        f"{name}/data.bin": noise.randbytes(half) + bytes(half),
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{name}-1.0.dist-info/RECORD"])
    path = folder / f"{name}-1.0-cp311-cp311-win_amd64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for member, data in {**files, f"{name}-1.0.dist-info/RECORD": record.encode()}.items():
            archive.writestr(member, data)
    return path


def measure(command: str, wheels: list[Path], cores: int, tmp: Path) -> Measured:
    """Run a command on wheels with so many jobs."""
    folder = tmp / "chosen"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for wheel in wheels:
        os.link(wheel, folder / wheel.name)
    words = [sys.executable, "-m", "wheelfix", command, str(folder), "-j", str(cores), "-q"]
    if command == "survey":
        shutil.rmtree(tmp / "survey", ignore_errors=True)
        words += ["-o", str(tmp / "survey")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(command, len(wheels), cores, seconds, busy, after.ru_maxrss * 1024)


def report(found: list[Measured]) -> str:
    """Return a Markdown table."""
    lines = [
        "| command | wheels | cores | seconds | busy | wheels per second | against one core | memory |",
        "| --- " * 8 + "|",
    ]
    for one in found:
        alone = next((other for other in found if other[:2] == one[:2] and other.cores == 1), None)
        gain = f"{alone.seconds / one.seconds:.2f} ×" if alone else ""
        memory = f"{one.memory / 1e6:.0f} MB"
        numbers = f"{one.seconds:.2f} s | {one.busy:.2f} s | {one.rate:.1f} | {gain} | {memory}"
        lines.append(f"| {one.command} | {one.wheels} | {one.cores} | {numbers} |")
    return "\n".join(lines) + "\n"


def draw(found: list[Measured]) -> str:
    """Return bars of wheels per second as SVG."""
    from tools.make_survey_page import bars

    values = [(f"{one.command} {one.wheels}, {one.cores}", round(one.rate)) for one in found]
    return bars("Wheels per second, by command, wheels and cores", values, "per second")


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default="1,2", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--wheels", default="10,100", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--commands", default=",".join(COMMANDS), type=lambda text: text.split(","))
    parser.add_argument("--svg", type=Path)
    args = parser.parse_args(argv)
    found = []
    with tempfile.TemporaryDirectory(prefix="wheelfix-scaling-") as folder:
        wheels = [make_wheel(Path(folder), number) for number in range(max(args.wheels))]
        for command in args.commands:
            for count in args.wheels:
                for cores in args.cores:
                    found.append(measure(command, wheels[:count], cores, Path(folder)))
                    print(f"{found[-1]}", file=sys.stderr, flush=True)
    print(report(found), end="")
    if args.svg:
        args.svg.write_text(draw(found), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
