"""What CTranslate2 loads after the import: cuBLAS, by name, when a model is put on a GPU.

``ctranslate2/__init__.py`` loads every DLL of its folder (4.8.4, lines 13 to 29; read like any other code), so that a
DLL which lies there is in the process. ``ctranslate2.dll`` loads ``cublas64_<major>.dll`` by its bare name with
LoadLibrary, and raises "Library cublas64_12.dll is not found or cannot be loaded" without it (OpenNMT/CTranslate2,
src/cuda/cublas_stub.cc; both texts are inside the DLLs of 3.24.0, 4.4.0 and 4.8.4). The CUDA major is in METADATA, as a
classifier. METADATA of 4.0.0 still names CUDA 11, but its DLL loads ``cublas64_12.dll``: for a release from 4 on that
names an older CUDA than 12 the DLL itself is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.loader.packageloading import NamedLoad, PackageLoading, metadata_of
from wheelfix.loader.view import SITE_PACKAGES

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

_FOLDER = f"{SITE_PACKAGES}/ctranslate2"
_MAJOR = re.compile(r"^Classifier: Environment :: GPU :: NVIDIA CUDA :: ([0-9]{1,3})\b", re.MULTILINE)
_RELEASE = re.compile(r"^Version: ([0-9]{1,4})\.", re.MULTILINE)
_LIBRARY = re.compile(rb"\bcublas64_([0-9]{1,3})\.dll")


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the ctranslate2 package in a view loads; None for one that does not name one CUDA."""
    library = view.find(_FOLDER, "ctranslate2.dll")
    metadata = metadata_of(view, "ctranslate2")
    majors = sorted(set(_MAJOR.findall(metadata)), key=int)
    release = _RELEASE.search(metadata)
    if library is not None and release and (whole_number(release[1]) or 0) >= 4 and {*majors} & {"10", "11"}:
        majors = _named_inside(view, library)
    if library is None or len(majors) != 1:
        return None
    name = f"cublas64_{majors[0]}.dll"
    return PackageLoading(
        package="ctranslate2",
        named=(
            NamedLoad(
                library,
                name,
                f'using a GPU ends with "Library {name} is not found or cannot be loaded"; the processor works',
                "OpenNMT/CTranslate2 src/cuda/cublas_stub.cc; texts inside ctranslate2.dll of 3.24.0, 4.4.0, 4.8.4",
            ),
        ),
        works_on_cpu=True,
    )


def _named_inside(view: FileView, library: str) -> list[str]:
    """The CUDA majors of the cuBLAS that a DLL names in its data."""
    data = view.source(library).read_at(0, view.file(library).size)
    return sorted({match.decode() for match in _LIBRARY.findall(data)}, key=int)
