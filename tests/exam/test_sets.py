"""Wheels and environments as one installation: real files decide, no matter which package they belong to."""

from __future__ import annotations

import zipfile

import pytest

from tests.support.environments import faults, install, lay, reports
from tests.support.tables import grouped, named_cases, read_table
from tests.support.wheels import build_wheel, extension
from tools.forge import forge_dll
from wheelfix.errors import InputError
from wheelfix.model import Machine, Verdict
from wheelfix.pycode import reading
from wheelfix.pycode.budget import CodeBudget

LOCKS = {
    "pylock.toml": 'lock-version = "1.0"\n[[packages]]\nname = "flux"\nversion = "2.1"\n',
    "uv.lock": 'version = 1\n[[package]]\nname = "flux"\nversion = "2.1"\n',
    "requirements.txt": "flux==2.1 \\\n    --hash=sha256:00\n# nothing else\n",
}
MODULE = extension(name="_ext")
ADDS_ITS_BIN = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), 'bin'))\n"
GST = {"gstreamer-1.0-0.dll": ["gst_init"]}
UNCLEAR = "import ctypes\nfrom ._ext import a\nif a():\n    ctypes.CDLL('vcruntime140.dll')\n"
GUARDED = "try:\n    import {}\nexcept ImportError:\n    pass\n"


def user(folder, code="import flux\n", *, needed="flux.dll", requires=("flux>=2",), symbols=("f",)):
    """A package whose extension module needs a DLL of another distribution."""
    files = {"user/__init__.py": code, "user/_ext.pyd": f"imports {needed}:{','.join(symbols)}"}
    return build_wheel(folder, "user", files=files, requires=requires)


def flux(folder, code=ADDS_ITS_BIN, *, version="2.1", exports=("f",), machine=Machine.AMD64):
    """A distribution that has that DLL in a folder that its own code adds."""
    files = {"flux/__init__.py": code, "flux/bin/flux.dll": forge_dll("flux.dll", exports=exports, machine=machine)}
    return build_wheel(folder, "flux", version, files=files)


def test_code_that_knows_nothing_of_a_distribution_does_not_add_its_folder(tmp_path):
    """numpy computes names of modules, too: no reason to doubt that another distribution's folder is missing."""
    files = {"user/__init__.py": "import mid\n", "user/_ext.pyd": "imports flux.dll"}
    user = build_wheel(tmp_path, "user", files=files, requires=["flux", "mid"])
    code = "import importlib\nfor name in ['js' + 'on']:\n    importlib.import_module(name)\n"
    mid = build_wheel(tmp_path, "mid", files={"mid/__init__.py": code})
    assert reports(user, mid, flux(tmp_path, ""), together=True)["user"].verdict is Verdict.BROKEN


DECIDES = "import importlib, pkgutil\nfor one in pkgutil.iter_modules():\n    importlib.import_module(one.name)\n"
SETS = {name: sides for name, *sides in grouped(read_table(__file__, "sets.toml"))}


@named_cases("shared, row", SETS)
def test_two_wheels(tmp_path, shared, row):
    own, other = ({**shared[side], **row.get(side, {})} for side in ("user", "flux"))
    user = build_wheel(tmp_path, "user", files=own, requires=["flux>=2"])
    report = reports(user, build_wheel(tmp_path, "flux", "2.1", files=other), together=True)["user"]
    assert " ".join([report.verdict, *sorted(faults(report))]) == row["verdict"]
    assert (report.first_failure.code if report.first_failure else 0) == row.get("code", 0)
    said = [item.message for item in report.findings if item.code == "WF305"]
    assert "said" not in row or [row["said"] in message for message in said] == [True]


