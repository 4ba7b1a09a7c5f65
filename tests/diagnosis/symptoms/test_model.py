"""DLL names and Windows paths are found in texts."""

from __future__ import annotations

import pytest

from wheelfix.diagnosis.symptoms.model import dll_names, named_path, package_of, tidy_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("c10.dll needs C10.DLL and (fbgemm.dll)", ("c10.dll", "fbgemm.dll")),
        ("libfoo-1.2+x.dllbar.dll _core.pyd", ("libfoo-1.2+x.dllbar.dll", "_core.pyd")),
        ("the file .dll is not a name; nor is a DLL", ()),
        ("x" * 200 + ".dll", ()),
    ],
)
def test_names_of_dlls_are_found_once_and_as_spelled(text: str, names: tuple[str, ...]) -> None:
    assert dll_names(text) == names


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (r'Error loading "C:\py\Lib\site-packages\torch\lib\c10.dll" or', r"C:\py\Lib\site-packages\torch\lib\c10.dll"),
        (r"cannot load D:\a b\x.pyd now", r"D:\a b\x.pyd"),
        ("no path at all", None),
    ],
)
def test_the_first_path_of_a_text(text: str, path: str | None) -> None:
    assert named_path(text) == path


def test_escaped_and_extended_paths_become_plain_ones() -> None:
    assert tidy_path(r" C:\\py\\x.dll ") == r"C:\py\x.dll"
    assert tidy_path("\\\\?\\C:\\py\\x.dll") == r"C:\py\x.dll"
    assert tidy_path("C:/py/x.dll") == r"C:\py\x.dll"


def test_the_package_that_a_path_lies_in() -> None:
    assert package_of(r"C:\py\Lib\site-packages\torch\lib\c10.dll") == "torch"
    assert package_of("C:/py/Lib/site-packages/_cffi.pyd") == "_cffi"
    assert package_of(r"C:\Windows\System32\x.dll") == ""
