"""The modules of a package, by listing its folder."""

from __future__ import annotations

import pkgutil
import zipfile

import pytest

from wheelfix import loader, rules
from wheelfix.base.inputfiles import listed_modules
from wheelfix.loader import packages


@pytest.mark.parametrize("package", [rules, loader, packages], ids=lambda package: package.__name__)
def test_it_finds_what_pkgutil_finds(package):
    assert listed_modules(package) == sorted(module.name for module in pkgutil.iter_modules(package.__path__))


def test_a_package_in_an_archive(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("__init__", "one", "two"):
            archive.writestr(f"zipped_rules/{name}.py", "")
    monkeypatch.syspath_prepend(str(tmp_path / "all.zip"))
    import zipped_rules

    assert listed_modules(zipped_rules) == ["one", "two"]
