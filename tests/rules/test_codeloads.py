"""DLLs and folders that Python code asks for: what is not there, and what could not be told."""

from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, run, scanned, subject
from tests.support.environments import install
from tests.support.wheels import ALONE, build_wheel, extension
from tools.forge import forge_dll
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan, scan_all
from wheelfix.model import ScanReport, Severity, Verdict
from wheelfix.pycode.budget import NOT_PYTHON, budget_of

HERE = "import os, sys, ctypes\nhere = os.path.dirname(__file__)\n"
LOAD = HERE + "ctypes.CDLL(os.path.join(here, 'core.dll'))\n"


def found(report: ScanReport) -> list[tuple[str, Severity, str]]:
    return [(item.code, item.severity, item.subject) for item in report.findings]


def test_a_missing_dll_of_the_code_makes_the_wheel_broken(tmp_path):
    report = scanned(tmp_path, {"pkg/__init__.py": LOAD})
    assert found(report) == [("WF314", Severity.ERROR, "pkg/core.dll")]
    assert report.findings[0].message == (
        "pkg/__init__.py, line 3, loads pkg/core.dll, which is not there; importing pkg fails with FileNotFoundError"
    )
    assert report.verdict is Verdict.BROKEN
    assert report.first_failure is not None
    assert report.first_failure.message.startswith("FileNotFoundError: Could not find module '…\\pkg\\core.dll'")


def test_code_that_reports_a_failed_load_is_quoted_and_the_cause_is_blamed(tmp_path):
    # llama-cpp-python: the error named llama.dll as the cause, and was not the line that Python prints.
    code = HERE + (
        "def load(name):\n    p = os.path.join(here, name + '.dll')\n    try:\n        return ctypes.CDLL(p)\n"
        "    except Exception as e:\n        raise RuntimeError(f\"Failed to load '{p}': {e}\")\n"
        "load('core')\n"
    )
    core = forge_dll("core.dll", imports={"part.dll": ["f"]})
    report = scanned(tmp_path, {"pkg/__init__.py": code, "pkg/core.dll": core})
    assert report.first_failure is not None
    assert report.first_failure.message == (
        "RuntimeError: Failed to load '…\\pkg\\core.dll': Could not find module '…\\pkg\\core.dll' "
        "(or one of its dependencies). Try using the full path with constructor syntax."
    )
    assert report.first_failure.chain == ("core.dll", "part.dll")
    assert report.first_failure.explanation.endswith("part.dll is missing, which core.dll imports.")
    (item,) = [item for item in report.findings if item.code == "WF314"]
    assert item.hint == "add part.dll to the wheel, beside core.dll"
    assert "loads pkg/core.dll, which cannot be loaded without part.dll" in item.message


GIVES_UP = "p = os.path.join(here, 'core.dll')\nif not os.path.isfile(p):\n    raise RuntimeError('no core')\n"


@pytest.mark.parametrize(
    ("files", "expected", "failure"),
    [
        ({"pkg/__init__.py": LOAD, "pkg/core.dll": ""}, [], ""),
        (
            {"pkg/__init__.py": f"{HERE}{GIVES_UP}ctypes.CDLL(p)"},
            [("WF314", Severity.ERROR, "pkg/core.dll")],
            "RuntimeError: no core",
        ),
        (
            {"pkg/__init__.py": "from . import a\n", "pkg/a.py": "", "pkg/native.py": LOAD},
            [("WF314", Severity.WARNING, "pkg/core.dll")],
            "",
        ),
        (
            {"pkg/__init__.py": HERE + "os.add_dll_directory(os.path.join(here, 'bin'))\n"},
            [("WF315", Severity.ERROR, "pkg/bin")],
            "FileNotFoundError: [WinError 2]",
        ),
        (
            {"pkg/__init__.py": HERE + "ctypes.CDLL(open('name').read())\n"},
            [("WF317", Severity.UNSURE, "CDLL(open('name').read())")],
            "",
        ),
        (
            {"pkg/__init__.py": "from cffi import FFI\nFFI().dlopen('libvips-42.dll')\n"},
            [("WF317", Severity.UNSURE, "libvips-42.dll")],
            "",
        ),
        (
            {"pkg/__init__.py": HERE + "import torch\nif torch.version.cuda:\n    ctypes.CDLL('core.dll')\n"},
            [("WF317", Severity.UNSURE, "core.dll")],
            "",
        ),
    ],
    ids=[
        *("the DLL is there", "code that gives up", "a module aside", "a missing folder"),
        *("unread", "along PATH", "after another package"),
    ],
)
def test_loads_of_code(tmp_path, files, expected, failure):
    report = scanned(tmp_path, files)
    assert found(report) == expected
    assert (report.first_failure.message if report.first_failure else "").startswith(failure)
    assert (report.first_failure is None) is not bool(failure)


