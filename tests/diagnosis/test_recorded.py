"""Recorded loads as evidence: they name the first failure, and are compared with the model of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

import wheelfix
from tests.support.environments import install, lay
from tools.example import kepler_cu117, write_wheel
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.model import Diagnosis, DiagnosisOutcome
from wheelfix.diagnosis.symptoms.model import Confidence
from wheelfix.errors import InputError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "recordings"
HERMETIC = ScanOptions(roots=RootOptions(discover=False))
LIB = r"C:\envs\lab\Lib\site-packages\torch\lib"


def diagnose(text: str | bytes, **what: object) -> Diagnosis:
    return wheelfix.diagnose(text, options=HERMETIC, **what)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def kepler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """torch 2.7.1 for CUDA 11.7 without MKL, OpenMP and CUPTI, installed."""
    folder = tmp_path_factory.mktemp("kepler")
    prefix = install(write_wheel(kepler_cu117(), folder / "dist"), folder / "env")
    return lay(prefix, {"python.exe": b"MZ"})


def test_loader_snaps_alone_name_the_missing_dll_and_its_chain():
    found = diagnose((FIXTURES / "snaps-126.txt").read_bytes())
    first = found.explained[0]
    assert found.outcome is DiagnosisOutcome.CAUSE
    assert first.cause.summary == "mkl_intel_thread.2.dll was not found; torch_cpu.dll imports it."
    assert first.chain == ("shm.dll", "torch_cpu.dll", "mkl_intel_thread.2.dll")
    assert first.cause.confidence is Confidence.SURE
    assert rf"Searched: {LIB}; C:\Windows\SYSTEM32." in first.explanation
    assert [(one.kind, one.told) for one in found.evidence] == [("record", "loader snaps: 2 DLLs loaded, 2 failed")]
    assert not any("ext-ms" in one.cause.summary for one in found.explained)


def test_a_missing_symbol_is_no_missing_file():
    found = diagnose((FIXTURES / "snaps-127.txt").read_bytes())
    first = found.explained[0]
    assert first.cause.id == "torch-extension-mismatch"
    assert "_C.pyd imports ?toTensor@IValue@c10" in first.cause.summary
    assert first.cause.likely_missing == ()


def test_dlltracer_alone_cannot_name_it_and_says_what_would():
    found = diagnose((FIXTURES / "dlltracer-missing.txt").read_bytes())
    first = found.explained[0]
    assert first.cause.summary.startswith("shm.dll was mapped and released again")
    assert first.cause.likely_missing == ()
    assert "wheelfix diagnose --record" in first.explanation
    assert "Released with it: torch_cpu.dll, c10.dll." in first.explanation


def test_dlltracer_with_the_files_names_it(kepler):
    found = diagnose((FIXTURES / "dlltracer-missing.txt").read_bytes(), environment=kepler)
    first = found.explained[0]
    assert first.cause.summary == "mkl_intel_thread.2.dll is missing, which torch_cpu.dll imports."
    assert first.chain == ("shm.dll", "torch_cpu.dll", "mkl_intel_thread.2.dll")
    assert first.package == "torch"


def test_the_record_overrules_the_model(kepler):
    """The process found MKL in a folder of its own; what it did not find comes first, and the difference is said."""
    text = (
        r'0024:trace:loaddll:build_module Loaded L"D:\\mkl\\mkl_intel_thread.2.dll" at 1800: native'
        "\n0024:err:module:import_dll Library libiomp5md.dll "
        rf'(which is needed by L"{LIB}\torch_cpu.dll") not found'
    )
    found = diagnose(text, environment=kepler)
    assert found.explained[0].cause.summary == "libiomp5md.dll was not found; torch_cpu.dll imports it."
    assert not any("mkl_intel_thread.2.dll" in one.cause.likely_missing for one in found.explained)
    note = r"mkl_intel_thread.2.dll: no provider in these files; the record shows it loaded from D:\mkl"
    assert any(one.startswith(note) for one in found.notes)


def test_what_the_record_missed_and_the_files_have_is_said(kepler):
    text = rf'0024:err:module:import_dll Library c10.dll (which is needed by L"{LIB}\torch_cpu.dll") not found'
    notes = diagnose(text, environment=kepler).notes
    assert any(note.startswith("c10.dll: not found in the record; these files have it at") for note in notes)


def test_process_monitor_is_likely_and_not_sure():
    first = diagnose((FIXTURES / "procmon.csv").read_bytes()).explained[0]
    assert first.cause.summary == "cupti64_2022.2.1.dll was not found."
    assert first.cause.confidence is Confidence.LIKELY


def test_a_listing_of_imports_is_no_verdict():
    found = diagnose((FIXTURES / "dumpbin.txt").read_bytes())
    assert found.outcome is DiagnosisOutcome.UNKNOWN
    assert any("does not say which of them are missing" in note for note in found.notes)


def test_several_wheels_and_folders(tmp_path):
    wheel = write_wheel(kepler_cu117(), tmp_path / "dist")
    found = wheelfix.diagnose(wheel=[tmp_path / "dist", wheel], options=HERMETIC)
    assert [one.kind for one in found.evidence] == ["wheel"]
    assert found.outcome is DiagnosisOutcome.CAUSE
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no wheel in this folder"):
        wheelfix.diagnose(wheel=tmp_path / "empty", options=HERMETIC)


def test_an_empty_text_is_called_empty():
    found = diagnose("")
    assert found.outcome is DiagnosisOutcome.UNKNOWN
    assert found.evidence[0].told == "it is empty"


def test_a_damaged_pml_file_is_an_error_with_a_way_out():
    with pytest.raises(InputError, match="PML") as caught:
        diagnose(b"PML_" + b"\x01" * 500)
    assert "CSV" in (caught.value.hint or "")


def test_a_record_that_ends_in_a_release_blames_no_single_module():
    """The loader releases in reverse: when the list was cut after the first release, the DLL asked for is not in it."""
    names = ("shm.dll", "torch_cpu.dll", "c10.dll")
    where = "00007fff`c6b40000 00007fff`d7b2f000"
    mapped = "".join(f"ModLoad: {where}   {LIB}\\{name}\n" for name in ("python311.dll", *names))
    gone = [f"Module unloaded: {where} {LIB}\\{name}\n" for name in reversed(names)]
    cut = diagnose(f"ModLoad: {where}   C:\\python.exe\n(1a2c.3f4): Break instruction\n{mapped}{gone[0]}").explained[0]
    assert cut.cause.summary.startswith("c10.dll was mapped and released again, and the record ends there")
    assert "Mapped just before it, perhaps by the same load: python311.dll, shm.dll, torch_cpu.dll." in cut.explanation
    whole = diagnose(mapped + "".join(gone) + f"ModLoad: {where}   {LIB}\\other.dll\n").explained[0]
    assert whole.cause.summary.startswith("shm.dll was mapped and released again: something that it needs")
    assert "perhaps" not in whole.explanation
