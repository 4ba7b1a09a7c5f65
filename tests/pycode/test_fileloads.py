"""Reading DLL folders and loads out of Python source without running it."""

import pytest

from tests.pycode.running import read
from tests.support.tables import named_cases
from wheelfix.pycode.budget import CodeBudget
from wheelfix.pycode.sourcecode import _IN_WORDS, WORDS, last_line, names_loader

HERE = "Lib/site-packages/pkg/__init__.py"


@named_cases(
    "source, added",
    {
        "join-dirname": (
            "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'lib'))",
            ("Lib/site-packages/pkg/lib",),
        ),
        "delvewheel": (
            "libs = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs'))\n"
            "if os.path.isdir(libs):\n    os.add_dll_directory(libs)",
            ("Lib/site-packages/pkg.libs",),
        ),
        "delvewheel-walrus": (
            "def f():\n if os.path.isdir(d := os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir,"
            " 'pkg.libs'))):\n  os.add_dll_directory(d)",
            ("Lib/site-packages/pkg.libs",),
        ),
        "pathlib": (
            "from pathlib import Path\nos.add_dll_directory(str(Path(__file__).resolve().parent / 'bin'))",
            ("Lib/site-packages/pkg/bin",),
        ),
        "parents-and-f-string": (
            "from pathlib import Path\nos.add_dll_directory(str(Path(__file__).parents[1] / f'{\"x\"}.libs'))",
            ("Lib/site-packages/x.libs",),
        ),
        "loop": (
            "for name in ('a', 'b'):\n    os.add_dll_directory(os.path.join(__path__[0], name))",
            ("Lib/site-packages/pkg/a", "Lib/site-packages/pkg/b"),
        ),
        "another-package": (
            "import other\nfor p in other.__path__:\n    os.add_dll_directory(p)",
            ("Lib/site-packages/other",),
        ),
        "prefix": ("os.add_dll_directory(os.path.join(sys.prefix, 'Library', 'bin'))", ("Library/bin",)),
        "importlib-resources": (
            "def f():\n from importlib.resources import files as where\n"
            " os.add_dll_directory(str(where('pkg.inner') / 'extra-dll'))",
            ("Lib/site-packages/pkg/inner/extra-dll",),
        ),
        "pkg-resources": (
            "import pkg_resources\nos.add_dll_directory(pkg_resources.resource_filename('pkg', 'extra'))",
            ("Lib/site-packages/pkg/extra",),
        ),
        "function-of-the-same-file": (
            "def add():\n    os.add_dll_directory(os.path.join(root(), 'pkg', '.data', 'lib'))\n"
            "def root():\n    return os.path.abspath(os.path.join(os.path.dirname(__file__), '..'))",
            ("Lib/site-packages/pkg/.data/lib",),
        ),
        "list-that-grows": (
            "here = os.path.dirname(__file__)\nlibs = []\nlibs.append(os.path.join(here, 'libs'))\nlibs += ['more']\n"
            "for lib in libs:\n    os.add_dll_directory(os.path.abspath(os.path.join(here, lib)))",
            ("Lib/site-packages/pkg/libs", "Lib/site-packages/pkg/more"),
        ),
        "function-that-calls-itself": ("def f():\n    return f()\nos.add_dll_directory(f())", ()),
        "unknown-is-left-out": ("os.add_dll_directory(os.environ['CUDA_PATH'] + r'\\bin')", ()),
        "text-join-is-no-path": ("os.add_dll_directory(';'.join(['a', 'b']))", ()),
        "no-python": ("def broken(:", ()),
    },
)
def test_added_folders(source, added):
    assert read(source, "pkg.libs/a.txt", "pkg/inner/__init__.py").added == added


@named_cases(
    "source, loaded",
    {
        "full-path": (
            "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'a.dll'))",
            ("Lib/site-packages/pkg/a.dll",),
        ),
        "bare-name": ("ctypes.WinDLL('kernel32.dll')", ("kernel32.dll",)),
        "glob": (
            "for f in glob.glob(os.path.join(os.path.dirname(__file__), 'lib', '*.dll')):\n    ctypes.CDLL(f)",
            ("Lib/site-packages/pkg/lib/b.dll",),
        ),
        "unknown": ("cdll.LoadLibrary(NAME)", ()),
    },
)
def test_loads(source, loaded):
    found = read(source, "pkg/lib/b.dll", "pkg/lib/c.txt").loads
    assert tuple(load.target for load in found) == loaded


