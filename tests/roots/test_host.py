"""The machine as a value, what is read of a real registry, and its graphics card."""

from __future__ import annotations

import os
import sys
import types

import pytest

from tests.roots.trees import grow, windows
from tests.support.tables import named_cases
from wheelfix.base.inputfiles import ACCESS_LIST, security_descriptor
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.roots import host as card
from wheelfix.roots import host as module
from wheelfix.roots.gather import explore, named_root
from wheelfix.roots.host import Host, RegistryKey, card_arch, this_machine, writers_by_descriptor
from wheelfix.roots.toolkits import CUDA


@pytest.mark.parametrize("name", ["CUDA_PATH", "Cuda_Path"])
def test_variables_ignore_case_quotes_and_spaces(name):
    assert Host(env={name: ' "C:\\CUDA 11" '}).variable("CUDA_PATH") == "C:\\CUDA 11"


def test_variables_with_a_prefix_in_order():
    host = Host(env={"CUDA_PATH_V12_4": "b", "Cuda_Path_V11_7": "a", "CUDA_PATH": "c"})
    found = [(str(place.path), place.learned.split()[-1]) for place in CUDA.places(host)]
    assert found == [("c", "CUDA_PATH"), ("b", "CUDA_PATH_V12_4"), ("a", "CUDA_PATH_V11_7")]


def test_this_machine_knows_the_running_python():
    host = this_machine()
    assert any(learned == "the running Python" for _, learned in host.prefixes)
    assert (host.os_name == "nt") == bool(host.program_files)


