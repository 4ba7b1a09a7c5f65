"""DLLs that were put in the wrong place by hand: found, told which copy wins, and cleaned up on request."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.exam.scan import scan, scan_all
from wheelfix.model import Machine, Verdict
from wheelfix.plan.lock import read_lock
from wheelfix.repairs.installed import repair_installed, undo
from wheelfix.repairs.repair import repair_wheel
from wheelfix.roots.lazy import lazy_index

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.model import Finding

STORY = kepler_cu117()
OPENMP = "libiomp5md.dll"
LIB, PACKAGE = f"torch/lib/{OPENMP}", f"torch/{OPENMP}"
SITE = "Lib/site-packages"
CODES = ("WF312", "WF313", "WF610", "WF611", "WF612")


def hermetic(*roots: Path) -> ScanOptions:
    return ScanOptions(roots=RootOptions(roots=roots, discover=False), jobs=1)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The members of a torch wheel that has everything it needs."""
    folder = tmp_path_factory.mktemp("sound")
    roots = tuple(write_roots(STORY, folder / "roots").values())
    options = RepairOptions(wheel_dir=folder / "out", drop_test_artifacts=True, sbom=False, scan=hermetic(*roots))
    made = repair_wheel(write_wheel(STORY, folder / "dist"), options).output
    assert made is not None
    with zipfile.ZipFile(made) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def torch_wheel(folder: Path, files: dict[str, bytes]) -> Path:
    return build_wheel(folder, "torch", "2.7.1+cu117", files=files)


def placed(path: Path) -> list[Finding]:
    return [finding for finding in scan(path, hermetic()).findings if finding.code in CODES]


def cleaned(wheel: Path, *roots: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """The members of the cleaned wheel, and what was dropped with the reason."""
    options = RepairOptions(wheel_dir=wheel.parent / "out", clean=True, sbom=False, scan=hermetic(*roots))
    result = repair_wheel(wheel, options)
    assert result.output is not None
    assert scan(result.output, hermetic()).verdict is Verdict.OK
    with zipfile.ZipFile(result.output) as archive:
        return (
            {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")},
            {drop.path: drop.because for drop in result.plan.drops},
        )


# ------------------------------------------------------------------------------------------------------------ wheels


def test_a_second_copy_is_found_with_the_one_that_wins_and_removed(sound: dict[str, bytes], tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path, {**sound, PACKAGE: sound[LIB]})
    (found,) = placed(wheel)
    assert (found.code, found.subject, found.severity.value) == ("WF312", PACKAGE, "info")
    assert "the copy in torch/lib is loaded, the one in torch never is" in found.message
    members, drops = cleaned(wheel)
    assert members == sound
    assert list(drops) == [PACKAGE]


def test_a_second_copy_that_differs_is_a_warning(sound: dict[str, bytes], tmp_path: Path) -> None:
    other = forge_dll(OPENMP, exports=["omp_old"])
    (found,) = placed(torch_wheel(tmp_path, {**sound, PACKAGE: other}))
    assert (found.code, found.severity.value) == ("WF312", "warning")
    assert "a different file" in found.message


def test_a_dll_in_the_wrong_folder_is_moved(sound: dict[str, bytes], tmp_path: Path) -> None:
    files = {**sound, PACKAGE: sound[LIB]}
    del files[LIB]
    members, drops = cleaned(torch_wheel(tmp_path, files))
    assert members == sound
    assert drops == {PACKAGE: "moved to torch/lib, where it is looked for"}


def test_all_of_mkl_at_the_root_is_moved(sound: dict[str, bytes], tmp_path: Path) -> None:
    """It ended in "changed while it was read; run again", every time."""
    mkl = [name for name in sound if name.startswith("torch/lib/mkl") or name == LIB]
    files = {name.rpartition("/")[2] if name in mkl else name: data for name, data in sound.items()}
    assert len(mkl) > 2
    members, drops = cleaned(torch_wheel(tmp_path, files))
    assert members == sound
    assert sorted(drops) == sorted(name.rpartition("/")[2] for name in mkl)


def test_mkl_at_the_root_is_copied_from_members_that_exist(sound: dict[str, bytes], tmp_path: Path) -> None:
    """The dry run planned copies from members that did not exist, and the repair never ended."""
    mkl = [name for name in sound if name.startswith("torch/lib/mkl")]
    files = {name.rpartition("/")[2] if name in mkl else name: data for name, data in sound.items()}
    wheel = torch_wheel(tmp_path, files)
    options = RepairOptions(wheel_dir=tmp_path / "out", sbom=False, scan=hermetic())
    planned = repair_wheel(wheel, options, dry_run=True).plan
    assert {addition.source.member for addition in planned.additions} <= set(files)
    made = repair_wheel(wheel, options)
    assert made.output is not None
    assert [addition.target for addition in made.plan.additions] == [addition.target for addition in planned.additions]
    with zipfile.ZipFile(made.output) as archive:
        assert set(mkl) <= set(archive.namelist())


@pytest.mark.parametrize(("files", "found"), [({}, set()), ({"pkg/__init__.py": b""}, {"WF610"})], ids=["dlls", "code"])
def test_a_wheel_of_dlls_alone_is_made_for_others(files: dict[str, bytes], found: set[str], tmp_path: Path) -> None:
    """sdl2_lib puts SDL2.dll into site-packages for whoever looks there; its removal was advised."""
    wheel = build_wheel(tmp_path, "sdl", "1.0", files={"SDL2.dll": forge_dll("SDL2.dll"), **files})
    assert {finding.code for finding in placed(wheel)} == found


def test_without_clean_nothing_is_removed(sound: dict[str, bytes], tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path, {**sound, PACKAGE: sound[LIB], "stray.dll": forge_dll("stray.dll")})
    result = repair_wheel(wheel, RepairOptions(wheel_dir=tmp_path / "out", scan=hermetic()))
    assert result.plan.drops == ()
    assert {finding.code for finding in placed(wheel)} == {"WF312", "WF610"}


def test_a_stray_dll_at_the_root_is_removed(sound: dict[str, bytes], tmp_path: Path) -> None:
    members, drops = cleaned(torch_wheel(tmp_path, {**sound, "stray.dll": forge_dll("stray.dll")}))
    assert members == sound
    assert list(drops) == ["stray.dll"]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"machine": Machine.X86, "exports": ["omp_get_max_threads"]}, id="machine"),
        pytest.param({"exports": ["something_else"]}, id="version"),
    ],
)
def test_a_dll_that_cannot_be_used_is_replaced(
    wrong: dict[str, object], sound: dict[str, bytes], tmp_path: Path
) -> None:
    bad = forge_dll(OPENMP, **wrong)  # type: ignore[arg-type]
    root = tmp_path / "root"
    root.mkdir()
    (root / OPENMP).write_bytes(sound[LIB])
    wheel = torch_wheel(tmp_path / "dist", {**sound, LIB: bad})
    assert scan(wheel, hermetic()).verdict is Verdict.BROKEN
    members, drops = cleaned(wheel, root)
    assert members == sound
    assert list(drops) == [LIB]


