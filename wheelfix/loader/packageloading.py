"""The interface to packages that load DLLs in ways which their Python code alone does not show.

``loader/packages`` has one module for each, named like the package it is for: ``packages/torch.py`` is asked about
everything that has ``torch/__init__.py``. The rest of wheelfix knows only what is in this module.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
import re
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import listed_modules
from wheelfix.base.parsing import regex
from wheelfix.base.values import frozen
from wheelfix.loader import packages
from wheelfix.loader.loading import AS_PYTHON_DOES, MOD_NOT_FOUND, Failure
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, once_for_each, parent
from wheelfix.model import Image, LoadEvent, Machine, canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.loading import Loader
    from wheelfix.loader.profile import Profile

_ABI = regex(r"\.(?P<abi>(?:cp|pp|graalpy)\d+t?(?:_d)?|abi3t?)?(?:-(?P<system>[a-z0-9_]+))?\.pyd$", re.IGNORECASE)
_SYSTEMS = {"win32": Machine.X86, "win_amd64": Machine.AMD64, "win_arm64": Machine.ARM64, "win_arm32": Machine.ARM}
_PYTHON_DLL = regex(r"python3\d+t?\.dll")
_PYTHON_FOLDER = regex(r"(?:(?:cp|py|python)[-_]?3[._]?|3[._])(?P<minor>\d{1,2})", re.IGNORECASE)
ENTRIES = ("PyInit_", "PyModExport_", "HPyInit_")
"""How the name of the function begins that Python calls to import a module."""


def extension_modules(view: FileView, profile: Profile) -> list[str]:
    """The ``.pyd`` files of the subject that the target's Python would import, sorted by path."""
    fitting = [path for path in module_files(view) if _fits(path, profile)]
    return [path for path in fitting if not is_for_another_python(view, path, fitting, profile)]


def folder_python(path: str) -> tuple[int, int] | None:
    """The Python that the folder of a file is named after: ``libs/py310/_core.pyd`` is for Python 3.10."""
    match = _PYTHON_FOLDER.fullmatch(base_name(parent(path)))
    return (3, int(match["minor"])) if match else None


def is_for_another_python(view: FileView, path: str, paths: list[str], profile: Profile) -> bool:
    """Whether a module lies in a folder for another Python: code chooses between such folders.

    There must be one for the target's Python, too: in its folder beside this one, or, if the file itself says that it
    is for the folder's Python, anywhere.
    """
    meant = folder_python(path)
    if meant is None or profile.python is None or meant == profile.python:
        return False
    named, image = f"{meant[0]}{meant[1]}", view.image(path)
    needs = {dll_key(item.dll) for item in image.imports} if isinstance(image, Image) else set()
    above, name = parent(parent(path)), base_name(path)
    if f".cp{named}-" in name.lower() or f"python{named}.dll" in needs:
        same = (one for one in paths if base_name(one).split(".")[0] == name.split(".")[0] and _fits(one, profile))
        return any(folder_python(one) in (None, profile.python) for one in same)
    twins = (one for one in paths if base_name(one) == name and parent(parent(one)) == above)
    return any(folder_python(one) == profile.python for one in twins)


def module_files(view: FileView) -> list[str]:
    """Every ``.pyd`` file of the subject but debug builds, sorted by path.

    A site-packages folder inside of a package belongs to a prefix of its own: code that sets up that prefix imports
    what is there (gstreamer-python 1.28.8).
    """
    paths = [(path, base_name(path).lower()) for path in view.image_paths]
    modules = (path for path, name in paths if name.endswith(".pyd") and "_d." not in name)
    programs = _programs(view, (path for path, name in paths if _PYTHON_DLL.fullmatch(name)))
    own = (path for path in modules if path.startswith(SITE_PACKAGES + "/") and not path.startswith(programs))
    return [path for path in own if "/site-packages/" not in path.lower()[len(SITE_PACKAGES) :]]


def _programs(view: FileView, pythons: Iterable[str]) -> tuple[str, ...]:
    """The folders of programs with a Python of their own, as PyInstaller makes them: only it loads what is there."""
    found = []
    for path in pythons:
        folder = parent(path)
        beside = view.in_folder(parent(folder) if base_name(folder) == "_internal" else folder)
        if any(other.lower().endswith(".exe") for other in beside):
            found.append(f"{folder}/")
    return tuple(found)


