"""Symptoms as values, how they are recognised, and pasted blocks about a machine in which something does not fit."""

from __future__ import annotations

import pytest

import wheelfix
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.symptoms.facts import read_machine
from wheelfix.diagnosis.symptoms.model import dll_names, named_path, package_of, tidy_path
from wheelfix.diagnosis.symptoms.reader import read_symptoms
from wheelfix.diagnosis.symptoms.recognise import (
    language_of,
    nearest_sentence,
    read_sentence,
    repair_encoding,
)
from wheelfix.knowledge.fit import contradictions
from wheelfix.knowledge.winerrors import winerror_table

BLOCK = """\
PyTorch version: 2.4.0+cu121
CUDA used to build PyTorch: 12.1
OS: Microsoft Windows 11 Pro
CUDA runtime version: 12.4.99
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090
Nvidia driver version: 572.16
"""


def named(text: str) -> list[str]:
    return contradictions(read_machine(text.splitlines()))


def test_a_card_that_the_toolkit_does_not_know():
    assert named(BLOCK) == ["NVIDIA GeForce RTX 5090 has compute capability 12.0, which CUDA 12.1 does not know."]


@pytest.mark.parametrize("card", ["NVIDIA RTX 2000 Ada Generation Laptop GPU", "NVIDIA GeForce RTX 4090 D"])
def test_a_card_that_only_the_list_of_devices_has(card):
    (note,) = named(f"CUDA used to build PyTorch: 11.6\nGPU 0: {card}\n")
    assert note == f"{card} has compute capability 8.9, which CUDA 11.6 does not know."


@pytest.mark.parametrize("card", ["NVIDIA GeForce GTX 860M", "AMD Radeon RX 7900 XTX", "NVIDIA RTX 6000"])
def test_nothing_is_said_about_a_name_of_several_cards_or_of_another_vendor(card):
    assert named(f"CUDA used to build PyTorch: 13.0\nGPU 0: {card}\n") == []


def test_a_sound_machine_has_no_contradiction():
    assert named(BLOCK.replace("12.1", "12.8").replace("cu121", "cu128")) == []
    assert named("") == []
    assert named("GPU 0: Something Else\nCUDA used to build PyTorch: None\nPATH=C:\\cl.exe") == []


def test_two_nvcc_and_two_compilers():
    text = "Cuda compilation tools, release 11.7, V11.7.99\nCuda compilation tools, release 12.4, V12.4.131\n"
    assert named(text) == ["There are several nvcc: of CUDA 11.7 and 12.4."]
    where = "\n".join([r"C:\VS\2019\cl.exe", r"D:\VS\2022\cl.exe", r"C:\cuda\v11\nvcc.exe", r"C:\cuda\v12\nvcc.exe"])
    assert [note.partition(" on PATH")[0] for note in named(where)] == [
        "There are several nvcc.exe",
        "There are several cl.exe",
    ]


def test_a_driver_older_than_the_toolkit_needs():
    (note,) = named("CUDA used to build PyTorch: 12.1\nNvidia driver version: 472.12\n")
    assert note.startswith("The driver 472.12 is older than CUDA 12.1 needs (")


def test_a_build_for_another_card():
    text = "set TORCH_CUDA_ARCH_LIST=8.9\nGPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-x)\n"
    assert named(text) == ["TORCH_CUDA_ARCH_LIST=8.9 has no code for NVIDIA GeForce RTX 5090, which is 12.0."]
    assert named(text.replace("8.9", "8.9+PTX")) == []
    assert named(text.replace("8.9", "8.6;12.0")) == []


@pytest.mark.parametrize("text", ["\x00" * 1000, "GPU 0: " * 5000, "release " * 10_000, "x=" * 100_000])
def test_odd_text_is_read_quietly(text):
    assert named(text) == []


def test_contradictions_are_notes_of_a_diagnosis():
    found = wheelfix.diagnose(BLOCK, options=ScanOptions(roots=RootOptions(discover=False)))
    assert any("which CUDA 12.1 does not know" in note for note in found.notes)


