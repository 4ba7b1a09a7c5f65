"""What images of real wheels say: their GPU code, the Windows that they need, and who signed them."""

from __future__ import annotations

import itertools
import random
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wheelfix
from tests.real.commands import ALONE, scan
from tests.real.forging import FORGERIES, Osslsigncode, compare, forge, seeds_of, signed_dlls
from tests.support.tiers import absent, require, wheel, wheels_folder
from tests.support.wheels import build_wheel, needing
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.model import TargetVerdict, Verdict

pytestmark = pytest.mark.real

CUBLAS = "nvidia_cublas_cu11-11.10.3.66-py3-none-win_amd64.whl"
CUDNN = "nvidia_cudnn_cu11-8.9.4.25-py3-none-win_amd64.whl"
CUSPARSE = "nvidia_cusparse_cu11-11.7.5.86-py3-none-win_amd64.whl"
CUPY = "cupy_cuda11x-11.6.0-cp311-cp311-win_amd64.whl"
BITSANDBYTES = "bitsandbytes-0.50.2-py3-none-win_amd64.whl"

OTHER_VENDORS = re.compile(r"_(?:rocm|xpu)\d+\.dll")
FROM_KEPLER = "35 37 50 52 60 61 70 75 80 86 89 90"
ARCHS = {
    CUBLAS: {
        "cublas64_11.dll": ("35 50 60 61 70 75 80 86", "80"),
        "cublasLt64_11.dll": ("35 50 60 61 70 75 80 86", "80"),
        "nvblas64_11.dll": ("52", ""),
    },
    CUDNN: {
        "cudnn64_8.dll": None,
        "cudnn_adv_infer64_8.dll": ("50 60 61 70 75 80 86 90", "90"),
        "cudnn_adv_train64_8.dll": ("50 60 61 70 75 80 86 90", "90"),
        "cudnn_cnn_infer64_8.dll": ("50 60 61 70 75 80 86 90", "80 86 90"),
        "cudnn_cnn_train64_8.dll": ("50 60 61 70 75 80 86 90", "80 86 90"),
        "cudnn_ops_infer64_8.dll": ("50 60 61 70 75 80 86 90", "90"),
        "cudnn_ops_train64_8.dll": ("50 60 61 70 75 80 86 90", "90"),
    },
    CUSPARSE: {"cusparse64_11.dll": (FROM_KEPLER, "80 90")},
    CUPY: {
        "cub.cp311-win_amd64.pyd": (FROM_KEPLER, "90"),
        "thrust.cp311-win_amd64.pyd": (FROM_KEPLER, "90"),
        "_generator_api.cp311-win_amd64.pyd": (FROM_KEPLER, "90"),
    },
    BITSANDBYTES: {
        **{f"libbitsandbytes_cuda{n}.dll": ("60 70 75 80 86 89 90", "") for n in (118, 121, 124, 126)},
        "libbitsandbytes_cuda128.dll": ("70 75 80 86 89 90 100 120", ""),
        **{f"libbitsandbytes_cuda{n}.dll": ("75 80 86 89 90 100 120", "") for n in (130, 132)},
    },
}
"""SASS and PTX of every DLL that has a place for GPU code."""

WHEELS = [
    pytest.param(CUBLAS, marks=pytest.mark.slow, id="cublas"),
    pytest.param(CUDNN, marks=pytest.mark.slow, id="cudnn"),
    pytest.param(CUSPARSE, marks=pytest.mark.slow, id="cusparse"),
    pytest.param(CUPY, id="cupy"),
    pytest.param(BITSANDBYTES, id="bitsandbytes"),
]


def base(image: dict[str, Any]) -> str:
    """The file name of an image in a report."""
    return str(image["path"]).rpartition("/")[2]


def spelled(code: tuple[str, str] | None) -> list[str] | None:
    """Numbers as a report spells them."""
    if code is None:
        return None
    return [f"sm_{number}" for number in code[0].split()] + [f"ptx_{number}" for number in code[1].split()]


@pytest.mark.parametrize("name", WHEELS)
def test_architectures(name, tmp_path):
    _, report = scan(wheel(name), tmp_path, "--archs")
    found = {base(image): image["archs"] for image in report["images"] if image.get("archs")}
    others = {dll: found.pop(dll) for dll in list(found) if OTHER_VENDORS.search(dll)}
    assert all(
        arch.startswith("gfx" if "rocm" in dll else ("intel_", "spir64")) for dll in others for arch in others[dll]
    )
    assert bool(others) is (name == BITSANDBYTES)
    assert found == {dll: spelled(code) for dll, code in ARCHS[name].items() if code is not None}


# ------------------------------------------------------------------------------------------------ a second witness


