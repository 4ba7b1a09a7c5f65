"""A DLL that was deleted from a wheel is missing, and every command says so: none of them finds an excuse for it.

The wheels are small copies of real ones in which a deleted DLL was excused: the wheel's own modules, tests, scripts or
functions import something that is not required and that ships a DLL of that name, or might.
"""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.wine import wine_options
from tests.support.environments import lay
from tests.support.parts import some
from tests.support.tables import named_cases
from tests.support.tiers import wheel
from tests.support.wheels import build_wheel
from tools.take_one_out import rows_of, write_without
from wheelfix.cli.main import main
from wheelfix.trial.model import ImportAnswer
from wheelfix.trial.run import expectations

PYD = ".cp311-win_amd64.pyd"
PATCHED = """\
import os
os.add_dll_directory(os.path.join(os.path.dirname(__file__), os.pardir, "pkg.libs"))
from pkg import _m
"""


@dataclass(frozen=True)
class Package:
    """A wheel, and the DLL that is deleted from it."""

    name: str
    gone: str
    module: str
    """The module whose import fails without the DLL."""
    files: dict[str, bytes | str] = field(hash=False)
    requires: tuple[str, ...] = ()

    @property
    def dll(self) -> str:
        """The name of the DLL."""
        return self.gone.rpartition("/")[2]

    def wheel(self, folder: Path) -> Path:
        """Write it whole."""
        files = {**self.files, self.gone: self.files.get(self.gone, "")}
        return build_wheel(folder, self.name, files=files, requires=self.requires)


PACKAGES = {
    "a test imports the distribution that ships that name": Package(
        "h5py",
        "h5py/hdf5.dll",
        "h5py._errors",
        {
            "h5py/__init__.py": "from . import _errors\n",
            f"h5py/_errors{PYD}": "imports hdf5.dll",
            "h5py/tests/test_dtype.py": "try:\n    import tables\nexcept ImportError:\n    tables = None\n",
        },
        ("numpy",),
    ),
    "a function tries to import a distribution that is not known": Package(
        "openvino",
        "openvino/libs/openvino.dll",
        "openvino._pyopenvino",
        {
            "openvino/__init__.py": "import os\n"
            'os.add_dll_directory(os.path.join(os.path.dirname(__file__), "libs"))\nfrom openvino import _pyopenvino\n',
            f"openvino/_pyopenvino{PYD}": "imports openvino.dll",
            "openvino/libs/openvino_c.dll": "",
            "openvino/tools.py": "def convert():\n    try:\n        import openvino_tokenizers\n"
            "    except ImportError:\n        return None\n",
        },
        ("numpy",),
    ),
    "its own top-level modules import each other": Package(
        "pywin32",
        "pywin32_system32/pywintypes311.dll",
        "win32.win32api",
        {
            "win32/win32api.pyd": "imports pywintypes311.dll",
            "win32/lib/win32con.py": "",
            "win32/lib/pywin32_bootstrap.py": "import pywin32_system32, os\n"
            "for path in pywin32_system32.__path__:\n    os.add_dll_directory(path)\n",
            "pywin32.pth": "win32\nwin32\\lib\nPythonwin\nimport pywin32_bootstrap\n",
            "Pythonwin/win32ui.pyd": "imports pywintypes311.dll",
            "Pythonwin/pywin/__init__.py": "import win32ui\n",
            "Pythonwin/start.py": "import win32ui\nimport pywin.framework\n",
        },
    ),
    "a DLL behind a DLL, and scripts that import folders of the wheel": Package(
        "PySide6_Essentials",
        "PySide6/Qt6Gui.dll",
        "PySide6.QtWidgets",
        {
            "PySide6/__init__.py": "",
            "PySide6/QtWidgets.pyd": "imports Qt6Widgets.dll",
            "PySide6/Qt6Widgets.dll": "imports Qt6Gui.dll",
            "PySide6/scripts/deploy.py": "from project_lib import ProjectData\nfrom deploy_lib import main\n",
            "PySide6/scripts/project_lib/__init__.py": "class ProjectData: ...\n",
            "PySide6/scripts/deploy_lib/__init__.py": "def main(): ...\n",
        },
    ),
    "the folder that delvewheel makes": Package(
        "pkg",
        "pkg.libs/foo-0123456789abcdef0123456789abcdef.dll",
        "pkg._m",
        {
            "pkg/__init__.py": PATCHED,
            f"pkg/_m{PYD}": "imports foo-0123456789abcdef0123456789abcdef.dll, bar.dll",
            "pkg.libs/bar.dll": "",
        },
    ),
}
OPTIONAL = Package(
    "pkg",
    "pkg/hdf5.dll",
    "pkg._m",
    {"pkg/__init__.py": "from pkg import _m\n", f"pkg/_m{PYD}": "imports hdf5.dll"},
    ('tables; extra == "all"',),
)
"""Here it is not known who is right: an extra that may be installed ships a DLL of that name."""
EACH = named_cases("package", PACKAGES)
ROW = named_cases("row_left", {"row left": True, "row gone": False})


