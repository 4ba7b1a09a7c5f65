"""Each extension module loads in a fresh process: nobody relies on the order of other people's imports."""

import pytest

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.model import InView, Missing

SITE = "Lib/site-packages/"
ADDS = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), {}))\n"
LOADS = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), {}))\n"


def outcomes(files, python=None):
    """Each load by the last part of its path: its code, and the one it has on its own if that is another."""
    resolution = resolve(make_view({SITE + path: data for path, data in files.items()}), Profile(python=python))
    return {
        outcome.event.path.removeprefix(SITE): outcome.code or (outcome.alone and outcome.alone.code) or 0
        for outcome in resolution.outcomes
    }, resolution


TWO_FOLDERS = {
    "pkg/__init__.py": "",
    "pkg/x/__init__.py": "from . import _a",
    "pkg/x/_a.pyd": "imports foo.dll",
    "pkg/x/foo.dll": "imports bar.dll",
    "pkg/y/__init__.py": "from . import _b",
    "pkg/y/_b.pyd": "imports bar.dll; exports f",  # no init function: what imports it fails
    "pkg/y/bar.dll": "",
}


def test_a_dll_that_a_sibling_would_load_is_missing_all_the_same():
    """x/_a needs foo needs bar, y/_b needs bar, bar lies in y: ``import pkg.x`` raises 126."""
    found, resolution = outcomes(TWO_FOLDERS)
    assert found == {"pkg/x/_a.pyd": 126, "pkg/y/_b.pyd": 0}
    assert resolution.first_failure.chain == ("_a.pyd", "foo.dll", "bar.dll")
    (edge,) = [edge for edge in resolution.edges if edge.importer == f"{SITE}pkg/x/foo.dll"]
    assert isinstance(edge.provider, Missing)
    assert edge.provider.present_at == (f"{SITE}pkg/y/bar.dll",)


def test_an_unmet_need_is_not_hidden_by_a_process_in_which_it_is_met():
    """The same foo.dll, of an added folder, finds bar.dll for one module and not for the other."""
    files = {
        "pkg/__init__.py": ADDS.format("'libs'"),
        "pkg/libs/foo.dll": "imports bar.dll",
        "pkg/x/_a.pyd": "imports foo.dll",
        "pkg/y/_b.pyd": "imports foo.dll",
        "pkg/y/bar.dll": "",
    }
    found, resolution = outcomes(files)
    assert found == {"pkg/x/_a.pyd": 126, "pkg/y/_b.pyd": 0}
    (edge,) = [edge for edge in resolution.edges if edge.importer == f"{SITE}pkg/libs/foo.dll"]
    assert isinstance(edge.provider, Missing)


@named_cases(
    "init, code",
    {
        "first": ("from pkg import y\nfrom pkg import x\n", 0),
        "dotted": ("import pkg.y._b\n", 0),
        "relative": ("from .y import _b as b, other\n", 0),
        "by-call": ("import importlib\nb = importlib.import_module('pkg.y')\n", 0),
        "too-late": ("from pkg import x\nfrom pkg import y\n", 126),
        "for-checkers": ("if TYPE_CHECKING:\n    from pkg import y\n", 126),
        "in-a-function": ("def later():\n    from pkg import y\n", 126),
        "elsewhere": ("import sys\nif sys.platform == 'linux':\n    from pkg import y\n", 126),
    },
)
def test_what_the_packages_above_import_is_loaded_before(init, code):
    found, resolution = outcomes({**TWO_FOLDERS, "pkg/__init__.py": init})
    assert found == {"pkg/x/_a.pyd": code, "pkg/y/_b.pyd": 0}
    assert (resolution.first_failure is None) == (code == 0)


def test_an_import_within_an_import_is_followed():
    files = {**TWO_FOLDERS, "pkg/__init__.py": "from . import setup", "pkg/setup.py": "from .y import _b"}
    assert outcomes(files)[0]["pkg/x/_a.pyd"] == 0


