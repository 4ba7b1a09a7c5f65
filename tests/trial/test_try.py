"""From a wheel to an exit code, with the host's own Python in the place of a Windows one."""

from __future__ import annotations

import contextlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.support.schemas import validate
from tests.support.tables import named_cases
from tests.support.views import make_view
from tests.support.wheels import build_wheel, extension, library
from tests.trial.host import HostPython
from wheelfix.cli.main import main
from wheelfix.errors import EnvironmentFailure
from wheelfix.loader.profile import Profile
from wheelfix.pycode.importer import import_end
from wheelfix.trial import run
from wheelfix.trial.model import TrialOptions
from wheelfix.trial.run import expectations, expected_end, install, modules_to_try, requirements_of


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostPython:
    """The Python that the command uses."""
    (tmp_path / "host").mkdir()
    made = HostPython(tmp_path / "host")
    monkeypatch.setattr(run, "open_interpreter", lambda *_: contextlib.nullcontext(made))
    monkeypatch.setattr(run, "refuse_root", lambda _: None)
    return made


@pytest.fixture
def unpacking(host: HostPython, monkeypatch: pytest.MonkeyPatch) -> HostPython:
    """The same Python, into which wheels are unpacked instead of asking pip, which takes a second."""
    import zipfile

    def unpack(path: Path, target: HostPython, options: TrialOptions, work: Path) -> tuple[str, ...]:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(target.site)
        return ("p==1.0",)

    monkeypatch.setattr(run, "install", unpack)
    return host


def wheel_of(folder: Path, code: str, **more: Any) -> Path:
    return build_wheel(folder / "dist", "p", files={"p/__init__.py": code, **more})


def test_a_wheel_that_imports(unpacking, tmp_path, run):
    out, err = run("try", wheel_of(tmp_path, "x = 1\n"), "--color", "never")
    assert "IMPORTS" in out
    assert "import p  imported  as predicted" in out
    assert "import p" in err


def test_an_error_without_dlls_is_a_failure_and_no_difference(unpacking, tmp_path, run):
    path = wheel_of(tmp_path, "import random\nif random.random() < 2:\n    raise ValueError('no')\n")
    document = run("try", path, "--format", "json", code=1).document
    validate(document)
    (wheel,) = document["wheels"]
    assert wheel["outcome"] == "fails"
    assert wheel["modules"][0]["agreement"] == "not-predicted"
    assert wheel["modules"][0]["observed"]["errors"][0]["class"] == "ValueError"


def test_a_difference_has_a_code_of_its_own(unpacking, tmp_path, run):
    """The host imports what Windows could not: the prediction says 126 for code that is skipped here."""
    code = "import sys\nif sys.platform == 'win32':\n    from . import _m\n"
    path = wheel_of(tmp_path, code, **{"p/_m.cp311-win_amd64.pyd": "imports absent.dll"})
    out = run("try", path, "--module", "p", code=6).out
    assert "PREDICTION WAS WRONG" in out
    assert "Please report it" in out


def test_junit(unpacking, tmp_path, run):
    target = tmp_path / "try.xml"
    path = wheel_of(tmp_path, "import random\nif random.random() < 2:\n    raise ValueError('no')\n")
    run("try", path, tmp_path / "none.whl", "--format", "junit", "-o", target, "-q", code=3)
    root = ET.fromstring(target.read_text("utf-8"))
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert root.find("testsuite/testcase/failure").get("message") == "ValueError: no"  # type: ignore[union-attr]


def test_requirements_are_those_of_windows(host, tmp_path):
    path = build_wheel(
        tmp_path, "p",
        requires=["here; sys_platform == 'win32'", "there; sys_platform == 'linux'", "more; extra == 'all'"],
    )  # fmt: skip
    assert [one.name for one in requirements_of(path, host.facts)] == ["here"]
    assert [one.name for one in requirements_of(path, host.facts, ["all"])] == ["here", "more"]