@dataclass(frozen=True)
class Answer:
    """How a command ended."""

    exit: int
    text: str

    def wheel(self) -> dict[str, Any]:
        """The report about the only wheel, of a command that prints JSON."""
        return json.loads(self.text)["wheels"][0]


def ask(command: str, *words: object, form: str = "text") -> Answer:
    """Run a command of wheelfix."""
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = main([command, *map(str, words), "--no-config", "--format", form])
    return Answer(code, out.getvalue() + (said.getvalue() if form == "text" else ""))


def listed(path: Path) -> set[str]:
    """The paths that RECORD lists."""
    with zipfile.ZipFile(path) as archive:
        return rows_of(archive)


def predicted(path: Path, module: str, folder: Path) -> ImportAnswer:
    """What ``wheelfix try`` predicts for a module before it imports it."""
    prefix = lay(folder, {"python.exe": b"", "Lib/site-packages/README.txt": ""})
    with expectations(path, prefix, (3, 11), bare=True) as expected:
        return expected.of(module).answer


def check_damaged(path: Path, gone: str, module: str, tmp_path: Path) -> None:
    """No command is content with the wheel, and none hides what was deleted."""
    name, row_left, out = gone.rpartition("/")[2], gone in listed(path), tmp_path / "out"
    scanned = ask("scan", "--no-discover", path, form="json")
    report = scanned.wheel()
    errors = [item for item in report["findings"] if item["severity"] == "error"]
    assert (report["verdict"], scanned.exit) == ("broken", 1), report["findings"]
    assert any(name in f"{item['subject']} {item['message']}" for item in errors), errors
    assert ask("verify", path).exit == int(row_left)  # which looks into no DLL, but reads RECORD
    repaired = ask("repair", "--no-discover", path, "-w", out)
    assert repaired.exit == 1, repaired.text
    assert "REPAIRED" not in repaired.text
    assert name in repaired.text
    checked = ask("ci", "--no-discover", path, "-w", out)
    assert checked.exit == 1, checked.text
    for written in out.glob("*.whl"):
        assert (gone in listed(written)) == row_left, f"{written} has another RECORD"
    diagnosed = ask("diagnose", "--wheel", path, "--no-discover")
    assert diagnosed.exit == 1, diagnosed.text
    assert name in diagnosed.text
    assert predicted(path, module, tmp_path / "prefix") is ImportAnswer.FAILS


@EACH
@ROW
def test_every_command_misses_a_dll_that_was_deleted(package, row_left, tmp_path):
    path = package.wheel(tmp_path / "whole")
    damaged = tmp_path / path.name
    write_without(path, package.gone, damaged, row_left=row_left)
    check_damaged(damaged, package.gone, package.module, tmp_path)


