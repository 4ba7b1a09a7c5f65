"""The text of an exception that code raises after it did not find a DLL, as far as it can be read from the code."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.archive.placement import SITE_PACKAGES
from wheelfix.loader.codereader.codevalue import CAUGHT, ROOT, Extern

if TYPE_CHECKING:
    from wheelfix.loader.codereader.codeexpr import Expressions
    from wheelfix.loader.codereader.codevalue import Value

MOST = 300
UNKNOWN_TEXT = "…"
NO_MODULE = "Could not find module '{}' (or one of its dependencies). Try using the full path with constructor syntax."
"""What ctypes says for error 126."""


def raised_text(run: Expressions, raised: ast.expr | None) -> str:
    """The first line of an exception's text, with ``…`` for what is not known; empty if nothing of it is."""
    if not isinstance(raised, ast.Call) or len(raised.args) != 1 or raised.keywords:
        return ""
    text = _text(run, raised.args[0])
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line[:MOST] if line.strip(f"{UNKNOWN_TEXT} ") else ""


def _text(run: Expressions, node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(run, part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        plain = node.conversion in (-1, ord("s")) and node.format_spec is None
        return _shown(run, run.value(node.value)) if plain else UNKNOWN_TEXT
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(run, node.left) + _text(run, node.right)
    return _shown(run, run.value(node))


def _shown(run: Expressions, value: Value) -> str:
    if len(value) != 1:
        return UNKNOWN_TEXT
    atom = value[0]
    if isinstance(atom, Extern) and atom.name.startswith(CAUGHT):
        missing = [path for path in run.looked_for if "/" in path]
        found = atom.last == "FileNotFoundError" and len(missing) == 1
        return NO_MODULE.format(windows_text(missing[0])) if found else UNKNOWN_TEXT
    if not isinstance(atom, str | int):
        return UNKNOWN_TEXT
    return windows_text(atom) if isinstance(atom, str) and atom.startswith(f"{ROOT}/") else str(atom)


def windows_text(path: str) -> str:
    """A path of the view as Windows shows it; the folder of the packages is known to the user's machine alone."""
    inside = path.removeprefix(f"{ROOT}/")
    return f"{UNKNOWN_TEXT}/{inside.removeprefix(f'{SITE_PACKAGES}/')}".replace("/", "\\")