@pytest.mark.parametrize("there", [False, True], ids=["not in the wheel", "Shapely 1.7: in a folder of its own"])
def test_an_unsure_load_says_whether_the_wheel_has_the_file(tmp_path, there):
    load = "lib = find_library('core.dll')\nif lib is None:\n    raise OSError('no core')\nctypes.CDLL(lib)\n"
    folders = "os.environ['PATH'] = os.path.join(here, 'bin') + ';' + os.__file__ + '../../../DLLs'\n"
    files = {"pkg/__init__.py": f"{HERE}from ctypes.util import find_library\n{folders}{load}"}
    (item,) = scanned(tmp_path, files | ({"pkg/bin/core.dll": ""} if there else {})).findings
    assert item.code == "WF317"
    assert ("which is in the wheel, and whether it is found there" in item.message) is there
    assert ("which is not in the wheel" in item.message) is not there


BY_NAME = "import ctypes\nctypes.windll.LoadLibrary('cudnn64_9.dll')\n"


@pytest.mark.parametrize(
    ("there", "code"),
    [pytest.param(False, "WF314", id="nothing has it"), pytest.param(True, "WF317", id="it may be loaded before")],
)
def test_cudnn_by_its_bare_name_in_an_environment(tmp_path, there, code):
    """nvidia-cudnn-frontend does so; NVIDIA's installers put their folders on PATH, where this load does not look."""
    module = extension()
    files = {"pkg/__init__.py": BY_NAME, "pkg/_x.pyd": module}
    env = install(build_wheel(tmp_path, files=files), tmp_path / "env")
    if there:
        install(build_wheel(tmp_path, "other", "1.0", files={"other/cudnn64_9.dll": ""}), env)
    found = scan_all([env], ALONE)
    (report,) = (one for one in found if isinstance(one, ScanReport) and one.name == "pkg")
    (item,) = report.findings
    assert item.code == code
    if not there:
        assert item.hint.startswith("install a distribution that has cudnn64_9.dll (nvidia-cudnn-cu11, ")
        failure = report.first_failure
        assert failure is not None
        assert failure.message.startswith("FileNotFoundError: Could not find module 'cudnn64_9.dll' (or one of")


INIT, OTHER = SITE + "pkg/__init__.py", SITE + "pkg/other.py"


@pytest.mark.parametrize(
    ("given_up", "loading", "severity", "said"),
    [
        ({}, (), "", ""),
        (
            dict.fromkeys((INIT, OTHER), "its strings grow too long"),
            (INIT, OTHER),
            "warning",
            "and 1 other file was not read: its strings grow too long; which folders it adds to the DLL search and "
            "which DLLs it loads is not known",
        ),
        ({OTHER: "it has too many tokens"}, (), "info", "what it imports is not known"),
        (dict.fromkeys((INIT, OTHER), NOT_PYTHON), (INIT,), "unsure", "the code of __init__.py was not read"),
    ],
    ids=["nothing", "it loads", "it only imports", "not Python counts only where it loads"],
)
def test_code_that_was_not_read(given_up, loading, severity, said):
    seen = subject({})
    budget = budget_of(seen.view)
    for path, reason in given_up.items():
        budget.give_up(path, reason)
    budget.loading.update(loading)
    items = run(seen, "WF207")
    assert [str(item.severity) for item in items] == ([severity] if severity else [])
    assert all(said in item.message for item in items)


@pytest.mark.parametrize("line", ["os.add_dll_directory(libs)", "ctypes.CDLL(os.path.join(libs, 'helper.dll'))"])
def test_code_that_cannot_be_parsed_may_make_a_dll_found(tmp_path, line):
    # ids_peak_icv: a DLL in the folder that such a file names was out of reach for certain.
    files = {
        "pkg/__init__.py": HERE + f"libs = os.path.join(here, '..', 'pkg.libs')\npass({{}})\n{line}\n",
        "pkg/_core.pyd": "imports helper.dll:run",
        "pkg.libs/helper.dll": "exports run",
    }
    report = scanned(tmp_path, files)
    assert {item.code: item.severity for item in report.findings} == dict.fromkeys(("WF207", "WF305"), Severity.UNSURE)
    assert report.verdict is Verdict.UNSURE


