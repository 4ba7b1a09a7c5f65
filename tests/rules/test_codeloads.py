"""DLLs and folders that Python code asks for: what is not there, and what could not be told."""

from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, run, scanned, subject
from tests.support.environments import install
from tests.support.tables import named_cases
from tests.support.wheels import ALONE, build_wheel
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan, scan_all
from wheelfix.model import ScanReport, Severity
from wheelfix.pycode.budget import NOT_PYTHON, budget_of

HERE = "import os, sys, ctypes\nhere = os.path.dirname(__file__)\n"


def found(report: ScanReport) -> list[tuple[str, Severity, str]]:
    return [(item.code, item.severity, item.subject) for item in report.findings]


def test_code_that_reports_a_failed_load_is_quoted_and_the_cause_is_blamed(tmp_path):
    # llama-cpp-python: the error named llama.dll as the cause, and was not the line that Python prints.
    code = HERE + (
        "def load(name):\n    p = os.path.join(here, name + '.dll')\n    try:\n        return ctypes.CDLL(p)\n"
        "    except Exception as e:\n        raise RuntimeError(f\"Failed to load '{p}': {e}\")\n"
        "load('core')\n"
    )
    report = scanned(tmp_path, {"pkg/__init__.py": code, "pkg/core.dll": "imports part.dll"})
    assert report.first_failure is not None
    assert report.first_failure.message == (
        "RuntimeError: Failed to load '…\\pkg\\core.dll': Could not find module '…\\pkg\\core.dll' "
        "(or one of its dependencies). Try using the full path with constructor syntax."
    )
    assert report.first_failure.chain == ("core.dll", "part.dll")
    assert report.first_failure.explanation.endswith("part.dll is missing, which core.dll imports.")
    (item,) = [item for item in report.findings if item.code == "WF314"]
    assert item.hint == "add part.dll to the wheel, beside core.dll"
    assert "loads pkg/core.dll, which cannot be loaded without part.dll" in item.message


BY_NAME = "import ctypes\nctypes.windll.LoadLibrary('cudnn64_9.dll')\n"


@pytest.mark.parametrize(
    "there, code",
    [pytest.param(False, "WF314", id="nothing has it"), pytest.param(True, "WF317", id="it may be loaded before")],
)
def test_cudnn_by_its_bare_name_in_an_environment(tmp_path, there, code):
    """nvidia-cudnn-frontend does so; NVIDIA's installers put their folders on PATH, where this load does not look."""
    files = {"pkg/__init__.py": BY_NAME, "pkg/_x.pyd": ""}
    env = install(build_wheel(tmp_path, files=files), tmp_path / "env")
    if there:
        install(build_wheel(tmp_path, "other", "1.0", files={"other/cudnn64_9.dll": ""}), env)
    found = scan_all([env], ALONE)
    (report,) = (one for one in found if isinstance(one, ScanReport) and one.name == "pkg")
    (item,) = report.findings
    assert item.code == code
    if not there:
        assert item.hint.startswith("install a distribution that has cudnn64_9.dll (nvidia-cudnn-cu11, ")
        failure = report.first_failure
        assert failure is not None
        assert failure.message.startswith("FileNotFoundError: Could not find module 'cudnn64_9.dll' (or one of")


INIT, OTHER = SITE + "pkg/__init__.py", SITE + "pkg/other.py"


@pytest.mark.parametrize(
    "given_up, loading, severity, said",
    [
        ({}, (), "", ""),
        (
            dict.fromkeys((INIT, OTHER), "its strings grow too long"),
            (INIT, OTHER),
            "warning",
            "and 1 other file was not read: its strings grow too long; which folders it adds to the DLL search and "
            "which DLLs it loads is not known",
        ),
        ({OTHER: "it has too many tokens"}, (), "info", "what it imports is not known"),
        (dict.fromkeys((INIT, OTHER), NOT_PYTHON), (INIT,), "unsure", "the code of __init__.py was not read"),
    ],
    ids=["nothing", "it loads", "it only imports", "not Python counts only where it loads"],
)
def test_code_that_was_not_read(given_up, loading, severity, said):
    seen = subject({})
    budget = budget_of(seen.view)
    for path, reason in given_up.items():
        budget.give_up(path, reason)
    budget.loading.update(loading)
    items = run(seen, "WF207")
    assert [str(item.severity) for item in items] == ([severity] if severity else [])
    assert all(said in item.message for item in items)


