"""What ordinary packages load: extension modules, folders and DLLs that their code names."""

import pytest

from tests.support.tables import named_cases
from tests.support.views import make_view
from tools.forge import forge_dll
from wheelfix.loader.followed import followed_imports
from wheelfix.loader.packagecode import package_loads
from wheelfix.loader.packageloading import extension_modules, module_name
from wheelfix.loader.predict import predict
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import (
    CodeFolder,
    Driver,
    LoadEvent,
    Machine,
    Missing,
    PythonRuntime,
    System,
    UnreadCall,
    VcRedist,
)

SITE = "Lib/site-packages/"


def test_only_extension_modules_for_this_python_are_imported():
    names = [
        "_x.cp311-win_amd64.pyd",
        "_x.cp310-win_amd64.pyd",
        "_y.pyd",
        "_z.abi3.pyd",
        "_w_d.cp311-win_amd64.pyd",
        "q_d.pyd",
    ]
    view = make_view({f"{SITE}pkg/{name}": b"" for name in names})
    found = [path.rpartition("/")[2] for path in extension_modules(view, Profile(python=(3, 11)))]
    assert found == ["_x.cp311-win_amd64.pyd", "_y.pyd"]


@pytest.mark.parametrize(
    "machine, expected",
    [(Machine.AMD64, ["a.cp36-win_amd64.pyd", "a.pyd"]), (Machine.X86, ["a.cp36-win32.pyd", "a.pyd"])],
)
def test_only_extension_modules_for_this_processor_are_imported(machine, expected):
    """ptvsd 4.2.0 has both builds side by side in one wheel, and was called broken because of the one for x86."""
    names = ("a.cp36-win32.pyd", "a.cp36-win_amd64.pyd", "a.pyd")
    view = make_view({f"{SITE}pkg/{name}": b"" for name in names})
    found = [path.rpartition("/")[2] for path in extension_modules(view, Profile(machine))]
    assert found == expected


def test_module_names():
    assert module_name(f"{SITE}pkg/sub/_x.cp311-win_amd64.pyd") == "pkg.sub._x"
    assert module_name(f"{SITE}_top.pyd") == "_top"


def test_code_that_only_users_call_and_that_needs_nothing_is_not_followed():
    """pyzmq has a class that asks Windows for kernel32.dll; none of its imports depends on that."""
    calls = (
        "class C:\n    def f(self):\n        from ctypes import windll\n        self.dll = windll.LoadLibrary('{}')\n"
    )
    files = {f"{SITE}pkg/__init__.py": "from . import _x\n", f"{SITE}pkg/_x.pyd": ""}
    view = make_view({**files, f"{SITE}pkg/win.py": calls.format("kernel32")})
    assert followed_imports(view, Profile()).tops == {}
    view = make_view({**files, f"{SITE}pkg/win.py": calls.format("other.dll")})
    assert followed_imports(view, Profile()).tops.keys() == {f"{SITE}pkg/__init__.py"}


PATCH = (
    "# start delvewheel patch\ndef _delvewheel_patch_1_13_2():\n    import os\n"
    "    if os.path.isdir(libs_dir := os.path.abspath("
    "os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs'))):\n"
    "        os.add_dll_directory(libs_dir)\n\n\n_delvewheel_patch_1_13_2()\ndel _delvewheel_patch_1_13_2\n"
    "# end delvewheel patch\n"
)
MORE = {
    "nothing else": ({}, True),
    "imports behind it": ({f"{SITE}pkg/__init__.py": f'"""Says import."""\n{PATCH}from . import _x\n'}, True),
    "an import before it": ({f"{SITE}pkg/__init__.py": f"from . import _x\n{PATCH}"}, False),
    "a comment and a text (scipy)": (
        {f"{SITE}pkg/__init__.py": f"{PATCH}# for CDLL\n", f"{SITE}pkg/a.py": '"""CDLL"""\n'},
        True,
    ),
    "code that loads": ({f"{SITE}pkg/__init__.py": f"{PATCH}import ctypes\nctypes.CDLL('other')\n"}, False),
    "another file that loads": ({f"{SITE}pkg/win.py": "import ctypes\nctypes.CDLL('other')\n"}, False),
    "a module above the package": ({f"{SITE}_top.pyd": None}, False),
    "another folder": ({f"{SITE}pkg/__init__.py": PATCH.replace("pkg.libs", "other.libs")}, False),
    "another form": ({f"{SITE}pkg/__init__.py": PATCH.replace("os.pardir", "'..'")}, False),
}


