"""Whose a DLL name is."""

from __future__ import annotations

import pytest

from wheelfix.knowledge import system
from wheelfix.knowledge.system import classify, contract, python_file, python_of, runtime_file
from wheelfix.model import Machine

AMD64, X86, ARM64 = Machine.AMD64, Machine.X86, Machine.ARM64


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *[
            ("system", name)
            for name in ("KERNEL32.dll", "ws2_32", "WINSPOOL.DRV", "msvcrt.dll", "msvcp_win.dll", "d3d12.dll")
        ],
        *[
            ("system", name)
            for name in ("DXCORE.dll", "icu.dll", "icuuc.dll", "dbghelp.dll", "WINTRUST.dll", "opengl32.dll")
        ],
        *[("system", name) for name in ("bthprops.cpl", "JOY.cpl", "msacm32.drv", "hhctrl.ocx", "wshom.ocx")],
        *[("api-set", name) for name in ("api-ms-win-crt-heap-l1-1-0.dll", "ext-ms-win-ntuser-window-l1-1-4.dll")],
        *[("driver", name) for name in ("nvcuda.dll", "nvml.dll", "nvapi64.dll", "nvldumdx.dll", "nvEncodeAPI64.dll")],
        *[("driver", name) for name in ("OpenCL.dll", "vulkan-1.dll", "ze_loader.dll", "nvoptix.dll", "nvcuvid.dll")],
        *[
            ("python", name)
            for name in ("python3.dll", "python311.dll", "python313t.dll", "python39_d.dll", "python27.dll")
        ],
        *[("python", name) for name in ("VCRUNTIME140.dll", "vcruntime140_1.dll", "libffi-8.dll", "tcl86t.dll")],
        *[("vcredist", name) for name in ("MSVCP140.dll", "msvcp140_atomic_wait.dll", "vcruntime140_threads.dll")],
        *[
            ("vcredist", name)
            for name in ("concrt140.dll", "vcomp140.dll", "mfc140u.dll", "MSVCR120.dll", "msvcr90.dll")
        ],
        *[("vcredist", name) for name in ("vcruntime140d.dll", "ucrtbased.dll", "MSVCP140D.dll", "msvcr120d.dll")],
        ("ucrt", "ucrtbase.dll"),
        *[("unknown", name) for name in ("zlib.dll", "libcrypto.dll", "winex11.drv", "d3dx9_43.dll", "wpcap.dll")],
    ],
)
def test_kind(kind: str, name: str) -> None:
    assert classify(name, AMD64).kind == kind


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        pytest.param(True, "api-ms-win-core-path-l1-1-0.dll", id="known"),
        pytest.param(True, "API-MS-WIN-CORE-PATH-L1-1-9", id="last digit does not count"),
        pytest.param(False, "api-ms-win-core-path-l9-1-0.dll", id="another level is another contract"),
        pytest.param(False, "api-ms-win-made-up-l1-1-0.dll", id="made up"),
        pytest.param(True, "ext-ms-win-made-up-l1-1-0.dll", id="extensions are optional by design"),
    ],
)
def test_api_sets_are_known_by_contract(expected: bool, name: str) -> None:
    answer = classify(name, AMD64)
    assert (answer.kind, answer.known, answer.on_every_machine) == ("api-set", expected, expected)


def test_the_contract_is_the_name_without_its_last_digit() -> None:
    assert contract("API-MS-WIN-CRT-HEAP-L1-1-0.DLL") == "api-ms-win-crt-heap-l1-1"


@pytest.mark.parametrize(
    ("name", "expected"), [("vcruntime140d.dll", True), ("vcruntime140.dll", False), ("mfc140ud.dll", True)]
)
def test_debug_runtimes_are_told_apart(name: str, expected: bool) -> None:
    assert classify(name, AMD64).debug is expected


def test_vcruntime140_1_is_pythons_on_64_bit_machines_only() -> None:
    assert classify("vcruntime140_1.dll", ARM64).kind == "python"
    assert classify("vcruntime140_1.dll", X86).kind == "vcredist"


def test_the_dlls_folder_is_not_where_other_packages_are_searched() -> None:
    assert classify("libssl-3.dll", AMD64).folder == "DLLs"
    assert not classify("libssl-3.dll", AMD64).on_every_machine
    assert classify("python311.dll", AMD64).on_every_machine


@pytest.mark.parametrize(
    ("python", "name", "shipped"),
    [
        ((3, 10), "libffi-7.dll", True),
        ((3, 11), "libffi-7.dll", False),
        ((3, 11), "libffi-8.dll", True),
        ((3, 8), "libcrypto-1_1.dll", True),
        ((3, 12), "libcrypto-1_1.dll", False),
        ((3, 12), "libcrypto-3.dll", True),
        ((3, 12), "libcrypto-3-x64.dll", False),
        ((3, 11), "zlib1.dll", False),
        ((3, 13), "msvcp140.dll", False),
        ((3, 13), "vcruntime140_threads.dll", False),
    ],
)
def test_what_a_python_version_ships(python: tuple[int, int], name: str, shipped: bool) -> None:
    assert (python_file(name, AMD64, python) is not None) is shipped


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("python311.dll", (3, 11, False)),
        ("PYTHON313t.DLL", (3, 13, True)),
        ("python39_d.dll", (3, 9, False)),
        ("python3.dll", None),
        ("kernel32.dll", None),
    ],
)
def test_the_interpreter_is_read_from_its_dll(name: str, expected: tuple[int, int, bool] | None) -> None:
    assert python_of(name) == expected


@pytest.mark.parametrize(
    ("name", "runtime", "toolset"),
    [
        ("vcruntime140_1.dll", (14, 20), "14"),
        ("vcruntime140_threads.dll", (14, 38), "14"),
        ("msvcp140_atomic_wait.dll", (14, 28), "14"),
        ("msvcr100.dll", (10, 0), "10"),
    ],
)
def test_the_runtime_that_first_has_a_file(name: str, runtime: tuple[int, int], toolset: str) -> None:
    entry = runtime_file(name)
    assert entry is not None
    assert (entry.runtime, entry.toolset.id) == (runtime, toolset)


def test_known_dlls_are_a_part_of_windows() -> None:
    assert {name for name in system.known_dlls() if classify(name, AMD64).kind not in ("system", "ucrt")} == {
        "xtajit64.dll"
    }
    assert classify("ole32.dll", AMD64).known_dll
    assert not classify("dbghelp.dll", AMD64).known_dll


def test_no_list_has_what_windows_does_not_ship() -> None:
    strangers = {
        "msvcp140.dll",
        "vcruntime140.dll",
        "nvcuda.dll",
        "opencl.dll",
        "vulkan-1.dll",
        "winex11.drv",
        "mfc140.dll",
    }
    for machine in (AMD64, X86, ARM64):
        names = system.system_dlls(machine)
        assert not strangers & names
        assert {"kernel32.dll", "ntdll.dll", "user32.dll", "d3d12.dll", "bcrypt.dll"} <= names


def test_a_system_dll_that_some_editions_lack_says_so() -> None:
    assert "Media Feature Pack" in classify("MFPlat.DLL", AMD64).detail
    assert classify("kernel32.dll", AMD64).detail == "part of Windows"
