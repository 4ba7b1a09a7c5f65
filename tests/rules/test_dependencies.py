"""What nobody provides is told once per DLL, as an error where the package itself runs into it."""

from __future__ import annotations

from itertools import starmap

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, linked, loads, run, scanned, subject, torch, wheel
from tests.support.tables import named_cases
from tests.support.wheels import ALONE
from wheelfix.base.options import RepairOptions
from wheelfix.errors import CannotRepair
from wheelfix.model import (
    Driver,
    Edge,
    EdgeKind,
    Missing,
    OwnedBy,
    PythonRuntime,
    Repairable,
    System,
    VcRedist,
)
from wheelfix.repairs.repair import repair_wheel
from wheelfix.report.document import next_steps

PYD, OTHER, MIDDLE = SITE + "pkg/_core.pyd", SITE + "pkg/other.pyd", SITE + "pkg/middle.dll"
PLUGIN = SITE + "pkg/plugins/qsql.dll"
FBGEMM, CPU, CORE = LIB + "fbgemm.dll", LIB + "torch_cpu.dll", LIB + "mkl_core.2.dll"
OMP, TARGET = LIB + "libiomp5md.dll", LIB + "libomp.dll"
GONE = "libomp140.x86_64.dll"
FFMPEG = {SITE + f"torio/_ffmpeg{n}.pyd": f"avutil-{n + 52}.dll" for n in (4, 5, 6)}
FFMPEG_4, FFMPEG_5, _ = FFMPEG
HIDDEN = SITE + "pkg/bin/foo.dll"
BIND = "Library/bin/tbbbind_2_0.dll"
CUBLAS = OwnedBy("cublas64_12.dll", "nvidia-cublas-cu12", False, "its folder is not added")


def companion(importer: str, name: str, because: str = "", *, required: bool = True) -> Edge:
    return edge(importer, name, kind=EdgeKind.COMPANION, required=required, because=because)


def forwarder(provider: str = "", unexported: tuple[str, ...] = ()) -> Edge:
    return edge(OMP, "libomp.dll", provider or None, EdgeKind.FORWARDER, unexported=unexported)


