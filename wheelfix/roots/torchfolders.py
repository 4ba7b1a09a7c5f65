"""The folders of this machine that torch's own code adds to the search: CUDA's ``bin`` and NvToolsExt.

torch asks for ``CUDA_PATH_V11_7`` or the default folder of exactly its release, and for ``NVTOOLSEXT_PATH`` or the
default folder of NVTX; no other variable counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.loader.profile import InstalledFolder
from wheelfix.model import dll_key
from wheelfix.roots import tree
from wheelfix.roots.vendors import cuda, nvtoolsext

if TYPE_CHECKING:
    from wheelfix.roots.host import Host


def searched_toolkit(release: str, host: Host) -> InstalledFolder | None:
    """Return the toolkit's ``bin`` that a torch built for a release will search; None when it is not there."""
    variable = "CUDA_PATH_V" + release.replace(".", "_")
    if value := host.variable(variable):
        return _listed(Path(value), "bin", f"{variable}={value}")
    for program_files in host.program_files:
        if (folder := tree.locate_folder(program_files, f"{cuda.DEFAULT}/v{release}")) is not None:
            return _listed(folder, "bin", str(folder))
    return None


def known_toolkit(release: str, host: Host) -> InstalledFolder | None:
    """Return the ``bin`` of a toolkit of that release, wherever it is installed on this machine."""
    found = searched_toolkit(release, host)
    for place in cuda.places(host) if found is None else ():
        root = cuda.recognise(place.path) if place.path.is_absolute() and tree.is_folder(place.path) else None
        if root is not None and root.version.split(".")[:2] == release.split("."):
            return _listed(root.path, "bin", str(root.path))
    return found


def searched_nvtx(host: Host) -> InstalledFolder | None:
    """Return NVTX's folder that torch will search; None when it is not there."""
    if value := host.variable("NVTOOLSEXT_PATH"):
        return _listed(Path(value), "bin/x64", f"NVTOOLSEXT_PATH={value}")
    for program_files in host.program_files:
        if (folder := tree.locate_folder(program_files, nvtoolsext.DEFAULT)) is not None:
            return _listed(folder, "bin/x64", str(folder))
    return None


def _listed(folder: Path, below: str, label: str) -> InstalledFolder | None:
    found = tree.locate_folder(folder, below)
    return InstalledFolder(label, frozenset(map(dll_key, tree.dll_names(found)))) if found is not None else None
