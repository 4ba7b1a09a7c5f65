"""What ``import intel_extension_for_pytorch`` (IPEX) does on Windows: torch's loop once more, over its own folder.

Its ``__init__.py`` imports torch, adds its folder ``bin`` and ``Library/bin`` with ``os.add_dll_directory``, then loads
every DLL of ``bin`` with ``LoadLibraryExW(…, 0x1100)``, and tries ``LoadLibraryW`` once more with those folders on PATH
when the answer is 126 (intel/intel-extension-for-pytorch, v2.8.10+xpu, lines 49 to 120; v2.1.40+xpu, lines 23 to 92).
The DLLs of torch are in the process by then. Builds for the processor alone, v2.8.0+cpu among them, have no such loop:
their code is read like that of any other package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.packageloading import PackageLoading, Startup
from wheelfix.loader.view import BASE, SITE_PACKAGES
from wheelfix.model import LoadEvent

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

_FOLDER = f"{SITE_PACKAGES}/intel_extension_for_pytorch"
_BIN = f"{_FOLDER}/bin"
_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"\n]{1,100})['\"]", re.MULTILINE)
_LOOP = ("LoadLibraryExW(dll", 'os.path.dirname(__file__), "bin")')
"""What the code with the loop has."""


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the package in a view does; None where its code does not have the loop, or finds no DLLs."""
    text = view.read_text(f"{_FOLDER}/__init__.py") or ""
    dlls = [path for path in view.in_folder(_BIN) if path.lower().endswith(".dll")]  # as NTFS lists them
    if not dlls or not all(words in text for words in _LOOP):
        return None
    version = _VERSION.search(view.read_text(f"{_FOLDER}/_version.py") or "")
    return PackageLoading(
        package="intel_extension_for_pytorch",
        version=version[1] if version else "",
        startup=Startup(
            lib=_BIN,
            folders=(_BIN, "Library/bin", f"{BASE}/Library/bin"),
            names=("vcruntime140.dll", "msvcp140.dll", "vcruntime140_1.dll"),
            events=tuple(LoadEvent(path, "intel_extension_for_pytorch-glob") for path in dlls),
            after=("torch",),
        ),
    )
