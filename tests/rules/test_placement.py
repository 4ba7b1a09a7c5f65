"""Of several copies it is said which one is loaded."""

import pytest

from tests.rules.subjects import LIB, SITE, dll, edge, loads, run, subject, torch
from tests.support.environments import install, lay
from tests.support.tables import named_cases
from tests.support.wheels import ALONE, build_wheel, library
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.model import Machine
from wheelfix.rules.placement import misplaced

CPU, OWN, STRAY = LIB + "torch_cpu.dll", LIB + "libiomp5md.dll", SITE + "torch/libiomp5md.dll"
WITH_PKG = ScanOptions(roots=RootOptions(discover=False), packages=("pkg",))


def test_a_copy_that_is_never_loaded_is_a_note_with_the_one_that_is():
    images = {CPU: dll("libiomp5md.dll"), OWN: dll(), STRAY: dll()}
    edges = [edge(CPU, "libiomp5md.dll", OWN)]
    found = run(subject(images, edges, events=[loads(OWN), loads(CPU)], torch=torch()), "WF312")
    assert [(item.subject, str(item.severity)) for item in found] == [("torch/libiomp5md.dll", "info")]
    assert found[0].message == (
        "libiomp5md.dll is in the wheel 2 times; the copy in torch/lib is loaded, the one in torch never is"
    )
    assert "repair --clean" in found[0].hint


def test_a_copy_beside_a_plugin_is_left_alone():
    plugin, beside = SITE + "pkg/plugins/p.dll", SITE + "pkg/plugins/helper.dll"
    pyd, helper = SITE + "pkg/_core.pyd", SITE + "pkg/helper.dll"
    images = {pyd: dll("helper.dll"), helper: dll(), plugin: dll("helper.dll"), beside: dll()}
    assert run(subject(images, [edge(pyd, "helper.dll", helper)], events=[loads(pyd)]), "WF312") == []


def test_the_same_name_for_another_processor_is_not_a_copy():
    """pyvjoy has x64/vJoyInterface.dll and x86/vJoyInterface.dll, and loads the one for its process."""
    pyd, helper, other = SITE + "pkg/_core.pyd", SITE + "pkg/x64/helper.dll", SITE + "pkg/x86/helper.dll"
    images = {pyd: dll("helper.dll"), helper: dll(), other: dll(machine=Machine.X86)}
    assert run(subject(images, [edge(pyd, "helper.dll", helper)], events=[loads(pyd)]), "WF312") == []


@pytest.mark.parametrize(
    "beside, name, idle",
    [
        ("libcef.dll", "libEGL.dll", False),
        ("Qt6Gui.dll", "opengl32sw.dll", False),
        ("Qt6Gui.dll", "libEGL.dll", True),
        ("browser.exe", "libEGL.dll", False),
        ("other.dll", "libEGL.dll", True),
    ],
)
def test_what_an_engine_loads_by_itself_is_not_a_copy_that_nothing_loads(beside, name, idle):
    """``--clean`` removed libEGL.dll of a browser, because a copy in another folder was known to be loaded."""
    pyd, helper, copy = SITE + "pkg/_core.pyd", SITE + f"pkg/{name}", SITE + f"pkg/engine/{name}"
    images = {pyd: dll(name), helper: dll(), SITE + f"pkg/engine/{beside}": dll(), copy: dll()}
    thing = subject(images, [edge(pyd, name, helper)], events=[loads(pyd)])
    assert bool(run(thing, "WF312")) is idle
    assert (copy in {item.path for item in misplaced(thing)}) is idle


def environment(tmp_path, extra):
    files = {
        "pkg/__init__.py": "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n",
        "pkg/_core.cp311-win_amd64.pyd": "imports helper.dll",
        "pkg/bin/helper.dll": "",
    }
    wheel = build_wheel(tmp_path, files=files)
    return lay(install(wheel, tmp_path / "env"), {"python.exe": b"", "python311.dll": b"", **extra})


def test_a_file_beside_python_exe_that_is_loaded_instead(tmp_path):
    clean = scan(environment(tmp_path / "clean", {}), ALONE)
    assert [finding.code for finding in clean.findings] == []
    report = scan(environment(tmp_path / "other", {"helper.dll": ""}), ALONE)
    (found,) = [finding for finding in report.findings if finding.code == "WF313"]
    assert found.subject.endswith("helper.dll")
    assert "not the package's own" in found.message


@named_cases(
    "wrong, error, code",
    {
        "for another processor": (forge_dll("helper.dll", exports=["f"], machine=Machine.X86), 193, "WF204"),
        "of another version": (library("helper.dll:g"), 127, "WF310"),
        "with needs of its own": (library("helper.dll", "gone.dll"), 126, "WF301"),
        "damaged": (b"MZ", 193, "WF201"),
    },
)
def test_one_that_does_not_load_makes_the_environment_broken(tmp_path, wrong, error, code):
    """An x86 DLL dropped beside python.exe: "will raise 193" stood above "Verdict: ok"."""
    report = scan(environment(tmp_path, {"helper.dll": wrong}), ALONE)
    assert (report.first_failure.code, str(report.verdict)) == (error, "broken")
    assert code in {finding.code for finding in report.findings}


def test_a_file_of_another_distribution_is_not_to_be_removed(tmp_path):
    """ngsolve imports netgen first, and both have msvcp140.dll: the same file is nothing to report."""
    loads_own = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'helper.dll'))\n"
    files = {
        "pkg/__init__.py": "import first\n",
        "pkg/_core.pyd": "imports helper.dll",
        "pkg/helper.dll": "",
    }
    for number, exports in enumerate((["f"], ["f", "g"])):
        here = tmp_path / str(number)
        first = {"first/__init__.py": loads_own, "first/helper.dll": forge_dll("helper.dll", exports=exports)}
        env = install(build_wheel(here, "first", files=first), here / "env")
        report = scan(install(build_wheel(here, files=files, requires=["first"]), env), WITH_PKG)
        found = [item for item in report.findings if item.code == "WF313"]
        assert [item.hint for item in found] == (
            ["let first and pkg use one helper.dll: install releases that were built together"] if number else []
        )
