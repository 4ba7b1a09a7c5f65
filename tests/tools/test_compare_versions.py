"""The comparison of two checkouts names what differs, and nothing that differs from run to run."""

from __future__ import annotations

from pathlib import Path

import pytest

import wheelfix
from tests.support.wheels import build_wheel
from tools.compare_versions import differences, main

HERE = Path(wheelfix.__file__).parent.parent


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, [], id="same"),
        pytest.param({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ["a[1].b: 2 -> 3"], id="value"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, ["a: [1] -> [1, 2]"], id="length"),
        pytest.param({"a": "x"}, {}, ["a: x -> (absent)"], id="absent"),
    ],
)
def test_differences(old, new, expected):
    assert list(differences(old, new)) == expected


@pytest.mark.slow
def test_a_checkout_agrees_with_itself(tmp_path, capsys):
    build_wheel(tmp_path, "pkg", "1.0", files={"pkg/__init__.py": ""})
    assert main([str(HERE), str(HERE), str(tmp_path)]) == 0
    assert "1 wheels compared, 0 differ" in capsys.readouterr().out
