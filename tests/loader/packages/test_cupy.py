"""CuPy: its code finds CUDA on the machine, and the report says where."""

import pytest

from tests.support.views import make_view
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix import scan
from wheelfix.loader.profile import Profile
from wheelfix.pycode.importer import import_end

INIT = """
from cupy import _environment
_environment._setup_win32_dll_directory()
from cupy import _core
"""
ENVIRONMENT = """
import os, shutil, sys


def get_cuda_path():
    nvcc = shutil.which("nvcc")
    return os.environ.get("CUDA_PATH") or (nvcc and os.path.dirname(os.path.dirname(nvcc)))


def _setup_win32_dll_directory():
    cuda_path = get_cuda_path()
    if cuda_path is not None:
        os.add_dll_directory(os.path.join(cuda_path, "bin"))
"""


@pytest.mark.parametrize(
    "name, extra, clause",
    [
        ("cupy-cuda110", [], "unless the CUDA 11.0 toolkit that CUDA_PATH names has it"),
        ("cupy-cuda11x", [], "unless the CUDA 11 toolkit that CUDA_PATH names has it"),
        (
            "cupy-cuda12x",
            ["Provides-Extra: ctk"],
            "unless the CUDA 12 toolkit that CUDA_PATH names has it, "
            "or 'pip install cupy-cuda12x[ctk]' has installed it",
        ),
    ],
)
def test_where_cuda_comes_from(name, extra, clause, tmp_path):
    files = {
        "cupy/__init__.py": INIT,
        "cupy/_environment.py": ENVIRONMENT,
        "cupy/_core.cp311-win_amd64.pyd": f"imports cublas64_{name[9:11]}.dll",
    }
    report = scan(build_wheel(tmp_path, name, "14.2.0", files=files, extra_metadata=extra))
    reported = {finding.subject: finding for finding in report.findings if finding.code == "WF301"}
    assert report.verdict == "unsure"
    assert reported[f"cublas64_{name[9:11]}.dll"].message.endswith(clause)


LIBS = """
import importlib, os
from cupy_backends.cuda.api import runtime


def __getattr__(name):
    if not runtime.is_hip:
        os.add_dll_directory(os.path.join(os.path.dirname(os.path.abspath(__file__)), "gone"))
    return importlib.import_module(f"cupy_backends.cuda.libs.{name}")
"""


def test_a_build_for_cuda_asks_for_its_libraries():
    """``is_hip`` of a compiled module decides it, which no Python code shows."""
    site = "Lib/site-packages/"
    compiled = {name: forge_dll(f"{name}.pyd", exports=[f"PyInit_{name}"]) for name in ("runtime", "cublas")}
    files = {
        "cupy/__init__.py": "from cupy_backends.cuda.libs import cublas\n",
        "cupy/_environment.py": ENVIRONMENT,
        "cupy_backends/cuda/libs/__init__.py": LIBS,
        "cupy_backends/cuda/libs/cublas.pyd": compiled["cublas"],
        "cupy_backends/cuda/api/runtime.pyd": compiled["runtime"],
        "cupy_cuda12x-14.2.0.dist-info/METADATA": "Name: cupy-cuda12x\nVersion: 14.2.0\n",
    }
    view = make_view({site + path: content for path, content in files.items()})
    end = import_end(view, Profile(python=(3, 11)), "cupy", complete=True)
    assert (end.decided, end.error) == (True, "FileNotFoundError"), end.reason
