"""Intel's extension for PyTorch: torch first, then every DLL of its own folder."""

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.packageloading import ORDINARY, loading_of
from wheelfix.loader.predict import predict
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import MayComeFrom, Missing, OwnedBy

SITE = "Lib/site-packages/"
BIN = f"{SITE}intel_extension_for_pytorch/bin/"
CODE = """
import torch, os, glob, ctypes
th_dll_path = os.path.join(os.path.dirname(__file__), "bin")
kernel32 = ctypes.WinDLL("kernel32.dll")
for dll in glob.glob(os.path.join(th_dll_path, "*.dll")):
    kernel32.LoadLibraryExW(dll, None, 0x00001100)
"""


def files(without=(), code=CODE):
    found = {
        f"{SITE}intel_extension_for_pytorch/__init__.py": code,
        f"{SITE}intel_extension_for_pytorch/_version.py": '__version__ = "2.8.10+xpu"\n',
        f"{BIN}esimd_kernels.dll": "imports c10.dll, sycl8.dll",
        f"{BIN}intel-ext-pt-gpu.dll": "imports esimd_kernels.dll, torch_cpu.dll",
        f"{SITE}torch/__init__.py": "import os\n",
        f"{SITE}torch/lib/c10.dll": "",
        f"{SITE}torch/lib/torch_cpu.dll": "imports c10.dll",
        "Library/bin/sycl8.dll": "",
    }
    return {path: data for path, data in found.items() if path not in without}


def line(*without):
    view = make_view(files(without))
    prediction = predict(view, resolve(view, Profile(python=(3, 11))))
    return prediction and (prediction.message.partition('"')[2].partition('"')[0], prediction.chain[-1])


def test_everything_is_found():
    assert line() is None
    loading = loading_of(make_view(files([f"{SITE}torch/__init__.py"])))
    assert (loading.package, loading.version) == ("intel_extension_for_pytorch", "2.8.10+xpu")


@named_cases(
    "removed, named, blamed",
    {
        "its own": (
            f"{BIN}esimd_kernels.dll",
            r"…\intel_extension_for_pytorch\bin\intel-ext-pt-gpu.dll",
            "esimd_kernels.dll",
        ),
        "of the compiler's runtime": (
            "Library/bin/sycl8.dll",
            r"…\intel_extension_for_pytorch\bin\esimd_kernels.dll",
            "sycl8.dll",
        ),
        "of torch, whose import fails first": (f"{SITE}torch/lib/c10.dll", r"…\torch\lib\torch_cpu.dll", "c10.dll"),
    },
)
def test_a_missing_dll_is_reported_as_the_loop_does(removed, named, blamed):
    # As recorded under Wine with the package's own code: tests/oracle/packagerecords.json.
    assert line(removed) == (named, blamed)


def test_torch_is_imported_first_but_not_required():
    torch = [path for path in files() if "/torch/" in path]
    found = resolve(make_view(files(torch)), Profile(python=(3, 11)))
    providers = {edge.name: edge.provider for edge in found.edges}
    why = "the package's code imports torch, which is not required"
    assert providers["c10.dll"] == MayComeFrom("c10.dll", ("torch",), why)
    assert isinstance(providers["torch_cpu.dll"], MayComeFrom)
    found = resolve(make_view(files(torch)), Profile(python=(3, 11)), ("torch",))
    assert all(isinstance(edge.provider, OwnedBy) for edge in found.edges if edge.name in ("c10.dll", "torch_cpu.dll"))
    assert not [name for name, provider in providers.items() if isinstance(provider, Missing)]


def test_a_build_without_the_loop_is_an_ordinary_package():
    assert loading_of(make_view(files([f"{SITE}torch/__init__.py"], code="import torch\n"))) is ORDINARY
