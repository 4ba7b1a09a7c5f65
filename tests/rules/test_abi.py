"""Extension modules for another Python than the wheel promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.subjects import SITE, codes, dll, loads, run, scanned, subject, wheel
from tests.support.environments import lay
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.loader.profile import Profile
from wheelfix.model import Import, Verdict
from wheelfix.rules.context import Subject

PYD = SITE + "pkg/_core.pyd"


@pytest.mark.parametrize(
    "tag, name, imported, expected",
    [
        ("cp311-cp311-win_amd64", PYD, "python311.dll", []),
        ("cp311-cp311-win_amd64", PYD, "python3.dll", []),
        ("cp311-cp311-win_amd64", PYD, "python39.dll", ["WF401:error"]),
        ("cp313-cp313t-win_amd64", PYD, "python313t.dll", []),
        ("cp313-cp313t-win_amd64", PYD, "python313.dll", ["WF401:error"]),
        ("cp37-abi3-win_amd64", PYD, "python3.dll", []),
        ("cp315-abi3t-win_amd64", PYD, "python3t.dll", []),
        ("cp315-abi3t-win_amd64", PYD, "python315t.dll", ["WF401:error"]),
        ("cp37-abi3-win_amd64", PYD, "python311.dll", ["WF401:error"]),
        ("cp37-abi3-win_amd64", SITE + "pkg/embed.dll", "python311.dll", []),
        ("py3-none-win_amd64", PYD, "python39.dll", ["WF401:warning"]),
        ("py3-none-win_amd64", SITE + "pkg/embed.dll", "python39.dll", []),
        ("py3-none-win_amd64", SITE + "pkg/_core.cp39-win_amd64.pyd", "python39.dll", []),
        ("cp311-cp311-win_amd64", SITE + "pkg/py39/_core.pyd", "python39.dll", []),
        ("cp311-cp311-win_amd64", SITE + "pkg/_core.cp39-win_amd64.pyd", "python39.dll", []),
        ("cp311-cp311-win_amd64", SITE + "pkg/_core.cp311-win_amd64.pyd", "python39.dll", ["WF401:error"]),
    ],
)
def test_the_python_that_modules_import(tag, name, imported, expected):
    thing = subject({name: dll(imported)}, events=[loads(name)], wheel=wheel(tags=(tag,)))
    assert codes(thing) == expected


@named_cases(
    "python, requires, events, tags, expected",
    {
        "nothing imports it": ("39", "", [], ("cp311-cp311-win_amd64",), ["WF401:warning"]),
        "no tags": ("39", "", [PYD], (), []),
        "PyQtRPT 1.5.5": ("39", "", [PYD], ("py3-none-win_amd64",), ["WF401:warning"]),
        "for that Python alone": ("39", "==3.9.*", [PYD], ("py3-none-win_amd64",), []),
    },
)
def test_whether_a_module_for_another_python_matters(python, requires, events, tags, expected):
    described = wheel(tags=tags, requires_python=requires)
    thing = subject({PYD: dll(f"python{python}.dll")}, events=map(loads, events), wheel=described)
    assert codes(thing) == expected


@pytest.mark.parametrize(
    "tag, symbols, requires, expected",
    [
        ("cp37-abi3-win_amd64", ["PyObject_Call", "PyModule_Create2"], "", []),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], "", ["WF411:warning"]),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], ">=3.12", []),
        ("cp37-abi3-win_amd64", ["_PyLong_Format"], "", ["WF411:error"]),
        ("cp311-cp311-win_amd64", ["_PyLong_Format"], "", []),
        ("cp37-abi3-win_amd64", ["PyObject_Vectorcall"], "nonsense", ["WF411:warning"]),
    ],
)
def test_abi3_claims_against_symbols(tag, symbols, requires, expected):
    image = dll(Import("python3.dll", tuple(symbols)))
    thing = subject({PYD: image}, events=[loads(PYD)], wheel=wheel(tags=(tag,), requires_python=requires))
    assert codes(thing) == expected
    for found in run(thing) if "PyObject_Vectorcall" in symbols else ():
        assert "before Python 3.12" in found.message
        assert "Py_LIMITED_API=0x03070000" in found.hint


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
PATCHED = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs'))\n"


def test_a_git_lfs_pointer_that_a_module_imports(tmp_path):
    name = "_core.cp311-win_amd64.pyd"
    files = {"pkg/__init__.py": PATCHED, f"pkg/{name}": "imports helper.dll", "pkg.libs/helper.dll": POINTER}
    report = scanned(tmp_path, files)
    assert codes(report) == ["WF203:error"]
    assert report.verdict is Verdict.BROKEN
    assert (report.first_failure.code, report.first_failure.chain) == (193, (name, "helper.dll"))


def of_python(python: str, *symbols: str) -> bytes:
    return forge_dll("_core.pyd", imports={python: list(symbols)}, exports=["PyInit__core"])


@pytest.mark.parametrize(
    "name, version, said",
    [
        ("torch", "99.1.0", "torch 99.1.0 is for torch 99.1; the table of"),
        ("torch", "2.9.1+cu990", "torch 2.9.1+cu990 is for CUDA 99.0; the table of"),
        ("flux", "1.0+cu990", "flux 1.0+cu990 is for CUDA 99.0; the table of"),
        ("torch", "2.9.1+cu130", ""),
    ],
)
def test_a_wheel_that_is_newer_than_the_tables(name, version, said):
    found = [item for item in run(subject({}, wheel=wheel(name=name, version=version))) if item.code == "WF419"]
    assert [item.message.partition(" of 20")[0] for item in found] == ([said.removesuffix(" of")] if said else [])
    assert all(str(item.severity) == "info" for item in found)


@named_cases(
    "tag, files, imported, verdict",
    {
        "newer than the table": ("cp316", ["python316.dll"], "python316.dll", Verdict.OK),
        "python3t.dll": ("cp315", ["python315t.dll", "python3t.dll"], "python3t.dll", Verdict.OK),
        "python.org's 3.15": ("cp315", ["python315.dll", "abi3t-compat/python3t.dll"], "python3t.dll", Verdict.OK),
        "conda's 3.15 without python3t.dll": ("cp315", ["python315t.dll"], "python3t.dll", Verdict.BROKEN),
        "free-threaded": ("cp315", ["python315t.dll"], "python315.dll", Verdict.BROKEN),
    },
)
def test_a_prefix_says_what_its_python_has(tag, files, imported, verdict, tmp_path):
    """--python PREFIX asks the files in that folder and not the table: a hint of WF418 promises it."""
    prefix = lay(tmp_path / "prefix", {"python.exe": "", "Lib/site-packages/README.txt": b""})
    lay(
        prefix, {name: forge_dll(name.rpartition("/")[2], exports=["PyOfThisBuild", "PyObject_Call"]) for name in files}
    )
    stable = imported == "python3t.dll"
    suffix = "" if stable else f".{tag}{'t' if 't' in imported[6:-4] else ''}-win_amd64"
    tags = f"{tag}-{'abi3t' if stable else tag + ('t' if suffix.startswith(f'.{tag}t') else '')}-win_amd64"
    members = {
        "pkg/__init__.py": "from . import _core\n",
        f"pkg/_core{suffix}.pyd": of_python(imported, "PyObject_Call" if stable else "PyOfThisBuild"),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", tags, members)  # type: ignore[arg-type]
    options = ScanOptions(roots=RootOptions(discover=False), python=prefix)
    report = scan(wheel, options)
    assert report.verdict is verdict, [item.message for item in report.findings]


OLD, NEITHER = b"..numpy.core._multiarray_umath..", b""
BOTH = b"numpy._core._multiarray_umath numpy.core._multiarray_umath"
FOR_125 = BOTH + b" module was compiled against NumPy C-API version 0x%x (NumPy 1.25) but"


def numpy_module(content: bytes, *requires: str, loaded: bool = True) -> Subject:
    """A wheel for Python 3.11 with one module."""
    events = [loads(PYD)] if loaded else []
    return subject({PYD: dll()}, events=events, wheel=wheel(requires=requires), contents={PYD: content})


@pytest.mark.parametrize(
    "content, requires, expected",
    [
        (OLD, ("numpy>=1.20",), ["WF410:warning"]),
        (OLD, ("numpy (>=1.20.3) ; python_version < '3.10'", "numpy>=1.23.2"), ["WF410:warning"]),
        (OLD, ("numpy<2",), []),
        (OLD, ("numpy<2; python_version<'3.13'", "numpy>=2; python_version>='3.13'"), []),
        (OLD, ("numpy; extra == 'fast'",), []),
        (OLD, ("numpy; sys_platform == 'linux'",), []),
        (OLD, (), []),
        (BOTH, ("numpy>=1.20",), []),
        (NEITHER, ("numpy>=1.20",), []),
        (OLD, ("no requirement at all !", "numpy"), ["WF410:warning"]),
    ],
)
def test_numpy_headers_against_requirements(content, requires, expected):
    found = run(numpy_module(content, *requires))
    assert [f"{item.code}:{item.severity}" for item in found] == expected
    assert all("3.10" not in item.message for item in found)


@pytest.mark.parametrize(
    "python, expected",
    [
        ((3, 8), []),
        ((3, 9), ["WF410:warning"]),
    ],
)
def test_numpy_2_counts_where_the_python_can_have_it(python, expected):
    thing = numpy_module(OLD, "numpy>=1.20")
    assert codes(replace(thing, profile=Profile(python=python))) == expected


@pytest.mark.parametrize("requires", ["numpy>=1.24", "numpy>=1.25", "numpy>=2"])
def test_the_oldest_numpy_that_a_module_runs_with(requires):
    found = run(numpy_module(FOR_125, requires))
    assert [str(item.severity) for item in found] == (["info"] if requires < "numpy>=1.25" else [])
    assert all("_core.pyd needs NumPy 1.25 or later" in item.message for item in found)
    assert all(item.hint.startswith("require numpy>=1.25") for item in found)


def test_no_numpy_older_than_the_first_with_wheels_for_the_python():
    (found,) = run(numpy_module(FOR_125, "numpy>=1.17"))
    assert "but the wheel allows 1.23 (numpy>=1.17)" in found.message


def test_a_module_that_nothing_imports_is_not_judged():
    assert codes(numpy_module(OLD, "numpy", loaded=False)) == []
