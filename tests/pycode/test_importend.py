"""How imports end that are interpreted: what a small package does, against what Python on Windows is known to do."""

from __future__ import annotations

import time

import pytest

from tests.support.patience import patience
from tests.support.tables import named_cases
from tests.support.views import make_view
from tests.support.wheels import extension, library
from tools.forge import forge_dll
from wheelfix.loader.profile import Profile
from wheelfix.pycode.importer import ImportEnd, Imports, import_end

SITE = "Lib/site-packages/"
START = "import ctypes, os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
CORE = library("core.dll:call")


def end_of(code: str, files: dict[str, bytes | str] | None = None, *, complete: bool = True) -> ImportEnd:
    """Interpret ``import pkg`` of a package with ``core.dll``."""
    own = {f"{SITE}pkg/__init__.py": START + code, f"{SITE}pkg/core.dll": CORE}
    own |= {f"{SITE}{name}": content for name, content in (files or {}).items()}
    return import_end(make_view(own), Profile(python=(3, 11)), "pkg", complete=complete)


@pytest.mark.parametrize(
    "code, error",
    [
        ("ctypes.CDLL(os.path.join(HERE, 'core.dll'))", ""),
        ("ctypes.CDLL(os.path.join(HERE, 'gone.dll'))", "FileNotFoundError"),
        ("ctypes.CDLL(os.path.join(HERE, 'core.dll')).call", ""),
        ("ctypes.CDLL(os.path.join(HERE, 'core.dll')).other", "AttributeError"),
        ("from pathlib import Path\nctypes.CDLL(Path(HERE) / 'core.dll')", "TypeError"),
        ("class E(Exception):\n    pass\ntry:\n    ctypes.CDLL('gone')\nexcept OSError as e:\n    raise E from e", "E"),
        ("os.add_dll_directory(os.path.join(HERE, 'gone'))", "FileNotFoundError"),
        ("if sys.stderr and 'X' not in os.environ:\n    raise RuntimeError", "RuntimeError"),
        ("from . import gone", "ImportError"),
        ("__path__ = __import__('pkgutil').extend_path(__path__, __name__)\nimport pkg.gone", "ModuleNotFoundError"),
    ],
)
def test_what_a_package_ends_with(code, error):
    end = end_of(code)
    assert (end.decided, end.error) == (True, error), end.reason


@pytest.mark.parametrize(
    "name, error", [("_a.pyd", ""), ("_a.cp311t-win_amd64.pyd", ""), ("_a.cp312-win_amd64.pyd", "ImportError")]
)
def test_the_extension_modules_of_one_python(name, error):
    """NumPy for a free-threaded Python names its modules ``.cp313t-win_amd64.pyd``."""
    files = {f"pkg/{name}": forge_dll(name, exports=["PyInit__a"])}
    assert end_of("from . import _a", files).error == error


@named_cases(
    "code",
    {
        "random": "import random\nctypes.CDLL(random.choice(['a', 'b']))",
        "condition": "import random\nif random.random() < 2:\n    ctypes.CDLL('gone.dll')",
        "endless": "while True:\n    pass",
        "doubled": "x = 'a'\nfor _ in range(64):\n    x = x + x\nctypes.CDLL(x)",
        "recursion": "def f():\n    return f()\nf()",
        "our own gap": "[].no_such_method",
        "changed path": "__path__.append('elsewhere')\nfrom . import gone\nimport pkg.other",
    },
)
def test_what_is_not_known_is_left_open_soon(code):
    began = time.process_time()
    end = end_of(code)
    assert not end.decided or end.error == "ImportError"
    assert time.process_time() - began < patience(5)


def test_code_that_cannot_concern_dlls_is_left_out():
    code = "import random\nif random.random() < 2:\n    name = 'x'\nelse:\n    name = 'y'\n"
    assert end_of(code + "ctypes.CDLL(os.path.join(HERE, 'gone.dll'))").error == "FileNotFoundError"