UNKNOWN = "import random, ctypes\nif random.random() < 2:\n    ctypes.CDLL('kernel32.dll')\n"
TOP = "pkg-1.0.dist-info/top_level.txt"
STUB_AND_OTHER = {"pkg/_core.pyi": "", "pkg/_a.pyd": ""}
BESIDE = {"pkg/__init__.py": "", "pkg/a.py": "from pkg._core import f\n"}
MANGLED = "pkg-1.0.data/platlib/msvcp140-a4c2229bdc2a2a630acdc095b4d86008.dll"


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"pkg.py": "import _core\n", TOP: "_core\npkg\n"}, "_core"),
        ({"pkg/__init__.py": "", "pkg/a.py": "from pkg._core import f\n", TOP: "_core\npkg\n"}, "pkg._core"),
        (
            {"pkg/__init__.py": "", "pkg/a.py": "from . import _core\n", "pkg/_core.cp311-win_amd64.lib": ""},
            "pkg._core",
        ),
        ({"pkg/__init__.py": "", "pkg/a.py": "from pkg._core import f\n"}, "pkg._core"),
        ({"pkg/__init__.py": "", "pkg/a.py": "from . import _core\n"}, "pkg._core"),
        ({**BESIDE, "pkg/_core/__init__.pyi": "", "pkg/_core/x.pyi": ""}, "pkg._core"),
        ({**BESIDE, "pkg/zlib.dll": ""}, "pkg._core"),
        ({**BESIDE, "pkg/_core.pyi": "", "pkg/_a.pyd": ""}, "pkg._core"),
        ({"ns/a.py": "from ns._core import f\n", "ns/_core.pyi": "", "ns/_a.pyd": ""}, "ns._core"),
        ({**BESIDE, "pkg/_core.pyi": "", "pkg/_a.pyd": forge_dll("_a.pyd") + b"\0_core\0"}, ""),
        ({**BESIDE, "pkg/__init__.py": "import sys; sys.modules['pkg._core'] = sys", **STUB_AND_OTHER}, ""),
        ({"pkg/__init__.py": "", "pkg/a/__init__.py": "from .._core import f\n", **STUB_AND_OTHER}, "pkg._core"),
        ({"pkg/__init__.py": "import _pkg\n"}, "_pkg"),
        ({"pkg/__init__.py": "import other_native\n"}, ""),
        ({"pkg.py": "if '.' in __name__:\n    from . import _core\nelse:\n    import _core\n", TOP: "_core"}, "_core"),
        ({"pkg.py": "if '.' in __name__:\n    import _core\nelse:\n    import sys\n", TOP: "_core"}, ""),
        ({"pkg.py": "try:\n    import _core\nexcept ImportError:\n    raise RuntimeError\n", TOP: "_core"}, "_core"),
        ({"pkg.py": "try:\n    import _core\nexcept ImportError:\n    _core = None\n", TOP: "_core"}, ""),
        ({"pkg.py": "def f():\n    import _core\n", TOP: "_core\npkg\n"}, ""),
        ({"pkg.py": "import _core\n", TOP: "pkg\n"}, ""),
        ({"pkg.py": "import _core\n", "_core.pyd": "", TOP: "_core\npkg\n"}, ""),
        ({"pkg/__init__.py": "", "pkg/a.py": "from pkg._core import f\n", "pkg/_a.pyd": ""}, ""),
        ({"pkg/__init__.py": "x = 1", "pkg/a.py": "from pkg import x\n"}, ""),
        ({"pkg/__init__.py": "from pkg.b import *", "pkg/a.py": "from pkg import x\n", "pkg/b.py": "x = 1"}, ""),
        ({"pkg/__init__.py": "pkg = 1", "pkg/a.py": "from pkg import pkg\n", TOP: "pkg\n"}, ""),
        ({"pkg/__init__.py": "", "pkg/a.py": "import pkg\n", "pkg.lib": ""}, ""),
        ({**BESIDE, "pkg/_core.pyx": "", "pkg/_core.cpp": "", "pkg/_a.pyd": ""}, "pkg._core"),
        ({**BESIDE, "pkg/_core.pyx": "", "pkg/_a.pyd": ""}, ""),
        ({"pkg/__init__.pyi": "", "pkg/a.py": "import pkg\n", "pkg/_a.pyd": forge_dll("_a.pyd") + b"\0pkg\0"}, "pkg"),
        ({"pkg/__init__.pyi": "", "pkg/a.py": "import pkg\n", "pkg.pyd": ""}, ""),
        ({"pkg/__init__.py": "def f():\n    import _pkg_core\n", TOP: "_pkg_core\npkg\n"}, "_pkg_core"),
        (
            {
                "pkg/__init__.py": UNKNOWN + "from . import core\n",
                "pkg/core.pyi": "",
                "pkg/_a.pyd": "",
            },
            "pkg.core",
        ),
    ],
    ids=[
        *("webrtcvad: at the top", "PyNaCl: in the package", "mkl-service: its import library"),
        *(
            "xithead: nothing compiled is left",
            "grpcio-tools: nothing else has that name",
            "cryptography: a folder of stubs",
            "pyreadr: only a DLL is left",
            "Pillow: a stub",
            "winrt: a stub in a namespace",
            "another module may make it",
            "imgui-bundle: code makes it",
            "ValidX: the code of a package imports it",
            "jpype: beside the package",
            "beside the package, of anybody",
            "SWIG",
            "under a condition",
            "raised again",
        ),
        *("caught", "in a function", "not listed", "there", "pyarrow: never built", "no module", "a star"),
        *("dbf: a name of the package", "networkit: the library of a package", "thinc: what Cython made is there"),
        *("pyarrow: Cython made nothing", "apsw: the package itself", "mmh3: a module and its stub"),
        *("cffi: in a function, named like the package", "selectolax: the package imports it itself"),
    ],
)
def test_a_module_that_the_wheel_lists_is_its_own(tmp_path, files, missing):
    """A name at the top of site-packages could be another distribution's, unless the wheel says that it has it."""
    report = scanned(tmp_path, files)
    assert [item.subject for item in report.findings if item.code == "WF332"] == ([missing] if missing else [])
    assert (report.verdict is Verdict.BROKEN) == bool(missing)