def plain_cubins(data: Iterator[bytes]) -> Iterator[int]:
    """Yield the architecture that each uncompressed cubin states in its own ELF header.

    Found by the magic of ELF alone, without any knowledge of containers. Only headers that are whole count: those of
    compressed cubins begin alike and then break off.
    """
    tail = b""
    for block in data:
        window = tail + block
        at = window.find(b"\x7fELF\x02\x01\x01")
        while 0 <= at <= len(window) - 64:
            (machine,) = struct.unpack_from("<H", window, at + 18)
            flags, size, program, _, section = struct.unpack_from("<IHHHH", window, at + 48)
            if machine == 190 and size == section == 64 and program in (0, 56):
                yield flags & 0xFF if window[at + 8] < 8 else flags >> 8 & 0xFF
            at = window.find(b"\x7fELF\x02\x01\x01", at + 1)
        tail = window[-63:]


def member(path: Path, name: str) -> Iterator[bytes]:
    """Yield the bytes of a DLL, read by the standard library."""
    with zipfile.ZipFile(path) as archive:
        (info,) = (info for info in archive.infolist() if info.filename.endswith(f"/{name}"))
        with archive.open(info) as file:
            while block := file.read(1 << 20):
                yield block


@pytest.mark.parametrize(
    "name, dll, whole",
    [
        pytest.param(CUBLAS, "cublas64_11.dll", True, marks=pytest.mark.slow, id="cublas"),
        pytest.param(CUSPARSE, "cusparse64_11.dll", True, marks=pytest.mark.slow, id="cusparse"),
        pytest.param(CUPY, "thrust.cp311-win_amd64.pyd", False, id="cupy"),
        pytest.param(BITSANDBYTES, "libbitsandbytes_cuda118.dll", True, id="bitsandbytes-118"),
        pytest.param(BITSANDBYTES, "libbitsandbytes_cuda128.dll", True, id="bitsandbytes-128"),
    ],
)
def test_uncompressed_cubins_say_the_same(name, dll, whole):
    """``whole``: every architecture has at least one cubin that is not compressed; cuDNN has none at all.

    tests/pe/test_gpucode.py unpacks the heads of compressed ones, cuDNN's among them.
    """
    code = ARCHS[name][dll]
    reported = {str(arch) for arch in plain_cubins(member(wheel(name), dll))}
    assert reported
    assert reported == set(code[0].split()) if whole else reported <= set(code[0].split())


# ------------------------------------------------------------------------------------------------------ the answers


@pytest.mark.parametrize(
    "name, card, status, fits",
    [
        pytest.param(CUDNN, "sm_35", 1, {"none": 6}, marks=pytest.mark.slow, id="cudnn-kepler"),
        pytest.param(CUBLAS, "K40c", 0, {"native": 2, "left-over": 1}, marks=pytest.mark.slow, id="cublas-kepler"),
        pytest.param(CUSPARSE, "3.7", 0, {"native": 1}, marks=pytest.mark.slow, id="cusparse-kepler"),
        pytest.param(BITSANDBYTES, "sm_35", 1, {"none": 7}, id="bitsandbytes-kepler"),
        pytest.param(BITSANDBYTES, "RTX 5070", 0, {"none": 4, "native": 3}, id="bitsandbytes-blackwell"),
        pytest.param(BITSANDBYTES, "RTX 4090", 0, {"native": 7}, id="bitsandbytes-ada"),
        pytest.param(BITSANDBYTES, "GTX 1080", 0, {"same-major": 4, "none": 3}, id="bitsandbytes-pascal"),
    ],
)
def test_answers_for_a_card(name, card, status, fits, tmp_path):
    reported, report = scan(wheel(name), tmp_path, "--gpu", card)
    images = [image for image in report["images"] if "gpu" in image and not OTHER_VENDORS.search(image["path"])]
    found = [image["gpu"]["fit"] for image in images]
    assert {fit: found.count(fit) for fit in found} == fits
    assert reported == status
    assert ("WF501" in {finding["code"] for finding in report["findings"]}) is ("none" in fits)


@pytest.mark.slow
def test_cudnn_for_an_old_card_is_named(tmp_path):
    _, report = scan(wheel(CUDNN), tmp_path, "--gpu", "K40c")
    (finding,) = (finding for finding in report["findings"] if finding["code"] == "WF501")
    assert finding["hint"] == "take cuDNN 8.7.0, the last that is known to have code for sm_35"
    assert "none of which runs on sm_35" in finding["message"]
    assert len(finding["evidence"]["archs"]) == 6


