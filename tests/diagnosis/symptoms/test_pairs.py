"""Two releases that a message holds against each other are read, said, and each can be changed."""

from __future__ import annotations

import pytest

from wheelfix import diagnose
from wheelfix.diagnosis.symptoms.pairs import read_pair

CASES = (
    (
        "tensorflow-intel 2.12.0 requires numpy<1.24,>=1.22, but you have numpy 1.26.4 which is incompatible.",
        "tensorflow-intel 2.12.0 needs numpy <1.24,>=1.22, but found numpy 1.26.4",
        'python -m pip install "numpy<1.24,>=1.22"',
    ),
    (
        "xformers 0.0.34 depends on torch==2.10.0\n    The user requested (constraint) torch==2.11.0",
        "xformers 0.0.34 needs torch 2.10.0, but found torch 2.11.0",
        'python -m pip install --upgrade xformers "torch==2.11.0"',
    ),
    (
        "VersionConflict: (foo 0.19.1 (c:\\v\\site-packages), Requirement.parse('foo<0.19,>=0.14'))",
        "a part of it needs foo <0.19,>=0.14, but found foo 0.19.1",
        'python -m pip install "foo<0.19,>=0.14"',
    ),
    (
        "xFormers was built for:\n    PyTorch 2.5.1+cu124 with CUDA 1204 (you have 2.6.0+cu124)",
        "xFormers was built for PyTorch 2.5.1+cu124, but found PyTorch 2.6.0+cu124",
        'python -m pip install --upgrade xformers "torch==2.6.0" --index-url https://download.pytorch.org/whl/cu124',
    ),
    (
        "The detected CUDA version (12.1) mismatches the version that was used to compile\nPyTorch (11.7).",
        "PyTorch was built for CUDA 11.7, but found CUDA 12.1",
        "",
    ),
    (
        "error: the configured Python interpreter version (3.14) is newer than PyO3's maximum supported version (3.13)",
        "PyO3 goes up to Python 3.13, but found Python 3.14",
        "py -3.13 -m venv fresh",
    ),
    (
        "Package 'numba' requires a different Python: 3.12.1 not in '<3.12,>=3.8'",
        "numba needs Python <3.12,>=3.8, but found Python 3.12.1",
        "py -3.11 -m venv fresh",
    ),
    ("Numba needs NumPy 1.24 or less", "Numba needs NumPy 1.24 or less", 'python -m pip install "numpy<1.25"'),
    (
        "C:\\CUDA\\v11.3\\include\\crt/host_config.h(160): #error: -- unsupported Microsoft Visual Studio version! "
        "Only the versions between 2017 and 2019 (inclusive)",
        "CUDA 11.3 goes up to Visual Studio 2019",
        "",
    ),
    (
        "gencode 5.29.0 runtime 5.28.3",
        "a part of it was built for Protobuf 5.29.0, but found Protobuf 5.28.3",
        "protobuf",
    ),
)


@pytest.mark.parametrize(("text", "sentence", "command"), CASES, ids=[case[1] for case in CASES])
def test_both_sides_are_read(text, sentence, command):
    pair = read_pair(text, {})
    assert pair is not None
    assert pair.sentence == sentence
    commands = [step.command for step in pair.remedies()]
    assert any(command in one for one in commands) if command else not any(commands)


def test_the_other_side_can_stand_elsewhere_in_the_text():
    pair = read_pair("Numba needs NumPy 1.24 or less", {"numpy": "2.0.1"})
    assert pair is not None
    assert pair.found == "2.0.1"


@pytest.mark.parametrize(
    "text",
    ["", "torch 2.6.0 was installed", "requires Python, but you have a problem", "built with Visual Studio 2022"],
)
def test_other_lines_have_no_pair(text):
    assert read_pair(text, {}) is None


def test_a_cause_says_both_sides_and_the_commands_are_those_of_the_environment():
    """Story: "two packages ask for releases that do not go together; the line names them" was the whole answer."""
    line = "ImportError: scikit-learn requires numpy>=1.19.5, but found 1.18.1\n"
    first = diagnose(line).explained[0].cause
    assert first.summary == "scikit-learn needs numpy >=1.19.5, but found numpy 1.18.1."
    assert first.next_steps[0].command == 'python -m pip install "numpy>=1.19.5"'
    by_uv = diagnose(f"$ uv sync --all\n{line}").explained[0].cause
    assert by_uv.next_steps[0].command == 'uv pip install "numpy>=1.19.5"'


def test_several_files_of_one_cause_are_one_cause():
    text = "cublas64_11.dll -> not found\ncudart64_110.dll -> not found\n"
    found = diagnose(f"Failed to import CuPy.\nDLL dependencies:\n{text}")
    assert [one.cause.likely_missing for one in found.explained] == [("cublas64_11.dll", "cudart64_110.dll")]


def test_a_command_of_pip_is_for_the_python_of_the_host():
    text = 'File "C:/PROGRA~1/QGIS3~1.10/apps/qgis/./python/utils.py", line 1\n    import win32file\n'
    found = diagnose(f"{text}ImportError: DLL load failed: The specified module could not be found.\n")
    assert all("QGIS" in step.when for step in found.remedies if step.command.startswith("python -m pip"))
    assert "wheelfix diagnose" not in [step.command for step in found.remedies]