@pytest.mark.parametrize(
    ("tag", "files", "broken"),
    [
        ("cp311-cp311-win_amd64", {}, True),
        ("cp39-abi3-win_arm64", {TOP: "pkg\n", "pkg.libs/a.dll": ""}, True),
        ("cp311-cp311-win_amd64", {MANGLED: forge_dll("msvcp140.dll")}, True),
        ("py3-none-win_amd64", {}, False),
        ("cp311-cp311-win_amd64", {"pkg.pyd": "", TOP: "pkg\n"}, False),
        ("cp38-cp38-win_amd64", {"pkg/cpp/worker.dll": ""}, False),
        ("cp311-cp311-win_amd64", {"moved/pkg.pyd": "", TOP: "pkg\n"}, True),
        ("cp311-cp311-win_amd64", {"usb.dll": "", "pkg/__init__.pyi": "", TOP: "pkg\n"}, True),
        (
            "cp311-cp311-win_amd64",
            {"own/_core.pyd": "", "own/__init__.py": "", TOP: "_core\n"},
            False,
        ),
    ],
    ids=[
        *("x21", "libzim", "manifold3d", "a wheel of documents", "there", "ray-cpp: DLLs"),
        *("yara-python in another folder", "depthai: a DLL and stubs", "a list without the package"),
    ],
)
def test_a_wheel_whose_only_module_is_gone(tmp_path, tag, files, broken):
    wheel = build_wheel(tmp_path, "pkg", "1.0", tag, files=files)
    (report,) = scan_all([wheel], ALONE)
    assert isinstance(report, ScanReport)
    assert ([item.code for item in report.findings if item.severity is Severity.ERROR] == ["WF209"]) is broken
    (env,) = scan_all([install(wheel, tmp_path / "env")], ALONE)
    assert isinstance(env, ScanReport)
    assert ("WF209" in [item.code for item in env.findings]) is broken


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"pkg/sub/__init__.py": "from ._c import *\n"}, "pkg.sub._c"),
        ({"pkg/sub/__init__.py": "from .api import f\n", "pkg/sub/api.py": "from . import _c\n"}, "pkg.sub._c"),
        ({"pkg/sub/__init__.py": "try:\n    from ._c import *\nexcept ImportError:\n    pass\n"}, ""),
        ({"pkg/sub/__init__.py": "", "pkg/sub/cffi.py": "from ._c import f\n"}, ""),
        ({"pkg/_sub/__init__.py": "from ._c import *\n"}, ""),
        ({"pkg/sub/__init__.py": "from .data import *\n", "pkg/sub/data/LICENSE": ""}, ""),
        ({"pkg/sub/__init__.py": "from ._c import *\n", "pkg/choose.py": "first = 'pkg.sub'\n"}, ""),
        ({"pkg/sub/__init__.py": "from ._c import *\nlog = 'pkg.sub'\n"}, "pkg.sub._c"),
        (
            {
                "pkg/sub/__init__.py": "from .fast import f\n",
                "pkg/sub/fast.py": "from ._c import f\n",
                "pkg/sub/fast.pyd": "",
            },
            "",
        ),
        (
            {
                "pkg/sub/__init__.py": "if pypy:\n    from ._c import f\nelse:\n    from ._d import f\n",
                "pkg/sub/_d.py": "",
            },
            "",
        ),
        (
            {
                "pkg/many/__init__.py": "".join(f"from .m{n} import f\n" for n in range(80)),
                **{f"pkg/many/m{n}.py": "" for n in range(80)},
                "pkg/sub/__init__.py": "from ._c import *\n",
            },
            "pkg.sub._c",
        ),
        (
            {
                "pkg/sub/__init__.py": "from .six.moves.urllib import parse\n",
                "pkg/sub/six.py": "import sys\nsys.meta_path.append(Moves)\n",
            },
            "",
        ),
    ],
    ids=[
        *("photutils.geometry", "pyresample.ewa", "caught", "mercurial: a choice of several", "private"),
        *(
            "vtk-streaming: a folder",
            "zmq.backend.cffi: chosen by name",
            "what it calls itself",
            "backports.zstd: compiled, and Python beside it",
        ),
        *("one of two ways", "biotite: beside a package of many files", "snowflake: six"),
    ],
)
def test_a_package_that_only_users_import(tmp_path, files, missing):
    """Importing the package at the top runs none of this and works; importing the one below fails."""
    own = {"pkg/__init__.py": "from . import _a\n", "pkg/_a.pyd": ""}
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files={**own, **files}), ALONE)
    assert [item.subject for item in report.findings if item.code == "WF332"] == ([missing] if missing else [])
    assert report.first_failure is None
    assert all(item.message.endswith("importing pkg.sub fails") for item in report.findings if item.code == "WF332")


