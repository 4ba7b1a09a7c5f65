"""Imports that go on into other distributions of a complete set, and what a machine without toolkits settles."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.places import Distribution, InstalledSet
from wheelfix.loader.profile import Profile
from wheelfix.pycode.importer import ImportEnd, import_end

SITE = "Lib/site-packages/"
BINDING = "imports runtime.dll"
WINDOW = "imports runtime.dll"
RUNTIME = ""
ADDS = "import os\nos.add_dll_directory(os.path.dirname(os.path.abspath(__file__)))\n"


def end_of(own: dict[str, bytes | str], others: dict[str, bytes | str], module: str, **options: Any) -> ImportEnd:
    """Interpret an import of a package beside the files of another distribution, and nothing else."""
    own = {SITE + path: content for path, content in own.items()}
    others = {SITE + path: content for path, content in others.items()}
    made = Distribution("other", "1.0", f"{SITE}other-1.0.dist-info", frozenset(others), (), ())
    whole = make_view({**own, **others})
    view = whole.focused(frozenset(own))
    view.beside = InstalledSet(whole, [made], complete=options.pop("everything", True))
    profile = Profile(python=(3, 11), bare=options.pop("bare", False))
    return import_end(view, profile, module, complete=True, **options)


OWN = {"pkg/__init__.py": "from runtime_of_pkg import binding\n", "pkg/window.pyd": WINDOW}
OTHER = {"runtime_of_pkg/__init__.py": ADDS, "runtime_of_pkg/binding.pyd": BINDING}


def test_a_module_of_another_distribution_that_fails_first_is_named():
    """PySide6 imports shiboken6 before its own modules: without shiboken6's DLL the error is about Shiboken."""
    end = end_of(OWN, OTHER, "pkg.window")
    assert (end.error, end.message) == ("ImportError", "DLL load failed while importing binding")
    assert end.fault.target == f"{SITE}runtime_of_pkg/binding.pyd"


def test_the_module_of_another_distribution_is_also_named_where_its_code_has_no_word_of_dlls():
    """The __init__.py of shiboken6 6.12 only imports its own module; the own folder was added by PySide6."""
    code = "import os\nos.add_dll_directory(os.path.dirname(__file__))\nimport runtime_of_pkg\n"
    others = {"runtime_of_pkg/__init__.py": "from runtime_of_pkg.binding import *\n"}
    end = end_of(OWN | {"pkg/__init__.py": code}, others | {"runtime_of_pkg/binding.pyd": BINDING}, "pkg.window")
    assert end.fault.target == f"{SITE}runtime_of_pkg/binding.pyd"


@pytest.mark.parametrize("everything", [True, False])
def test_folders_that_another_distribution_adds_are_searched(everything):
    end = end_of(OWN, OTHER | {"runtime_of_pkg/runtime.dll": RUNTIME}, "pkg.window", everything=everything)
    assert (end.decided, end.error) == (True, "")
    assert f"{SITE}runtime_of_pkg/runtime.dll" in end.loaded


PERHAPS = "import os, random\nos.add_dll_directory(random.choice([]))\n"


@named_cases(
    "code, everything",
    {
        "something else may be installed": ("import gone\n", False),
        "large": ("x = 1\n" * 50_000, True),
        "cannot be followed": (PERHAPS, True),
    },
)
def test_what_another_distribution_does_for_certain_counts(code, everything):
    other = OTHER | {"runtime_of_pkg/__init__.py": ADDS + code, "runtime_of_pkg/runtime.dll": RUNTIME}
    end = end_of(OWN, other, "pkg.window", everything=everything)
    assert (end.decided, end.error) == (True, "")


def test_what_another_distribution_may_do_leaves_it_open():
    own = OWN | {"pkg/__init__.py": "import runtime_of_pkg\n"}
    end = end_of(own, {"runtime_of_pkg/__init__.py": PERHAPS, "runtime_of_pkg/runtime.dll": RUNTIME}, "pkg.window")
    assert not end.decided
    assert "depends on code of other packages" in end.reason


LOADS = "import ctypes, os\n{looks}ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'core.dll'))\n"
NEEDS_CUDA = "imports cublas64_12.dll"


@pytest.mark.parametrize(
    "looks, bare, decided",
    [
        ("", False, True),
        ("os.environ.get('CUDA_PATH')\n", False, False),
        ("__import__('shutil').which('nvcc')\n", False, False),
        ("os.environ.get('HIP_PATH')\n", False, True),
        ("os.environ.get('CUDA_PATH')\n", True, True),
    ],
)
def test_a_toolkit_that_code_looks_for_may_have_its_vendors_dlls(looks, bare, decided):
    """CTranslate2 looks for AMD's, which cannot have Intel's OpenMP; CuPy looks for NVIDIA's, which has cuBLAS."""
    own = {"pkg/__init__.py": LOADS.format(looks=looks), "pkg/core.dll": NEEDS_CUDA}
    end = end_of(own, {}, "pkg", bare=bare)
    assert end.decided is decided, end.reason
    assert not decided or end.error == "FileNotFoundError"


def test_what_distributions_may_ship_is_not_there_in_a_complete_set():
    own = {"pkg/__init__.py": LOADS.format(looks=""), "pkg/core.dll": NEEDS_CUDA}
    assert end_of(own, {}, "pkg").error == "FileNotFoundError"
    assert not end_of(own, {}, "pkg", everything=False).decided