@named_cases(
    "init",
    {
        "condition": "if platform.node():\n    from pkg import y\n",
        "computed": "exec(code)\n",
        "path": "__path__.append(where)\n",
    },
)
def test_where_the_order_cannot_be_told_no_failure_is_claimed(init):
    _, resolution = outcomes({**TWO_FOLDERS, "pkg/__init__.py": init})
    assert resolution.first_failure is None
    (doubt,) = [outcome.alone for outcome in resolution.outcomes if outcome.alone]
    assert (doubt.code, doubt.chain, doubt.sure) == (126, ("_a.pyd", "foo.dll", "bar.dll"), False)


def test_a_python_file_that_sees_to_the_order_is_enough_and_told():
    files = {**TWO_FOLDERS, "pkg/x/__init__.py": "", "pkg/api.py": "from pkg.y import _b\nfrom pkg.x import _a\n"}
    _, resolution = outcomes(files)
    assert resolution.first_failure is None
    assert [outcome.alone.sure for outcome in resolution.outcomes if outcome.alone] == [True]


def test_two_python_files_of_which_one_does_not():
    files = {
        **TWO_FOLDERS,
        "pkg/x/__init__.py": "",
        "pkg/api.py": "from pkg.y import _b\nfrom pkg.x import _a\n",
        "pkg/other.py": "from pkg.x import _a\n",
    }
    assert outcomes(files)[1].first_failure.code == 126


NAMESPACE = {
    "pkg/__init__.py": "from space.all import *\n",
    "space/all.py": ADDS.format("os.pardir, 'libs'") + "from space.sub.api import *\n",
    "space/sub/_a.pyd": "imports bar.dll",
    "libs/bar.dll": "",
}


@named_cases(
    "api, failure, sure",
    {
        "code of others before": (
            "from space.lazy import lazy_import\nlazy_import('space.sub._a', 'name')\n",
            None,
            False,
        ),
        "own code before": ("import space.all\nstr('space.sub._a')\n", None, True),
        "nothing before": ("str('space.sub._a')\n", 126, None),
        "another module": ("from space.lazy import lazy_import\nlazy_import('space.sub._other', 'name')\n", 126, None),
    },
)
def test_a_module_that_code_names_in_a_string_is_imported_by_it(api, failure, sure):
    """passagemath-gsl: a namespace package, whose modules are named in calls of ``lazy_import`` that others define."""
    resolution = outcomes({**NAMESPACE, "space/sub/api.py": api})[1]
    assert (resolution.first_failure and resolution.first_failure.code) == failure
    assert [outcome.alone and outcome.alone.sure for outcome in resolution.outcomes] == [sure]


def test_a_folder_that_only_another_subpackage_adds_is_not_searched():
    files = {
        "pkg/__init__.py": "",
        "pkg/x/_a.pyd": "imports bar.dll",
        "pkg/y/__init__.py": ADDS.format("os.pardir, 'libs'"),
        "pkg/y/_b.pyd": "imports bar.dll; exports f",  # no init function: what imports it fails
        "pkg/libs/bar.dll": "",
    }
    assert outcomes(files)[0] == {"pkg/x/_a.pyd": 126, "pkg/y/_b.pyd": 0}


def test_code_of_a_module_that_the_package_imports_runs_before():
    """As NumPy's ``_distributor_init``: it is not itself an ``__init__.py``."""
    files = {
        "pkg/__init__.py": "from . import _distributor_init\nfrom . import core\n",
        "pkg/_distributor_init.py": LOADS.format("'.libs', 'bar.dll'"),
        "pkg/core/_a.pyd": "imports bar.dll",
        "pkg/.libs/bar.dll": "",
    }
    found, resolution = outcomes(files)
    assert found["pkg/core/_a.pyd"] == 0
    (edge,) = [edge for edge in resolution.edges if edge.importer == f"{SITE}pkg/core/_a.pyd"]
    assert edge.provider == InView(f"{SITE}pkg/.libs/bar.dll")