def test_a_whole_package_that_a_package_for_users_needs_is_missing(tmp_path):
    """To leave one out of a build's list is a usual mistake: temporalio 1.7.1 lacks ``temporalio.api.dependencies``."""
    files = {
        "pkg/__init__.py": "from . import _a\n",
        "pkg/_a.pyd": "",
        "pkg/sub/__init__.py": "from pkg.old.more import f\n",
    }
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files), ALONE)
    assert found(report) == [("WF332", Severity.ERROR, "pkg.old"), ("WF332", Severity.ERROR, "pkg.old.more")]


def test_behind_a_star_import_of_what_is_compiled_an_exception_is_caught(tmp_path):
    """MaterialX goes without its module for names of earlier releases."""
    code = "from ._a import *\ntry:\n    from .legacy import *\nexcept ImportError:\n    pass\n"
    files = {"pkg/__init__.py": code, "pkg/_a.pyd": ""}
    assert found(scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files), ALONE)) == []


@pytest.mark.parametrize("condition", ["True", "there"], ids=["lightgbm 2.0.7", "it depends on what others have"])
def test_a_file_of_its_own_that_is_looked_for_in_vain_behind_an_import_of_others(tmp_path, condition):
    """lightgbm without its DLL was OK, because it is not known whether pandas is there."""
    code = (
        "try:\n    import pandas\n    there = True\nexcept ImportError:\n    there = False\nimport ctypes, os\n"
        f"path = os.path.join(os.path.dirname(__file__), 'lib_pkg.dll')\nif {condition}:\n"
        "    if not os.path.isfile(path):\n        raise Exception('Cannot find the library')\n    ctypes.CDLL(path)\n"
    )
    wheel = build_wheel(tmp_path, "pkg", "1.0", "py3-none-win_amd64", files={"pkg/__init__.py": code})
    report = scan(wheel, ALONE)
    assert (report.verdict, found(report)) == (Verdict.UNSURE, [("WF317", Severity.UNSURE, "pkg/lib_pkg.dll")])


def test_a_large_module_is_searched_before_it_is_an_excuse(tmp_path, monkeypatch):
    """That of opendal is larger than others that are searched; it has the names of the modules that it makes."""
    monkeypatch.setattr("wheelfix.pe.modulenames.LARGEST", 100)
    files = {"pkg/_c.pyd": "", "pkg/__init__.py": "from . import _c\nfrom pkg.operator import X\n"}
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files), ALONE)
    assert found(report) == [("WF332", Severity.ERROR, "pkg.operator")]


WAYS = "import os\nif os.environ.get('X'):\n    from ._a import f\nelse:\n    from .b import f\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pkg/__init__.py": WAYS, "pkg/b.py": "f = 1\n", "pkg/_a.lib": ""}, [("WF332", Severity.UNSURE, "pkg._a")]),
        ({"pkg/__init__.py": WAYS, "pkg/b.py": "f = 1\n"}, []),
        ({"pkg/__init__.py": "from . import c\n", "pkg/c.py": "from pkg._c.codec.one import X\n"}, []),
        ({"pkg/__init__.py": "from . import _c\nfrom pkg.operator import X\n"}, []),
        ({"pkg/__init__.py": "import ctypes\ntry:\n    ctypes.CDLL('')\nexcept OSError:\n    pass\n[].gone\n"}, []),
    ],
    ids=[
        *("one of two ways", "and nothing says that it was built", "zarrista: below a compiled module"),
        *("opendal: a large module makes others", "qutip: a load of nothing"),
    ],
)
def test_what_compiled_code_may_make_is_not_left_out(tmp_path, monkeypatch, files, expected):
    monkeypatch.setattr("wheelfix.pe.modulenames.LARGEST_ASKED", 100)
    files = {"pkg/_c.pyd": "", **files}
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files), ALONE)
    assert [item for item in found(report) if item[0].startswith("WF3")] == expected


SHIM = forge_dll("a.pyd", exports=["PyInit_a"], sections={".names": b"\xffpkg.a__mypyc\0pkg.a__mypyc.init_pkg___a\0"})
CYTHON = forge_dll("a.pyd", exports=["PyInit_a"], sections={".names": b"\0pkg._b\0pkg._b.f\0pkg._inline.f\0"})
OF_SEVERAL = forge_dll("a.pyd", exports=["PyInit_a", "PyInit__b"], sections={".names": b"\0pkg._b\0"})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pkg/a.pyd": SHIM}, [("WF332", Severity.ERROR, "pkg.a__mypyc")]),
        ({"pkg/a.pyd": SHIM, "pkg/a__mypyc.pyd": ""}, []),
        ({"pkg/a.pyd": CYTHON, "pkg/_b.pxd": "\ncdef class B:\n"}, [("WF332", Severity.ERROR, "pkg._b")]),
        ({"pkg/a.pyd": CYTHON, "pkg/_b.pxd": "\ncdef class B:\n", "pkg/_b.pyd": ""}, []),
        ({"pkg/a.pyd": CYTHON, "pkg/_b.pxd": "\ncdef inline int f():\n    return 1\n"}, []),
        ({"pkg/a.pyd": CYTHON, "pkg/_inline.pxd": "\ncdef class B:\n"}, []),
        ({"pkg/a.pyd": OF_SEVERAL, "pkg/_b.pxd": "\ncdef class B:\n"}, []),
    ],
    ids=[
        "charset-normalizer",
        "it is there",
        "scikit-learn",
        "there, too",
        "all of it is declared",
        "winloop: included",
        "Cantera: one file is several modules",
    ],
)
def test_a_module_that_compiled_code_imports(tmp_path, files, expected):
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", {"pkg/__init__.py": "", **files}), ALONE)
    assert [item for item in found(report) if item[0] == "WF332"] == expected


