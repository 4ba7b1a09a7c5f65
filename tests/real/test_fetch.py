"""Wheels and DLLs from the real package index, in parts."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

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
