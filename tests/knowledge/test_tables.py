"""Tables are read from the package, refuse rows with other fields than they know, and do not contradict themselves."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

import wheelfix
from wheelfix.errors import EnvironmentFailure
from wheelfix.knowledge import (
    cards,
    companions,
    cuda,
    families,
    providers,
    system,
    tables,
    winerrors,
)
from wheelfix.knowledge.tables import Checker, NamePattern, Table, TableFault, parse_toml, read_text
from wheelfix.model import canonical, dll_key

NAMES = Table("names.txt", Checker.names)


def test_a_good_list_is_a_set_of_names():
    assert NAMES.parse("# source: x\na.dll\nb.dll\n") == {"a.dll", "b.dll"}


def test_every_table_says_in_its_first_lines_where_it_is_from_and_when():
    for path in (p for p in Path(tables.__file__).parent.iterdir() if p.suffix in (".txt", ".toml")):
        head = path.read_text(encoding="utf-8")[:1500]
        assert tables.header_field(head, "source"), path
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", tables.header_field(head, "date")), path
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", tables.table_date(path.name)), path


def test_what_is_not_toml_says_which_table():
    with pytest.raises(TableFault, match=r"bad\.toml cannot be used"):
        parse_toml("bad.toml", "= nonsense")


def test_a_table_that_is_not_there_is_our_environment_failing():
    with pytest.raises(EnvironmentFailure, match=r"nowhere\.toml"):
        read_text("nowhere.toml")


def test_every_fault_of_a_table_is_told_at_once():
    check = Checker("t.toml", '[[row]]\nname = "a"\ncolour = "red"\nsource = "s"\n[[row]]\nname = "b"\n')
    assert check.columns("row", "name") == []
    assert check.rows("other", ["name"]) == []
    with pytest.raises(TableFault) as caught:
        check.finish()
    assert len(caught.value.faults) == 3
    assert any("unknown field colour" in fault for fault in caught.value.faults)
    assert any("does not have source" in fault for fault in caught.value.faults)


def test_tables_are_found_inside_a_zip(tmp_path):
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


def test_names_that_match_a_pattern_begin_as_it_says(monkeypatch):
    seen = []
    monkeypatch.setattr(NamePattern, "__init__", lambda _, pattern: seen.append(pattern))
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
    monkeypatch.undo()

    patterns = st.sampled_from(sorted({*seen}))

    @settings(max_examples=300, deadline=None)
    @given(patterns.flatmap(lambda one: st.tuples(st.just(one), st.from_regex(re.compile(one, re.A), fullmatch=True))))
    def begins_so(drawn: tuple[str, str]) -> None:
        pattern, name = drawn
        assert name.startswith(NamePattern(pattern).starts)

    begins_so()


# ------------------------------------------------------------------------------------- that no table contradicts itself


def raw(name: str, key: str) -> list[dict[str, Any]]:
    """The rows of a table as TOML has them."""
    return parse_toml(name, read_text(name))[key]


def lines(name: str) -> list[str]:
    return tables.entries(read_text(name))


def test_comments_and_empty_lines_are_no_entries():
    text = "# about\r\n#\r\n\r\nab one two\r\n# between\r\n\r\nabc three\r\n"
    assert tables.entries(text) == ["ab one two", "abc three"]
    assert tables.entries("# nothing") == []


def distinct(values: Iterable[object]) -> None:
    found = list(values)
    assert len(set(found)) == len(found), [value for value in found if found.count(value) > 1]


def in_order(values: Iterable[Any]) -> None:
    """Each is greater than the one before."""
    found = list(values)
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    "name", ["system_amd64.txt", "system_arm64.txt", "system_x86.txt", "known_dlls.txt", "api_sets.txt"]
)
def test_lists_of_names_are_folded_and_in_order(name):
    in_order(lines(name))
    assert lines(name) == [line.strip().lower() for line in lines(name)]


def test_cards():
    known = cards.card_table().architectures
    assert all({*card.archs} <= cards.known_archs() for card in cards.card_names().values())
    distinct(row["capability"] for row in raw("cards.toml", "architecture"))
    for one in known.values():
        assert one.last_cuda is None or one.first_cuda <= one.last_cuda
    of_name = {}
    for row in raw("cards.toml", "card"):
        assert tables.pair(row["capability"]) in known
        for name in row["names"]:
            assert of_name.setdefault(cards.card_key(name, True), row["capability"]) == row["capability"], name


def test_cards_of_others():
    found = cards.other_cards()
    for row in raw("othercards.toml", "card"):
        assert cards.vendor_of(row["arch"]) == row["vendor"], row
    distinct(cards.card_key(name, False) for row in raw("othercards.toml", "card") for name in row["names"])
    distinct(row["arch"] for row in raw("othercards.toml", "generic"))
    assert all(archs <= found.archs for archs in found.generic.values())


def test_names_of_cards():
    found = cards.card_names()
    assert len(found) == len(lines("card_names.txt"))
    assert all(key and card.name and card.archs for (_, key), card in found.items())


def test_drivers():
    distinct(row["release"] for row in raw("drivers.toml", "cuda"))
    known = cards.drivers()
    in_order(number for one in known.generations for number in dict.fromkeys([one.first, one.last]))
    in_order(one.driver for one in known.generations)
    in_order(one.cuda for one in known.languages)
    in_order(one.driver for one in known.languages)
    versions = [one.version for one in known.languages]
    assert versions == sorted(versions)


def test_companions():
    named = []
    for rule in companions.companion_rules():
        assert rule.strength in ("required", "expected", "beside", "optional")
        SpecifierSet(rule.versions)
        templates = (*rule.each, *rule.any_of, *rule.globs)
        assert templates, rule
        assert rule.strength != "beside" or not (rule.each or rule.any_of), rule
        groups = dict.fromkeys(re.compile(rule.parent.pattern).groupindex, "0")
        assert not any(rule.parent.fullmatch(dll_key(template.format(**groups))) for template in templates), rule
        named += [(rule.parent.pattern, name) for name in (*rule.each, *rule.any_of)]
    distinct(named)


def test_needs_of_runtimes():
    for line in lines("runtime_needs.txt"):
        assert re.fullmatch(r"\S+ \S+ (140|120|100)( unique)?", line), line


def test_programs_of_users():
    distinct(program.name for program in companions.programs())
    assert all(bool(program.words) is not program.feature for program in companions.programs())


def test_cuda():
    releases = cuda.cuda_table().releases
    in_order(releases)
    distinct(row["id"] for row in raw("cuda.toml", "library"))
    for row in raw("cuda.toml", "library"):
        assert ("names" in row) != ("each" in row), row
        ends = [cuda.release(end) for span in row.get("names", {}) for end in span.split("-")]
        assert set(ends) <= set(releases), row
        for (_, high), (low, _) in itertools.pairwise(sorted(zip(ends[::2], ends[1::2], strict=True))):
            assert high < low, row
    distinct(row["cuda"] for row in raw("cuda.toml", "cupti"))
    toolkit_of = {}
    for patch, name in cuda.cuda_table().cupti.items():
        assert patch[:2] in releases
        assert re.fullmatch(r"cupti64_[\d.]+\.dll", name)
        assert toolkit_of.setdefault(name, patch[:2]) == patch[:2], name


def test_libraries_of_cuda():
    found = cuda.cuda_libraries()
    assert {rule.number for rule in found.rules.values()} <= {"digits", "thousand", "none"}
    assert found.rules.keys() <= {family.id for family in families.families()}
    assert found.versions.keys() <= found.rules.keys()
    distinct(row["id"] for row in raw("cuda_libraries.toml", "library"))
    distinct(row["cuda"] for row in raw("cuda_libraries.toml", "toolkit"))
    known = cuda.cuda_table().releases
    assert all(cuda.release(row["cuda"]) in known for row in raw("cuda_libraries.toml", "toolkit"))


def test_builds_of_torch():
    distinct(row["torch"] for row in raw("torch_builds.toml", "build"))
    extensions = parse_toml("torch_builds.toml", read_text("torch_builds.toml"))["extensions"]
    for name in cuda.FAMILY[1:]:
        assert extensions[name], name
        assert all(re.fullmatch(r"(==|>=)[0-9]+(\.[0-9]+)*", wanted) for wanted in extensions[name].values())


def test_families():
    distinct(family.id for family in families.families())
    for family in families.families():
        for glob in family.together:
            assert "{version}" not in glob or "version" in re.compile(family.pattern.pattern).groupindex, family
            assert glob == glob.lower(), family
        assert family.redistribute or family.note, family


def test_distributions():
    distinct((owner.distribution, owner.only) for owner in providers.distributions())
    for owner in providers.distributions():
        assert canonical(owner.distribution) == owner.distribution
        assert all(folder == folder.strip("/") and "\\" not in folder for folder in owner.folders), owner
        assert owner.patterns or not owner.folders, owner
        assert owner.folders or not owner.only, owner
        assert owner.why or not owner.preloads, owner
        assert owner.preloads or not owner.at_start, owner
        assert owner.cuda or not owner.tracks_cuda, owner


def test_providers():
    named = [name for shipper in providers.shippers() for name in shipper.families]
    distinct(named)
    assert set(named) <= {family.id for family in families.families()}
    assert all(bool(shipper.families) is (shipper.pattern is None) for shipper in providers.shippers())


def test_runtimes():
    found = system.runtimes()
    for group in (found.drivers, found.python, found.vcredist):
        distinct(entry.pattern.pattern for entry in group)
    for file in found.python:
        assert file.folder in ("", "DLLs"), file


def test_toolchains():
    found = system.toolchains()
    distinct(row["release"] for row in raw("toolchains.toml", "python"))
    in_order(build for build, _ in found.compilers)
    in_order(toolset for _, toolset in found.compilers)


def test_exports_of_python():
    distinct(line.split()[0] for line in lines("stable_abi.txt"))
    columns = tables.header_field(read_text("python_exports.txt"), "columns").split()
    in_order(map(int, columns))
    distinct((line.split()[0], name) for line in lines("python_exports.txt") for name in line.split()[1:])
    for line in lines("python_exports.txt"):
        spans = [span.split("-") for span in line.split()[0].split(",")]
        assert len(line.split()) > 1, line
        assert all(end in columns for span in spans for end in span), line


def test_functions_of_windows():
    rows = [line.split() for line in lines("windows_since.txt")]
    assert all(len(row) > 2 and row[1].isdigit() for row in rows)
    distinct((row[0], function) for row in rows for function in row[2:])


def test_errors_of_windows():
    found = winerrors.winerror_table()
    rows = raw("winerrors.toml", "error")
    distinct(row["code"] for row in rows)
    distinct(row["name"] for row in rows)
    assert all(error.remedies for error in found.errors.values())
    distinct((row["language"], row["text"]) for row in raw("winerrors.toml", "sentence"))
    code_of = {}
    for code, _, text in found.sentences:
        assert code in found.errors, text
        assert code_of.setdefault(winerrors.squeeze(text), code) == code, text


def test_what_wine_does_otherwise():
    distinct(row.id for row in winerrors.deviations())
    for row in winerrors.deviations():
        assert row.phase in ("", "map", "bind"), row
        assert row.windows is None or row.log is not None, row
