"""How the program starts: without what only others need, and without anything from the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import wheelfix
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel

PACKAGE = Path(wheelfix.__file__).resolve().parents[1]
NEEDED_BY_OTHERS = {
    "cryptography": "signed files",
    "http.client": "wheels on servers",
    "multiprocessing": "several wheels",
    "packaging": "missing DLLs, unusual requirements",
    "pefile": "delvewheel",
    "platform": "nothing, but `uuid` imports it",
    "rich": "coloured text",
    "wheelfix.pycode.reading": "code with conditions, or that loads DLLs",
    "wheelfix.remote.settings": "wheels on servers",
    "wheelfix.roots.gather": "missing DLLs",
}
"""Modules that take long to import, and what they are for."""
NOT_FOR_A_SCAN = frozenset(
    "configparser email json markdown_it pickle pyarrow requests socket ssl subprocess urllib.request "
    "wheelfix.base.workers wheelfix.remote.transport wheelfix.report.html".split()
)
NOT_FOR_HELP = frozenset("difflib importlib.metadata json markdown_it packaging pefile rich zipfile".split())
RUN = """
import sys
from wheelfix.cli.main import main
code = main(sys.argv[1:])
print("modules after exit code", int(code), *sys.modules, sep="\\n")
"""


@named_cases("words", {"scan": ["scan"], "repair": ["repair", "-w", "out", "-q"]})
def test_a_small_wheel_imports_little(tmp_path, words):
    files = {
        "pkg/__init__.py": "from pkg import _core\n",
        "pkg/_core.cp311-win_amd64.pyd": "imports python311.dll:Py_IsInitialized, msvcp140.dll:_Mtx_lock",
        "pkg/msvcp140.dll": "exports _Mtx_lock",
    }
    requires = ("attrs>=20", "numpy>=1.21", "x[y] >=1.2,<2", "z ==1.*; (os_name == \"nt\") and extra == 'test'")
    wheel = build_wheel(tmp_path, files=files, requires=requires)
    code, imported = imported_by(words[0], str(wheel), *words[1:], cwd=tmp_path)
    assert code == "0"
    assert NEEDED_BY_OTHERS.keys() & imported == set()
    assert words[0] == "repair" or NOT_FOR_A_SCAN & imported == set()
    assert "wheelfix.exam.wheel" in imported, "they are listed at all"
    assert words[0] == "repair" or sum(name.partition(".")[0] == "wheelfix" for name in imported) <= 110


def test_help_imports_nothing_heavy(tmp_path):
    assert NOT_FOR_HELP & imported_by("--help", cwd=tmp_path)[1] == set()


def imported_by(*words: str, cwd: Path) -> tuple[str, set[str]]:
    """The exit code of a command, and the modules that there are at its end."""
    done = subprocess.run([sys.executable, "-c", RUN, *words], cwd=cwd, capture_output=True, text=True, check=True)
    code, *modules = done.stdout.partition("modules after exit code\n")[2].splitlines()
    return code, set(modules)


def test_planted_modules_in_the_current_folder_do_not_run(tmp_path):
    mark = tmp_path / "ran"
    for name in ("rich", "packaging", "tomli", "argparse", "signal", "pefile", "delvewheel"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(
        [sys.executable, "-m", "wheelfix", "explain", "WF301"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert b"WF301" in done.stdout
    assert not mark.exists()
