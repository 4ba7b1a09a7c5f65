"""A pasted block about a machine is read, and what does not fit together in it is named."""

from __future__ import annotations

import pytest

import wheelfix
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.symptoms.triage import contradictions, read_machine

BLOCK = """\
PyTorch version: 2.4.0+cu121
CUDA used to build PyTorch: 12.1
OS: Microsoft Windows 11 Pro
CUDA runtime version: 12.4.99
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090
Nvidia driver version: 572.16
"""


def named(text: str) -> list[str]:
    return contradictions(read_machine(text))


def test_a_card_that_the_toolkit_does_not_know() -> None:
    assert named(BLOCK) == ["NVIDIA GeForce RTX 5090 has compute capability 12.0, which CUDA 12.1 does not know."]


@pytest.mark.parametrize("card", ["NVIDIA RTX 2000 Ada Generation Laptop GPU", "NVIDIA GeForce RTX 4090 D"])
def test_a_card_that_only_the_list_of_devices_has(card: str) -> None:
    (note,) = named(f"CUDA used to build PyTorch: 11.6\nGPU 0: {card}\n")
    assert note == f"{card} has compute capability 8.9, which CUDA 11.6 does not know."


@pytest.mark.parametrize("card", ["NVIDIA GeForce GTX 860M", "AMD Radeon RX 7900 XTX", "NVIDIA RTX 6000"])
def test_nothing_is_said_about_a_name_of_several_cards_or_of_another_vendor(card: str) -> None:
    assert named(f"CUDA used to build PyTorch: 13.0\nGPU 0: {card}\n") == []


def test_a_sound_machine_has_no_contradiction() -> None:
    assert named(BLOCK.replace("12.1", "12.8").replace("cu121", "cu128")) == []
    assert named("") == []
    assert named("GPU 0: Something Else\nCUDA used to build PyTorch: None\nPATH=C:\\cl.exe") == []


def test_two_nvcc_and_two_compilers() -> None:
    text = "Cuda compilation tools, release 11.7, V11.7.99\nCuda compilation tools, release 12.4, V12.4.131\n"
    assert named(text) == ["There are several nvcc: of CUDA 11.7 and 12.4."]
    where = "\n".join([r"C:\VS\2019\cl.exe", r"D:\VS\2022\cl.exe", r"C:\cuda\v11\nvcc.exe", r"C:\cuda\v12\nvcc.exe"])
    assert [note.partition(" on PATH")[0] for note in named(where)] == [
        "There are several nvcc",
        "There are several cl.exe",
    ]


def test_a_driver_older_than_the_toolkit_needs() -> None:
    (note,) = named("CUDA used to build PyTorch: 12.1\nNvidia driver version: 472.12\n")
    assert note.startswith("The driver 472.12 is older than CUDA 12.1 needs (")


def test_a_build_for_another_card() -> None:
    text = "set TORCH_CUDA_ARCH_LIST=8.9\nGPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-x)\n"
    assert named(text) == ["TORCH_CUDA_ARCH_LIST=8.9 has no code for NVIDIA GeForce RTX 5090, which is 12.0."]
    assert named(text.replace("8.9", "8.9+PTX")) == []
    assert named(text.replace("8.9", "8.6;12.0")) == []


@pytest.mark.parametrize("text", ["\x00" * 1000, "GPU 0: " * 5000, "release " * 10_000, "x=" * 100_000])
def test_odd_text_is_read_quietly(text: str) -> None:
    assert named(text) == []


def test_contradictions_are_notes_of_a_diagnosis() -> None:
    found = wheelfix.diagnose(BLOCK, options=ScanOptions(roots=RootOptions(discover=False)))
    assert any("which CUDA 12.1 does not know" in note for note in found.notes)