CASES = {
    "the chain leads from the load to the cause": (
        linked(edge(PYD, "middle.dll", MIDDLE), edge(MIDDLE, "Gone.DLL"), loaded=[PYD]),
        ["WF301:error"],
        "(_core.pyd -> middle.dll -> Gone.DLL)",
    ),
    "spellings of one name are one DLL": (
        linked(edge(PYD, "gone.dll"), edge(OTHER, "GONE"), loaded=[PYD, OTHER]),
        ["WF301:error"],
        "gone.dll, imported by _core.pyd and other.pyd, is missing",
    ),
    "a plugin that nothing loads": (
        linked(edge(PLUGIN, "libpq.dll")),
        ["WF301:warning"],
        "nothing in the wheel is known to load",
    ),
    "an environment's own faults are not the wheel's": (
        subject({PYD: dll()}, [edge(SITE + "numpy/other.dll", "gone.dll")], events=[loads(PYD)]),
        [],
        "",
    ),
    "none of several backends loads": (
        linked(*starmap(edge, FFMPEG.items()), loaded=[loads(path, 126) for path in FFMPEG]),
        ["WF301:warning"] * 3,
        "it is for one of several backends, of which none loads",
    ),
    "another backend loads": (
        linked(
            edge(FFMPEG_4, FFMPEG[FFMPEG_4]),
            edge(FFMPEG_5, FFMPEG[FFMPEG_5], SITE + "torio/avutil-57.dll"),
            loaded=[loads(FFMPEG_4, 126, ("_ffmpeg4.pyd", FFMPEG[FFMPEG_4])), FFMPEG_5],
        ),
        ["WF301:info"],
        "it is for one of several backends, and _ffmpeg5.pyd loads",
    ),
    "modules that need the same library are not backends": (
        linked(*(edge(path, "avutil-56.dll") for path in FFMPEG), loaded=[loads(path, 126) for path in FFMPEG]),
        ["WF301:error"],
        "",
    ),
    "tbb12.dll tries one tbbbind after the other": (
        linked(edge(BIND, "libhwloc-15.dll"), images={"Library/bin/tbb12.dll": dll()}),
        ["WF301:info"],
        "tbb12.dll loads tbbbind_2_0.dll only if it can",
    ),
    "a companion that is needed": (
        linked(companion(CORE, "mkl_def.2.dll", "the kernel for all"), loaded=[CORE]),
        ["WF302:error"],
        "the kernel for all",
    ),
    "of a DLL that nothing loads": (linked(companion(CORE, "mkl_def.2.dll")), ["WF302:warning"], ""),
    "a companion that is not needed": (
        linked(companion(CORE, "mkl_def.2.dll", "nice to have", required=False), loaded=[CORE]),
        ["WF303:info"],
        "nice to have",
    ),
    "who cannot do without outweighs who can": (
        linked(
            companion(CORE, "x.dll", "nice to have", required=False),
            companion(LIB + "other.dll", "x.dll", "needed"),
            loaded=[CORE, LIB + "other.dll"],
        ),
        ["WF302:error"],
        "which other.dll loads at run time, is missing: needed",
    ),
    "companions of a missing DLL": (  # the Kepler build: mkl_intel_thread.2.dll alone would not help
        linked(
            edge(CPU, "mkl_intel_thread.2.dll"),
            companion("mkl_intel_thread.2.dll", "mkl_core.2.dll", "it computes there"),
            loaded=[loads(CPU, 126, ("torch_cpu.dll", "mkl_intel_thread.2.dll"))],
            torch=torch(),
        ),
        ["WF301:error", "WF302:error"],
        "mkl_intel_thread.2.dll, imported by torch_cpu.dll, is missing",
    ),
    "required companions are told one by one": (
        linked(*(companion(CORE, name) for name in ("mkl_def.2.dll", "mkl_avx2.2.dll")), loaded=[CORE]),
        ["WF302:error"] * 2,
        "mkl_avx2.2.dll, which",
    ),
    "a delay load that ordinary use needs": (
        linked(edge(PYD, "late.dll", kind=EdgeKind.DELAY), loaded=[PYD]),
        ["WF304:error"],
        "ordinary use makes that call",
    ),
    "a delay load": (
        linked(edge(PYD, "late.dll", kind=EdgeKind.DELAY, required=False), loaded=[PYD]),
        ["WF304:warning"],
        "unless the program handles that",
    ),
    "a delay load of what is imported elsewhere": (
        linked(
            edge(PYD, "gone.dll", kind=EdgeKind.DELAY, required=False),
            edge(OTHER, "gone.dll"),
            loaded=[PYD, OTHER],
        ),
        ["WF301:error"],
        "",
    ),
    "an owner out of reach": (
        linked(edge(PYD, "cublas64_12.dll", CUBLAS), loaded=[loads(PYD, 126)]),
        ["WF307:error"],
        "nvidia-cublas-cu12, but out of reach: its folder is not added",
    ),
    "of a DLL that nothing loads, too": (linked(edge(PYD, "cublas64_12.dll", CUBLAS)), ["WF307:info"], ""),
    "an ordinal that is not there": (
        linked(edge(CPU, "libiomp5md.dll", OMP, unexported=(17,)), loaded=[loads(CPU, 182)]),
        ["WF310:error"],
        "imports ordinal 17 from libiomp5md.dll, which does not export it; loading torch_cpu.dll fails with error 182",
    ),
    "symbols that are not there": (
        linked(edge(CPU, "libiomp5md.dll", OMP, unexported=("a", "b", "c", "d")), loaded=[loads(CPU, 127)]),
        ["WF310:error"],
        "imports a, b, c and 1 more from libiomp5md.dll, which does not export them; loading torch_cpu.dll fails with "
        "error 127",
    ),
    "a symbol for what nothing loads": (
        linked(edge(CPU, "libiomp5md.dll", OMP, unexported=("x",))),
        ["WF310:warning"],
        "",
    ),
    "a stub without its target": (
        linked(edge(CPU, "libiomp5md.dll", OMP), forwarder(), loaded=[loads(CPU, 127)]),
        ["WF311:error"],
        "libiomp5md.dll is a stub that forwards calls to libomp.dll, which is missing",
    ),
    "a stub whose target does not have the function": (
        linked(forwarder(TARGET, ("omp_new",)), loaded=[OMP]),
        ["WF311:error"],
        "which does not export omp_new",
    ),
}


@named_cases("thing, expected, said", CASES)
def test_what_is_found_about_a_need(thing, expected, said):
    assert codes(thing, "WF3") == expected
    assert not said or said in run(thing, "WF3")[0].message


