"""What is installed is judged like a wheel: its Python, its NumPy, its requirements, the files that RECORD lists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.environments import install, lay, reports
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel, folder_of, library
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.exam.scan import scan_all
from wheelfix.model import Finding, ScanReport, Severity, Verdict

SITE = "Lib/site-packages"
VENV = "home = C:\\Python311\nversion = 3.11.7\n"
ANY = "py3-none-any"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def module(folder: Path, tag: str = "cp311", code: str = "from . import _x\n", requires: Sequence[str] = ()) -> Path:
    """A wheel with an extension module for one Python."""
    files = {"pkg/__init__.py": code, f"pkg/_x.{tag}-win_amd64.pyd": f"imports python3{tag[3:]}.dll:PyModule_Create2"}
    return build_wheel(folder, "pkg", "1.0", f"{tag}-{tag}-win_amd64", files, requires=requires)


def pure(folder: Path, name: str, version: str = "1.0", code: str = "", **more: Sequence[str]) -> Path:
    return build_wheel(folder, name, version, ANY, {f"{name}/__init__.py": code}, **more)  # type: ignore[arg-type]


def environment(folder: Path, *wheels: Path, config: str = VENV) -> Path:
    for wheel in wheels:
        install(wheel, folder / "env")
    return lay(folder / "env", {"pyvenv.cfg": config} if config else {})


def found_in(env: Path) -> list[tuple[str, str, str]]:
    """What was found beyond remarks: distribution, code and severity."""
    return [
        (name, item.code, str(item.severity))
        for name, report in reports(env).items()
        for item in report.findings
        if item.severity is not Severity.INFO
    ]


FOR_312 = {"pkg/__init__.py": "from . import _x\n", "pkg/_x.pyd": "imports python312.dll:PyModule_Create2"}
STABLE = {**FOR_312, "pkg/_x.pyd": "imports python3.dll:PyModule_Create2"}
OWN_PYTHON = {
    "pkg/__init__.py": "",
    "pkg/run/tool.exe": "imports python39.dll:Py_Main",
    "pkg/run/python39.dll": "exports Py_Main",
}
GOES_ON = "try:\n    from .fast import *\nexcept ImportError:\n    pass\n"


class TestPython:
    @named_cases(
        "tag, files, expected",
        {
            "the right Python": (
                "cp311-cp311",
                {**FOR_312, "pkg/_x.pyd": "imports python311.dll:PyModule_Create2"},
                [],
            ),
            "yaml goes on without its module": (
                "cp310-cp310",
                {**FOR_312, "pkg/__init__.py": GOES_ON, "pkg/fast.py": "from . import _x\n"},
                ["warning"],
            ),
            "no tag in the name of the module": ("cp312-cp312", FOR_312, ["error"]),
            "the tags are right, and WHEEL cannot know what was copied there": ("cp311-cp311", FOR_312, ["error"]),
            "a program with its own Python": ("py3-none", OWN_PYTHON, []),
            "the stable ABI": ("cp39-abi3", STABLE, []),
            "a later stable ABI": ("cp312-abi3", STABLE, ["warning"]),
            "a symbol that this Python does not have": (
                "cp312-abi3",
                {**FOR_312, "pkg/_x.pyd": "imports python3.dll:PyType_GetTypeDataSize"},
                ["warning"],
            ),
        },
    )
    def test_whether_the_python_is_the_right_one(self, tmp_path, tag, files, expected):
        found = found_in(environment(tmp_path, build_wheel(tmp_path, "pkg", "1.0", f"{tag}-win_amd64", files)))
        assert [severity for _, code, severity in found if code == "WF401"] == expected
        assert (("pkg", "WF411", "error") in found) is (tag == "cp312-abi3" and files is not STABLE)

    def test_most_distributions_say_which_python_it_is(self, tmp_path):
        """A folder of 'pip install --target' does not name its Python."""
        files = {"other/__init__.py": "", "other/_x.cp311-win_amd64.pyd": "imports python311.dll:PyModule_Create2"}
        others = [build_wheel(tmp_path, name, files=files) for name in ("a", "b")]
        env = environment(tmp_path, *others, module(tmp_path, "cp310"), config="")
        assert found_in(env) == [("pkg", "WF401", "error")]


class TestNumpy:
    @named_cases(
        "numpy, mark, expected",
        {
            "torch 2.0.1 with NumPy 2": ("2.1.3", b"numpy.core._multiarray_umath", [("torch", "WF410", "warning")]),
            "with NumPy 1": ("1.26.4", b"numpy.core._multiarray_umath", []),
            "torch 2.9": ("2.1.3", b"numpy._core._multiarray_umath", []),
        },
    )
    def test_the_numpy_of_a_dll(self, tmp_path, numpy, mark, expected):
        """torch requires no NumPy, and what uses it is torch_python.dll: "No fault found" with NumPy 2."""
        dll = library("torch_python.dll", "python311.dll:PyObject_Call")
        files = {
            "torch/__init__.py": "from . import _x\n",
            "torch/_x.cp311-win_amd64.pyd": "imports torch_python.dll",
            "torch/torch_python.dll": dll + b"\0" + mark + b"\0",
        }
        wheel = build_wheel(tmp_path, "torch", "2.0.1", files=files)
        env = environment(tmp_path, wheel, pure(tmp_path, "numpy", numpy))
        assert [item for item in found_in(env) if item[1] == "WF410"] == expected
        for item in reports(env)["torch"].findings:
            if item.code == "WF410":
                assert "torch_python.dll was built with NumPy 1 headers" in item.message
                assert "NumPy cannot be used with it" in item.message

    @pytest.mark.parametrize(
        "numpy, expected",
        [("2.1.3", [("pkg", "WF410", "error")]), ("1.26.4", []), ("", [("pkg", "WF410", "warning")])],
    )
    def test_the_numpy_that_is_installed(self, tmp_path, numpy, expected):
        """numpy 2.1.3 with pandas 2.0.3 and h5py 3.8 was "5 ok"; a wheel by itself allows what its metadata allows."""
        name = "pkg/_x.cp311-win_amd64.pyd"
        files = {
            "pkg/__init__.py": "from . import _x\n",
            name: "imports python311.dll:PyModule_Create2; names numpy.core._multiarray_umath",
        }
        wheel = build_wheel(tmp_path, files=files, requires=["numpy>=1.20"])
        if numpy:
            env = environment(tmp_path, wheel, pure(tmp_path, "numpy", numpy))
            assert found_in(env) == expected
        else:
            assert found_in(wheel) == expected


class TestRequirements:
    def test_pure_python_is_an_input_where_something_is_gone(self, tmp_path):
        """faster-whisper without ctranslate2: nothing was scanned, so nothing was wrong."""
        env = environment(tmp_path, pure(tmp_path, "user", code="import flux\n", requires=["flux>=2"]))
        assert found_in(env) == [("user", "WF320", "error")]
        assert reports(env)["user"].verdict is Verdict.BROKEN

    @pytest.mark.parametrize(
        "requires, flux, expected",
        [
            (["flux>=2"], "", "user 1.0 requires flux>=2, which is not installed"),
            (["flux>=2"], "1.0", "user 1.0 requires flux>=2, but flux 1.0 is installed"),
            (["Flux>=2"], "2.1", ""),
            (["flux>=2; sys_platform == 'linux'"], "", ""),
            (["flux>=2; extra == 'fast'"], "", ""),
            (["flux @ https://example.org/flux.zip"], "1.0", ""),
            (["flux >= two !"], "1.0", ""),
        ],
    )
    def test_what_metadata_requires(self, tmp_path, requires, flux, expected):
        wheels = [pure(tmp_path, "user", requires=requires), *([pure(tmp_path, "flux", flux)] if flux else [])]
        found = [item for report in reports(environment(tmp_path, *wheels)).values() for item in report.findings]
        assert [(item.code, item.message) for item in found] == ([("WF330", expected)] if expected else [])

    def test_a_python_that_is_not_allowed(self, tmp_path):
        more = ["Requires-Python: >=3.12"]
        env = environment(
            tmp_path, pure(tmp_path, "user", requires=["flux"], extra_metadata=more), pure(tmp_path, "flux")
        )
        found = [item.message for report in named(env, "user") for item in report.findings]
        assert found == ["user 1.0 requires Python >=3.12, but the environment has Python 3.11"]

    @named_cases(
        "files, more, config, expected",
        {
            "put there without metadata": ({"user/__init__.py": ""}, {f"{SITE}/flux/__init__.py": ""}, VENV, []),
            "perhaps in the Python that the venv was made from": (
                {"user/__init__.py": "import flux\n"},
                {},
                VENV + "include-system-site-packages = true\n",
                [],
            ),
            "imported in a file whose import is caught": (
                {
                    "user/__init__.py": "try:\n    from . import fast\nexcept ImportError:\n    pass\n",
                    "user/fast.py": "import flux\n",
                },
                {},
                VENV,
                [("user", "WF330", "warning")],
            ),
        },
    )
    def test_what_is_no_error(self, tmp_path, files, more, config, expected):
        wheel = build_wheel(tmp_path, "user", "1.0", ANY, files, requires=["flux"])
        assert found_in(lay(environment(tmp_path, wheel, config=config), more)) == expected

    def test_the_first_file_that_imports_it_is_named(self, tmp_path):
        files = {"user/__init__.py": "import flux\nfrom . import zz\n", "user/zz.py": "import flux\n"}
        env = environment(tmp_path, build_wheel(tmp_path, "user", "1.0", ANY, files, requires=["flux"]))
        (item,) = reports(env)["user"].findings
        assert item.message.startswith("user/__init__.py imports flux")


class TestRecord:
    def test_a_folder_of_data_is_there(self, tmp_path):
        """pvporcupine lists the files of such a folder when it is imported."""
        code = "import ctypes, os\nhere = os.path.dirname(__file__)\nos.listdir(os.path.join(here, 'data'))\n"
        code += "ctypes.CDLL(os.path.join(here, 'core.dll'))\n"
        files = {"pkg/__init__.py": code, "pkg/core.dll": ""}
        env = environment(tmp_path, build_wheel(tmp_path, files=files))
        assert [found[1] for found in found_in(env)] == ["WF315"]
        lay(env, {f"{SITE}/pkg/data/words.ppn": b"x"})
        assert found_in(env) == []

    def test_the_only_image_of_a_distribution(self, tmp_path):
        env = environment(tmp_path, module(tmp_path))
        (env / SITE / "pkg/_x.cp311-win_amd64.pyd").unlink()
        assert found_in(env) == [("pkg", "WF102", "error"), ("pkg", "WF332", "error")]

    def test_other_spelling_of_the_same_file(self, tmp_path):
        files = {"pkg/__init__.py": "", "pkg/flux.dll": ""}
        env = environment(tmp_path, build_wheel(tmp_path, files=files))
        path = env / SITE / "pkg/flux.dll"
        path.rename(path.with_name("FLUX.DLL"))
        assert "WF102" not in {code for _, code, _ in found_in(env)}


class TestOpenmp:
    @named_cases(
        "code, expected",
        {
            "imports the other": ("try:\n    import torque\nexcept ImportError:\n    pass\n", ["warning"]),
            "by itself": ("", ["info"]),
        },
    )
    def test_two_runtimes_in_one_process(self, tmp_path, code, expected):
        """ctranslate2 imports torch if it is there, and each loads a libiomp5md.dll of its own."""
        load = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'libiomp5md.dll'))\n"
        wheels = []
        for name, more in (("torque", ""), ("pkg", code)):
            module = f"{name}/_x.cp311-win_amd64.pyd"
            image = "imports libiomp5md.dll"
            files = {f"{name}/__init__.py": load + more, module: image, f"{name}/libiomp5md.dll": ""}
            wheels.append(build_wheel(tmp_path, name, files=files))
        report = reports(environment(tmp_path, *wheels))["pkg"]
        assert [str(item.severity) for item in report.findings if item.code == "WF405"] == expected


# ------------------------------------------------------------------------------------------- what the hints promise


def named(env: Path, package: str) -> list[ScanReport]:
    options = ScanOptions(roots=RootOptions(discover=False), packages=(package,))
    return [one for one in scan_all([env], options) if isinstance(one, ScanReport)]


def run_hint(item: Finding, env: Path, wheels: Path) -> None:
    """Run the first command of a hint as pip of the environment would: it removes what it replaces."""
    words = shlex.split(re.findall(r"'python -m pip install ([^']+)'", item.hint)[0])
    words = ["pkg" if word == "NAME" else word for word in words]
    name = re.split(r"[<>=!~]", words[-1])[0]
    for folder in (env / SITE).glob(f"{name}-*.dist-info"):
        shutil.rmtree(folder)
    shutil.rmtree(env / SITE / name, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(wheels), "--quiet"]
    command += ["--only-binary=:all:", "--platform", "win_amd64", "--python-version", "3.11", "--no-deps"]
    subprocess.run([*command, "--target", str(env / SITE), *words], check=True, capture_output=True)


def pip_check(env: Path) -> str:
    place = {**os.environ, "PYTHONPATH": str(env / SITE)}
    command = [sys.executable, "-m", "pip", "check"]
    return subprocess.run(command, env=place, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize("case", ["absent", "imported", "other version", "other Python", "python", "deleted"])
def test_the_command_in_a_hint_makes_the_finding_go(tmp_path, case):
    good, bad = tmp_path / "good", tmp_path / "bad"
    user = pure(bad, "user", code="import flux\n" if case == "imported" else "", requires=["flux>=2"])
    if case in ("absent", "imported"):
        env = environment(tmp_path, user)
        pure(good, "flux", "2.1")
    elif case == "other version":
        env = environment(tmp_path, user, pure(bad, "flux", "1.0"))
        pure(good, "flux", "2.1")
    elif case == "python":
        newer = pure(good, "user", "2.0", requires=["flux"], extra_metadata=["Requires-Python: >=3.12"])
        pure(good, "user", "1.0", requires=["flux"])
        env = environment(tmp_path, newer, pure(bad, "flux"))
    else:
        module(good)
        env = environment(tmp_path, module(bad, "cp310") if case == "other Python" else module(bad))
        if case == "deleted":
            (env / SITE / "pkg/_x.cp311-win_amd64.pyd").unlink()
    package = "user" if (env / SITE / "user").is_dir() else "pkg"
    (report,) = named(env, package)
    item, *more = report.findings
    assert [(one.code, "--force-reinstall" in one.hint) for one in more] == [("WF332", True)] * (case == "deleted")
    if case == "other version":
        assert "'python -m pip check'" in item.hint
        assert "user 1.0 has requirement flux>=2, but you have flux 1.0." in pip_check(env)
    run_hint(item, env, good)
    assert [one.findings for one in named(env, package)] == [()]


IN_A_VENV = """import os, sys
from os.path import isdir, isfile, join
if sys.base_exec_prefix != sys.exec_prefix and isfile(join(sys.exec_prefix, "pyvenv.cfg")):
    folder = join(sys.exec_prefix, "Library", "bin")
    if isdir(folder):
        os.add_dll_directory(folder)
