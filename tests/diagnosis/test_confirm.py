"""Causes that the files show, and two distributions that do not fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wheelfix
from tests.support.environments import install, lay
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis import confirm
from wheelfix.diagnosis.model import Diagnosis, DiagnosisOutcome
from wheelfix.diagnosis.symptoms.causes import cause_table

if TYPE_CHECKING:
    from pathlib import Path

HERMETIC = ScanOptions(roots=RootOptions(discover=False))
ADDS_ITS_BIN = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"
ERROR_127 = "ImportError: DLL load failed while importing _ext: The specified procedure could not be found.\n"
ERROR_126 = "ImportError: DLL load failed while importing _ext: The specified module could not be found.\n"


def user(folder: Path, requires: str = "flux==1.0", symbol: str = "old", version: str = "3.0") -> Path:
    """A package whose extension module imports a function of another distribution's DLL."""
    module = forge_dll("_ext.pyd", imports={"flux.dll": (symbol,)}, exports=["PyInit__ext"])
    files = {"user/__init__.py": "import flux\nfrom user import _ext\n", "user/_ext.pyd": module}
    return build_wheel(folder, "user", version, files=files, requires=[requires])


def flux(folder: Path, version: str = "2.1", exports: tuple[str, ...] = ("new",), needs: str = "") -> Path:
    """The distribution that has the DLL, in a folder that its own code adds."""
    data = forge_dll("flux.dll", exports=exports, imports={needs: ("f",)} if needs else {})
    return build_wheel(folder, "flux", version, files={"flux/__init__.py": ADDS_ITS_BIN, "flux/bin/flux.dll": data})


def torchvision(folder: Path, symbol: str = "gone") -> Path:
    module = forge_dll("_C.pyd", imports={"c10.dll": (symbol,)}, exports=["PyInit__C"])
    files = {"torchvision/__init__.py": "import torch\nfrom torchvision import _C\n", "torchvision/_C.pyd": module}
    return build_wheel(folder, "torchvision", "0.19.0", files=files, requires=["torch==2.4.0"])


def torch(folder: Path, version: str, extra: tuple[str, ...] = ()) -> Path:
    files: dict[str, bytes | str] = {f"torch/lib/{name}": forge_dll(name, exports=["f"]) for name in extra}
    files["torch/lib/c10.dll"] = forge_dll("c10.dll", exports=["there"])
    files["torch/__init__.py"] = ADDS_ITS_BIN.replace("bin", "lib")
    return build_wheel(folder, "torch", version, files=files)


def diagnose(text: str | None = None, **what: object) -> Diagnosis:
    return wheelfix.diagnose(text, options=HERMETIC, **what)  # type: ignore[arg-type]


def test_the_pair_is_the_cause_and_not_one_of_its_files(tmp_path):
    found = diagnose(ERROR_127, wheel=[user(tmp_path), flux(tmp_path)])
    (only,) = found.explained
    assert only.cause.summary == "user 3.0 does not fit flux 2.1: it requires flux==1.0."
    assert only.chain == ("_ext.pyd", "flux.dll")
    assert "_ext.pyd of user imports old from flux.dll" in only.explanation
    assert found.others == ()
    commands = [step.command for step in found.remedies]
    assert commands == ["", 'python -m pip install "flux==1.0"']
    assert "stop working" in found.remedies[1].danger


def test_a_folder_of_wheels_is_a_set_too(tmp_path):
    user(tmp_path)
    flux(tmp_path)
    assert diagnose(ERROR_127, wheel=tmp_path).explained[0].package == "user"


def test_without_a_text_the_set_shows_it_as_well(tmp_path):
    found = diagnose(wheel=[user(tmp_path), flux(tmp_path)])
    assert found.explained[0].cause.summary.startswith("user 3.0 does not fit flux 2.1")


def test_a_set_that_fits_has_no_fault(tmp_path):
    assert diagnose(wheel=[user(tmp_path, symbol="new"), flux(tmp_path)]).outcome is DiagnosisOutcome.NO_FAULT


def test_a_requirement_that_holds_is_not_blamed(tmp_path):
    found = diagnose(ERROR_127, wheel=[user(tmp_path, "flux>=2"), flux(tmp_path)])
    assert found.explained[0].cause.summary.endswith("it was built for another version or another kind of build.")
    assert len(found.remedies) == 1