@pytest.mark.parametrize("more, known", MORE.values(), ids=list(MORE))
def test_where_only_the_code_of_delvewheel_matters_none_is_read(more, known):
    """And what comes of it is the same as if it were read: psycopg2-binary and sentencepiece have no other."""
    more = {path: text or "" for path, text in more.items()}
    files = {
        f"{SITE}pkg/__init__.py": PATCH,
        f"{SITE}pkg/_x.pyd": "imports helper.dll",
        f"{SITE}pkg.libs/helper.dll": "",
    }
    view, comment = make_view({**files, **more}), f"{SITE}pkg/read.py"
    loads, same = package_loads(view, Profile()), make_view({**files, **more, comment: "def f():\n    CDLL = 1\n"})
    assert bool(loads.first) is known
    read = package_loads(same, Profile())
    assert not read.first
    assert (loads.folders, loads.added) == (read.folders, read.added)
    one, other = resolve(view, Profile()), resolve(same, Profile())
    assert (one.first_failure, one.search_dirs, one.edges) == (other.first_failure, other.search_dirs, other.edges)


STOPS = "import importlib.metadata as metadata\nfound = {}\n"
FILLS = "for file in metadata.files('other'):\n    found[file.name] = file.locate()\n"
LOADS = "import ctypes, os\nctypes.CDLL(found['a.dll'])\nos.add_dll_directory('C:/other')\n"


@pytest.mark.parametrize(
    "code, functions",
    [(STOPS + FILLS + LOADS, ["CDLL"]), (STOPS + LOADS, ["CDLL", "add_dll_directory"]), (LOADS.replace("CD", "x"), [])],
    ids=["a key that is not known", "an exception", "nothing"],
)
def test_what_is_behind_the_code_of_delvewheel_and_was_not_followed_is_not_read(code, functions):
    """netgen fills a dictionary with what metadata lists and loads that: its DLLs were said to be out of reach."""
    files = {f"{SITE}pkg/__init__.py": PATCH + code, f"{SITE}pkg.libs/a.dll": ""}
    calls = package_loads(make_view(files), Profile()).unread_calls
    assert [call.function for call in calls] == functions


LOADER = "import ctypes\ndef load(name):\n    return ctypes.CDLL(name)\n"
USED = {
    "by nothing": (LOADER, "from .win import load\n__all__ = ['load', 'CDLL']\n", False),
    "given a module's name (numpy)": (LOADER.replace("def", "@set_module('numpy')\ndef"), "", False),
    "by a decorator": (LOADER.replace("def", "@atexit.register\ndef"), "", True),
    "by a function": (LOADER, "from . import win\ndef f():\n    win.load('x')\n", True),
    "by another name": (LOADER, "from .win import load as f\n", True),
    "of ctypes by another name": (LOADER, "from ctypes import CDLL as f\n", True),
    "in a text": (LOADER, "import ctypes\nf = getattr(ctypes, 'CDLL')\n", True),
    "as a method that has no name where it is called": (
        LOADER.replace("def load(name)", "class A:\n  def __init__(name)"),
        "",
        True,
    ),
}


@pytest.mark.parametrize("code, more, followed", USED.values(), ids=list(USED))
def test_behind_the_code_of_delvewheel_an_import_is_followed_where_it_may_load(code, more, followed):
    """numpy is not, which is a quarter of the time of its scan."""
    files = {
        f"{SITE}pkg/__init__.py": f"{PATCH}from . import win, more\n",
        f"{SITE}pkg/win.py": code,
        f"{SITE}pkg/more.py": more,
        f"{SITE}pkg.libs/helper.dll": "",
    }
    ran = followed_imports(make_view(files), Profile()).started(f"{SITE}pkg/__init__.py").ran
    assert (f"{SITE}pkg/more.py" in ran) is followed


