"""What TensorFlow's builds for CUDA load by name when they look for GPUs, and which builds are not for CUDA.

``tensorflow/python/platform/build_info.py`` says whether a build is for CUDA, for which release (``64_112`` is 11.2)
and which cuDNN (tensorflow-gpu 2.10.1, line 17; tensorflow-intel 2.15.1: not for CUDA). The DLLs are loaded by name
from PATH when devices are listed; without one TensorFlow writes "Could not load dynamic library" and goes on with the
processor (tensorflow/tensorflow, tensorflow/stream_executor/platform/default/dso_loader.cc and
tensorflow/core/common_runtime/gpu/gpu_device.cc of 2.10; both texts are inside the extension module of 2.10.1).
The check of the Visual C++ runtime in ``self_check.py`` is read like any other code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.cuda import expected_name
from wheelfix.loader.packageloading import NamedLoad, PackageLoading
from wheelfix.loader.view import SITE_PACKAGES

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

_PYTHON = f"{SITE_PACKAGES}/tensorflow/python"
_BUILD = f"{_PYTHON}/platform/build_info.py"
_CUDA = re.compile(r"'cuda_version', '(?:64_)?([0-9]{2})\.?([0-9])[0-9.]{0,6}'")
_CUDNN = re.compile(r"'cudnn_dll_name', '(cudnn64_[0-9]{1,2}\.dll)'")
_LIBRARIES = ("cudart", "cublas", "cublasLt", "cufft", "curand", "cusolver", "cusparse")
_SOURCE = "tensorflow/tensorflow tensorflow/stream_executor/platform/default/dso_loader.cc; build_info.py of 2.10.1"


def recognise(view: FileView) -> PackageLoading | None:
    """Return what the tensorflow package in a view loads; None for one that does not say how it was built."""
    text = view.read_text(_BUILD) or ""
    if "is_cuda_build" not in text:
        return None
    found, module = _CUDA.search(text), view.find(_PYTHON, "_pywrap_tensorflow_internal.pyd")
    if "'is_cuda_build', True" not in text or found is None or module is None:
        return PackageLoading(
            package="tensorflow",
            without_gpu_code=(
                "TensorFlow 2.10 is the last release with builds for CUDA on Windows; later ones use GPUs within WSL2 "
                "(https://www.tensorflow.org/install/pip#windows-native)"
            ),
        )
    cuda = f"{found[1]}.{found[2]}"
    cudnn = _CUDNN.search(text)
    names = [name for library in _LIBRARIES if (name := expected_name(library, cuda))]
    return PackageLoading(
        package="tensorflow",
        cuda=cuda,
        cuda_file="tensorflow/python/platform/build_info.py",
        any_minor=True,
        named=tuple(
            NamedLoad(module, name, _without(name), _SOURCE) for name in [*names, *(cudnn.groups() if cudnn else ())]
        ),
        works_on_cpu=True,
    )


def _without(name: str) -> str:
    return f"TensorFlow writes \"Could not load dynamic library '{name}'\" and uses the processor only"
