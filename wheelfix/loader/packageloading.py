"""The interface to packages that load DLLs in ways which their Python code alone does not show.

``loader/packages`` has one module for each, named like the package it is for: ``packages/torch.py`` is asked about
everything that has ``torch/__init__.py``. The rest of wheelfix knows only what is in this module.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
import weakref
from typing import TYPE_CHECKING, Protocol, cast

from wheelfix.base.inputfiles import listed_modules
from wheelfix.base.values import dataclass
from wheelfix.loader import packages
from wheelfix.loader.loadcall import AS_PYTHON_DOES, MOD_NOT_FOUND
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.loadcall import Failure
    from wheelfix.loader.loading import Loader
    from wheelfix.loader.view import FileView
    from wheelfix.model import LoadEvent


class PackageLoader(Protocol):
    """What a module of ``loader/packages`` has to have."""

    def recognise(self, view: FileView) -> PackageLoading | None:
        """Return how the package in this view loads its DLLs; None for one of the same name that does not do so.

        It is read from the package's own files, never guessed from its version.
        """
        ...


@dataclass(frozen=True, slots=True)
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
    error: str
    """The line that Python prints when one fails, with ``{code}``, ``{text}`` and ``{path}``."""
    after: tuple[str, ...] = ()
    """Packages that it imports first: what they load is in the process, and what they add is searched."""
    retries_on_path: bool = False
    """Whether it tries once more with the added folders on PATH when the answer is 126."""
    toolkit_unless: str = ""
    """A build for CUDA adds the installed toolkit's ``bin`` unless its folders have such a DLL; empty for never."""
    test_programs: str = ""
    """A pattern of programs that only builds with the package's own test suite have."""


@dataclass(frozen=True, slots=True)
class NamedLoad:
    """A DLL that a file of the package loads by its bare name after the import."""

    by: str
    """The file, as a path in the view."""
    name: str
    without: str
    """What happens without it, as half a sentence."""
    source: str
    """Where others can look that up."""


@dataclass(frozen=True, slots=True)
class PackageLoading:
    """What is known about the loading of one package."""

    package: str
    """The name that is imported."""
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


@functools.cache
def known_packages() -> tuple[str, ...]:
    """The names of the packages that have a module in ``loader/packages``."""
    return tuple(listed_modules(packages))


def _loader_of(package: str) -> PackageLoader:
    return cast("PackageLoader", importlib.import_module(f"{packages.__name__}.{package}"))


def _present(view: FileView) -> Iterator[tuple[str, str]]:
    """The known packages that are in a view, each with its ``__init__.py``."""
    for package in known_packages():
        init = view.find(f"{SITE_PACKAGES}/{package}", "__init__.py")
        if init is not None:
            yield package, init


_KNOWN: weakref.WeakKeyDictionary[FileView, PackageLoading | None] = weakref.WeakKeyDictionary()


def loading_of(view: FileView) -> PackageLoading | None:
    """The loading of the subject of a view; None when it is an ordinary package. It is read once for each view."""
    if view not in _KNOWN:
        _KNOWN[view] = _read_loading(view)
    return _KNOWN[view]


def _read_loading(view: FileView) -> PackageLoading | None:
    own = [package for package, init in _present(view) if view.layer(init) is not Layer.ENVIRONMENT]
    found = [loading for package in own if (loading := _loader_of(package).recognise(view)) is not None]
    return max(found, key=lambda loading: loading.startup is not None, default=None)


def startup_at(view: FileView, path: str) -> Startup | None:
    """What running one ``__init__.py`` of a view loads, in any distribution; None where its code has to be read."""
    package = path.removeprefix(f"{SITE_PACKAGES}/").removesuffix("/__init__.py")
    if package not in known_packages() or path not in view or not path.endswith("/__init__.py"):
        return None
    loading = _loader_of(package).recognise(view)
    return loading.startup if loading is not None else None


def metadata_of(view: FileView, distributions: tuple[str, ...]) -> str:
    """The METADATA of the first of some distributions that is in a view; empty when there is none."""
    for file in view.files:
        folder, _, name = file.path.removeprefix(f"{SITE_PACKAGES}/").partition("/")
        if (
            name == "METADATA"
            and folder.endswith(".dist-info")
            and canonical(folder.partition("-")[0]) in distributions
        ):
            return view.read_text(file.path) or ""
    return ""


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
    dirs = search_dirs(startup, process.view)
    process.user_dirs += [folder for folder in dirs if folder not in process.user_dirs]
    for name in startup.names:
        if process.load_by_name(name):
            break


def load_event(startup: Startup, process: Loader, event: LoadEvent) -> Failure | None:
    """Perform one of the loads; those of other packages' code, which runs before, are tried once."""
    failure = process.load(event.path, AS_PYTHON_DOES)
    if failure is None or failure.code != MOD_NOT_FOUND or not startup.retries_on_path or not event.package:
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
