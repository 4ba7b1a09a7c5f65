"""From texts and environments to causes: the Kepler stories, a venv over conda, a user-site install, two OpenMPs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import wheelfix
from tests.pe.test_gpucode import SASS, container, entry
from tests.roots.trees import grow
from tests.support.environments import install, lay
from tests.support.gpucode import gpu_dll
from tests.support.nvidia import toolkit_files
from tests.support.torchlike import CU117, torch_wheel
from tests.support.wheels import build_wheel
from tools.example import kepler_cu114, kepler_cu117, write_roots, write_wheel
from tools.forge import forge_dll
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.diagnosis.diagnose import active_environment, answer
from wheelfix.diagnosis.model import DiagnoseRequest, Diagnosis, DiagnosisOutcome
from wheelfix.diagnosis.symptoms.model import Confidence
from wheelfix.errors import Exit, InputError, UsageError
from wheelfix.model import Machine

HERMETIC = ScanOptions(roots=RootOptions(discover=False))
STORY = kepler_cu117()
ONEAPI = {Path(name).name: data for name, data in STORY.roots["oneAPI"].items()}


def torch_error(file: str, code: int = 126) -> str:
    lib = r"C:\envs\ml\Lib\site-packages\torch\lib"
    return f'OSError: [WinError {code}] Das Modul. Error loading "{lib}\\{file}" or one of its dependencies.\n'


@pytest.fixture
def kepler(tmp_path: Path) -> Path:
    """torch 2.7.1 for CUDA 11.7 without MKL, OpenMP and CUPTI, installed."""
    prefix = install(write_wheel(STORY, tmp_path / "dist"), tmp_path / "env")
    return lay(prefix, {"python.exe": b"MZ"})


def diagnose(text: str | None = None, **what: object) -> Diagnosis:
    return wheelfix.diagnose(text, options=what.pop("options", HERMETIC), **what)  # type: ignore[arg-type]


def commands(diagnosis: Diagnosis) -> list[str]:
    return [remedy.command for remedy in diagnosis.remedies]


# ------------------------------------------------------------------------------------------------- with the files


def test_the_chain_leads_from_the_blamed_file_to_the_true_cause(kepler):
    found = diagnose(torch_error("aoti_custom_ops.dll"), environment=kepler)
    first = found.explained[0]
    assert found.outcome is DiagnosisOutcome.CAUSE
    assert first.chain == ("aoti_custom_ops.dll", "torch_cpu.dll", "mkl_intel_thread.2.dll")
    assert first.cause.summary == "mkl_intel_thread.2.dll is missing, which torch_cpu.dll imports."
    assert first.cause.likely_missing == ("mkl_intel_thread.2.dll",)
    assert first.cause.confidence is Confidence.SURE
    assert first.explanation.startswith("aoti_custom_ops.dll is whole; it is only the first file in torch's load order")
    assert found.only_fault is False
    assert any("cupti64_2022.2.1.dll" in other for other in found.others)
    assert [one.kind for one in found.evidence] == ["text", "environment"]


def test_remedies_without_roots_name_the_vendors_packages(kepler):
    found = commands(diagnose(torch_error("aoti_custom_ops.dll"), environment=kepler))
    assert found[0] == 'python -m pip install "mkl>=2022,<2026" intel-openmp'
    assert found[1] == 'python -m pip install "nvidia-cuda-cupti-cu11==11.7.*"'
    assert found[2] == f'wheelfix repair --env "{kepler}" --package torch'
    assert "set BUILD_TEST=0" in found
    assert "set USE_KINETO=0" in found
    assert not any(command.startswith("wheelfix diagnose") for command in found)


def test_remedies_with_roots_begin_with_the_repair_and_what_was_found(kepler, tmp_path):
    roots = write_roots(STORY, tmp_path / "roots")
    options = ScanOptions(roots=RootOptions(roots=tuple(roots.values()), discover=False))
    first, second, *_ = diagnose(torch_error("aoti_custom_ops.dll"), environment=kepler, options=options).remedies
    assert first.command.startswith(f'wheelfix repair --env "{kepler}" --package torch --root ')
    assert "cupti64_2022.2.1.dll (11.7.1)" in first.why
    assert second.command.startswith(f'wheelfix repair --drop-test-artifacts --env "{kepler}"')


def test_the_wheel_alone_tells_the_same(tmp_path):
    wheel = write_wheel(kepler_cu114(), tmp_path)
    found = diagnose(wheel=wheel)
    assert found.explained[0].chain == ("backend_with_compiler.dll", "torch_cuda.dll", "cudnn64_8.dll")
    repair = f'wheelfix repair "{wheel}" --allow-missing zlibwapi.dll'  # which PyPI does not have
    assert any(command.endswith(repair) for command in commands(found))
    assert [one.kind for one in found.evidence] == ["wheel"]


def test_an_environment_without_a_text_is_diagnosed_too(kepler):
    found = diagnose(environment=kepler)
    assert found.explained[0].cause.id == "test-artefact-first"
    assert found.explained[0].symptom is None


def test_a_venv_over_conda_finds_what_the_base_has(kepler, tmp_path):
    """MKL and OpenMP lie in the base's Library\\bin, which is searched; CUPTI lies nowhere: torch.dll is named."""
    base = lay(tmp_path / "conda", {f"Library/bin/{name}": data for name, data in ONEAPI.items()})
    lay(base, {"conda-meta/history": "", "python.exe": b"MZ"})
    lay(kepler, {"pyvenv.cfg": f"home = {base}\nversion = 3.11.9\n"})
    found = diagnose(torch_error("torch.dll"), environment=kepler)
    assert found.explained[0].chain == ("torch.dll", "torch_cuda.dll", "cupti64_2022.2.1.dll")
    assert found.explained[0].cause.likely_missing == ("cupti64_2022.2.1.dll",)


