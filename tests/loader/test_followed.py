"""Of several modules that fail, the prediction names the one that the package's own __init__ imports first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wheels import ALONE, build_wheel
from tools.forge import forge_dll
from wheelfix.exam.scan import scan
from wheelfix.report.document import import_statement

TAIL = ".cp311-win_amd64.pyd"


def predicted(folder: Path, code: str) -> str:
    """The line predicted for a package with two modules that fail, and one of a subpackage."""
    files = {"p/__init__.py": code, "p/sub/__init__.py": "from . import _s\n"}
    for path in ("p/_a", "p/_z", "p/sub/_s"):
        name = path.rpartition("/")[2]
        files[path + TAIL] = forge_dll(f"{name}.pyd", imports={"gone.dll": ["f"]}, exports=[f"PyInit_{name}"])
    wheel = build_wheel(folder, "p", files=files)
    failure = scan(wheel, ALONE).first_failure
    return failure.message.partition("importing ")[2].partition(":")[0]


@pytest.mark.parametrize(
    "code, module",
    [
        ("from ._z import x\nfrom ._a import y\n", "_z"),
        ("from . import _a, _z\n", "_a"),
        ("import p.sub\nfrom . import _a\n", "_s"),
        ("from p.sub import _s\n", "_s"),
        ("try:\n    from . import _z\nexcept ImportError:\n    pass\nfrom .sub import x\nfrom . import _a\n", "_s"),
        ("import time\nif time.time() % 2:\n    from . import _z\nfrom . import sub\n", "_s"),
        ("", "_a"),
    ],
)
def test_the_first_import_is_named(code, module, tmp_path):
    assert predicted(tmp_path, code) == module


def test_a_package_above_a_module_imports_its_sibling_first(tmp_path):
    """Nothing above imports the package, and the first module by name was named; but importing it imports another."""
    files = {"ns/p/__init__.py": "from . import _z\n"}
    for name in ("_a", "_z"):
        module = forge_dll(f"{name}.pyd", imports={"gone.dll": ["f"]}, exports=[f"PyInit_{name}"])
        files[f"ns/p/{name}{TAIL}"] = module
    report = scan(build_wheel(tmp_path, "p", files=files), ALONE)
    assert import_statement(report) == "import ns.p._z"


def test_the_statement_names_no_class_of_an_exception(tmp_path):
    """It said "import ImportError will raise" for code that looks for its DLL and gives up."""
    code = (
        "import ctypes, os\npath = os.path.join(os.path.dirname(__file__), 'x.dll')\n"
        "if not os.path.isfile(path):\n    raise ImportError('no x')\nctypes.CDLL(path)\n"
    )
    wheel = build_wheel(tmp_path, "p", files={"p/__init__.py": code})
    report = scan(wheel, ALONE)
    assert report.first_failure is not None
    assert import_statement(report) == "loading x.dll"


def test_an_absent_folder_is_told_in_windows_words(tmp_path):
    code = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'lib'))\n"
    wheel = build_wheel(tmp_path, "p", files={"p/__init__.py": code})
    failure = scan(wheel, ALONE).first_failure
    assert failure.message == r"FileNotFoundError: [WinError 2] The system cannot find the file specified: '…\p\lib'"