class TestTogether:
    def test_who_serves_whom_is_said(self, tmp_path):
        """Also where the order of imports is not known: Kivy's _window_sdl2 had no needs at all."""
        for code in ("import flux\n", DECIDES):
            folder = tmp_path / str(len(code))
            (provided,) = reports(user(folder, code), flux(folder), together=True)["user"].provided
            assert (provided.name, provided.how, provided.distributions) == ("flux.dll", "file", ("flux",))
            assert provided.path == "Lib/site-packages/flux/bin/flux.dll"
            assert provided.needed_by == ("user/_ext.pyd",)

    def test_alone_it_could_not_be_told(self, tmp_path):
        found = reports(user(tmp_path))["user"]
        assert (faults(found), found.verdict) == ({"WF318"}, Verdict.UNSURE)

    def test_what_others_import_is_imported_too(self, tmp_path):
        """user imports base, base imports flux."""
        base = build_wheel(tmp_path, "base", "1", files={"base/__init__.py": "import flux\n"}, requires=["flux"])
        one = user(tmp_path, "import base\n", requires=("base",))
        assert reports(one, base, flux(tmp_path), together=True)["user"].verdict is Verdict.OK

    def test_the_code_of_others_runs_after_what_it_imports(self, tmp_path):
        """robotpy's parts: the DLL that user needs is loaded by flux, after the DLL that this one needs by base."""
        loads = "import os, ctypes\nctypes.CDLL(os.path.join(os.path.dirname(__file__), '{}.dll'))\n"
        base = {"base/__init__.py": loads.format("base"), "base/base.dll": "exports g"}
        files = {"flux/__init__.py": "import base\n" + loads.format("flux"), "flux/flux.dll": "imports base.dll:g"}
        wheels = [
            user(tmp_path, "from . import first\nfrom . import _ext\n"),
            build_wheel(tmp_path, "base", "1", files=base),
            build_wheel(tmp_path, "flux", "2.1", files=files, requires=["base"]),
        ]
        with zipfile.ZipFile(wheels[0], "a") as archive:
            archive.writestr("user/first.py", "import flux\n")
        assert reports(*wheels, together=True)["user"].first_failure is None

    def test_what_cffi_loads_is_known_with_its_code_and_without(self, tmp_path):
        """cffi's own code was followed where it was in the set, and ended at a call of its compiled part."""
        code = "import os\nfrom cffi import FFI\nffi = FFI()\n"
        code += "ffi.dlopen(os.path.join(os.path.dirname(__file__), 'gone.dll'))\n"
        one = build_wheel(tmp_path, "user", files={"user/__init__.py": code}, requires=["cffi"])
        api = "import _cffi_backend\nclass FFI:\n    def dlopen(self, name):\n"
        api += "        return _cffi_backend.load_library(name, 0)\n"
        files = {"cffi/__init__.py": "from .api import FFI\n", "cffi/api.py": api, "_cffi_backend.pyd": MODULE}
        cffi = build_wheel(tmp_path, "cffi", "2.0", files=files)
        alone, together = reports(one)["user"], reports(one, cffi, together=True)["user"]
        assert faults(alone) == faults(together) == {"WF314"}
        assert together.first_failure == alone.first_failure

    def test_torch_is_loaded_first(self, tmp_path):
        files = {
            "torch/__init__.py": "",
            "torch/version.py": "__version__ = '2.9.1+cpu'\ncuda = None\n",
            "torch/lib/c10.dll": "",
        }
        torch = build_wheel(tmp_path, "torch", "2.9.1", files=files)
        one = user(tmp_path, "import torch\n", needed="c10.dll", requires=("torch",))
        assert reports(one, torch, together=True)["user"].verdict is Verdict.OK
        wrong = user(tmp_path / "b", "import torch\n", needed="c10.dll", requires=("torch",), symbols=("g",))
        assert reports(wrong, torch, together=True)["user"].first_failure.code == 127

    def test_an_environment_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="a set by itself"):
            reports(lay(tmp_path / "env", {"Lib/site-packages/x.py": ""}), together=True)