@pytest.mark.slow
def test_pip_installs_a_wheel_with_what_it_requires(host, tmp_path):
    house = tmp_path / "house"
    pure = "py3-none-any"
    build_wheel(house, "second", "1.5", pure, files={"second.py": ""}, requires=["third[big]>=2"])
    build_wheel(house, "second", "2.5", pure, files={"second.py": ""})
    build_wheel(house, "third", "2.0", pure, files={"third.py": ""}, requires=["fourth; extra == 'big'"])
    build_wheel(house, "fourth", "1.0", pure, files={"fourth.py": ""})
    files = {"p.py": "import second, third, fourth\n", "p-1.0.data/data/Library/bin/x.dll": b"MZ"}
    path = build_wheel(tmp_path, "p", files=files, requires=["second<2", "nothing; os_name == 'posix'"])
    found = install(path, host, TrialOptions(beside=(house,)), tmp_path)
    assert sorted(found) == ["fourth==1.0", "p==1.0", "second==1.5", "third==2.0"]
    assert (host.prefix / "Library" / "bin" / "x.dll").exists()
    assert not (host.site / "Library" / "bin" / "x.dll").exists()


@pytest.mark.slow
def test_data_below_lib_lands_in_the_site_packages_of_windows(host, tmp_path):
    files = {"p/__init__.py": "", "p-1.0.data/data/lib/site-packages/p/x.dll": b"MZ"}  # as setup.py's data_files give
    install(build_wheel(tmp_path, "p", files=files), host, TrialOptions(), tmp_path)
    assert (host.site / "p" / "x.dll").read_bytes() == b"MZ"


@pytest.mark.slow
def test_paths_may_be_relative(host, tmp_path, monkeypatch, run):
    """pip runs in a folder of its own, where such a path means nothing: every example of the page failed."""
    wheel = wheel_of(tmp_path, "import q\n")
    other = build_wheel(tmp_path / "more", "q", files={"q/__init__.py": ""})
    monkeypatch.chdir(tmp_path)
    words = ["--with", f"more/{other.name}", "--find-links", "more"]
    run("try", f"dist/{wheel.name}", "--module", "p", *words)
    run("try", "dist", "--module", "p", *words)


@pytest.mark.slow
def test_a_requirement_that_is_nowhere(host, tmp_path, run):
    path = build_wheel(tmp_path, "p", files={"p.py": ""}, requires=["no-such-thing"])
    err = run("try", path, code=4).err
    assert "--with and --find-links" in err
    assert "--no-deps" in err
    run("try", path, "--no-deps")


@pytest.mark.slow
def test_a_wheel_for_another_python(host, tmp_path, run):
    path = build_wheel(tmp_path, "p", "1.0", "cp313-cp313-win_amd64", files={"p.py": ""})
    assert "--python-home" in run("try", path, code=3).err


@pytest.mark.parametrize("words", [["--find-links", "none"], ["--with", "none"], ["--module", "a b"]])
def test_options_that_make_no_sense(words, unpacking, tmp_path, run):
    run("try", wheel_of(tmp_path, ""), *words, code=2)


# ------------------------------------------------------------------------------------------------- a stage of ci


def stage(folder: Path, *more: str) -> list[str]:
    options = ["--no-discover", "--try", "--try-module", "p", "-w", str(folder / "out")]
    return ["ci", str(folder / "dist"), *options, *more]


def test_ci_imports_what_came_out(unpacking, tmp_path, capsys):
    wheel_of(tmp_path, "x = 1\n")
    assert main(stage(tmp_path, "--format", "json")) == 0
    out, err = capsys.readouterr()
    assert "failures" not in json.loads(out) or not json.loads(out)["failures"]
    assert "IMPORTS" in err


