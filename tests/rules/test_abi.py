"""Extension modules for another Python than the wheel promises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.subjects import SITE, codes, dll, loads, run, scanned, subject, wheel
from tests.support.environments import lay
from tests.support.tables import named_cases
from tests.support.wheels import ALONE, build_wheel, extension, library
from tools.forge import forge_dll
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.knowledge.tables import table_date
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


MODULE = extension("python311.dll:Py_DecRef", name="_core")
OTHER = library("_core.pyd:PyInit__other", "python311.dll:Py_DecRef")
LIBRARY = library("_core.pyd:decode", "python311.dll:Py_IncRef")
CORE = "from . import _core\n"
UNLESS = "try:\n    from . import _core\nexcept ImportError:\n    _core = None\n"
ABSENT = "ModuleNotFoundError: No module named 'pkg._core'"
NO_ENTRY = "ImportError: dynamic module does not define module export function (PyInit__core)"
SPEC = "from importlib import util\nNAME = '_other'\nmade = util.spec_from_file_location(NAME, __file__)\n"
OPS = 'import torch\nload = torch.ops.load_library\nNAME = "_core"\nload_library(NAME)\n'


@named_cases(
    "names, data, init, expected, message",
    {
        "sound": (["_core.cp311-win_amd64.pyd"], MODULE, CORE, [], ""),
        "for several Pythons": ([f"_core.cp3{minor}-win_amd64.pyd" for minor in (10, 11, 12)], MODULE, CORE, [], ""),
        "other Python": (["_core.cp310-win_amd64.pyd"], MODULE, CORE, ["error"], ABSENT),
        "other Python, caught": (["_core.cp310-win_amd64.pyd"], MODULE, UNLESS, ["warning"], ""),
        "other entry": (["_core.cp311-win_amd64.pyd"], OTHER, CORE, ["error"], NO_ENTRY),
        "for one Python": (
            ["_core.pyd"],
            OTHER,
            "import sys\nif sys.version_info[:2] == (2, 7):\n    from . import _core\n",
            ["warning"],
            "",
        ),
        "not Python's": (["_core.pyd"], library("_core.pyd:plugin"), "", [], ""),
        "torchcodec: code loads it under the name that it was built as": (["_core.pyd"], OTHER, SPEC, [], ""),
        "named otherwise": (["_core.pyd"], OTHER, SPEC.replace("'_other'", "'another'"), ["warning"], ""),
        "torchvision 0.26: a library with the suffix of a module, for torch.ops": (["_core.pyd"], LIBRARY, OPS, [], ""),
        "another library": (["_core.pyd"], LIBRARY, OPS.replace("_core", "path"), ["warning"], ""),
    },
)
def test_modules_that_cannot_be_imported(names, data, init, expected, message, tmp_path):
    report = scanned(tmp_path, {"pkg/__init__.py": init, **{f"pkg/{name}": data for name in names}})
    assert [str(item.severity) for item in report.findings if item.code == "WF316"] == expected
    assert (report.first_failure.message if report.first_failure else "") == message


LIMITED = extension("python3.dll:Py_DecRef", name="_core")


@pytest.mark.parametrize(
    "tag, names, init, requires, expected, message",
    [
        ("cp39-abi3-win_amd64", ["_core.pyd"], CORE, "", [], ""),
        ("cp39-abi3-win_amd64", ["_core.abi3.pyd"], CORE, "", ["error"], ABSENT),
        ("cp39-abi3-win_amd64", ["_core.cp311-win_amd64.pyd"], CORE, "", ["error"], ""),
        ("cp311-abi3-win_amd64", ["_core.cp311-win_amd64.pyd"], CORE, "==3.11.*", [], ""),
        ("cp39-abi3-win_amd64", ["_core.cp311-win_amd64.pyd", "_core.cp312-win_amd64.pyd"], CORE, "", [], ""),
        ("cp39-abi3-win_amd64", ["_core.cp311-win_amd64.pyd", "_core.pyd"], CORE, "", [], ""),
        ("cp39-abi3-win_amd64", ["_core.cp311-win_amd64.pyd", "_core.py"], CORE, "", [], ""),
        ("py3-none-win_amd64", ["_core.cp311-win_amd64.pyd"], CORE, "", ["warning"], ""),
        ("py3-none-win_amd64", ["_core.cp311-win_amd64.pyd"], UNLESS, "", [], ""),
        ("py3-none-win_amd64", ["_core.cp311-win_amd64.pyd"], CORE, ">=3.11,<3.12", [], ""),
        ("cp310.cp311-none-win_amd64", ["_core.cp311-win_amd64.pyd"], CORE, "", ["error"], ""),
        ("cp310.cp311-none-win_amd64", [f"_core.cp3{x}-win_amd64.pyd" for x in (10, 11)], CORE, "", [], ""),
        ("cp313-cp313t-win_amd64", ["_core.cp313t-win_amd64.pyd"], CORE, "", [], ""),
        ("cp313-cp313t-win_amd64", ["_core.cp313-win_amd64.pyd"], CORE, "", ["error"], ""),
    ],
)
def test_modules_that_not_every_python_of_the_tags_looks_for(tag, names, init, requires, expected, message, tmp_path):
    files = {"pkg/__init__.py": init, **{f"pkg/{name}": LIMITED if "pyd" in name else b"" for name in names}}
    more = [f"Requires-Python: {requires}"] if requires else []
    report = scan(build_wheel(tmp_path, tags=tag, files=files, extra_metadata=more), ALONE)
    assert [str(item.severity) for item in report.findings if item.code == "WF316"] == expected
    assert (report.first_failure.message if report.first_failure else "") == message


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
PATCHED = "import os\nos.add_dll_directory(os.path.join(os.path.dirname(__file__), os.pardir, 'pkg.libs'))\n"


@named_cases(
    "module, files, code, cause, number",
    {
        "the debug interpreter": (
            extension("python311_d.dll:Py_DecRef", name="_core"),
            {},
            "WF301:error",
            "python311_d.dll",
            126,
        ),
        "a symbol that came later": (
            extension("python311.dll:PyType_GetDict", name="_core"),
            {},
            "WF310:error",
            "python311.dll",
            127,
        ),
        "a git-lfs pointer": (
            extension("helper.dll", name="_core"),
            {"pkg/__init__.py": PATCHED, "pkg.libs/helper.dll": POINTER},
            "WF203:error",
            "helper.dll",
            193,
        ),
    },
)
def test_a_dll_that_a_module_does_not_get(tmp_path, module, files, code, cause, number):
    name = "_core.cp311-win_amd64.pyd"
    report = scanned(tmp_path, {"pkg/__init__.py": "", f"pkg/{name}": module, **files})
    assert code in codes(report)
    assert report.verdict is Verdict.BROKEN
    assert (report.first_failure.code, report.first_failure.chain) == (number, (name, cause))


def of_python(python: str, *symbols: str) -> bytes:
    return forge_dll("_core.pyd", imports={python: list(symbols)}, exports=["PyInit__core"])


@pytest.mark.parametrize(
    "tag, dll, verdict",
    [
        ("cp314t", "python314t.dll", Verdict.BROKEN),
        ("cp315", "python315.dll", Verdict.BROKEN),
        ("cp316", "python316.dll", Verdict.UNSURE),
    ],
)
def test_a_renamed_import_of_a_new_python_is_never_ok(tag, dll, verdict, tmp_path):
    """With a table that ended at 3.13, a made-up name was no fault for 3.14 and 3.15."""
    files = {"pkg/__init__.py": "from . import _core\n"}
    made = {}
    for symbol in ("PyObject_GetAttr", "PyObject_GetAttX"):
        files[f"pkg/_core.{tag}-win_amd64.pyd"] = of_python(dll, symbol)  # type: ignore[assignment]
        wheel = build_wheel(tmp_path / symbol, "pkg", "1.0", f"{tag.rstrip('t')}-{tag}-win_amd64", files)
        made[symbol] = scan(wheel, ALONE)
    assert made["PyObject_GetAttr"].verdict is Verdict.OK  # it is in the stable ABI, so every Python 3 has it
    assert made["PyObject_GetAttX"].verdict is verdict
    if verdict is Verdict.UNSURE:
        (found,) = (item for item in made["PyObject_GetAttX"].findings if item.code == "WF418")
        assert f"of {table_date('python_exports.txt')} ends at Python 3.15" in found.message


@pytest.mark.parametrize(
    "tags, dll, verdict",
    [
        ("cp316-abi3-win_amd64", "python3.dll", Verdict.UNSURE),
        ("cp315-abi3-win_amd64", "python3.dll", Verdict.BROKEN),
    ],
)
def test_a_stable_abi_that_came_after_the_table(tags, dll, verdict, tmp_path):
    """A name that is not in the table may have come with the Python that the wheel is for."""
    files = {"pkg/__init__.py": "from . import _core\n", "pkg/_core.pyd": of_python(dll, "PyCame_Later")}
    wheel = build_wheel(tmp_path, "pkg", "1.0", tags, files)  # type: ignore[arg-type]
    report = scan(wheel, ALONE)
    assert report.verdict is verdict
    said = [item.message for item in report.findings if "could not tell: the table of 20" in item.message]
    assert bool(said) is (verdict is Verdict.UNSURE)


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


@pytest.mark.parametrize(
    "tags, exports, message",
    [
        ("cp315-cp315-win_amd64", ["PyModExport__core"], ""),
        ("cp315-cp315-win_amd64", ["PyInit_other"], "module export function (PyModExport__core or PyInit__core)"),
        ("cp27-cp27m-win_amd64", ["init_core"], ""),
        (
            "cp27-cp27m-win_amd64",
            ["PyInit__core"],
            "ImportError: dynamic module does not define init function (init_core)",
        ),
    ],
)
def test_the_entry_is_the_one_of_the_python_of_the_tags(tags, exports, message, tmp_path):
    """A module of a wheel for Python 2 was called broken because it has no PyInit function."""
    python = f"python{tags[2:].partition('-')[0]}.dll" if tags.startswith("cp") else "python27.dll"
    module = forge_dll("_core.pyd", imports={python: ["PyObject_Call"]}, exports=exports)
    files = {"pkg/__init__.py": "from . import _core\n", "pkg/_core.pyd": module}
    made = scan(build_wheel(tmp_path, "pkg", "1.0", tags, files), ALONE)
    assert (made.first_failure.message if made.first_failure else "").endswith(message)
    assert [item.code for item in made.findings if item.code == "WF316"] == (["WF316"] if message else [])


CHOOSES = """
import importlib.util, os, sys
path = os.path.join(os.path.dirname(__file__), "libs", "py3" + str(sys.version_info.minor), "_core.pyd")
spec = importlib.util.spec_from_file_location("_core", path)
importlib.util.module_from_spec(spec)
"""


@named_cases(
    "folders, verdict",
    {
        "one for each Python": (("39", "310", "311"), Verdict.OK),
        "none for the tag's Python": (("39", "310"), Verdict.BROKEN),
    },
)
def test_modules_for_several_pythons_in_a_folder_for_each(tmp_path, folders, verdict):
    """libsgd 0.13.9 has a module for each of four Pythons, and was called broken for three of them."""
    files = {f"pkg/libs/py{python}/_core.pyd": of_python(f"python{python}.dll", "Py_IncRef") for python in folders}
    assert scanned(tmp_path, {"pkg/__init__.py": CHOOSES, **files}).verdict is verdict


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
