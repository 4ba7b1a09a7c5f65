"""Numbers and JSON of strangers: what is read, and that nothing else comes out than None or ValueError."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import wheelfix
from wheelfix.base.parsing import dotted_numbers, number_pair, parse_json, read_json, regex, whole_number

LONG = "9" * 5000
OWN_TABLES = {"knowledge/tables.py", "knowledge/cards.py"} | {
    "knowledge/system.py", "knowledge/cuda.py", "knowledge/provider_index.py", "knowledge/providers.py",
    "diagnosis/symptoms/recognise.py",
}  # fmt: skip
"""Modules that turn tables of our own into numbers; their tests refuse anything else."""


@pytest.mark.parametrize(
    "text, number",
    [("0", 0), ("007", 7), ("123456789", 123456789)]
    + [(text, None) for text in ("", "²", "٣", "１", "-1", "+1", " 1", "1_0", "1.0", "0x1", "1234567890", LONG)],
)
def test_whole_number(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("12.4.1-rc1", (12, 4, 1)),
        ("7", (7,)),
        ("", ()),
        ("1.²", (1,)),
        (f"1.{LONG}.3", (1,)),
        ("1." * 100_000, (1,) * 32),
    ],
    ids=lambda value: str(value)[:12],
)
def test_dotted_numbers(text, numbers):
    assert dotted_numbers(text) == numbers


def test_pairs():
    assert number_pair("3", "11") == (3, 11)
    assert number_pair("3", LONG) is None


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[Infinity]",
        "1e999",
        LONG,
        f"0.{LONG}",
        "[" * 100_000,
        '{"a":' * 100_000,
        "",
        "x",
    ],
    ids=lambda text: text[:9],
)
def test_json_that_is_refused(text):
    with pytest.raises(ValueError, match=r"\S"):
        parse_json(text)


def test_json_that_is_read(tmp_path):
    assert parse_json('{"size": 12, "ratio": 1.5, "big": 1234567890123456789}') == {
        "size": 12,
        "ratio": 1.5,
        "big": 1234567890123456789,
    }
    file = tmp_path / "a.json"
    file.write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(file) == [1]
    with pytest.raises(ValueError, match="larger than"):
        read_json(file, limit=2)


DOUBTFUL = re.compile(r"\b(?:int|float)\s*\(|\bis(?:digit|decimal|numeric)\b|\bjson\s*\.\s*loads?\b")


def unguarded(tree: ast.AST) -> list[str]:
    """Return what could raise on a stranger's text, or read it otherwise than it is meant."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("isdigit", "isdecimal", "isnumeric"):
            found.append(f"{node.attr} in line {node.lineno}")
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("json.loads", "json.load"):
            found.append(f"json.loads in line {node.lineno}")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("int", "float") and not _bounded(node.args):
            found.append(f"{ast.unparse(node)} in line {node.lineno}")
    return found


def _bounded(arguments: list[ast.expr]) -> bool:
    """Whether there is no argument, or it is a group of a pattern, where digits are counted: ``[0-9]{1,3}``."""
    if not arguments:
        return True
    node = arguments[0]
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("match", "own", "exact", "found")


ALLOWED = {
    "streams/codec.py": 2,  # one ASCII digit of --compression, checked on the line above
    "archive/metadata.py": 1,  # at most nine characters that a pattern has found to be digits
    "archive/record.py": 4,  # sizes in RECORD: the patterns allow 19 and 40 digits
    "base/inputfiles.py": 1,  # SUDO_UID, of up to ten digits
    "pycode/builtintypes.py": 1,  # int() of the package: at most 40 characters
    "pycode/expressions.py": 1,  # of a number
    "pe/authenticode/signers.py": 1,  # parts of a time, two digits each
    "pe/signature.py": 1,
    "report/ci.py": 1,  # totals of our own
    "report/canvas.py": 2,  # a share and seconds of our own
    "report/trial.py": 1,  # totals of our own
    "cli/try_.py": 1,  # a checked number of --timeout
    "trial/child.py": 1,  # runs alone in another Python; hexadecimal digits, and a failure there is an answer
    "roots/condafile.py": 1,  # a product of our own numbers
    "roots/host.py": 1,  # hexadecimal rights that Windows itself wrote
    "rules/gpu.py": 1,  # architectures that the reader of GPU code spelled itself
    "schemas/__init__.py": 1,  # a file of our own
    "diagnosis/symptoms/recognise.py": 3,  # the patterns allow 8 hexadecimal digits, or 10 decimal ones
    "diagnosis/symptoms/recordings.py": 6,  # the same
}
"""Uses that were looked at, and why they are safe; a new one in these files changes the number."""


@pytest.mark.no_cover
def test_numbers_of_strangers_go_through_one_module():
    package = Path(wheelfix.__file__).parent
    found = {}
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        if name in OWN_TABLES or name == "base/parsing.py" or name.startswith("knowledge/make_"):
            continue
        source = path.read_text("utf-8")
        if not DOUBTFUL.search(source):  # parsing every module takes two seconds
            continue
        uses = unguarded(ast.parse(source))
        if len(uses) > ALLOWED.get(name, 0):
            found[name] = uses
    assert not found, "use wheelfix.base.parsing, or add the file to ALLOWED with the reason"


def test_errors_of_packaging_are_caught_as_valueerror():
    """A number of more than 4300 digits raises ValueError itself; ``requires-python`` of 6000 ended a scan."""
    package = Path(wheelfix.__file__).parent
    narrow = re.compile(r"^ *except [^#:]*Invalid(?:Version|Specifier|Requirement|Marker)", re.MULTILINE)
    assert [str(path) for path in package.rglob("*.py") if narrow.search(path.read_text(encoding="utf-8"))] == []


def test_a_version_or_specifier_of_6000_digits():
    from wheelfix.knowledge.provider_index import _same_version
    from wheelfix.loader.requirements import fits, newest_fitting
    from wheelfix.remote.packageindex import _is_for

    long = "9" * 6000
    assert not fits(long, ">=1")
    assert not fits("1", f">={long}")
    assert newest_fitting(["1", long], ">=1") == ""
    assert _same_version(long, ["1"]) is None
    assert _is_for(f">={long}", (3, 11))


# ------------------------------------------------------------------------------------------------------------- patterns


def test_a_pattern_is_compiled_when_it_is_first_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        re, "compile", lambda text, flags=0, real=re.compile: compiled.append(text) or real(text, flags)
    )
    word = regex("[a-z]+", re.IGNORECASE)
    assert compiled == []
    found = word.fullmatch("Abc"), word.fullmatch("1"), word.fullmatch("d"), word.sub("-", "a1b")
    assert [one and one[0] for one in found[:3]] == ["Abc", None, "d"]
    assert found[3] == "-1-"
    assert set(compiled) == {"[a-z]+"}


def test_every_pattern_can_be_compiled():
    package = Path(wheelfix.__file__).parent
    sources = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    using = [path.relative_to(package.parent) for path, text in sources.items() if "= regex(" in text]
    modules = [importlib.import_module(".".join(path.with_suffix("").parts)) for path in using]
    patterns = [one for module in modules for one in vars(module).values() if type(one).__name__ == "regex"]
    assert len(patterns) > 40
    assert all(pattern.groups >= 0 for pattern in patterns)