@named_cases(
    "caught, certain", {"a name that compiled code may define": ("Error", False), "Python's": ("ValueError", True)}
)
def test_an_import_whose_exception_may_be_caught_has_no_certain_end(caught, certain):
    code = f"from ._a import *\ntry:\n    from .gone import f\nexcept {caught}:\n    pass\n"
    end = end_of(code, {"pkg/_a.pyd": ""})
    assert (end.error, end.certain) == ("ModuleNotFoundError", certain)


def test_a_compiled_module_is_preferred_and_read_by_its_source():
    """threaded has both; importing it fails in the compiled module that another compiled one imports."""
    names = {name: {".source": f"pkg/{name}.pyx".encode()} for name in ("_a", "_b")}
    exports = {
        name: forge_dll(f"{name}.pyd", exports=[f"PyInit_{name}"], sections=named) for name, named in names.items()
    }
    files = {
        "pkg/_a.cp311-win_amd64.pyd": exports["_a"],
        "pkg/_a.py": "from ._b import thing  # long enough\n",
        "pkg/_b.cp311-win_amd64.pyd": b"MZ" + b"\0" * 100,
        "pkg/_b.py": "thing = 1\n",
    }
    end = end_of("from . import _a", files)
    assert (end.error, end.fault and end.fault.target) == ("ImportError", f"{SITE}pkg/_b.cp311-win_amd64.pyd")
    assert end_of("from . import _a", files | {"pkg/_b.cp311-win_amd64.pyd": exports["_b"]}).error == ""


def test_what_another_distribution_may_bring_is_open_in_a_scan_and_absent_in_an_environment():
    assert not end_of("import numpy", complete=False).decided
    assert end_of("import numpy").error == "ModuleNotFoundError"
    assert not end_of("os.add_dll_directory(os.path.join(sys.prefix, 'Library', 'bin'))", complete=False).decided


def test_nothing_of_this_machine_is_read_or_run(tmp_path):  # type: ignore[no-untyped-def]
    target = tmp_path / "made"
    code = f"open({str(target)!r}, 'w').write('x')\nos.system('true')\n__import__('subprocess').run(['true'])\n"
    assert end_of(code + f"ctypes.CDLL(open({__file__!r}).read())").error == "FileNotFoundError"
    assert not target.exists()


def test_names_that_other_code_puts_into_a_module_are_not_missed():
    """Protobuf's builder does that for the modules that it generates (aioesphomeapi)."""
    made = "from google.protobuf.internal import builder\nbuilder.BuildMessages(None, 'm', globals())\n"
    found = {"google/protobuf/internal/builder.py": "", "pkg/m_pb2.py": made}
    assert not end_of("from .m_pb2 import Message\nimport pkg.m_pb2 as m\nm.Other", dict(found)).decided


def test_modules_of_mypyc_do_not_import_one_another_as_files():
    """isort is imported although one of its small modules is broken."""
    shim = forge_dll("_a.pyd", exports=["PyInit__a"], sections={".text2": b"\0" + b"0123__mypyc\0"})
    files = {"pkg/_a.cp311-win_amd64.pyd": shim, "pkg/_a.py": "from . import _b  # long enough\n", "pkg/_b.pyd": b""}
    assert end_of("from . import _a", files | {"0123__mypyc.cp311-win_amd64.pyd": ""}).error == ""
    end = end_of("from . import _a", dict(files))
    assert (end.decided, end.error, end.fault and end.fault.target) == (True, "ModuleNotFoundError", "0123__mypyc")


def test_modules_that_python_has_removed_since_are_of_its_library():
    assert not end_of("import distutils.sysconfig, imp").error


def test_a_compiled_module_may_have_modules_below_it():
    """Rust's do, and put them into ``sys.modules``."""
    assert not end_of("from .native.inner import thing", {"pkg/native.pyd": "imports python3.dll"}).error