def test_a_user_site_install_searches_the_user_base(tmp_path):
    userbase = tmp_path / "Python"
    prefix = userbase / "Python311"
    install(write_wheel(STORY, tmp_path / "dist"), prefix, prefix / "site-packages")
    before = diagnose(torch_error("aoti_custom_ops.dll"), environment=prefix)
    assert before.explained[0].chain[-1] == "mkl_intel_thread.2.dll"
    lay(userbase, {f"Library/bin/{name}": data for name, data in ONEAPI.items()})
    after = diagnose(torch_error("aoti_custom_ops.dll"), environment=prefix)
    assert after.explained[0].chain[-1] == "cupti64_2022.2.1.dll"
    assert any("loads in the model of these files" in note for note in after.notes)


def test_two_openmp_runtimes_are_found_where_they_lie(tmp_path):
    files = {
        "torch/__init__.py": "x = 1\n",
        "torch/lib/libiomp5md.dll": forge_dll("libiomp5md.dll", exports=["omp"], size=4096),
    }
    prefix = install(build_wheel(tmp_path, "torch", "2.7.1", files=files), tmp_path / "env")
    lay(prefix, {"Library/bin/libiomp5md.dll": forge_dll("libiomp5md.dll", exports=["omp"], size=8192)})
    text = "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.\n"
    found = diagnose(text, environment=prefix)
    summary = found.explained[0].cause.summary
    assert summary.startswith(
        "2 OpenMP runtimes can meet in one process: libiomp5md.dll in Lib/site-packages/torch/lib"
    )
    assert "libiomp5md.dll in Library/bin" in summary
    assert "KMP_DUPLICATE_LIB_OK" in found.remedies[-1].command
    assert found.remedies[-1].danger


def test_a_part_that_is_loaded_by_name_is_found_missing(tmp_path):
    files = {
        "torch/__init__.py": "x = 1\n",
        "torch/version.py": "__version__ = '2.0.1+cu117'\ncuda = '11.7'\n",
        "torch/lib/torch_cuda.dll": forge_dll("torch_cuda.dll", imports={"cudnn64_8.dll": ["create"]}),
        "torch/lib/cudnn64_8.dll": forge_dll("cudnn64_8.dll", exports=["create"]),
    }
    prefix = install(build_wheel(tmp_path, "torch", "2.0.1+cu117", files=files), tmp_path / "env")
    found = diagnose(
        "Could not locate cudnn_ops_infer64_8.dll. Please make sure it is in your library path!", environment=prefix
    )
    first = found.explained[0]
    assert first.cause.id == "cudnn-part-missing"
    assert first.cause.summary == "cudnn_ops_infer64_8.dll is missing, which cudnn64_8.dll loads by name at run time."
    assert first.proven
    assert any("nvidia-cudnn-cu11" in command for command in commands(found))