def test_ci_ends_with_1_where_an_import_fails_and_reports_say_so(unpacking, tmp_path, capsys):
    wheel_of(tmp_path, "import random\nif random.random() < 2:\n    raise ValueError('no')\n")
    kinds = ("junit", "markdown", "html", "github")
    files = [f"--report={kind}={tmp_path / kind}" for kind in kinds]
    assert main(stage(tmp_path, "--format", "json", *files)) == 1
    document = json.loads(capsys.readouterr().out)
    validate(document)
    (failure,) = document["failures"]
    assert (failure["stage"], failure["what"]) == ("try", "p 1.0 cannot be imported")
    assert "import p: ValueError: no" in failure["because"]
    assert document["wheels"][0]["verdict"] == "risky"  # nothing in it is compiled
    for kind in kinds:
        assert "cannot be imported" in (tmp_path / kind).read_text("utf-8"), kind
    root = ET.fromstring((tmp_path / "junit").read_text("utf-8"))
    assert "can be imported" in [case.get("name") for case in root.iter("testcase")]


def test_ci_ends_with_6_where_the_prediction_was_wrong(unpacking, tmp_path, capsys):
    """The host imports what Windows could not: the prediction says that code fails which is skipped here."""
    folder = "os.path.join(os.path.dirname(__file__), 'lib')"
    wheel_of(tmp_path, f"import os, sys\nif sys.platform == 'win32':\n    os.add_dll_directory({folder})\n")
    assert main(stage(tmp_path, "--format", "json")) == 6
    document = json.loads(capsys.readouterr().out)
    assert "was not imported as predicted" in {one["stage"]: one["what"] for one in document["failures"]}["try"]


