"""Where CuPy finds CUDA: in the toolkit of the machine, which its code looks for, and from 14 on in NVIDIA's wheels.

``cupy/_environment.py`` adds the folder ``bin`` of the toolkit that CUDA_PATH or ``nvcc`` names, and not those of
NVIDIA's wheels (``_get_cuda_path`` and ``_setup_win32_dll_directory``, in 11.6.0 and 13.6.0). From 14 on it asks
cuda-pathfinder, which knows the wheels that the extra ``ctk`` installs (14.2.0, lines 142 and 268;
``cupy_backends/cuda/libs/__init__.py``, line 34; METADATA). Which folder that is depends on the machine, so that its
code alone does not answer it. It asks only if ``is_hip`` of a compiled module is false, which it is in builds for CUDA
(cupy/cupy, ``cupy_backends/cuda/api/runtime.pyx``: ``is_hip = hip_environment``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.packageloading import PackageLoading, metadata_of
from wheelfix.loader.view import SITE_PACKAGES

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

_CODE = f"{SITE_PACKAGES}/cupy/_environment.py"
_VALUES = (("cupy_backends.cuda.api.runtime", "is_hip", False),)
_NAME = re.compile(r"^Name: (cupy[a-z0-9-]{0,40})[ \t\r]{0,9}$", re.MULTILINE)
_RELEASE = re.compile(r"cupy-cuda(\d\d?)(x|\d)")
"""Up to CuPy 12 each release of CUDA had a distribution: ``cupy-cuda110`` is for CUDA 11.0."""


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the cupy package in a view does; None for one that is not for CUDA, or searches in another way."""
    if "_setup_win32_dll_directory" not in (view.read_text(_CODE) or ""):
        return None
    metadata = metadata_of(view, _RELEASE.pattern)
    name = _NAME.search(metadata)
    release = _RELEASE.fullmatch(name[1]) if name else None
    if name is None or release is None:
        return None
    cuda = release[1] if release[2] == "x" else f"{release[1]}.{release[2]}"
    toolkit = f"the CUDA {cuda} toolkit that CUDA_PATH names has it"
    wheels = f", or 'pip install {name[1]}[ctk]' has installed it" if "Provides-Extra: ctk" in metadata else ""
    return PackageLoading(package="cupy", unless=toolkit + wheels, values=_VALUES)
