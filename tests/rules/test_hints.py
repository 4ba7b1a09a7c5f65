"""A missing DLL comes with the vendor's name and a command that brings it in."""

from __future__ import annotations

import pytest

from tests.rules.subjects import subject, torch
from wheelfix.model import Machine
from wheelfix.rules.hints import where_from


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cupti64_2022.2.1.dll", ["CUDA Toolkit 11.7", "repair --cuda FOLDER", '"nvidia-cuda-cupti-cu11==11.7.*"']),
        ("cudnn64_8.dll", ["cuDNN 8", "repair --cudnn FOLDER"]),
        ("mkl_core.2.dll", ["oneMKL", "repair --oneapi FOLDER"]),
        ("unheard-of.dll", ["'wheelfix repair --root FOLDER' with a folder that has it"]),
        ("msvcp140.dll", ["Visual C++", "aka.ms"]),
    ],
)
def test_who_ships_it_and_how_to_get_it(name: str, parts: list[str]) -> None:
    hint = where_from(name, subject({}, torch=torch("11.7")))
    assert all(part in hint for part in parts), hint


@pytest.mark.parametrize("name", ["libomp140.x86_64.dll", "ucrtbased.dll", "nvcuda.dll"])
def test_what_may_not_be_vendored_is_not_offered(name: str) -> None:
    hint = where_from(name, subject({}))
    assert hint
    assert "repair" not in hint


def test_wheels_are_fetched_for_the_right_machine() -> None:
    assert "--platform win32" in where_from("libiomp5md.dll", subject({}, machine=Machine.X86))
