"""Real wheels from PyPI as roots, and as the trees that toolkits make of them."""

import pytest

from tests.support.tiers import wheel
from wheelfix.roots.choice import DllRequest, Needer, choose, family_files
from wheelfix.roots.gather import named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.release import cuda_release_of

pytestmark = pytest.mark.real

HOST = Host()
CUPTI = "nvidia_cuda_cupti_cu11-11.7.101-py3-none-win_amd64.whl"
RUNTIME = "nvidia_cuda_runtime_cu11-11.7.99-py3-none-win_amd64.whl"
CUDNN8 = "nvidia_cudnn_cu11-8.9.4.25-py3-none-win_amd64.whl"
MKL23 = "mkl-2023.2.0-py2.py3-none-win_amd64.whl"
MKL25 = "mkl-2025.3.0-py2.py3-none-win_amd64.whl"
OPENMP = "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl"


def test_cupti_straight_out_of_its_wheel():
    root = named_root(wheel(CUPTI), HOST)
    needer = Needer("torch/lib/torch_cpu.dll", ("cuptiActivityEnable", "cuptiGetVersion"))
    with RootIndex([root]) as index:
        outcome = choose(
            DllRequest("cupti64_2022.2.1.dll", needers=(needer,), cuda="11.7"),
            index,
        )
        assert cuda_release_of(outcome.winner, index) == "11.7"
        assert outcome.winner.origin == "wheel nvidia-cuda-cupti-cu11 11.7.101"
        packed = index.packed(outcome.winner)
        assert packed[0].data_span(packed[1])[1] == packed[1].csize


def test_the_32_bit_runtime_in_the_64_bit_wheel_is_not_taken():
    with RootIndex([named_root(wheel(RUNTIME), HOST)]) as index:
        outcome = choose(DllRequest("cudart32_110.dll"), index)
        assert outcome.winner is None
        assert "for x86, not for amd64" in outcome.reason
        assert choose(DllRequest("cudart64_110.dll", cuda="11.7"), index).winner


def test_all_of_cudnn_comes_from_one_folder():
    with RootIndex([named_root(wheel(CUDNN8), HOST)]) as index:
        (head,) = index.candidates("cudnn64_8.dll")
        assert [file.name for file in family_files(index, head)] == [
            f"cudnn_{part}_{use}64_8.dll" for part in ("adv", "cnn", "ops") for use in ("infer", "train")
        ]


def test_mkl_newest_unless_the_wheel_wants_another_release():
    roots = [named_root(wheel(name), HOST) for name in (MKL23, MKL25)]
    with RootIndex(roots) as index:
        newest = choose(DllRequest("mkl_def.2.dll"), index)
        fitting = choose(DllRequest("mkl_def.2.dll", release="2023.2"), index)
        assert (newest.winner.version_hint, fitting.winner.version_hint) == ("2025.3.0", "2023.2.0")


def test_openmp_is_compared_by_its_own_version_not_by_that_of_its_package():
    """torch 2.7.1 is a smaller number than intel-openmp 2023.2.0, yet its libiomp5md.dll is two years younger."""
    torch = wheel("torch-2.7.1-cp311-cp311-win_amd64.whl")
    with RootIndex([named_root(wheel(OPENMP), HOST), named_root(torch, HOST)]) as index:
        outcome = choose(DllRequest("libiomp5md.dll", needers=(Needer("x.dll", ("omp_get_num_threads",)),)), index)
        assert outcome.winner.root.path == torch
        assert outcome.reason == "the newest, version 5.0.2025.108"


def test_the_wheel_laid_out_as_a_toolkit(tmp_path):
    """The same bytes once from a tree that looks like CUDA 11.7 and once from the wheel are no conflict."""
    source = named_root(wheel(CUPTI), HOST)
    target = tmp_path / "v11.7" / "extras" / "CUPTI" / "lib64"
    target.mkdir(parents=True)
    (tmp_path / "v11.7" / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "11.7.1"}}')
    with RootIndex([source]) as index:
        for file in index.files():
            (target / file.name).write_bytes(b"".join(index.chunks(file)))
    toolkit = named_root(tmp_path / "v11.7", HOST, kind="cuda", option="--cuda")
    with RootIndex([toolkit, source]) as index:
        outcome = choose(DllRequest("cupti64_2022.2.1.dll", cuda="11.7"), index)
        assert outcome.winner.root.kind == "cuda"
        assert [entry.verdict for entry in outcome.considered] == ["chosen", "identical"]