def test_what_to_rebuild_for_a_new_card(tmp_path):
    """A package with the one DLL that has code up to Ada and Hopper."""
    name = "libbitsandbytes_cuda118.dll"
    content = b"".join(member(wheel(BITSANDBYTES), name))
    small = build_wheel(tmp_path, "kernels", "1.0", "py3-none-win_amd64", {f"kernels/{name}": content})
    status, report = scan(small, tmp_path, "--gpu", "RTX 5070", "--select", "WF5")
    (finding,) = report["findings"]
    assert status == 1
    assert finding["severity"] == "error"
    assert finding["message"].startswith(f"{name} has code for sm_60, sm_70, sm_75, sm_80, sm_86, sm_89 and sm_90")
    assert finding["hint"] == "build with -DCMAKE_CUDA_ARCHITECTURES=120 (torch extensions: TORCH_CUDA_ARCH_LIST=12.0)"


@pytest.mark.slow
def test_a_candidate_without_code_is_refused_and_said_so(tmp_path, run):
    root = wheel(CUDNN)
    lacking = needing(tmp_path, "cudnn64_8.dll:cudnnCreate")
    said = run("repair", lacking, *ALONE, "--root", root, "--gpu", "K40c", "--dry-run", code=1).said
    assert "has no code for sm_35" in said
    assert "take cuDNN 8.7.0, the last that is known to have code for sm_35" in said
    assert "Nothing would be written: WF501 cudnn_adv_infer64_8.dll" in said


# -------------------------------------------------------------------------------------------------------------- targets
# Kinds of Windows, asked about real wheels: opencv on Windows N (opencv-python#185).

WITH_MEDIA = "opencv_python_headless-4.12.0.88-cp37-abi3-win_amd64.whl"
WITHOUT = "opencv_python_headless-5.0.0.93-cp37-abi3-win_amd64.whl"


def answers(name: str, *targets: str) -> dict[str, TargetVerdict]:
    report = wheelfix.scan(wheel(name), ScanOptions(targets=targets, roots=RootOptions(discover=False)))
    return {target.name: target for target in report.targets}


def test_opencv_4_needs_media_foundation():
    found = answers(WITH_MEDIA, "windows-11", "windows-n", "server-core-2022", "wine")
    assert {name: target.verdict for name, target in found.items()} == {
        "windows-11": Verdict.OK,
        "windows-n": Verdict.BROKEN,
        "server-core-2022": Verdict.BROKEN,
        "wine": Verdict.OK,
    }
    assert found["windows-n"].absent == ("MF.dll", "MFPlat.DLL", "MFReadWrite.dll")
    failure = found["windows-n"].first_failure
    assert failure.message.startswith("ImportError: DLL load failed while importing cv2:")


def test_opencv_5_does_not():
    assert answers(WITHOUT, "windows-n")["windows-n"].verdict is Verdict.OK


# ----------------------------------------------------------------------------------------------------------- signatures
# Real signatures: trusted where LIEF and osslsigncode find them good; and no forged one is.
#
# A sample; ``python -m tests.real.forging`` is the whole of it.

FILES, FORGED = 60, 1200
LARGEST = 1 << 20

# Of 873 signed files in 125 wheels these are not trusted. Each reason was looked at by hand.
KNOWN = {
    "fiona.libs/msvcp140-80cac3ebc22ff38cfcdee60334932058.dll": "untrusted-root",  # without its issuer's certificate
}


@pytest.fixture(scope="module")
def files() -> list[tuple[str, bytes]]:
    wheels = sorted(wheels_folder().glob("*.whl"))
    require(wheels, f"no wheels in {wheels_folder()}")
    random.Random(1).shuffle(wheels)
    # A few of each wheel, so that there are many signers.
    found = [file for wheel in wheels for file in itertools.islice(signed_dlls(LARGEST, [wheel]), 6)]
    require(found, f"no signed DLLs in {wheels_folder()}")
    return found[:FILES]


def test_others_say_the_same(files):
    if Osslsigncode().program is None:
        absent("osslsigncode is not installed")
    found = compare(iter(files), every=3)
    assert found.files == len(files)
    assert [line for line in found.disagreements if not any(name in line for name in KNOWN)] == []
    assert found.answers["trusted"] >= found.files - len(KNOWN)


def test_no_forgery_is_trusted(files):
    seeds = seeds_of([(name, file) for name, file in files if len(file) < 200_000])
    require(seeds, "no small signed DLLs")
    tally = forge(seeds, FORGED, seed=1)
    assert tally.accepted == tally.disagreed == []
    assert set(tally.tried) == set(FORGERIES)
    assert tally.tried.total() == FORGED
    assert tally.statuses["trusted"] == sum(tally.harmless.values()) > 0  # such as another checksum
