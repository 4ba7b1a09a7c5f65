"""What nobody provides is told once per DLL, as an error where the package itself runs into it."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, scanned, subject, torch, wheel
from tests.support.wheels import ALONE, build_wheel, extension
from tools.forge import forge_dll
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.errors import CannotRepair
from wheelfix.exam.scan import scan
from wheelfix.model import (
    Driver,
    EdgeKind,
    Missing,
    OwnedBy,
    PythonRuntime,
    Repairable,
    System,
    VcRedist,
    Verdict,
)
from wheelfix.repairs.repair import repair_wheel
from wheelfix.report.words import next_steps
from wheelfix.rules.context import Subject

PYD = SITE + "pkg/_core.pyd"
PLUGIN = SITE + "pkg/plugins/qsql.dll"
FBGEMM, CPU = LIB + "fbgemm.dll", LIB + "torch_cpu.dll"


def torch_240() -> Subject:
    """torch 2.4.0 from PyPI: fbgemm and torch_cpu import a DLL that is not in the wheel."""
    gone = "libomp140.x86_64.dll"
    return subject(
        {CPU: dll(gone, "fbgemm.dll"), FBGEMM: dll(gone)},
        [edge(FBGEMM, gone), edge(CPU, gone), edge(CPU, "fbgemm.dll", FBGEMM)],
        events=[loads(FBGEMM, 126, ("fbgemm.dll", gone)), loads(CPU, 126, ("torch_cpu.dll", "fbgemm.dll", gone))],
        torch=torch(),
    )


def test_a_missing_dll_is_told_once_with_all_who_need_it():
    found = run(torch_240())
    assert [(item.code, str(item.severity), item.subject) for item in found] == [
        ("WF301", "error", "libomp140.x86_64.dll")
    ]
    assert found[0].message == (
        "libomp140.x86_64.dll, imported by fbgemm.dll and torch_cpu.dll, is missing; "
        "loading fbgemm.dll fails with error 126"
    )
    assert found[0].evidence["needed_by"] == ["torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]
    assert found[0].evidence["chain"] == ["fbgemm.dll", "libomp140.x86_64.dll"]
    assert found[0].evidence["searched"] == ["<System32>"]
    assert found[0].hint


def test_the_chain_leads_from_the_load_to_the_cause():
    middle = SITE + "pkg/middle.dll"
    thing = subject(
        {PYD: dll("middle.dll"), middle: dll("Gone.DLL")},
        [edge(PYD, "middle.dll", middle), edge(middle, "Gone.DLL")],
        events=[loads(PYD)],
    )
    found = run(thing, "WF301")
    assert found[0].evidence["chain"] == ["_core.pyd", "middle.dll", "Gone.DLL"]
    assert "(_core.pyd -> middle.dll -> Gone.DLL)" in found[0].message


def test_spellings_of_one_name_are_one_dll():
    other = SITE + "pkg/other.pyd"
    thing = subject(
        {PYD: dll("gone.dll"), other: dll("GONE")},
        [edge(PYD, "gone.dll"), edge(other, "GONE")],
        events=[loads(PYD), loads(other)],
    )
    assert [item.subject for item in run(thing)] == ["gone.dll"]


def test_a_plugin_that_nothing_loads_gives_a_warning():
    found = run(subject({PLUGIN: dll("libpq.dll")}, [edge(PLUGIN, "libpq.dll")]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF301:warning"]
    assert "nothing in the wheel is known to load" in found[0].message


@pytest.mark.parametrize(
    "provider",
    [System("x.dll"), PythonRuntime("x.dll"), Driver("x.dll"), OwnedBy("x.dll", "torch", True, "torch loads it first")],
    ids=lambda provider: type(provider).__name__,
)
def test_what_others_own_is_not_missing(provider):
    found = codes(subject({PYD: dll("x.dll")}, [edge(PYD, "x.dll", provider)], events=[loads(PYD)]))
    assert found == (["WF319:info"] if isinstance(provider, OwnedBy) else [])


def test_the_environments_own_faults_are_not_the_wheels():
    stranger = SITE + "numpy/other.dll"
    thing = subject({PYD: dll()}, [edge(stranger, "gone.dll")], events=[loads(PYD)])
    assert codes(thing) == []


def test_a_dll_where_nobody_looks_is_told_as_that():
    hidden = SITE + "pkg/bin/foo.dll"
    thing = subject(
        {PYD: dll("foo.dll"), hidden: dll()},
        [edge(PYD, "foo.dll", Missing(("Lib/site-packages/pkg",), (hidden,)))],
        events=[loads(PYD, 126, ("_core.pyd", "foo.dll"))],
    )
    found = run(thing)
    assert [(item.code, item.subject, item.repairable) for item in found] == [
        ("WF305", "pkg/bin/foo.dll", Repairable.ALWAYS)
    ]
    assert found[0].evidence["present_at"] == ["pkg/bin/foo.dll"]
    assert "add_dll_directory" in found[0].hint


@pytest.mark.parametrize(
    ("source", "severity"),
    [
        ("import os; os.add_dll_directory(os.environ['PKG'])", "unsure"),
        ("import os, m; os.add_dll_directory(m.join(m.data(), 'lib'))", "unsure"),
        ("import os; os.add_dll_directory(os.path.join(os.path.dirname(__file__), 'readable'))", "error"),
        ("def later():\n    os.add_dll_directory(os.environ['PKG'])", "error"),
        ("print('os.add_dll_directory(folder)')", "error"),
    ],
    ids=["computed", "named", "readable", "not called", "text"],
)
@pytest.mark.parametrize("where", ["pkg/_environment.py", "pkg/aside.py"])
def test_a_folder_that_code_may_add_softens_the_verdict(where, source, severity, tmp_path):
    """A word of the code that is the name of the folder says no more; numpy.distutils only mentions such a call."""
    files = {
        "pkg/__init__.py": "from . import _environment, _core\n",
        "pkg/_environment.py": "",
        "pkg/_core.pyd": forge_dll("_core.pyd", imports={"foo.dll": ["f"]}),
        "pkg/.data/lib/foo.dll": forge_dll("foo.dll", exports=["f"]),
        "pkg/readable/other.dll": forge_dll("other.dll"),
    }
    report = scanned(tmp_path, {**files, where: source})
    (found,) = [item for item in report.findings if item.code == "WF305"]
    assert str(found.severity) == (severity if where == "pkg/_environment.py" else "error")


def test_a_folder_that_a_variable_names_does_not_excuse_a_missing_dll(tmp_path):
    """On a machine that has nothing but the wheel there is no such folder."""
    files = {
        "pkg/__init__.py": "import os; os.add_dll_directory(os.environ['PKG'])\nfrom . import _core\n",
        "pkg/_core.pyd": forge_dll("_core.pyd", imports={"foo.dll": ["f"]}),
    }
    report = scanned(tmp_path, files)
    assert [(item.code, str(item.severity)) for item in report.findings if item.code == "WF301"] == [("WF301", "error")]


@pytest.mark.parametrize(
    ("path", "needed", "core", "expected"),
    [
        ("PySide6/plugins/sqldrivers/qsqlpsql.dll", "LIBPQ.dll", True, ["WF301:info"]),
        ("PySide6/qml/QtQuick/Pdf/pdfquickplugin.dll", "Qt6Pdf.dll", True, ["WF301:info"]),
        ("pymeshlab/lib/plugins/io_e57.dll", "E57Format.dll", True, ["WF301:warning"]),
        ("PySide6/qsqlpsql.dll", "LIBPQ.dll", True, ["WF301:warning"]),
        ("pkg/plugins/filter.dll", "LIBPQ.dll", False, ["WF301:warning"]),
    ],
)
def test_qt_passes_over_plugins_that_do_not_load(path, needed, core, expected):
    """pymeshlab without E57Format.dll cannot read a kind of file that it names; PySide6 is made without LIBPQ.dll."""
    images = {SITE + path: dll(needed)} | ({SITE + "PySide6/Qt6Core.dll": dll()} if core else {})
    assert codes(subject(images, [edge(SITE + path, needed)])) == expected


@pytest.mark.parametrize(
    ("other", "severity", "ending"),
    [
        ({"pkg/_base.pyd": extension(name="_base")}, "info", "and continues"),
        ({}, "warning", "and continues, without any of its extension modules"),
    ],
    ids=["one of two", "the only one"],
)
def test_an_import_that_the_code_catches_is_told_as_such(other, severity, ending, tmp_path):
    """numba tries its TBB backend, and takes another when there is no tbb12.dll; pymongoarrow has one module."""
    files = {
        "pkg/__init__.py": b"try:\n    from pkg import _tbb\nexcept ImportError:\n    pass\n",
        "pkg/_tbb.pyd": extension("gone.dll", name="_tbb"),
        **other,
    }
    report = scanned(tmp_path, files)
    assert [f"{item.code}:{item.severity}" for item in report.findings] == [f"WF301:{severity}"]
    assert report.findings[0].message.endswith(f"the package's code catches the error {ending}")
    assert [item.required for item in report.missing] == [not other]
    assert report.first_failure is None


def test_one_backend_of_several_may_lack_its_library():
    parts = {SITE + f"torio/_ffmpeg{n}.pyd": f"avutil-{n + 52}.dll" for n in (4, 5, 6)}
    images = {path: dll(name) for path, name in parts.items()}
    edges = [edge(path, name) for path, name in parts.items()]
    found = run(subject(images, edges, events=[loads(path, 126) for path in parts]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF301:warning"] * 3
    assert "it is for one of several backends, of which none loads" in found[0].message


def test_a_backend_without_its_library_is_a_note_if_another_loads():
    parts = {SITE + f"torio/_ffmpeg{n}.pyd": f"avutil-{n + 52}.dll" for n in (4, 5)}
    old, new = parts
    there = SITE + "torio/avutil-57.dll"
    images = {path: dll(name) for path, name in parts.items()} | {there: dll()}
    edges = [edge(old, parts[old]), edge(new, parts[new], there)]
    found = run(subject(images, edges, events=[loads(old, 126, ("_ffmpeg4.pyd", parts[old])), loads(new)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF301:info"]
    assert "it is for one of several backends, and _ffmpeg5.pyd loads" in found[0].message


def test_two_modules_that_need_one_library_are_no_backends():
    parts = [SITE + f"pkg/_part{n}.pyd" for n in (1, 2)]
    images = {path: dll("avutil-56.dll") for path in parts}
    edges = [edge(path, "avutil-56.dll") for path in parts]
    assert codes(subject(images, edges, events=[loads(path, 126) for path in parts])) == ["WF301:error"]


def test_an_optional_companion_may_lack_something_itself():
    # tbb12.dll tries one tbbbind after the other; the wheel has no hwloc for any of them.
    bind = "Library/bin/tbbbind_2_0.dll"
    images = {"Library/bin/tbb12.dll": dll(), bind: dll("libhwloc-15.dll")}
    found = run(subject(images, [edge(bind, "libhwloc-15.dll")]), "WF301")
    assert [str(item.severity) for item in found] == ["info"]
    assert "tbb12.dll loads tbbbind_2_0.dll only if it can" in found[0].message


# ------------------------------------------------------------------------------------------------- companions

CORE = LIB + "mkl_core.2.dll"


@pytest.mark.parametrize(
    ("required", "loaded", "expected"),
    [
        (True, True, ["WF302:error"]),
        (True, False, ["WF302:warning"]),
        (False, True, ["WF303:info"]),
        (False, False, ["WF303:info"]),
    ],
)
def test_companions_weigh_by_need_and_load(required, loaded, expected):
    need = edge(CORE, "mkl_def.2.dll", kind=EdgeKind.COMPANION, required=required, because="the kernel for all")
    thing = subject({CORE: dll()}, [need], events=[loads(CORE)] if loaded else [])
    assert codes(thing) == expected
    assert "the kernel for all" in run(thing)[0].message


def test_one_who_cannot_do_without_outweighs_one_who_can():
    other = LIB + "other.dll"
    edges = [
        edge(CORE, "x.dll", kind=EdgeKind.COMPANION, required=False, because="nice to have"),
        edge(other, "x.dll", kind=EdgeKind.COMPANION, because="needed"),
    ]
    found = run(subject({CORE: dll(), other: dll()}, edges, events=[loads(CORE), loads(other)]))
    assert [item.code for item in found] == ["WF302"]
    assert "which other.dll loads at run time, is missing: needed" in found[0].message


def test_companions_of_a_missing_dll_are_told_with_it():
    # The Kepler build: mkl_intel_thread.2.dll is missing, and alone it would not help.
    thing = subject(
        {CPU: dll("mkl_intel_thread.2.dll")},
        [
            edge(CPU, "mkl_intel_thread.2.dll"),
            edge("mkl_intel_thread.2.dll", "mkl_core.2.dll", kind=EdgeKind.COMPANION, because="it computes there"),
        ],
        events=[loads(CPU, 126, ("torch_cpu.dll", "mkl_intel_thread.2.dll"))],
        torch=torch(),
    )
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF301:error", "WF302:error"]
    assert "mkl_intel_thread.2.dll (itself missing)" in found[1].message


def test_optional_companions_of_one_parent_are_told_together():
    """The one reason that was said about tbbbind and tbbmalloc was that of tbbbind."""
    names = {"tbbbind.dll": "threads are not bound", "tbbmalloc.dll": "another allocator is used", "tcm.dll": ""}
    edges = [edge(CORE, name, kind=EdgeKind.COMPANION, required=False, because=why) for name, why in names.items()]
    (found,) = run(subject({CORE: dll()}, edges, events=[loads(CORE)]))
    assert found.message == (
        "tbbbind.dll, tbbmalloc.dll and tcm.dll, which mkl_core.2.dll loads if they are there, are missing: "
        "threads are not bound; another allocator is used"
    )
    assert found.evidence["names"] == [*names]


def test_required_companions_are_told_one_by_one():
    edges = [edge(CORE, name, kind=EdgeKind.COMPANION) for name in ("mkl_def.2.dll", "mkl_avx2.2.dll")]
    assert [item.subject for item in run(subject({CORE: dll()}, edges, events=[loads(CORE)]))] == [
        "mkl_avx2.2.dll",
        "mkl_def.2.dll",
    ]


# ------------------------------------------------------------------------------------------------- delay loads


@pytest.mark.parametrize(
    ("required", "loaded", "expected"),
    [(True, True, ["WF304:error"]), (False, True, ["WF304:warning"]), (False, False, ["WF304:warning"])],
)
def test_delay_loads(required, loaded, expected):
    need = edge(PYD, "late.dll", kind=EdgeKind.DELAY, required=required)
    thing = subject({PYD: dll(delay=["late.dll"])}, [need], events=[loads(PYD)] if loaded else [])
    assert codes(thing) == expected


def test_a_delay_load_that_is_imported_elsewhere_is_told_as_import_only():
    other = SITE + "pkg/other.pyd"
    edges = [edge(PYD, "gone.dll", kind=EdgeKind.DELAY, required=False), edge(other, "gone.dll")]
    assert codes(subject({PYD: dll(), other: dll()}, edges, events=[loads(PYD), loads(other)])) == ["WF301:error"]


# ------------------------------------------------------------------------------------------- runtimes and owners


def test_the_vc_runtime_is_told_once_per_wheel():
    names = ["MSVCP140.dll", "VCOMP140.DLL"]
    edges = [edge(path, name, VcRedist(name)) for path in (FBGEMM, CPU) for name in names]
    found = run(subject({FBGEMM: dll(), CPU: dll()}, edges, events=[loads(FBGEMM), loads(CPU)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF306:info"]
    assert found[0].evidence["names"] == ["msvcp140.dll", "vcomp140.dll"]
    assert found[0].evidence["needed_by"] == ["torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]


@pytest.mark.parametrize(
    ("requires", "loaded", "expected"),
    [
        ((), True, ["WF306"]),
        ((), False, []),
        (("msvc-runtime",), True, []),
        (("msvc-runtime; extra == 'x'",), True, ["WF306"]),
    ],
    ids=["elsewhere", "plugin", "requirement", "extra"],
)
def test_the_vc_runtime_that_the_wheel_or_a_requirement_brings_is_no_need(requires, loaded, expected):
    """PyQt6-Qt6 has msvcp140.dll in bin; its plugins are loaded after that."""
    images = {PYD: dll(), SITE + "other/msvcp140.dll": dll()}
    edges = [edge(PYD, "MSVCP140.dll", VcRedist("MSVCP140.dll"))]
    thing = subject(images, edges, events=[loads(PYD)] if loaded else [], wheel=wheel(requires=requires))
    assert [item.code for item in run(thing, "WF306")] == expected


@pytest.mark.parametrize(("loaded", "severity"), [(True, "error"), (False, "info")])
def test_an_owner_out_of_reach(loaded, severity):
    owner = OwnedBy("cublas64_12.dll", "nvidia-cublas-cu12", False, "its folder is not added")
    thing = subject({PYD: dll()}, [edge(PYD, "cublas64_12.dll", owner)], events=[loads(PYD, 126)] if loaded else [])
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == [f"WF307:{severity}"]
    assert "nvidia-cublas-cu12, but out of reach: its folder is not added" in found[0].message


def test_a_file_that_the_package_loads_after_its_import_is_said_to_be(tmp_path):
    """ONNX Runtime's import succeeds without CUDA; a session that asks for CUDA does not."""
    files = {
        "onnxruntime/__init__.py": b"",
        "onnxruntime/capi/onnxruntime_pybind11_state.pyd": forge_dll("onnxruntime_pybind11_state.pyd"),
        "onnxruntime/capi/onnxruntime_providers_cuda.dll": forge_dll("p.dll", imports={"cublas64_12.dll": ["f"]}),
    }
    wheel_path = build_wheel(tmp_path, "onnxruntime_gpu", "1.22.0", files=files)
    report = scan(wheel_path, ALONE)
    found = next(item for item in report.findings if item.code == "WF301")
    assert (found.severity.value, found.subject) == ("warning", "cublas64_12.dll")
    assert (
        "the package loads that file when a session asks for the execution provider 'cuda', which fails with error 126"
        in found.message
    )


