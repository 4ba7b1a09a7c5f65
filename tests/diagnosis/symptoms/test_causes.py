from __future__ import annotations

import re

import pytest

from tests.diagnosis.symptoms.explaining import explain_symptoms
from wheelfix.diagnosis.symptoms.causes import cause_table, explain_symptom
from wheelfix.diagnosis.symptoms.messages import messages
from wheelfix.diagnosis.symptoms.model import Cause, Confidence, Symptom, environment_prefix, read_table
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.knowledge.winerrors import winerror_table

TORCH_LIB = r"C:\Users\dana\envs\lab\Lib\site-packages\torch\lib"


def torch(code: int, file: str) -> Symptom:
    return Symptom("torch-load", code, rf"{TORCH_LIB}\{file}", package="torch")


def explain(symptom: Symptom) -> Cause:
    cause = explain_symptom(symptom)
    assert cause is not None
    return cause


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("VCRUNTIME140D.dll", "debug-build"),
        ("ucrtbased.dll", "debug-build"),
        ("msvcp140_1d.dll", "debug-build"),
        ("python311_d.dll", "debug-build"),
        ("api-ms-win-crt-runtime-l1-1-0.dll", "ucrt-missing"),
        ("api-ms-win-core-path-l1-1-0.dll", "windows-too-old"),
        ("MSVCR90.dll", "vc-2008-missing"),
        ("msvcr100.dll", "vc-2010-missing"),
        ("msvcp110.dll", "vc-2012-missing"),
        ("VCOMP120.dll", "vc-2013-missing"),
        ("vcomp140.dll", "vc-runtime-missing"),
        ("mfc140u.dll", "vc-runtime-missing"),
        ("nvcuda.dll", "driver-missing"),
        ("vulkan-1.dll", "graphics-driver-missing"),
        ("OpenCL.dll", "graphics-driver-missing"),
        ("MFPlat.DLL", "media-missing"),
        ("python311.dll", "python-dll-missing"),
        ("libcrypto-3-x64.dll", "named-file-missing"),
    ],
)
def test_the_name_of_a_missing_dll_tells_whose_it_is(name, cause):
    (found,) = explain_symptoms(
        read_symptoms(f"The code execution cannot proceed because {name} was not found. Reinstalling may fix this.\n")
    )
    assert found.id == cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('OSError: no library called "cairo-2" was found', "gtk-missing"),
        (r"java.lang.UnsatisfiedLinkError: C:\Temp\x.dll: Can't find dependent libraries", "missing-dependency"),
        (
            "System.BadImageFormatException: An attempt was made to load a program with an incorrect format.",
            "wrong-machine",
        ),
        ("ImportError: DLL load failed with error code -1073741795", "illegal-instruction"),
        (r"The ordinal 380 could not be located in the dynamic link library C:\x\mkl_core.2.dll.", "ordinal-clash"),
        ("Nie można uruchomić programu, ponieważ na komputerze brakuje pliku MSVCP140.dll.", "vc-runtime-missing"),
        ("FileNotFoundError: Could not find: nvinfer.dll. Is it on your PATH?", "named-file-missing"),
        ("OSError: Cannot find mpv-1.dll, mpv-2.dll or libmpv-2.dll in your system %PATH%.", "named-file-missing"),
        ("Cannot load library C:\\p\\qwindows.dll: The specified module could not be found.", "missing-dependency"),
    ],
)
def test_other_words_for_a_failed_load(text, cause):
    (found,) = explain_symptoms(read_symptoms(text + "\n"))
    assert found.id == cause


@pytest.mark.parametrize(
    ("text", "module", "library"),
    [
        (
            '  File "C:\\e\\lib\\site-packages\\h5py\\version.py", line 15, in <module>\n    from . import h5 as _h5\n'
            "ImportError: DLL load failed while importing defs: The specified procedure could not be found.\n",
            "the module defs of h5py",
            "hdf5.dll",
        ),
        (
            "from cryptography.hazmat.bindings._openssl import ffi,lib\n"
            "ImportError: DLL load failed: The operating system cannot run %1.\n",
            "the module cryptography.hazmat.bindings._openssl",
            "OpenSSL",
        ),
        (
            "ImportError: DLL load failed: The specified module could not be found.\n"
            '  File "C:\\e\\lib\\site-packages\\kivy\\core\\window\\window_sdl2.py", line 26, in <module>\n'
            "    from kivy.core.window._window_sdl2 import _WindowSDL2Storage\n",
            "the module _window_sdl2 of kivy",
            "kivy_deps.sdl2",
        ),
        (
            "1. ImportError: DLL load failed: The specified module could not be found.\n"
            'File "...env\\lib\\site-packages\\zmq\\backend\\cython\\__init__.py", line 6, in <module>\n'
            "2. ModuleNotFoundError: No module named 'other'\n"
            'File "...env\\lib\\site-packages\\spyder\\utils.py", line 15, in <module>\n',
            "a module of zmq",
            "libzmq",
        ),
        ("DLL load failed while importing flashattn_hopper_cuda\n", "the module flashattn_hopper_cuda", "torch"),
        (
            '  File "C:\\x\\site-packages\\cx_Freeze\\initscripts\\Console.py", line 37, in run\n'
            "ImportError: DLL load failed while importing QtCore: Can not find specific program\n",
            "the module QtCore, or",
            "Qt",
        ),
    ],
)
def test_a_module_is_named_with_its_package_and_the_library_behind_it(text, module, library):
    (cause,) = explain_symptoms(read_symptoms(text))
    assert module in cause.summary
    assert library in cause.summary + cause.what_is_known


