"""The generator of target lists, run by a Windows Python: it lists that Windows as this host lists the same files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.wine import windows_path
from tests.oracle.winsite import install_into
from tools import make_target_list
from wheelfix.knowledge.targets import chosen_targets

if TYPE_CHECKING:
    from tests.oracle.winpython import WindowsPython


@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.long
def test_it_lists_the_windows_on_which_it_runs(python: WindowsPython, tmp_path: Path) -> None:
    copy = python.copy_to(tmp_path / "python")
    install_into(copy.site_packages)
    script, output = windows_path(Path(make_target_list.__file__)), tmp_path / "there.txt"
    done = copy.run([script, "--no-exports", "-o", windows_path(output)], timeout=1500)
    assert done.code == 0, done.output + done.errors
    (there,) = chosen_targets([str(output)])
    assert there.build >= 7600
    here = tmp_path / "here.txt"
    system32 = python.wine.prefix / "drive_c" / "windows" / "system32"
    make_target_list.main([str(system32), "--name", "w", "--title", "Wine", "--no-exports", "-o", str(here)])
    (same,) = chosen_targets([str(here)])
    assert ({*there.dlls}, there.machine) == ({*same.dlls}, same.machine)
    assert "kernel32.dll" in there.dlls
