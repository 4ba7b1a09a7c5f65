"""Packages at random: what is predicted for each extension module is what a fresh process of the real loader does."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.oracle.graph import Dll, Graph, Load
from tests.oracle.observe import observe
from tests.oracle.wine import Wine
from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Machine

COUNT = int(os.environ.get("WHEELFIX_PACKAGES", "100"))
AT_ONCE = 4
NAMES = ("foo.dll", "bar.dll", "baz.dll", "qux.dll")
FOLDERS = ("pkg", "pkg/x", "pkg/y", "pkg/libs")
ADDS = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'libs'))\n"
LOADS = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), {}))\n"


@dataclass(frozen=True, slots=True)
class Package:
    """A package: its images, and what the ``__init__.py`` of each folder does."""

    dlls: tuple[Dll, ...]
    added: tuple[str, ...]
    """Folders that the outermost ``__init__.py`` adds."""
    loaded: tuple[tuple[str, str], ...]
    """Folder of an ``__init__.py``, and the DLL that it loads."""

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dll.path for dll in self.dlls if dll.path.endswith(".pyd"))

    def process(self, module: str) -> Graph:
        """What a fresh Python does that imports one module: the code of the packages above it, then the load."""
        before = [Load(dll) for folder, dll in self.loaded if module.startswith(folder + "/")]
        return Graph(self.dlls, (*before, Load(module)), self.added)

    def predicted(self, machine: Machine) -> dict[str, int]:
        """The code that wheelfix predicts for each module."""
        files = {dll.path: dll.forge(machine) for dll in self.dlls}
        for folder in ("pkg", "pkg/x", "pkg/y"):
            code = ADDS if folder == "pkg" and self.added else ""
            for where, dll in self.loaded:
                if where == folder:
                    parts = [repr(part) for part in os.path.relpath(dll, folder).split("/")]
                    code += LOADS.format(", ".join("os.pardir" if part == "'..'" else part for part in parts))
            files[f"{folder}/__init__.py"] = code
        view = make_view({f"{SITE_PACKAGES}/{path}": data for path, data in files.items()})
        outcomes = resolve(view, Profile(machine=machine)).outcomes
        return {
            outcome.event.path.removeprefix(f"{SITE_PACKAGES}/"): outcome.code
            for outcome in outcomes
            if outcome.event.cause == "extension"
        }


def generate(seed: int) -> Package:
    """Return the package of that number: modules and DLLs in four folders, some needs unmet, some met elsewhere."""
    rng = random.Random(seed)
    dlls = {}
    for name in NAMES:
        for folder in rng.sample(FOLDERS, rng.choice((1, 2, 2, 3))):
            needs = rng.sample([other for other in NAMES if other != name], rng.choice((0, 0, 1, 1)))
            exports = ("g",) if rng.random() < 0.1 else ("f", "g")
            path = f"{folder}/{name}"
            dlls[path] = Dll(path, imports=tuple((need, ("f",)) for need in needs), exports=exports)
    for number in range(rng.randint(2, 4)):
        path = f"{rng.choice(FOLDERS[:3])}/_m{number}.pyd"
        needs = rng.sample(NAMES, rng.randint(1, 2))
        dlls[path] = Dll(path, imports=tuple((need, ("f",)) for need in needs), exports=("f",))
    added = ("pkg/libs",) if rng.random() < 0.4 and any(path.startswith("pkg/libs/") for path in dlls) else ()
    loadable = [path for path in dlls if path.endswith(".dll")]
    loaded = [(folder, rng.choice(loadable)) for folder in FOLDERS[:3] if loadable and rng.random() < 0.25]
    return Package(tuple(dlls.values()), added, tuple(loaded))


def differences(wine: Wine, seed: int, base: Path) -> tuple[list[str], Counter[int]]:
    """Where prediction and loader differ for the modules of one package, and which codes came up."""
    package, found, codes = generate(seed), [], Counter[int]()
    predicted = package.predicted(wine.machine)
    for module in package.modules:
        root = Path(tempfile.mkdtemp(dir=base))
        try:
            answer = observe(wine, package.process(module), root).answers[-1]
        finally:
            shutil.rmtree(root, ignore_errors=True)
        codes[predicted[module]] += 1
        if predicted[module] not in answer.codes:
            found.append(f"package {seed}, {module}: predicted {predicted[module]}, the loader gave {answer.codes}")
            found.append(str(package.process(module)))
    return found, codes


@pytest.mark.wine
@pytest.mark.slow
def test_each_module_does_in_a_fresh_process_what_is_predicted(native, case_root):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda seed: differences(native, seed, case_root), range(COUNT)))
    codes = sum((codes for _, codes in results), Counter[int]())
    print(f"{COUNT} packages, {codes.total()} modules, codes {dict(codes)}")
    assert min(codes[0], codes[126], codes[127]) > COUNT // 20, "cases of every sort"
    found = [line for lines, _ in results for line in lines]
    if found:
        pytest.fail("\n".join(found[:20]), pytrace=False)