def test_two_packages_that_miss_a_function_clash():
    text = "".join(
        f'  File "C:\\e\\Lib\\site-packages\\{name}\\__init__.py", line 73, in <module>\n'
        f"ImportError: DLL load failed while importing {name}x: The specified procedure could not be found.\n"
        for name in ("pyarrow", "libsumo")
    )
    assert all(
        cause.what_is_known.startswith("pyarrow and libsumo clash") for cause in explain_symptoms(read_symptoms(text))
    )


def test_a_code_that_is_not_known_is_not_called_absent():
    cause = explain(torch(1006, "c10.dll"))
    assert cause.id == "load-failed"
    assert "error 1006" in cause.summary


def test_a_line_of_source_in_a_traceback_is_not_the_message():
    text = """147                 err.strerror += f' Error loading "{dll}" or one of its dependencies.'\n"""
    assert read_symptoms(text) == ()


@pytest.mark.parametrize(
    "file", ["/usr/lib/python3/dist-packages/hid/__init__.py", r"C:\v\Lib\site-packages\hid\__init__.py"]
)
def test_a_list_of_names_for_all_systems_counts_on_windows_alone(file):
    text = (
        f'  File "{file}", line 31, in <module>\n    raise ImportError(error)\n'
        "ImportError: Unable to load any of the following libraries:libhidapi-hidraw.so hidapi.dll libhidapi-0.dll\n"
    )
    assert [cause.id for cause in explain_symptoms(read_symptoms(text))] == (
        [] if file.startswith("/") else ["library-by-name"]
    )


def test_the_code_of_a_later_line_belongs_to_the_library_above():
    text = (
        "XGBoost Library (xgboost.dll) could not be loaded.\nLikely causes:\n\nError message(s): ['[WinError 193] x']"
    )
    (symptom,) = read_symptoms(text)
    assert (symptom.code, symptom.file) == (193, "xgboost.dll")


@pytest.mark.parametrize("code", sorted(winerror_table().errors))
def test_every_known_code_has_a_cause(code):
    cause = explain(Symptom("winerror", code))
    assert cause.next_steps
    assert "{" not in cause.summary + cause.what_is_known


def test_codes_have_explanations_of_their_own():
    codes = (126, 127, 182, 193, 216, 998, 1114, 1260, 1455, 14001)
    assert len({explain(Symptom("winerror", code)).id for code in codes}) == len(codes)


@pytest.mark.parametrize(
    ("file", "cause", "missing"),
    [
        ("fbgemm.dll", "libomp140-missing", "libomp140.x86_64.dll"),
        ("aoti_custom_ops.dll", "test-artefact-first", "cupti64_*.dll"),
        ("Backend_With_Compiler.dll", "test-artefact-first", "cupti64_*.dll"),
        ("c10_cuda.dll", "torch-closure-broken", "cudart64_*.dll"),
        ("anything.dll", "torch-closure-broken", None),
    ],
)
def test_torch_names_the_first_in_its_load_order(file, cause, missing):
    found = explain(torch(126, file))
    assert found.id == cause
    assert (found.likely_missing or (None,))[0] == missing
    if cause != "libomp140-missing":
        assert "alphabetical order" in found.what_is_known


def test_commands_can_be_pasted():
    """Every command names the environment that the path lies in, and none has a hole left."""
    found = explain(torch(126, "aoti_custom_ops.dll"))
    commands = [step.command for step in found.next_steps]
    assert commands[0] == r'wheelfix diagnose --env "C:\Users\dana\envs\lab"'
    assert r'wheelfix repair --env "C:\Users\dana\envs\lab" --package torch' in commands
    assert [step.rank for step in found.next_steps] == list(range(1, len(commands) + 1))