def test_folders_of_other_distributions_and_unread_calls_are_kept_with_their_place():
    """A set of distributions needs them: Library/bin is filled by mkl, vtk.libs by vtk."""
    code = (
        "import os, sys\nos.add_dll_directory(os.path.join(sys.prefix, 'Library', 'bin'))\n"
        "os.add_dll_directory(os.path.join(os.path.dirname(__file__), '..', 'vtk.libs'))\n"
        "os.add_dll_directory(os.environ['SOMEWHERE'])\n"
    )
    view = make_view({f"{SITE}pkg/__init__.py": code})
    resolution, folders = resolve(view, Profile()), package_loads(view, Profile()).folders
    here = f"{SITE}pkg/__init__.py"
    assert folders == (CodeFolder("Library/bin", here, 2), CodeFolder(f"{SITE}vtk.libs", here, 3))
    unread = UnreadCall(here, 4, "add_dll_directory", "os.environ['SOMEWHERE']", at_import=True, reached=True)
    assert resolution.unread_calls == (unread,)
    assert resolution.search_dirs == ()


def test_dlls_named_in_code_are_loaded_and_predicted_as_ctypes_tells_it():
    files = {
        f"{SITE}pkg/__init__.py": "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'core.dll'))",
        f"{SITE}pkg/core.dll": "imports gone.dll",
    }
    view = make_view(files)
    resolution = resolve(view, Profile())
    assert resolution.reached == {f"{SITE}pkg/core.dll"}
    assert predict(view, resolution).message == (
        "FileNotFoundError: Could not find module '…\\pkg\\core.dll' (or one of its dependencies). "
        "Try using the full path with constructor syntax."
    )


@named_cases("needed, code", {"126": ({"gone.dll": ["f"]}, "0x7e"), "127": ({"base.dll": ["gone"]}, "0x7f")})
def test_what_cffi_loads_is_predicted_as_cffi_tells_it(needed, code):
    opens = (
        "def open_dll():\n"
        "    here = os.path.abspath(os.path.dirname(__file__))\n"
        "    if sys.platform == 'win32':\n"
        "        return _ffi.dlopen(os.path.join(here, 'core.dll'))\n"
        "    return _ffi.dlopen(os.path.join(here, 'other.so'))\n"
    )
    files = {
        f"{SITE}pkg/__init__.py": opens,
        f"{SITE}pkg/core.dll": forge_dll("core.dll", imports=needed),
        f"{SITE}pkg/base.dll": "",
    }
    view = make_view(files)
    assert package_loads(view, Profile()).files[0].events == (LoadEvent(f"{SITE}pkg/core.dll", "cffi"),)
    assert predict(view, resolve(view, Profile())).message == (
        f"OSError: cannot load library '…\\pkg\\core.dll': error {code}"
    )


def test_what_cffi_may_lack_is_no_failure():
    files = {
        f"{SITE}pkg/__init__.py": (
            "try:\n    lib = ffi.dlopen(os.path.join(os.path.dirname(__file__), 'core.dll'))\n"
            "except OSError:\n    lib = None\n"
        ),
        f"{SITE}pkg/core.dll": "imports gone.dll",
    }
    (event,) = package_loads(make_view(files), Profile()).files[0].events
    assert event.guarded


def test_of_namesakes_for_several_processors_the_fitting_one_is_loaded():
    """As in clr_loader, whose code asks how large a pointer is."""
    code = (
        "import ctypes, os, sys\n"
        "arch = 'amd64' if sys.maxsize > 2**32 else 'x86'\n"
        "if sys.maxsize > 2**32:\n    arch = 'amd64'\nelse:\n    arch = 'x86'\n"
        "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'dlls', arch, 'Loader.dll'))\n"
    )
    files = {
        f"{SITE}pkg/__init__.py": code,
        f"{SITE}pkg/dlls/amd64/Loader.dll": "",
        f"{SITE}pkg/dlls/x86/Loader.dll": "for x86",
    }
    view = make_view(files)
    assert [event.path for event in package_loads(view, Profile()).files[0].events] == [
        f"{SITE}pkg/dlls/amd64/Loader.dll"
    ]
    assert resolve(view, Profile()).first_failure is None
    only = {path: data for path, data in files.items() if "amd64" not in path}
    assert resolve(make_view(only), Profile()).first_failure.code == 126, "the code asks for the folder by name"


