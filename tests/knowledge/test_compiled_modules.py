"""The list of compiled modules answers by dotted names."""

from __future__ import annotations

import pytest

from tools.make_compiled_modules import compiled_modules, table
from wheelfix.knowledge.providers import is_compiled, parse_compiled_modules


@pytest.mark.parametrize("module", ["numpy._core._multiarray_umath", "PIL._imaging", "lxml.etree", "x._C", "x.y_cuda"])
def test_compiled_modules_are_known(module: str) -> None:
    assert is_compiled(module)


@pytest.mark.parametrize("module", ["numpy", "_C", "numpy.linalg", "x.core", "", "."])
def test_other_modules_are_not(module: str) -> None:
    assert not is_compiled(module)


def test_the_tool_lists_what_a_wheel_has() -> None:
    members = [
        "pkg/sub/_fast.cp311-win_amd64.pyd",
        "pkg/_abi.pyd",
        "pkg-1.data/platlib/other/_x.abi3.pyd",
        "_top.cp311-win_amd64.pyd",
        "pkg/plain.py",
    ]
    found = compiled_modules(members)
    assert found == {"pkg.sub._fast", "pkg._abi", "other._x"}
    assert parse_compiled_modules(table(found, "2026-01-01")) == {
        "other": frozenset({"_x"}),
        "pkg": frozenset({"_abi", "sub._fast"}),
    }
