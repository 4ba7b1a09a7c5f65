"""NvToolsExt, the tracing library that CUDA up to 12.8 installs in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.roots import tree
from wheelfix.roots.root import Kind, Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.roots.host import Host

KIND: Kind = "nvtoolsext"
EXPECTED = "NvToolsExt: a folder with nvToolsExt64_*.dll in bin\\x64"

DEFAULT = "NVIDIA Corporation/NvToolsExt"


def places(host: Host) -> Iterator[Place]:
    """Yield the folder that torch's own loader asks for: the variable, then the default."""
    if value := host.variable("NVTOOLSEXT_PATH"):
        yield Place(Path(value), "environment variable NVTOOLSEXT_PATH")
    for program_files in host.program_files:
        if (folder := tree.locate_folder(program_files, DEFAULT)) is not None:
            yield Place(folder, "default path", promised=False)


def recognise(folder: Path) -> Root | None:
    """Return the NvToolsExt that a folder is, or None."""
    found = tree.locate_folder(folder, "bin/x64")
    if found is None or not tree.dll_names(found, r"nvtoolsext64_\d+\.dll"):
        return None
    return Root(KIND, folder, folders=(RootFolder(tree.relative(found, folder)),))