@ROW
def test_no_command_succeeds_where_only_an_extra_has_the_dll(row_left, tmp_path):
    """RECORD says whose file it is; without its row nothing does, and that is no success either."""
    path, out = OPTIONAL.wheel(tmp_path / "whole"), tmp_path / "out"
    damaged = tmp_path / path.name
    write_without(path, OPTIONAL.gone, damaged, row_left=row_left)
    if row_left:
        check_damaged(damaged, OPTIONAL.gone, OPTIONAL.module, tmp_path)
        return
    assert ask("scan", "--no-discover", damaged, form="json").wheel()["verdict"] == "unsure"
    for command in ("repair", "ci"):
        answer = ask(command, "--no-discover", damaged, "-w", out)
        assert answer.exit == 1, answer.text
        assert "REPAIRED" not in answer.text
    diagnosed = ask("diagnose", "--wheel", damaged, "--no-discover")
    assert diagnosed.exit == 5
    assert "Could not tell. The notes say why." in diagnosed.text
    assert "note: could not tell: hdf5.dll" in diagnosed.text
    assert predicted(damaged, OPTIONAL.module, tmp_path / "prefix") is not ImportAnswer.WORKS


@EACH
def test_every_command_accepts_the_whole_wheel(package, tmp_path):
    path, out = package.wheel(tmp_path), tmp_path / "out"
    scanned = ask("scan", "--no-discover", path, form="json")
    assert (scanned.wheel()["verdict"], scanned.exit) == ("ok", 0), scanned.wheel()["findings"]
    writing = [ask(command, "--no-discover", path, "-w", out) for command in ("repair", "ci")]
    ends = [ask("verify", path), *writing, ask("diagnose", "--wheel", path, "--no-discover")]
    assert [answer.exit for answer in ends] == [0, 0, 0, 0], [answer.text for answer in ends]
    assert predicted(path, package.module, tmp_path / "prefix") is ImportAnswer.WORKS


@EACH
@ROW
def test_a_repair_puts_the_deleted_dll_back(package, row_left, tmp_path):
    """With a folder that has it, the result is a wheel that every command accepts."""
    path, out = package.wheel(tmp_path / "whole"), tmp_path / "out"
    damaged, root = tmp_path / path.name, lay(tmp_path / "root", {package.dll: ""})
    write_without(path, package.gone, damaged, row_left=row_left)
    repaired = ask("repair", "--no-discover", "--root", root, "--layout", "beside", damaged, "-w", out)
    assert repaired.exit == 0, repaired.text
    (made,) = out.glob("*.whl")
    assert any(row.rpartition("/")[2] == package.dll for row in listed(made))
    assert [ask("verify", made).exit, ask("scan", "--no-discover", made).exit] == [0, 0]
    assert ask("scan", "--no-discover", made, form="json").wheel()["verdict"] == "ok"


@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.parametrize("package", some(PACKAGES.values()), ids=PACKAGES)
def test_and_a_windows_python_fails_as_predicted(package, tmp_path):
    wine = wine_options()
    path = package.wheel(tmp_path / "whole")
    damaged = tmp_path / path.name
    write_without(path, package.gone, damaged, row_left=False)
    tried = ask("try", damaged, "--no-deps", "--module", package.module, *wine, form="json")
    assert tried.exit == 1, tried.text
    assert [one["agreement"] for one in tried.wheel()["modules"]] == ["agrees"]


REAL = {
    "gmpy2-2.3.2-cp311-cp311-win_amd64.whl": ("gmpy2.libs/libmpfr-6.dll", "gmpy2.gmpy2"),
    "h5py-3.16.0-cp311-cp311-win_amd64.whl": ("h5py/hdf5.dll", "h5py._errors"),
    "pywin32-312-cp311-cp311-win_amd64.whl": ("pywin32_system32/pywintypes311.dll", "win32.win32api"),
}


@pytest.mark.real
@ROW
@pytest.mark.parametrize("file", some(REAL))
def test_and_so_with_real_wheels(file, row_left, tmp_path):
    path, (gone, module) = wheel(file), REAL[file]
    damaged = tmp_path / path.name
    write_without(path, gone, damaged, row_left=row_left)
    check_damaged(damaged, gone, module, tmp_path)
