"""Choices of the planner that once ended nowhere: own copies, DLLs added a round earlier, namesakes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import lay
from tests.support.gpucode import gpu_dll
from tests.support.repairs import added, contents, hermetic, kepler, repaired, snapshot, with_roots
from tests.support.signing import Recipe, identity, signed, trust
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, library, needing
from tools.example import kepler_cu117
from tools.forge import forge_dll
from wheelfix.errors import CannotRepair
from wheelfix.exam.scan import scan, scan_all
from wheelfix.model import Finding, Machine, Verdict
from wheelfix.plan.lock import read_lock
from wheelfix.plan.model import Repaired
from wheelfix.plan.sbom import FILE_NAME
from wheelfix.repairs.installed import repair_installed, undo
from wheelfix.report.canvas import TextStyle
from wheelfix.report.repairs import render_plan


def test_a_dll_that_the_plan_added_a_round_earlier_is_added_again_from_its_root(tmp_path):
    """python_flint without its DLLs: the second round copied from a member that did not exist, and said "run again"."""
    files = {
        "pkg/__init__.py": "",
        "pkg/a/_a.cp311-win_amd64.pyd": "imports flint.dll:solve",
        "pkg/b/_b.cp311-win_amd64.pyd": "imports gmp.dll:add, late.dll:x",
    }
    wheel = build_wheel(tmp_path, files=files)
    gmp = library("gmp.dll:add")
    beside = {
        "gmp.dll": gmp,
        "flint.dll": "imports gmp.dll:add; exports solve",
        "late.dll": "imports later.dll:y; exports x",
        "later.dll": "exports y",
    }
    root = lay(tmp_path / "root", beside)
    result = repaired(wheel, root, layout="beside")
    made = contents(result)
    assert made["pkg/a/gmp.dll"] == made["pkg/b/gmp.dll"] == gmp
    assert {entry.source.kind for entry in result.plan.additions} == {"file"}
    assert scan(result.output or "").verdict is Verdict.OK


def test_a_copy_in_the_wheel_that_does_not_fit_is_not_copied(tmp_path):
    good = library("omp.dll:fork")
    files = {
        "pkg/__init__.py": "",
        "pkg/_a.cp311-win_amd64.pyd": "imports omp.dll:fork",
        "pkg/x86/omp.dll": "exports fork; for x86",
        "pkg/old/omp.dll": "exports join",
    }
    wheel = build_wheel(tmp_path, files=files)
    assert contents(repaired(wheel, lay(tmp_path / "root", {"omp.dll": good})))["pkg/omp.dll"] == good


@pytest.mark.parametrize("layout", ["beside", "auto", "libs"])
def test_of_namesakes_the_one_is_taken_whose_own_imports_can_be_met(layout, tmp_path):
    """The tables wheel has libblosc2.dll twice; only one of them imports DLLs under names that exist."""
    files = {
        "tables/__init__.py": "import ctypes\nctypes.CDLL(__file__.replace('__init__.py', 'libblosc2.dll'))\n",
        "tables/_a.cp311-win_amd64.pyd": "imports libblosc2.dll:pack",
    }
    wheel = build_wheel(tmp_path, "tables", files=files)
    right = library("libblosc2.dll:pack", "zstd-5f.dll:z")
    one = lay(tmp_path / "one", {"libblosc2.dll": "imports zstd.dll:z; exports pack"})
    two = lay(tmp_path / "two", {"libblosc2.dll": right, "zstd-5f.dll": "exports z"})
    result = repaired(wheel, one, two, layout=layout)
    assert contents(result)["tables/libblosc2.dll"].startswith(right[:64])
    assert scan(result.output or "").verdict is not Verdict.BROKEN
    (chosen,) = (entry for entry in result.plan.additions if entry.name == "libblosc2.dll")
    assert "imports zstd.dll, which no root has" in " ".join(entry.reason for entry in chosen.rejected)


def test_namesakes_go_to_those_who_need_them(tmp_path):
    files = {
        "one/__init__.py": "",
        "one/_a.cp311-win_amd64.pyd": "imports zip.dll:inflate_old",
        "two/__init__.py": "",
        "two/_b.cp311-win_amd64.pyd": "imports zip.dll:inflate_new",
    }
    wheel = build_wheel(tmp_path, files=files)
    old, new = (library(f"zip.dll:inflate_{age}") for age in ("old", "new"))
    roots = lay(tmp_path / "old", {"zip.dll": old}), lay(tmp_path / "new", {"zip.dll": new})
    plan = repaired(wheel, *roots, dry_run=True).plan
    digests = {entry.target: entry.sha256 for entry in plan.additions}
    wanted = {"one/zip.dll": old, "two/zip.dll": new}
    assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in wanted.items()}


def test_a_dll_that_is_installed_beside_python_gets_its_own_beside_it(tmp_path):
    """The plan named a member with an empty folder in it, which nobody would write."""
    needer = "imports part.dll:x; exports go"
    files = {"pkg/__init__.py": "", "pkg-1.0.data/data/runtime.dll": needer}
    wheel = build_wheel(tmp_path, files=files)
    made = contents(repaired(wheel, lay(tmp_path / "root", {"part.dll": "exports x"})))
    assert "pkg-1.0.data/data/part.dll" in made


def test_a_dll_for_one_of_several_backends_is_copied_to_it(tmp_path):
    """A warning that is no doubt about the place kept the copy away, and the module from loading."""
    part = library("part.dll:x")
    files = {
        "pkg/__init__.py": "",
        "pkg/part.dll": part,
        "pkg/y/__init__.py": "",
        "pkg/y/_m0.cp311-win_amd64.pyd": "imports part.dll:x",
        "pkg/y/_m1.cp311-win_amd64.pyd": "imports other.dll:y",
    }
    wheel = build_wheel(tmp_path, files=files)
    made = contents(repaired(wheel, lay(tmp_path / "root", {"other.dll": "exports y"})))
    assert made["pkg/y/part.dll"] == part


def test_a_need_that_becomes_real_in_a_later_round_is_met(tmp_path):
    """The part of cuDNN was first asked for by a DLL that nothing loads; the answer "no" stood for bar.dll as well."""
    part = "cudnn_ops_infer64_8"
    files = {
        "torch/__init__.py": "import os\n# userbase\n",
        "torch/lib/torch_cpu.dll": "imports bar.dll",
        "torch/bin/cudnn64_8.dll": "",
        "torch/bar.dll": f"imports {part}.dll",
        f"torch/{part}.dll": "",
    }
    wheel = build_wheel(tmp_path, "torch", files=files)
    result = repaired(wheel, allow_missing=("cudnn*",))
    assert {addition.target for addition in result.plan.additions} == {"torch/lib/bar.dll", f"torch/lib/{part}.dll"}


def test_a_dll_goes_to_every_module_that_cannot_load_without_it(tmp_path):
    """bar.dll was put beside y/_b only, and ``import pkg.x`` raised 126: each module has to load on its own."""
    files = {
        "pkg/__init__.py": "",
        "pkg/x/__init__.py": "",
        "pkg/x/_a.cp311-win_amd64.pyd": "imports foo.dll",
        "pkg/x/foo.dll": "imports bar.dll",
        "pkg/y/__init__.py": "",
        "pkg/y/_b.cp311-win_amd64.pyd": "imports bar.dll",
    }
    root = lay(tmp_path / "root", {"bar.dll": ""})
    result = repaired(build_wheel(tmp_path, files=files), root, layout="beside")
    assert {addition.target for addition in result.plan.additions} == {"pkg/x/bar.dll", "pkg/y/bar.dll"}


STORY = kepler_cu117()
OPENMP = "libiomp5md.dll"
LIB, PACKAGE = f"torch/lib/{OPENMP}", f"torch/{OPENMP}"
SITE = "Lib/site-packages"
CODES = ("WF312", "WF313", "WF610", "WF611", "WF612")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The members of a torch wheel that has everything it needs."""
    wheel, roots = kepler(tmp_path_factory.mktemp("sound"), STORY)
    return without_record(repaired(wheel, *roots.values(), drop_test_artifacts=True, sbom=False))


