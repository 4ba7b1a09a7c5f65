"""Which DLLs a repair takes, what it leaves where it is, and what it says when it fails."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.roots.trees import dll, grow
from tests.support.environments import install
from tests.support.nvidia import CUPTI, nvidia_dll, toolkit_files
from tests.support.repairs import hermetic, repaired, with_roots
from tests.support.tables import named_cases
from tests.support.torchlike import CU117, torch_wheel
from tests.support.wheels import ALONE, build_wheel, folder_of, needing
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.base.values import replace
from wheelfix.cli.main import main
from wheelfix.errors import CannotRepair, Exit
from wheelfix.exam.scan import scan
from wheelfix.model import Machine
from wheelfix.plan.model import Plan
from wheelfix.repairs.installed import repair_installed
from wheelfix.repairs.repair import repair_wheel

PARTS = ("ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train")
CUDNN = {
    f"bin/{name}": dll(name, "f", version=(8, 9, 5, 29))
    for name in ("cudnn64_8.dll", *(f"cudnn_{part}64_8.dll" for part in PARTS))
}


def plan_of(wheel: Path, *roots: Path, assume: tuple[str, ...] = (), discover: bool = False, **more: Any) -> Plan:
    """What a repair would do."""
    scan = hermetic(*roots, assume=assume)
    scan = replace(scan, roots=replace(scan.roots, discover=discover))
    return repaired(wheel, scan=scan, dry_run=True, **more).plan


def sources(plan: Plan) -> dict[str, str]:
    """Where each DLL comes from."""
    return {addition.name: addition.source.path for addition in plan.additions}


@named_cases(
    "imports, left_out, allowed",
    {
        "half a toolkit": (CU117, "cufft64_10.dll", ("cu*", "nvrtc*")),
        "without cuDNN": ((*CU117, "cudnn64_8.dll"), "", ("cudnn*",)),
    },
)
def test_what_may_be_missing_does_not_make_half_of_cuda(tmp_path, imports, left_out, allowed):
    """cudart in the wheel hides the toolkit that has what was allowed to be missing; the result was broken, exit 0."""
    toolkit = grow(tmp_path / "v11.7", toolkit_files("11.7"))
    if left_out:
        (toolkit / "bin" / left_out).unlink()
    wheel = torch_wheel(tmp_path, imports)
    options = with_roots(toolkit, wheel_dir=tmp_path / "out", allow_missing=allowed)
    with pytest.raises(CannotRepair, match="WF403") as caught:
        repair_wheel(wheel, options)
    assert caught.value.hint == (
        "vendor all of CUDA (--cuda FOLDER with the whole toolkit, --cudnn FOLDER), or none of it: "
        "--assume cuda=11.7 leaves it to machines that have the toolkit"
    )
    none = repair_wheel(wheel, replace(options, scan=replace(options.scan, assume=("cuda=11.7",))))
    assert [addition.name for addition in none.plan.additions] == ["cupti64_2022.2.1.dll"]  # not in the toolkit's bin
    without = repair_wheel(wheel, replace(options, exclude=("cudart*",), allow_missing=("cu*", "nvrtc*")))
    assert "cudart64_110.dll" not in {addition.name for addition in without.plan.additions}


@pytest.mark.parametrize("order", [("11.8", "11.7", "11.4"), ("11.4", "11.7", "11.8")], ids=" ".join)
def test_everything_comes_from_one_toolkit_and_the_plan_says_which(tmp_path, order):
    """--root v11.8/bin --root v11.7/bin took most from 11.8 and cuRAND from 11.7, "as the newest"."""
    toolkits = {release: grow(tmp_path / f"v{release}", toolkit_files(release)) for release in order}
    cupti = toolkits["11.7"] / "extras/CUPTI/lib64"
    plan = plan_of(torch_wheel(tmp_path), *(folder / "bin" for folder in toolkits.values()), cupti)
    taken = sources(plan)
    assert set(CU117) <= set(taken)
    assert all("v11.7" in path for path in taken.values())
    (release,) = plan.releases
    assert (release.toolkit, release.release) == ("CUDA", "11.7")
    assert release.because == "the wheel was built for it (torch/version.py says 11.7)"
    assert release.refused == ("CUDA 11.4: releases are not mixed", "CUDA 11.8: releases are not mixed")
    versions = {addition.name: addition.version for addition in plan.additions}
    assert versions["curand64_10.dll"] == "10.2.10.91"


def test_a_release_that_has_not_everything_is_completed_from_no_other(tmp_path):
    first = grow(tmp_path / "v11.7", toolkit_files("11.7"))
    (first / "bin/curand64_10.dll").unlink()
    second = grow(tmp_path / "v11.8", toolkit_files("11.8"))
    plan = plan_of(torch_wheel(tmp_path), first, second)
    (left,) = [item for item in plan.remaining if item.required]
    assert left.name == "curand64_10.dll"
    assert "of CUDA 11.8; this wheel takes its CUDA libraries from 11.7" in left.because
    assert plan.releases[0].refused == ("CUDA 11.8: releases are not mixed, although only it has curand64_10.dll",)
    asked = plan_of(torch_wheel(tmp_path), first, second, include=("curand64_10.dll",))
    assert "v11.8" in sources(asked)["curand64_10.dll"]


def test_cupti_of_the_release_that_is_imported_goes_with_libraries_of_a_newer_one(tmp_path):
    """No root has CUDA 11.7 but for CUPTI, whose name tells its release: 11.8 serves a wheel for 11.7."""
    toolkit = grow(tmp_path / "v11.8", toolkit_files("11.8"))
    cupti = build_wheel(
        tmp_path,
        "nvidia-cuda-cupti-cu11",
        "11.7.101",
        "py3-none-win_amd64",
        {f"x/{CUPTI['11.7']}": dll(CUPTI["11.7"], "f")},
    )
    plan = plan_of(torch_wheel(tmp_path), toolkit, cupti)
    taken = sources(plan)
    assert taken.pop(CUPTI["11.7"]) == str(cupti)
    assert all("v11.8" in path for path in taken.values())
    assert plan.releases[0].because.startswith(
        "11.7, which the wheel was built for (torch/version.py says 11.7), is in no"
    )
    assert not [item for item in plan.remaining if item.required]


def test_a_package_without_a_label_takes_one_release(tmp_path):
    """An ordinary extension module of CUDA 12 by its imports: 11.8 does not even come into question."""
    wheel = needing(tmp_path, "cublas64_12.dll", "curand64_10.dll")
    roots = [grow(tmp_path / f"v{release}", toolkit_files(release)) for release in ("11.8", "12.1")]
    plan = plan_of(wheel, *roots)
    assert all("v12.1" in path for path in sources(plan).values())
    assert {"cublas64_12.dll", "curand64_10.dll"} <= set(sources(plan))


def test_cudnn_copied_into_a_toolkit_has_its_own_version(tmp_path):
    """It was shown with CUDA's version, 11.7."""
    toolkit = grow(tmp_path / "v11.7", {**toolkit_files("11.7"), **CUDNN})
    (toolkit / "bin/zlibwapi.dll").write_bytes(dll("zlibwapi.dll", "f"))
    wheel = torch_wheel(tmp_path, ["cudnn64_8.dll"])
    report = scan(wheel, with_roots(toolkit).scan)
    (front,) = [item for item in report.missing if item.name == "cudnn64_8.dll"]
    assert front.candidates[0].version == "8.9.5.29"
    assert front.candidates[0].reason.startswith("cuDNN in CUDA 11.7")
    added = {addition.name: addition for addition in plan_of(wheel, toolkit).additions}
    assert (added["cudnn64_8.dll"].version, added["cudnn64_8.dll"].source.origin) == ("8.9.5.29", "cuDNN in CUDA 11.7")
    assert "zlibwapi.dll" in added