class TestWith:
    @pytest.mark.parametrize("folder", [False, True])
    def test_is_not_reported_on(self, tmp_path, folder):
        beside = flux(tmp_path / "house")
        found = reports(user(tmp_path), beside=(beside.parent if folder else beside,))
        assert {name: report.verdict for name, report in found.items()} == {"user": Verdict.OK}

    def test_a_wheel_for_a_later_python_is_not_taken(self, tmp_path):
        """cp312-abi3 can be installed from Python 3.12 on; the set is one of 3.11."""
        flux(tmp_path / "house")
        later = flux(tmp_path / "later", version="2.2", exports=("h",))
        later.rename(tmp_path / "house" / "flux-2.2-cp312-abi3-win_amd64.whl")
        report = reports(user(tmp_path), beside=(tmp_path / "house",))["user"]
        assert report.verdict == "ok"

    def test_of_two_versions_the_one_that_is_asked_for(self, tmp_path):
        flux(tmp_path / "house", version="1.0")
        flux(tmp_path / "house", version="3.0", exports=("h",))
        one = user(tmp_path, requires=("flux<2",))
        assert reports(one, beside=(tmp_path / "house",))["user"].verdict is Verdict.OK

    @named_cases(
        "code, verdict",
        {
            "certain": ("import flux\n", Verdict.BROKEN),
            "caught": ("try:\n    import flux\nexcept ImportError:\n    pass\n", Verdict.RISKY),
            "only if another is there": (
                "try:\n    import scipy\nexcept ImportError:\n    pass\nelse:\n    import flux\n",
                Verdict.RISKY,
            ),
            "in any case": ("try:\n    import user\nfinally:\n    import flux\n", Verdict.BROKEN),
        },
    )
    def test_a_module_that_is_not_installed(self, tmp_path, code, verdict):
        """mkl_fft imports mkl only where scipy is installed."""
        files = {"user/__init__.py": code, "user/_ext.pyd": ""}
        env = install(build_wheel(tmp_path, "user", files=files, requires=["flux"]), tmp_path / "env")
        assert reports(env)["user"].verdict is verdict

    @named_cases(
        "code, message",
        {
            "Python": ("import flux\n", "ModuleNotFoundError: No module named 'flux'"),
            "the package, as pandas does": (
                "try:\n    __import__('flux')\nexcept ImportError as e:\n"
                "    raise ImportError('Unable to import flux') from e\n",
                "ImportError: Unable to import flux",
            ),
        },
    )
    def test_the_line_that_is_raised_for_a_module_that_is_not_installed(self, tmp_path, code, message):
        files = {"user/__init__.py": code, "user/_ext.pyd": ""}
        env = install(build_wheel(tmp_path, "user", files=files, requires=["flux"]), tmp_path / "env")
        report = reports(env)["user"]
        assert report.first_failure.message == message
        (found,) = [item for item in report.findings if item.code == "WF320"]
        assert f"the import raises {message.partition(':')[0]};" in found.message

    @named_cases(
        "files, there, verdict, said",
        {
            "certain": (
                {"user/__init__.py": "import setuptools\n"},
                {},
                Verdict.BROKEN,
                "raises ModuleNotFoundError; nothing",
            ),
            "after a condition": (
                {"user/__init__.py": UNCLEAR + "import setuptools\n"},
                {},
                Verdict.UNSURE,
                "may not be run; nothing",
            ),
            "there": ({"user/__init__.py": "import setuptools\n"}, {"setuptools/__init__.py": ""}, Verdict.OK, ""),
            "in a folder of a .pth file": (
                {"user/__init__.py": "import setuptools\n"},
                {"a.pth": "more\n", "more/setuptools.py": ""},
                Verdict.OK,
                "",
            ),
            "caught": ({"user/__init__.py": GUARDED.format("setuptools")}, {}, Verdict.OK, ""),
            "hypothesis: private": ({"user/__init__.py": "", "_user_pytest.py": "import pytest\n"}, {}, Verdict.OK, ""),
        },
    )
    def test_a_module_that_is_neither_installed_nor_required(self, tmp_path, files, there, verdict, said):
        """intel-extension-for-pytorch imports setuptools, and was "ok" where try saw it fail."""
        env = install(build_wheel(tmp_path, "user", files={"user/_ext.pyd": MODULE, **files}), tmp_path / "env")
        lay(env / "Lib/site-packages", there)
        report = reports(env)["user"]
        assert report.verdict is verdict
        assert said in "".join(item.message for item in report.findings if item.code == "WF320")

    def test_what_a_lock_file_does_not_have_may_be_there_without_being_required(self, tmp_path):
        """A virtual environment of Python 3.11 has setuptools."""
        files = {"user/__init__.py": "import setuptools\n", "user/_ext.pyd": MODULE}
        wheel = build_wheel(tmp_path, "user", files=files)
        lock = lay(tmp_path, {"requirements.txt": "user==1.0\n"}) / "requirements.txt"
        assert reports(wheel, lockfile=lock)["user"].verdict is Verdict.OK

    def test_an_extension_module_that_has_the_name_of_one_that_is_not_installed(self, tmp_path):
        """netCDF4 imports cftime in Cython code, which no Python file shows."""
        pyd = extension(name="_ext") + b"\0cftime\0"
        files = {"user/__init__.py": "from . import _ext\n", "user/_ext.pyd": pyd}
        wheel = build_wheel(tmp_path, "user", files=files, requires=["cftime", "certifi"])
        report = reports(install(wheel, tmp_path / "env"))["user"]
        assert (report.verdict, report.first_failure) == (Verdict.UNSURE, None)
        assert [item.subject for item in report.findings if item.code == "WF320"] == ["cftime"]

    @pytest.mark.parametrize(
        "requires, found",
        [
            (("flux-files", "flux-runtime~=3.2"), ("WF320", "flux-runtime (~=3.2) is required")),
            (("flux-files",), ("WF320", "flux-files is required")),
            (("frob",), ("WF332", "no file of flux is that module")),
        ],
        ids=["winrt-Windows.Storage without winrt-runtime", "none of its name", "none of this package"],
    )
    def test_a_module_that_a_required_distribution_has_in_the_same_package(self, tmp_path, requires, found):
        """To install the first once more, as was said, does not give it the module."""
        files = {
            "flux/storage/__init__.py": "import flux.runtime\nfrom flux import _storage\n",
            "flux/_storage.pyd": "",
        }
        env = install(build_wheel(tmp_path, "flux-storage", "1.0", files=files, requires=requires), tmp_path / "env")
        report = reports(env)["flux-storage"]
        (item,) = (item for item in report.findings if item.code in ("WF320", "WF332"))
        assert (report.verdict, item.code, item.subject) == (Verdict.BROKEN, found[0], "flux.runtime")
        assert found[1] in item.message

    def test_a_requirement_that_is_not_installed_is_named(self, tmp_path):
        """What nobody knows about its files does not matter: the set is complete without it."""
        env = install(user(tmp_path, "", needed="nobody-knows.dll", requires=("nobody-knows==3",)), tmp_path / "env")
        (item,) = (item for item in reports(env)["user"].findings if item.code == "WF301")
        assert "nobody-knows (==3) is required and not installed" in item.message

    def test_an_environment(self, tmp_path):
        env = install(flux(tmp_path), tmp_path / "env")
        assert reports(user(tmp_path), beside=(env,))["user"].verdict is Verdict.OK
        assert faults(reports(user(tmp_path), beside=(install(user(tmp_path), tmp_path / "bare"),))["user"]) == {
            "WF301",
            "WF320",
        }