def test_a_32_bit_file_among_64_bit_ones_is_found(tmp_path):
    files = {
        "torch/__init__.py": "x = 1\n",
        "torch/lib/c10.dll": forge_dll("c10.dll", imports={"zlibwapi.dll": ["inflate"]}),
        "torch/lib/zlibwapi.dll": forge_dll("zlibwapi.dll", exports=["inflate"], machine=Machine.X86),
    }
    prefix = install(build_wheel(tmp_path, "torch", "2.0", files=files), tmp_path / "env")
    first = diagnose(torch_error("c10.dll", 193), environment=prefix).explained[0]
    assert first.chain == ("c10.dll", "zlibwapi.dll")
    assert first.cause.id == "wrong-machine"
    assert first.cause.likely_missing == ()


def test_whole_files_and_126_point_to_the_c_runtime(tmp_path):
    """Windows Sandbox: torch is whole, the machine has no Visual C++ runtime."""
    files = {
        "torch/__init__.py": "x = 1\n",
        "torch/lib/c10.dll": forge_dll("c10.dll", imports={"MSVCP140.dll": ["f"]}),
    }
    prefix = install(build_wheel(tmp_path, "torch", "2.0", files=files), tmp_path / "env")
    found = diagnose(torch_error("c10.dll"), environment=prefix)
    first = found.explained[0]
    assert first.cause.id == "vc-runtime-missing"
    assert first.cause.confidence is Confidence.LIKELY
    assert first.chain == ("c10.dll", "MSVCP140.dll")
    assert commands(found)[0].startswith("winget install --id Microsoft.VCRedist")


def test_an_extension_module_is_found_by_its_name(tmp_path):
    files = {
        "pkg/__init__.py": "from pkg import _fast\n",
        "pkg/_fast.cp311-win_amd64.pyd": forge_dll("_fast.pyd", imports={"gone.dll": ["f"]}, exports=["PyInit__fast"]),
    }
    prefix = install(build_wheel(tmp_path, "pkg", "1.0", files=files), tmp_path / "env")
    found = diagnose("ImportError: DLL load failed while importing _fast: 找不到指定的模块。", environment=prefix)
    assert found.explained[0].chain == ("_fast.cp311-win_amd64.pyd", "gone.dll")
    assert found.only_fault


def test_a_sound_environment_has_no_fault(tmp_path):
    files = {"pkg/__init__.py": "", "pkg/a.dll": forge_dll("a.dll", imports={"KERNEL32.dll": ["Sleep"]})}
    prefix = install(build_wheel(tmp_path, "pkg", "1.0", files=files), tmp_path / "env")
    found = diagnose(environment=prefix)
    assert (found.outcome, found.explained, found.remedies) == (DiagnosisOutcome.NO_FAULT, (), ())


def test_files_that_contradict_the_text_are_said_to(kepler):
    found = diagnose(torch_error("aoti_custom_ops.dll", 1114), environment=kepler)
    assert any("The text has error 1114, these files give 126" in note for note in found.notes)


def test_a_dll_that_nobody_installed_is_doubted(kepler):
    lay(kepler, {"Lib/site-packages/torch/lib/zlibwapi.dll": forge_dll("zlibwapi.dll", exports=["inflate"])})
    warnings = diagnose(environment=kepler).warnings
    assert warnings == (
        "zlibwapi.dll in torch/lib does not belong to any installed package: it was put there by hand; it is not "
        "signed.",
    )


def test_a_vendors_dll_without_its_signature_is_doubted(tmp_path):
    files = {"torch/__init__.py": "", "torch/lib/libiomp5md.dll": forge_dll("libiomp5md.dll", exports=["omp"])}
    prefix = install(build_wheel(tmp_path, "torch", "2.0", files=files), tmp_path / "env")
    assert diagnose(environment=prefix).warnings == (
        "libiomp5md.dll in torch/lib is not signed, although Intel signs its releases.",
    )