from . import _x
"""


def test_code_that_adds_the_folder_of_a_venv(tmp_path):
    """dpctl was called broken in every venv that has it, and with ``--deps``; it does without in a Python itself."""
    files = {"pkg/__init__.py": IN_A_VENV, "pkg/_x.pyd": "imports runtime.dll"}
    wheel = build_wheel(tmp_path, files=files, requires=["rt"])
    runtime = {"rt-1.0.data/data/Library/bin/runtime.dll": ""}
    other = build_wheel(tmp_path, "rt", "1.0", "py3-none-win_amd64", runtime)
    assert reports(environment(tmp_path / "venv", wheel, other))["pkg"].verdict is Verdict.OK
    plain = lay(environment(tmp_path / "plain", wheel, other, config=""), {"python.exe": b"MZ"})
    assert reports(plain)["pkg"].verdict is Verdict.BROKEN
    (together,) = scan_all([wheel], ScanOptions(roots=RootOptions(discover=False), beside=(other,)))
    assert together.verdict is Verdict.UNSURE


@pytest.mark.parametrize(
    "damage, code", [(None, "WF102"), (b"", "WF202"), (b"MZ cut short", "WF201"), (POINTER, "WF203")]
)
def test_a_file_that_was_deleted_or_damaged_comes_back_with_its_distribution(tmp_path, damage, code):
    """The command had NAME in it, or there was none: what was said is for who builds the wheel."""
    files = {
        "pkg/__init__.py": "from . import _x\n",
        "pkg/_x.pyd": "imports own.dll",
        "pkg/own.dll": "",
    }
    env = environment(tmp_path, build_wheel(tmp_path, files=files))
    own = env / SITE / "pkg/own.dll"
    own.unlink() if damage is None else own.write_bytes(damage)
    (found,) = (item for item in reports(env)["pkg"].findings if item.code == code)
    assert (
        found.hint
        == "'python -m pip install --force-reinstall --no-deps \"pkg==1.0\"' with the environment's own Python"
    )


def test_the_command_of_a_repair_names_the_distribution(tmp_path):
    files = {"pkg/__init__.py": "from . import _x\n", "pkg/_x.pyd": "imports flux.dll"}
    env = environment(tmp_path, build_wheel(tmp_path, files=files))
    (found,) = (item for item in reports(env)["pkg"].findings if item.code == "WF301")
    assert "'wheelfix repair --root FOLDER --env PREFIX --package pkg'" in found.hint
    root = folder_of(tmp_path / "root", "flux.dll")
    given = {"FOLDER": str(root), "PREFIX": str(env)}
    words = [given.get(word, word) for word in found.hint.split("'")[1].split()[1:]]
    assert main([*words, "--no-discover"]) == 0
    assert found_in(env) == []
