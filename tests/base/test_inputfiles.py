"""Files that others wrote: regular, bounded, and no links where there may be none."""

from __future__ import annotations

import io
import os
import pkgutil
import zipfile
from pathlib import Path

import pytest

from wheelfix import loader, rules
from wheelfix.base.inputfiles import UnfitFile, listed_modules, open_regular, read_file
from wheelfix.cli.main import main
from wheelfix.loader import packages

POSIX_FILES = pytest.mark.skipif(os.name == "nt", reason="no devices and pipes among files there")


def odd(kind: str, path: Path) -> Path:
    """Put something at a path that is not a file to be read."""
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(1 << 36)
    return path


@POSIX_FILES
@pytest.mark.parametrize("kind", ["device", "pipe", "huge"])
def test_reading(kind, tmp_path):
    with pytest.raises(UnfitFile):
        read_file(odd(kind, tmp_path / "x"), 1 << 20)
    (tmp_path / "y").write_bytes(b"12")
    (tmp_path / "z").symlink_to(tmp_path / "y")
    assert read_file(tmp_path / "z", 2) == b"12"
    with pytest.raises(UnfitFile, match="it is a link"):
        open_regular(tmp_path / "z", links=False)
    with pytest.raises(UnfitFile, match="larger than 1 bytes"):
        read_file(tmp_path / "y", 1)


@POSIX_FILES
@pytest.mark.parametrize("kind", ["device", "pipe", "huge"])
@pytest.mark.parametrize(
    "line",
    [
        "scan w.whl",
        "scan --lockfile FILE",
        "scan pyproject.toml --config FILE",
        "scan pyproject.toml --baseline FILE",
        "scan pyproject.toml --target FILE",
        "verify FILE",
        "repair --locked FILE",
        "diff FILE FILE",
        "survey --names FILE -o out",
        "survey query 'SELECT 1' -o s",
    ],
)
def test_commands_end(line, kind, tmp_path, monkeypatch):
    """Some of them read until memory ended, others waited for ever."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").mkdir()
    Path("pyproject.toml").write_text("", "utf-8")
    for name in ("FILE", "w.whl", "s/survey.json"):
        odd(kind, tmp_path / name)
    assert main([word.strip("'") for word in line.split()]) in (2, 3, 4)


@POSIX_FILES
def test_a_list_without_end(monkeypatch, tmp_path, run):
    monkeypatch.setattr("wheelfix.cli.survey.LARGEST_LIST", 1000)
    monkeypatch.setattr("sys.stdin", io.StringIO("a" * 2000))
    run("survey", "-", "-o", tmp_path / "out", code=3)


# --------------------------------------------------------------------------------------------------------------- listed
# The modules of a package, by listing its folder.


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
