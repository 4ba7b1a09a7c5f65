"""Which folders importing Kivy adds to the DLL search: those of the ``kivy_deps`` distributions that are installed.

``kivy/__init__.py`` runs every package in the namespace ``kivy_deps`` (2.3.1, lines 303 to 323; 2.2.1 has the same), by
names that ``pkgutil.iter_modules`` gives. Each of them adds a folder below the prefix, such as ``share/sdl2/bin``
(``kivy_deps/sdl2/__init__.py`` of 0.8.0, lines 24 to 30). Where none is installed, nothing is known about them, unless
everything that is installed is known: then there are none (a Kivy with its DLLs inside, as delvewheel makes it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import distinct
from wheelfix.loader.packagecode import CodeReader
from wheelfix.loader.packageloading import PackageLoading
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import SITE_PACKAGES, FileView

if TYPE_CHECKING:
    from collections.abc import Iterator


_INIT = f"{SITE_PACKAGES}/kivy/__init__.py"
_DEPENDENCIES = f"{SITE_PACKAGES}/kivy_deps/"
_RUNS_THEM = "iter_modules(kivy_deps.__path__)"


def recognise(view: FileView) -> PackageLoading | None:
    """Return what importing the kivy package in a view adds; None where that is not known."""
    if _RUNS_THEM not in (view.read_text(_INIT) or ""):
        return None
    folders = distinct(_folders(view))
    is_known = bool(folders) or (view.beside is not None and view.beside.complete)
    return PackageLoading(package="kivy", adds=((_INIT, folders),)) if is_known else None


def _folders(view: FileView) -> Iterator[str]:
    reader = CodeReader(view, Profile())
    for file in view.files:
        inside = file.path.removeprefix(_DEPENDENCIES)
        if inside != file.path and inside.count("/") == 1 and inside.endswith("/__init__.py"):
            code = reader.code(file.path, view.read_text(file.path) or "")
            yield from (folder for folder in code.added if view.in_folder(folder))
