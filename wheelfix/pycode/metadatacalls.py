"""``importlib.metadata``: what Python code asks about the distributions that are installed.

For example, netgen loads the DLLs that are listed for netgen-occt, and ngsolve those that are listed for mkl.
"""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import canonical
from wheelfix.pycode.objects import (
    UNKNOWN,
    Bound,
    CodeClass,
    InstalledPathValue,
    Instance,
    Native,
    PyValue,
    Thrown,
    Undecided,
    WindowsPathValue,
)
from wheelfix.pycode.windows import SITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.loader.view import FileView
    from wheelfix.pycode.run import PythonRun

NOT_FOUND = CodeClass("PackageNotFoundError", [Native("ModuleNotFoundError")], {})
"""What is raised for a distribution that is not installed."""
_ABOVE = "../" * (SITE_PACKAGES.count("/") + 1)


@dataclass(frozen=True, slots=True)
class _Installed:
    """A distribution of the view."""

    version: str
    paths: tuple[str, ...]

    @property
    def files(self) -> list[PyValue]:
        """Its files as RECORD names them."""
        inside = f"{SITE_PACKAGES}/"
        relative = (path.removeprefix(inside) if path.startswith(inside) else _ABOVE + path for path in self.paths)
        return [InstalledPathValue(path) for path in relative]


def _installed(run: PythonRun, args: list[PyValue]) -> _Installed:
    """The distribution that code asks about; PackageNotFoundError where it is certain that there is none."""
    if not args or not isinstance(args[0], str):
        raise Undecided("which distribution the code asks about is not known")
    name, view = canonical(args[0]), run.machine.view
    beside = view.beside
    if beside is not None and name in beside and name not in beside.absent:
        return _Installed(beside.version(name), tuple(sorted(beside.paths(name))))
    own = _own(view, name) if beside is None else None
    if own is not None:
        return own
    complete = (
        beside is not None and name not in beside.absent and (beside.complete or not run.machine.files.requires(name))
    )
    if not complete:
        raise Undecided(f"whether {name} is installed is not known")
    raise Thrown(Instance(NOT_FOUND, {"args": (args[0],), "name": args[0]}))


def _own(view: FileView, name: str) -> _Installed | None:
    """The subject itself, if it has that name."""
    for file in view.own_files:
        folder, _, member = file.path.removeprefix(f"{SITE_PACKAGES}/").partition("/")
        spelled, _, version = folder.removesuffix(".dist-info").partition("-")
        if member == "METADATA" and folder.endswith(".dist-info") and canonical(spelled) == name:
            return _Installed(version, tuple(file.path for file in view.own_files))
    return None


def _distribution(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    found = _installed(run, args)
    place = Bound(Native("importlib.metadata.Distribution.locate_file"), [])
    return Instance(
        Native("importlib.metadata.Distribution"),
        {"files": found.files, "version": found.version, "locate_file": place, "name": args[0]},
    )


def _metadata(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    _installed(run, args)
    return UNKNOWN


def _locate(run: PythonRun, args: list[PyValue], keywords: dict[str, PyValue]) -> PyValue:
    path = args[0].text if args and isinstance(args[0], WindowsPathValue) else args[0] if args else UNKNOWN
    return WindowsPathValue(ntpath.join(SITE, path.replace("/", "\\"))) if isinstance(path, str) else UNKNOWN


METADATA: dict[str, Callable[[PythonRun, list[PyValue], dict[str, PyValue]], PyValue]] = {
    "importlib.metadata.version": lambda run, args, keywords: _installed(run, args).version or UNKNOWN,
    "importlib.metadata.files": lambda run, args, keywords: _installed(run, args).files,
    "importlib.metadata.metadata": _metadata,
    "importlib.metadata.distribution": _distribution,
    "importlib.metadata.Distribution.from_name": _distribution,
    "importlib.metadata.Distribution.locate_file": _locate,
}
