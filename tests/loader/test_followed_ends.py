"""What the interpreted import of a package leaves behind, for the modules below it."""

from tests.oracle.graph import Dll
from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import Machine

LOADS = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), {}))\n"
DLLS = (
    Dll("pkg/libs/bar.dll", exports=("g",)),
    Dll("pkg/y/bar.dll", exports=("f", "g")),
    Dll("pkg/y/_m.pyd", imports=(("bar.dll", ("f",)),), exports=("f",)),
)


@named_cases(
    "code, expected",
    {
        "nothing is loaded before": ({}, 0),
        "the package between loads": ({"pkg/y": LOADS.format("os.pardir, 'libs', 'bar.dll'")}, 127),
        "the outer package loads": ({"pkg": LOADS.format("'libs', 'bar.dll'")}, 127),
    },
)
def test_a_module_meets_what_every_package_above_it_has_loaded(code, expected):
    """A DLL of the name that is loaded already answers, also where it has no such function."""
    files = {dll.path: dll.forge(Machine.AMD64) for dll in DLLS}
    files |= {f"{folder}/__init__.py": code.get(folder, "") for folder in ("pkg", "pkg/y")}
    view = make_view({f"{SITE_PACKAGES}/{path}": data for path, data in files.items()})
    outcomes = resolve(view, Profile(machine=Machine.AMD64)).outcomes
    (code_of,) = (outcome.code for outcome in outcomes if outcome.event.path.endswith("_m.pyd"))
    assert code_of == expected


UNCLEAR = "import random\nif random.random() > 2:\n    from pkg import more\n"
GONE = LOADS.format("'core.dll'")


@named_cases(
    "files, faults",
    {
        "what is unclear has to do with other things, as in mne_lsl": (
            {"pkg/__init__.py": "from pkg import docs, load\n", "pkg/docs.py": UNCLEAR, "pkg/load.py": GONE},
            [("load", True, True)],
        ),
        "what is unclear is where DLLs are loaded": (
            {"pkg/__init__.py": "from pkg import load\n", "pkg/load.py": UNCLEAR + GONE},
            [("load", False, True)],
        ),
        "it depends on a module that may be there, as in pyvips": (
            {
                "pkg/__init__.py": "try:\n    import _api\nexcept Exception:\n    from cffi import FFI\n"
                "    lib = FFI().dlopen('libvips-42.dll')\n"
            },
            [("load", False, True)],
        ),
        "the same with a DLL of the package": (
            {
                "pkg/__init__.py": "try:\n    import _api\nexcept Exception:\n    import ctypes, os\n    "
                + GONE.splitlines()[1]
            },
            [("load", False, True)],
        ),
        "the import gets nowhere, and a file beside it asks for a DLL that is not there, as in ddtrace": (
            {
                "pkg/__init__.py": "import pkg.more\n" + UNCLEAR * 12,
                "pkg/waf.py": GONE,
            },
            [("load", True, False)],
        ),
        "the name of the DLL comes from a list that may be empty": (
            {
                "pkg/__init__.py": "import ctypes, os\nname = [n for n in os.listdir('.') if n == 'x']\n"
                "ctypes.CDLL(name[0])\n"
            },
            [("unread", False, True)],
        ),
    },
)
def test_what_an_import_that_is_not_followed_to_its_end_meets(files, faults):
    view = make_view({f"{SITE_PACKAGES}/{path}": data for path, data in (files | {"pkg/more.py": ""}).items()})
    found = resolve(view, Profile()).code_faults
    assert [(fault.cause, fault.sure, fault.reached) for fault in found] == faults


def test_the_dll_that_has_the_name_of_the_package_is_named_first():
    """unicorn 2.1.4 tries the runtimes of its compiler first, and does without them."""
    code = (
        "import ctypes, os\nlib = None\nfor name in ('libgcc.dll', 'libpkg.dll'):\n    try:\n"
        "        lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), name))\n"
        "    except OSError:\n        pass\nif lib is None:\n    raise ImportError('not found')\n"
    )
    (fault,) = resolve(make_view({f"{SITE_PACKAGES}/pkg/__init__.py": code}), Profile(python=(3, 11))).code_faults
    assert [name.rpartition("/")[2] for name in fault.names] == ["libpkg.dll", "libgcc.dll"]