@pytest.mark.skipif(os.name == "nt", reason="a script is not a program on Windows")
@pytest.mark.parametrize(
    "script, expected", [('echo "$1 $2"', "info --json\n"), ("echo x; exit 1", ""), ("exec sleep 60", "")]
)
@pytest.mark.parametrize("variable", ["PATH", "CONDA_EXE"])
def test_conda_is_asked_for_a_short_time(tmp_path, monkeypatch, script, expected, variable):
    program = tmp_path / "conda"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.delenv("CONDA_EXE", raising=False)
    more = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CONDA_EXE": str(program)}
    monkeypatch.setenv(variable, more[variable])
    monkeypatch.setattr(module, "_CONDA_SECONDS", 0.3 if "sleep" in script else 30)
    assert this_machine().conda_info() == expected
    monkeypatch.setenv("CONDA_EXE", "conda")  # from the current folder it is not run
    monkeypatch.setenv("PATH", "")
    assert this_machine().conda_info() == ""


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
    keys = {}

    def open_key(_hive: int, path: str, _reserved: int, _access: int) -> Key:
        if path not in keys:
            raise FileNotFoundError(path)
        return keys[path]

    fake = types.ModuleType("winreg")
    content = {
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


def test_a_registry_key(winreg):
    winreg[r"SOFTWARE\NVIDIA"] = Key(["v11.7"], [("InstallDir", "C:\\CUDA", 1), ("Count", 3, 4)])
    assert module._read_registry(r"HKLM\SOFTWARE\NVIDIA") == RegistryKey({"InstallDir": "C:\\CUDA"}, ("v11.7",))
    assert module._read_registry(r"HKLM\SOFTWARE\Nobody") is None


def test_no_security_descriptors_without_windows(tmp_path):
    if sys.platform == "win32":
        assert security_descriptor(tmp_path, ACCESS_LIST).startswith("D:")
    else:
        assert security_descriptor(tmp_path, ACCESS_LIST) == ""


posix_only = pytest.mark.skipif(os.name == "nt", reason="permission bits are POSIX's")

PROGRAM_FILES = (
    "D:PAI(A;;FA;;;S-1-5-80-956008885)(A;CIIO;GA;;;S-1-5-80-956008885)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)"
    "(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)"
)
BELOW_DRIVE = (
    "D:AI(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;OICIID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)(A;OICIIOID;SDGXGWGR;;;AU)"
)


@named_cases(
    "sddl, expected",
    {
        "Program Files": (PROGRAM_FILES, ()),
        "a folder below the drive": (BELOW_DRIVE, ("all authenticated users",)),
        "everyone": ("D:(A;OICI;FA;;;WD)", ("everyone",)),
        "by number": ("D:(A;OICI;0x1201ff;;;S-1-5-32-545)", ("all users of this machine",)),
        "denied": ("D:(D;OICI;FA;;;WD)", ()),
        "may add folders only": ("D:(A;;LC;;;AU)", ()),
        "no list at all": ("D:NO_ACCESS_CONTROL", ("everyone",)),
        "administrators": ("O:BAG:SYD:(A;;FA;;;BA)", ()),
        "not told": ("", ()),
        "nonsense": ("D:(A;;0xZZ;;;WD)(A;)", ()),
    },
)
def test_access_lists_of_windows(sddl, expected):
    assert writers_by_descriptor(sddl) == expected


def test_windows_folder_that_all_users_can_write_to(tmp_path):
    folder = grow(tmp_path / "cuda", ["bin/cudart64_110.dll"])
    lists = {folder: PROGRAM_FILES, folder / "bin": BELOW_DRIVE}
    host = windows(tmp_path, {"CUDA_PATH": str(folder)}, descriptor=lambda path: lists.get(path, ""))
    (root,) = explore(host)[0]
    assert root.warnings == (f"all authenticated users can write to {folder / 'bin'}",)


@posix_only
def test_world_writable_folder(tmp_path):
    folder = grow(tmp_path / "dlls", ["bin/zlib1.dll"])
    (folder / "bin").chmod(0o777)
    root = named_root(folder, Host())
    assert root.warnings == (f"any user of this machine can write to {folder / 'bin'}",)


@posix_only
def test_world_writable_parent_lets_others_replace_the_root(tmp_path):
    folder = grow(tmp_path / "loose" / "dlls", ["zlib1.dll"])
    (tmp_path / "loose").chmod(0o777)
    warnings = named_root(folder, Host()).warnings
    assert warnings == (f"any user of this machine can replace it, because they can write to {tmp_path / 'loose'}",)
    (tmp_path / "loose").chmod(0o1777)
    assert named_root(folder, Host()).warnings == ()


# ----------------------------------------------------------------------------------------------------------------- card
# Which card a word stands for.


def test_an_unknown_card_is_refused_with_a_way_out():
    with pytest.raises(UsageError) as caught:
        card_arch("Voodoo 2")
    assert caught.value.hint


@pytest.mark.parametrize(
    "text, because, hint",
    [
        ("RTX 5071", "no table knows that card", "GeForce RTX 5070"),
        ("RX 7800 XTX", "no table knows that card", "RX 7800 XT"),
        ("sm_99", "no table knows the architecture sm_99", "sm_90"),
        ("gfx1109", "no table knows the architecture gfx1109", "gfx1100"),
        ("Iris Xe", "several architectures (intel_adl-p, intel_dg1, intel_tgllp)", "--gpu intel_adl-p"),
        ("GTX 860M", "several architectures (sm_30, sm_50)", "--gpu sm_30"),
        ("580", "several architectures (sm_20, gfx803)", "--gpu sm_20"),
        ("RTX 6000", "several cards", "Quadro RTX 6000, RTX 6000 Ada, RTX PRO 6000 Blackwell"),
        ("", "no table knows that card", "give the architecture"),
    ],
)
def test_a_word_that_does_not_tell_is_a_question(text, because, hint):
    """An error that names the choices, instead of an answer about a card that the user does not have."""
    with pytest.raises(UsageError) as caught:
        card_arch(text)
    assert because in str(caught.value.because)
    assert hint in caught.value.hint


def test_every_choice_that_an_error_offers_is_accepted():
    for text in ("Iris Xe", "GTX 860M", "RTX 6000", "RTX 5071", "sm_99", "gfx1109"):
        with pytest.raises(UsageError) as caught:
            card_arch(text)
        hint = caught.value.hint.removeprefix("did you mean ").removeprefix("say which: ").rstrip("?")
        for choice in hint.removeprefix("choose one: --gpu ").replace(" or ", ", ").split(", "):
            assert card_arch(choice)


@pytest.mark.parametrize("answer", ["8.6\n", "8.6\n8.6\n"])
def test_native_asks_the_driver(answer):
    assert card_arch("Native", lambda: answer) == "sm_86"


def test_native_with_different_cards_is_a_question():
    with pytest.raises(UsageError, match="different architectures"):
        card_arch("native", lambda: "8.6\n12.0\n")


def test_native_without_a_driver(monkeypatch):
    monkeypatch.setattr(card, "_ASK_DRIVER", ("no-such-program-anywhere",))
    with pytest.raises(EnvironmentFailure, match="gives no answer"):
        card_arch("native")
    with pytest.raises(EnvironmentFailure, match="names no card"):
        card_arch("native", lambda: "N/A\n")
