"""TensorFlow: its builds for CUDA say for which; the names follow from that."""

from tests.support.wheels import build_wheel
from wheelfix import scan

CUDA = (
    "('cuda_version', '64_112'), ('cudart_dll_name', 'cudart64_112.dll'), ('cudnn_dll_name', 'cudnn64_8.dll'), "
    "('is_cuda_build', True)"
)
PLAIN = "('is_cuda_build', False), ('msvcp_dll_names', 'msvcp140.dll,msvcp140_1.dll')"


def report_of(tmp_path, build):
    files = {
        "tensorflow/__init__.py": "from tensorflow.python import _pywrap_tensorflow_internal\n",
        "tensorflow/python/__init__.py": "",
        "tensorflow/python/platform/build_info.py": f"build_info = dict([{build}])\n",
        "tensorflow/python/_pywrap_tensorflow_internal.pyd": "imports KERNEL32.dll:Sleep",
    }
    return scan(build_wheel(tmp_path, "tensorflow-gpu", "2.10.1", files=files))


def test_a_build_for_cuda_loads_the_names_of_its_release(tmp_path):
    report = report_of(tmp_path, CUDA)
    own = {item.name: item for item in report.missing if item.needed_by[0].endswith("internal.pyd")}
    assert report.verdict == "risky", "it works on the processor"
    assert sorted(own, key=str.lower) == [
        *("cublas64_11.dll", "cublasLt64_11.dll", "cudart64_110.dll", "cudnn64_8.dll", "cufft64_10.dll"),
        *("curand64_10.dll", "cusolver64_11.dll", "cusparse64_11.dll"),
    ]
    assert "PyPI: nvidia-cuda-runtime-cu11" in own["cudart64_110.dll"].providers
    assert any(item.startswith("PyPI: nvidia-cudnn-cu11") for item in own["cudnn64_8.dll"].providers)


def test_a_build_for_the_processor_needs_none(tmp_path):
    report = report_of(tmp_path, PLAIN)
    assert (report.verdict, report.missing) == ("ok", ())
