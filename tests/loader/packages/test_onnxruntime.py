"""ONNX Runtime's providers: loaded after the import, from a folder that its own files tell."""

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.packageloading import ORDINARY, loading_of

CAPI = "Lib/site-packages/onnxruntime/capi/"
NEW = "package_name = 'onnxruntime-gpu'\n__version__ = '1.22.0'\ncuda_version = '12.2'\n"
OLD = 'use_cuda = True\ncuda_version = "11.8.89"\ncudnn_version = "8"\n'


def onnx_view(*providers, **files):
    dlls = {f"{CAPI}onnxruntime_providers_{name}.dll": "" for name in providers}
    texts = {f"{CAPI}{name}.py": text for name, text in files.items()}
    return make_view({"Lib/site-packages/onnxruntime/__init__.py": "", **dlls, **texts})


@named_cases(
    "files, cuda, file",
    {
        "1.22.0": ({"build_and_package_info": NEW}, "12.2", "build_and_package_info.py"),
        "1.18.1": ({"version_info": OLD}, "11.8", "version_info.py"),
    },
)
def test_the_cuda_release_is_read_from_the_package(files, cuda, file):
    loading = loading_of(onnx_view("cuda", **files))
    assert (loading.package, loading.cuda, loading.cuda_file) == ("onnxruntime", cuda, f"onnxruntime/capi/{file}")
    assert loading.any_minor
    assert loading.startup is None, "its Python code is read like that of any other package"


def test_providers_are_loaded_when_a_session_asks():
    loading = loading_of(onnx_view("cuda", "shared"))
    assert loading.cuda is None
    assert dict(loading.later) == {
        f"{CAPI}onnxruntime_providers_cuda.dll": "when a session asks for the execution provider 'cuda'",
        f"{CAPI}onnxruntime_providers_shared.dll": "when a session asks for an execution provider that has its own DLL",
    }


def test_a_package_without_providers_is_an_ordinary_one():
    assert loading_of(onnx_view(build_and_package_info=NEW)) is ORDINARY


PRELOAD = "def preload_dlls(cuda=True):\n    pass\n"


@named_cases(
    "code, metadata, clause",
    {
        "1.18.1": ("", "", "it is on PATH, or 'import torch' has loaded it before"),
        "1.31.1": (
            PRELOAD,
            "Provides-Extra: cuda\nProvides-Extra: cudnn\nProvides-Extra: symbolic\n",
            "it is on PATH, or onnxruntime.preload_dlls() has loaded it before from the wheels that "
            "'onnxruntime-gpu[cuda,cudnn]' installs",
        ),
    },
)
def test_what_makes_cuda_available(code, metadata, clause):
    loading = loading_of(
        make_view(
            {
                "Lib/site-packages/onnxruntime/__init__.py": code,
                f"{CAPI}onnxruntime_providers_cuda.dll": "",
                f"{CAPI}build_and_package_info.py": NEW,
                "Lib/site-packages/onnxruntime_gpu-1.31.1.dist-info/METADATA": metadata,
            }
        )
    )
    assert loading.unless == clause
