"""What is installed in an environment by any program, and what is said where the files are not there."""

from __future__ import annotations

import json

import pytest

from tests.support.environments import faults, install, lay, reports
from tests.support.wheels import build_wheel
from wheelfix.loader.places import open_environment
from wheelfix.model import Verdict

SITE = "Lib/site-packages"
NEEDS_FLUX = "imports flux.dll"
FLUX = ""
ABOUT = {"url": "file:///C:/projects/flux", "dir_info": {"editable": True}}


def user(folder, code="import flux\n", requires=("flux",)):
    files = {"user/__init__.py": code, "user/_ext.pyd": NEEDS_FLUX}
    return build_wheel(folder, "user", files=files, requires=requires)


def editable(env, name="flux", *, record: str, about=None):
    info = f"{SITE}/{name}-2.1.dist-info"
    files = {
        f"{info}/METADATA": f"Name: {name}\nVersion: 2.1\n",
        f"{info}/RECORD": record + f"{name}-2.1.dist-info/RECORD,,\n",
    }
    if about is not None:
        files[f"{info}/direct_url.json"] = json.dumps(about)
    return lay(env, files)


def conda(env, name, version, files, **more):
    return lay(
        env,
        {f"conda-meta/{name}-{version}-0.json": json.dumps({"name": name, "version": version, "files": files}), **more},
    )


class TestEditable:
    @pytest.mark.parametrize(
        "record, about, where",
        [
            ("__editable__.flux-2.1.pth,,\n", ABOUT, "in /C:/projects/flux"),
            ("__editable__.flux-2.1.pth,,\n__editable___flux_2_1_finder.py,,\n", None, "somewhere else"),
            ("flux.pth,,\n", ABOUT, "in /C:/projects/flux"),
        ],
    )
    def test_nothing_is_known_about_its_files(self, tmp_path, record, about, where):
        """flux is installed with ``pip install -e``: neither it nor what needs it is called broken."""
        env = editable(install(user(tmp_path), tmp_path / "env"), record=record, about=about)
        found = reports(env)
        assert found["flux"].verdict is Verdict.UNSURE
        assert faults(found["flux"]) == {"WF329"}
        assert where in found["flux"].findings[0].message
        assert found["user"].verdict is Verdict.UNSURE
        assert faults(found["user"]) == {"WF318"}

    def test_others_that_do_not_need_it_are_judged(self, tmp_path):
        env = install(user(tmp_path, code="", requires=()), tmp_path / "env")
        editable(env, "reed", record="__editable__.reed-2.1.pth,,\n", about=ABOUT)
        assert reports(env)["user"].verdict is Verdict.BROKEN

    def test_a_pth_file_alone_is_a_distribution_like_others(self, tmp_path):
        """distutils-precedence.pth of setuptools runs a line of code and leads nowhere."""
        env = editable(install(user(tmp_path), tmp_path / "env"), record="flux.pth,,\n")
        lay(env, {f"{SITE}/flux.pth": "import os; os.getcwd()\n"})
        assert "flux" not in reports(env)

    def test_setup_py_develop(self, tmp_path):
        env = lay(install(user(tmp_path), tmp_path / "env"), {f"{SITE}/flux.egg-link": "C:\\projects\\flux\n."})
        assert open_environment(env).installed.absent["flux"].endswith("its files are in C:\\projects\\flux")
        assert reports(env)["user"].verdict is Verdict.UNSURE