def test_swig_asks_the_module_for_its_package():
    swig = "if getattr(globals().get('__spec__'), 'parent', None) or '.' in __name__:\n    from . import _x\n"
    end = end_of("from . import made", {"pkg/made.py": swig, "pkg/_x.pyd": b""})
    assert (end.decided, end.error) == (True, "ImportError")


def test_a_package_that_is_looked_for_in_another_folder():
    code = "sys.modules.get(__package__).__path__.append(os.path.join(HERE, 'native'))\nfrom . import _x\n"
    whole = extension()
    assert not end_of(code, {"pkg/native/_x.pyd": whole}).error
    assert end_of(code, {"pkg/native/_x.pyd": whole[:64]}).error == "ImportError"


def test_modules_of_a_package_that_takes_over_the_names_of_another_are_in_its_folder():
    # cuda_core has one folder for each version of CUDA
    code = "from pkg import chosen\nglobals().update(chosen.__dict__)\nfrom pkg.part import deep\n"
    files = {
        "pkg/chosen/__init__.py": "",
        "pkg/chosen/part/__init__.py": "from . import deep",
        "pkg/chosen/part/deep.py": "import ctypes\nctypes.CDLL('gone.dll')\n",
    }
    end = end_of(code, files)
    assert (end.decided, end.error) == (True, "FileNotFoundError")
    assert end.place == (f"{SITE}pkg/chosen/part/deep.py", 2)


@pytest.mark.parametrize(
    "spec, ran",
    [
        ("util.spec_from_file_location('other', os.path.join(HERE, 'deps', 'one', '__init__.py'))", True),
        ("next(iter(pkgutil.iter_modules([os.path.join(HERE, 'deps')]))).module_finder.find_spec('one')", True),
        ("util.spec_from_file_location('other', os.path.join(HERE, 'deps', 'two.py'))", False),
    ],
)
def test_code_of_a_spec_is_run(spec, ran):
    # Kivy imports what is below kivy_deps in this way, which adds the folders of DLLs
    code = f"import pkgutil\nfrom importlib import util\nspec = {spec}\nmod = util.module_from_spec(spec)\n"
    adds = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'gone'))\n"
    end = end_of(f"{code}spec.loader.exec_module(mod)\n", {"pkg/deps/one/__init__.py": adds})
    assert end.error == ("FileNotFoundError" if ran else "")


def test_a_compiled_module_of_a_spec_is_loaded():
    code = (
        "import importlib.util\nspec = importlib.util.spec_from_file_location('a._x', os.path.join(HERE, '_x.pyd'))\n"
    )
    code += "importlib.util.module_from_spec(spec)\n"
    end = end_of(code, {"pkg/_x.pyd": "imports gone.dll"})
    assert (end.decided, end.error) == (True, "ImportError")
    assert not end_of(code, {"pkg/_x.pyd": ""}).error


def test_a_statement_that_is_passed_over_again_and_again_counts_once():
    config = (
        "import configparser\nconfig = configparser.ConfigParser()\ndef put(name):\n    if config.has_section(name):\n"
    )
    config += "        return\n    config.add_section(name)\n"
    code = "from .config import put\n{}ctypes.CDLL(os.path.join(HERE, 'gone.dll'))\n"
    end = end_of(code.format("put('a')\n" * 20), {"pkg/config.py": config})
    assert [(one.line, one.matters) for one in end.unclear] == [(4, False)]
    assert (end.decided, end.certain, end.error) == (False, True, "FileNotFoundError")
    end = end_of(code.format("put('a')\n" * 60), {"pkg/config.py": config})
    assert [(one.line, one.matters) for one in end.unclear] == [(4, False), (0, True)]
    assert (end.certain, end.error) == (False, "")  # what comes behind was not followed


