"""What Python may be asked to do with a value of a package's code, and that the interpreter asks before."""

from __future__ import annotations

import re

import pytest

from tests.pycode.running import interpreted
from wheelfix.pycode.budget import MAX_MATCHING, TooLarge, is_wide_format, matching_work, parts_of
from wheelfix.pycode.run import UNKNOWN


def _pairs(count: int) -> object:
    found = ()
    for _ in range(count):
        found = (found, found)
    return found


@pytest.mark.parametrize(
    "value", [_pairs(100), _pairs(18), [[0] * 4096] * 5, "x" * (1 << 20), 1 << (1 << 24)], ids=range(5)
)
def test_too_much(value):
    with pytest.raises(TooLarge):
        list(parts_of(value))


@pytest.mark.parametrize("value", [_pairs(10), [0] * 4096, {"a": [1, (2, {3})]}, "x" * 32_768, None, 2**64])
def test_not_too_much(value):
    assert next(iter(parts_of(value))) is value
    assert sum(1 for _ in parts_of(value)) >= 1


@pytest.mark.parametrize("text", ["%.1000000000d", "%1000d", "%*d", "%.*f", "%-+0999999s", "a%%%08.99999d"])
def test_wide_formats(text):
    assert is_wide_format(text)


@pytest.mark.parametrize("text", ["%s-%d.dll", "lib%02d_2024.dll", "%.3f", "100%", "%5.1f%%"])
def test_narrow_formats(text):
    assert not is_wide_format(text)


@pytest.mark.parametrize("pattern", ["(a*)*b", "[ab]*[ab]*[ab]*c", "a?" * 60, "(a|a)" * 40, "(?=a)b", r"(a)\1"])
def test_patterns_that_take_long(pattern):
    assert matching_work(pattern, 300, search=True) > MAX_MATCHING


@pytest.mark.parametrize("pattern", [r"(\d+)\.(\d+)", r"^cudart64_(\d+)\.dll$", "win32|linux|darwin", r"v?(?P<x>\d+)"])
def test_patterns_that_do_not(pattern):
    re.compile(pattern)
    assert matching_work(pattern, 60, search=True) <= MAX_MATCHING


def test_what_is_too_large_is_unknown():
    names = interpreted(
        "t = ()\nfor i in range(100): t = (t, t)\nx = {t: 1}\ny = str(t)\nz = t == (t, t)\nw = '%.9999d' % 1"
    )
    assert all(names[name] is UNKNOWN for name in "xyzw")
