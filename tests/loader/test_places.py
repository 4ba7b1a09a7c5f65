"""From a wheel, a folder or an environment to a view."""

import pytest

from tests.support.wheels import build_wheel, library
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.errors import InputError
from wheelfix.loader.places import installed_path, member_path, open_environment, view_of_folder, view_of_wheel

DLL = library("a.dll")


@pytest.mark.parametrize(
    "member, installed",
    [
        ("pkg/a.dll", "Lib/site-packages/pkg/a.dll"),
        ("p-1.data/data/Library/bin/a.dll", "Library/bin/a.dll"),
        ("p-1.data/platlib/pkg/a.dll", "Lib/site-packages/pkg/a.dll"),
        ("p-1.data/scripts/run.exe", "Scripts/run.exe"),
        ("p-1.data/odd/x", "Lib/site-packages/p-1.data/odd/x"),
    ],
)
def test_members_land_where_installers_put_them(member, installed):
    assert installed_path(member, "p-1.data") == installed


@pytest.mark.parametrize("path", ["Lib/site-packages/pkg/a.dll", "Library/bin/a.dll"])
def test_new_members_get_names_that_land_where_they_should(path):
    assert installed_path(member_path(path, "p-1.data"), "p-1.data") == path


def test_a_wheel_is_seen_as_installed(tmp_path):
    files = {"pkg/__init__.py": b"", "pkg/A.DLL": DLL, "p-1.data/data/Library/bin/b.dll": DLL, "pkg/odd.bin": DLL}
    wheel = build_wheel(tmp_path, "p", "1", files=files)
    with Archive.open(wheel) as archive:
        view = view_of_wheel(archive, WheelInfo.from_archive(archive))
        assert view.find("lib/SITE-packages/pkg", "a.dll") == "Lib/site-packages/pkg/A.DLL"
        assert view.origin("Library/bin/b.dll") == "p-1.data/data/Library/bin/b.dll"
        assert view.image_paths == (
            "Lib/site-packages/pkg/A.DLL",
            "Lib/site-packages/pkg/odd.bin",
            "Library/bin/b.dll",
        )


def make_environment(prefix, lib="Lib"):
    site = prefix / lib / "site-packages"
    (site / "pkg").mkdir(parents=True)
    (site / "pkg/_x.pyd").write_bytes(DLL)
    info = site / "pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Pkg\nVersion: 1.0\nRequires-Dist: torch\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-win_amd64\n")
    (info / "RECORD").write_text("pkg/_x.pyd,,\n../../Library/bin/b.dll,,\npkg-1.0.dist-info/RECORD,,\n")
    (prefix / "Library/bin").mkdir(parents=True)
    (prefix / "Library/bin/b.dll").write_bytes(DLL)
    (prefix / "python311.dll").write_bytes(DLL)
    return site


@pytest.mark.parametrize("lib", ["Lib", "lib"])
def test_an_environment_knows_its_distributions_and_their_files(lib, tmp_path):
    make_environment(tmp_path, lib)
    environment = open_environment(tmp_path)
    (distribution,) = environment.distributions
    assert (distribution.name, distribution.version, distribution.requires) == ("Pkg", "1.0", ("torch",))
    assert distribution.tags == ("cp311-cp311-win_amd64",)
    assert distribution.paths >= {"Lib/site-packages/pkg/_x.pyd", "Library/bin/b.dll"}
    assert environment.python == (3, 11)


def test_a_venv_sees_the_python_it_was_made_from(tmp_path):
    make_environment(tmp_path / "base")
    venv = tmp_path / "venv"
    (venv / "Lib/site-packages").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {tmp_path / 'base'}\nversion = 3.11.4\n")
    environment = open_environment(venv)
    assert "@base/Library/bin/b.dll" in environment.view
    assert "@base/python311.dll" in environment.view
    assert environment.python == (3, 11)


def test_a_user_site_sees_its_userbase(tmp_path):
    site = tmp_path / "Python/Python311/site-packages"
    site.mkdir(parents=True)
    (tmp_path / "Python/Library/bin").mkdir(parents=True)
    (tmp_path / "Python/Library/bin/b.dll").write_bytes(DLL)
    environment = open_environment(site)
    assert "@user/Library/bin/b.dll" in environment.view
    assert environment.python == (3, 11)


def test_a_folder_that_is_no_environment_is_told(tmp_path):
    with pytest.raises(InputError, match="neither an environment"):
        open_environment(tmp_path)


def test_a_package_folder_is_seen_in_site_packages(tmp_path):
    folder = tmp_path / "torch"
    (folder / "lib").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "lib/c10.dll").write_bytes(DLL)
    assert "Lib/site-packages/torch/lib/c10.dll" in view_of_folder(folder)