def test_what_is_passed_over_matters_where_something_is_loaded_or_imported():
    code, load = "import random\nif random.random() < 2:\n    from . import other\n", "ctypes.CDLL('gone.dll')\n"
    assert not end_of(code + load, {"pkg/other.py": ""}).certain
    moved = {"pkg/a.py": code, "pkg/other.py": ""}
    assert end_of(f"from . import a\n{load}", moved).certain
    assert not end_of("from . import a\n", moved).certain  # the module that may be imported may fail


def test_an_import_in_a_function_that_is_passed_over_is_not_carried_out():
    part = "import random\nif random.random() < 2:\n    def f():\n        from . import other\n        raise OSError\n"
    end = end_of("from . import a\n", {"pkg/a.py": f"{part}    [][0]\n    raise OSError\n", "pkg/other.py": ""})
    assert [(one.inside, one.matters) for one in end.unclear] == [(False, False)]
    assert end.certain


@pytest.mark.parametrize(
    "made", ["{one.name for one in found()}", "[one for one in x if found()]", "{one: 1 for one in found()}"]
)
def test_a_comprehension_that_cannot_be_followed_is_unknown(made):
    code = f"import random\nfound, x = random.sample, [1]\ny = {made}\n"
    end = end_of(f"{code}ctypes.CDLL('gone.dll')\n")
    assert (end.decided, end.error) == (True, "FileNotFoundError")


def test_a_comprehension_that_loads_what_is_not_known_is_not_followed():
    assert not end_of("import random\ny = [ctypes.CDLL(one) for one in random.sample()]\n").decided


def test_to_ask_whether_a_dll_is_a_folder_is_not_to_look_for_it():
    code = "[os.path.isdir(os.path.join(HERE, name)) for name in os.listdir(HERE)]\nraise RuntimeError('x')\n"
    assert end_of(code).missed == ()


def test_what_no_installed_distribution_has_is_not_there():
    code = (
        "if not os.path.isfile(os.path.join(HERE, os.pardir, 'pkg_libs', 'x.dll')):\n    raise FileNotFoundError('x')"
    )
    assert end_of(code).error == "FileNotFoundError"


def test_a_file_beside_a_compiled_module_may_be_its_fallback():
    """backports.zstd has ``_zstd.py`` for PyPy, which imports what a wheel for CPython does not have."""
    files = {"pkg/_zstd.pyd": "imports python3.dll", "pkg/_zstd.py": "from ._zstd_cffi import ffi  # for PyPy\n"}
    assert not end_of("from . import _zstd", dict(files)).error


def test_a_name_that_the_model_does_not_know_is_left_open():
    assert not end_of("print(SomethingThatPythonAdds)").decided


GONE = "ctypes.CDLL(os.path.join(HERE, 'gone.dll'))\n"


@named_cases(
    "code, error",
    {
        "cast": ("from typing import cast\nctypes.CDLL(cast(str, os.path.join(HERE, 'core.dll')))", ""),
        "wrapper": (
            "import functools\ndef f():\n    raise ValueError\nfunctools.update_wrapper(f, f)\n" + GONE,
            "FileNotFoundError",
        ),
        "decorator": (
            f"import pkg.made\n@pkg.made.kept()\ndef late():\n    raise ValueError\n{GONE}",
            "FileNotFoundError",
        ),
        "definition": (
            f"import pkg.made\nif pkg.made.new:\n    def late():\n        raise ValueError\n{GONE}",
            "FileNotFoundError",
        ),
        "compiled": (
            "import pkg.made as m\nctypes.CDLL(os.path.join(os.path.dirname(m.__file__), m.__name__[4:8] + '.dll'))",
            "FileNotFoundError",
        ),
    },
)
def test_what_has_nothing_to_do_with_dlls_does_not_end_the_reading(code, error):
    """Each of these stands in CuPy's code or in cuda-pathfinder's, before or between loads."""
    end = end_of(code, {"pkg/made.pyd": ""})
    assert (end.decided, end.error) == (True, error), end.reason