BRIDGE = extension("torch_cpu.dll", name="_bridge")
MPI = {
    "pkg/__init__.py": "from pkg import _main\n",
    "pkg/_main.cp311-win_amd64.pyd": extension(name="_main"),
    "pkg/mpi.cp311-win_amd64.pyd": extension("impi.dll", name="mpi"),
}
ADDS_CUDA = "import os\nos.add_dll_directory(os.environ['CUDA_PATH'] + '\\\\bin')\nfrom pkg import _x\n"
NVRTC = extension("nvrtc64_112_0.dll:nvrtcVersion")
LOADER = "MODULES = ['_heif']\ndef load(name):\n    try:\n        return importlib.import_module(name)\n"
HEIF = extension("heif.dll", name="_heif")
IF_IT_CAN = "try:\n    import pkg_libs\nexcept ImportError:\n    pass\nfrom . import _ext\n"
VERDICTS = {
    "a private module that no Python file imports, of a DLL that another package has": (
        Verdict.RISKY,
        {"pkg/__init__.py": "", "pkg/_bridge.cp311-win_amd64.pyd": BRIDGE},
    ),
    "it is imported": (
        Verdict.BROKEN,
        {"pkg/__init__.py": "from pkg import _bridge", "pkg/_bridge.cp311-win_amd64.pyd": BRIDGE},
    ),
    "it is public": (Verdict.BROKEN, {"pkg/__init__.py": "", "pkg/bridge.cp311-win_amd64.pyd": BRIDGE}),
    "an optional import of a package that also has a vendor's DLL does not make up for it": (
        Verdict.BROKEN,
        {
            "pkg/__init__.py": "from pkg import _x",
            "pkg/board.py": "def show():\n    import tensorflow\n",
            "pkg/_x.cp311-win_amd64.pyd": extension("libiomp5md.dll:omp_get_num_threads"),
        },
    ),
    "CuPy adds the folder of an installed toolkit, which has NVRTC and its built-ins": (
        Verdict.UNSURE,
        {"pkg/__init__.py": ADDS_CUDA, "pkg/_x.cp311-win_amd64.pyd": NVRTC},
    ),
    "nothing adds that folder": (
        Verdict.BROKEN,
        {"pkg/__init__.py": "from pkg import _x\n", "pkg/_x.cp311-win_amd64.pyd": NVRTC},
    ),
    "daal4py has a module for Intel MPI, which no Python file imports": (Verdict.RISKY, MPI),
    "a file imports it": (Verdict.BROKEN, {**MPI, "pkg/run.py": "from pkg import mpi\n"}),
    "its DLL is not known": (
        Verdict.BROKEN,
        {**MPI, "pkg/mpi.cp311-win_amd64.pyd": extension("unheard-of.dll", name="mpi")},
    ),
    "imagecodecs has a table of its modules, and stubs for those that cannot be imported": (
        Verdict.RISKY,
        {"pkg/__init__.py": f"{LOADER}    except ImportError:\n        return None\n", "pkg/_heif.pyd": HEIF},
    ),
    "the failure is not caught": (
        Verdict.BROKEN,
        {"pkg/__init__.py": f"{LOADER}    finally:\n        pass\n", "pkg/_heif.pyd": HEIF},
    ),
    "tensorrt_bindings imports tensorrt_libs, which it does not require, if it is there": (
        Verdict.BROKEN,
        {"pkg/__init__.py": IF_IT_CAN, "pkg/_ext.pyd": extension("nvpkg_11.dll", name="_ext")},
    ),
}