# ------------------------------------------------------------------------------------------------- without the files


def test_a_text_alone_says_so():
    found = diagnose(torch_error("shm.dll"))
    assert found.outcome is DiagnosisOutcome.CAUSE
    assert found.only_fault is None
    assert commands(found)[0] == r'wheelfix diagnose --env "C:\envs\ml"'
    assert not found.notes


def test_a_text_without_dlls_could_not_be_told():
    found = diagnose("KeyError: 'colour'")
    assert found.outcome is DiagnosisOutcome.UNKNOWN
    assert [one.cause.id for one in found.explained] == ["program-code"]
    assert "No error of the loader" in found.explained[0].explanation
    silent = diagnose("all is well")
    assert (silent.outcome, silent.explained) == (DiagnosisOutcome.UNKNOWN, ())
    assert silent.quotes == ()


def test_a_guess_is_no_cause():
    found = diagnose("ImportError: DLL load failed while importing _x: ไม่พบ")
    assert found.outcome is DiagnosisOutcome.UNKNOWN
    assert found.explained[0].cause.id == "load-failed"


def test_several_errors_are_all_explained(kepler):
    text = (
        torch_error("aoti_custom_ops.dll")
        + "ValueError: numpy.dtype size changed, may indicate binary incompatibility.\n"
    )
    found = diagnose(text, environment=kepler)
    assert [one.cause.id for one in found.explained] == ["test-artefact-first", "numpy-abi"]
    assert [one.proven for one in found.explained] == [True, False]


# ----------------------------------------------------------------------------------------------- which environment


def test_nothing_to_go_by_is_a_usage_error():
    with pytest.raises(UsageError, match="nothing to diagnose"):
        diagnose()


def test_a_folder_that_is_no_environment_is_refused(tmp_path):
    with pytest.raises(InputError):
        diagnose(environment=tmp_path)


def test_the_active_environment_is_used_without_a_text(kepler):
    found = answer(DiagnoseRequest(active=kepler, options=HERMETIC))
    assert found.evidence[0].told == "the active environment; torch 2.7.1+cu117"
    assert found.outcome is DiagnosisOutcome.CAUSE


def test_what_is_active_is_told_by_variables(tmp_path):
    assert active_environment({"VIRTUAL_ENV": str(tmp_path)}) == tmp_path
    assert active_environment({"CONDA_PREFIX": str(tmp_path)}) == tmp_path
    assert active_environment({"VIRTUAL_ENV": str(tmp_path / "gone")}) is None


def test_a_package_may_be_named(kepler):
    with pytest.raises(InputError, match="numpy is not installed there"):
        diagnose(environment=kepler, package="numpy")
    assert diagnose(environment=kepler, package="torch").explained


def test_on_windows_the_environment_of_the_text_is_used_when_it_is_there(kepler, monkeypatch):
    monkeypatch.setattr("wheelfix.diagnosis.diagnose._on_windows", lambda: True)
    monkeypatch.setattr("wheelfix.diagnosis.diagnose.environment_prefix", lambda path: str(kepler) if path else "")
    named = answer(DiagnoseRequest(text=torch_error("aoti_custom_ops.dll"), options=HERMETIC))
    assert named.evidence[1].told == "named in the text; torch 2.7.1+cu117"
    assert named.explained[0].proven
    without_path = "ImportError: DLL load failed while importing _C: The specified module could not be found."
    active = answer(DiagnoseRequest(text=without_path, active=kepler, options=HERMETIC))
    assert active.evidence[1].told == "the active environment; torch 2.7.1+cu117"


def test_elsewhere_a_text_is_not_held_against_what_happens_to_be_active(kepler):
    found = answer(DiagnoseRequest(text=torch_error("aoti_custom_ops.dll"), active=kepler, options=HERMETIC))
    assert [one.kind for one in found.evidence] == ["text"]