def test_a_large_module_is_searched_before_it_is_an_excuse(tmp_path, monkeypatch):
    """That of opendal is larger than others that are searched; it has the names of the modules that it makes."""
    monkeypatch.setattr("wheelfix.pe.modulenames.LARGEST", 100)
    files = {"pkg/_c.pyd": "", "pkg/__init__.py": "from . import _c\nfrom pkg.operator import X\n"}
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files), ALONE)
    assert found(report) == [("WF332", Severity.ERROR, "pkg.operator")]


WAYS = "import os\nif os.environ.get('X'):\n    from ._a import f\nelse:\n    from .b import f\n"


@pytest.mark.parametrize(
    "files, expected",
    [
        ({"pkg/__init__.py": WAYS, "pkg/b.py": "f = 1\n", "pkg/_a.lib": ""}, [("WF332", Severity.UNSURE, "pkg._a")]),
        ({"pkg/__init__.py": WAYS, "pkg/b.py": "f = 1\n"}, []),
        ({"pkg/__init__.py": "from . import c\n", "pkg/c.py": "from pkg._c.codec.one import X\n"}, []),
        ({"pkg/__init__.py": "from . import _c\nfrom pkg.operator import X\n"}, []),
        ({"pkg/__init__.py": "import ctypes\ntry:\n    ctypes.CDLL('')\nexcept OSError:\n    pass\n[].gone\n"}, []),
    ],
    ids=[
        *("one of two ways", "and nothing says that it was built", "zarrista: below a compiled module"),
        *("opendal: a large module makes others", "qutip: a load of nothing"),
    ],
)
def test_what_compiled_code_may_make_is_not_left_out(tmp_path, monkeypatch, files, expected):
    monkeypatch.setattr("wheelfix.pe.modulenames.LARGEST_ASKED", 100)
    files = {"pkg/_c.pyd": "", **files}
    report = scan(build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", files=files), ALONE)
    assert [item for item in found(report) if item[0].startswith("WF3")] == expected


@pytest.mark.parametrize(
    "first, expected",
    [("_internals", []), ("_compiled", [("WF332", Severity.ERROR, "llama_cpp._compiled")])],
    ids=["of others", "its own"],
)
def test_the_tags_of_a_wheel_say_nothing_about_packages_of_others(tmp_path, first, expected):
    """llama-cpp-python 0.2.90, as it is built for one Python, was blamed for numpy.typing."""
    numpy = {"numpy/__init__.py": "import sys\nsys.meta_path.append(object())\n"}
    env = install(build_wheel(tmp_path, "numpy", "2.0", "py3-none-any", numpy), tmp_path / "env")
    files = {"llama_cpp/__init__.py": f"from .{first} import f\n", "llama_cpp/_internals.py": "import numpy.typing\n"}
    files["llama_cpp/lib/llama.dll"] = ""
    tag = "cp311-cp311-win_amd64"
    wheel = build_wheel(tmp_path, "llama_cpp_python", "0.2.90", tag, files, requires=["numpy"])
    assert found(scan(wheel, replace(ALONE, beside=(env,)))) == expected


@named_cases(
    "more, missing",
    {
        "biotite: a package that users import": ({"pkg/sub/__init__.py": "from ._c import *\n"}, "pkg.sub._c"),
        "pandas: what the last file imports": ({"pkg/m79.py": "from ._gone import f\n"}, "pkg._gone"),
    },
)
def test_what_is_missing_in_a_package_of_many_files(tmp_path, more, missing):
    files = {"pkg/__init__.py": "".join(f"from . import m{n}\n" for n in range(80)), "pkg/_a.pyd": ""}
    report = scanned(tmp_path, files | {f"pkg/m{n}.py": "" for n in range(80)} | more)
    assert [item.subject for item in report.findings if item.code == "WF332"] == [missing]


SWIG = (
    "if getattr(globals().get('__spec__'), 'parent', None) or __package__ or '.' in __name__:\n"
    "    from . import _pkg\nelse:\n    import _pkg\ndef f():\n    pass\n" + "#" * (1 << 20)
)


@pytest.mark.parametrize("there", [False, True])
def test_what_comes_before_more_code_than_is_followed(tmp_path, there):
    """The code that SWIG makes for SimpleITK has more than a megabyte; its module was only found to be left out."""
    files = {
        "pkg/__init__.py": "from pkg.pkg import *\n",
        "pkg/pkg.py": SWIG,
        **({"pkg/_pkg.pyd": ""} if there else {}),
    }
    missing = [item for item in found(scanned(tmp_path, files)) if item[0] == "WF332"]
    assert missing == ([] if there else [("WF332", Severity.ERROR, "pkg._pkg")])