def test_a_lock_holds_what_is_cleaned(sound: dict[str, bytes], tmp_path: Path) -> None:
    files = {**sound, PACKAGE: sound[LIB], "stray.dll": forge_dll("stray.dll")}
    del files[LIB]
    wheel = torch_wheel(tmp_path / "dist", files)
    lock, out = tmp_path / "plan.json", tmp_path / "out"
    assert main(["repair", str(wheel), "--clean", "--no-discover", "-w", str(out), "--lock", str(lock)]) == 0
    (plan,) = read_lock(lock)
    assert sorted(drop.path for drop in plan.drops) == ["stray.dll", PACKAGE]
    assert main(["repair", "--locked", str(lock), "-w", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / wheel.name).read_bytes() == (out / wheel.name).read_bytes()


def test_a_copy_that_a_program_beside_it_imports_is_no_stray(tmp_path: Path) -> None:
    library = forge_dll("zlib1.dll", exports=["inflate"])
    module = forge_dll("_x.pyd", imports={"zlib1.dll": ["inflate"]}, exports=["PyInit__x"])
    files: dict[str, bytes | str] = {
        "pkg/__init__.py": "",
        "pkg/_x.cp311-win_amd64.pyd": module,
        "pkg/zlib1.dll": library,
        "pkg/bin/tool.exe": forge_dll("tool.exe", imports={"zlib1.dll": ["inflate"]}),
        "pkg/bin/zlib1.dll": library,
        "pkg/spare/zlib1.dll": library,
    }
    found = placed(build_wheel(tmp_path, "pkg", "1.0", files=files))
    assert [finding.subject for finding in found] == ["pkg/spare/zlib1.dll"]


# ------------------------------------------------------------------------------------------------------ environments


def install(wheel: Path, prefix: Path, by_hand: dict[str, bytes]) -> Path:
    """Unpack a wheel into an environment, and put some files there that no RECORD names."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(prefix / SITE)
    for name, data in {"python.exe": b"MZ", **by_hand}.items():
        (prefix / name).write_bytes(data)
    return prefix


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def environment_findings(prefix: Path) -> dict[str, str]:
    (report,) = scan_all([prefix], ScanOptions(packages=("torch",), roots=RootOptions(discover=False)))
    return {f.code: f.message for f in report.findings if f.code in CODES}  # type: ignore[union-attr]


def clean_environment(prefix: Path, *roots: Path) -> dict[str, str]:
    options = RepairOptions(clean=True, scan=hermetic(*roots))
    with lazy_index(options.scan.roots) as index:
        result = repair_installed(prefix, "torch", options, index)
    return {drop.path.replace("\\", "/").removeprefix(f"{prefix}/"): drop.because for drop in result.plan.drops}


def test_copies_put_into_an_environment_by_hand(sound: dict[str, bytes], tmp_path: Path) -> None:
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


def test_a_dll_for_another_machine_is_replaced_in_an_environment(sound: dict[str, bytes], tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / OPENMP).write_bytes(sound[LIB])
    wheel = torch_wheel(tmp_path / "dist", sound)
    foreign = forge_dll(OPENMP, exports=["omp_get_max_threads"], machine=Machine.X86)
    prefix = install(wheel, tmp_path / "env", {f"{SITE}/{LIB}": foreign})
    before = snapshot(prefix)
    assert list(clean_environment(prefix, root)) == [f"{SITE}/{LIB}"]
    assert (prefix / SITE / LIB).read_bytes() == sound[LIB]
    undo(prefix, "torch")
    assert snapshot(prefix) == before


def test_files_of_other_distributions_are_left_alone(sound: dict[str, bytes], tmp_path: Path) -> None:
    other = build_wheel(tmp_path / "dist", "intel-openmp", "2023.2", files={OPENMP: sound[LIB]})
    prefix = install(torch_wheel(tmp_path / "dist", sound), tmp_path / "env", {})
    with zipfile.ZipFile(other) as archive:
        archive.extractall(prefix / SITE)
    assert environment_findings(prefix) == {}
    assert clean_environment(prefix) == {}
    assert (prefix / SITE / OPENMP).exists()
