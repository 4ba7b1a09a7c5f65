"""Wheels and DLLs from the real package index, in parts."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracle.torchcode import loading_code
from tests.real import builder
from tests.real.builder import Machinery
from tests.real.commands import repair, scan
from tests.real.vendors import Unpacked
from tests.support import tiers
from tests.support.tables import named_cases
from tests.support.tiers import wheel
from tests.support.wheels import ALONE
from tools import example
from tools.example import kepler_cu117, write_wheel
from wheelfix.base.options import RemoteOptions
from wheelfix.model import Image
from wheelfix.remote.client import Client

pytestmark = pytest.mark.real

CUPTI = "cupti64_2022.2.1.dll"


def test_a_scan_of_the_index_is_that_of_the_file(tmp_path, run):
    file = wheel("nvidia_cuda_runtime_cu11-11.7.99-py3-none-win_amd64.whl")
    found = []
    for word in ("nvidia-cuda-runtime-cu11==11.7.99", str(file)):
        (report,) = run("scan", word, "--format", "json", "--no-discover", "--cache-dir", tmp_path, code=None).document[
            "wheels"
        ]
        found.append({**report, "path": ""})
    assert found[0] == found[1]


def test_the_directory_of_a_large_wheel_takes_few_bytes(tmp_path):
    from wheelfix.archive.reader import Archive
    from wheelfix.pe.image import read_image

    with Client(RemoteOptions(cache_dir=tmp_path)) as client:
        with Archive.open(client.find("nvidia-cudnn-cu12==9.1.0.70")) as archive:
            member = archive.find("nvidia/cudnn/bin/cudnn64_9.dll")
            assert member is not None
            assert isinstance(read_image(archive.source(member)), Image)
        assert client.transport.received < 1_500_000
        assert archive.size > 600_000_000


@pytest.mark.parametrize("word", ["nvidia-cuda-runtime-cu12==12.9.79", "nvidia-nvjpeg2k-cu12==0.11.0.51"])
def test_a_scan_of_a_small_cuda_wheel_reads_a_fifth_of_it(tmp_path, word):
    """`python -m tools.compare_remote_scans --nvidia` measures all of NVIDIA's libraries."""
    from wheelfix.exam.scan import scan_all

    with Client(RemoteOptions(cache_dir=tmp_path)) as client:
        wheel = client.find(word)
        list(scan_all([wheel], ALONE))
        assert not isinstance(wheel, Path)
        assert 0 < wheel.fetched <= 0.2 * wheel.size


def test_a_torch_like_wheel_is_repaired_from_the_index_alone(tmp_path, run):
    """CUPTI by the table of hashes, OpenMP by table or signature; what is fetched is little more than the members."""
    story = kepler_cu117()
    own = example._common(
        {"libiomp5md.dll": ["omp_get_max_threads"]},
        {"cudart64_110.dll": ["cudaMalloc"], CUPTI: ["cuptiActivityEnable"]},
    )
    broken = write_wheel(replace(story, lib={**story.lib, **own}), tmp_path / "dist")
    words = ["--no-discover", "--fetch", "-w", str(tmp_path / "out"), "--cache-dir", str(tmp_path / "cache")]
    (report,) = run("repair", broken, *words, "--format", "json").document["wheels"]
    additions = report["plan"]["additions"]
    assert {one["name"] for one in additions} >= {CUPTI, "libiomp5md.dll", "nvperf_host.dll"}
    assert {one["source"]["trust"] for one in additions} <= {"table", "signature"}
    repaired = tmp_path / "out" / broken.name
    packed = {info.filename: info.compress_size for info in zipfile.ZipFile(repaired).infolist()}
    fetched = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert fetched <= 1.3 * sum(packed[one["target"]] for one in additions)
    run("scan", repaired, "--no-discover")


# -------------------------------------------------------------------------------------------------------------- builder
# The story of a builder with several toolkits: what is chosen for each DLL, and that no trap is taken.

TORCH = "torch-2.4.0-cp311-cp311-win_amd64.whl"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machinery:
    """The builder's machine, laid out once."""
    unpacked = Unpacked(tmp_path_factory.mktemp("unpacked"))
    return builder.machine(unpacked, tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def broken(machine: Machinery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that was packed with nothing but its own DLLs."""
    return builder.wheel(tmp_path_factory.mktemp("dist"), machine, loading_code(tiers.wheel(TORCH)))


def named(roots: tuple[Path, ...]) -> list[str | Path]:
    """The roots as options."""
    return [word for root in roots for word in ("--root", root)]


def test_before_it_is_broken(broken, tmp_path):
    status, report = scan(broken, tmp_path)
    assert (status, report["verdict"]) == (1, "broken")
    assert report["first_failure"]["code"] == 126


@named_cases("step", {"as-named": 1, "reversed": -1})
def test_every_dll_comes_from_where_it_should(machine, broken, tmp_path, step):
    done = repair(broken, tmp_path, *named(machine.roots[::step]), "--compression", "store")
    chosen = {
        addition["name"]: Path(addition["source"]["path"]).relative_to(machine.folder).as_posix()
        for addition in done.plan["additions"]
    }
    # Of two named roots that fit the first wins: v11.8 has cuDNN for CUDA 11 in its bin, too.
    first = dict.fromkeys(builder.CUDNN_PARTS, "CUDA/v11.8/bin") if step == 1 else {}
    expected = {**machine.expected, **first}
    wrong = {name: path for name, path in chosen.items() if not path.startswith(expected.get(name, "nowhere"))}
    assert wrong == {}
    assert set(chosen) == set(expected)
    releases = {taken["toolkit"]: taken for taken in done.plan["releases"]}
    assert {name: taken["release"] for name, taken in releases.items()} == {
        "CUDA": "11.7",
        "oneMKL": "2025.3",
        "oneTBB": "2023.2",
    }
    assert [text.partition(":")[0] for text in releases["CUDA"]["refused"]] == ["CUDA 11.4", "CUDA 11.8", "CUDA 12.9"]
    status, report = scan(done.path, tmp_path)
    assert (status, report["first_failure"]) == (0, None)


def test_each_refusal_is_reported(machine, broken, tmp_path):
    done = repair(broken, tmp_path, *named(machine.roots), "--compression", "store")
    reasons = {
        (addition["name"], Path(entry["path"]).relative_to(machine.folder).as_posix()): entry["reason"]
        for addition in done.plan["additions"]
        for entry in addition["rejected"]
    }
    assert "of CUDA 11.8; this wheel takes" in reasons["curand64_10.dll", "CUDA/v11.8/bin/curand64_10.dll"]
    assert "of CUDA 11.4; this wheel takes" in reasons["curand64_10.dll", "CUDA/v11.4/bin/curand64_10.dll"]
    assert "git-lfs pointer" in reasons["cudnn64_8.dll", "clone/cudnn64_8.dll"]
    archive = "cudnn-windows-x86_64-8.9.7.29_cuda12-archive/bin/cudnn64_8.dll"
    assert "for CUDA 12; the wheel is for CUDA 11.7" in reasons["cudnn64_8.dll", archive]
    old = "oneAPI-2023/mkl/2023.2.0/redist/intel64/mkl_intel_thread.2.dll"
    assert builder.NEW_SYMBOL in reasons["mkl_intel_thread.2.dll", old]
    assert "only forwards" in reasons["libiomp5md.dll", "conda/Library/bin/libiomp5md.dll"]
    assert "debug build" in reasons["uv.dll", "vcpkg/debug/bin/uv.dll"]
    assert "for x86" in reasons["zlibwapi.dll", "zlib/dll_x86/zlibwapi.dll"]