def test_a_path_file_runs_before_everything():
    """As pywin32, whose ``.pth`` file names folders of modules and imports what adds the DLL folder."""
    files = {
        "pkg.pth": "# comment\nlib\\more\nimport pkg_bootstrap\n",
        "lib/more/pkg_bootstrap.py": ADDS.format("os.pardir, os.pardir, 'system'"),
        "system/bar.dll": "",
        "other/_a.pyd": "imports bar.dll",
    }
    assert outcomes(files)[0] == {"other/_a.pyd": 0}
    assert outcomes({**files, "pkg.pth": ""})[0] == {"other/_a.pyd": 126}


START = {
    "boot.py": "def main():\n    pass\n" + ADDS.format("'system'"),
    "system/bar.dll": "",
    "other/_a.pyd": "imports bar.dll",
}


@named_cases(
    "files, python, code",
    {
        "read": ({"boot.start": "\ufeff# comment\n\nboot:main\n"}, (3, 15), 0),
        "some Python": ({"boot.start": "boot:main\n"}, None, 0),
        "an older Python does not know it": ({"boot.start": "boot:main\n"}, (3, 14), 126),
        "not an entry point": ({"boot.start": "boot\nboot main\n"}, (3, 15), 126),
        "switches the imports off": ({"boot.start": "", "boot.pth": "import boot\n"}, (3, 15), 126),
        "but not for an older Python": ({"boot.start": "", "boot.pth": "import boot\n"}, (3, 14), 0),
        "and only of the same name": ({"x.start": "", "boot.pth": "import boot\n"}, (3, 15), 0),
        "only in site-packages": ({"other/boot.start": "boot:main\n"}, (3, 15), 126),
    },
)
def test_start_files(files, python, code):
    """PEP 829: entry points in ``.start`` files run at the start of Python 3.15 and later."""
    assert outcomes({**START, **files}, python)[0] == {"other/_a.pyd": code}


def test_a_module_that_imports_another_module_of_another_folder():
    """pywin32's axdebug.pyd imports axscript.pyd: on its own it cannot be imported."""
    files = {"a/first.pyd": "imports second.pyd", "b/second.pyd": "exports f"}
    assert outcomes(files)[0] == {"a/first.pyd": 126, "b/second.pyd": 0}
    assert outcomes({**files, "a/__init__.py": "import b.second"})[0]["a/first.pyd"] == 0


def test_modules_of_one_folder_share_what_they_load_and_differ_in_what_they_cannot():
    files = {
        "pkg/_a.pyd": "imports one.dll",
        "pkg/_b.pyd": "imports one.dll, gone.dll",
        "pkg/_c.pyd": "imports one.dll",
        "pkg/one.dll": "",
    }
    assert outcomes(files)[0] == {"pkg/_a.pyd": 0, "pkg/_b.pyd": 126, "pkg/_c.pyd": 0}


def test_the_failure_that_code_catches_does_not_make_a_need_of_others_unmet():
    files = {
        "pkg/__init__.py": "try:\n    from pkg.x import _a\nexcept ImportError:\n    pass\n" + ADDS.format("'libs'"),
        "pkg/libs/foo.dll": "imports bar.dll",
        "pkg/x/_a.pyd": "imports foo.dll",
        "pkg/y/_b.pyd": "imports foo.dll",
        "pkg/y/bar.dll": "",
    }
    _, resolution = outcomes(files)
    assert resolution.first_failure is None
    (edge,) = [edge for edge in resolution.edges if edge.importer == f"{SITE}pkg/libs/foo.dll"]
    assert edge.provider == InView(f"{SITE}pkg/y/bar.dll")


def test_imports_without_end_are_not_followed_to_the_end():
    chain = {f"pkg/m{at}.py": f"from pkg import m{at + 1}\n" for at in range(450)}
    _, resolution = outcomes({**TWO_FOLDERS, **chain, "pkg/__init__.py": "from pkg import m0\n"})
    assert [outcome.alone.sure for outcome in resolution.outcomes if outcome.alone] == [False]


def test_only_a_folder_that_every_module_searches_is_a_place_for_new_dlls():
    files = {
        "pkg/__init__.py": ADDS.format("'libs'"),
        "pkg/libs/keep.dll": "",
        "pkg/x/_a.pyd": "",
        "pkg/y/__init__.py": ADDS.format("'own'"),
        "pkg/y/own/keep.dll": "",
        "pkg/y/_b.pyd": "",
    }
    assert outcomes(files)[1].search_dirs == (f"{SITE}pkg/libs",)


