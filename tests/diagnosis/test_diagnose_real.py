"""Real torch wheels, laid out as pip does, diagnosed from their real error lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.environments import install, lay
from tests.support.tiers import wheel
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.diagnose import diagnose
from wheelfix.diagnosis.model import DiagnosisOutcome
from wheelfix.diagnosis.symptoms.model import Confidence

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

QUIET = ScanOptions(roots=RootOptions(discover=False))


def torch_error(file: str, sentence: str = "The specified module could not be found.") -> str:
    lib = r"C:\Users\dana\envs\lab\Lib\site-packages\torch\lib"
    return f'OSError: [WinError 126] {sentence} Error loading "{lib}\\{file}" or one of its dependencies.\n'


@pytest.fixture(scope="module")
def torch_240(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = install(wheel("torch-2.4.0-cp311-cp311-win_amd64.whl"), tmp_path_factory.mktemp("torch240") / "env")
    return lay(made, {"python.exe": b"MZ", "python311.dll": forge_dll("python311.dll")})


def test_torch_240_lacks_what_it_forgot_to_ship(torch_240):
    found = diagnose(
        torch_error("fbgemm.dll", "Das angegebene Modul wurde nicht gefunden."), environment=torch_240, options=QUIET
    )
    first = found.explained[0]
    assert first.chain == ("fbgemm.dll", "libomp140.x86_64.dll")
    assert first.cause.id == "libomp140-missing"
    assert first.cause.confidence is Confidence.SURE
    assert "Also in need of it: torch_cpu.dll" in first.explanation
    assert not found.only_fault, "what torch requires is not installed there"
    assert found.remedies[0].command == 'python -m pip install --upgrade "torch==2.4.1"'
    assert found.warnings == ()


def test_torch_240_with_intels_openmp_beside_it(torch_240):
    """The second libiomp5md.dll of a pip install lands in Library\\bin; both are found when OMP complains."""
    install(wheel("intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl"), torch_240)
    text = "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.\n"
    found = diagnose(text, environment=torch_240, options=QUIET)
    first = next(one for one in found.explained if one.cause.id == "two-openmp")
    assert "libiomp5md.dll in Lib/site-packages/torch/lib" in first.cause.summary
    assert "libiomp5md.dll in Library/bin" in first.cause.summary
    assert "KMP_DUPLICATE_LIB_OK" in found.remedies[-1].command


def test_torch_241_is_whole(tmp_path):
    found = diagnose(wheel=wheel("torch-2.4.1-cp311-cp311-win_amd64.whl"), options=QUIET)
    assert (found.outcome, found.explained) == (DiagnosisOutcome.NO_FAULT, ())


def test_a_build_like_keplers_from_a_real_torch(tmp_path):
    """torch 2.7.1 with a test artefact and a dynamically linked MKL: the artefact is blamed, MKL is missing."""
    prefix = install(wheel("torch-2.7.1-cp311-cp311-win_amd64.whl"), tmp_path / "env")
    lib = prefix / "Lib" / "site-packages" / "torch" / "lib"
    artefact = forge_dll("aoti_custom_ops.dll", imports={"torch_cpu.dll": [], "mkl_intel_thread.2.dll": ["f"]})
    (lib / "aoti_custom_ops.dll").write_bytes(artefact)
    found = diagnose(torch_error("aoti_custom_ops.dll"), environment=prefix, options=QUIET)
    assert found.explained[0].chain == ("aoti_custom_ops.dll", "mkl_intel_thread.2.dll")
    assert any(
        "aoti_custom_ops.dll in torch/lib does not belong to any installed package" in text for text in found.warnings
    )
    repaired = install(wheel("mkl-2023.2.0-py2.py3-none-win_amd64.whl"), prefix)
    after = diagnose(torch_error("aoti_custom_ops.dll"), environment=repaired, options=QUIET)
    assert not any(one.cause.likely_missing for one in after.explained if one.proven)
