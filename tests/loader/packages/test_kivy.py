"""Kivy: importing it adds the folders of the ``kivy_deps`` distributions that are installed with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.views import make_view
from tests.support.wheels import build_wheel
from wheelfix import scan
from wheelfix.base.options import ScanOptions
from wheelfix.loader.packages import kivy
from wheelfix.loader.places import InstalledSet
from wheelfix.model import ScanReport, Verdict

INIT = """
import importlib, os, pkgutil, sys
import kivy_deps


def _patch_mod_deps_win(dep_mod, mod_name):
    p = os.path.join(sys.prefix, 'share', mod_name, 'bin')
    if os.path.isdir(p):
        os.add_dll_directory(p)


for importer, modname, ispkg in pkgutil.iter_modules(kivy_deps.__path__):
    module_spec = importer.find_spec(modname)
    mod = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(mod)
    if modname.startswith('gst'):
        _patch_mod_deps_win(mod, modname)
"""
DEPENDENCY = """
import os, site, sys
from os.path import isdir, join
for d in [sys.prefix, site.USER_BASE]:
    p = join(d, 'share', 'sdl2', 'bin')
    if isdir(p):
        os.add_dll_directory(p)
"""


def scanned(folder: Path, dlls: dict[str, bytes]) -> ScanReport:
    """Scan a Kivy beside its dependency with the given DLLs."""
    inside = "kivy_deps_sdl2-0.8.0.data/data/share/sdl2/bin"
    files = {f"{inside}/{name}": data for name, data in dlls.items()}
    beside = build_wheel(
        folder / "other", "kivy_deps.sdl2", "0.8.0", files={"kivy_deps/sdl2/__init__.py": DEPENDENCY, **files}
    )
    own = {
        "kivy/__init__.py": INIT,
        "kivy/core/__init__.py": "",
        "kivy/core/_img_sdl2.cp311-win_amd64.pyd": "imports SDL2_image.dll",
    }
    needs = ["Requires-Dist: kivy_deps.sdl2"]
    wheel = build_wheel(folder / "own", "Kivy", "2.3.1", files=own, extra_metadata=needs)
    return scan(wheel, options=ScanOptions(beside=(beside,)))


def test_the_folder_of_a_dependency_is_searched(tmp_path):
    report = scanned(tmp_path, {"SDL2_image.dll": ""})
    assert report.first_failure is None
    assert report.verdict is Verdict.OK, report.findings


def test_a_dll_that_the_dependency_does_not_have_may_be_in_another_one(tmp_path):
    """The set is not complete, and Kivy catches the failure: no error is claimed."""
    report = scanned(tmp_path, {"SDL2.dll": ""})
    assert report.first_failure is None
    assert report.verdict is Verdict.RISKY


@pytest.mark.parametrize("complete", [True, False])
def test_a_kivy_with_its_dlls_inside_adds_nothing_where_all_that_is_installed_is_known(complete):
    init = "Lib/site-packages/kivy/__init__.py"
    view = make_view({init: INIT})
    view.beside = InstalledSet(view, [], complete=complete)
    loading = kivy.recognise(view)
    assert (loading.adds if loading is not None else None) == (((init, ()),) if complete else None)