def _fits(path: str, profile: Profile) -> bool:
    """Whether the ABI in the file's name is that of the target (``_C.cp311-win_amd64.pyd``), or none is given.

    A Python looks for its own ending and for ``.pyd``: one for x64 never opens ``_C.cp36-win32.pyd``, and none on
    Windows opens ``_C.abi3.pyd``.
    """
    match = _ABI.search(base_name(path))
    system = match["system"] if match else None
    if system and _SYSTEMS.get(system.lower(), profile.machine) is not profile.machine:
        return False
    abi = match["abi"] if match else None
    if is_stable_ending(path):
        return False
    if not abi or profile.python is None:
        return True
    digits = re.sub(r"\D", "", abi)
    return digits == f"{profile.python[0]}{profile.python[1]}"


def is_stable_ending(path: str) -> bool:
    """Whether the name of a module ends as those for the stable ABI do on other systems."""
    match = _ABI.search(base_name(path))
    return match is not None and (match["abi"] or "").lower() in ("abi3", "abi3t")


def module_name(path: str) -> str:
    """The dotted name under which a ``.pyd`` is imported."""
    inside = path.removeprefix(SITE_PACKAGES + "/")
    folder, name = parent(inside), base_name(inside).split(".")[0]
    return ".".join([*folder.split("/"), name]) if folder else name


def has_entry(view: FileView, path: str, entries: tuple[str, ...] = ENTRIES) -> bool:
    """Whether an extension module exports the function that Python calls to import it; True if not known."""
    image, name = view.image(path), entry_name(path)
    if not isinstance(image, Image) or not name.isidentifier() or not name.isascii():
        return True
    return any(entry + name in image.exports.names for entry in entries)


def entry_name(path: str) -> str:
    """The name that the function ends with which Python calls to import an extension module."""
    name = stem(path)
    return base_name(parent(path)) if name == "__init__" else name


def without_entry(name: str, python: tuple[int, int] | None) -> str:
    """What Python 3 says about a module without such a function; PEP 793 has added one to look for."""
    wanted = f"PyInit_{name}" if python is None or python < (3, 15) else f"PyModExport_{name} or PyInit_{name}"
    return f"dynamic module does not define module export function ({wanted})"


def stem(path: str) -> str:
    """The name of a module's file, without its suffixes."""
    return base_name(path).split(".")[0]


@frozen
class Startup:
    """What importing a package loads, and what it searches, before any of its extension modules is imported."""

    lib: str
    """The folder whose DLLs it loads; a DLL that is missing for the package belongs there."""
    folders: tuple[str, ...]
    """Folders that it adds to the DLL search, in this order; those that do not exist are skipped."""
    names: tuple[str, ...]
    """DLLs that it tries to load by bare name first, up to the first that is not there."""
    events: tuple[LoadEvent, ...]
    """The loads that must succeed. Their cause is the name of the package, a hyphen, and a word for how."""
    after: tuple[str, ...] = ()
    """Packages that it imports first: what they load is in the process, and what they add is searched."""
    toolkit_unless: str = ""
    """A build for CUDA adds the installed toolkit's ``bin`` unless its folders have such a DLL; empty for never."""
    test_programs: str = ""
    """A pattern of programs that only builds with the package's own test suite have."""


@frozen
class NamedLoad:
    """A DLL that a file of the package loads by its bare name after the import."""

    by: str
    """The file, as a path in the view."""
    name: str
    without: str
    """What happens without it, as half a sentence."""
    source: str
    """Where others can look that up."""


