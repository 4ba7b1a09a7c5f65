"""What real packages do that a followed import must not get wrong; each test names the wheel that showed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pycode.running import read
from tests.support.tables import named_cases
from tests.support.views import make_view
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.exam.scan import scan
from wheelfix.loader.profile import Profile
from wheelfix.model import ScanReport, Verdict
from wheelfix.pycode.importer import import_end
from wheelfix.pycode.sourcecode import counts

SITE = "Lib/site-packages/"
HEAD = "import ctypes, os, sys\nhere = os.path.dirname(__file__)\n"
LOAD = "lib = ctypes.CDLL(os.path.join(here, 'core.dll'))\n"
CORE = forge_dll("core.dll", exports=["start"])


def scanned(folder: Path, code: str, **files: bytes) -> ScanReport:
    """A wheel with a package of some code, and DLLs beside it."""
    inside = {"pkg/__init__.py": (HEAD + code).encode(), **{f"pkg/{name}.dll": data for name, data in files.items()}}
    return scan(build_wheel(folder, files=inside))


@named_cases(
    "code, said",
    {
        "no such function": (LOAD + "lib.stop\n", "AttributeError: function 'stop' not found"),
        "a path for ctypes of 3.11": (
            "from pathlib import Path\nctypes.CDLL(Path(here) / 'core.dll')\n",
            "TypeError: argument of type",
        ),
        "its own check": (
            "if not os.path.isdir(os.path.join(here, 'data')):\n    raise RuntimeError('no data')\n" + LOAD,
            "no data",
        ),
    },
)
def test_an_import_that_ends_with_another_exception_is_broken(tmp_path, code, said):
    """pikepdf without the folder of its DLLs says that its extension library failed to import."""
    report = scanned(tmp_path, code, core=CORE)
    (found,) = (item for item in report.findings if item.code == "WF331")
    assert (report.verdict, found.subject) == (Verdict.BROKEN, "pkg/__init__.py")
    assert said in found.message
    assert said in report.first_failure.message


@named_cases(
    "code",
    {
        "registry: janus_swi": "import winreg\nwinreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, 'x')\n"
        "raise RuntimeError('no SWI-Prolog')\n",
        "variable: janus_swi": "if 'SWI_HOME' not in os.environ:\n    raise RuntimeError('no SWI-Prolog')\n",
        "another distribution: PySide6": "if not os.path.isdir(os.path.join(here, '..', 'shiboken6')):\n"
        "    raise ImportError('no shiboken6')\n",
    },
)
def test_nothing_is_said_of_a_package_that_asks_for_something_else_first(tmp_path, code):
    assert "WF331" not in [item.code for item in scanned(tmp_path, code + LOAD, core=CORE).findings]


@pytest.mark.parametrize("dlls, verdict", [({}, Verdict.UNSURE), ({"other": CORE}, Verdict.BROKEN)])
def test_a_wheel_without_dlls_leaves_a_library_to_the_user(tmp_path, dlls, verdict):
    """python-magic has none; a wheel that brings others has lost this one."""
    code = (
        "from ctypes.util import find_library\nfound = find_library('magique')\n"
        "if found is None:\n    raise ImportError('no library')\nctypes.CDLL(found)\n"
    )
    assert scanned(tmp_path, code, **dlls).verdict is verdict


def test_a_failure_that_a_virtual_environment_prevents_is_not_certain():
    """dpctl adds Library/bin in a virtual environment only."""
    code = HEAD + "if sys.prefix == sys.base_prefix:\n    ctypes.CDLL(os.path.join(here, 'gone.dll'))\n"
    end = import_end(make_view({f"{SITE}pkg/__init__.py": code}), Profile(python=(3, 11)), "pkg")
    assert (end.decided, end.reason) == (False, "it depends on whether this is a virtual environment")


@named_cases(
    "python, decided, error",
    {
        "a set of wheels": ("", False, "FileNotFoundError"),
        "an environment of conda": ("python.exe", True, "FileNotFoundError"),
        "a virtual environment": ("Scripts/python.exe", True, ""),
    },
)
def test_an_environment_tells_by_its_python_whether_it_is_virtual(python, decided, error):
    """dpctl asks for pyvenv.cfg as well."""
    code = (
        f"{HEAD}venv = sys.base_exec_prefix != sys.exec_prefix\n"
        "if not (venv and os.path.isfile(os.path.join(sys.exec_prefix, 'pyvenv.cfg'))):\n"
        "    ctypes.CDLL(os.path.join(here, 'gone.dll'))\n"
    )
    files = {f"{SITE}pkg/__init__.py": code, **({python: CORE} if python else {})}
    end = import_end(make_view(files), Profile(python=(3, 11)), "pkg", complete=True)
    assert (end.decided, end.error) == (decided, error)


def test_a_way_that_a_variable_opens_leaves_no_trace_in_a_list():
    """rtree puts the folder that a variable names into its list of candidates."""
    code = (
        HEAD + "folders = []\nif 'PKG_HOME' in os.environ:\n    folders.append(os.environ['PKG_HOME'])\n"
        "folders.append(here)\nfor folder in folders:\n    ctypes.CDLL(os.path.join(folder, 'core.dll'))\n"
    )
    assert read(code, "pkg/core.dll").unread_calls == ()


def test_the_words_of_a_class_statement_reach_its_base():
    """pygent-ai refuses subclasses without a token."""
    code = (
        "class Base:\n    def __init_subclass__(cls, *, token=None):\n"
        "        if token is None:\n            raise TypeError('no token')\nclass Own(Base, token=1):\n    pass\n"
    )
    assert import_end(make_view({f"{SITE}pkg/__init__.py": code}), Profile(python=(3, 11)), "pkg").error == ""


@pytest.mark.parametrize(
    "path, expected",
    [
        ("pyglet/libs/x11/xrandr.py", False),
        ("numpy/tests/test_ctypeslib.py", False),
        ("numpy/testing/__init__.py", True),
        ("tests/__init__.py", True),
        ("pkg/examples.py", True),
        ("gstreamer_python/Lib/site-packages/gi/__init__.py", False),
    ],
)
def test_code_that_counts(path, expected):
    """A top-level package is imported by any name."""
    assert counts(SITE + path) is expected


@pytest.mark.parametrize("owner", ["ops", "classes"])
@named_cases("suffix, verdict", {"loaded": ("", Verdict.OK), "another": ("x", Verdict.BROKEN)})
def test_torch_loads_a_library_by_its_path(tmp_path, owner, suffix, verdict):
    """torchtext 0.18 was called broken: the library that its module needs is in another folder, and loaded before."""
    code = (
        "from pathlib import Path\nimport torch\n"
        f"torch.{owner}.load_library(Path(__file__).parent / 'lib' / 'libcore{suffix}.pyd')\n"
        "from pkg import _core\n"
    )
    library = "imports torch_cpu.dll; exports f"
    files = {"pkg/__init__.py": code, "pkg/lib/libcore.pyd": library, "pkg/_core.pyd": "imports libcore.pyd"}
    files |= {"pkg/lib/libcorex.pyd": library}
    made = scan(build_wheel(tmp_path, files=files, requires=["torch>=2.3"]))
    assert made.verdict is verdict