class TestLockfile:
    @pytest.mark.parametrize("name", LOCKS)
    def test_names_the_set(self, tmp_path, name):
        lock = lay(tmp_path, {name: LOCKS[name]}) / name
        flux(tmp_path / "house", version="2.1")
        flux(tmp_path / "house", version="3.0", exports=())
        found = reports(user(tmp_path), beside=(tmp_path / "house",), lockfile=lock)
        assert found["user"].verdict is Verdict.OK

    def test_what_is_not_locked_is_not_installed(self, tmp_path):
        lock = lay(tmp_path, {"requirements.txt": "six==1.17.0\n"}) / "requirements.txt"
        build_wheel(tmp_path / "house", "six", "1.17.0", "py3-none-any", {"six.py": ""})
        found = reports(user(tmp_path), beside=(tmp_path / "house",), lockfile=lock)["user"]
        assert found.first_failure.message == "ModuleNotFoundError: No module named 'flux'"

    def test_without_subjects_all_that_is_locked_is_reports(self, tmp_path):
        lock = lay(tmp_path, {"requirements.txt": "flux==2.1\nuser==1.0\n"}) / "requirements.txt"
        flux(tmp_path / "house")
        user(tmp_path / "house")
        assert set(reports(beside=(tmp_path / "house",), lockfile=lock)) == {"flux", "user"}

    def test_pip_adds_what_a_plain_requirements_file_does_not_name(self, tmp_path):
        """flux is required by user, which the file names: pip installs it, so it is not said to be absent."""
        lock = lay(tmp_path, {"requirements.txt": "user==1.0\n"}) / "requirements.txt"
        found = reports(user(tmp_path), lockfile=lock)["user"]
        assert found.verdict is Verdict.UNSURE
        assert "user requires it, so pip installs it, but its wheel was not found" in found.findings[0].message
        flux(tmp_path / "house")
        assert reports(user(tmp_path), beside=(tmp_path / "house",), lockfile=lock)["user"].verdict is Verdict.OK

    def test_pip_adds_what_extras_require(self, tmp_path):
        """horn[cuda] requires flux; a lock file with hashes names everything, so there flux would be absent."""
        build_wheel(tmp_path / "house", "horn", files={"horn.py": ""}, requires=('flux; extra == "cuda"',))
        flux(tmp_path / "house")
        subject = user(tmp_path, requires=("horn[cuda]",))
        for text, verdict in (
            ("user\n", Verdict.OK),
            ("user\nhorn\n", Verdict.OK),
            ("user --hash=sha256:0\nhorn==1.0 --hash=sha256:0\n", Verdict.BROKEN),
        ):
            lock = lay(tmp_path, {"requirements.txt": text}) / "requirements.txt"
            found = reports(subject, beside=(tmp_path / "house",), lockfile=lock)["user"]
            assert found.verdict is verdict, text

    def test_what_only_an_extra_installs_is_not_certain(self, tmp_path):
        text = LOCKS["pylock.toml"].replace("\n", '\nextras = ["gpu"]\n', 1) + "marker = \"'gpu' in extras\"\n"
        lock = lay(tmp_path, {"pylock.toml": text}) / "pylock.toml"
        flux(tmp_path / "house")
        found = reports(user(tmp_path), beside=(tmp_path / "house",), lockfile=lock)["user"]
        assert found.verdict is Verdict.UNSURE
        assert "flux: it is installed only with the extra or group gpu" in found.findings[0].message
        chosen = reports(user(tmp_path), beside=(tmp_path / "house",), lockfile=lock, lock_extras=("gpu",))["user"]
        assert chosen.verdict is Verdict.OK

    def test_an_editable_line_without_a_name_may_be_anything(self, tmp_path):
        lock = lay(tmp_path, {"requirements.txt": "-e ./flux\n"}) / "requirements.txt"
        assert reports(user(tmp_path), lockfile=lock)["user"].verdict is not Verdict.BROKEN