def test_the_other_distribution_is_blamed_for_its_own_missing_dll(tmp_path):
    """_ext.pyd is named, but flux.dll of the other wheel needs what nothing has: its wheel is to be repaired."""
    broken = flux(tmp_path, exports=("old",), needs="zlib_of_flux.dll")
    found = diagnose(ERROR_126, wheel=[user(tmp_path), broken])
    first = found.explained[0]
    assert first.package == "flux"
    assert first.cause.summary == "zlib_of_flux.dll is missing, which flux.dll of flux 2.1 imports."
    assert not any(user(tmp_path).name in step.command for step in found.remedies)


def test_an_environment_blames_the_other_distribution_as_well(tmp_path):
    prefix = install(flux(tmp_path, exports=("old",), needs="zlib_of_flux.dll"), tmp_path / "env")
    lay(install(user(tmp_path), prefix), {"python.exe": b"MZ"})
    assert diagnose(ERROR_126, environment=prefix).explained[0].package == "flux"


def test_a_wheel_is_tried_in_the_environment_it_is_for(tmp_path):
    prefix = lay(install(flux(tmp_path), tmp_path / "env"), {"python.exe": b"MZ"})
    found = diagnose(ERROR_127, environment=prefix, wheel=user(tmp_path))
    assert found.explained[0].cause.summary.startswith("user 3.0 does not fit flux 2.1")


def test_several_wheels_of_one_distribution_are_examined_each(tmp_path):
    old, new = user(tmp_path), user(tmp_path, "flux>=2", "new", "4.0")
    found = diagnose(ERROR_127, wheel=[old, new, flux(tmp_path)])
    assert [one.package for one in found.explained] == ["user"]
    assert [one.told for one in found.evidence[1:]] == ["user 3.0", "user 4.0", "flux 2.1"]


def test_the_release_that_fits_is_named_for_torch(tmp_path):
    """torchvision 0.19.0 beside torch 2.9.1: each torch has one torchvision, and the kind of build stays."""
    found = diagnose(wheel=[torchvision(tmp_path), torch(tmp_path, "2.9.1+cu128", ("c10_cuda.dll",))])
    assert found.explained[0].cause.summary == (
        "torchvision 0.19.0 does not fit torch 2.9.1+cu128: it requires torch==2.4.0."
    )
    index = " --index-url https://download.pytorch.org/whl/cu128"
    assert [step.command for step in found.remedies] == [f'python -m pip install "torchvision==0.24.1"{index}', ""]
    assert "not known to have a build of it for cu128" in found.remedies[1].why


def test_the_torch_that_fits_is_of_the_same_kind(tmp_path):
    found = diagnose(wheel=[torchvision(tmp_path), torch(tmp_path, "2.5.0+cu121", ("c10_cuda.dll",))])
    index = " --index-url https://download.pytorch.org/whl/cu121"
    assert [step.command for step in found.remedies] == [
        f'python -m pip install "torchvision==0.20.0"{index}',
        f'python -m pip install "torch==2.4.0"{index}',
    ]


def test_a_build_for_a_gpu_without_a_label_is_not_replaced_by_pypis(tmp_path):
    found = diagnose(wheel=[torchvision(tmp_path), torch(tmp_path, "2.9.1", ("torch_cuda.dll",))])
    assert found.explained[0].cause.summary.startswith("torchvision 0.19.0 does not fit torch 2.9.1")
    assert not any("pip install" in step.command for step in found.remedies)


def test_a_recording_is_compared_with_a_set(tmp_path):
    text = (
        "LoadLibrary \\Device\\HarddiskVolume3\\env\\Lib\\site-packages\\user\\_ext.pyd\n"
        "LoadLibrary \\Device\\HarddiskVolume3\\Windows\\flux.dll\n"
    )
    found = diagnose(text, wheel=[user(tmp_path, symbol="new"), flux(tmp_path)])
    assert any("flux.dll: the model takes Lib/site-packages/flux/bin/flux.dll" in note for note in found.notes)


def test_every_cause_that_findings_show_is_in_the_table():
    """A cause that was renamed in the table would never be confirmed again."""
    known = cause_table().causes.keys()
    assert confirm._SHOWN_BY.keys() <= known
    assert known >= confirm._ANY_MISSING
