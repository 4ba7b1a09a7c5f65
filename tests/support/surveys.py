"""Small wheels to survey, and the tables of a survey as values that compare."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.wheels import build_wheel, extension
from tools.forge import forge_dll
from wheelfix.survey.tables import TABLES, ask


def forged_wheel(
    folder: Path, name: str, dll: str = "helper.dll", needs: str = "msvcp140.dll", padding: int = 0
) -> Path:
    """Write a wheel with an extension module, which needs something, and a DLL beside it."""
    module = extension("python311.dll:Py_IncRef", needs, f"{dll}:g")
    files = {
        f"{name}/__init__.py": b"from . import _x\n",
        f"{name}/_x.cp311-win_amd64.pyd": module,
        f"{name}/{dll}": forge_dll(dll, exports=["g", name]),
    }
    if padding:
        files[f"{name}/data.bin"] = os.urandom(padding // 2) + bytes(padding // 2)
    return build_wheel(folder, name, files=files, requires=["numpy>=1.20"])


def tables_of(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of every table, sorted."""
    return {table.name: sorted(ask(folder, f"SELECT * FROM {table.name}").rows, key=repr) for table in TABLES}


def start_survey(*words: object, **more: Any) -> subprocess.Popen[str]:
    """Start ``wheelfix survey`` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "wheelfix", "survey", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )
