"""What ONNX Runtime loads after the import: one DLL for each execution provider, when a session asks for it.

``onnxruntime_pybind11_state.pyd`` names them, and loads them from its own folder; the import succeeds without them.
The CUDA release is in ``build_and_package_info.py``, before 1.19 in ``version_info.py``; ONNX Runtime's documentation
says that a build for CUDA 12.x runs with any other 12.x
(https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements).

The import adds no folder for CUDA. From 1.21 on ``onnxruntime.preload_dlls()`` loads the DLLs of NVIDIA's wheels, or of
a torch for the same CUDA major, and the extras ``cuda`` and ``cudnn`` install those wheels
(``onnxruntime/__init__.py`` of 1.22.0, lines 121 and 241; of 1.30.0, lines 202 and 368; METADATA of both).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.packageloading import PackageLoading, metadata_of
from wheelfix.loader.view import SITE_PACKAGES, base_name

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

_CAPI = f"{SITE_PACKAGES}/onnxruntime/capi"
_FILES = ("build_and_package_info.py", "version_info.py")
_CUDA = re.compile(r"^cuda_version\s*=\s*['\"]([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]{1,9})*['\"]", re.MULTILINE)
_EXTRA = re.compile(r"^Provides-Extra: ([A-Za-z0-9._-]{1,60})[ \t\r]{0,9}$", re.MULTILINE)
_PROVIDER = re.compile(r"onnxruntime_providers_(?P<name>\w+)\.dll")


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the onnxruntime package in a view does; None when it has no providers of its own."""
    names = {path: _PROVIDER.fullmatch(base_name(path).lower()) for path in view.in_folder(_CAPI)}
    providers = {path: match["name"] for path, match in names.items() if match}
    if not providers:
        return None
    found = ((name, _CUDA.search(view.read_text(f"{_CAPI}/{name}") or "")) for name in _FILES)
    file, cuda = next(((name, match[1]) for name, match in found if match), ("", None))
    return PackageLoading(
        package="onnxruntime",
        cuda=cuda,
        cuda_file=f"onnxruntime/capi/{file}" if file else "",
        any_minor=True,
        later=tuple((path, _when(name)) for path, name in providers.items()),
        unless=_unless(view) if cuda else "",
    )


def _unless(view: FileView) -> str:
    """What can have loaded CUDA's DLLs by then, as the package's code has it."""
    code = view.read_text(f"{SITE_PACKAGES}/onnxruntime/__init__.py") or ""
    if "def preload_dlls(" not in code:
        return "it is on PATH, or 'import torch' has loaded it before"
    extras = [extra for extra in _EXTRA.findall(metadata_of(view, "onnxruntime(-gpu)?")) if extra in ("cuda", "cudnn")]
    installed = f" from the wheels that 'onnxruntime-gpu[{','.join(extras)}]' installs" if extras else ""
    return f"it is on PATH, or onnxruntime.preload_dlls() has loaded it before{installed}"


def _when(provider: str) -> str:
    which = (
        "an execution provider that has its own DLL" if provider == "shared" else f"the execution provider {provider!r}"
    )
    return f"when a session asks for {which}"