@pytest.mark.parametrize(("verdict", "files"), VERDICTS.values(), ids=VERDICTS)
def test_what_the_code_of_the_package_says_about_a_missing_dll(tmp_path, verdict, files):
    report = scanned(tmp_path, files)
    assert report.verdict is verdict
    assert (report.first_failure is None) is (verdict is not Verdict.BROKEN)


@pytest.mark.parametrize(
    ("listed", "verdict"), [("importlib.metadata.files('pkg')", "ok"), ("json.load(sys.stdin)", "unsure")]
)
def test_a_dll_that_code_may_load_first_is_not_called_out_of_reach(tmp_path, listed, verdict):
    """netgen loads the DLLs that metadata lists, each by its path; the extension module then finds them loaded."""
    init = (
        "import ctypes, importlib.metadata, json, sys\n"
        f"for file in {listed}:\n"
        "    if file.match('*.dll'):\n"
        "        ctypes.CDLL(str(file.locate()))\n"
        "from . import _core\n"
    )
    files = {
        "pkg/__init__.py": init,
        "pkg/_core.pyd": extension("foo.dll", name="_core"),
        "pkg/lib/foo.dll": forge_dll("foo.dll", exports=["f"]),
    }
    report = scanned(tmp_path, files)
    said = [str(item.severity) for item in report.findings if item.code == "WF305"]
    assert (str(report.verdict), said) == (verdict, [] if verdict == "ok" else ["unsure"])


