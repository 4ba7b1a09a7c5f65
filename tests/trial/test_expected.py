"""What is predicted for each module: its own failure, and before it that of whatever its packages import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.trial.expected import expectations
from wheelfix.trial.run import modules_to_try

if TYPE_CHECKING:
    from pathlib import Path

HERE = "os.path.join(os.path.dirname(__file__)"
TAIL = ".cp311-win_amd64.pyd"


def module(name: str, *needs: str) -> bytes:
    wanted = {"KERNEL32.dll": ["Sleep"], **{need: ["call"] for need in needs}}
    return forge_dll(f"{name}.pyd", imports=wanted, exports=[f"PyInit_{name}"])


def answers(folder: Path, **files: bytes | str) -> dict[str, tuple[str, int, str]]:
    """What is expected of each module of a package ``p``; files are named without folder and ending."""
    members = {f"p/{name}{'.py' if isinstance(data, str) else TAIL}": data for name, data in files.items()}
    wheel = build_wheel(folder / "dist", "p", "1.0", files=members)
    (folder / "environment" / "Lib" / "site-packages").mkdir(parents=True)
    (folder / "environment" / "python.exe").touch()
    with expectations(wheel, folder / "environment") as expected:
        names = modules_to_try(expected.subject.view, expected.subject.profile)
        found = {name: expected.of(name) for name in names}
    return {name: (one.answer.value, one.code, one.named.split(".")[0]) for name, one in found.items()}


FINE = ("works", 0, "")


def test_each_module_has_its_own_answer(tmp_path: Path) -> None:
    found = answers(tmp_path, __init__="", _a=module("_a"), _b=module("_b", "absent.dll"))
    assert found == {"p": FINE, "p._a": FINE, "p._b": ("fails", 126, "_b")}


def test_what_the_package_imports_fails_first(tmp_path: Path) -> None:
    """The module that an import names is the first that the package's own __init__ imports."""
    files = {"__init__": "from . import _z, _a\n", "_a": module("_a", "absent.dll"), "_z": module("_z", "gone.dll")}
    failed = ("fails", 126, "_z")
    assert answers(tmp_path, **files) == {"p": failed, "p._a": failed, "p._z": failed}


def test_a_failure_that_is_caught_is_none(tmp_path: Path) -> None:
    code = "try:\n    from . import _a\nexcept ImportError:\n    _a = None\n"
    found = answers(tmp_path, __init__=code, _a=module("_a", "absent.dll"))
    assert found == {"p": FINE, "p._a": ("fails", 126, "_a")}


def test_a_condition_makes_it_unsure(tmp_path: Path) -> None:
    code = "import time\nif time.time() % 2:\n    from . import _a\n"
    found = answers(tmp_path, __init__=code, _a=module("_a", "absent.dll"))
    assert found["p"][0] == "unsure"
    assert found["p._a"][0] != "works"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (f"import ctypes, os\nctypes.CDLL({HERE}, 'absent.dll'))\n", ("fails", 126, "absent")),
        (f"import os\nos.add_dll_directory({HERE}, 'lib'))\n", ("fails", 2, "lib")),
        ("import ctypes\nctypes.CDLL('kernel32.dll')\n", FINE),
    ],
    ids=["a missing file", "a missing folder", "Windows' own"],
)  # fmt: skip
def test_python_code_that_loads(code: str, answer: tuple[str, int, str], tmp_path: Path) -> None:
    assert answers(tmp_path, __init__=code)["p"] == answer


def test_top_level_modules(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "single.py": "", "_fast.pyd": module("_fast"), "pkg/__init__.py": "", "pkg/sub/__init__.py": "",
        "space/inner/__init__.py": "", "tests/__init__.py": "", "not-a-name/__init__.py": "", "pkg.libs/x.dll": b"",
    }  # fmt: skip
    wheel = build_wheel(tmp_path / "dist", "several", "1.0", files=files)
    (tmp_path / "environment" / "Lib" / "site-packages").mkdir(parents=True)
    with expectations(wheel, tmp_path / "environment") as expected:
        view, profile = expected.subject.view, expected.subject.profile
        assert modules_to_try(view, profile) == ("_fast", "pkg", "single", "space.inner")
        assert modules_to_try(view, profile, ["pkg.sub"]) == ("pkg.sub",)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("from ._gone import f\n", ("fails", 0, "p")),
        ("import p._gone\n", ("fails", 0, "p")),
        ("try:\n    from ._gone import f\nexcept ImportError:\n    f = None\n", FINE),
        ("def later():\n    from ._gone import f\n", FINE),
        ("from . import _gone\n", ("fails", 0, "")),
        ("__path__.append('elsewhere')\nfrom ._gone import f\n", FINE),
        ("import sys\nif sys.platform == 'linux':\n    from ._gone import f\n", FINE),
    ],
    ids=["from", "import", "caught", "in a function", "a name", "found elsewhere", "another system"],
)
def test_a_module_of_the_package_that_is_not_there(code: str, answer: tuple[str, int, str], tmp_path: Path) -> None:
    """psutil, pymssql and pyaudio without their extension module were expected to work."""
    assert answers(tmp_path, __init__=code)["p"] == answer


def test_a_module_without_its_entry(tmp_path: Path) -> None:
    """A file that has nothing to do with Python, in the place of a module that the package imports."""
    stub = forge_dll("_a.pyd", exports=["something_else"])
    found = answers(tmp_path, __init__="from ._a import f\n", _a=stub)
    assert found["p"] == ("fails", 0, "_a")


def test_names_that_are_imported_when_they_are_asked_for(tmp_path: Path) -> None:
    """tornado and scipy have such a ``__getattr__``: importing them imports nothing by it."""
    code = "import importlib\ndef __getattr__(name):\n    return importlib.import_module('.' + name, __name__)\n"
    found = answers(tmp_path, __init__=code, _a=module("_a", "absent.dll"))
    assert found == {"p": FINE, "p._a": ("fails", 126, "_a")}


def test_code_that_needs_what_users_install(tmp_path: Path) -> None:
    """gssapi gives up where Kerberos is not installed, before it imports the module whose DLL was removed."""
    code = (
        "import ctypes\ntry:\n    ctypes.WinDLL('gssapi64.dll')\nexcept OSError:\n"
        "    raise OSError('install Kerberos') from None\nfrom . import _a\n"
    )
    assert answers(tmp_path, __init__=code, _a=module("_a", "absent.dll"))["p"] == ("fails", 0, "")
