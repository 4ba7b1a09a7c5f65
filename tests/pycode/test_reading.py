"""Code that loads DLLs is followed as Python would follow it: what is loaded, not there, or cannot be told."""

from __future__ import annotations

import pytest

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.packagecode import package_loads
from wheelfix.loader.predict import predict
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import Machine

SITE = "Lib/site-packages/"
HERE = "os.path.dirname(__file__)"
IMPORTS = "import os, sys, ctypes, platform, glob\nfrom pathlib import Path\n"

# Each loads pkg/lib/core.dll when pkg is imported, and fails without it; more are among the recorded imports.
WAYS = {
    "numpy's load_library": f"import numpy as np\nnp.ctypeslib.load_library('core', os.path.join({HERE}, 'lib'))",
    "numpy's load_library beside a file": (
        f"import numpy as np\nnp.ctypeslib.load_library('core', os.path.join({HERE}, 'lib', 'here.py'))"
    ),
    "helper with a parameter": (
        "def load(name, folder='lib'):\n"
        "    return ctypes.CDLL(str(Path(__file__).parent / folder / name))\n"
        "LIB = load('core.dll')"
    ),
    "helper that finds": (
        "def find():\n"
        f"    found = [os.path.join({HERE}, d, 'core.dll') for d in ('bin', 'lib')]\n"
        "    found = [p for p in found if os.path.isfile(p)]\n"
        "    if not found:\n        raise RuntimeError('not found')\n"
        "    return found\n"
        "LIB = ctypes.cdll.LoadLibrary(find()[0])"
    ),
    "by a dictionary": (
        "names = {'win32': 'core.dll', 'linux': 'core.so'}\n"
        f"ctypes.CDLL(os.path.join({HERE}, 'lib', names[sys.platform]))"
    ),
    "class attribute": (
        "class Library:\n    NAME = 'core.dll'\n"
        "    def __init__(self):\n        self.folder = Path(__file__).parent / 'lib'\n"
        "        self.lib = ctypes.CDLL(str(self.folder.joinpath(self.NAME)))\n"
        "LIB = Library()"
    ),
    "its own name": (
        "from importlib.resources import files\n"
        "folder = str(files(sys.modules[__name__].__name__))\nctypes.CDLL(os.path.join(folder, 'lib', 'core.dll'))"
    ),
    "cffi": f"from cffi import FFI\nffi = FFI()\nffi.dlopen(os.path.join({HERE}, 'lib', 'core.dll'))",
    "find_library first": (
        "from ctypes.util import find_library\n"
        f"ctypes.CDLL(find_library('core') or os.path.join({HERE}, 'lib', 'core.dll'))"
    ),
}


