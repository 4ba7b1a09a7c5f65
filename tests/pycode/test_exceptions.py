"""What a ``try`` catches of a load that fails, in every way in which code loads."""

import ast
import json

import pytest

from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, extension
from wheelfix.cli.main import main
from wheelfix.pycode.sourcecode import catches


@pytest.mark.parametrize(
    "caught, kind, expected",
    [
        ("OSError", "FileNotFoundError", True),
        ("FileNotFoundError", "OSError", False),
        ("ImportError", "OSError", False),
        ("Exception", "OSError", True),
        ("(KeyError, OSError)", "OSError", True),
        ("(KeyError, ValueError)", "OSError", False),
        ("pkg.Special", "Unknown", None),
        ("Special", "OSError", False),
        ("ModuleNotFoundError", "ImportError", False),
        ("ImportError", "ModuleNotFoundError", True),
        ("OSError", "ImportError", False),
        ("WindowsError", "FileNotFoundError", True),
        ("os.error", "FileNotFoundError", True),
        ("ERRORS", "OSError", None),
        ("Exception", "Unknown", True),
    ],
)
def test_which_handlers_catch_an_exception(caught, kind, expected):
    assert catches(ast.parse(caught, mode="eval").body, kind) is expected


IMPORT = "from . import _x"
LOAD = "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'gone.dll'))"
GUARDS = {
    "try": "try:\n    {}\nexcept {}:\n    pass\n",
    "with": "with contextlib.suppress({1}):\n    {0}\n",
    "called": "def load():\n    {}\ntry:\n    load()\nexcept {}:\n    pass\n",
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(
    "action, caught, fails",
    [
        (IMPORT, "ImportError", False),
        (IMPORT, "Exception", False),
        (IMPORT, "ModuleNotFoundError", True),
        (IMPORT, "OSError", True),
        (IMPORT, "FileNotFoundError", True),
        (LOAD, "OSError", False),
        (LOAD, "FileNotFoundError", False),
        (LOAD, "Exception", False),
        (LOAD, "ImportError", True),
        (LOAD, "ModuleNotFoundError", True),
        (LOAD, "ValueError", True),
    ],
)
def test_a_failure_counts_unless_its_own_exception_is_caught(tmp_path, capsys, guard, action, caught, fails):
    """``except ModuleNotFoundError`` and ``except OSError`` do not catch the ImportError of a missing DLL."""
    code = f"import contextlib, ctypes, os\n{GUARDS[guard].format(action, caught)}"
    module = extension("gone.dll", "python311.dll:Py_IncRef")
    files = {"pkg/__init__.py": code, "pkg/_x.cp311-win_amd64.pyd": module if action == IMPORT else b""}
    path = build_wheel(tmp_path, files={name: data for name, data in files.items() if data})
    assert main(["scan", str(path), "--no-discover", "--format", "json"]) == int(fails)
    verdict = json.loads(capsys.readouterr().out)["wheels"][0]["verdict"]
    assert (verdict == "broken") is fails


TRIED = "try:\n    from . import _x\nexcept ImportError{}:\n    {}\n"
SEVERAL = (
    "import importlib\nfor name in ('_x', '_y'):\n    try:\n        found = importlib.import_module('pkg.' + name)\n"
)


@named_cases(
    "code, message",
    {
        "flag": (TRIED.format("", "_x = None") + "if _x is None:\n    raise OSError('no')\n", "OSError: no"),
        "kept": (
            "err = None\n" + TRIED.format(" as e", "err = e") + "if err:\n    raise err\n",
            "ImportError: DLL load failed while importing _x: The specified module could not be found.",
        ),
        "loop": (
            SEVERAL + "        break\n    except ImportError:\n        pass\nelse:\n    raise ImportError('none')\n",
            "ImportError: none",
        ),
        "exit": ("import sys\n" + TRIED.format("", "sys.exit('no')"), "SystemExit"),
        "call": (
            "def fail(e):\n    raise ValueError('x') from e\n" + TRIED.format(" as e", "fail(e)"),
            "ValueError: x",
        ),
        "other": (TRIED.format("", "from . import _y"), "ImportError: cannot import name '_y' from 'pkg'"),
        "none": (TRIED.format("", "_x = None"), ""),
        "not raised": (TRIED.format("", "_x = None") + "if _x:\n    raise OSError('no')\n", ""),
        "debug": ("import os\n" + TRIED.format("", "if os.environ.get('DEBUG'):\n        raise"), ""),
    },
)
def test_a_failure_that_is_caught_and_raised_later(tmp_path, capsys, code, message):
    """The failed import was caught, so the wheel was ok; but the code raised an error of its own some lines later."""
    files = {"pkg/__init__.py": code, "pkg/_x.cp311-win_amd64.pyd": "imports gone.dll, python311.dll:Py_IncRef"}
    path = build_wheel(tmp_path, files=files)
    assert main(["scan", str(path), "--no-discover", "--format", "json"]) == int(bool(message))
    failure = json.loads(capsys.readouterr().out)["wheels"][0]["first_failure"]
    assert (failure["message"] if failure else "") == message
