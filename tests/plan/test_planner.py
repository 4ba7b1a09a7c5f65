"""Choices of the planner that once ended nowhere: own copies, DLLs added a round earlier, namesakes."""

from __future__ import annotations

import hashlib
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.base.values import replace
from wheelfix.demo.forge import forge_dll
from wheelfix.exam.scan import scan
from wheelfix.model import Machine, Verdict
from wheelfix.repairs.repair import repair_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.repairs.outcome import Repaired


def module(**imports: list[str]) -> bytes:
    """An extension module that imports from ``NAME.dll``."""
    return forge_dll("x.pyd", imports={f"{name}.dll": symbols for name, symbols in imports.items()}, exports=["PyInit"])


def dll(name: str, *exports: str, imports: dict[str, list[str | int]] | None = None, **more: object) -> bytes:
    return forge_dll(f"{name}.dll", exports=list(exports), imports=imports or {}, **more)  # type: ignore[arg-type]


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def options(wheel: Path, *roots: Path, layout: str = "beside") -> RepairOptions:
    scanning = ScanOptions(roots=RootOptions(roots=roots, discover=False), jobs=1)
    return RepairOptions(wheel_dir=wheel.parent / "out", scan=scanning, layout=layout)


def repair(wheel: Path, *roots: Path, layout: str = "beside") -> Repaired:
    return repair_wheel(wheel, options(wheel, *roots, layout=layout))