def files_for(code: str, **others: str | bytes) -> dict[str, str | bytes]:
    return {
        f"{SITE}pkg/__init__.py": IMPORTS + code,
        f"{SITE}pkg/other.txt": "",
        f"{SITE}pkg/lib/other.dll": "",
        f"{SITE}pkg-1.0.dist-info/METADATA": "Name: pkg\nVersion: 1.0\nRequires-Dist: cffi\nRequires-Dist: numpy\n",
        **{f"{SITE}{path}": data for path, data in others.items()},
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_load_is_found_and_a_file_that_is_not_there_is_a_failure(way):
    code = WAYS[way]
    whole = make_view({**files_for(code), f"{SITE}pkg/lib/core.dll": ""})
    loads = package_loads(whole, Profile())
    assert f"{SITE}pkg/lib/core.dll" in [event.path for file in loads.files for event in file.events]
    assert resolve(whole, Profile()).first_failure is None
    failure = resolve(make_view(files_for(code)), Profile()).first_failure
    assert failure.code == 126
    assert failure.chain[-1] in ("core.dll", "core")


@named_cases(
    "code",
    {
        "caught": f"try:\n    ctypes.CDLL(os.path.join({HERE}, 'core.dll'))\nexcept OSError:\n    pass",
        "not called": f"def later():\n    ctypes.CDLL(os.path.join({HERE}, 'core.dll'))",
        "other system": f"if sys.platform == 'linux':\n    ctypes.CDLL(os.path.join({HERE}, 'core.dll'))",
        "asked first": f"if os.path.exists(p := os.path.join({HERE}, 'core.dll')):\n    ctypes.CDLL(p)",
        "windows": "ctypes.windll.LoadLibrary('kernel32')",
        "windows by name": "ctypes.CDLL('opengl32.dll')",
        "list": f"for name in os.listdir({HERE}):\n    if name.endswith('.dll'):\n"
        f"        ctypes.CDLL(os.path.join({HERE}, name))",
        "variable not set": "if os.environ.get('PKG_CORE'):\n    ctypes.CDLL(os.environ['PKG_CORE'])",
        "suppressed": "from contextlib import suppress\nwith suppress(OSError):\n    ctypes.CDLL('core.dll')",
        "another package first": "import torch\nctypes.CDLL('core.dll')",
    },
)
def test_what_nobody_has_to_have_is_no_failure(code):
    resolution = resolve(make_view(files_for(code)), Profile())
    assert resolution.first_failure is None
    assert [fault for fault in resolution.code_faults if fault.sure] == []


@pytest.mark.parametrize(
    "code", ["ctypes.CDLL('/usr/lib/core.so')", "ctypes.CDLL('libcore.so.1')", "ctypes.CDLL(None)"]
)
def test_what_only_another_system_has_fails_on_windows(code):
    """Nothing asks for the system first, so that the import ends with an exception."""
    assert resolve(make_view(files_for(code)), Profile()).first_failure is not None


@pytest.mark.parametrize(
    "machine, name",
    [(Machine.AMD64, "core64.dll"), (Machine.X86, "core32.dll"), (Machine.ARM64, "core64.dll")],
)
@pytest.mark.parametrize(
    "bits",
    [
        "'64' if sys.maxsize > 2**32 else '32'",
        "platform.architecture()[0][:2]",
        "str(ctypes.sizeof(ctypes.c_void_p) * 8)",
        "'%d' % (struct.calcsize('P') * 8)",
    ],
)
def test_the_name_for_the_processor(bits, machine, name):
    code = f"import struct\nbits = {bits}\nctypes.CDLL(os.path.join({HERE}, f'core{{bits}}.dll'))"
    failure = resolve(make_view(files_for(code)), Profile(machine=machine)).first_failure
    assert failure.chain == (name,)


def test_every_value_that_a_branch_can_give_counts():
    code = f"name = 'a.dll'\nif platform.node():\n    name = 'b.dll'\nctypes.CDLL(os.path.join({HERE}, name))"
    view = make_view(files_for(code, **{"pkg/a.dll": "", "pkg/b.dll": ""}))
    found = {event.path for file in package_loads(view, Profile()).files for event in file.events}
    assert found == {f"{SITE}pkg/a.dll", f"{SITE}pkg/b.dll"}
    one = make_view(files_for(code, **{"pkg/a.dll": ""}))
    assert resolve(one, Profile()).first_failure is None, "the other may be meant"
    (fault,) = resolve(make_view(files_for(code)), Profile()).code_faults
    assert (fault.names, fault.sure) == ((f"{SITE}pkg/b.dll", f"{SITE}pkg/a.dll"), False)


@named_cases("before", {"plain": "", "comment": "# CDLL is called elsewhere\n"})
def test_calls_into_other_files_are_followed(before):
    """As in pyzbar: one file has the function, another calls it when it is imported."""
    code = f"{before}from .loading import load\nLIB = load()"
    loading = IMPORTS + f"def load():\n    return ctypes.CDLL(os.path.join({HERE}, 'core.dll'))"
    view = make_view(files_for(code, **{"pkg/loading.py": loading}))
    (fault,) = resolve(view, Profile()).code_faults
    assert (fault.root, fault.file, fault.line, fault.sure, fault.reached) == (
        f"{SITE}pkg/__init__.py",
        f"{SITE}pkg/loading.py",
        4,
        True,
        True,
    )


def test_a_file_that_importing_the_package_does_not_run_is_not_reached():
    code = f"ctypes.CDLL(os.path.join({HERE}, 'core.dll'))"
    view = make_view(files_for("from . import used", **{"pkg/used.py": "", "pkg/aside.py": IMPORTS + code}))
    resolution = resolve(view, Profile())
    assert [(fault.sure, fault.reached) for fault in resolution.code_faults] == [(True, False)]
    assert resolution.first_failure is None


def test_an_import_that_is_caught_is_not_reached():
    code = f"ctypes.CDLL(os.path.join({HERE}, 'core.dll'))"
    init = "try:\n    from . import native\nexcept {}:\n    native = None\nfrom . import used"
    for caught, reached in (("OSError", []), ("ImportError", [True])):  # ctypes raises FileNotFoundError
        view = make_view(files_for(init.format(caught), **{"pkg/used.py": "", "pkg/native.py": IMPORTS + code}))
        assert [fault.reached for fault in resolve(view, Profile()).code_faults] == reached


def test_a_folder_that_does_not_exist_is_an_error_of_its_own():
    code = f"os.add_dll_directory(os.path.join({HERE}, 'bin'))"
    view = make_view(files_for(code))
    resolution = resolve(view, Profile())
    (fault,) = resolution.code_faults
    assert (fault.cause, fault.names, fault.error) == ("folder", (f"{SITE}pkg/bin",), "FileNotFoundError")
    prediction = predict(view, resolution)
    assert prediction.code == 2
    assert prediction.message.startswith("FileNotFoundError: [WinError 2] ")


@named_cases(
    "code",
    {
        "asked": f"if os.path.isdir(p := os.path.join({HERE}, 'bin')):\n    os.add_dll_directory(p)",
        "caught": f"try:\n    os.add_dll_directory(os.path.join({HERE}, 'bin'))\nexcept OSError:\n    pass",
        "of others": "os.add_dll_directory(os.path.join(sys.prefix, 'Library', 'bin'))",
        "there": f"os.add_dll_directory(os.path.join({HERE}, 'lib'))",
    },
)
def test_a_folder_that_may_be_absent_is_no_error(code):
    assert resolve(make_view(files_for(code)), Profile()).code_faults == ()


def test_what_cannot_be_read_or_comes_from_path_is_unsure():
    faults = resolve(make_view(files_for("ctypes.CDLL(input())")), Profile()).code_faults
    assert [(fault.cause, fault.sure) for fault in faults] == [("unread", False)]
    faults = resolve(make_view(files_for("from cffi import FFI\nFFI().dlopen('core.dll')")), Profile()).code_faults
    assert [(fault.cause, fault.sure) for fault in faults] == [("cffi", False)]
    faults = resolve(make_view(files_for("ctypes.CDLL('core.dll', winmode=0)")), Profile()).code_faults
    assert [(fault.cause, fault.sure) for fault in faults] == [("load", False)]


def test_a_bare_name_that_is_nowhere_is_a_failure():
    failure = resolve(make_view(files_for("ctypes.CDLL('core.dll')")), Profile()).first_failure
    assert failure.chain == ("core.dll",)