class TestWithoutRecord:
    @pytest.mark.parametrize("listed", [{}, {"top_level.txt": "_flux_core\nflux\n"}])
    def test_files_are_found_by_name(self, tmp_path, listed):
        """Debian and some repackagers leave RECORD out."""
        info = f"{SITE}/flux-2.1.dist-info"
        files = {
            f"{info}/METADATA": "Name: flux\nVersion: 2.1\n",
            f"{SITE}/flux/flux.dll": FLUX,
            f"{SITE}/_flux_core.pyd": FLUX,
        }
        env = lay(tmp_path / "env", {**files, **{f"{info}/{name}": text for name, text in listed.items()}})
        (found,) = open_environment(env).distributions
        assert {path.rpartition("/")[2] for path in found.paths} == {
            "flux.dll",
            *(["_flux_core.pyd"] if listed else []),
        }
        assert open_environment(env).installed.absent == {}

    def test_nothing_found_is_said(self, tmp_path):
        files = {f"{SITE}/flux-2.1.dist-info/METADATA": "Name: flux\nVersion: 2.1\n"}
        env = lay(install(user(tmp_path), tmp_path / "env"), files)
        assert faults(reports(env)["flux"]) == {"WF329"}
        assert reports(env)["user"].verdict is Verdict.UNSURE


class TestEggInfo:
    def test_name_files_and_requirements(self, tmp_path):
        info = f"{SITE}/Flux-2.1-py3.11.egg-info"
        env = lay(
            tmp_path / "env",
            {
                f"{info}/PKG-INFO": "Name: Flux\nVersion: 2.1\n",
                f"{info}/top_level.txt": "flux\n",
                f"{info}/requires.txt": 'numpy\n\n[:sys_platform == "win32"]\npywin32\n\n[gui]\nkivy\n',
                f"{SITE}/flux/flux.dll": FLUX,
            },
        )
        (found,) = open_environment(env).distributions
        assert (found.name, found.version) == ("Flux", "2.1")
        assert found.requires == ("numpy", 'pywin32; (sys_platform == "win32")', 'kivy; extra == "gui"')
        assert found.paths == {f"{SITE}/flux/flux.dll"}

    def test_a_file_alone_makes_it_installed(self, tmp_path):
        """distutils wrote one file, without a list of files."""
        files = {f"{SITE}/flux-2.1-py3.11.egg-info": "Name: flux\nVersion: 2.1\n", f"{SITE}/flux/__init__.py": ""}
        env = lay(install(user(tmp_path), tmp_path / "env"), files)
        assert faults(reports(env)["user"]) == {"WF301"}


class TestConda:
    def test_its_python_searches_library_bin(self, tmp_path):
        """A package of conda without dist-info has the DLL; python.exe of conda adds the folder when it starts."""
        env = install(user(tmp_path, code=""), tmp_path / "env")
        conda(env, "flux", "2.1", ["Library/bin/flux.dll"], **{"Library/bin/flux.dll": FLUX})
        assert reports(env)["user"].verdict is Verdict.BROKEN  # another Python: nothing adds the folder
        conda(env, "python", "3.11.9", ["python.exe"])
        found = reports(env)
        assert set(found) == {"user"}
        assert found["user"].verdict is Verdict.OK
        (provided,) = found["user"].provided
        assert (provided.name, provided.distributions) == ("flux.dll", ("flux",))

    def test_a_package_without_dist_info_is_reports(self, tmp_path):
        env = conda(tmp_path / "env", "user", "1.0", [f"{SITE}/user/_ext.pyd"], **{f"{SITE}/user/_ext.pyd": NEEDS_FLUX})
        found = reports(env)["user"]
        assert (found.version, found.verdict) == ("1.0", Verdict.BROKEN)

    def test_dist_info_comes_first(self, tmp_path):
        """conda's pytorch has the dist-info of torch: its files belong to torch."""
        env = install(build_wheel(tmp_path, "torch", "2.5", files={"torch/_C.pyd": FLUX}), tmp_path / "env")
        conda(env, "pytorch", "2.5", [f"{SITE}/torch/_C.pyd"])
        assert [one.name for one in open_environment(env).distributions] == ["torch"]

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1, "files": 2}', '{"name": "a", "files": [1, null]}'])
    def test_damaged_files_are_passed_over(self, tmp_path, text):
        env = lay(install(user(tmp_path), tmp_path / "env"), {"conda-meta/a-1-0.json": text})
        assert [one.name for one in open_environment(env).distributions] == ["user"]
