"""The target ``wine`` is what Wine has: DLLs of the list load, others do not, absent functions are noticed late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.cases import wants
from tests.oracle.graph import Dll, Graph, Load
from tests.oracle.observe import observe
from wheelfix.knowledge.targets import State, known_target, missing_exports, presence

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine

pytestmark = pytest.mark.wine

THERE = (
    "advapi32 avrt bcrypt cfgmgr32 crypt32 d3d11 d3d12 dbghelp dnsapi dwmapi dwrite dxgi iphlpapi mf mfplat "
    "mfreadwrite netapi32 opengl32 propsys psapi secur32 shlwapi uiautomationcore userenv uxtheme winhttp wtsapi32"
).split()
ABSENT = "directml dxcore icu icuuc mfcore d3d12core windows.ai.machinelearning computecore".split()


def test_dlls_load_if_the_list_has_them(native: Wine, tmp_path: Path) -> None:
    wine = known_target("wine")
    names = [f"{name}.dll" for name in (*THERE, *ABSENT)]
    expected = [presence(wine, name).state for name in names]
    assert expected == [State.HAS] * len(THERE) + [State.ABSENT] * len(ABSENT)
    wanted = [min(wine.exports[name].names, default="f") if name in wine.exports else "f" for name in names]
    dlls = tuple(Dll(f"x/n{i}.dll", imports=wants(n, s)) for i, (n, s) in enumerate(zip(names, wanted, strict=True)))
    loads = tuple(Load(dll.path, 0x1100) for dll in dlls)
    answers = observe(native, Graph(dlls, loads), tmp_path).answers
    found = {name: answer.wine for name, answer in zip(names, answers, strict=True)}
    assert found == {name: 0 if state is State.HAS else 126 for name, state in zip(names, expected, strict=True)}


def test_a_function_that_the_list_does_not_have_is_tied_to_a_stub(native: Wine, tmp_path: Path) -> None:
    functions = ["CreateFileW", "SetThreadSelectedCpuSetMasks", "GetMachineTypeAttributes"]
    missing = missing_exports(known_target("wine"), "kernel32.dll", functions)
    dlls = tuple(Dll(f"x/{name}.dll", imports=wants("kernel32.dll", name)) for name in functions)
    answers = observe(native, Graph(dlls, tuple(Load(dll.path, 0x1100) for dll in dlls)), tmp_path).answers
    assert [answer.wine for answer in answers] == [0, 0, 0]
    assert ["missing-symbol" in answer.seen for answer in answers] == [name in missing for name in functions]
