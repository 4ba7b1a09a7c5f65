"""Which published modules expect a Visual C++ runtime on the machine."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.companions import parse_runtime_needs, runtime_need, runtime_needs
from wheelfix.knowledge.tables import TableFault


@pytest.mark.parametrize(
    ("package", "name", "expected"),
    [
        ("pyzbar", "libzbar-64.dll", "120"),
        ("pyzbar", "LIBZBAR-64.dll", "120"),
        ("", "libzbar-64.dll", "120"),
        ("greenlet", "_greenlet", "140"),
        ("", "greenlet._greenlet", "140"),
        ("another", "_greenlet", ""),
        ("", "_ext", ""),
        ("", "", ""),
    ],
)
def test_what_is_known_about_a_name(package: str, name: str, expected: str) -> None:
    assert runtime_need(package, name) == expected


def test_a_name_of_many_packages_tells_nothing_alone() -> None:
    """_core and _ext are modules of many packages; the table has only those of some."""
    names = runtime_needs().unique
    assert not {"_ext", "_core", "_c", "lib", "_lib", "core"} & set(names)


def test_torch_is_left_out() -> None:
    """Its builds for CUDA need more than the runtime."""
    assert not {"torch", "torchvision", "torchaudio"} & {package for package, _ in runtime_needs().of_package}


@pytest.mark.parametrize("line", ["a b 90", "a b 140 maybe"])
def test_lines_that_make_no_sense_are_refused(line: str) -> None:
    with pytest.raises(TableFault):
        parse_runtime_needs(line)