@named_cases(
    "requires, cups, verdict, said",
    {
        "followed": ("cups[gpu]", True, Verdict.OK, "nvidia-cublas-cu12"),
        "without the extra": ("cups", True, Verdict.BROKEN, ""),
        "without the metadata": ("cups[gpu]", False, Verdict.UNSURE, "cups"),
    },
)
def test_extras_of_requirements(tmp_path, requires, cups, verdict, said):
    """horn requires cups[gpu], whose METADATA says that cublas of NVIDIA comes with it."""
    subject = user(tmp_path, "import horn\nfrom . import _ext\n", needed="cublas64_12.dll", requires=("horn",))
    house = tmp_path / "house"
    build_wheel(house, "horn", files={"horn.py": "import cups\n"}, requires=(requires,))
    if cups:
        build_wheel(house, "cups", files={"cups.py": ""}, requires=('nvidia-cublas-cu12; extra == "gpu"',))
    found = reports(subject, beside=(house,))["user"]
    assert found.verdict is verdict
    assert said in str([item.message for item in found.findings])


class TestEnvironment:
    def test_what_is_not_installed_is_not_assumed(self, tmp_path):
        """torch's folder was deleted: its requirement is no longer enough."""
        one = user(tmp_path, "import torch\n", needed="c10.dll", requires=("torch",))
        found = reports(install(one, tmp_path / "env"))["user"]
        assert found.verdict is Verdict.BROKEN
        assert found.first_failure.message == "ModuleNotFoundError: No module named 'torch'"
        assert found.first_failure.code == 0

    def test_a_file_that_only_looks_like_a_wheel_does_not_make_it_a_folder_of_wheels(self, tmp_path):
        """scipy 1.17.1 installs an empty file with the name of its wheel."""
        with zipfile.ZipFile(flux(tmp_path)) as archive:
            archive.extractall(tmp_path / "target")
        (tmp_path / "target/flux-2.1.dist-info/INSTALLER").write_text("pip\n")
        (tmp_path / "target/flux-2.1-py3-none-any.whl").write_bytes(b"")
        assert reports(user(tmp_path), beside=(tmp_path / "target",))["user"].verdict is Verdict.OK

    @pytest.mark.parametrize("name", ["cudnn64_9.dll", "gone.dll"])
    def test_a_dll_that_code_loads_by_name_and_nothing_has(self, tmp_path, name):
        """nvidia-cudnn-frontend in a set without cuDNN, which pip does not install with it."""
        files = {"user/__init__.py": f"import ctypes\nctypes.windll.LoadLibrary('{name}')\n", "user/_ext.pyd": MODULE}
        one = build_wheel(tmp_path, "user", files=files)
        assert reports(install(one, tmp_path / "env"))["user"].verdict is Verdict.BROKEN

    def test_a_library_without_the_distribution_that_it_requires_is_risky(self, tmp_path):
        """nvidia-libmathdx has DLLs for others to load, which nobody can without nvidia-cuda-nvrtc."""
        files = {"nvidia/mathdx/bin/mathdx.dll": "imports nvrtc64_120_0.dll"}
        for requires, said in (
            ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu12 should have it and is not installed"),
            ("nvidia-cuda-nvrtc-cu12; extra == 'all'", ""),  # as kivy-deps-gstreamer is for Kivy
            ("cuda-toolkit[nvrtc]", "cuda-toolkit[nvrtc] is required and not installed"),
        ):
            folder = tmp_path / str(len(requires))
            one = build_wheel(folder, "mathdx", "1.0", "py3-none-win_amd64", files=files, requires=[requires])
            found = reports(install(one, folder / "env"))["mathdx"]
            assert found.verdict is Verdict.RISKY
            assert said in str([item.message for item in found.findings if item.code == "WF301"])

    def test_a_module_that_works_with_an_extra_alone_is_left_open(self, tmp_path):
        """Kivy's module for GStreamer, in an installation without the extra that brings its DLLs.

        Of kivy-deps-sdl2 only 0.4.1 has GLib: it was blamed where Kivy 2.3.1 was repaired to do without 0.8.0.
        """
        files = {
            "user/__init__.py": "",
            "user/player.py": "from user._gst import play\n",
            "user/_ext.pyd": MODULE,
            "user/_gst.pyd": forge_dll("_gst.pyd", imports={"glib-2.0-0.dll": ["g_free"], **GST}),
        }
        for folder, extra, others, verdict in (
            ("extra", "; extra == 'full'", [], Verdict.UNSURE),
            ("required", "", [], Verdict.BROKEN),
            ("another version", "; extra == 'full'", ["kivy-deps-sdl2~=0.8.0"], Verdict.UNSURE),
            ("this version", "; extra == 'full'", ["kivy-deps-sdl2==0.4.1"], Verdict.BROKEN),
        ):
            wanted = [f"kivy-deps-gstreamer{extra}", *others]
            one = build_wheel(tmp_path / folder, "user", files=files, requires=wanted)
            found = reports(install(one, tmp_path / folder / "env"))["user"]
            assert found.verdict is verdict
            assert "should have it and is not installed" in str(found.findings)

    def test_files_outside_of_site_packages(self, tmp_path):
        """kivy_deps.sdl2 puts its DLLs into share/sdl2/bin of the prefix, and its code adds that folder."""
        code = "import os, sys\nos.add_dll_directory(os.path.join(sys.prefix, 'share', 'flux', 'bin'))\n"
        files = {
            "flux/__init__.py": code,
            "flux-2.1.data/data/share/flux/bin/flux.dll": "",
        }
        wheel = build_wheel(tmp_path, "flux", "2.1", files=files)
        env = install(wheel, install(user(tmp_path), tmp_path / "env"))
        record = env / "Lib/site-packages/flux-2.1.dist-info/RECORD"
        record.write_text(record.read_text().replace("flux-2.1.data/data/", "../../"))
        assert reports(env)["user"].verdict is Verdict.OK
        assert reports(user(tmp_path), beside=(wheel,))["user"].verdict is Verdict.OK


