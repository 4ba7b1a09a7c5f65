"""torch's own loading code, taken at test time from a wheel in the cache: nothing of it is kept here."""

from __future__ import annotations

import ast
import sys
import zipfile
from pathlib import Path

MARK = "LoadLibraryExW"
BEFORE = "_rocm_init"
"""What torch runs before it loads its own DLLs, in builds for ROCm."""


def loading_code(wheel: Path) -> str:
    """Return a module that does what the wheel's ``torch/__init__.py`` does up to and with the loading of DLLs.

    That is its imports from the standard library, what it runs before for ROCm, and the one statement that loads, each
    as it stands in the wheel.
    """
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("torch/__init__.py").decode().replace("\r\n", "\n")
    kept = []
    for statement in ast.parse(text).body:
        source = ast.get_source_segment(text, statement) or ""
        if _is_standard_import(statement) or BEFORE in source:
            kept.append(source)
        elif MARK in source:
            return "\n".join([*kept, "", source, ""])
    raise AssertionError(f"{wheel.name}: no statement of torch/__init__.py mentions {MARK}")


def _is_standard_import(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and not statement.level:
        names = [statement.module or ""]
    else:
        return False
    return all(name.partition(".")[0] in sys.stdlib_module_names for name in names)


def version_file(version: str, cuda: str | None) -> str:
    """Return a ``torch/version.py`` that says what the real one of such a build says."""
    return f"__version__ = {version!r}\ndebug = False\ncuda = {cuda!r}\nhip = None\n"