@pytest.mark.parametrize(
    ("requires", "verdict"), [(["frobnicate-core==1.0"], Verdict.UNSURE), ([], Verdict.BROKEN)], ids=["required", "not"]
)
def test_a_dll_in_the_folder_of_a_distribution_that_is_required(tmp_path, requires, verdict):
    """The __init__.py of meshlib, which adds meshlib_core.libs, is in meshlib-core."""
    name = "glfw3-8c4b29f52180830e2de2231ea79a9248.dll"
    files = {
        "pkg/_core.pyd": extension(name, name="_core"),
        f"frobnicate_core.libs/{name}": forge_dll(name, exports=["f"]),
    }
    wheel = build_wheel(tmp_path, files=files, requires=requires)
    report = scan(wheel, ALONE)
    assert report.verdict is verdict
    (item,) = (one for one in report.findings if one.code == "WF305")
    assert ("the code of frobnicate-core, which is required and not here" in item.message) is bool(requires)


@pytest.mark.parametrize(("user", "named"), [("pkg/bin/tool.exe", False), ("pkg/_core.pyd", True)])
def test_programs_are_not_helped_by_folders_of_the_python_process(user, named):
    """rapidspeech 1.4.3: its programs in bin do not find the DLLs one folder up."""
    path, hidden = SITE + user, SITE + "pkg/lib/foo.dll"
    missing = Missing(searched=("<System32>",), present_at=(hidden,))
    thing = subject({path: dll("foo.dll"), hidden: dll()}, [edge(path, "foo.dll", missing)], events=[loads(path)])
    (found,) = run(thing, "WF305")
    assert ("os.add_dll_directory" in found.hint) is named
    assert "puts a copy beside" in found.hint