TRIED = {
    "pkg/_utils.py": "def init():\n    import pkg.lib._ff\n\ndef other(function):\n    def inner():\n        init()\n",
    "pkg/lib/_ff.pyd": "imports helper.pyd, avutil-58.dll",
    "pkg/lib/helper.pyd": "imports avutil-58.dll; exports f",
}


@named_cases(
    "code, guarded",
    {
        "caught": ("from ._utils import init\ntry:\n    init()\nexcept Exception:\n    pass\n", True),
        "not caught": ("from ._utils import init\ninit()\n", False),
        "caught once": ("from ._utils import init\ntry:\n    init()\nexcept Exception:\n    pass\ninit()\n", False),
        "raised again": (
            "from ._utils import init\ntry:\n    init()\nexcept Exception:\n    raise RuntimeError\n",
            False,
        ),
        "never called": ("from . import _utils\n", False),
    },
)
def test_a_function_that_imports_a_module_is_called_where_a_failure_is_caught(code, guarded):
    """torchaudio 2.0.2 tries its modules for FFmpeg in a function, and works without FFmpeg."""
    _, resolution = outcomes({"pkg/__init__.py": code, **TRIED})
    assert {outcome.event.guarded for outcome in resolution.outcomes} == {guarded}


@pytest.mark.slow
def test_many_modules_that_fail_for_one_dll_cost_little():
    """vtk without vtkCommonCore: each of 150 modules maps 200 DLLs, and each of these imports a dozen."""
    count = 120
    names = [f"lib{at}.dll" for at in range(count)]
    files = {"pkg/__init__.py": ""}
    for at, name in enumerate(names):
        files[f"pkg/{name}"] = f"imports {', '.join([*names[at + 1 : at + 30], 'core.dll'])}"
        files[f"pkg/_m{at}.pyd"] = f"imports {name}"
    found, _ = outcomes(files)
    assert set(found.values()) == {126}


def test_a_module_whose_user_raises_an_error_that_is_caught():
    """cassandra-driver takes another reactor where the one for libev cannot be imported."""
    reactor = "class NotBuilt(Exception):\n    pass\n"
    reactor += "try:\n    import pkg._ev\nexcept ImportError:\n    raise NotBuilt('no libev')\n"
    files = {
        "pkg/__init__.py": "def f():\n    try:\n        import pkg.reactor\n    except NotBuilt:\n        pass\n",
        "pkg/reactor.py": reactor,
        "pkg/_ev.pyd": "imports ev-4.dll",
    }
    _, resolution = outcomes(files)
    assert [outcome.event.guarded for outcome in resolution.outcomes] == [True]
    _, resolution = outcomes({**files, "pkg/other.py": "import pkg.reactor\n"})
    assert [outcome.event.guarded for outcome in resolution.outcomes] == [False]


def test_a_program_with_a_python_of_its_own_is_not_imported():
    """What PyInstaller makes has its modules in folders that only its own Python searches."""
    files = {
        "pkg/__init__.py": "",
        "pkg/app.exe": "",
        "pkg/_internal/python311.dll": "",
        "pkg/_internal/qt/QtCore.pyd": "imports shiboken.dll",
        "pkg/_internal/shiboken/shiboken.dll": "",
    }
    assert outcomes(files)[0] == {}
    assert outcomes({path: data for path, data in files.items() if not path.endswith(".exe")})[0] != {}


def test_who_provides_a_dll_can_be_asked_while_the_import_is_followed():
    """The folder is added behind a module whose DLL is nowhere: what the code imports is asked for within that run."""
    files = {
        "pkg/__init__.py": "try:\n    from . import _a\nexcept ImportError:\n    pass\n" + ADDS.format("'libs'"),
        "pkg/_a.pyd": "imports gone.dll",
        "pkg/_b.pyd": "imports bar.dll",
        "pkg/libs/bar.dll": "",
    }
    assert outcomes(files)[0] == {"pkg/_a.pyd": 126, "pkg/_b.pyd": 0}