def test_a_method_of_an_unknown_string_is_not_a_function_of_paths():
    """``paths.split(";")`` of something unknown was read as ``os.path.split(";")``, which gave an empty folder."""
    code = read("for path in paths().split(';'):\n    os.add_dll_directory(path)\n")
    assert code.added == ()
    assert [call.argument for call in code.unread_calls] == ["path"]


ADDS = "os.add_dll_directory(os.path.join(os.path.dirname(__file__), 'lib'))"


@named_cases(
    "source",
    {
        "crlf": f"import os\r\n\r\nif 1:\r\n    {ADDS}\r\n",
        "cr": f"import os\r\r{ADDS}\r",
        "form-feed": f"import os\n\x0c\n{ADDS}",
        "not-ascii": f"import os\nname = 'ü'\n{ADDS}",
        "other-letters": f"import os\ndef go():\n    {ADDS.replace('add', chr(0xFF41) + 'dd')}",
        "after-a-long-text": f"import os\ndef go():\n    text = '''\n\n'''\n    {ADDS}",
        "with": "import os\nwith (\n    os.add_dll_directory(\n        os.path.join(os.path.dirname(__file__), 'lib')\n"
        "    )\n):\n    pass",
    },
)
def test_calls_are_found_in_whatever_line_they_are(source):
    assert read(source).added == ("Lib/site-packages/pkg/lib",)


@pytest.mark.parametrize(
    "source", ['"""Callbacks of ctypes.CDLL are taken."""', "# CDLL is not used\nx = 1", "def f():\n    'windll'\n"]
)
def test_a_name_in_a_comment_or_docstring_is_no_code(source):
    assert not names_loader(source, HERE, CodeBudget())


def test_a_file_that_names_loaders_only_in_comments_is_not_parsed():
    """A comment in pygame-ce's ``__init__.py`` explains add_dll_directory."""
    budget = CodeBudget()
    assert not names_loader("# os.add_dll_directory is the new way\nif x:\n", HERE, budget)
    assert names_loader("os.add_dll_directory(x)  # the new way\nif x:\n", HERE, budget)
    assert list(budget.unread) == [HERE]


def test_files_are_searched_for_parts_of_all_words():
    assert all(any(part in word for part in _IN_WORDS) for word in WORDS)


@pytest.mark.parametrize(
    "source", ["from ctypes import CDLL as C", "getattr(ctypes, 'windll')", "@CDLL\ndef f(): pass"]
)
def test_a_name_in_code_is_found(source):
    assert names_loader(source, HERE, CodeBudget())


def test_folders_behind_an_exception_that_other_programs_prevent_are_unread():
    """pyjnius looks for Java, and adds its folder before it imports what needs jvm.dll."""
    code = (
        "import os\n"
        "home = os.getenv('JAVA_HOME')\n"
        "if home is None:\n"
        "    raise RuntimeError('no Java')\n"
        "os.add_dll_directory(os.path.join(home, 'bin'))\n"
    )
    (call,) = read(code).unread_calls
    assert (call.function, call.argument, call.line) == ("add_dll_directory", "os.path.join(home, 'bin')", 5)


@pytest.mark.parametrize(
    "code, loads",
    [
        ("import ctypes\nctypes.windll.user32.GetActiveWindow()\n", False),
        ("from ctypes import windll\nwindll.kernel32.GetTickCount()\n", False),
        ("from ctypes import windll\nwindll.wintab32.WTOpenA()\n", True),
        ("from ctypes import windll as w\nw.wintab32.WTOpenA()\n", True),
        ("from ctypes import windll\nload(windll)\n", True),
    ],
)
def test_what_windows_has_concerns_no_dll_of_others(code, loads):
    """As in wxPython and Kivy, whose code asks windows and keys of user32."""
    assert names_loader(code, HERE, CodeBudget()) is loads


def test_the_last_line_that_concerns_dlls():
    """A comment of numpy says why something must not happen during dlopen; its function that adds a folder is first."""
    code = "def patch():\n    os.add_dll_directory('x')\n\n\npatch()\nimport rest\n# not during dlopen\nx = 1\n"
    assert last_line(code.encode()) == 5
