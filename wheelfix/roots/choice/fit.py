"""Which CUDA release a candidate belongs to, and how well that fits what a wheel wants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.cuda import release_of_local_version
from wheelfix.model import fold
from wheelfix.roots import tree

if TYPE_CHECKING:
    from wheelfix.roots.choice.outcome import Facts
    from wheelfix.roots.index import RootFile

# Packages that are numbered like the toolkit itself; cuBLAS, cuFFT, cuDNN and the like count their own way.
_LIKE_TOOLKIT = re.compile(
    r"(nvidia-)?(cuda-(runtime|cudart|nvrtc|cupti|nvtx|nvcc|nvvm\w*|sanitizer\w*)|nvjitlink|libnvjitlink|nvtx|nvfatbin"
    r"|libnvfatbin|cudatoolkit|cuda-toolkit|cuda-version)(-cu\d+|-dev)?"
)


def cuda_of_package(package: str, version: str) -> str:
    """Return the CUDA release that a package is made for: ``11.7``, ``11`` when only that is known, or nothing."""
    name = fold(package).replace("_", "-").replace(".", "-")
    parts = tree.numbers(version)
    if _LIKE_TOOLKIT.fullmatch(name) and len(parts) >= 2 and parts[0] >= 9:
        return f"{parts[0]}.{parts[1]}"
    if found := re.search(r"-(?:cu|cuda)(\d\d)\d?x?$", name):
        return found[1]
    # torch and what is built for it carry the release in the local version: ``2.0.1+cu117``.
    local = release_of_local_version(version)
    return f"{local[0]}.{local[1]}" if local is not None else ""


def cuda_of(file: RootFile) -> str:
    """Return the CUDA release that a candidate belongs to, as far as its folder or package tells."""
    return file.folder.cuda or cuda_of_package(file.package, file.version_hint)


def cuda_fit(told: str, wanted: str) -> int:
    """Return how well a release fits the wanted one: 3 the same, 2 the same major, 1 not known, 0 another major."""
    if not wanted or not told:
        return 1
    has, wants = tree.numbers(told), tree.numbers(wanted)
    if not has or not wants:
        return 1
    if has[0] != wants[0]:
        return 0
    return 3 if len(has) > 1 and len(wants) > 1 and has[1] == wants[1] else 2


def release_fit(file: RootFile, wanted: str, facts: Facts) -> int:
    """Return how well a candidate's release fits the wanted one, in the same four steps."""
    wants = tree.numbers(wanted)[:2]
    hint = tree.numbers(file.version_hint)
    fit = _release_fit(hint, wants)
    if fit == 3 or not wants:
        return fit
    found = facts.version(file)
    return max(fit, _release_fit(found.file, wants)) if found is not None and any(found.file) else fit


def _release_fit(has: tuple[int, ...], wants: tuple[int, ...]) -> int:
    if not has or not wants:
        return 1
    if has[0] != wants[0]:
        return 0
    return 3 if has[: len(wants)] == wants else 2
