"""Making tables again from an index, and comparing tables with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from packaging.version import Version

from tests.support.wheels import library
from tests.tools.served import ServedIndex
from tools import python_tables, refresh
from tools.package_index import IndexFault, PackageIndex
from wheelfix.knowledge.cuda import release_for
from wheelfix.knowledge.system import python_exports

HEADER = """\
#ifndef Py_X_H
#define PyAPI_FUNC(RTYPE) Py_EXPORTED_SYMBOL RTYPE
/* PyAPI_FUNC(int) PyNot_There(void); */
PyAPI_FUNC(PyObject *) PyObject_Call(PyObject *callable,
                                     PyObject *args);
PyAPI_FUNC(int (*)(void)) PyOdd_Hook(void);
PyAPI_FUNC(void) _Py_NO_RETURN Py_FatalError(const char *message);
PyAPI_DATA(PyObject *) PyExc_OSError;
PyAPI_FUNC(int) _PyPrivate(void);
PyAPI_FUNC(int) PyUnstable_Thing(void);
#ifdef HAVE_FORK
PyAPI_FUNC(void) PyOS_AfterFork_Child(void);
#endif
#ifdef MS_WINDOWS
PyAPI_FUNC(PyObject *) PyErr_SetFromWindowsErr(int);
#else
PyAPI_FUNC(int) PyOnly_Elsewhere(void);
#endif
#endif
"""


@pytest.fixture
def served() -> Iterator[ServedIndex]:
    with ServedIndex().serve() as index:
        yield index


def test_what_headers_declare_is_what_windows_exports():
    """Too many names would hide a fault, too few invent one; a name for other systems alone is of no harm."""
    found = python_tables.names_of_headers([HEADER])
    assert found - {"PyOnly_Elsewhere"} == {
        "PyObject_Call",
        "PyOdd_Hook",
        "Py_FatalError",
        "PyExc_OSError",
        "PyErr_SetFromWindowsErr",
    }


def test_a_name_for_free_threaded_pythons_alone_stops_the_table():
    """The table has one column for both builds: that holds only as long as their public names are the same."""
    only = "#ifdef Py_GIL_DISABLED\nPyAPI_FUNC(int) PyFree_Only(void);\n#endif\n"
    with pytest.raises(IndexFault, match="PyFree_Only"):
        python_tables.names_of_headers([only])


def test_the_exports_of_a_dll_in_a_wheel(served, monkeypatch):
    dll = library("python314.dll:PyObject_Call,_PyPrivate,PyUnstable_Thing")
    served.add("other-1.0-cp313.cp314-cp313.cp314-win_amd64.whl", {"Python314.dll": dll})
    monkeypatch.setattr(python_tables, "WHEELS", {"python314.dll": "other 1.0"})
    assert python_tables.shipped(PackageIndex(served.url)) == {"314": {"PyObject_Call"}}
    monkeypatch.setattr(python_tables, "WHEELS", {"python315.dll": "other 1.0"})
    with pytest.raises(IndexFault, match=r"other 1\.0 for python315\.dll"):
        python_tables.shipped(PackageIndex(served.url))


def test_the_table_says_the_same_after_it_was_written():
    found = {"39": {"PyA", "PyB"}, "310": {"PyB"}, "311": {"PyA", "PyB", "PyC"}}
    text = python_tables.exports_table({key: frozenset(names) for key, names in found.items()}, "a test", "2026-11-17")
    assert "39,311 PyA\n39-311 PyB\n311 PyC\n" in text
    assert python_exports.parse(text) == {(3, int(key[1:])): names for key, names in found.items()}


def test_releases_of_torchs_extensions(served, tmp_path):
    for version, torch in (("0.28.0", "torch ==2.13.0"), ("0.29.2", "torch>=2.14.0"), ("0.9.0", "torch==1.8")):
        served.add(f"torchvision-{version}-py3-none-win_amd64.whl", {}, (torch, "torch-other==1"))
    served.add("torchvision-0.30.0-py3-none-manylinux_2_28_x86_64.whl", {}, ("torch==2.15",))
    served.add("torchaudio-2.11.0-cp312-cp312-win_amd64.whl", {})
    (text,) = refresh.torch_table(PackageIndex(served.url), tmp_path, "2027-01-01").values()
    assert text.endswith(
        '[extensions.torchvision]\n"0.28.0" = "==2.13.0"\n"0.29.2" = ">=2.14.0"\n\n[extensions.torchaudio]\n'
    )
    assert "# date: 2027-01-01\n" in text


@pytest.mark.parametrize(
    "torch, distribution, release",
    [
        ("2.0.1", "torchvision", "0.15.2"),
        ("2.13.0", "torchvision", "0.28.0"),
        ("2.14.1", "torchvision", "0.29.2"),
        ("2.15.0", "torchvision", "0.29.2"),
        ("2.10.0", "torchaudio", "2.10.0"),
        ("2.11.0", "torchaudio", ""),  # torchaudio 2.11 requires no torch, so nothing says which one it is for
        ("1.0.0", "torchvision", ""),
    ],
)
def test_the_release_for_a_torch(torch, distribution, release):
    assert release_for(torch, distribution) == release


def test_a_table_that_is_behind_fails_the_check(served, capsys, monkeypatch):
    served.add("torch-9.1.0-cp315-cp315-win_amd64.whl", {})
    served.add("numpy-2.5.0-cp315-cp315-win_amd64.whl", {})
    served.add("nvidia_cuda_runtime-13.0.1-py3-none-win_amd64.whl", {})
    served.add("nvidia_cuda_cupti-13.0.1-py3-none-win_amd64.whl", {"nvidia/cu13/bin/cupti64_2099.1.0.dll": b""})
    served.add("cuda_toolkit-13.0.1-py3-none-any.whl", {})
    served.add("msvc_runtime-14.44.1-cp313-cp313-win_amd64.whl", {})
    monkeypatch.setattr(refresh, "named_releases", lambda: {"torch": {"9.1.0", "9.2.*"}})
    monkeypatch.setattr(refresh, "PackageIndex", lambda: PackageIndex(served.url))
    assert refresh.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert re.search(
        r"^behind  torch_builds\.toml: newest torch known: 2\.\d+; on the index: 9\.1\.0$", said, re.MULTILINE
    )
    assert "ok      python_exports.txt: newest Python known: 3.15; on the index: 3.15" in said
    assert "absent  torch==9.2.* is named" in said
    assert "torch==9.1.0" not in said
    assert re.search(r"^behind  cuda\.toml: newest CUPTI known: 20\S+; on the index: 2099\.1\.0$", said, re.MULTILINE)
    assert len(re.findall(r"^ok ", said, re.MULTILINE)) == 4


def test_texts_that_name_releases_are_found():
    found = refresh.named_releases()
    assert found
    assert all(Version(version.removesuffix(".*")) for versions in found.values() for version in versions)


def test_what_changed_is_said_without_the_date(tmp_path):
    (tmp_path / "x.txt").write_text("# date: 2026-01-01\na\n", encoding="utf-8")
    assert [*refresh.write({"x.txt": "# date: 2027-01-01\na\n"}, tmp_path)] == ["x.txt: as it was"]
    assert (tmp_path / "x.txt").read_text("utf-8") == "# date: 2027-01-01\na\n"  # it was compared on that day
    assert [*refresh.write({"x.txt": "# date: 2027-01-01\nb\n"}, tmp_path)] == [
        "x.txt: 2 lines changed",
        "    -a",
        "    +b",
    ]
    assert (tmp_path / "x.txt").read_text("utf-8").startswith("# date: 2027-01-01")