# ---------------------------------------------------------------------------------------------------------------- model
# DLL names and Windows paths are found in texts.


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("c10.dll needs C10.DLL and (fbgemm.dll)", ("c10.dll", "fbgemm.dll")),
        ("libfoo-1.2+x.dllbar.dll _core.pyd", ("libfoo-1.2+x.dllbar.dll", "_core.pyd")),
        ("the file .dll is not a name; nor is a DLL", ()),
        ("x" * 200 + ".dll", ()),
    ],
)
def test_names_of_dlls_are_found_once_and_as_spelled(text, names):
    assert dll_names(text) == names


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (r'Error loading "C:\py\Lib\site-packages\torch\lib\c10.dll" or', r"C:\py\Lib\site-packages\torch\lib\c10.dll"),
        (r"cannot load D:\a b\x.pyd now", r"D:\a b\x.pyd"),
        ("no path at all", None),
    ],
)
def test_the_first_path_of_a_text(text, path):
    assert named_path(text) == path


def test_escaped_and_extended_paths_become_plain_ones():
    assert tidy_path(r" C:\\py\\x.dll ") == r"C:\py\x.dll"
    assert tidy_path("\\\\?\\C:\\py\\x.dll") == r"C:\py\x.dll"
    assert tidy_path("C:/py/x.dll") == r"C:\py\x.dll"


def test_the_package_that_a_path_lies_in():
    assert package_of(r"C:\py\Lib\site-packages\torch\lib\c10.dll") == "torch"
    assert package_of("C:/py/Lib/site-packages/_cffi.pyd") == "_cffi"
    assert package_of(r"C:\Windows\System32\x.dll") == ""


# ------------------------------------------------------------------------------------------------------------ recognise
# The sentences of Windows are recognised in every language and code page.

CODE_PAGES = {
    "de": "cp1252",
    "fr": "cp850",
    "ru": "cp866",
    "uk": "cp1251",
    "ja": "cp932",
    "ko": "cp949",
    "zh-CN": "cp936",
    "zh-TW": "cp950",
}
LOCAL = [(code, language, text) for code, language, text in winerror_table().sentences if code <= 0xFFFF]


@pytest.mark.parametrize(("code", "language", "text"), LOCAL, ids=[f"{code}-{name}" for code, name, _ in LOCAL])
def test_every_known_sentence_gives_an_import_error_its_code(code, language, text):
    (symptom,) = read_symptoms(f"ImportError: DLL load failed while importing _C: {text}\n")
    # Both Chinese editions say some sentences alike, so the country may differ.
    assert (symptom.code, symptom.language[:2]) == (code, language[:2])


@pytest.mark.parametrize("language", CODE_PAGES)
def test_a_sentence_in_its_own_code_page_is_read(language):
    text = next(text for code, name, text in LOCAL if (code, name) == (126, language))
    raw = f"ImportError: DLL load failed while importing _C: {text}\n".encode(CODE_PAGES[language])
    (symptom,) = read_symptoms(raw)
    assert (symptom.code, symptom.language) == (126, language)


def test_blanks_and_line_ends_do_not_matter():
    known = read_sentence("The specified\n   module could not be  found")
    assert known is not None
    assert (known.code, known.language) == (126, "en")


@pytest.mark.parametrize("text", ["", "short", "an entirely different sentence about lunch and other things"])
def test_other_texts_are_near_to_nothing(text):
    assert nearest_sentence(text) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [("abc", ""), ("がない", "ja"), ("找不到", "zh"), ("없음", "ko"), ("нет", "ru"), ("é", "")],
)
def test_the_script_tells_the_language(text, language):
    assert language_of(text) == language


def test_bytes_of_no_known_page_stay_readable():
    raw = b"caf\xe9 \x81".decode("utf-8", "surrogateescape")
    assert repair_encoding(raw).startswith("café")
    assert repair_encoding("grün") == "grün"


@pytest.mark.parametrize("text", ["Access is denied.", "Zugriff verweigert", "The parameter is incorrect."])
def test_a_sentence_of_many_operations_counts_in_a_failed_load_alone(text):
    assert read_symptoms(f"{text}\n") == ()
    assert read_symptoms(f"PermissionError: [WinError 5] {text}: 'C:\\x.dll'\n") == ()
    (symptom,) = read_symptoms(f"ImportError: DLL load failed while importing _ext: {text}\n")
    assert symptom.code in (5, 87)
