"""What ``import torch`` does on Windows: the folders it adds, the DLLs it loads, the error it raises.

torch's ``__init__.py`` adds folders with ``os.add_dll_directory``, then loads *every* DLL of ``torch/lib`` in the
order in which the file system lists them with ``LoadLibraryExW(…, 0x1100)``, and tries ``LoadLibraryW`` once more with
those folders on PATH when the answer is 126. The folders differ between releases; what a wheel does is read from its
own ``__init__.py``, never guessed from its version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.packageloading import PackageLoading, Startup
from wheelfix.loader.profile import Profile
from wheelfix.loader.rocmpreload import rocm_preloads
from wheelfix.loader.view import BASE, SITE_PACKAGES, USER
from wheelfix.model import LoadEvent
from wheelfix.pycode.budget import budget_of
from wheelfix.pycode.windows import ViewFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView

_FOLDER = f"{SITE_PACKAGES}/torch"
_INIT = f"{_FOLDER}/__init__.py"
_LIB = f"{_FOLDER}/lib"

_VERSION = re.compile(r"^__version__\s*(?::[^=\n]*)?=\s*['\"]([^'\"\n]{1,100})['\"]", re.MULTILINE)
_CUDA = re.compile(r"^cuda\s*(?::[^=\n]*)?=\s*['\"]([0-9]{1,4}(?:\.[0-9]{1,4})*)['\"]", re.MULTILINE)
_PREFIX_BIN = re.compile(r"exec_prefix,\s*['\"]bin['\"]")


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the torch package in a view does; None when there is no DLL in ``torch/lib``."""
    dlls = [path for path in view.in_folder(_LIB) if path.lower().endswith(".dll")]  # as NTFS lists them
    text = view.read_text(_INIT) if dlls else None
    if text is None:
        return None
    version_text = view.read_text(f"{_FOLDER}/version.py") or ""
    version, cuda = _VERSION.search(version_text), _CUDA.search(version_text)
    return PackageLoading(
        package="torch",
        version=version[1] if version else "",
        cuda=cuda[1] if cuda else None,
        cuda_file="torch/version.py",
        startup=Startup(
            lib=_LIB,
            folders=(_LIB, *_other_folders(text, view)),
            # The last of them not on ARM64 in newer releases.
            names=tuple(name for name in _C_RUNTIME if name != _C_RUNTIME[-1] or name in text),
            events=(*rocm_preloads(view), *(LoadEvent(path, "torch-glob") for path in dlls)),
            error='OSError: [WinError {code}] {text} Error loading "{path}" or one of its dependencies.',
            retries_on_path=True,
            toolkit_unless="cudart64*.dll",
            test_programs=r"\A(?:test_\w+|\w+_test|\w+_benchmark)\.exe",
        ),
        version_variable="PYTORCH_BUILD_VERSION",
        without_gpu_code=(
            "PyPI's torch for Windows is a CPU build; the builds for CUDA are on https://download.pytorch.org/whl"
        ),
    )


_C_RUNTIME = ("vcruntime140.dll", "msvcp140.dll", "vcruntime140_1.dll")


def _other_folders(text: str, view: FileView) -> Iterator[str]:
    """The folders besides its own that torch's code adds, from the text of its ``__init__.py``."""
    yield from ("Library/bin", f"{BASE}/Library/bin")
    if "userbase" in text:
        yield f"{USER}/Library/bin"
    if _PREFIX_BIN.search(text):
        yield "bin"
    if "delvewheel" in text:  # its patch adds torch.libs
        from wheelfix.pycode.reading import read_path_code

        yield from read_path_code(text, _INIT, budget_of(view), ViewFiles(view, Profile(), blind=True)).added
