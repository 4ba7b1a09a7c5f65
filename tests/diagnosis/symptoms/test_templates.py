"""Commands that install again keep the kind of build."""

from __future__ import annotations

import re

import pytest

from wheelfix.base.values import replace
from wheelfix.diagnosis.symptoms.causes import cause_table, explain_symptom
from wheelfix.diagnosis.symptoms.model import Symptom
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.knowledge.builds import again, for_card, in_release, together
from wheelfix.knowledge.cuda import TorchBuild, cuda_labels
from wheelfix.knowledge.providers import distribution_of_module, module_owners


def commands(text: str, **details: str) -> list[str]:
    """The commands for the first symptom of a text, with what is known about the environment."""
    symptom = read_symptoms(text)[0]
    cause = explain_symptom(replace(symptom, details={**symptom.details, **details}))
    assert cause is not None
    return [step.command for step in cause.next_steps]


LIB = r"C:\v\Lib\site-packages\torch\lib"
FBGEMM = f'OSError: [WinError 126] x Error loading "{LIB}\\fbgemm.dll" or one of its dependencies.'
BLACKWELL = (
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation."
)


def test_a_cuda_user_is_never_given_the_cpu_build():
    """Story: "no kernel image" on an RTX 5090 was answered with ``pip install --upgrade torch``, a CPU build."""
    first = commands(BLACKWELL)[0]
    assert first == "python -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu128"
    assert commands(FBGEMM, torch="2.4.0+cu121")[0] == (
        'python -m pip install --upgrade "torch==2.4.1" --index-url https://download.pytorch.org/whl/cu121'
    )


def test_without_knowing_the_build_no_command_installs_torch():
    assert commands(FBGEMM)[0] == ""
    assert not any(re.search(r"pip install.*torch", command) for command in commands(FBGEMM))


def test_a_build_from_elsewhere_is_not_replaced():
    for label in ("cu117", "git1234", "rocm6.4", "cu999"):
        build = TorchBuild.parse(f"2.7.1+{label}")
        assert not build.is_published
        assert again("torch", "", build) == in_release(build, "2.9.1") == together(build, "torchvision") == ""


@pytest.mark.parametrize(
    ("version", "option"),
    [("2.7.1", ""), ("2.7.1+cpu", "/cpu"), ("2.7.1+cu126", "/cu126"), ("2.0.1+cu117", "/cu117"), ("2.8.0+xpu", "/xpu")],
)
def test_the_index_follows_the_label(version, option):
    build = TorchBuild.parse(version)
    command = again("torch", "", build)
    assert f'"torch=={version.partition("+")[0]}"' in command
    assert command.endswith(f" --index-url https://download.pytorch.org/whl{option}" if option else '"')


@pytest.mark.parametrize("module", ["win32api", "QtCore", "yaml_foo", "cv2", "cupy", "_C", "", "nvidia", "PIL"])
def test_a_module_name_is_not_a_distribution_name(module):
    """Story: ``pip install --force-reinstall yaml_foo`` was advised, which fails today and invites squatting."""
    assert distribution_of_module(module) == ""
    for code in (126, 127, 193, 1114):
        cause = explain_symptom(Symptom("dll-load-failed", code, module=module))
        assert cause is not None
        for step in cause.next_steps:
            assert module == "" or "pip install" not in step.command or module not in step.command


def test_a_distribution_of_the_modules_own_name_is_named():
    assert distribution_of_module("numpy._core") == "numpy"
    text = "ImportError: DLL load failed while importing _multiarray_umath: The specified module could not be found."
    assert commands(text)[0] == "python -m pip show numpy"  # pip install alone would take the newest release
    assert commands(text, distribution="numpy", version="2.3.4")[0].endswith('"numpy==2.3.4"')
    assert all(owners for owners in module_owners().values())


@pytest.mark.parametrize(
    ("capability", "label"), [("sm_120", "cu128"), ("sm_86", "cu118"), ("sm_103", "cu129"), ("sm_35", ""), ("x", "")]
)
def test_the_build_for_a_card(capability, label):
    assert for_card(capability).rpartition("/")[2] == label


def test_needs_that_do_not_hold_drop_a_remedy():
    text = "ImportError: DLL load failed while importing onnx_cpp2py_export: The specified module could not be found."
    msvc = "python -m pip install msvc-runtime"
    assert msvc in commands(text)
    assert msvc in commands(text, environment="venv")
    assert msvc not in commands(text, environment="conda")
    kineto = "set USE_KINETO=0"
    shm = FBGEMM.replace("fbgemm", "shm")
    assert kineto in commands(shm)
    assert kineto not in commands(shm, torch="2.7.1+cu126")
    assert kineto in commands(shm, torch="2.7.1+cu117")


def test_no_remedy_of_the_table_installs_a_fixed_torch_without_an_index():
    for cause in cause_table().causes.values():
        for step in cause.next_steps:
            assert not re.search(r"pip install[^\n]*\btorch\b", step.command) or "--index-url" in step.command, step


def test_labels_are_in_the_order_of_cuda():
    assert cuda_labels()[0] == "cu113"
    assert cuda_labels()[-1] == "cu132"