@pytest.mark.parametrize(
    ("requirement", "more", "codes"),
    [
        # itk has no file but its metadata, and requires itk-core==5.4.7 and five more; tensorflow 2.18 requires
        # tensorflow-intel of its version on Windows.
        ("pkg-core==1.0", {}, []),
        ("pkg-core (==1.0) ; platform_system == 'Windows'", {}, []),
        ("pkg-core==1.0 ; platform_system == 'Linux'", {}, ["WF209"]),
        ("pkg-core==v1.0.0", {}, []),
        ("pkg-core==1.*", {}, ["WF209"]),
        ("pkg-core==1.0 ; extra == 'cuda'", {}, ["WF209"]),
        ("numpy>=1.26", {}, ["WF209"]),
        ("pkg-core==1.0", {"pkg/__init__.pyi": ""}, ["WF209"]),
        # PySide6 6.6.1 has Python code and requires PySide6-Essentials of its version, which has QtCore.
        ("pkg-core==1.0", {"pkg/__init__.py": "", "pkg/events.py": "from pkg.core import a\n"}, []),
        ("numpy>=1.26", {"pkg/__init__.py": "", "pkg/events.py": "from pkg.core import a\n"}, ["WF332"]),
    ],
)
def test_a_wheel_that_is_made_of_others(tmp_path, requirement, more, codes):
    files = {
        "pkg-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Dist: {requirement}\n"
    }
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files | more), ALONE)
    assert [item.code for item in report.findings if item.code in ("WF209", "WF210", "WF332")] == codes


@pytest.mark.parametrize(
    ("version", "code", "missing"),
    [
        ("99.0", "from bitarray._util import f\n", "bitarray._util"),
        ("99.0", "from . import x\n", ""),
        # pyarrow 15.0.2 has no ORC for Windows, which later releases have.
        ("2.4.0", "from bitarray._util import f\n", ""),
    ],
)
def test_a_module_that_the_newest_release_has(tmp_path, version, code, missing):
    """Nothing imports ``bitarray.util`` but users, and importing it fails."""
    own = extension(name="_bitarray")
    files = {
        "bitarray/__init__.py": "from ._bitarray import *\n",
        "bitarray/_bitarray.pyd": own,
        "bitarray/util.py": code,
    }
    report = scan(build_wheel(tmp_path, "bitarray", version, "cp311-cp311-win_amd64", files=files), ALONE)
    assert [item.subject for item in report.findings if item.code == "WF332"] == ([missing] if missing else [])


@pytest.mark.parametrize(
    ("version", "files", "expected"),
    [
        ("99.0", {"cymem/cymem.pyx": ""}, [("WF332", Severity.ERROR, "cymem.cymem")]),
        ("99.0", {"cymem/cymem.pyx": "", "cymem/cymem.py": ""}, []),
        ("99.0", {}, []),
        ("1.31", {"cymem/cymem.pyx": ""}, []),
        ("99.0", {"cymem/cymem.pyx": "", "cymem/a.py": "if C:\n    from .cymem import f\n"}, []),
        ("99.0", {"cymem/cymem.pyx": "", "cymem/a.py": "load('cymem.cymem')\n"}, []),
    ],
    ids=[
        *("its source is there", "a file is it", "nothing of it is there", "an older release"),
        *("tornado: the package imports it itself", "mercurial: a name in a text"),
    ],
)
def test_a_module_that_only_users_import(tmp_path, version, files, expected):
    own = {"cymem/__init__.py": "", "cymem/_b.pyd": ""}
    report = scan(build_wheel(tmp_path, "cymem", version, "cp311-cp311-win_amd64", files={**own, **files}), ALONE)
    assert [one for one in found(report) if one[0] == "WF332"] == expected


def test_dlls_do_not_stand_for_a_module_that_the_newest_release_has(tmp_path):
    """taichi without its module has DLLs of SPIR-V, and what imports the module does so in a function."""
    files = {"taichi/__init__.py": "", "taichi/_lib/c.dll": ""}
    report = scan(build_wheel(tmp_path, "taichi", "99.0", "cp311-cp311-win_amd64", files=files), ALONE)
    assert "WF210" in [item.code for item in report.findings]


LATER = "import ctypes\ndef start():\n    return ctypes.CDLL('libdemo.dll')\n"


BY_PATH = HERE + (
    "def start():\n    for one in (os.path.join(here, 'libdemo.dll'), 'libdemo.dll'):\n        try:\n"
    "            return ctypes.CDLL(one)\n        except OSError:\n            pass\n"
)