# ------------------------------------------------------------------------------------- what is on this machine


@pytest.fixture
def toolkit_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CUDA 11.7 as CUDA_PATH_V11_7 names it, with cuDNN copied into it and without NVTX."""
    toolkit = grow(tmp_path / "CUDA" / "v11.7", {**toolkit_files("11.7"), **CUDNN})
    monkeypatch.setenv("CUDA_PATH_V11_7", str(toolkit))
    return toolkit


def test_an_installed_torch_finds_the_toolkit_that_its_own_code_searches(tmp_path, toolkit_here):
    """Only CUPTI is missing there, and the repair planned 2.5 GB."""
    wheel = torch_wheel(tmp_path, (*CU117, "cudnn64_8.dll"))
    prefix = install(wheel, tmp_path / "env")
    (prefix / "python.exe").write_bytes(b"MZ")
    options = RepairOptions(scan=ScanOptions(roots=RootOptions(roots=(toolkit_here,)), jobs=1))
    plan = repair_installed(prefix, "torch", options, dry_run=True).plan
    assert [addition.name for addition in plan.additions] == [CUPTI["11.7"]]
    plan = repair_installed(prefix, "torch", with_roots(toolkit_here), dry_run=True).plan
    assert len(plan.additions) > 10


def test_an_assumed_toolkit_is_read_where_it_is_there(tmp_path, toolkit_here):
    wheel = torch_wheel(tmp_path, (*CU117, "cudnn64_8.dll", "nvToolsExt64_1.dll", "cusparse64_11.dll"))
    options = ScanOptions(assume=("cuda=11.7",), jobs=1)
    missing = {item.name for item in scan(wheel, options).missing if item.required}
    # cuDNN lies in its bin; cuSPARSE, NVTX and CUPTI do not.
    assert missing == {CUPTI["11.7"], "nvToolsExt64_1.dll", "cusparse64_11.dll"}


def test_nvtx_is_not_part_of_an_assumed_toolkit(tmp_path):
    wheel = torch_wheel(tmp_path, ["cudart64_110.dll", "nvToolsExt64_1.dll"], "11.4")
    report = scan(wheel, ScanOptions(assume=("cuda=11.4",), roots=RootOptions(discover=False), jobs=1))
    (missing,) = [item for item in report.missing if item.required]
    assert missing.name == "nvToolsExt64_1.dll"
    assert missing.providers[0].startswith("NVTX, a component of its own in the installer of CUDA up to 12.8")


# ------------------------------------------------------------------------------------------ hints and failures


@named_cases(
    "imports, package",
    {
        "12": (["cublas64_12.dll", "cufft64_11.dll"], "nvidia-cufft-cu12"),
        "11": (["cublas64_11.dll", "cufft64_10.dll"], "nvidia-cufft-cu11"),
    },
)
def test_hints_name_the_major_that_the_imports_tell(tmp_path, imports, package):
    """onnxruntime_gpu for CUDA 12 was told to take cu11 wheels."""
    report = scan(needing(tmp_path, *imports), ALONE)
    (missing,) = [item for item in report.missing if item.name == imports[1]]
    assert [text for text in missing.providers if text.startswith("PyPI: ")] == [f"PyPI: {package}"]


def test_a_repair_that_fails_says_why_each_file_was_not_taken(tmp_path):
    wheel = needing(tmp_path, "mkl_rt.2.dll:mkl_blas_cgemm3m_batch_strided", "uv.dll", "zz.dll")
    root = grow(
        tmp_path / "dlls",
        {"mkl_rt.2.dll": dll("mkl_rt.2.dll", "other"), "uv.dll": dll("uv.dll", "f", machine=Machine.X86)},
    )
    with pytest.raises(CannotRepair) as caught:
        repaired(wheel, root)
    text = str(caught.value.because)
    assert "it does not export mkl_blas_cgemm3m_batch_strided" in text
    assert "for x86, not for amd64" in text
    assert caught.value.hint.startswith("name the folder of zz.dll with --root, or name a root with a suitable file")


def test_a_refused_file_is_taken_with_include_and_the_hint_says_so(tmp_path):
    wheel, root = needing(tmp_path, "libomp140.x86_64.dll"), folder_of(tmp_path / "dlls", "libomp140.x86_64.dll")
    with pytest.raises(CannotRepair) as caught:
        repaired(wheel, root)
    assert caught.value.hint.startswith("--include libomp140.x86_64.dll adds what was refused")
    plan = plan_of(wheel, root, include=("libomp140.x86_64.dll",))
    assert [addition.name for addition in plan.additions] == ["libomp140.x86_64.dll"]


def test_wheels_in_a_folder_are_roots(tmp_path):
    versions = {"cublas64_11.dll": "11.10.3.66", "curand64_10.dll": "10.2.10.91"}
    for name, version in versions.items():
        package = f"nvidia-{name[:6]}-cu11"
        data = {f"nvidia/x/bin/{name}": nvidia_dll(name, version)}
        build_wheel(tmp_path / "wheels", package, version, "py3-none-win_amd64", data)
    wheel = torch_wheel(tmp_path, versions)
    taken = sources(plan_of(wheel, tmp_path / "wheels"))
    assert set(taken) == set(versions)
    assert set(sources(plan_of(wheel, tmp_path / "wheels" / "nvidia*.whl"))) == set(versions)
    assert zipfile.is_zipfile(taken["curand64_10.dll"])


def test_another_release_than_the_wheel_was_built_for_is_said(tmp_path, run):
    """A wheel for 11.8 with the DLLs of 11.7 was ok in every respect, and ``-q`` said nothing."""
    toolkit = grow(tmp_path / "v11.7", toolkit_files("11.7"))
    names = tuple(name for name in CU117 if not name.startswith("cupti"))
    wheel = torch_wheel(tmp_path, names, "11.8")
    command = ["repair", str(wheel), "--cuda", str(toolkit), "--no-discover", "-w", str(tmp_path / "out"), "-q"]
    assert "warning CUDA 11.7: 11.8, which the wheel was built for" in run(*command).said
    report = scan(tmp_path / "out" / wheel.name)
    found = [item for item in report.findings if item.code == "WF407"]
    assert [item.evidence["expected"] for item in found] == ["11.8", "11.8"]
    stated = found[0].evidence["stated"]
    assert isinstance(stated, dict)
    assert stated["cudart64_110.dll"] == stated["cublas64_11.dll"] == "11.7"
    right = grow(tmp_path / "v11.8", toolkit_files("11.8"))
    assert "warning" not in run(*command[:2], "--cuda", right, *command[4:]).out
    again = scan(tmp_path / "out" / wheel.name)
    assert not [item for item in again.findings if item.code == "WF407"]


def test_no_other_release_is_vendored_beside_the_one_that_is_assumed(tmp_path, monkeypatch):
    """Half of CUDA 11.8 is installed: the rest came from 11.7, because 11.8 was "in no root"."""
    half = grow(tmp_path / "v11.8", toolkit_files("11.8"))
    (half / "bin/cublas64_11.dll").unlink()
    monkeypatch.setenv("CUDA_PATH_V11_8", str(half))
    older = grow(tmp_path / "v11.7", toolkit_files("11.7"))
    names = tuple(name for name in CU117 if not name.startswith("cupti"))
    wheel = torch_wheel(tmp_path, names, "11.8")
    plan = plan_of(wheel, older, assume=("cuda=11.8",), discover=True)
    assert not plan.additions
    (left,) = [item for item in plan.remaining if item.required]
    assert "from 11.8: --assume cuda=11.8 says that it is installed" in left.because


@named_cases(
    "allowed, code",
    {"asked for": ((), Exit.FINDINGS), "allowed to be missing": (("zlibwapi.dll",), Exit.OK)},
)
def test_what_cudnn_loads_is_asked_for_before_and_after(tmp_path, allowed, code, capsys):
    cudnn, wheel = grow(tmp_path / "cudnn", CUDNN), needing(tmp_path, "cudnn64_8.dll")
    before = {item.name for item in scan(wheel).missing if item.required}
    assert "zlibwapi.dll" in before
    words = [word for name in allowed for word in ("--allow-missing", name)]
    assert (
        main(["repair", str(wheel), "--no-discover", "--cudnn", str(cudnn), "-w", str(tmp_path / "o"), *words]) == code
    )
    assert ("conda-forge: libzlib-wapi" in " ".join(capsys.readouterr().out.split())) is bool(allowed)
    # Without cuDNN nothing loads it, so that what may be missing takes it along.
    accepted = scan(wheel, ScanOptions(allow_missing=("cudnn*",), jobs=1))
    assert not [item for item in accepted.findings if item.severity.name in ("ERROR", "UNSURE")]
