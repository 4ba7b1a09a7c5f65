"""The machine as a value, and what is read of a real registry."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

import pytest

from wheelfix.roots import host as module
from wheelfix.roots.host import Host, RegistryKey, this_machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["CUDA_PATH", "cuda_path", "Cuda_Path"])
def test_variables_ignore_case_quotes_and_spaces(name: str) -> None:
    assert Host(env={name: ' "C:\\CUDA 11" '}).variable("CUDA_PATH") == "C:\\CUDA 11"


def test_variables_with_a_prefix_in_order() -> None:
    host = Host(env={"CUDA_PATH_V12_4": "b", "Cuda_Path_V11_7": "a", "CUDA_PATH": "c"})
    assert list(host.variables("CUDA_PATH_V")) == [("CUDA_PATH_V12_4", "b"), ("Cuda_Path_V11_7", "a")]


def test_this_machine_knows_the_running_python() -> None:
    host = this_machine()
    assert any(learned == "the running Python" for _, learned in host.prefixes)
    assert (host.os_name == "nt") == bool(host.program_files)


class Key:
    """An open key of a made-up registry."""

    def __init__(self, subkeys: list[str], values: list[tuple[str, object, int]]) -> None:
        self.subkeys, self.values = subkeys, values

    def __enter__(self) -> Key:
        return self

    def __exit__(self, *_: object) -> None:
        return None


@pytest.fixture
def winreg(monkeypatch: pytest.MonkeyPatch) -> dict[str, Key]:
    """Windows' module with a made-up content."""
    keys: dict[str, Key] = {}

    def open_key(_hive: int, path: str, _reserved: int, _access: int) -> Key:
        if path not in keys:
            raise FileNotFoundError(path)
        return keys[path]

    fake = types.ModuleType("winreg")
    content: dict[str, object] = {
        "HKEY_LOCAL_MACHINE": 1,
        "HKEY_CURRENT_USER": 2,
        "KEY_READ": 4,
        "KEY_WOW64_64KEY": 8,
        "OpenKey": open_key,
        "QueryInfoKey": lambda key: (len(key.subkeys), len(key.values), 0),
        "EnumKey": lambda key, index: key.subkeys[index],
        "EnumValue": lambda key, index: key.values[index],
    }
    for name, value in content.items():
        setattr(fake, name, value)
    monkeypatch.setitem(sys.modules, "winreg", fake)
    return keys


def test_a_registry_key(winreg: dict[str, Key]) -> None:
    winreg[r"SOFTWARE\NVIDIA"] = Key(["v11.7"], [("InstallDir", "C:\\CUDA", 1), ("Count", 3, 4)])
    assert module._read_registry(r"HKLM\SOFTWARE\NVIDIA") == RegistryKey({"InstallDir": "C:\\CUDA"}, ("v11.7",))
    assert module._read_registry(r"HKLM\SOFTWARE\Nobody") is None


def test_no_security_descriptors_without_windows(tmp_path: Path) -> None:
    if sys.platform == "win32":
        assert module._read_descriptor(tmp_path).startswith("D:")
    else:
        assert module._read_descriptor(tmp_path) == ""