def test_no_remedy_leads_to_a_download_site():
    for cause in cause_table().causes.values():
        for step in cause.next_steps:
            text = (step.command + step.why).replace("https://download.pytorch.org/whl/", "")  # PyTorch's own index
            assert not re.search(r"https?:|dll-files|download\.", text), step


def test_silencing_openmp_is_the_last_resort_and_says_its_danger():
    steps = explain(Symptom("omp-duplicate", dlls=("libiomp5md.dll",))).next_steps
    assert "KMP_DUPLICATE_LIB_OK" in steps[-1].command
    assert "wrong" in steps[-1].danger
    assert not any("KMP" in step.command for step in steps[:-1])
    assert not any("KMP" in step.command for cause in cause_table().causes.values() for step in cause.next_steps[:-1])


@pytest.mark.parametrize(
    ("dll", "command"),
    [
        ("cudnn_engines_precompiled64_9.dll", "nvidia-cudnn-cu"),
        ("mkl_avx2.2.dll", "mkl>=2022,<2026"),
        ("nvrtc-builtins64_117.dll", "nvidia-cuda-nvrtc-cu11==11.7.*"),
        ("zlibwapi.dll", "conda-forge libzlib-wapi"),
    ],
)
def test_the_vendors_package_is_named(dll, command):
    cause = explain(Symptom("could-not-locate", 126, dlls=(dll,)))
    assert any(command in step.command + step.why for step in cause.next_steps)


def test_no_package_is_chosen_where_the_text_does_not_tell_the_cuda_version():
    cause = explain(Symptom("could-not-locate", 126, dlls=("cudnn64_8.dll",)))
    assert not any("pip install" in step.command for step in cause.next_steps)


def test_a_card_gets_its_own_architecture():
    details = {"card": "RTX 5090", "capability": "sm_120", "supported": "sm_80 sm_90."}
    cause = explain(Symptom("no-kernel-image", details=details))
    assert cause.summary == "The package has no GPU code for this card: RTX 5090 has sm_120."
    assert "here sm_80 sm_90;" in cause.what_is_known
    assert "set TORCH_CUDA_ARCH_LIST=12.0" in [step.command for step in cause.next_steps]


def test_a_card_that_the_text_does_not_name_is_asked_for():
    """torch reads no ``native`` from TORCH_CUDA_ARCH_LIST."""
    steps = explain(Symptom("no-kernel-image")).next_steps
    assert not any("native" in step.command + step.why for step in steps if "TORCH_CUDA" in step.command + step.why)
    (ask,) = (step for step in steps if step.command.startswith("nvidia-smi --query-gpu=compute_cap"))
    assert "TORCH_CUDA_ARCH_LIST=8.6" in ask.why
    assert "8.6+PTX" in ask.why
    assert "Extensions have code of their own" in explain(Symptom("no-kernel-image")).what_is_known


def test_what_the_text_leaves_open_stays_a_guess():
    cause = explain(Symptom("dll-load-failed", None, module="_x"))
    assert (cause.id, cause.confidence) == ("load-failed", Confidence.GUESS)
    shaky = explain(Symptom("could-not-locate", 126, dlls=("zlibwapi.dll",), confidence=Confidence.LIKELY))
    assert shaky.confidence is Confidence.LIKELY


def test_guesses_come_last_and_twins_once():
    symptoms = [Symptom("dll-load-failed", None), Symptom("numpy-abi"), Symptom("numpy-abi", line=9)]
    assert [cause.id for cause in explain_symptoms(symptoms)] == ["numpy-abi", "load-failed"]


def test_an_unknown_kind_has_no_cause():
    assert explain_symptom(Symptom("something-new")) is None


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        (TORCH_LIB, r"C:\Users\dana\envs\lab"),
        (
            r"C:\Users\a\AppData\Roaming\Python\Python311\site-packages\torch",
            r"C:\Users\a\AppData\Roaming\Python\Python311",
        ),
        (r"c:\py\lib\site-packages", r"c:\py"),
        (r"C:\tools\x.dll", ""),
        ("x.dll", ""),
    ],
)
def test_the_environment_is_read_from_a_path(path, prefix):
    assert environment_prefix(path) == prefix


def test_rules_and_causes_lead_to_one_another():
    table, tree = cause_table(), read_table("causes.toml").tree
    led_to = {rule.cause for rule in table.rules}
    assert set(table.causes) <= led_to <= {*table.causes, *(message.id for message in messages())}
    assert len(table.causes) == len(tree["cause"])
    assert len({row["id"] for row in tree["remedy"]}) == len(tree["remedy"])
    assert {name for row in tree["remedy"] for name in row.get("needs", ())} <= set(table.needs)
