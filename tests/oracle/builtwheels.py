"""Small packages made from a seed: modules in several folders, chains of DLLs, code that adds folders or names DLLs."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.takenapart import Broken, Installed, Result, prepare, repaired
from tests.oracle.wine import Wine
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.model import Machine

PLATFORMS = {Machine.AMD64: "win_amd64", Machine.ARM64: "win_arm64"}


@dataclass(frozen=True, slots=True)
class Built:
    """A package and the folders that hold what it needs."""

    files: dict[str, bytes | str]
    roots: dict[str, dict[str, bytes]]


def build(seed: int, machine: Machine) -> Built:
    """Return the package of a seed."""
    chance = random.Random(seed)
    count = chance.randint(2, 6)
    needs = {number: chance.sample(range(number), min(number, chance.randint(0, 2))) for number in range(count)}
    libraries = {
        f"part{number}.dll": forge_dll(
            f"part{number}.dll",
            imports={f"part{other}.dll": [f"call{other}"] for other in others},
            exports=[f"call{number}"],
            machine=machine,
        )
        for number, others in needs.items()
    }
    files = {"pkg/__init__.py": _code(chance, count)}
    folders = ["pkg", *chance.sample(["pkg/x", "pkg/y", "pkg/y/z"], chance.randint(0, 3))]
    for folder in folders:
        files.setdefault(f"{folder}/__init__.py", "")
        for index in range(chance.randint(1, 2)):
            wanted = chance.sample(range(count), chance.randint(1, min(2, count)))
            imports = {f"part{number}.dll": [f"call{number}"] for number in wanted}
            name = f"{folder}/_m{index}.cp311-{PLATFORMS[machine]}.pyd"
            files[name] = forge_dll("m.pyd", imports=imports, exports=["PyInit_m"], machine=machine)
    if chance.random() < 0.2:
        number = chance.randrange(count)
        program = forge_dll("tool.exe", imports={f"part{number}.dll": [f"call{number}"]}, machine=machine)
        files[f"{chance.choice(folders)}/tool.exe"] = program
    roots = {"one": {}, "two": {}}
    for name, data in libraries.items():
        if chance.random() < 0.25:
            files[f"{chance.choice([*folders, 'pkg/dlls'])}/{name}"] = data
        else:
            roots[chance.choice(["one", "two"])][name] = data
    return Built(files, {name: held for name, held in roots.items() if held})


def _code(chance: random.Random, count: int) -> str:
    lines = ["import os"]
    if chance.random() < 0.3:
        lines.append("os.add_dll_directory(os.path.join(os.path.dirname(__file__), 'dlls'))")
    if chance.random() < 0.2:
        lines += ["import ctypes", f"NAMES = ['part{chance.randrange(count)}.dll']"]
    return "\n".join([*lines, ""])


def play(wine: Wine, seed: int, layout: str) -> Result:
    """Repair the package of a seed, and load each of its modules in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="built-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        built = build(seed, wine.machine)
        tag = f"cp311-cp311-{PLATFORMS[wine.machine]}"
        wheel = build_wheel(folder / "dist", "pkg", "1.0", tag, built.files)
        roots = []
        for root, files in built.roots.items():
            (folder / "roots" / root).mkdir(parents=True)
            roots.append(folder / "roots" / root)
            for file, data in files.items():
                (folder / "roots" / root / file).write_bytes(data)
        made = repaired(Broken(wheel, tuple(roots), ()), layout, folder / "out")
        if isinstance(made, str):
            return Result(made)
        new = folder / "new"
        prepare(wine, new, None)
        after = Installed.unpack(made, new)
        modules = sorted(f"Lib/site-packages/{path}" for path in built.files if path.endswith(".pyd"))
        codes = {module: after.load(wine, module) for module in modules}
        failed = tuple(f"{module}: {code}" for module, code in codes.items() if code)
        return Result(loaded=len(codes) - len(failed), failed=failed)