def test_load_order_files_of_delvewheel_are_loads():
    code = "import ctypes, os\nlibs = os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs')\n"
    code += "with open(os.path.join(libs, '.load-order-pkg-1.0')) as file:\n    names = file.read().split()\n"
    code += "for name in names:\n    ctypes.WinDLL(os.path.join(libs, name))\n"
    files = {
        f"{SITE}pkg.libs/.load-order-pkg-1.0": "b.dll\na.dll\n",
        f"{SITE}pkg.libs/a.dll": "",
        f"{SITE}pkg.libs/b.dll": "",
        f"{SITE}pkg/__init__.py": code,
    }
    outcomes = resolve(make_view(files), Profile()).outcomes
    assert [one.event.path.rpartition("/")[2] for one in outcomes] == ["b.dll", "a.dll"]
    without = {**files, f"{SITE}pkg/__init__.py": ""}
    assert resolve(make_view(without), Profile()).outcomes == (), "the list by itself loads nothing"


def test_the_import_error_names_the_module_and_not_the_culprit():
    view = make_view({f"{SITE}pkg/_x.pyd": "imports gone.dll"})
    prediction = predict(view, resolve(view, Profile()))
    assert prediction.message == (
        "ImportError: DLL load failed while importing _x: The specified module could not be found."
    )
    assert prediction.chain == ("_x.pyd", "gone.dll")
    assert "gone.dll is missing, which _x.pyd imports" in prediction.explanation


@named_cases(
    "name, profile, kind",
    {
        "windows": ("KERNEL32.dll", Profile(), System),
        "api-set": ("api-ms-win-crt-runtime-l1-1-0.dll", Profile(), System),
        "api-set-bumped-digit": ("api-ms-win-core-file-l1-2-9.dll", Profile(), System),
        "unknown-api-set": ("api-ms-win-nobody-knows-l1-1-0.dll", Profile(), Missing),
        "python": ("python311.dll", Profile(python=(3, 11)), PythonRuntime),
        "another-python": ("python39.dll", Profile(python=(3, 11)), Missing),
        "shipped-with-python": ("vcruntime140.dll", Profile(assume=frozenset()), PythonRuntime),
        "vcredist": ("msvcp140.dll", Profile(), VcRedist),
        "no-vcredist": ("msvcp140.dll", Profile(assume=frozenset()), Missing),
        "debug-runtime": ("msvcp140d.dll", Profile(), Missing),
        "driver": ("nvcuda.dll", Profile(), Driver),
        "no-driver": ("nvcuda.dll", Profile(assume=frozenset()), Missing),
        "another-vendors-driver": ("OpenCL.dll", Profile(assume=frozenset()), Driver),
    },
)
def test_what_the_target_machine_brings(name, profile, kind):
    view = make_view({f"{SITE}pkg/_x.pyd": f"imports {name}"})
    (edge,) = (edge for edge in resolve(view, profile).edges if edge.name == name)
    assert isinstance(edge.provider, kind)


BACKENDS = {
    f"{SITE}pkg/_tbb.pyd": "imports gone.dll",
    f"{SITE}pkg/_plain.pyd": "exports PyInit__x",
}