@frozen
class PackageLoading:
    """What is known about the loading of one package."""

    package: str
    """The name that is imported; empty for an ordinary package, of which nothing else is known."""
    version: str = ""
    """As the package itself says; empty when it does not."""
    cuda: str | None = None
    """The CUDA release that it was built for, as ``11.7``; None for a build without CUDA."""
    cuda_file: str = ""
    """The file that says so, as in ``torch/version.py``."""
    any_minor: bool = False
    """Whether every release of the same major serves, as its maintainers say."""
    startup: Startup | None = None
    """Set where the import is modelled; None where its Python code is read like that of any other package."""
    adds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Python files of it, each with the folders that running it adds, where its code computes them."""
    values: tuple[tuple[str, str, bool], ...] = ()
    """Names of its compiled modules whose values decide what its code loads: the module, the name, the value."""
    later: tuple[tuple[str, str], ...] = ()
    """Files that its DLLs load by path after the import, each with when: ``when a session asks for CUDA``."""
    named: tuple[NamedLoad, ...] = ()
    """DLLs that its files load by name after the import, which no import table and no Python code shows."""
    works_on_cpu: bool = False
    """Whether it works on the processor where the DLLs that it loads by name for a GPU are missing."""
    unless: str = ""
    """What makes the CUDA DLLs available that are not in it, by its own code: a clause that follows "unless"."""
    without_gpu_code: str = ""
    """The advice for a user who wants a build for the GPU and has one without; empty when that is fine."""
    version_variable: str = ""
    """The variable that sets the version when the package is built; empty when there is none."""


ORDINARY = PackageLoading("")
"""That of a package whose Python code shows what it loads."""


@functools.cache
def known_packages() -> tuple[str, ...]:
    """The names of the packages that have a module in ``loader/packages``."""
    return tuple(listed_modules(packages))


def _recognised(view: FileView, package: str) -> PackageLoading | None:
    """How the package in this view loads its DLLs; None for one of the same name that does not do so.

    Its module reads that from the package's own files, and never guesses from its version.
    """
    found: PackageLoading | None = importlib.import_module(f"{packages.__name__}.{package}").recognise(view)
    return found


@once_for_each
def loading_of(view: FileView) -> PackageLoading:
    """The loading of the subject of a view; one without a name when it is an ordinary package."""
    inits = {package: view.find(f"{SITE_PACKAGES}/{package}", "__init__.py") for package in known_packages()}
    own = (package for package, init in inits.items() if init and init in view.own)
    found = [loading for package in own if (loading := _recognised(view, package)) is not None]
    return max(found, key=lambda loading: loading.startup is not None, default=ORDINARY)


def startup_at(view: FileView, path: str) -> Startup | None:
    """What running one ``__init__.py`` of a view loads, in any distribution; None where its code has to be read."""
    package = path.removeprefix(f"{SITE_PACKAGES}/").removesuffix("/__init__.py")
    if package not in known_packages() or path not in view or not path.endswith("/__init__.py"):
        return None
    loading = _recognised(view, package)
    return loading.startup if loading is not None else None


def metadata_of(view: FileView, names: str) -> str:
    """The METADATA of the first distribution in a view whose name fits a pattern; empty when there is none."""
    found = (path for path in view.named("METADATA") if path.endswith(".dist-info/METADATA"))
    own = (path for path in found if re.fullmatch(names, canonical(base_name(parent(path)).partition("-")[0])))
    return view.read_text(next(own, "")) or ""


# ------------------------------------------------------------------------------------------- what a startup does


def search_dirs(startup: Startup, view: FileView) -> tuple[str, ...]:
    """The folders of the view that it adds to the DLL search."""
    return tuple(folder for folder in startup.folders if view.in_folder(folder))


def adds_toolkit(loading: PackageLoading, view: FileView) -> bool:
    """Whether an installed CUDA toolkit is searched; an ordinary package may have been configured to."""
    startup = loading.startup
    if startup is None:
        return True
    if loading.cuda is None or not startup.toolkit_unless:
        return False
    present = (base_name(path).lower() for folder in search_dirs(startup, view) for path in view.in_folder(folder))
    return not any(fnmatch.fnmatch(name, startup.toolkit_unless) for name in present)


def begin(startup: Startup, process: Loader) -> None:
    """Add the folders, then load what is loaded by bare name; failures of these are not raised."""
    process.add_folders(search_dirs(startup, process.view))
    for name in startup.names:
        if process.load_by_name(name):
            break


def load_event(startup: Startup, process: Loader, event: LoadEvent) -> Failure | None:
    """Perform one of the loads; where the answer is 126, those of the package itself are tried again on PATH."""
    failure = process.load(event.path, AS_PYTHON_DOES)
    if failure is None or failure.code != MOD_NOT_FOUND or not event.package:
        return failure
    added = search_dirs(startup, process.view)
    process.path_dirs = [*added, *(folder for folder in process.path_dirs if folder not in added)]
    return process.load(event.path, 0)


def import_before(startup: Startup, process: Loader) -> tuple[LoadEvent, Failure] | None:
    """Import the packages that come first, as far as they are there; return the first load of theirs that fails."""
    for package in startup.after:
        first = startup_at(process.view, f"{SITE_PACKAGES}/{package}/__init__.py")
        if first is None:
            continue
        begin(first, process)
        for event in first.events:
            failure = load_event(first, process, event)
            if failure is not None:
                return event, failure
    return None
