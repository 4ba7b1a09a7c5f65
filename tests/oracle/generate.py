"""Random cases from a seed: folders, duplicates, cycles, forwarders, foreign machines, odd spellings."""

from __future__ import annotations

import random

from tests.oracle.graph import APPLICATION, AS_TORCH_DOES, Dll, Graph, Load
from wheelfix.model import Machine, Symbol

FOLDERS = ("pkg/lib", "pkg/libs", "Library/bin", "other place", "ünïcode", APPLICATION)
NAMES = ("alpha", "Beta", "c10_x", "delta.1", "omp-5md", "Zeta64_11", "eps", "torch_y")
FLAGS = (AS_TORCH_DOES,) * 8 + (0x1000,) * 4 + (0x100, 0x900, 0x800, 0x400, 0xC00, 0x500, 0x300, 0, 0, 8)
SYMBOLS = ("f", "g", "?h@@YAXXZ", "Init")
SYSTEM = (("kernel32.dll", "GetLastError"), ("KERNEL32", "Sleep"), ("api-ms-win-core-heap-l1-1-0.dll", "HeapAlloc"))
"""Only what is in every process: see ``api-set-outside-search`` in ``wine_deviations.toml``."""
GONE = ("gone.dll", "lost_1.dll", "api-ms-win-nobody-l1-1-0.dll")


def generate(seed: int, process: Machine) -> Graph:
    """Return the case of a seed; the same one every time."""
    dice = random.Random(seed)
    names = dice.sample(NAMES, dice.randint(2, len(NAMES)))
    folders = dice.sample(FOLDERS, dice.randint(1, 4))
    foreign = [machine for machine in (Machine.AMD64, Machine.ARM64, Machine.X86, Machine.ARM) if machine != process]
    dlls = [
        _dll(dice, f"{folder}/{_respell(dice, name)}.dll", names, foreign)
        for name in names
        for folder in _places(dice, folders)
    ]
    if not dlls:
        dlls = [_dll(dice, f"{folders[0]}/{names[0]}.dll", names, foreign)]
    order = dice.sample(dlls, min(len(dlls), dice.randint(1, 5)))
    loads = [Load(dll.path, dice.choice(FLAGS)) for dll in order]
    if dice.random() < 0.15:
        name = dice.choice(names)
        loads.insert(dice.randint(0, len(loads)), Load(name + dice.choice((".dll", "")), 0x1000, by_name=True))
    added = dice.sample(folders, min(len(folders), dice.choice((0, 1, 2, 2, 3))))
    on_path = dice.sample(folders, dice.choice((0, 0, 1)))
    return Graph(tuple(dlls), tuple(loads), tuple(added), tuple(on_path))


def _places(dice: random.Random, folders: list[str]) -> list[str]:
    """The folders a DLL lies in: the first more often than others, several sometimes, none rarely."""
    if dice.random() < 0.02:
        return []
    return [folder for folder in folders if dice.random() < (0.75 if folder == folders[0] else 0.35)]


def _dll(dice: random.Random, path: str, names: list[str], foreign: list[Machine]) -> Dll:
    if dice.random() < 0.02:
        return Dll(path, content=dice.choice((b"", b"version https://git-lfs.github.com/spec/v1\n", b"MZ" + bytes(70))))
    exports = tuple(symbol for symbol in SYMBOLS if dice.random() < 0.985)
    if dice.random() < 0.03:
        exports = ()
    forwarders = {}
    if dice.random() < 0.25:
        moved = dice.choice(SYMBOLS)
        exports = tuple(symbol for symbol in exports if symbol != moved)
        # Only to names further down the list: a loader need not survive forwarders that lead back to themselves.
        own = path.rpartition("/")[2].lower()
        later = names[[f"{name.lower()}.dll" for name in names].index(own) + 1 :]
        to = dice.choice(later or ["gone"])
        forwarders[moved] = (
            f"{to}{'.dll' if '.' in to else dice.choice(('', '', '.dll'))}.{dice.choice((*SYMBOLS, '#2'))}"
        )
    return Dll(
        path,
        imports=_wants(dice, names, dice.choice((0, 0, 0, 1, 1, 1, 2, 3))),
        delay_imports=_wants(dice, [*names, "never"], dice.choice((0, 0, 0, 1))),
        exports=exports,
        forwarders=tuple(forwarders.items()),
        machine=dice.choice(foreign) if dice.random() < 0.03 else None,
    )


def _wants(dice: random.Random, names: list[str], count: int) -> tuple[tuple[str, tuple[Symbol, ...]], ...]:
    wants = []
    for name in dice.sample(names, min(count, len(names))):
        pool = [*SYMBOLS, 1, 2, 3]
        symbols = tuple(dice.sample(pool, dice.randint(1, 2)))
        wants.append((_spell(dice, name), symbols))
    if dice.random() < 0.3:
        system, symbol = dice.choice(SYSTEM)
        wants.insert(dice.randint(0, len(wants)), (system, (symbol,)))
    if dice.random() < 0.04:
        wants.insert(dice.randint(0, len(wants)), (dice.choice(GONE), ("f",)))
    return tuple(wants)


def _spell(dice: random.Random, name: str) -> str:
    """A name as an import table may spell it; without an extension only where the name itself has no dot."""
    spelled = _respell(dice, name)
    return spelled if "." not in name and dice.random() < 0.15 else spelled + dice.choice((".dll", ".dll", ".DLL"))


def _respell(dice: random.Random, name: str) -> str:
    return dice.choice((name, name, name, name.upper(), name.lower()))