def without_record(made: Repaired) -> dict[str, bytes]:
    return {name: data for name, data in contents(made).items() if not name.endswith("/RECORD")}


def torch_wheel(folder: Path, files: dict[str, bytes]) -> Path:
    return build_wheel(folder, "torch", "2.7.1+cu117", files=files)


def placed(path: Path) -> list[Finding]:
    return [finding for finding in scan(path, hermetic()).findings if finding.code in CODES]


def cleaned(wheel: Path, *roots: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """The members of the cleaned wheel, and what was dropped with the reason."""
    result = repaired(wheel, *roots, clean=True, sbom=False)
    assert scan(result.output or "", hermetic()).verdict is Verdict.OK
    return without_record(result), {drop.path: drop.because for drop in result.plan.drops}


# ------------------------------------------------------------------------------------------------------------ wheels


def test_a_second_copy_is_found_with_the_one_that_wins_and_removed(sound, tmp_path):
    wheel = torch_wheel(tmp_path, {**sound, PACKAGE: sound[LIB]})
    (found,) = placed(wheel)
    assert (found.code, found.subject, found.severity.value) == ("WF312", PACKAGE, "info")
    assert "the copy in torch/lib is loaded, the one in torch never is" in found.message
    assert repaired(wheel, dry_run=True).plan.drops == ()
    members, drops = cleaned(wheel)
    assert members == sound
    assert list(drops) == [PACKAGE]


def test_a_second_copy_that_differs_is_a_warning(sound, tmp_path):
    other = forge_dll(OPENMP, exports=["omp_old"])
    (found,) = placed(torch_wheel(tmp_path, {**sound, PACKAGE: other}))
    assert (found.code, found.severity.value) == ("WF312", "warning")
    assert "a different file" in found.message


def test_all_of_mkl_at_the_root_is_moved(sound, tmp_path):
    """It ended in "changed while it was read; run again", every time."""
    mkl = [name for name in sound if name.startswith("torch/lib/mkl") or name == LIB]
    files = {name.rpartition("/")[2] if name in mkl else name: data for name, data in sound.items()}
    assert len(mkl) > 2
    members, drops = cleaned(torch_wheel(tmp_path, files))
    assert members == sound
    moved = "moved to torch/lib, where it is looked for"
    assert drops == {name.rpartition("/")[2]: moved for name in mkl}


def test_mkl_at_the_root_is_copied_from_members_that_exist(sound, tmp_path):
    """The dry run planned copies from members that did not exist, and the repair never ended."""
    mkl = [name for name in sound if name.startswith("torch/lib/mkl")]
    files = {name.rpartition("/")[2] if name in mkl else name: data for name, data in sound.items()}
    wheel = torch_wheel(tmp_path, files)
    planned = repaired(wheel, sbom=False, dry_run=True)
    assert {addition.source.member for addition in planned.plan.additions} <= set(files)
    made = repaired(wheel, sbom=False)
    assert added(made) == added(planned)
    assert set(mkl) <= contents(made).keys()


@named_cases("files, found", {"dlls": ({}, set()), "code": ({"pkg/__init__.py": b""}, {"WF610"})})
def test_a_wheel_of_dlls_alone_is_made_for_others(files, found, tmp_path):
    """sdl2_lib puts SDL2.dll into site-packages for programs that look there; its removal was advised."""
    wheel = build_wheel(tmp_path, "sdl", files={"SDL2.dll": "", **files})
    assert {finding.code for finding in placed(wheel)} == found


def test_a_stray_dll_at_the_root_is_removed(sound, tmp_path):
    members, drops = cleaned(torch_wheel(tmp_path, {**sound, "stray.dll": ""}))
    assert members == sound
    assert list(drops) == ["stray.dll"]


@named_cases(
    "wrong",
    {
        "machine": {"machine": Machine.X86, "exports": ["omp_get_max_threads"]},
        "version": {"exports": ["something_else"]},
    },
)
def test_a_dll_that_cannot_be_used_is_replaced(wrong, sound, tmp_path):
    bad = forge_dll(OPENMP, **wrong)  # type: ignore[arg-type]
    root = lay(tmp_path / "root", {OPENMP: sound[LIB]})
    wheel = torch_wheel(tmp_path / "dist", {**sound, LIB: bad})
    assert scan(wheel, hermetic()).verdict is Verdict.BROKEN
    members, drops = cleaned(wheel, root)
    assert members == sound
    assert list(drops) == [LIB]


def test_a_lock_holds_what_is_cleaned(sound, tmp_path, run):
    files = {**sound, PACKAGE: sound[LIB], "stray.dll": ""}
    del files[LIB]
    wheel = torch_wheel(tmp_path / "dist", files)
    lock, out = tmp_path / "plan.json", tmp_path / "out"
    run("repair", wheel, "--clean", "--no-discover", "-w", out, "--lock", lock)
    (plan,) = read_lock(lock)
    assert sorted(drop.path for drop in plan.drops) == ["stray.dll", PACKAGE]
    run("repair", "--locked", lock, "-w", tmp_path / "again")
    assert (tmp_path / "again" / wheel.name).read_bytes() == (out / wheel.name).read_bytes()


def test_a_copy_that_a_program_beside_it_imports_is_no_stray(tmp_path):
    library = "exports inflate"
    files = {
        "pkg/__init__.py": "",
        "pkg/_x.cp311-win_amd64.pyd": "imports zlib1.dll:inflate",
        "pkg/zlib1.dll": library,
        "pkg/bin/tool.exe": "imports zlib1.dll:inflate",
        "pkg/bin/zlib1.dll": library,
        "pkg/spare/zlib1.dll": library,
    }
    found = placed(build_wheel(tmp_path, files=files))
    assert [finding.subject for finding in found] == ["pkg/spare/zlib1.dll"]


# ------------------------------------------------------------------------------------------------------ environments


def install(wheel: Path, prefix: Path, by_hand: dict[str, bytes]) -> Path:
    """Unpack a wheel into an environment, and put some files there that no RECORD names."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(prefix / SITE)
    for name, data in {"python.exe": b"MZ", **by_hand}.items():
        (prefix / name).write_bytes(data)
    return prefix


def environment_findings(prefix: Path) -> dict[str, str]:
    (report,) = scan_all([prefix], hermetic(packages=("torch",)))
    return {f.code: f.message for f in report.findings if f.code in CODES}  # type: ignore[union-attr]


def clean_environment(prefix: Path, *roots: Path) -> dict[str, str]:
    result = repair_installed(prefix, "torch", with_roots(*roots, clean=True))
    return {drop.path.replace("\\", "/").removeprefix(f"{prefix}/"): drop.because for drop in result.plan.drops}


def test_copies_put_into_an_environment_by_hand(sound, tmp_path):
    strays = {OPENMP: sound[LIB], f"{SITE}/{PACKAGE}": sound[LIB], f"{SITE}/{OPENMP}": sound[LIB]}
    prefix = install(torch_wheel(tmp_path / "dist", sound), tmp_path / "env", strays)
    found = environment_findings(prefix)
    assert set(found) == {"WF610", "WF611", "WF612"}
    assert "wins" in found["WF611"]
    before = snapshot(prefix)
    assert set(clean_environment(prefix)) == set(strays)
    assert not any((prefix / name).exists() for name in strays)
    assert environment_findings(prefix) == {}
    undo(prefix, "torch")
    assert snapshot(prefix) == before


def test_a_dll_for_another_machine_is_replaced_in_an_environment(sound, tmp_path):
    root = lay(tmp_path / "root", {OPENMP: sound[LIB]})
    wheel = torch_wheel(tmp_path / "dist", sound)
    foreign = forge_dll(OPENMP, exports=["omp_get_max_threads"], machine=Machine.X86)
    prefix = install(wheel, tmp_path / "env", {f"{SITE}/{LIB}": foreign})
    before = snapshot(prefix)
    assert list(clean_environment(prefix, root)) == [f"{SITE}/{LIB}"]
    assert (prefix / SITE / LIB).read_bytes() == sound[LIB]
    undo(prefix, "torch")
    assert snapshot(prefix) == before


def test_files_of_other_distributions_are_left_alone(sound, tmp_path):
    other = build_wheel(tmp_path / "dist", "intel-openmp", "2023.2", files={OPENMP: sound[LIB]})
    prefix = install(torch_wheel(tmp_path / "dist", sound), tmp_path / "env", {})
    with zipfile.ZipFile(other) as archive:
        archive.extractall(prefix / SITE)
    assert environment_findings(prefix) == {}
    assert clean_environment(prefix) == {}
    assert (prefix / SITE / OPENMP).exists()


NEEDED = "cudnn64_8.dll"
PLAIN = forge_dll(NEEDED, exports=["cudnnCreate"])
SIGNED = signed(PLAIN)
TAMPERED = SIGNED[:0x180] + bytes([SIGNED[0x180] ^ 1]) + SIGNED[0x181:]
SELF_MADE = signed(PLAIN, Recipe(identity("NVIDIA Corporation")))
PART = "cudnn_ops_infer64_8.dll"


def root(folder: Path, **files: bytes) -> Path:
    return lay(folder, {f"{name}.dll": data for name, data in files.items()})


def with_cudnn(tmp_path: Path, *roots: Path, gpu: str | None = None, **more: Any) -> Repaired:
    scan = hermetic(*roots, trusted_roots=trust(tmp_path), gpu=gpu)
    wheel = needing(tmp_path / "dist", f"{NEEDED}:cudnnCreate")
    return repaired(wheel, scan=scan, companions="none", allow_missing=("cudnn_*",), **more)


@named_cases(
    "data, signer, answer, warning",
    {
        "signed": (SIGNED, "Some Vendor", "trusted: Some Vendor", ""),
        "changed": (
            TAMPERED,
            "invalid",
            "invalid (the file was changed after it was signed)",
            "has an invalid signature (the file was changed",
        ),
        "self-made": (
            SELF_MADE,
            "untrusted-root",
            "untrusted-root: NVIDIA Corporation (its root NVIDIA Corporation is not on the list of trusted roots)",
            "has a signature that leads to no trusted root (its root NVIDIA",
        ),
    },
)
def test_plan_and_bill_of_materials_say_who_signed(tmp_path, data, signer, answer, warning):
    result = with_cudnn(tmp_path, root(tmp_path / "root", cudnn64_8=data))
    (addition,) = result.plan.additions
    assert (addition.signer, addition.signature) == (signer, answer)
    assert any("signature" in note for note in result.plan.notes) is bool(warning)
    assert not warning or any(warning in note for note in result.plan.notes)
    shown = render_plan(Repaired(result.plan, "repaired"), TextStyle())
    assert f"signature {answer}\n" in shown
    made = contents(result)
    document = json.loads(made[f"pkg-1.0.dist-info/sboms/{FILE_NAME}"])
    assert made[f"pkg/{NEEDED}"] == data
    properties = {item["name"]: item["value"] for item in document["components"][0]["properties"]}
    assert properties["wheelfix:signature"] == signer
    assert properties["wheelfix:signature-answer"] == answer


def test_require_signed_takes_the_signed_one_of_two(tmp_path):
    first, second = root(tmp_path / "a", cudnn64_8=PLAIN), root(tmp_path / "b", cudnn64_8=SIGNED)
    result = with_cudnn(tmp_path, first, second, require_signed=True)
    (addition,) = result.plan.additions
    assert addition.source.path == str(second / NEEDED)
    assert any("is not signed" in rejected.reason for rejected in addition.rejected)


def test_require_signed_looks_at_the_family_too(tmp_path):
    """The parts of cuDNN come along without being chosen; an unsigned one must not slip in behind a signed front."""
    place = root(tmp_path / "root", cudnn64_8=SIGNED, cudnn_ops_infer64_8=forge_dll(PART))
    with pytest.raises(CannotRepair):
        with_cudnn(tmp_path, place, require_signed=True)


def test_a_card_prefers_what_has_code_for_it(tmp_path):
    new = root(tmp_path / "new", cudnn64_8=PLAIN, cudnn_ops_infer64_8=gpu_dll(PART, "sm_50", "sm_86"))
    old = root(tmp_path / "old", cudnn64_8=PLAIN + bytes(8), cudnn_ops_infer64_8=gpu_dll(PART, "sm_35"))
    result = with_cudnn(tmp_path, new, old, gpu="K40c")
    assert {addition.source.root for addition in result.plan.additions} == {str(old)}
    front = next(addition for addition in result.plan.additions if addition.name == NEEDED)
    assert front.rejected[0].reason.startswith(f"{PART} has no code for sm_35, only for sm_50, sm_86; take cuDNN 8.7.0")