def test_a_module_is_asked_for_a_name_before_a_submodule_is_looked_for():
    """CuPy 14 loads cuBLAS in the ``__getattr__`` of its package: ``from cupy_backends.cuda.libs import cublas``."""
    files = {
        "pkg/libs/__init__.py": START + "def __getattr__(name):\n    if name == 'binding':\n        " + GONE,
        "pkg/libs/binding.py": "",
    }
    assert end_of("from pkg.libs import binding", files).error == "FileNotFoundError"
    files["pkg/libs/__init__.py"] = "def __getattr__(name):\n    raise AttributeError(name)\n"
    end = end_of("from pkg.libs import binding", files)
    assert (end.decided, end.error) == (True, "")


SHARED = """
import functools
FOUND, SEEN, LAZY = [], {"kept": 1}, {}
class Paths:
    count = 0
    @functools.cached_property
    def lib(self):
        return ctypes.CDLL(os.path.join(HERE, "core.dll"))
PATHS = Paths()
@functools.lru_cache
def load(name):
    FOUND.append(name)
    return ctypes.CDLL(os.path.join(HERE, name))
"""
CHANGES = """
import os, pkg
from pkg import FOUND, PATHS, SEEN, load
if FOUND or PATHS.count or "kept" not in SEEN or "MINE" in os.environ or hasattr(pkg, "extra") or hasattr(pkg, "OTHER"):
    raise RuntimeError("not fresh")
load("core.dll")
PATHS.count += 1
PATHS.lib
SEEN.clear()
os.environ["MINE"] = "1"
pkg.extra = 1
os.add_dll_directory(os.path.dirname(__file__))
"""


def test_each_module_of_a_package_meets_the_package_as_it_was_imported():
    files = {f"{SITE}pkg/__init__.py": START + SHARED, f"{SITE}pkg/core.dll": CORE}
    files |= {f"{SITE}pkg/{name}.py": CHANGES.replace("OTHER", other) for name, other in (("a", "b"), ("b", "a"))}
    imports = Imports(make_view(files), Profile(python=(3, 11)), complete=True)
    first, top, second, again = (imports.end(name) for name in ("pkg.a", "pkg", "pkg.b", "pkg.a"))
    for name, end in (("a", first), ("b", second), ("a", again)):
        assert (end.decided, end.error, end.message) == (True, "", "")
        assert end.ran == (f"{SITE}pkg/__init__.py", f"{SITE}pkg/{name}.py")
        assert [*end.done] == [f"{SITE}pkg/core.dll"]
        assert end.process.user_dirs == [f"{SITE}pkg"]
    assert (top.ran, [*top.done]) == ((f"{SITE}pkg/__init__.py",), [])
    assert not top.process.user_dirs


def test_a_module_of_a_package_that_fails_fails_like_it():
    files = {f"{SITE}pkg/__init__.py": "raise RuntimeError('no')\n", f"{SITE}pkg/a.py": ""}
    imports = Imports(make_view(files), Profile(python=(3, 11)), complete=True)
    assert imports.end("pkg.a") == imports.end("pkg")
    assert imports.end("pkg.a").error == "RuntimeError"


@pytest.mark.parametrize("of", ["find", "sys.modules[__name__]"])
def test_the_file_of_a_function_or_module(of):
    """unicorn 2.1.4 looks beside the file of a function for its DLL; without it, scan said ok."""
    code = "import inspect, sys\ndef find(x):\n    pass\n"
    code += f"folder = os.path.dirname(inspect.getfile({of}))\nctypes.CDLL(os.path.join(folder, 'gone.dll'))\n"
    end = end_of(code)
    assert (end.decided, end.error) == (True, "FileNotFoundError")


def test_names_that_are_made_of_something_unknown_may_be_any():
    """psutil makes its constants so, of the members of its enumerations."""
    made = {"pkg/made.py": "import ctypes\nglobals().update(vars(ctypes))\n"}
    assert end_of("from .made import FULL", made).error == ""
