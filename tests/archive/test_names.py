"""Names: every spelling that leads elsewhere is told, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.hostile import UNSAFE_NAMES
from wheelfix.archive import names

SAFE_NAMES = (
    "torch/lib/c10.dll",
    " leading/space.txt",
    "pkg/.hidden",
    "pkg/..dots.py",
    "console.py",
    "pkg/com10.txt",
    "pkg/\u00fcber.txt",
    "pkg/\U0001f600.txt",
    "pkg/" + "x" * 251,
)


@pytest.mark.parametrize("name", UNSAFE_NAMES.values(), ids=UNSAFE_NAMES.keys())
def test_unsafe_names_are_told(name):
    assert names.why_unsafe(name)
    assert not names.is_plain(name)


@pytest.mark.parametrize("name", SAFE_NAMES)
def test_safe_names_are_left_alone(name):
    assert names.why_unsafe(name) == ""
    assert names.is_plain(name) == name.isascii()


def test_a_step_may_have_255_characters():
    assert not names.why_unsafe("pkg/" + "x" * 255)
    assert names.why_unsafe("pkg/" + "\U0001f600" * 128)  # two UTF-16 units each
    assert not names.is_plain("pkg/" + "\U0001f600" * 128)


def test_a_backslash_alone_is_no_danger_but_deserves_a_closer_look():
    assert not names.why_unsafe("pkg\\sub\\a.txt")
    assert not names.is_plain("pkg\\sub\\a.txt")


def test_an_empty_name():
    assert not names.is_plain("")
    assert names.why_unsafe("") == "the name is empty"


PART = st.text(st.sampled_from("ab.. :/\\\x00\n?connulaux1\u00e4\u2028\U0001f600"), max_size=12)


@given(PART)
def test_the_quick_look_never_passes_what_the_slow_one_refuses(name):
    if names.is_plain(name):
        assert not names.why_unsafe(name)
        assert "\\" not in name


@pytest.mark.parametrize(
    "listed, expected",
    [
        (["A.txt", "a.txt"], [("A.txt", "a.txt")]),
        (["d/\u00e9", "d/e\u0301"], []),
        (["d/x.", "d/x", "d. /x"], [("d/x.", "d/x"), ("d/x.", "d. /x")]),
        (["lib/", "Lib"], [("lib/", "Lib")]),
        (["a", "a"], []),
    ],
)
def test_collisions(listed, expected):
    assert list(names.collisions(listed)) == expected


def test_a_file_cannot_be_a_folder():
    assert list(names.files_as_folders({"x", "x/y/z.txt", "q/r"})) == [("x", "x/")]
    assert list(names.files_as_folders({"x/", "x/y/z.txt", "x/y/"})) == []


def test_a_name_with_a_line_end_is_one_name():
    assert list(names.files_as_folders(["a\nb", "a\nb/c"])) == [("a\nb", "a\nb/")]


@pytest.mark.parametrize(
    "name, inside",
    [
        ("pkg-1.0.dist-info/a/b/../../LICENSE.txt", True),
        ("pkg-1.0.dist-info/../pkg/x.py", False),
        ("pkg-1.0.dist-info/a/..", False),
        ("../x.py", False),
        ("pkg/sub/../NUL.dll", False),
        ("pkg//../x.py", False),
        ("pkg\\sub/../x.py", False),
    ],
)
def test_names_that_lead_upwards_and_stay_inside(name, inside):
    assert names.stays_inside(name) is inside
