"""What changed between two builds."""

from __future__ import annotations

import dataclasses

import pytest

from tests.report.samples import broken_torch, clean_wheel
from tests.support.tables import named_cases
from wheelfix.errors import InputError
from wheelfix.model import Severity, Verdict
from wheelfix.report.builds import (
    Build,
    File,
    Problem,
    compare,
    compare_all,
    comparison_blocks,
    read_document,
    steady,
)
from wheelfix.report.canvas import TextStyle, render_text
from wheelfix.report.ci import markdown_text
from wheelfix.report.document import render


def build(*files: File, problems: tuple[Problem, ...] = (), **settings) -> Build:
    base = {"path": "x-1-py3-none-any.whl", "name": "x", "version": "1", "verdict": Verdict.OK, "missing": ()}
    return Build(**{**base, **settings}, images=files, findings=problems)


def problem(subject: str, severity: Severity = Severity.WARNING) -> Problem:
    return Problem("WF301", "missing-dependency", severity, subject, f"about {subject}")


@named_cases(
    "old, new, how",
    {
        "version": (File("x/a.dll", 1, "1.0"), File("x/a.dll", 1, "1.1"), "changed"),
        "machine": (File("x/a.dll", 1, machine="amd64"), File("x/a.dll", 1, machine="x86"), "changed"),
        "folder": (File("x/a.dll", 1), File("x/lib/A.dll", 1), "moved"),
        "release": (File("x/cupti64_2022.2.0.dll", 1), File("x/cupti64_2022.3.0.dll", 1), "replaced"),
    },
)
def test_one_dll_in_both(old, new, how):
    found = compare(build(old), build(new))
    assert [pair.how for pair in found.pairs] == [how]
    assert (found.lost, found.appeared) == ((), ())


def test_a_version_that_was_not_read_is_no_change():
    assert compare(build(File("x/a.dll", 1, "1.0")), build(File("x/a.dll", 1))).is_empty


def test_in_doubt_which_replaced_which_nothing_is_guessed():
    found = compare(build(File("x/a1.dll", 1), File("x/a2.dll", 1)), build(File("x/a3.dll", 1)))
    assert len(found.lost) == 2
    assert len(found.appeared) == 1


@pytest.mark.parametrize(
    "path, expected",
    [
        ("torch-2.4.0.dist-info/RECORD", "torch.dist-info/record"),
        ("mkl-2025.3.0.data/data/Library/bin/mkl_core.2.dll", "mkl.data/data/library/bin/mkl_core.2.dll"),
        ("torch/_C.cp311-win_amd64.pyd", "torch/_c.pyd"),
        ("x.libs/zlib1-0123456789abcdef0123456789abcdef.dll", "x.libs/zlib1.dll"),
        (r"a\B.dll", "a/b.dll"),
    ],
)
def test_what_a_release_changes_in_a_path_is_left_out(path, expected):
    assert steady(path) == expected


def test_new_worse_and_cured_findings():
    old = build(problems=(problem("a"), problem("b"), problem("c")))
    new = build(problems=(problem("b", Severity.ERROR), problem("c"), problem("d")))
    found = compare(old, new)
    assert [item.subject for item in found.arisen] == ["b", "d"]
    assert [item.subject for item in found.cured] == ["a"]


def test_a_saved_scan_is_as_good_as_the_wheel():
    reports = [broken_torch(), clean_wheel()]
    assert read_document(render("json", reports), "x.json") == [Build.from_report(report) for report in reports]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "wheelfix.scan/1", "wheels": [{}]}', '{"schema": 1}'])
def test_no_saved_scan(text):
    with pytest.raises(InputError, match=r"x\.json is not a saved scan"):
        read_document(text, "x.json")


def test_several_wheels_are_paired_by_name():
    one, two = Build.from_report(broken_torch()), Build.from_report(clean_wheel())
    newer = dataclasses.replace(one, version="2.4.1", path="new/torch-2.4.1-cp311-cp311-win_amd64.whl")
    found = compare_all([one, two], [newer])
    assert [(item.old.version, item.new.version) for item in found.differences] == [("2.4.0", "2.4.1")]
    assert found.only_old == (two,)
    assert found.only_new == ()


def test_one_wheel_on_each_side_is_a_pair():
    found = compare_all([Build.from_report(broken_torch())], [Build.from_report(clean_wheel())])
    assert len(found.differences) == 1


@pytest.mark.parametrize("name, said", [("scipy", True), ("NUM_py", False), ("", False)])
def test_builds_of_different_projects_are_said_to_be(name, said):
    found = compare_all([build(name="num-py")], [build(name=name)])
    reported = "is compared with"
    assert (reported in markdown_text("wheelfix diff", comparison_blocks(found))) is said
    assert (reported in render_text(comparison_blocks(found), TextStyle())) is said