def test_code_of_a_distribution_that_is_reported_too_is_followed_once(tmp_path, monkeypatch):
    """NumPy's code was followed for each package that imports it, and once more for itself."""
    followed = []
    follow = reading._read
    monkeypatch.setattr(
        reading, "_read", lambda source, path, *more: followed.append(path) or follow(source, path, *more)
    )
    others = [
        build_wheel(
            tmp_path,
            name,
            files={f"{name}/__init__.py": "import flux\n", f"{name}/_ext.pyd": "imports flux.dll"},
        )
        for name in ("first", "second")
    ]
    found = reports(*others, flux(tmp_path), together=True)
    assert {report.verdict for report in found.values()} == {Verdict.OK}
    assert followed == ["Lib/site-packages/flux/__init__.py"]


def test_a_modelled_package_of_others_is_not_followed(tmp_path, monkeypatch):
    """What importing torch loads is known: its code was followed for the sake of ``torch.ops``."""
    code = "import os, torch\ntorch.ops.load_library(os.path.join(os.path.dirname(__file__), 'own.dll'))\n"
    files = {"torch/__init__.py": "from ops import ops\n", "torch/lib/c10.dll": ""}
    torch = build_wheel(tmp_path, "torch", "2.9", files=files)
    wheel = build_wheel(tmp_path, "user", files={"user/__init__.py": code, "user/own.dll": "imports c10.dll"})
    followed = []
    parse = CodeBudget.parse_more

    def asked(budget, source, path):
        followed.append(path)
        return parse(budget, source, path)

    monkeypatch.setattr(CodeBudget, "parse_more", asked)
    found = reports(wheel, beside=(torch,))["user"]
    assert found.verdict is Verdict.OK
    assert [one.name for one in found.provided] == ["c10.dll"]
    assert "Lib/site-packages/user/__init__.py" in followed
    assert "Lib/site-packages/torch/__init__.py" not in followed