@named_cases(
    "code, guarded",
    {
        "from-package": ("try:\n    from pkg import _tbb as lib\nexcept ImportError:\n    pass", True),
        "dot": ("try:\n    from . import _tbb\nexcept (ImportError, OSError):\n    _tbb = None", True),
        "bare-except": ("try:\n    import pkg._tbb\nexcept:\n    pass", True),
        "suppress": ("with suppress(ImportError):\n    from ._tbb import f", True),
        "import-module": ("try:\n    import_module('pkg._tbb')\nexcept Exception:\n    pass", True),
        "a spec, as comfy_kitchen makes one": (
            "try:\n    s = spec_from_file_location('pkg._tbb', path)\n    s.loader.exec_module(module_from_spec(s))\n"
            "except Exception:\n    pass",
            True,
        ),
        "a spec, not caught": ("s = spec_from_file_location('pkg._tbb', path)", False),
        "raised": ("try:\n    from . import _tbb\nexcept ImportError as e:\n    raise X from e", False),
        "another-error": ("try:\n    from . import _tbb\nexcept KeyError:\n    pass", False),
        "in-the-handler": ("try:\n    pass\nexcept ImportError:\n    from . import _tbb", False),
        "plain": ("from . import _tbb", False),
        "imported-by-nobody": ("", False),
    },
)
def test_an_import_that_the_code_catches_does_not_break_the_package(code, guarded):
    """numba tries its TBB backend, and takes another when there is no tbb12.dll."""
    resolution = resolve(make_view({**BACKENDS, f"{SITE}pkg/__init__.py": code}), Profile())
    assert (resolution.first_failure is None) is guarded
    assert (f"{SITE}pkg/_tbb.pyd" in resolution.reached) is not guarded
    assert [edge.name for edge in resolution.edges if isinstance(edge.provider, Missing)] == ["gone.dll"]


def test_one_import_that_is_not_caught_is_enough():
    files = {
        f"{SITE}pkg/__init__.py": "try:\n    from . import _tbb\nexcept ImportError:\n    pass",
        f"{SITE}pkg/more.py": "from pkg import _tbb",
    }
    assert resolve(make_view({**BACKENDS, **files}), Profile()).first_failure is not None


def test_the_first_of_several_places_that_loads_is_taken():
    """tables tries tables.libs, where the DLL's own needs are met, and then its own folder, catching OSError."""
    code = (
        "import ctypes, platform\nfrom pathlib import Path\next = 'so' if platform.system() == 'Linux' else 'dll'\n"
        "for where in (Path(__file__).parent.with_suffix('.libs'), Path(__file__).parent, ''):\n"
        "    try:\n        ctypes.CDLL(str(Path(where) / f'core.{ext}'))\n    except OSError:\n        pass\n"
    )
    files = {
        f"{SITE}pkg/__init__.py": code,
        f"{SITE}pkg/_x.pyd": "imports core.dll",
        f"{SITE}pkg/core.dll": "imports lz4.dll:g",
        f"{SITE}pkg.libs/core.dll": "imports lz4-1a2b.dll:g",
        f"{SITE}pkg.libs/lz4-1a2b.dll": "exports g",
    }
    resolution = resolve(make_view(files), Profile())
    assert resolution.first_failure is None
    assert f"{SITE}pkg/core.dll" not in resolution.reached


def test_code_for_other_systems_is_passed_over():
    code = (
        "if sys.platform.startswith('linux'):\n    ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'a.dll'))\n"
        "elif os.name == 'nt':\n    ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'b.dll'))\n"
        "else:\n    ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'c.dll'))\n"
    )
    files = {f"{SITE}pkg/{name}.dll": forge_dll(f"{name}.dll") for name in "abc"}
    resolution = resolve(make_view({**files, f"{SITE}pkg/__init__.py": code}), Profile())
    assert resolution.reached == {f"{SITE}pkg/b.dll"}


def test_kernel_drivers_are_not_asked_what_they_import():
    files = {f"{SITE}pkg/divert64.sys": forge_dll("divert64.sys", imports={"ntoskrnl.exe": ["f"]})}
    assert resolve(make_view(files), Profile()).edges == ()


def test_a_folder_that_an_environment_variable_of_the_package_names_is_unknown():
    """usd-core sets PXR_USD_WINDOWS_DLL_PATH in one file, and adds the folders in it in another."""
    adds = "import os\npaths = os.getenv('PKG_DLLS')\nif paths:\n    os.add_dll_directory(paths)\n"
    files = {f"{SITE}pkg/__init__.py": "import os\nos.environ['PKG_DLLS'] = f()\n", f"{SITE}pkg/a/__init__.py": adds}
    loads = package_loads(make_view(files), Profile())
    assert [call.at_import for call in loads.unread_calls] == [True]
    nobody = {**files, f"{SITE}pkg/__init__.py": "import os\nif os.environ['PKG_DLLS'] == '1':\n    pass\n"}
    assert all(not call.at_import for call in package_loads(make_view(nobody), Profile()).unread_calls)
