"""DLLs out of wheels on a package index: what is chosen, why it is trusted, and that nothing else ever is."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shlex
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.remote.indexes import index_of
from tests.remote.server import Reply, Request, Server
from tests.support.environments import install, lay
from tests.support.gpucode import gpu_dll
from tests.support.repairs import contents
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, library, needing
from tools.forge import forge_dll
from wheelfix.cli.main import main
from wheelfix.knowledge.provider_index import trusted_by, vendor_of
from wheelfix.model import Machine, Signature
from wheelfix.plan import make
from wheelfix.roots.fetched import ambiguity
from wheelfix.roots.release import ranked_releases

CUPTI = "cupti64_2022.2.1.dll"
FOLDER = "nvidia/cuda_cupti/extras/CUPTI/lib64"
DLL = forge_dll(CUPTI, exports=["cuptiActivityEnable"])


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine says about indexes counts, and nothing is in the cache."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A wheel for CUDA 11.7 that imports a DLL which no root has."""
    return needing(tmp_path / "dist", f"{CUPTI}:cuptiActivityEnable", version="1.0+cu117")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """An index with the wheel of NVIDIA that has the DLL, as far as the provider index knows, and some ballast."""
    files = {f"{FOLDER}/{CUPTI}": DLL, f"{FOLDER}/checkpoint.dll": ""}
    own = vendor(tmp_path, "nvidia_cuda_cupti_cu11", "11.7.101", files, ["License: NVIDIA Proprietary Software"])
    with index_of([own, vendor(tmp_path, "nvidia_cuda_cupti_cu11", "11.8.87", {})]) as found:
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url.replace('//', '//me:hunter2@')}/simple")
        yield found


def vendor(
    tmp_path: Path, name: str, version: str, files: dict[str, bytes], metadata: Sequence[str] = (), **more: Any
) -> Path:
    return build_wheel(tmp_path / "files", name, version, "py3-none-win_amd64", files, extra_metadata=metadata, **more)


def fetched(broken: Path, tmp_path: Path, wheels: Iterable[Path], *words: str) -> tuple[int, Path]:
    """Repair a wheel with an index of these wheels."""
    with index_of(wheels) as server:
        return repaired(broken, tmp_path, "--fetch", "--index-url", f"{server.url}/simple", *words)


def repaired(broken: Path, tmp_path: Path, *words: str) -> tuple[int, Path]:
    code = main(["repair", str(broken), "--no-discover", "-w", str(tmp_path / "out"), *words])
    return code, tmp_path / "out" / broken.name


