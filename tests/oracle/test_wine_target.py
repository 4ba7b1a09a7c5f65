"""Lists of what a Windows has: ``wine`` is what Wine has, and the scripts that make a list run on a Windows Python."""

from pathlib import Path

import pytest

from tests.oracle.cases import read_dll
from tests.oracle.graph import Graph, Load
from tests.oracle.observe import observe
from tests.oracle.wine import windows_path
from tests.oracle.winsite import install_into
from tools import make_target_list, windows_check
from tools.windows_cases import cases
from wheelfix.knowledge.targets import State, chosen_targets, known_target, missing_exports, presence
from wheelfix.model import Machine

THERE = (
    "advapi32 avrt bcrypt cfgmgr32 crypt32 d3d11 d3d12 dbghelp dnsapi dwmapi dwrite dxgi iphlpapi mf mfplat "
    "mfreadwrite netapi32 opengl32 propsys psapi secur32 shlwapi uiautomationcore userenv uxtheme winhttp wtsapi32"
).split()
ABSENT = "directml dxcore icu icuuc mfcore d3d12core windows.ai.machinelearning computecore".split()


@pytest.mark.wine
def test_dlls_load_if_the_list_has_them(native, tmp_path):
    wine = known_target("wine")
    names = [f"{name}.dll" for name in (*THERE, *ABSENT)]
    expected = [presence(wine, name).state for name in names]
    assert expected == [State.HAS] * len(THERE) + [State.ABSENT] * len(ABSENT)
    wanted = [min(wine.exports[name].names, default="f") if name in wine.exports else "f" for name in names]
    dlls = tuple(read_dll(f"x/n{i}.dll: imports {n}:{s}") for i, (n, s) in enumerate(zip(names, wanted, strict=True)))
    loads = tuple(Load(dll.path, 0x1100) for dll in dlls)
    answers = observe(native, Graph(dlls, loads), tmp_path).answers
    found = {name: answer.wine for name, answer in zip(names, answers, strict=True)}
    assert found == {name: 0 if state is State.HAS else 126 for name, state in zip(names, expected, strict=True)}


@pytest.mark.wine
def test_a_function_that_the_list_does_not_have_is_tied_to_a_stub(native, tmp_path):
    functions = ["CreateFileW", "SetThreadSelectedCpuSetMasks", "GetMachineTypeAttributes"]
    missing = missing_exports(known_target("wine"), "kernel32.dll", functions, Machine.AMD64)
    dlls = tuple(read_dll(f"x/{name}.dll: imports kernel32.dll:{name}") for name in functions)
    answers = observe(native, Graph(dlls, tuple(Load(dll.path, 0x1100) for dll in dlls)), tmp_path).answers
    assert [answer.wine for answer in answers] == [0, 0, 0]
    assert ["missing-symbol" in answer.seen for answer in answers] == [name in missing for name in functions]


# --------------------------------------------------------------------------------------------------------- windows list
# The generator of target lists, run by a Windows Python: it lists that Windows as this host lists the same files.


@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.long
def test_it_lists_the_windows_on_which_it_runs(python, tmp_path):
    copy = python.copy_to(tmp_path / "python")
    install_into(copy.site_packages)
    script, output = windows_path(Path(make_target_list.__file__)), tmp_path / "there.txt"
    done = copy.run([script, "--no-exports", "-o", windows_path(output)], timeout=1500)
    assert done.code == 0, done.output + done.errors
    (there,) = chosen_targets([str(output)])
    assert there.build >= 7600
    here = tmp_path / "here.txt"
    system32 = python.wine.prefix / "drive_c" / "windows" / "system32"
    make_target_list.main([str(system32), "--name", "w", "--title", "Wine", "--no-exports", "-o", str(here)])
    (same,) = chosen_targets([str(here)])
    assert ({*there.dlls}, there.machine) == ({*same.dlls}, same.machine)
    assert "kernel32.dll" in there.dlls


# -------------------------------------------------------------------------------------------------------- windows check
# The script that a Windows machine of CI runs (``tools/windows_check.py``), here in a Windows Python under Wine.
#
# Wheels and predictions are made on this side: only the imports happen there, and starting a Python costs seconds.


@pytest.mark.wine_x64
@pytest.mark.slow
def test_predictions_come_true(python, tmp_path):
    windows_check.make(tmp_path)
    left_out = [word for case in cases() if case.not_under_wine for word in ("--except", case.name)]
    script = windows_path(Path(windows_check.__file__))
    done = python.run([script, "--made", windows_path(tmp_path), *left_out], timeout=1500)
    assert done.code == 0, done.output + done.errors
    assert "DIFFERS" not in done.output
    assert "| demo-cu117 | WinError 126 | WinError 126 | agrees |" in done.output
    assert "| demo-cu117-repaired | loads | loads | agrees |" in done.output
    assert "| repaired | loads | loads | agrees |" in done.output