@pytest.mark.parametrize(
    ("files", "tag", "expected"),
    [
        pytest.param({}, "py3-none-win_amd64", [("WF317", Severity.UNSURE, "libdemo.dll")], id="left out"),
        pytest.param(
            {"pkg/__init__.py": BY_PATH},
            "py3-none-win_amd64",
            [("WF317", Severity.UNSURE, "libdemo.dll")],
            id="libusb1: by its path",
        ),
        pytest.param({}, "py3-none-any", [], id="for any system"),
        pytest.param({"pkg/other.dll": ""}, "py3-none-win_amd64", [], id="another DLL is there"),
    ],
)
def test_a_wheel_for_windows_without_the_dll_that_its_code_loads(tmp_path, files, tag, expected):
    """As libclang and z3-solver without their only DLL, and without its row in RECORD."""
    report = scan(build_wheel(tmp_path, "pkg", "1.0", tag, {"pkg/__init__.py": LATER, **files}), ALONE)
    assert [item for item in found(report) if item[0] == "WF317"] == expected


SEVERAL_PLACES = """\
try:
    import demo_native
except ImportError:
    try:
        from pkg.native import demo_native
    except ImportError:
        raise ImportError('demo_native was not found')
"""


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("cp311-cp311-win_amd64", [("WF332", Severity.UNSURE, "pkg.native.demo_native")]),
        ("py3-none-any", []),
    ],
)
def test_a_module_that_is_looked_for_in_several_places(tmp_path, tag, expected):
    """As opencc without its only extension module: whether another distribution has it is not known."""
    files = {
        "pkg/__init__.py": SEVERAL_PLACES,
        "pkg/native/__init__.py": "",
        "pkg.libs/part.dll": "",
    }
    report = scan(build_wheel(tmp_path, "pkg", "1.0", tag, files), ALONE)
    assert [item for item in found(report) if item[0] == "WF332"] == expected
    assert report.first_failure is None


LEFT = extension(name="_o")
OTHERS = "globals().update(zip('ab', 'cd'))\n"
"""The package may have any name."""
RUST = forge_dll("_fast.pyd", exports=["PyInit__fast"]) + b"\0pyo3\0src\\io\\mod.rs\0"
BUILT_ELSEWHERE = {"pkg/__init__.py": "", "pkg/_a/__init__.py": "", "pkg/_a/patch.py": "from pkg._a import _c\n"}
BUILT_ELSEWHERE.update({"pkg/_a/_c.pyi": "", "pkg/b.py": "def f():\n    import pkg._a.patch\n"})
LAZY = {
    "pkg/__init__.py": "from .data import folder\n",
    "pkg/data/__init__.py": "import lazy_loader\n__getattr__, *_ = lazy_loader.attach_stub(__name__, __file__)\n",
    "pkg-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Dist: lazy-loader\n",
}
WHO_ASKS = "if 'sphinx' in sys.modules:\n    pass\nelse:\n    ctypes.CDLL(os.path.join(here, 'core.dll'))\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"pkg/__init__.py": "from . import _core\n" + OTHERS}, [("WF332", Severity.ERROR, "pkg._core")], id="MeCab"
        ),
        pytest.param(
            {"pkg/__init__.py": "from .base import x\n" + OTHERS, "pkg/base.py": "from . import _core\nx = 1\n"},
            [("WF332", Severity.ERROR, "pkg._core")],
            id="kuzu",
        ),
        pytest.param(
            {"pkg/__init__.py": "from . import _core\n" + OTHERS, "pkg/in/_core.pyd": ""},
            [("WF332", Severity.ERROR, "pkg._core")],
            id="in another folder",
        ),
        pytest.param({"pkg/__init__.py": "from .a import b\n", "pkg/a/b/c.py": ""}, [], id="comfy-kitchen: namespaces"),
        pytest.param(
            {"pkg/__init__.py": "from . import _fast\nimport pkg.io\n", "pkg/io.pyi": "", "pkg/_fast.pyd": RUST},
            [],
            id="fastwarc: made by Rust",
        ),
        pytest.param(BUILT_ELSEWHERE, [("WF332", Severity.UNSURE, "pkg._a._c")], id="ddtrace: private"),
        pytest.param(
            {**BUILT_ELSEWHERE, "pkg/b.py": "import pkg._a.patch\n"},
            [("WF332", Severity.ERROR, "pkg._a._c")],
            id="a public module needs it",
        ),
        pytest.param(
            {"pkg/__init__.py": HERE + WHO_ASKS}, [("WF314", Severity.ERROR, "pkg/core.dll")], id="treelite: Sphinx"
        ),
        pytest.param(
            {
                "pkg/__init__.py": "",
                "pkg/api.py": "import sys\nif sys.platform == 'linux':\n    import pkg.inotify\n",
                "pkg/inotify.py": "from pkg import libc\n",
                "pkg/libc.py": "import ctypes\nlibc = ctypes.CDLL(None)\n",
            },
            [],
            id="watchdog: for another system",
        ),
        pytest.param(LAZY, [], id="scikit-image 0.24: names from lazy_loader"),
        pytest.param(
            {**LAZY, "pkg/data/__init__.py": "def __getattr__(name):\n    raise AttributeError(name)\n"},
            [("WF332", Severity.ERROR, "pkg.data.folder")],
            id="its own __getattr__ knows no such name",
        ),
    ],
)
def test_what_importing_the_package_really_needs(tmp_path, files, expected):
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", {"pkg/_o.pyd": LEFT, **files}), ALONE)
    assert [item for item in found(report) if item[0].startswith("WF3")] == expected