def test_a_dll_that_delvewheel_named_for_the_wheel_is_missing_also_where_the_failure_is_caught(tmp_path):
    """pillow_heif catches the ImportError of its only module, and was risky, and repaired, without libde265."""
    gone = "libde265-0-da04b6b2448c39c0b7f218769dedb2f1.dll"
    files = {
        "pkg/__init__.py": "try:\n    import _pkg\nexcept ImportError:\n    _pkg = None\n",
        "_pkg.cp311-win_amd64.pyd": extension(gone, name="_pkg"),
    }
    wheel = build_wheel(tmp_path, files=files)
    report = scan(wheel)
    found = [(item.code, item.subject, str(item.severity)) for item in report.findings]
    assert (report.verdict, found) == (Verdict.BROKEN, [("WF301", gone, "error")])


OMP = LIB + "libiomp5md.dll"
IMAGES = {CPU: dll("libiomp5md.dll"), OMP: dll()}


@pytest.mark.parametrize(
    ("unexported", "number", "spelled"),
    [
        (("__kmpc_masked",), 127, "imports __kmpc_masked from libiomp5md.dll, which does not export it"),
        ((17,), 182, "imports ordinal 17 from"),
        (("a", "b", "c", "d"), 127, "imports a, b, c and 1 more from libiomp5md.dll, which does not export them"),
    ],
)
def test_a_missing_symbol_fails_the_load(unexported, number, spelled):
    found = run(subject(IMAGES, [edge(CPU, "libiomp5md.dll", OMP, unexported=unexported)], events=[loads(CPU, number)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF310:error"]
    assert spelled in found[0].message
    assert f"error {number}" in found[0].message
    assert found[0].evidence["symbols"] == [*unexported]


def test_it_is_a_warning_where_nothing_loads_the_importer():
    assert codes(subject(IMAGES, [edge(CPU, "libiomp5md.dll", OMP, unexported=("x",))])) == ["WF310:warning"]


def test_a_delay_loaded_symbol_does_not_fail_the_load():
    need = edge(CPU, "libiomp5md.dll", OMP, EdgeKind.DELAY, required=False, unexported=("x",))
    assert codes(subject(IMAGES, [need], events=[loads(CPU)])) == ["WF310:warning"]


def test_symbols_that_are_there_are_no_finding():
    assert codes(subject(IMAGES, [edge(CPU, "libiomp5md.dll", OMP)], events=[loads(CPU)])) == []


def test_a_stub_without_its_target():
    edges = [
        edge(CPU, "libiomp5md.dll", OMP),
        edge(OMP, "libomp.dll", kind=EdgeKind.FORWARDER, because="libomp.dll.omp_init"),
    ]
    images = {
        CPU: dll("libiomp5md.dll"),
        OMP: dll(forwarders={"omp_init": "libomp.dll.omp_init"}),
    }
    found = run(subject(images, edges, events=[loads(CPU, 127)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF311:error"]
    assert "libiomp5md.dll is a stub that forwards calls to libomp.dll, which is missing" in found[0].message


def test_a_stub_whose_target_lacks_the_function():
    target = LIB + "libomp.dll"
    need = edge(OMP, "libomp.dll", target, EdgeKind.FORWARDER, unexported=("omp_new",))
    found = run(subject({OMP: dll(), target: dll()}, [need], reached=[OMP]))
    assert [item.code for item in found] == ["WF311"]
    assert "which does not export omp_new" in found[0].message


def test_a_whole_forwarder_is_no_finding():
    target = LIB + "libomp.dll"
    assert codes(subject({OMP: dll(), target: dll()}, [edge(OMP, "libomp.dll", target, EdgeKind.FORWARDER)])) == []


UNREAD = "import ctypes\nctypes.CDLL(open('name').read())\n"


@pytest.mark.parametrize(
    ("files", "promised"),
    [
        ({"pkg/_core.pyd": forge_dll("_core.pyd", imports={"foo.dll": ["f"]}, exports=["PyInit__core"])}, True),
        ({"bin/tool.exe": forge_dll("tool.exe", imports={"foo.dll": ["f"]})}, False),
        (
            {
                "pkg/_core.pyd": forge_dll("_core.pyd", imports={"foo.dll": ["f"]}, exports=["PyInit__core"]),
                "pkg/__init__.py": UNREAD,
            },
            False,
        ),
    ],
    ids=["a module", "lcm: a program", "Shapely 1.7: code that was not read stops a repair"],
)
def test_a_repair_is_promised_only_where_it_copies(tmp_path, files, promised):
    report = scanned(tmp_path, {"pkg/__init__.py": "", "pkg/bin/foo.dll": forge_dll("foo.dll", exports=["f"]), **files})
    (item,) = (one for one in report.findings if one.code == "WF305")
    assert "a copy beside" in item.hint
    assert [step.command for step in next_steps(report, report.findings, ())] == (
        [f"wheelfix repair {report.path}"] if promised else []
    )
    options = RepairOptions(scan=ScanOptions(roots=RootOptions(discover=False)))
    try:
        copied = bool(repair_wheel(report.path, options).plan.additions)
    except CannotRepair:
        copied = False
    assert copied is promised