def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every hash be in the table."""
    monkeypatch.setattr("wheelfix.knowledge.provider_index.is_known_member", lambda sha256: True)


def test_nothing_is_fetched_unless_asked_for(server, broken, tmp_path):
    assert repaired(broken, tmp_path)[0] == 1
    assert not server.asked


def test_offline_refuses(server, broken, tmp_path, capsys):
    assert repaired(broken, tmp_path, "--fetch", "--offline")[0] == 4
    assert "--offline was given" in capsys.readouterr().err
    assert not server.asked


def test_an_unknown_dll_costs_the_whole_wheel(server, broken, tmp_path, capsys, run):
    code, path = repaired(broken, tmp_path, "--fetch")
    reported = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert "trusted the whole wheel was downloaded and has the sha256 of the index" in reported
    assert "licence of nvidia-cuda-cupti-cu11 11.7.101: NVIDIA Proprietary Software" in reported
    assert zipfile.ZipFile(path).read(f"pkg/{CUPTI}") == DLL
    run("verify", path)
    assert any(not request.span and "/files/" in request.path for request in server.asked)


def test_a_known_dll_comes_in_parts(server, broken, tmp_path, monkeypatch, capsys):
    known(monkeypatch)
    assert repaired(broken, tmp_path, "--fetch")[0] == 0
    assert "its sha256 is in the table of wheelfix" in " ".join(capsys.readouterr().out.split())
    assert all(request.span for request in server.asked if "/files/" in request.path)


@named_cases("inside", {"missing": False, "copied": True})
def test_a_requirement_costs_no_wheel(server, broken, tmp_path, inside):
    """What becomes a requirement is read as far as its tables; only a copy in the wheel is compared whole."""
    if inside:
        need = f"{CUPTI}:cuptiActivityEnable"
        broken = needing(tmp_path / "copied", need, version="1.0+cu117", files={f"pkg/{CUPTI}": DLL})
    assert repaired(broken, tmp_path, "--fetch", "--via", "wheels", "--dry-run")[0] == 0
    code, path = repaired(broken, tmp_path, "--fetch", "--via", "wheels")
    assert code == 0
    with zipfile.ZipFile(path) as made:
        required = "Requires-Dist: nvidia-cuda-cupti-cu11>=11.7.101,<11.8.87\n"
        assert required in made.read("pkg-1.0+cu117.dist-info/METADATA").decode()
        assert f"pkg/{CUPTI}" not in made.namelist()
    assert all(request.span for request in server.asked if "/files/" in request.path)


def test_altered_parts_are_refused(server, broken, tmp_path, capsys):
    """Bytes that are changed on their way, with the archive still in order, do not have the hash of the whole wheel."""
    (name,) = (path for path in server.files if "11.7.101" in path)
    honest = server.files[name]
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as evil, zipfile.ZipFile(_saved(tmp_path, honest)) as old:
        for info in old.infolist():
            data = old.read(info)
            evil.writestr(
                info,
                data.replace(b"cuptiActivityEnable", b"cuptiActivityEnable"[::1]) + b"evil"
                if CUPTI in info.filename
                else data,
            )
    server.files[name] = (tmp_path / "evil.zip").read_bytes()
    code, path = repaired(broken, tmp_path, "--fetch")
    assert code == 4
    assert "its sha256 is" in capsys.readouterr().err
    assert not path.exists()

    def two_faced(request: Request, reply: Reply) -> Reply | None:
        return Reply(200, {}, honest) if request.path == name and not request.span else None

    server.fault = two_faced
    code, path = repaired(broken, tmp_path, "--fetch", "--no-cache")
    assert code == 4
    assert "the parts that the server sent differ from the whole wheel" in capsys.readouterr().err
    assert not path.exists()


def _saved(folder: Path, data: bytes) -> Path:
    (folder / "honest.zip").write_bytes(data)
    return folder / "honest.zip"


def test_without_a_hash_on_the_index_nothing_unknown_is_taken(server, broken, tmp_path, capsys):
    page = "/simple/nvidia-cuda-cupti-cu11/"
    document = json.loads(server.files[page])
    for file in document["files"]:
        file["hashes"] = {}
    server.files[page] = json.dumps(document).encode()
    code, path = repaired(broken, tmp_path, "--fetch")
    assert code == 1
    assert "has no sha256 on its index" in " ".join(capsys.readouterr().err.split())
    assert not path.exists()


def test_a_lock_is_replayed_with_the_same_bytes_or_not_at_all(server, broken, tmp_path, capsys):
    lock = tmp_path / "plan.lock"
    assert repaired(broken, tmp_path, "--fetch", "--lock", str(lock))[0] == 0
    first = (tmp_path / "out" / broken.name).read_bytes()
    text = lock.read_text("utf-8")
    assert "hunter2" not in text
    (addition,) = json.loads(text)["plans"][0]["additions"]
    assert addition["source"]["kind"] == "index"
    assert addition["source"]["path"].startswith(f"{server.url}/files/")
    assert len(addition["source"]["wheel_sha256"]) == 64
    assert addition["source"]["member"] == f"{FOLDER}/{CUPTI}"
    again = ["repair", "--locked", str(lock), "-w", str(tmp_path / "again"), "--no-cache"]
    assert main(again) == 2
    assert "add --fetch" in capsys.readouterr().err
    assert main([*again, "--fetch"]) == 0
    assert (tmp_path / "again" / broken.name).read_bytes() == first
    (name,) = (path for path in server.files if "11.7.101" in path)
    other = forge_dll(CUPTI, exports=["cuptiActivityEnable", "more"])
    changed = vendor(tmp_path / "other", "nvidia_cuda_cupti_cu11", "11.7.101", {f"{FOLDER}/{CUPTI}": other})
    server.files[name] = changed.read_bytes()
    (tmp_path / "again" / broken.name).unlink()
    assert main([*again, "--fetch"]) != 0
    assert not (tmp_path / "again" / broken.name).exists()


def test_scan_shows_what_would_come(server, broken, run):
    missing = run("scan", broken, "--no-discover", "--fetch", "--format", "json", code=None).document["wheels"][0][
        "missing"
    ]
    (candidate,) = next(one["candidates"] for one in missing if one["name"] == CUPTI)
    assert candidate["path"].endswith(f"11.7.101-py3-none-win_amd64.whl!{FOLDER}/{CUPTI}")
    assert candidate["reason"] == "wheel nvidia-cuda-cupti-cu11 11.7.101, --fetch"


def test_a_dry_run_downloads_no_dll(broken, tmp_path, server, monkeypatch, capsys):
    """The tables at the beginning of a DLL are read, since the choice needs them; the ballast behind them is not."""
    ballast = random.Random(1).randbytes(600_000)
    own = vendor(tmp_path / "large", "nvidia_cuda_cupti_cu11", "11.7.101", {f"{FOLDER}/{CUPTI}": DLL + ballast})
    (name,) = (path for path in server.files if "11.7.101" in path)
    server.files[name] = own.read_bytes()
    monkeypatch.setattr(make, "known_sha256", lambda wheel, member: "")
    code, path = repaired(broken, tmp_path, "--fetch", "--dry-run", "--format", "json")
    plan = json.loads(capsys.readouterr().out)
    (addition,) = plan["additions"]
    assert code == 0
    assert not path.exists()
    assert (addition["sha256"], addition["source"]["trust"]) == ("", "not-fetched")
    assert any(re.match(r"a repair fetches \d+ kB for 1 DLL", note) for note in plan["notes"])
    sent = [request.span for request in server.asked if "/files/" in request.path]
    assert all(sent)
    spans = [tuple(map(int, span.removeprefix("bytes=").split("-"))) for span in sent if span[6] != "-"]
    assert sum(last - first for first, last in spans) < 100_000
    monkeypatch.setattr(make, "known_sha256", lambda wheel, member: "0" * 63 + "1" if wheel == own.name else "")
    repaired(broken, tmp_path, "--fetch", "--dry-run", "--format", "json")
    (addition,) = json.loads(capsys.readouterr().out)["additions"]
    assert (addition["sha256"], addition["source"]["trust"]) == ("0" * 63 + "1", "table")


def test_a_dry_run_reads_no_version_of_what_it_did_not_download(tmp_path, monkeypatch, capsys):
    """The version resources of cuDNN, which a rule compares, lie behind hundreds of megabytes."""
    broken = needing(tmp_path / "dist", "cudnn64_8.dll:cudnnCreate", version="1.0+cu117")
    wheel = vendor(
        tmp_path,
        "nvidia_cudnn_cu11",
        "8.9.4.25",
        {"nvidia/cudnn/bin/cudnn64_8.dll": "version 6.14.11.11070; exports cudnnCreate"},
    )
    read = []
    for user in ("exam.examine", "plan.make"):
        monkeypatch.setattr(f"wheelfix.{user}.read_version", read.append)
    fetched(broken, tmp_path, [wheel], "--dry-run", "--companions", "none")
    assert "pkg/cudnn64_8.dll" in capsys.readouterr().out
    assert read == []


def test_a_dry_run_with_a_lock_has_every_hash(server, broken, tmp_path, capsys):
    lock = tmp_path / "plan.lock"
    assert repaired(broken, tmp_path, "--fetch", "--dry-run", "--lock", str(lock))[0] == 0
    (addition,) = json.loads(lock.read_text("utf-8"))["plans"][0]["additions"]
    assert addition["sha256"] == hashlib.sha256(DLL).hexdigest()
    assert addition["source"]["trust"] == "wheel"
    assert not (tmp_path / "out").exists()


def test_an_installed_package_is_repaired_from_the_index(server, broken, tmp_path, run):
    lay(install(broken, tmp_path / "env"), {"python.exe": b"MZ"})
    site = tmp_path / "env" / "Lib" / "site-packages"
    words = ["repair", "--env", str(tmp_path / "env"), "--package", "pkg", "--no-discover"]
    run(*words, code=1)
    assert not server.asked
    run(*words, "--fetch", "--dry-run")
    assert not (site / "pkg" / CUPTI).exists()
    run(*words, "--fetch")
    assert (site / "pkg" / CUPTI).read_bytes() == DLL


def test_what_no_vendor_has_is_said(server, tmp_path, capsys):
    wheel = needing(tmp_path / "dist", "nvToolsExt64_1.dll:nvtxRangePushA", version="1.0+cu114")
    assert repaired(wheel, tmp_path, "--fetch", "--dry-run")[0] == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "no root has nvToolsExt64_1.dll, nor has a vendor's wheel for this machine on the package index" in text


@pytest.mark.parametrize("card, code", [("sm_86", 0), ("sm_35", 1)])
def test_gpu_code_of_what_would_come_is_judged(tmp_path, capsys, card, code):
    broken = needing(
        tmp_path / "dist", version="1.0+cu118", files={"pkg/ext.cp311-win_amd64.pyd": "imports cufft64_10.dll:"}
    )
    members = {"nvidia/cufft/bin/cufft64_10.dll": gpu_dll("cufft64_10.dll", "sm_80", "sm_86")}
    wheel = vendor(tmp_path, "nvidia_cufft_cu11", "10.9.0.58", members)
    found, _ = fetched(broken, tmp_path, [wheel], "--dry-run", "--gpu", card)
    text = " ".join(capsys.readouterr().out.split())
    assert "pkg/cufft64_10.dll" in text
    assert ("sm_35" in text) == bool(code), text
    assert found == code, text


def openmp_for(machine: Machine, platform: str, version: str, folder: Path) -> Path:
    dll = forge_dll("libiomp5md.dll", machine=machine, exports=["omp_get_max_threads"])
    member = f"intel_openmp-{version}.data/data/Library/bin/libiomp5md.dll"
    return build_wheel(folder, "intel_openmp", version, f"py2.py3-none-{platform}", {member: dll})


@pytest.mark.parametrize(
    "machine, platform, offered, expected",
    [
        (Machine.X86, "win32", {"win32": Machine.X86, "win_amd64": Machine.AMD64}, "win32"),
        (Machine.AMD64, "win_amd64", {"win32": Machine.X86, "win_amd64": Machine.AMD64}, "win_amd64"),
        (Machine.ARM64, "win_arm64", {"win_amd64": Machine.AMD64, "win_arm64": Machine.ARM64}, "win_arm64"),
        (Machine.X86, "win32", {"any": Machine.AMD64}, ""),
        (Machine.ARM64, "win_arm64", {"win_arm64": Machine.AMD64}, ""),
    ],
)
def test_only_dlls_for_the_machine_of_the_wheel_come(tmp_path, capsys, machine, platform, offered, expected):
    """The provider index was made from wheels for x64; what there is for another machine is asked at run time."""
    module = forge_dll(
        "_x.pyd", machine=machine, imports={"libiomp5md.dll": ["omp_get_max_threads"]}, exports=["PyInit__x"]
    )
    files = {"demo/__init__.py": b"from demo import _x\n", f"demo/_x.cp311-{platform}.pyd": module}
    broken = build_wheel(tmp_path / "dist", "demo", "1.0", f"cp311-cp311-{platform}", files)
    wheels = [openmp_for(own, tag, "2023.2.0", tmp_path / "files") for tag, own in offered.items()]
    wheels += [openmp_for(Machine.AMD64, "win_amd64", f"202{year}.0.0", tmp_path / "files") for year in (4, 5, 6)]
    code, path = fetched(broken, tmp_path, wheels, "--format", "json")
    captured = capsys.readouterr()
    assert code == (0 if expected else 1), captured
    assert path.exists() == bool(expected)
    if expected:
        (report,) = json.loads(captured.out)["wheels"]
        (addition,) = report["plan"]["additions"]
        assert addition["source"]["path"].endswith(f"-{expected}.whl")


@pytest.mark.parametrize(
    "name, cuda, expected",
    [
        (CUPTI, "11.7", ("nvidia-cuda-cupti-cu11", "11.7.")),
        ("cusparse64_12.dll", "12.1", ("nvidia-cusparse-cu12", "12.1.0.106")),  # 12.1.2 is of CUDA 12.2
        ("cufft64_12.dll", "13.0", ("nvidia-cufft", "12.0.0.")),
        ("cudnn64_8.dll", "11.7", ("nvidia-cudnn-cu11", "8.")),
        ("libiomp5md.dll", "", ("intel-openmp", "20")),
    ],
)
def test_the_release_that_fits_comes_first(name, cuda, expected):
    distribution, version = ranked_releases(name, cuda)[0]
    assert distribution == expected[0]
    assert version.startswith(expected[1])


def test_a_choice_between_cuda_majors_that_nothing_decides_is_said():
    (said,) = ambiguity("cudnn64_9.dll", "", ranked_releases("cudnn64_9.dll", ""))
    assert "cudnn64_9.dll is there for CUDA 11, CUDA 12, CUDA 13" in said
    assert not ambiguity("cudnn64_9.dll", "12", ranked_releases("cudnn64_9.dll", "12"))
    assert not ambiguity("cudart64_12.dll", "", ranked_releases("cudart64_12.dll", ""))
    assert not ambiguity("libiomp5md.dll", "", ranked_releases("libiomp5md.dll", ""))


def test_a_release_for_another_cuda_major_never_comes():
    assert not [one for one in ranked_releases("cudnn64_8.dll", "11.7") if one[0].endswith("cu12")]
    assert ranked_releases("c10.dll", "") == []  # torch's own, which is no redistributable of a vendor


@pytest.mark.parametrize(
    "distribution, signature, expected",
    [
        ("nvidia-cudnn-cu12", Signature("trusted", "NVIDIA Corporation"), "signature"),
        ("nvidia-cudnn-cu12", Signature("trusted", "Somebody Else, Inc."), ""),
        ("mkl", Signature("trusted", "NVIDIA Corporation"), ""),
        ("nvidia-cudnn-cu12", Signature("untrusted-root", "NVIDIA Corporation"), ""),
        ("evil-nvidia", Signature("trusted", "NVIDIA Corporation"), ""),
    ],
)
def test_only_the_vendors_own_signature_counts(distribution, signature, expected):
    assert trusted_by(distribution, "0" * 64, signature) == expected


def test_distributions_of_strangers_are_not_fetched_from():
    assert vendor_of("torch") == vendor_of("opencv-python") == ""


def test_a_scan_proposes_it_and_the_command_repairs(server, broken, tmp_path, monkeypatch, run):
    """It repaired torch in 16 seconds, and was in no hint."""
    monkeypatch.chdir(tmp_path)
    reported = run("scan", broken, "--no-discover", code=1).out
    assert "the package index (nvidia-cuda-cupti-cu11==11.7.101)" in reported
    assert not server.asked  # the tables know it
    _, *words = shlex.split(reported.splitlines()[-1])
    assert words == ["repair", str(broken), "--fetch", "--no-discover"]
    assert main(words) == 0
    run("scan", "wheelhouse", "-q")


def test_fetched_distributions_fulfil_what_they_require_of_each_other(server, tmp_path, monkeypatch):
    """MKL 2025.3 requires intel-openmp<2026; the newest one was taken all the same."""
    broken = needing(tmp_path / "dist", "mkl_intel_thread.2.dll", "libiomp5md.dll:omp")
    mkl = library("mkl_intel_thread.2.dll", "libiomp5md.dll:omp")
    wheels = [_vendor(tmp_path, "mkl", "2025.3.0", "mkl_intel_thread.2.dll", mkl, "intel-openmp <2026,>=2024")]
    for version in ("2026.2.0", "2025.3.1"):
        dll = forge_dll("libiomp5md.dll", exports=["omp"], version=(int(version[:4]), 0, 0, 0))
        wheels.append(_vendor(tmp_path, "intel_openmp", version, "libiomp5md.dll", dll))
    known(monkeypatch)
    words = ("--allow-missing", "mkl_*", "--lock", str(tmp_path / "plan"))
    assert fetched(broken, tmp_path, wheels, *words)[0] == 0
    (plan,) = json.loads((tmp_path / "plan").read_text())["plans"]
    taken = {one["name"]: one["source"]["origin"] for one in plan["additions"]}
    assert taken == {"libiomp5md.dll": "wheel intel-openmp 2025.3.1", "mkl_intel_thread.2.dll": "wheel mkl 2025.3.0"}


def _vendor(tmp_path: Path, name: str, version: str, dll: str, data: bytes, *requires: str) -> Path:
    return vendor(tmp_path, name, version, {f"{name}-{version}.data/data/Library/bin/{dll}": data}, requires=requires)


def test_a_distribution_that_the_user_trusts(server, tmp_path, capsys):
    """SDL's DLL is on the index, and not from a vendor that signs: the refusal did not name who has it."""
    broken = needing(tmp_path / "dist", "SDL2.dll:SDL_Init")
    sdl = library("SDL2.dll:SDL_Init")
    version = ranked_releases("sdl2.dll", "", trusted=("kivy-deps-sdl2",))[0][1]
    member = f"kivy_deps.sdl2-{version}.data/data/share/sdl2/bin/SDL2.dll"
    wheel = build_wheel(tmp_path / "vendor", "kivy_deps.sdl2", version, files={member: sdl})
    assert fetched(broken, tmp_path, [wheel], "--layout", "beside")[0] == 1
    assert "--trust-distribution kivy-deps-sdl2" in " ".join(capsys.readouterr().err.split())
    code, path = fetched(broken, tmp_path, [wheel], "--layout", "beside", "--trust-distribution", "kivy_deps.sdl2")
    assert code == 0
    assert "the whole wheel was downloaded" in " ".join(capsys.readouterr().out.split())
    assert contents(path)["pkg/SDL2.dll"] == sdl