def test_ci_reports_all_the_same_where_there_is_no_wine(host, tmp_path, monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise EnvironmentFailure("there is no Wine here")

    monkeypatch.setattr(run, "open_interpreter", fail)
    wheel_of(tmp_path, "x = 1\n")
    assert main(stage(tmp_path, "--format", "json")) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["failures"][0]["what"] == "there is no Wine here"
    assert document["wheels"][0]["verdict"] == "risky"  # nothing in it is compiled


def test_ci_refuses_root_before_it_writes(tmp_path, monkeypatch):
    monkeypatch.setattr("wheelfix.trial.pythons.os.geteuid", lambda: 0, raising=False)
    monkeypatch.setattr("wheelfix.trial.pythons.in_container", lambda: False)
    wheel_of(tmp_path, "x = 1\n")
    assert main(stage(tmp_path)) == 2
    assert not (tmp_path / "out").exists()


HERE = "os.path.join(os.path.dirname(__file__)"
TAIL = ".cp311-win_amd64.pyd"


def answers(folder: Path, **files: bytes | str) -> dict[str, tuple[str, int, str]]:
    """What is expected of each module of a package ``p``; files are named without folder and ending."""
    members = {f"p/{name}{'.py' if isinstance(data, str) else TAIL}": data for name, data in files.items()}
    wheel = build_wheel(folder / "dist", "p", files=members)
    (folder / "environment" / "Lib" / "site-packages").mkdir(parents=True)
    (folder / "environment" / "python.exe").touch()
    with expectations(wheel, folder / "environment") as expected:
        names = modules_to_try(expected.subject.view, expected.subject.profile)
        found = {name: expected.of(name) for name in names}
    return {name: (one.answer.value, one.code, one.named.split(".")[0]) for name, one in found.items()}


FINE = ("works", 0, "")


def test_each_module_has_its_own_answer(tmp_path):
    found = answers(tmp_path, __init__="", _a=extension(name="_a"), _b=extension("absent.dll", name="_b"))
    assert found == {"p": FINE, "p._a": FINE, "p._b": ("fails", 126, "_b")}


def test_what_the_package_imports_fails_first(tmp_path):
    """The module that an import names is the first that the package's own __init__ imports."""
    files = {
        "__init__": "from . import _z, _a\n",
        "_a": extension("absent.dll", name="_a"),
        "_z": extension("gone.dll", name="_z"),
    }
    failed = ("fails", 126, "_z")
    assert answers(tmp_path, **files) == {"p": failed, "p._a": failed, "p._z": failed}


def test_a_failure_that_is_caught_is_none(tmp_path):
    code = "try:\n    from . import _a\nexcept ImportError:\n    _a = None\n"
    found = answers(tmp_path, __init__=code, _a=extension("absent.dll", name="_a"))
    assert found == {"p": FINE, "p._a": ("fails", 126, "_a")}


def test_a_condition_makes_it_unsure(tmp_path):
    code = "import time\nif time.time() % 2:\n    from . import _a\n"
    found = answers(tmp_path, __init__=code, _a=extension("absent.dll", name="_a"))
    assert found["p"][0] == "unsure"
    assert found["p._a"][0] != "works"


@named_cases(
    "code, answer",
    {
        "a missing file": (f"import ctypes, os\nctypes.CDLL({HERE}, 'absent.dll'))\n", ("fails", 126, "absent")),
        "a missing folder": (f"import os\nos.add_dll_directory({HERE}, 'lib'))\n", ("fails", 2, "lib")),
        "Windows' own": ("import ctypes\nctypes.CDLL('kernel32.dll')\n", FINE),
    },
)  # fmt: skip
def test_python_code_that_loads(code, answer, tmp_path):
    assert answers(tmp_path, __init__=code)["p"] == answer


def test_top_level_modules(tmp_path):
    files = {
        "single.py": "", "_fast.pyd": "", "pkg/__init__.py": "", "pkg/sub/__init__.py": "",
        "space/inner/__init__.py": "", "tests/__init__.py": "", "not-a-name/__init__.py": "", "pkg.libs/x.dll": b"",
    }  # fmt: skip
    wheel = build_wheel(tmp_path / "dist", "several", files=files)
    (tmp_path / "environment" / "Lib" / "site-packages").mkdir(parents=True)
    with expectations(wheel, tmp_path / "environment") as expected:
        view, profile = expected.subject.view, expected.subject.profile
        assert modules_to_try(view, profile) == ("_fast", "pkg", "single", "space.inner")
        assert modules_to_try(view, profile, ["pkg.sub"]) == ("pkg.sub",)


def test_a_module_without_its_entry(tmp_path):
    """A file that has nothing to do with Python, in the place of a module that the package imports."""
    stub = library("_a.pyd:something_else")
    found = answers(tmp_path, __init__="from ._a import f\n", _a=stub)
    assert found["p"] == ("fails", 0, "_a")


@pytest.mark.parametrize("python, wanted", [((3, 14), "PyInit__core"), ((3, 15), "PyModExport__core or PyInit__core")])
def test_a_module_without_an_entry_is_expected_to_fail_as_its_python_says(python, wanted):
    files = {
        "Lib/site-packages/pkg/__init__.py": "from . import _core\n",
        "Lib/site-packages/pkg/_core.pyd": "exports PyInit_other",
    }
    view = make_view(files)
    expected = expected_end(view, import_end(view, Profile(python=python), "pkg"))
    assert expected.message == f"ImportError: dynamic module does not define module export function ({wanted})"
    assert expected.named == "_core.pyd"


LOOKS_FOR_CUDA = """\
import os
if os.environ.get("CUDA_PATH"):
    os.add_dll_directory(os.path.join(os.environ["CUDA_PATH"], "bin"))
from . import _a
"""


@pytest.mark.parametrize("bare, verdict, answer", [(True, "broken", "fails"), (False, "unsure", "unsure")])
def test_the_report_is_for_the_machine_of_the_prediction(bare, verdict, answer, tmp_path):
    """As CuPy 11: under Wine there is no toolkit that CUDA_PATH could name."""
    members = {"cupy/__init__.py": LOOKS_FOR_CUDA, f"cupy/_a{TAIL}": "imports KERNEL32.dll:Sleep, cublas64_12.dll:call"}
    members["cupy/_environment.py"] = "def _setup_win32_dll_directory(): ...\n"
    wheel = build_wheel(tmp_path / "dist", "cupy-cuda12x", "12.0", files=members)
    (tmp_path / "environment" / "Lib" / "site-packages").mkdir(parents=True)
    (tmp_path / "environment" / "python.exe").touch()
    with expectations(wheel, tmp_path / "environment", bare=bare) as expected:
        assert (expected.report.verdict.value, expected.of("cupy").answer.value) == (verdict, answer)