def test_gpu_code_is_read_for_the_card_that_the_text_names(tmp_path):
    section = container(entry(SASS, 80, bytes(64)), entry(SASS, 90, bytes(64)))
    files = {
        "torch/__init__.py": "x = 1\n",
        "torch/version.py": "__version__ = '2.4.0+cu121'\ncuda = '12.1'\n",
        "torch/lib/torch_cuda.dll": forge_dll("torch_cuda.dll", exports=["at"], sections={".nv_fatb": section}),
    }
    prefix = install(build_wheel(tmp_path, "torch", "2.4.0+cu121", files=files), tmp_path / "env")
    text = (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    )
    first = diagnose(text, environment=prefix).explained[0]
    assert first.cause.id == "no-gpu-code"
    assert first.cause.summary.startswith("torch_cuda.dll has code for sm_80 and sm_90")
    assert first.proven


# ------------------------------------------------------------------------------------ texts from before, other cards


@pytest.mark.parametrize("drop", [False, True], ids=["kept", "dropped"])
def test_an_old_text_with_the_repaired_wheel_says_to_reinstall(drop, tmp_path):
    roots = RootOptions(roots=tuple(write_roots(STORY, tmp_path / "roots").values()), discover=False)
    options = RepairOptions(wheel_dir=tmp_path / "out", drop_test_artifacts=drop, scan=ScanOptions(roots=roots))
    made = wheelfix.repair(write_wheel(STORY, tmp_path / "dist"), options).output
    assert made is not None
    found = diagnose(torch_error("aoti_custom_ops.dll"), wheel=made)
    assert any("This wheel no longer has that fault" in note and "reinstall" in note for note in found.notes)
    assert commands(found)[0] == f'python -m pip install --force-reinstall --no-deps "{made}"'


def test_a_wheel_with_the_fault_is_not_reinstalled(tmp_path):
    found = diagnose(torch_error("aoti_custom_ops.dll"), wheel=write_wheel(STORY, tmp_path / "dist"))
    assert not any("reinstall" in line for line in [*found.notes, *commands(found)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
            "does not name the card",
        ),
        (
            "NVIDIA GeForce RTX 3060 with CUDA capability sm_86 is not compatible with the current PyTorch",
            "runs on sm_86",
        ),
    ],
    ids=["no-card", "a-card-that-is-served"],
)
def test_no_kernel_image_lists_what_the_wheel_has(text, said, tmp_path):
    code = gpu_dll("torch_cuda.dll", "sm_80", "sm_86", "ptx_86")
    files: dict[str, bytes | str] = {"torch/__init__.py": "", "torch/lib/torch_cuda.dll": code}
    found = diagnose(text, wheel=build_wheel(tmp_path, "torch", "2.0.0", files=files))
    (first,) = (one for one in found.explained if one.symptom and one.symptom.kind == "no-kernel-image")
    assert "torch_cuda.dll: sm_80, sm_86 and ptx_86" in first.explanation
    assert said in first.explanation


def test_each_step_is_one_that_works(tmp_path, capsys):
    """The first step was a repair that stopped, because cuDNN was not there."""
    wheel = torch_wheel(tmp_path / "dist", (*CU117, "cudnn64_8.dll"))
    toolkit, cudnn = grow(tmp_path / "v11.7", toolkit_files("11.7")), tmp_path / "cudnn"
    parts = [f"cudnn_{part}64_8.dll" for part in ("ops_infer", "ops_train", "cnn_infer", "cnn_train")]
    parts += ["cudnn64_8.dll", "cudnn_adv_infer64_8.dll", "cudnn_adv_train64_8.dll"]
    grow(cudnn, {f"bin/{name}": forge_dll(name, exports=["f"], version=(8, 9, 5, 29)) for name in parts})
    half = ScanOptions(roots=RootOptions(cuda=(toolkit,), discover=False), jobs=1)
    first, second, *_ = commands(wheelfix.diagnose(wheel=wheel, options=half))
    assert "pip install" in first
    assert "nvidia-cudnn-cu11" in first
    whole = ScanOptions(roots=RootOptions(cuda=(toolkit,), cudnn=(cudnn,), discover=False), jobs=1)
    step = commands(wheelfix.diagnose(wheel=wheel, options=whole))[0]
    for command, more in ((second, ["--cudnn", str(cudnn)]), (step, [])):  # instead of what pip would have installed
        words = shlex.split(command.removeprefix("wheelfix "))
        assert main([*words, *more, "-w", str(tmp_path / "out"), "-q"]) == Exit.OK, capsys.readouterr().err