LISTS = """
import ctypes
import importlib.metadata as metadata
try:
    found = {{}}
    for file in metadata.files("{name}"):
        if file.match("*.dll"):
            path = file.locate()
            found[path.name.split(".")[0].lower()] = str(path)
    ctypes.CDLL(found["runtime"])
except metadata.PackageNotFoundError:
    pass
"""


@pytest.mark.parametrize(
    "name, everything, loads",
    [("other", True, True), ("Other", False, True), ("gone", True, False)],
)
def test_files_of_a_distribution_are_listed(name, everything, loads):
    """netgen loads what importlib.metadata lists of netgen-occt, before the modules that need it."""
    own = {"pkg/__init__.py": LISTS.format(name=name), "pkg/window.pyd": WINDOW}
    end = end_of(own, {"runtime.txt": "", "other/bin/Runtime.dll": RUNTIME}, "pkg.window", everything=everything)
    assert end.decided
    assert (f"{SITE}other/bin/Runtime.dll" in end.loaded) is loads
    assert (end.error == "") is loads


def test_whether_a_required_distribution_is_installed_is_not_guessed():
    own = {"pkg/__init__.py": LISTS.format(name="gone"), "pkg-1.dist-info/METADATA": "Requires-Dist: gone\n"}
    assert end_of(own, {}, "pkg").decided
    end = end_of(own, {}, "pkg", everything=False)
    assert (end.decided, end.reason) == (False, "whether gone is installed is not known")


def test_a_distribution_that_asks_for_itself_is_found():
    code = "from importlib.metadata import distribution, version\nimport ctypes\n"
    code += "one = distribution('pkg')\nassert (one.version, version('pkg')) == ('1.5', '1.5')\n"
    code += "dll = [file for file in one.files if file.suffix == '.dll'][0]\nassert str(dll) == 'pkg/bin/runtime.dll'\n"
    code += "ctypes.CDLL(str(one.locate_file(dll)))\n"
    files = {"pkg/__init__.py": code, "pkg-1.5.dist-info/METADATA": "Name: pkg\n", "pkg/bin/runtime.dll": RUNTIME}
    view = make_view({SITE + path: content for path, content in files.items()})
    end = import_end(view, Profile(python=(3, 11)), "pkg")
    assert (end.decided, end.error) == (True, ""), (end.reason, end.message)
    assert f"{SITE}pkg/bin/runtime.dll" in end.loaded


IMPORTS_FIRST = {"pkg/__init__.py": "import plain\n", "pkg/window.pyd": WINDOW}


@named_cases(
    "others, error",
    {
        "its own files": (
            {"plain/__init__.py": "import plain.more\n", "plain/more.py": "import json\n"},
            "ImportError",
        ),
        "plain ones": ({"plain.py": "from further import name\n", "further/__init__.py": "name = 1\n"}, "ImportError"),
        "one that names ctypes": (
            {"plain/__init__.py": "import further\n", "further/__init__.py": "import ctypes\nx = 1\n"},
            "ImportError",
        ),
        "what it imports is computed": (
            {"plain/__init__.py": "import importlib\nimportlib.import_module('x' + 'y')\n"},
            "ModuleNotFoundError",
        ),
    },
)
def test_all_code_of_others_is_followed_where_a_load_depends_on_it(others, error):
    end = end_of(IMPORTS_FIRST, others | {"runtime_of_pkg/runtime.dll": RUNTIME}, "pkg.window")
    assert (end.decided, end.error) == (True, error), end.reason


def test_what_only_the_model_misses_in_other_code_does_not_end_an_import():
    """NumPy makes names in code that is not followed, and imports them in the next file; pandas tries to import it."""
    others = {
        "other/__init__.py": "import os\nos.environ.get('X')\ntry:\n    from other.more import single\n"
        "except ImportError as e:\n    raise ImportError('not built') from e\n",
        "other/more.py": "import ctypes\nglobals().update(vars(ctypes.CDLL(input())))\n",
    }
    code = "try:\n    __import__('other')\nexcept ImportError:\n    raise ImportError('no other')\nimport gone\n"
    end = end_of({"pkg/__init__.py": code}, others, "pkg")
    assert end.error == "ModuleNotFoundError"
    assert end.foreign["gone"].there is False


def test_code_that_looks_for_its_dlls_along_path_finds_those_of_windows_only():
    """As pyogrio does: its message is the one that users see, and a variable that is not known hides nothing."""
    code = (
        "import os\nfrom pathlib import Path\nimport other\n"
        "os.environ.setdefault('CA_BUNDLE', other.where())\n"
        "found = [p for p in os.getenv('PATH').split(os.pathsep) for name in ('kernel32*.dll', 'gdal*.dll')"
        " if list(Path(p).glob(name)) and name[0] == 'g']\n"
        "if not found:\n    raise ImportError('GDAL DLL could not be found.')\n"
    )
    end = end_of({"pkg/__init__.py": code}, {"other/__init__.py": "def where():\n    return input()\n"}, "pkg")
    assert (end.decided, end.error, end.message) == (True, "ImportError", "GDAL DLL could not be found.")
    there = code.replace("name[0] == 'g'", "name[0] == 'k'")
    assert end_of({"pkg/__init__.py": there}, {"other/__init__.py": "where = str\n"}, "pkg").error == ""
