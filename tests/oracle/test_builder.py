"""What a real loader says about the builder's wheel: 126 before the repair, success for every DLL after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.test_real_dlls import TORCH, torch_loads
from tests.oracle.torchcode import loading_code
from tests.real import builder
from tests.real.commands import repair, scan
from tests.real.vendors import Unpacked
from tests.support import tiers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine

pytestmark = [pytest.mark.real, pytest.mark.wine_x64, pytest.mark.slow]


def test_the_builders_wheel_loads_after_the_repair(x64: Wine, tmp_path: Path) -> None:
    machine = builder.machine(Unpacked(tmp_path / "unpacked"), tmp_path / "machine")
    broken = builder.wheel(tmp_path / "dist", machine, loading_code(tiers.wheel(TORCH)))
    before = torch_loads(x64, broken, tmp_path / "before")
    assert set(before.values()) == {126}
    assert scan(broken, tmp_path)[1]["first_failure"]["code"] == 126
    roots = [word for root in machine.roots for word in ("--root", root)]
    done = repair(broken, tmp_path, *roots, "--compression", "store")
    after = torch_loads(x64, done.path, tmp_path / "after")
    assert set(machine.expected) <= set(after)
    assert set(after.values()) == {0}
