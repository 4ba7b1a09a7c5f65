"""Distributions at random in one process: each import does, in its place in an order, what the real loader does."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.oracle.graph import Dll, Graph, Load
from tests.oracle.observe import observe
from tests.oracle.wine import Wine
from tests.support.parts import parts
from tests.support.views import make_view
from wheelfix.loader.places import Distribution, InstalledSet
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import ImportOrders
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Machine

STEP = 20
AT_ONCE = 4
NAMES = ("foo.dll", "bar.dll", "baz.dll")
ADDS = "os.add_dll_directory(os.path.join(os.path.dirname(__file__), {}))\n"
LOADS = "try:\n    ctypes.CDLL(os.path.join(os.path.dirname(__file__), {!r}, {!r}))\nexcept OSError:\n    pass\n"


@dataclass(frozen=True, slots=True)
class Installed:
    """A distribution: what its ``__init__.py`` does, in this order, before its module is imported."""

    name: str
    imports: tuple[str, ...] = ()
    """Other distributions that it imports."""
    adds: tuple[str, ...] = ()
    """Folders of the set that it adds."""
    loads: tuple[str, ...] = ()
    """DLLs of its own that it loads by their paths, and does without."""

    @property
    def module(self) -> str:
        return f"{self.name}/_ext.pyd"

    @property
    def code(self) -> str:
        text = "import ctypes, os\n" + "".join(f"import {other}\n" for other in self.imports)
        for folder in self.adds:
            parts = [repr(part) for part in os.path.relpath(folder, self.name).split("/")]
            text += ADDS.format(", ".join("os.pardir" if part == "'..'" else part for part in parts))
        return text + "".join(LOADS.format(*os.path.split(path.partition("/")[2])) for path in self.loads)


@dataclass(frozen=True, slots=True)
class InstalledTogether:
    """Two to five distributions, and the order in which a program imports them."""

    distributions: tuple[Installed, ...]
    dlls: tuple[Dll, ...]
    order: tuple[str, ...]

    def process(self) -> Graph:
        """What a process does that imports all of them in that order."""
        by_name = {one.name: one for one in self.distributions}
        loads = []
        pending = []
        run = set()

        def code_of(name: str) -> Iterator[Load]:
            if name in run:
                return
            run.add(name)
            for other in by_name[name].imports:
                yield from code_of(other)
            pending.extend(folder for folder in by_name[name].adds if folder not in pending)
            for path in by_name[name].loads:
                yield Load(path)

        added = set()
        for name in self.order:
            for load in itertools.chain(code_of(name), [Load(by_name[name].module)]):
                new = tuple(folder for folder in pending if folder not in added)
                loads.append(Load(load.target, adds=new))
                added.update(new)
        return Graph(self.dlls, tuple(loads))

    def predicted(self, machine: Machine) -> dict[str, int]:
        """The code that wheelfix predicts for the module of each distribution, in its place."""
        files = {dll.path: dll.forge(machine) for dll in self.dlls}
        files |= {f"{one.name}/__init__.py": one.code for one in self.distributions}
        view = make_view({f"{SITE_PACKAGES}/{path}": data for path, data in files.items()}).background()
        installed = [self._distribution(one.name, [*files]) for one in self.distributions]
        view.beside = InstalledSet(view, installed, complete=True)
        orders = ImportOrders(view.beside, Profile(machine=machine))
        found = {}
        for place, name in enumerate(self.order):
            for loaded in orders.loads(self.order[:place], name):
                if loaded.event.cause == "extension":
                    found[name] = loaded.failure.code if loaded.failure else 0
        return found

    @staticmethod
    def _distribution(name: str, files: list[str]) -> Distribution:
        own = frozenset(f"{SITE_PACKAGES}/{path}" for path in files if path.startswith(f"{name}/"))
        return Distribution(name, "1", f"{SITE_PACKAGES}/{name}-1.dist-info", own, (), ())


def generate(seed: int) -> InstalledTogether:
    """Return the set of that number."""
    rng = random.Random(seed)
    names = [f"d{number}" for number in range(rng.randint(2, 5))]
    dlls = {}
    installed = []
    for number, name in enumerate(names):
        for dll in NAMES:
            for folder in rng.sample((name, f"{name}/libs"), rng.choice((0, 0, 1, 1, 2))):
                needs = rng.sample(
                    [other for other in NAMES if other > dll], rng.choice((0, 0, 1)) if dll < "foo" else 0
                )
                exports = rng.choice((("f", "g"), ("f", "g"), ("g",), ("f",)))
                path = f"{folder}/{dll}"
                dlls[path] = Dll(path, imports=tuple((need, ("g",)) for need in needs), exports=exports)
        wants = tuple((need, (rng.choice("fg"),)) for need in rng.sample(NAMES, rng.randint(1, 2)))
        dlls[f"{name}/_ext.pyd"] = Dll(f"{name}/_ext.pyd", imports=wants, exports=("PyInit__ext",))
        own = [path for path in dlls if path.startswith(f"{name}/") and path.endswith(".dll")]
        folders = sorted({path.rpartition("/")[0] for path in dlls if "/libs/" in path})
        installed.append(
            Installed(
                name,
                imports=tuple(rng.sample(names[:number], min(number, rng.choice((0, 0, 1, 1, 2))))),
                adds=tuple(rng.sample(folders, min(len(folders), rng.choice((0, 1, 1, 2))))),
                loads=tuple(rng.sample(own, min(len(own), rng.choice((0, 0, 1))))),
            )
        )
    order = rng.sample(names, len(names))
    return InstalledTogether(tuple(installed), tuple(dlls.values()), tuple(order))


def differences(wine: Wine, seed: int, base: Path) -> tuple[list[str], Counter[int]]:
    """Where prediction and loader differ for one set, and which codes came up."""
    together, found, codes = generate(seed), [], Counter[int]()
    predicted, graph = together.predicted(wine.machine), together.process()
    root = Path(tempfile.mkdtemp(dir=base))
    try:
        answers = observe(wine, graph, root).answers
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for load, answer in zip(graph.loads, answers, strict=True):
        if load.target.endswith(".pyd"):
            code = predicted[load.target.partition("/")[0]]
            codes[code] += 1
            if code not in answer.codes:
                found.append(f"set {seed}, {load.target}: predicted {code}, the loader gave {set(answer.codes)}")
    return [*found, str(graph), str(together.order)] if found else [], codes


@pytest.mark.wine
@pytest.mark.slow
@pytest.mark.parametrize("first", parts(0, 20, STEP))
def test_each_import_does_in_its_place_what_is_predicted(native, case_root, first):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda seed: differences(native, seed, case_root), range(first, first + STEP)))
    codes = sum((codes for _, codes in results), Counter[int]())
    print(f"{STEP} sets, {codes.total()} imports, codes {dict(codes)}")
    found = [line for lines, _ in results for line in lines]
    if found:
        pytest.fail("\n".join(found[:60]), pytrace=False)