BACKENDS = """\
try:
    from .c.fast import pack
except ImportError:
    try:
        from .cffi.slow import pack
    except ImportError:
        raise ImportError('no backend can be imported')
"""


def test_backends_that_were_both_left_out(tmp_path):
    """As pyppmd without its only extension module, which a file behind a guarded import imports."""
    files = {"pkg/__init__.py": BACKENDS, "pkg/c/fast.py": "from ._pack import pack\n"}
    files["pkg/cffi/slow.py"] = "from ._cffi_pack import pack\n"
    report = scanned(tmp_path, files)
    assert found(report) == [("WF332", Severity.ERROR, "pkg.c._pack")]
    assert report.findings[0].message.startswith("pkg/c/fast.py imports pkg.c._pack")
    assert report.first_failure is not None
    assert report.first_failure.message == "ImportError: no backend can be imported"


def test_whether_another_distribution_is_there_gives_no_file_to_the_package(tmp_path):
    """As clickhouse-driver without one of its modules: it asks whether certifi is there first."""
    code = (
        "try:\n    import certifi\nexcept ImportError:\n    certifi = None\nfrom . import ext\nfrom .writer import f\n"
    )
    files = {"pkg/__init__.py": code, "pkg/ext.pyd": ""}
    report = scanned(tmp_path, files)
    assert found(report) == [("WF332", Severity.ERROR, "pkg.writer")]
    assert report.first_failure is not None
    assert report.first_failure.message == "ModuleNotFoundError: No module named 'pkg.writer'"


FASTER = {"pkg/__init__.py": "try:\n    from ._fast import f\nexcept ImportError:\n    from .slow import f\n"}
FASTER["pkg/slow.py"] = "f = 1\n"
DEPRECATED = "from pkg.h import (  # from pkg import y is deprecated, will go\n    y,\n)\n"


@pytest.mark.parametrize(
    ("tag", "files", "expected"),
    [
        ("cp311-cp311-win_amd64", {}, True),
        ("cp39-abi3-win_amd64", {MANGLED: forge_dll("msvcp140.dll")}, True),
        ("cp311-cp311-win_amd64", {"pkg/path.py": "import os\nos.environ['PATH'] += __file__\n"}, True),
        ("py3-none-win_amd64", {}, False),
        ("cp311-none-win_amd64", {}, True),
        (
            "cp311-cp311-win_amd64",
            {"pkg/__init__.py": DEPRECATED, "pkg/h/__init__.py": UNKNOWN + "y = 1\n"},
            True,
        ),
        ("cp311-cp311-win_amd64", {"pkg/_fast.pyd": ""}, False),
        ("cp311-cp311-win_amd64", {"pkg/bin/llvmlite.dll": ""}, False),
    ],
    ids=[
        "markupsafe",
        "a DLL for the module",
        "kivy-deps.glew",
        "any Python",
        "pauli-tracker, by maturin",
        "libcst: words of a comment",
        "there",
        "llvmlite: a DLL",
    ],
)
def test_a_wheel_for_one_python_with_nothing_compiled(tmp_path, tag, files, expected):
    """Many builds go on where the compiler fails; what is left works, and not as its tags say."""
    report = scan(build_wheel(tmp_path, "pkg", "1.0", tag, {**FASTER, **files}), ALONE)
    assert (("WF210", Severity.WARNING, "pkg") in found(report)) is expected
    assert (report.verdict is Verdict.RISKY) is expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [("_internals", []), ("_compiled", [("WF332", Severity.ERROR, "llama_cpp._compiled")])],
    ids=["of others", "its own"],
)
def test_the_tags_of_a_wheel_say_nothing_about_packages_of_others(tmp_path, first, expected):
    """llama-cpp-python 0.2.90, as it is built for one Python, was blamed for numpy.typing."""
    numpy = {"numpy/__init__.py": "import sys\nsys.meta_path.append(object())\n"}
    env = install(build_wheel(tmp_path, "numpy", "2.0", "py3-none-any", numpy), tmp_path / "env")
    files = {"llama_cpp/__init__.py": f"from .{first} import f\n", "llama_cpp/_internals.py": "import numpy.typing\n"}
    files["llama_cpp/lib/llama.dll"] = ""
    tag = "cp311-cp311-win_amd64"
    wheel = build_wheel(tmp_path, "llama_cpp_python", "0.2.90", tag, files, requires=["numpy"])
    assert found(scan(wheel, replace(ALONE, beside=(env,)))) == expected