def contents(result: Repaired) -> dict[str, bytes]:
    assert result.output is not None
    with zipfile.ZipFile(result.output) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_dll_that_the_plan_added_a_round_earlier_is_added_again_from_its_root(tmp_path: Path) -> None:
    """python_flint without its DLLs: the second round copied from a member that did not exist, and said "run again"."""
    files: dict[str, bytes | str] = {
        "pkg/__init__.py": "",
        "pkg/a/_a.cp311-win_amd64.pyd": module(flint=["solve"]),
        "pkg/b/_b.cp311-win_amd64.pyd": module(gmp=["add"], late=["x"]),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    gmp = dll("gmp", "add")
    beside = {
        "gmp.dll": gmp,
        "flint.dll": dll("flint", "solve", imports={"gmp.dll": ["add"]}),
        "late.dll": dll("late", "x", imports={"later.dll": ["y"]}),
        "later.dll": dll("later", "y"),
    }
    root = write(tmp_path / "root", beside)
    result = repair(wheel, root)
    made = contents(result)
    assert made["pkg/a/gmp.dll"] == made["pkg/b/gmp.dll"] == gmp
    assert {entry.source.kind for entry in result.plan.additions} == {"file"}
    assert scan(result.output or "").verdict is Verdict.OK


def test_a_copy_in_the_wheel_that_does_not_fit_is_not_copied(tmp_path: Path) -> None:
    good = dll("omp", "fork")
    files: dict[str, bytes | str] = {
        "pkg/__init__.py": "",
        "pkg/_a.cp311-win_amd64.pyd": module(omp=["fork"]),
        "pkg/x86/omp.dll": dll("omp", "fork", machine=Machine.X86),
        "pkg/old/omp.dll": dll("omp", "join"),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    assert contents(repair(wheel, write(tmp_path / "root", {"omp.dll": good})))["pkg/omp.dll"] == good


@pytest.mark.parametrize("layout", ["beside", "auto", "libs"])
def test_of_namesakes_the_one_is_taken_whose_own_imports_can_be_met(layout: str, tmp_path: Path) -> None:
    """The tables wheel has libblosc2.dll twice; only one of them imports DLLs under names that exist."""
    files: dict[str, bytes | str] = {
        "tables/__init__.py": "import ctypes\nctypes.CDLL(__file__.replace('__init__.py', 'libblosc2.dll'))\n",
        "tables/_a.cp311-win_amd64.pyd": module(libblosc2=["pack"]),
    }
    wheel = build_wheel(tmp_path, "tables", "1.0", files=files)
    right = dll("libblosc2", "pack", imports={"zstd-5f.dll": ["z"]})
    one = write(tmp_path / "one", {"libblosc2.dll": dll("libblosc2", "pack", imports={"zstd.dll": ["z"]})})
    two = write(tmp_path / "two", {"libblosc2.dll": right, "zstd-5f.dll": dll("zstd-5f", "z")})
    result = repair(wheel, one, two, layout=layout)
    assert contents(result)["tables/libblosc2.dll"].startswith(right[:64])
    assert scan(result.output or "").verdict is not Verdict.BROKEN
    (chosen,) = (entry for entry in result.plan.additions if entry.name == "libblosc2.dll")
    assert "imports zstd.dll, which no root has" in " ".join(entry.reason for entry in chosen.rejected)


def test_namesakes_go_to_those_who_need_them(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "one/__init__.py": "",
        "one/_a.cp311-win_amd64.pyd": module(zip=["inflate_old"]),
        "two/__init__.py": "",
        "two/_b.cp311-win_amd64.pyd": module(zip=["inflate_new"]),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    old, new = dll("zip", "inflate_old"), dll("zip", "inflate_new")
    roots = write(tmp_path / "old", {"zip.dll": old}), write(tmp_path / "new", {"zip.dll": new})
    plan = repair_wheel(wheel, options(wheel, *roots), dry_run=True).plan
    digests = {entry.target: entry.sha256 for entry in plan.additions}
    wanted = {"one/zip.dll": old, "two/zip.dll": new}
    assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in wanted.items()}


def test_a_dll_that_is_installed_beside_python_gets_its_own_beside_it(tmp_path: Path) -> None:
    """The plan named a member with an empty folder in it, which nobody would write."""
    needer = dll("runtime", "go", imports={"part.dll": ["x"]})
    files: dict[str, bytes | str] = {"pkg/__init__.py": "", "pkg-1.0.data/data/runtime.dll": needer}
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    made = contents(repair(wheel, write(tmp_path / "root", {"part.dll": dll("part", "x")})))
    assert "pkg-1.0.data/data/part.dll" in made


def test_a_dll_for_one_of_several_backends_is_copied_to_it(tmp_path: Path) -> None:
    """A warning that is no doubt about the place kept the copy away, and the module from loading."""
    part = dll("part", "x")
    files: dict[str, bytes | str] = {
        "pkg/__init__.py": "",
        "pkg/part.dll": part,
        "pkg/y/__init__.py": "",
        "pkg/y/_m0.cp311-win_amd64.pyd": module(part=["x"]),
        "pkg/y/_m1.cp311-win_amd64.pyd": module(other=["y"]),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    made = contents(repair(wheel, write(tmp_path / "root", {"other.dll": dll("other", "y")})))
    assert made["pkg/y/part.dll"] == part


def test_a_need_that_becomes_real_in_a_later_round_is_met(tmp_path: Path) -> None:
    """The part of cuDNN was first asked for by a DLL that nothing loads; the answer "no" stood for bar.dll as well."""
    part = "cudnn_ops_infer64_8"
    files: dict[str, bytes | str] = {
        "torch/__init__.py": "import os\n# userbase\n",
        "torch/lib/torch_cpu.dll": dll("torch_cpu", imports={"bar.dll": ["f"]}),
        "torch/bin/cudnn64_8.dll": dll("cudnn64_8", "f"),
        "torch/bar.dll": dll("bar", "f", imports={f"{part}.dll": ["f"]}),
        f"torch/{part}.dll": dll(part, "f"),
    }
    wheel = build_wheel(tmp_path, "torch", "1.0", files=files)
    result = repair_wheel(wheel, replace(options(wheel), allow_missing=("cudnn*",)))
    assert {addition.target for addition in result.plan.additions} == {"torch/lib/bar.dll", f"torch/lib/{part}.dll"}


def test_a_dll_goes_to_every_module_that_cannot_load_without_it(tmp_path: Path) -> None:
    """bar.dll was put beside y/_b only, and ``import pkg.x`` raised 126: each module has to load on its own."""
    files: dict[str, bytes | str] = {
        "pkg/__init__.py": "",
        "pkg/x/__init__.py": "",
        "pkg/x/_a.cp311-win_amd64.pyd": module(foo=["f"]),
        "pkg/x/foo.dll": dll("foo", "f", imports={"bar.dll": ["f"]}),
        "pkg/y/__init__.py": "",
        "pkg/y/_b.cp311-win_amd64.pyd": module(bar=["f"]),
    }
    root = write(tmp_path / "root", {"bar.dll": dll("bar", "f")})
    result = repair(build_wheel(tmp_path, "pkg", "1.0", files=files), root)
    assert {addition.target for addition in result.plan.additions} == {"pkg/x/bar.dll", "pkg/y/bar.dll"}