def test_an_absent_module_may_be_named_py(tmp_path):
    """Its name was taken for that of a Python file."""
    assert faults(reports(user(tmp_path, "import user.py\nimport flux\n"))["user"]) == {"WF318", "WF332"}


@pytest.mark.parametrize("other", ["torch", "flux"])
def test_others_load_what_the_code_needs_also_where_its_import_is_not_decided(tmp_path, other):
    """torchaudio was called broken once torch's code was no longer followed for it."""
    code = (
        f"import ctypes, os, {other}\n"
        f"if {other}.anything():\n    try:\n        ctypes.CDLL('elsewhere.dll')\n    except OSError:\n        pass\n"
        "ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'own.dll'))\n"
    )
    wheel = build_wheel(tmp_path, "user", files={"user/__init__.py": code, "user/own.dll": "imports flux.dll"})
    files = {"torch/__init__.py": "", "torch/lib/flux.dll": ""}
    beside = flux(tmp_path) if other == "flux" else build_wheel(tmp_path, "torch", "2.9", files=files)
    assert reports(wheel, beside, together=True)["user"].verdict is Verdict.OK


def test_a_module_of_another_distribution_that_its_code_imports_in_a_handler(tmp_path):
    """clingo imports ``_clingo``, and ``clingo._clingo`` if there is none; clingo-lpx with --deps was called broken."""
    code = "try:\n    from _flux import f\nexcept ImportError:\n    from ._flux import f\n"
    files = {"flux/__init__.py": code, "flux/_flux.pyd": "exports f, PyInit__flux"}
    other = build_wheel(tmp_path, "flux", "2.1", files=files)
    own = user(tmp_path, "import flux\nfrom . import _ext\n", needed="_flux.pyd")
    assert reports(own, other, together=True)["user"].verdict in (Verdict.OK, Verdict.UNSURE)
