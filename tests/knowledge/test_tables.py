"""Tables are read from the package and refuse what contradicts itself."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tomli

import wheelfix
from wheelfix.errors import EnvironmentFailure
from wheelfix.knowledge import cards, companions, cuda, families, providers, system, tables, winerrors
from wheelfix.knowledge import system as toolchains
from wheelfix.knowledge.tables import Checker, NamePattern, Table, TableFault, parse_toml, read_text

NAMES = Table("names.txt", Checker.names)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("# source: x\nb.dll\na.dll\n", "'a.dll' after 'b.dll'", id="unsorted"),
        pytest.param("# source: x\na.dll\na.dll\n", "'a.dll' after 'a.dll'", id="repeated"),
        pytest.param("# source: x\nA.dll\n", "'A.dll' is not folded", id="not-folded"),
        pytest.param("a.dll\n", "no source", id="without-source"),
    ],
)
def test_a_bad_list_is_refused(text: str, fault: str) -> None:
    with pytest.raises(TableFault) as caught:
        NAMES.parse(text)
    assert fault in caught.value.faults


def test_a_good_list_is_a_set_of_names() -> None:
    assert NAMES.parse("# source: x\na.dll\nb.dll\n") == {"a.dll", "b.dll"}


def test_every_table_says_in_its_first_lines_where_it_is_from_and_when() -> None:
    for path in (p for p in Path(tables.__file__).parent.iterdir() if p.suffix in (".txt", ".toml")):
        head = path.read_text(encoding="utf-8")[:1500]
        assert tables.header_field(head, "source"), path
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", tables.header_field(head, "date")), path
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", tables.table_date(path.name)), path


def test_what_is_not_toml_says_which_table() -> None:
    with pytest.raises(TableFault, match=r"bad\.toml cannot be used"):
        parse_toml("bad.toml", "= nonsense")


def test_a_table_that_is_not_there_is_our_environment_failing() -> None:
    with pytest.raises(EnvironmentFailure, match=r"nowhere\.toml"):
        read_text("nowhere.toml")


def test_every_fault_of_a_table_is_told_at_once() -> None:
    check = Checker("t.toml")
    tree = {"row": [{"name": "a", "colour": "red", "source": "s"}, {"name": "b"}]}
    assert check.rows(tree, "row", ["name"]) == []
    assert check.rows({}, "other", ["name"]) == []
    check.unique("name", ["a", "a"])
    check.one_of("kind", "x", ["y"])
    check.pattern("(")
    with pytest.raises(TableFault) as caught:
        check.finish()
    assert len(caught.value.faults) == 6
    assert any("unknown field colour" in fault for fault in caught.value.faults)
    assert any("does not have source" in fault for fault in caught.value.faults)


def test_tables_are_found_inside_a_zip(tmp_path: Path) -> None:
    """A zipapp has no files on disk, so a path beside ``__file__`` would not do."""
    package = Path(wheelfix.__file__).parent
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for file in [*package.glob("*.py"), *package.glob("[bm]*/*.py"), *package.glob("knowledge/**/*")]:
            if file.is_file():
                target.write(file, Path("wheelfix", file.relative_to(package)))
        for file in Path(tomli.__file__).parent.glob("*.py"):  # as in the zipapp; Python 3.10 has no tomllib
            target.write(file, Path("tomli", file.name))
    code = (
        "from wheelfix.knowledge.system import classify; print(classify('KERNEL32').kind, classify('nvcuda.dll').kind);"
        "from wheelfix.knowledge.targets import known_target; print(known_target('windows-n').build)"
    )
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(archive)!r}); {code}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert run.stdout.split() == ["system", "driver", "22000"], run.stderr


@pytest.mark.parametrize(
    ("pattern", "starts"),
    [
        (r"(msvc[rp]|vcomp|mfcm?)90u?\.dll|vcomp\.dll", ("msvc", "vcomp", "mfc", "vcomp")),
        (r"(?P<kind>tcl(?:8|9)|tk)\d+\.dll", ("tcl", "tk")),
        (r"lib(?:crypto|ssl)-3\.dll", ("lib",)),
        (r"(?:lib)?gst.+\.dll", ("",)),
    ],
)
def test_a_pattern_is_compiled_for_names_that_begin_like_one_of_its_alternatives(
    pattern: str, starts: tuple[str, ...]
) -> None:
    assert NamePattern(pattern).starts == starts


def test_every_pattern_of_every_table_can_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Compiled(NamePattern):
        def __init__(self, pattern: str) -> None:
            seen.append(re.compile(pattern))
            super().__init__(pattern)

    for module in (tables, system):
        monkeypatch.setattr(module, "NamePattern", Compiled)
    for name, table in (
        ("companions.toml", companions.companion_rules),
        ("distributions.toml", providers.distributions),
        ("families.toml", families.families),
        ("providers.toml", providers.shippers),
        ("runtimes.toml", system.runtimes),
        ("userprograms.toml", companions.programs),
    ):
        before = len(seen)
        table.parse(read_text(name))
        assert len(seen) > before


CONTRADICTIONS: dict[str, tuple[Table[Any], list[tuple[str, str, str]]]] = {
    "cards.toml": (
        cards.card_table,
        [
            ('capability = "3.2"', 'capability = "3.0"', "capability '3.0' twice"),
            ('last_cuda = "10.2"', 'last_cuda = "4.2"', "end before they begin"),
            ('cudnn_has = "8.7.0"', 'cudnn_has = "8.9.7"', "and 8.8.0 has none"),
            ('"Tesla K80",', '"Tesla K40",', "two capabilities"),
            ('capability = "12.1"\nnames', 'capability = "12.7"\nnames', "unknown capability 12.7"),
        ],
    ),
    "companions.toml": (
        companions.companion_rules,
        [
            ('strength = "beside"', 'strength = "maybe"', "strength 'maybe'"),
            ('versions = ">=8.3"', 'versions = "eight"', "not a set of versions"),
            ('each = ["mkl_core.{v}.dll"]', 'each = ["mkl_core.{w}.dll"]', "no group for"),
            ('each = ["mkl_core.{v}.dll"]', 'each = ["mkl_rt.{v}.dll"]', "its own companion"),
            ('each = ["zlibwapi.dll"]', 'each = ["cudnn_ops_infer64_8.dll"]', "as required and as"),
            ('globs = ["cudnn*64_{v}.dll"]\n', "", "names no companion"),
            ('globs = ["cudnn*64_{v}.dll"]', 'each = ["cudnn_ext64_9.dll"]', "given as globs"),
        ],
    ),
    "cuda.toml": (
        cuda.cuda_table,
        [
            ('"12.0-12.9" = "cudart64_12.dll"', '"11.8-12.9" = "cudart64_12.dll"', "two names for 11.8"),
            ('"11.0-11.8" = "cublas64_11.dll"', '"11.0-11.9" = "cublas64_11.dll"', "unknown span"),
            ('cuda = "11.7.0"', 'cuda = "11.7.1"', "twice"),
            ("cupti64_2022.3.0.dll", "cupti64_2022.2.1.dll", "belongs to two toolkits"),
            ('"10.0", "10.1"', '"10.1", "10.0"', "not in order"),
        ],
    ),
    "families.toml": (
        families.families,
        [
            ('id = "cufft"', 'id = "curand"', "family 'curand' twice"),
            ('together = ["tbb*.dll"]', 'together = ["TBB*.dll"]', "not folded"),
            (
                'together = ["nvrtc64_*.dll", ',
                'rename = true\nsize = 1\ntogether = ["nvrtc64_*.dll", ',
                "unknown field size",
            ),
            ('note = "it lies under debug_nonredist', 'source2 = "', "unknown field"),
        ],
    ),
    "distributions.toml": (
        providers.distributions,
        [
            ('name = "pyqt5-qt5"', 'name = "PyQt5_Qt5"', "not normalised"),
            ('folders = ["Lib/', 'folders = ["/Lib/', "not relative"),
            ('name = "mkl"\n', 'name = "mkl"\nfolders = ["a"]\n', "folders without patterns"),
            ('name = "mkl"\n', 'name = "mkl"\nonly = "x"\n', "without folders"),
            ('why = "importing pyarrow loads them"\n', "", "does not say how"),
            ('name = "tcmlib"', 'name = "tbb"', "twice"),
            ("cuda = 12\ntracks_cuda = true", "tracks_cuda = true", "without saying which"),
        ],
    ),
    "providers.toml": (
        providers.shippers,
        [
            ('families = ["cufft"]', 'families = ["cufftt"]', "unknown family 'cufftt'"),
            ('families = ["cufft"]', 'families = ["curand"]', "twice"),
            ('families = ["cufft"]\n', "", "either families or a pattern"),
        ],
    ),
    "runtimes.toml": (
        system.runtimes,
        [
            ('toolset = "12"', 'toolset = "13"', "unknown toolset '13'"),
            ('until = "3.10"', 'until = "3.1"', "ends before it begins"),
            ('folder = "DLLs"', 'folder = "Lib"', "folder 'Lib'"),
            (r"'nvml\.dll'", r"'nvcuda\.dll'", "twice"),
            ('vendor = "NVIDIA"\n', "", "does not have vendor"),
        ],
    ),
    "toolchains.toml": (
        toolchains.toolchains,
        [
            ('to = "14.29"', 'to = "14.31"', "Visual Studio 2022 overlaps Visual Studio 2019"),
            ('from = "2.20"', 'from = "3.20"', "ends before it begins"),
            ("build = 35207", "build = 36300", "compilers of 14.50 are not newer"),
            ('release = "3.14.6"', 'release = "3.11.9"', "twice"),
        ],
    ),
    "winerrors.toml": (
        winerrors.winerror_table,
        [
            ("code = 127\nname", "code = 126\nname", "code 126 twice"),
            ("code = 1455\nlanguage", "code = 1456\nlanguage", "unknown code 1456"),
            ("Die angegebene Prozedur", "Das angegebene Modul", "belongs to two codes"),
            ("missing_file = true\n", "", "does not have missing_file"),
        ],
    ),
}
"""Tables with what is changed in them, what it becomes, and the fault that is then found."""


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [pytest.param(name, *row, id=f"{name}: {row[2]}") for name, (_, rows) in CONTRADICTIONS.items() for row in rows],
)
def test_a_contradictory_table_is_refused(name: str, old: str, new: str, fault: str) -> None:
    text = read_text(name)
    assert old in text
    with pytest.raises(TableFault, match=re.escape(fault)):
        CONTRADICTIONS[name][0].parse(text.replace(old, new, 1))