def test_a_missing_dll_is_told_once_with_all_who_need_it():
    """torch 2.4.0 from PyPI: fbgemm and torch_cpu import a DLL that is not in the wheel."""
    failed = [loads(FBGEMM, 126, ("fbgemm.dll", GONE)), loads(CPU, 126, ("torch_cpu.dll", "fbgemm.dll", GONE))]
    edges = [edge(FBGEMM, GONE), edge(CPU, GONE), edge(CPU, "fbgemm.dll", FBGEMM)]
    (found,) = run(linked(*edges, loaded=failed, torch=torch()))
    assert (found.code, str(found.severity), found.subject) == ("WF301", "error", GONE)
    assert found.message == (
        "libomp140.x86_64.dll, imported by fbgemm.dll and torch_cpu.dll, is missing; "
        "loading fbgemm.dll fails with error 126"
    )
    assert found.evidence["needed_by"] == ["torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]
    assert found.evidence["chain"] == ["fbgemm.dll", GONE]
    assert found.evidence["searched"] == ["<System32>"]
    assert found.hint


@pytest.mark.parametrize(
    "provider",
    [System("x.dll"), PythonRuntime("x.dll"), Driver("x.dll"), OwnedBy("x.dll", "torch", True, "torch loads it first")],
    ids=lambda provider: type(provider).__name__,
)
def test_what_others_own_is_not_missing(provider):
    found = codes(linked(edge(PYD, "x.dll", provider), loaded=[PYD]))
    assert found == (["WF319:info"] if isinstance(provider, OwnedBy) else [])


@pytest.mark.parametrize("user, named", [("pkg/bin/tool.exe", False), ("pkg/_core.pyd", True)])
def test_a_dll_where_nothing_looks_is_told_as_that(user, named):
    """rapidspeech 1.4.3: folders of the Python process do not help the programs in bin."""
    missing = Missing(searched=("<System32>",), present_at=(HIDDEN,))
    path = SITE + user
    (found,) = run(linked(edge(path, "foo.dll", missing), images={HIDDEN: dll()}, loaded=[loads(path, 126)]), "WF305")
    assert (found.subject, found.repairable) == ("pkg/bin/foo.dll", Repairable.ALWAYS)
    assert found.evidence["present_at"] == ["pkg/bin/foo.dll"]
    assert ("os.add_dll_directory" in found.hint) is named
    assert "puts a copy beside" in found.hint


@pytest.mark.parametrize(
    "path, needed, core, expected",
    [
        ("PySide6/plugins/sqldrivers/qsqlpsql.dll", "LIBPQ.dll", True, "info"),
        ("pymeshlab/lib/plugins/io_e57.dll", "E57Format.dll", True, "warning"),
        ("PySide6/qsqlpsql.dll", "LIBPQ.dll", True, "warning"),
    ],
)
def test_qt_passes_over_plugins_that_do_not_load(path, needed, core, expected):
    """pymeshlab without E57Format.dll cannot read a kind of file that it names; PySide6 is made without LIBPQ.dll."""
    images = {SITE + "PySide6/Qt6Core.dll": dll()} if core else {}
    assert codes(linked(edge(SITE + path, needed), images=images)) == [f"WF301:{expected}"]


def test_optional_companions_of_one_parent_are_told_together():
    """The one reason that was said about tbbbind and tbbmalloc was that of tbbbind."""
    names = {"tbbbind.dll": "threads are not bound", "tbbmalloc.dll": "another allocator is used", "tcm.dll": ""}
    (found,) = run(linked(*(companion(CORE, *one, required=False) for one in names.items()), loaded=[CORE]))
    assert found.message == (
        "tbbbind.dll, tbbmalloc.dll and tcm.dll, which mkl_core.2.dll loads if they are there, are missing: "
        "threads are not bound; another allocator is used"
    )
    assert found.evidence["names"] == [*names]


def test_the_vc_runtime_is_told_once_per_wheel():
    names = ["MSVCP140.dll", "VCOMP140.DLL"]
    edges = [edge(path, name, VcRedist(name)) for path in (FBGEMM, CPU) for name in names]
    (found,) = run(linked(*edges, loaded=[FBGEMM, CPU]))
    assert (found.code, str(found.severity)) == ("WF306", "info")
    assert found.evidence["names"] == ["msvcp140.dll", "vcomp140.dll"]
    assert found.evidence["needed_by"] == ["torch/lib/fbgemm.dll", "torch/lib/torch_cpu.dll"]


@named_cases(
    "requires, loaded, expected",
    {
        "elsewhere": ((), [PYD], ["WF306:info"]),
        "requirement": (("msvc-runtime",), [PYD], []),
        "extra": (("msvc-runtime; extra == 'x'",), [PYD], ["WF306:info"]),
    },
)
def test_the_vc_runtime_that_the_wheel_or_a_requirement_brings_is_no_need(requires, loaded, expected):
    """PyQt6-Qt6 has msvcp140.dll in bin; its plugins are loaded after that."""
    own = {SITE + "other/msvcp140.dll": dll()}
    need = edge(PYD, "MSVCP140.dll", VcRedist("MSVCP140.dll"))
    assert codes(linked(need, loaded=loaded, images=own, wheel=wheel(requires=requires)), "WF306") == expected


UNREAD = "import ctypes\nctypes.CDLL(open('name').read())\n"


@named_cases(
    "files, promised",
    {
        "a module": (
            {"pkg/_core.pyd": "imports foo.dll"},
            True,
        ),
        "lcm: a program": ({"bin/tool.exe": "imports foo.dll"}, False),
        "Shapely 1.7: code that was not read stops a repair": (
            {
                "pkg/_core.pyd": "imports foo.dll",
                "pkg/__init__.py": UNREAD,
            },
            False,
        ),
    },
)
def test_a_repair_is_promised_only_where_it_copies(tmp_path, files, promised):
    report = scanned(tmp_path, {"pkg/__init__.py": "", "pkg/bin/foo.dll": "", **files})
    (item,) = (one for one in report.findings if one.code == "WF305")
    assert "a copy beside" in item.hint
    assert [step.command for step in next_steps(report, report.findings, ())] == (
        [f"wheelfix repair {report.path}"] if promised else []
    )
    options = RepairOptions(scan=ALONE)
    try:
        copied = bool(repair_wheel(report.path, options).plan.additions)
    except CannotRepair:
        copied = False
    assert copied is promised
