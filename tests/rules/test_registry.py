"""The list of rules is whole, its pages are there, and what runs is chosen and ordered as promised."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wheelfix
from tests.rules.subjects import LIB, SITE, dll, edge, loads, run, subject, torch, wheel
from tests.support.tables import named_cases
from wheelfix.archive.faults import ArchiveFault
from wheelfix.errors import UsageError
from wheelfix.model import Edge, EdgeKind, Finding, InView, Machine, Malformed, Missing, Severity
from wheelfix.rules import registry
from wheelfix.rules.registry import Theme, finding, matches_any, with_allowed

CODES = """
101 102 103 104 105 106 107 108 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129
130 131 132 133 134
201 202 203 204 205 206 207 208 209 210
301 302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325 326 327 329 330
331 332
401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419
501 502 503 504 507 601 602 603 604 605 606 607 608 610 611 612 613
""".split()
HEADINGS = ["What it means", "Why it hurts", "Example", "What to do", "Known gaps"]


def test_every_permanent_code_is_registered():
    assert [rule.code for rule in registry.all_rules()] == [f"WF{number}" for number in CODES]


def test_a_new_file_in_the_package_is_found(tmp_path):
    """Nothing else has to list it."""
    (tmp_path / "brandnew.py").write_text(
        "from wheelfix.rules.registry import rule\n@rule('WF699')\ndef brand_new(subject):\n    return ()\n"
    )
    code = (
        "import sys, wheelfix.rules\n"
        "wheelfix.rules.__path__.append(sys.argv[1])\n"
        "from wheelfix.rules import registry\n"
        "registry.load_rules()\n"
        "assert registry.check_patterns(['WF699'], '--select') == ('WF699',)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


@pytest.mark.no_cover
def test_codes_are_not_compared_as_text():
    """A code that no rule has would compare as false in silence: ask for the function of a rule, or for a theme."""
    package = Path(wheelfix.__file__).parent
    found = {}
    registry.load_rules()
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not re.search(r"WF\d{3}", source):  # parsing every module takes two seconds
            continue
        tree = ast.parse(source)
        codes = {text for text in texts_in(tree) if re.fullmatch(r"WF\d{3}", text)}
        module = "wheelfix." + path.relative_to(package).with_suffix("").as_posix().replace("/", ".")
        own = {code for check, codes in registry._checks.items() if check.__module__ == module for code in codes}
        if codes - own:
            found[path.relative_to(package).as_posix()] = sorted(codes - own)
    assert found.pop("rules/registry.py") != []
    assert found == {}


def test_themes_have_codes_that_exist_and_each_one():
    codes = [code for theme in Theme for code in theme.value]
    assert set(codes) <= {rule.code for rule in registry.all_rules()}
    assert len(set(codes)) == len(codes)


def texts_in(tree: ast.AST) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_names_are_kebab_case_and_unique():
    names = [rule.name for rule in registry.all_rules()]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|unsigned", name) for name in names)
    assert len(set(names)) == len(names)


def test_summaries_are_one_sentence():
    for rule in registry.all_rules():
        assert re.fullmatch(r"[A-Z].{10,110}\.", rule.summary) or rule.summary.startswith(("cuDNN", "libiomp5md")), rule


def test_every_code_has_a_page_with_all_headings():
    for rule in registry.all_rules():
        text = registry.page(rule.code)
        assert text.startswith(f"# {rule.code} {rule.name}\n\n## What it means\n"), rule.code
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS, rule.code
        sections = re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]
        assert all(len(section.strip()) > 10 for section in sections), rule.code
        assert rule.code in sections[2], "the example shows the finding"
        assert max(map(len, text.splitlines())) <= 110, rule.code


def test_every_page_has_a_code():
    pages = resources.files("wheelfix.rules") / "pages"
    assert sorted(page.name for page in pages.iterdir()) == [f"WF{number}.md" for number in CODES]


@pytest.mark.slow
def test_pages_are_served_from_a_zip(tmp_path):
    package = Path(wheelfix.__file__).parent
    archive = tmp_path / "wheelfix.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(package.rglob("*")):
            if file.suffix in {".py", ".md", ".toml", ".txt"}:
                packed.write(file, Path("wheelfix") / file.relative_to(package))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from wheelfix.rules import registry; "
        "print(registry.page('WF301')); print(registry.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(archive)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("# WF301 missing-dependency"), done.stderr
    assert str(archive) in done.stdout


@pytest.mark.parametrize("text", ["wf301", " Missing_dependency "])
def test_rules_are_found_by_code_and_name(text):
    found = registry.find_rule(text)
    assert found.code == "WF301"


def test_unknown_rules_are_not_found_but_hinted_at():
    assert registry.find_rule("WF999") is None
    assert "missing-dependency" in registry.nearest("missing-dependancy")
    with pytest.raises(UsageError) as caught:
        registry.page("missing-dependancy")
    assert "missing-dependency" in caught.value.hint


def test_a_code_cannot_be_registered_twice():
    registry.load_rules()
    with pytest.raises(ValueError, match="twice"):
        registry.rule("WF999", "WF301")(lambda subject: ())


BROKEN = subject(
    {LIB + "a.dll": dll("gone.dll"), LIB + "b.dll": Malformed("empty", "no bytes"), LIB + "old.dll": dll("lost.dll")},
    [edge(LIB + "a.dll", "gone.dll"), edge(LIB + "old.dll", "lost.dll")],
    events=[loads(LIB + "a.dll", 126, ("a.dll", "gone.dll")), loads(LIB + "b.dll", 193, ("b.dll",))],
    torch=torch(),
)


def test_findings_come_worst_first_then_by_code_and_subject():
    found = registry.run(BROKEN)
    assert [(str(item.severity), item.code, item.subject) for item in found] == [
        ("error", "WF202", "torch/lib/b.dll"),
        ("error", "WF301", "gone.dll"),
        ("warning", "WF301", "lost.dll"),
    ]


def test_patterns_that_mean_nothing_are_refused():
    assert registry.check_patterns(["WF3", "missing-symbol "], "--select") == ("WF3", "missing-symbol")
    for bad in ("WF9", "", "mising-symbol"):
        with pytest.raises(UsageError) as caught:
            registry.check_patterns([bad], "--ignore")
        assert "--ignore" in str(caught.value)


# --------------------------------------------------------------------------------------------------- determinism

PATHS = [LIB + name for name in ("a.dll", "b.dll", "cudart64_110.dll", "libiomp5md.dll", "mkl_core.2.dll")] + [
    SITE + name for name in ("pkg/_x.pyd", "pkg/c.dll", "pkg/sub/c.dll")
]
NAMES = ["gone.dll", "cublas64_12.dll", "libomp.dll", "python39.dll", "ucrtbased.dll", "msvcp140.dll"]


@st.composite
def random_subjects(draw: st.DrawFn) -> tuple[list[Edge], list[str]]:
    edges = []
    for importer in draw(st.lists(st.sampled_from(PATHS), max_size=8)):
        kind = draw(st.sampled_from(list(EdgeKind)))
        target = draw(st.sampled_from([*PATHS, *NAMES]))
        inside = target in PATHS
        name = target.rpartition("/")[2]
        provider = (
            InView(target) if inside else Missing(present_at=tuple(draw(st.sets(st.sampled_from(PATHS), max_size=1))))
        )
        unexported = ("f", 7) if inside and draw(st.booleans()) else ()
        edges.append(Edge(importer, name, kind, provider, draw(st.booleans()), unexported=unexported))
    return edges, draw(st.lists(st.sampled_from(PATHS), unique=True))


@settings(max_examples=60, deadline=None)
@given(random_subjects(), st.randoms())
def test_the_same_facts_in_any_order_give_the_same_findings(drawn, random):
    edges, events = drawn
    # One edge per importer, name and kind, as the loader has it; the order of edges must not matter.
    edges = list({(item.importer, item.name, item.kind): item for item in edges}.values())
    images = {path: dll(*NAMES[:2], machine=Machine.X86 if "b.dll" in path else Machine.AMD64) for path in PATHS}
    shuffled = edges[:]
    random.shuffle(shuffled)
    faults = (ArchiveFault("symlink", "x", "a link"),)
    rows = (ArchiveFault("row-missing", "y", "no row"),)

    def found(order: list[Edge]) -> tuple[Finding, ...]:
        thing = subject(
            images,
            order,
            events=[loads(path) for path in events],
            torch=torch("11.7"),
            wheel=wheel(version="1+cu118"),
            archive_faults=faults,
            record_faults=rows,
        )
        return registry.run(thing)

    first = found(edges)
    assert found(edges) == first
    keys = [(item.code, item.severity, item.subject) for item in first]
    assert [(item.code, item.severity, item.subject) for item in found(shuffled)] == keys


def test_a_pattern_that_is_named_often_is_looked_at_once():
    """100 000 entries in a configuration file took 6 seconds."""
    assert registry.check_patterns(["WF1", " WF1", "WF3"] * 100_000, "--ignore") == ("WF1", "WF3")


def test_the_rules_about_archives_are_in_the_module_that_verify_runs_alone():
    found = {check.__module__ for check, codes in registry._checks.items() if any(code[2] == "1" for code in codes)}
    assert found == {"wheelfix.rules.archive"}
    own = [codes for check, codes in registry._checks.items() if check.__module__ in found]
    assert len(own) == 2, "exam.verify calls the two functions of rules.archive"


PYD = SITE + "pkg/_core.pyd"


def two_missing():
    chain = ("_core.pyd", "gone.dll")
    edges = [edge(PYD, "gone.dll"), edge(PYD, "Other_1.dll")]
    return run(subject({PYD: dll("gone.dll", "Other_1.dll")}, edges, events=[loads(PYD, 126, chain)]))


@named_cases(
    "patterns, expected",
    {
        "none": ((), ["error", "error"]),
        "one": (("gone",), ["error", "info"]),
        "both": (("GONE.DLL", "other_*"), ["info", "info"]),
        "another": (("nothing*",), ["error", "error"]),
    },
)
def test_only_what_is_named_is_allowed(patterns, expected):
    found = with_allowed(two_missing(), patterns)
    assert [str(item.severity) for item in found] == expected
    assert [item.message.endswith("(allowed to be missing)") for item in found] == [one == "info" for one in expected]


def test_names_match_without_regard_to_case_and_extension():
    assert matches_any("cuDNN64_8", ["cudnn*"])
    assert matches_any("cudnn64_8.dll", ["cudnn64_8"])
    assert not matches_any("cudart.dll", ["cudnn*"])


def test_what_could_not_be_told_can_be_allowed():
    """A repair does not succeed where it could not tell, unless the user accepts each DLL by its name."""
    names = ["tables.libs/libblosc2.dll", "libblosc2.dll"]
    unread = finding("WF317", names[0], "could not tell", evidence={"names": [*names]})
    may_come = finding("WF318", "flux.dll", "could not tell")
    for item, pattern in ((unread, "libblosc2.dll"), (may_come, "flux*")):
        assert with_allowed([item], [pattern])[0].severity is Severity.INFO
        assert with_allowed([item], ["other.dll"])[0].severity is Severity.UNSURE
